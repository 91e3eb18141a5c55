//! Rows of Parquet files: read column by column, written back with everything they came with.

use std::{fs::File, io::Write, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch,
    cast::AsArray,
    types::{
        Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use parquet::{
    arrow::{
        ARROW_SCHEMA_META_KEY, ArrowWriter, ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
        },
    },
    errors::ParquetError,
    file::{metadata::ParquetMetaData, properties::WriterProperties},
};

use super::{
    charset::{self, Repair},
    field::{Outcome, Value, Values, Wanted},
    records::BLOCK,
};

/// What every file starts with.
pub const MAGIC: &[u8] = b"PAR1";

/// Rows are read in batches of at most this many.
const MOST: usize = 1 << 13;

/// An open file.
pub struct Table {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Table {
    pub fn open(file: File) -> Result<Self, String> {
        let metadata = ArrowReaderMetadata::load(&file, Default::default())
            .map_err(|error| format!("is not a whole Parquet file: {error}"))?;
        Ok(Self { file, metadata })
    }

    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub fn metadata(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// How many rows each group of rows has. One may be damaged and the others not.
    pub fn group_rows(&self) -> Vec<u64> {
        self.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64).collect()
    }

    /// The rows of one group, of the columns that `wanted` needs; of all columns without it.
    pub fn batches(
        &self,
        group: usize,
        wanted: Option<&Wanted>,
    ) -> Result<ParquetRecordBatchReader, String> {
        let failed = |error: std::io::Error| format!("cannot be read: {error}");
        let file = self.file.try_clone().map_err(failed)?;
        let mask = wanted.map_or_else(ProjectionMask::all, |wanted| self.mask(wanted));
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_batch_size(self.batch_rows())
            .with_projection(mask)
            .with_row_groups(vec![group])
            .build()
            .map_err(|error| damaged(&error))
    }

    fn mask(&self, wanted: &Wanted) -> ProjectionMask {
        let paths = [&wanted.text].into_iter().chain(&wanted.id).chain(&wanted.keys);
        let root = |path: &String| {
            let names = self.schema().fields().iter().map(|field| field.name());
            let leads = |name: &String| {
                path.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            names
                .enumerate()
                .filter(|(_, name)| leads(name))
                .map(|(root, _)| root)
                .collect::<Vec<_>>()
        };
        let roots = paths.flat_map(root);
        ProjectionMask::roots(self.metadata.parquet_schema(), roots)
    }

    /// So many rows make about a block.
    fn batch_rows(&self) -> usize {
        let groups = self.metadata().row_groups();
        let bytes: i64 = groups.iter().map(|group| group.total_byte_size()).sum();
        let rows = self.metadata().file_metadata().num_rows().max(1);
        (BLOCK as i64 / (bytes / rows).max(1)).clamp(1, MOST as i64) as usize
    }
}

/// Whether there is a column of this name, or `a.b` leads to one.
pub fn has(schema: &Schema, path: &str) -> bool {
    let mut fields = schema.fields();
    let mut path = path;
    loop {
        if fields.find(path).is_some() {
            return true;
        }
        let Some((name, rest)) = path.split_once('.') else { return false };
        let Some((_, field)) = fields.find(name) else { return false };
        let DataType::Struct(inner) = field.data_type() else { return false };
        (fields, path) = (inner, rest);
    }
}

/// What to say about rows that cannot be decoded.
pub fn damaged(error: &impl std::fmt::Display) -> String {
    format!("cannot be read on: {error}; the file may be damaged")
}

/// The wanted columns of a batch.
pub struct Columns {
    text: Option<ArrayRef>,
    id: Option<ArrayRef>,
    keys: Vec<Option<ArrayRef>>,
    names: Vec<String>,
}

impl Columns {
    pub fn of(batch: &RecordBatch, wanted: &Wanted) -> Self {
        let column = |path: &String| {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            match batch.column_by_name(path) {
                Some(column) => Some(plain(column)),
                None => inside(batch.column_by_name(name)?, rest).as_ref().map(plain),
            }
        };
        let names = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        Self {
            text: column(&wanted.text),
            id: wanted.id.as_ref().and_then(column),
            keys: wanted.keys.iter().map(column).collect(),
            names,
        }
    }

    /// One row of the batch.
    pub fn row<'a>(&'a self, row: usize, wanted: &Wanted) -> Outcome<'a> {
        let value = |column: &'a Option<ArrayRef>| column.as_ref().map(|array| value(array, row));
        let keys = self.keys.iter().map(value).collect();
        let values = Values { text: value(&self.text), id: value(&self.id), keys };
        let bytes = self.text.as_ref().and_then(|text| bytes(text, row));
        let repair = bytes.map_or(Repair::None, |bytes| charset::decode_record(bytes, None).1);
        let found = wanted.found(values, || self.names.clone())?;
        Ok(found.map(|found| super::field::Found { repair, ..found }))
    }
}

fn inside(column: &ArrayRef, path: &str) -> Option<ArrayRef> {
    let object = column.as_struct_opt()?;
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    match object.column_by_name(path) {
        Some(column) => Some(column.clone()),
        None => inside(object.column_by_name(name)?, rest),
    }
}

/// A column whose values stand for themselves, not for entries of a dictionary.
fn plain(column: &ArrayRef) -> ArrayRef {
    let taken = column.as_any_dictionary_opt().and_then(|dictionary| {
        arrow_select::take::take(dictionary.values(), dictionary.keys(), None).ok()
    });
    taken.unwrap_or_else(|| column.clone())
}

fn value(array: &ArrayRef, row: usize) -> Value<'_> {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        DataType::UInt64 => Value::Unsigned(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Boolean => Value::Other("true or false"),
        DataType::Null => Value::Null,
        _ => bytes(array, row)
            .map(|bytes| Value::Text(charset::decode_record(bytes, None).0))
            .or_else(|| number(array, row).map(number_value))
            .unwrap_or_else(|| features(array, row)),
    }
}

/// Bytes stand for text if they are not said to be anything else.
fn bytes(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        _ => None,
    }
}

enum Number {
    Whole(i64),
    Float(f64),
}

fn number_value(number: Number) -> Value<'static> {
    match number {
        Number::Whole(number) => match u64::try_from(number) {
            Ok(number) => Value::Unsigned(number),
            Err(_) => Value::Number(number as f64, number.to_string()),
        },
        Number::Float(number) => Value::Number(number, number.to_string()),
    }
}

fn number(array: &dyn Array, row: usize) -> Option<Number> {
    let whole = match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::Date32 => array.as_primitive::<Date32Type>().value(row).into(),
        DataType::Timestamp(TimeUnit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().value(row)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(row)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(row)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().value(row)
        }
        DataType::UInt64 => {
            return Some(Number::Float(array.as_primitive::<UInt64Type>().value(row) as f64));
        }
        DataType::Float32 => {
            return Some(Number::Float(array.as_primitive::<Float32Type>().value(row).into()));
        }
        DataType::Float64 => {
            return Some(Number::Float(array.as_primitive::<Float64Type>().value(row)));
        }
        _ => return None,
    };
    Some(Number::Whole(whole))
}

/// A map of feature to weight, a list of such pairs, or a list of features that count once each.
fn features(array: &ArrayRef, row: usize) -> Value<'static> {
    let list = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::Map(..) => Arc::new(array.as_map().value(row)) as ArrayRef,
        _ => return Value::Other("of a type that holds no text"),
    };
    let pairs = list.as_struct_opt().filter(|pairs| pairs.num_columns() == 2);
    let (names, weights) = match pairs {
        Some(pairs) => (plain(pairs.column(0)), Some(pairs.column(1).clone())),
        None => (plain(&list), None),
    };
    let weight = |row| match &weights {
        None => Some(1.0),
        Some(weights) if weights.is_null(row) => None,
        Some(weights) => number(weights, row).map(|number| match number {
            Number::Whole(number) => number as f64,
            Number::Float(number) => number,
        }),
    };
    let feature = |row| match value(&names, row) {
        Value::Text(name) => Some((name.into_owned(), weight(row)?)),
        Value::Unsigned(name) => Some((name.to_string(), weight(row)?)),
        _ => None,
    };
    let features: Option<Vec<_>> = (0..list.len()).map(feature).collect();
    features.map_or(Value::Other("a list, but not of {feature, weight}"), Value::Features)
}

/// Writes rows as the tables they come from have them.
pub struct TableWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// A table like `table`: its columns, their packing, and what else its maker noted.
    pub fn like(table: &Table, output: W) -> Result<Self, ParquetError> {
        let metadata = table.metadata();
        let notes = metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
        // The writer adds the schema itself.
        let notes = notes.into_iter().filter(|note| note.key != ARROW_SCHEMA_META_KEY).collect();
        let mut properties = WriterProperties::builder().set_key_value_metadata(Some(notes));
        if let Some(group) = metadata.row_groups().first() {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1 << 10);
            properties = properties.set_max_row_group_row_count(Some(rows));
            for column in group.columns() {
                let path = column.column_path().clone();
                properties = properties.set_column_compression(path, column.compression());
            }
        }
        let writer =
            ArrowWriter::try_new(output, table.schema().clone(), Some(properties.build()))?;
        Ok(Self { writer })
    }

    /// Writes the rows of a batch that are to be kept.
    pub fn write(&mut self, batch: &RecordBatch, keep: Vec<bool>) -> Result<(), ParquetError> {
        let kept = arrow_select::filter::filter_record_batch(batch, &BooleanArray::from(keep))?;
        self.writer.write(&kept)
    }

    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}
