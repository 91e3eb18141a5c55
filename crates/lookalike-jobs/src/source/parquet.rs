//! Reads rows of Parquet files by column, and writes kept rows with the schema and metadata of their
//! file.
//!
//! Texts are read as views into their pages, so a million rows that refer to one long text of a
//! dictionary take no more memory than the text. Damage costs a row group, never the run.

mod deltas;
mod pages;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray,
    LargeStringArray, RecordBatch, StringArray, StringViewArray,
    cast::AsArray,
    types::{
        Date32Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::{
    arrow::{
        ARROW_SCHEMA_META_KEY, ArrowWriter, ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    errors::ParquetError,
    file::{
        metadata::{ParquetMetaData, RowGroupMetaData},
        properties::WriterProperties,
        reader::{ChunkReader, Length},
    },
};

use super::{
    charset::{self, Repair},
    field::{FieldNames, FieldValues, RowResult, Value, is_features},
    records::BLOCK_BYTES,
};
use crate::report;
use pages::Pages;

/// The first bytes of every file.
pub const MAGIC: &[u8] = b"PAR1";

/// The maximum number of rows in a batch.
const MAX_ROWS: usize = 1 << 13;

/// The approximate size of a batch.
const BATCH_BYTES: u64 = 8 << 20;

/// The maximum size of a page without a memory limit.
const MAX_PAGE: u64 = 1 << 30;

/// The memory per value besides its bytes: a view and two levels.
const VALUE_BYTES: u64 = 20;

#[derive(Clone)]
pub enum Content {
    File(Arc<File>),
    Memory(Bytes),
}

impl Length for Content {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => Length::len(&**file),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Content {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::File(file) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(file))
            }
            Self::Memory(bytes) => Ok(Box::new(bytes.get_read(start)?)),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Memory(bytes) => bytes.get_bytes(start, length),
        }
    }
}

/// An open file.
pub struct ParquetFile {
    content: Content,
    metadata: ArrowReaderMetadata,
    /// For reading items: all texts as views, also inside lists and structs.
    viewed: ArrowReaderMetadata,
    /// For copying rows: plain text columns as views, which can be converted back.
    kept: ArrowReaderMetadata,
    memory: Option<u64>,
}

/// Why a row group cannot be read.
pub enum GroupError {
    Damaged(String),
    /// It needs more memory.
    TooLarge(String),
}

/// The rows of one group in batches.
pub struct Batches(Option<ParquetRecordBatchReader>);

impl Iterator for Batches {
    type Item = Result<RecordBatch, String>;

    /// Ends after a failure.
    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.0.as_mut()?;
        let next = guarded(|| match reader.next() {
            None => Ok(None),
            Some(batch) => batch.map(Some).map_err(|error| damaged(&error)),
        });
        if !matches!(next, Ok(Some(_))) {
            // A reader that panicked may panic again when dropped.
            let reader = self.0.take();
            let _ = guarded(|| {
                drop(reader);
                Ok(())
            });
        }
        next.transpose()
    }
}

/// Decoders may panic on damaged data. Turns the panic into an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // The reader is not used again after a panic.
    let result = catch_unwind(AssertUnwindSafe(work));
    result.unwrap_or_else(|_| Err(damaged(&"its content is invalid")))
}

impl ParquetFile {
    pub fn open(content: Content, memory: Option<u64>) -> Result<Self, String> {
        let failed = |error: ParquetError| format!("is not a complete Parquet file: {error}");
        guarded(|| {
            let metadata = ArrowReaderMetadata::load(&content, ArrowReaderOptions::default())
                .map_err(failed)?;
            let viewed = with_views(&metadata, &viewed);
            let kept = with_views(&metadata, &|kind| match kind {
                DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
                DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
                other => other.clone(),
            });
            Ok(Self { content, metadata, viewed, kept, memory })
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub fn metadata(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The number of rows in each row group.
    pub fn group_rows(&self) -> Vec<u64> {
        self.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64).collect()
    }

    /// The rows of one group, with the columns that `wanted` needs, or all columns without it.
    pub fn batches(
        &self,
        group: usize,
        wanted: Option<&FieldNames>,
    ) -> Result<Batches, GroupError> {
        let metadata = if wanted.is_some() { &self.viewed } else { &self.kept };
        let mask = wanted.map_or_else(ProjectionMask::all, |wanted| self.mask(wanted));
        let sizes = guarded(|| {
            self.sizes(self.metadata().row_group(group), &mask, metadata.schema())
                .map_err(|error| damaged(&error))
        })
        .map_err(GroupError::Damaged)?;
        self.check(&sizes)?;
        guarded(|| self.check_deltas(group, &sizes.deltas).map_err(|error| damaged(&error)))
            .map_err(GroupError::Damaged)?;
        let rows = (BATCH_BYTES / sizes.per_row.max(1)).clamp(1, MAX_ROWS as u64) as usize;
        let reader = guarded(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.content.clone(),
                metadata.clone(),
            )
            .with_batch_size(rows)
            .with_projection(mask)
            .with_row_groups(vec![group])
            .build()
            .map_err(|error| damaged(&error))
        });
        reader.map(|reader| Batches(Some(reader))).map_err(GroupError::Damaged)
    }

    fn mask(&self, wanted: &FieldNames) -> ProjectionMask {
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

    /// The decoded size of the columns of a group.
    fn sizes(
        &self,
        group: &RowGroupMetaData,
        mask: &ProjectionMask,
        schema: &Schema,
    ) -> Result<Sizes, ParquetError> {
        let mut sizes = Sizes::default();
        let rows = group.num_rows().max(1) as u64;
        for (leaf, column) in group.columns().iter().enumerate() {
            if !mask.leaf_included(leaf) {
                continue;
            }
            let pages = Pages::of(&self.content, column)?;
            sizes.deltas.extend(pages.has_deltas.then_some(leaf));
            let root = self.metadata.parquet_schema().get_column_root_idx(leaf);
            let is_view = schema.fields().get(root).is_some_and(|field| is_view(field.data_type()));
            let is_nested = column.column_descr().max_rep_level() > 0;
            let value = match is_view {
                true => pages.per_value,
                false => pages.per_value.max(pages.dictionary),
            };
            let in_row = (column.num_values().max(0) as u64).div_ceil(rows).max(1);
            sizes.per_row += (value + VALUE_BYTES).saturating_mul(in_row);
            sizes.page = sizes.page.max(pages.max_bytes);
            if is_nested {
                // All values of a page may belong to one row.
                sizes.page = sizes.page.max(pages.max_values.saturating_mul(VALUE_BYTES));
            }
        }
        Ok(sizes)
    }

    fn check_deltas(&self, group: usize, columns: &[usize]) -> Result<(), ParquetError> {
        let group = self.metadata().row_group(group);
        let rows = group.num_rows().max(0) as usize;
        columns
            .iter()
            .try_for_each(|&leaf| deltas::check(self.content.clone(), group.column(leaf), rows))
    }

    fn check(&self, sizes: &Sizes) -> Result<(), GroupError> {
        let limit = self.memory.map_or(MAX_PAGE, |memory| memory / PAGES_IN_MEMORY);
        if sizes.page <= limit.min(MAX_PAGE) {
            return Ok(());
        }
        let size = report::bytes(sizes.page);
        Err(match self.memory {
            Some(_) if sizes.page <= MAX_PAGE => GroupError::TooLarge(format!(
                "--memory is too small for a page of {size}; use at least --memory {}M",
                (sizes.page * PAGES_IN_MEMORY).div_ceil(1 << 20)
            )),
            _ => GroupError::Damaged(format!("claims a page of {size}; the file may be damaged")),
        })
    }
}

/// A page is in memory compressed and decoded, together with pages of other columns.
const PAGES_IN_MEMORY: u64 = 4;

#[derive(Default)]
struct Sizes {
    page: u64,
    per_row: u64,
    /// Delta-encoded columns, whose data state their own number of values.
    deltas: Vec<usize>,
}

/// The metadata with changed column types, if the file can be read with them.
fn with_views(
    metadata: &ArrowReaderMetadata,
    change: &dyn Fn(&DataType) -> DataType,
) -> ArrowReaderMetadata {
    let schema = metadata.schema();
    let fields: Fields = schema.fields().iter().map(|field| changed(field, change)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = ArrowReaderOptions::default().with_schema(schema);
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
        .unwrap_or_else(|_| metadata.clone())
}

fn changed(field: &FieldRef, change: &dyn Fn(&DataType) -> DataType) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(change(field.data_type())))
}

/// The type with texts as views at every level.
fn viewed(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) if is_view(&viewed(values)) => viewed(values),
        DataType::List(item) => DataType::List(changed(item, &viewed)),
        DataType::LargeList(item) => DataType::LargeList(changed(item, &viewed)),
        DataType::Map(entries, sorted) => DataType::Map(changed(entries, &viewed), *sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| changed(field, &viewed)).collect())
        }
        other => other.clone(),
    }
}

/// Whether the texts of a column are views into its pages, not copies.
fn is_view(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            is_view(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().all(|field| is_view(field.data_type())),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => false,
        DataType::Dictionary(..) => false,
        // Numbers are never long.
        _ => true,
    }
}

/// Splits a batch into pieces of about one block, by the length of its texts.
pub fn pieces(batch: &RecordBatch) -> Vec<RecordBatch> {
    let (mut pieces, mut first, mut bytes) = (Vec::new(), 0, 0);
    for row in 0..batch.num_rows() {
        let length: usize = batch.columns().iter().map(|column| length(column, row)).sum();
        if row > first && bytes + length > BLOCK_BYTES {
            pieces.push(batch.slice(first, row - first));
            (first, bytes) = (row, 0);
        }
        bytes += length;
    }
    pieces.push(batch.slice(first, batch.num_rows() - first));
    pieces
}

/// The length in bytes of the max_length text of a batch.
pub fn max_length(batch: &RecordBatch) -> usize {
    let rows = 0..batch.num_rows();
    let columns = batch.columns().iter();
    columns.flat_map(|column| rows.clone().map(move |row| length(column, row))).max().unwrap_or(0)
}

/// The length of a text in bytes; 0 for other values.
fn length(column: &ArrayRef, row: usize) -> usize {
    match column.data_type() {
        DataType::Utf8View => column.as_string_view().views()[row] as u32 as usize,
        DataType::BinaryView => column.as_binary_view().views()[row] as u32 as usize,
        DataType::Utf8 => column.as_string::<i32>().value_length(row) as usize,
        DataType::LargeUtf8 => column.as_string::<i64>().value_length(row) as usize,
        DataType::Binary => column.as_binary::<i32>().value_length(row) as usize,
        DataType::LargeBinary => column.as_binary::<i64>().value_length(row) as usize,
        _ => 0,
    }
}

/// Whether this path (`name` or `a.b`) leads to a column.
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

/// Whether this column contains lists of texts and is not named `features`.
pub fn is_list_of_texts(schema: &Schema, path: &str) -> bool {
    let list = schema.field_with_name(path).map(|field| field.data_type());
    let Ok(DataType::List(item) | DataType::LargeList(item)) = list else { return false };
    is_text(item.data_type()) && !is_features(path)
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The message for rows that cannot be decoded.
pub fn damaged(error: &impl std::fmt::Display) -> String {
    format!("cannot be read further: {error}; the file may be damaged")
}

/// The wanted columns of a batch.
pub struct Columns {
    text: Option<ArrayRef>,
    id: Option<ArrayRef>,
    keys: Vec<Option<ArrayRef>>,
    names: Vec<String>,
}

impl Columns {
    pub fn of(batch: &RecordBatch, wanted: &FieldNames) -> Self {
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
    pub fn row<'a>(&'a self, row: usize, wanted: &FieldNames) -> RowResult<'a> {
        let value = |column: &'a Option<ArrayRef>| column.as_ref().map(|array| value(array, row));
        let keys = self.keys.iter().map(value).collect();
        let values = FieldValues { text: value(&self.text), id: value(&self.id), keys };
        let bytes = self.text.as_ref().and_then(|text| bytes(text, row));
        let repair = bytes.map_or(Repair::None, |bytes| charset::decode_record(bytes, None).1);
        let found = wanted.item(values, || self.names.clone())?;
        Ok(found.map(|found| super::field::ParsedRow { repair, ..found }))
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

/// Resolves a dictionary column into its values.
fn plain(column: &ArrayRef) -> ArrayRef {
    let taken = column.as_any_dictionary_opt().and_then(|dictionary| {
        // With views, a long text that is used often is in memory once.
        let values: ArrayRef = match dictionary.values().data_type() {
            DataType::Utf8 => {
                Arc::new(StringViewArray::from(dictionary.values().as_string::<i32>()))
            }
            DataType::LargeUtf8 => {
                Arc::new(StringViewArray::from(dictionary.values().as_string::<i64>()))
            }
            DataType::Binary => {
                Arc::new(BinaryViewArray::from(dictionary.values().as_binary::<i32>()))
            }
            DataType::LargeBinary => {
                Arc::new(BinaryViewArray::from(dictionary.values().as_binary::<i64>()))
            }
            _ => dictionary.values().clone(),
        };
        arrow_select::take::take(&values, dictionary.keys(), None).ok()
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
            .or_else(|| numbers(array, row))
            .unwrap_or_else(|| features(array, row)),
    }
}

/// A binary value, which is decoded as text.
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

/// A list of floating-point numbers.
fn numbers(array: &ArrayRef, row: usize) -> Option<Value<'static>> {
    let list = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        _ => return None,
    };
    let numbers: Vec<f64> = match list.data_type() {
        DataType::Float16 => {
            let halves = list.as_primitive::<Float16Type>().values().iter();
            halves.map(|half| half.to_f64()).collect()
        }
        DataType::Float32 => {
            list.as_primitive::<Float32Type>().values().iter().map(|&it| it.into()).collect()
        }
        DataType::Float64 => list.as_primitive::<Float64Type>().values().to_vec(),
        _ => return None,
    };
    Some(match list.null_count() {
        0 => Value::Numbers(numbers),
        _ => Value::Other("a list of numbers with null in it"),
    })
}

/// The numbers of each row of a column of fixed-size lists.
pub fn list_size(schema: &Schema, path: &str) -> Option<usize> {
    match schema.field_with_name(path).ok()?.data_type() {
        DataType::FixedSizeList(_, size) => usize::try_from(*size).ok(),
        _ => None,
    }
}

/// A map from feature to weight, a list of such pairs, or a list of features with weight 1.
fn features(array: &ArrayRef, row: usize) -> Value<'static> {
    let list = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::Map(..) => Arc::new(array.as_map().value(row)) as ArrayRef,
        _ => return Value::Other("of a type without text"),
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
    if let (None, Some(features)) = (&weights, &features)
        && is_text(names.data_type())
    {
        return Value::Texts(features.iter().map(|(name, _)| name.clone()).collect());
    }
    features.map_or(Value::Other("a list, but not of {feature, weight}"), Value::Features)
}

/// Writes kept rows in the schema of their file.
pub struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A file with the columns, compression and key-value metadata of `table`.
    pub fn like(table: &ParquetFile, output: W) -> Result<Self, ParquetError> {
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
        Ok(Self { writer, schema: table.schema().clone() })
    }

    /// Writes the rows of a batch for which `keep` is true.
    pub fn write(&mut self, batch: &RecordBatch, keep: Vec<bool>) -> Result<(), ParquetError> {
        let kept = arrow_select::filter::filter_record_batch(batch, &BooleanArray::from(keep))?;
        let columns = kept.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| from_views(column, field.data_type()));
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), columns.collect())?)
    }

    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}

/// Converts views back to the type of the file.
fn from_views(column: &ArrayRef, kind: &DataType) -> ArrayRef {
    match (column.data_type(), kind) {
        (DataType::Utf8View, DataType::Utf8) => {
            Arc::new(column.as_string_view().iter().collect::<StringArray>())
        }
        (DataType::Utf8View, DataType::LargeUtf8) => {
            Arc::new(column.as_string_view().iter().collect::<LargeStringArray>())
        }
        (DataType::BinaryView, DataType::Binary) => {
            Arc::new(column.as_binary_view().iter().collect::<BinaryArray>())
        }
        (DataType::BinaryView, DataType::LargeBinary) => {
            Arc::new(column.as_binary_view().iter().collect::<LargeBinaryArray>())
        }
        _ => column.clone(),
    }
}
