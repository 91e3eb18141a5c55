//! Writes tables as JSON lines, CSV, TSV or Parquet, according to the extension.

use std::{io::Write, path::Path, sync::Arc};

use anyhow::{Context, Result, bail};
use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{Float32Builder, Int64Builder, StringBuilder},
};
use arrow_schema::{DataType, Field, Schema};
use lookalike::{Closeness, Level};
use parquet::{
    arrow::ArrowWriter,
    basic::{self, ZstdLevel},
    file::properties::WriterProperties,
};
use serde_json::Value;

use super::{
    CompressedOutput, Compression, Output,
    ids::{decimal, field_id, id_text, json_id},
};
use crate::source::{Id, Ids};

/// The approximate size of one write.
const BUFFER: usize = 1 << 18;

/// The number of rows in a Parquet batch.
const BATCH_ROWS: usize = 1 << 16;

/// The format and compression of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFile {
    format: TableFormat,
    compression: Compression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableFormat {
    /// `{"a":1,"b":2}`
    JsonLines,
    /// `1,2` with this separator, after a header.
    Separated(u8),
    Parquet,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Id,
    Number,
    Optional,
    Share,
    Word,
    Name,
}

/// A value, of the [`Kind`] with the same name.
#[derive(Clone, Copy)]
pub enum Cell<'a> {
    Id(Id<'a>),
    Number(u64),
    Optional(Option<u64>),
    /// A fraction of 1.
    Share(Option<f32>),
    Word(&'a str),
    Name(Option<&'static str>),
}

impl TableFile {
    /// The format for a file's extension; JSON lines for standard output.
    pub fn of(file: Option<&Path>) -> Result<Self> {
        let compression = Compression::of(file)?;
        let format = match file {
            None => TableFormat::JsonLines,
            Some(file) => TableFormat::of(file, compression)?,
        };
        Ok(Self { format, compression })
    }

    pub fn is_json(self) -> bool {
        self.format == TableFormat::JsonLines
    }
}

impl TableFormat {
    fn of(file: &Path, compression: Compression) -> Result<Self> {
        const POSSIBLE: &str = "use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet";
        let name = file.display();
        let is_plain = compression == Compression::None;
        let uncompressed = if is_plain { file.to_owned() } else { file.with_extension("") };
        let extension =
            uncompressed.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" | "ndjson" | "json" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Separated(b',')),
            "tsv" => Ok(Self::Separated(b'\t')),
            "parquet" if is_plain => Ok(Self::Parquet),
            "parquet" => bail!("{name}: Parquet is already compressed; use the extension .parquet"),
            _ if file.exists() && !file.is_file() && !file.is_dir() => Ok(Self::JsonLines),
            _ => bail!("{name}: the extension decides the format; {POSSIBLE}"),
        }
    }
}

/// Writes rows.
pub struct TableWriter {
    columns: &'static [(&'static str, Kind)],
    sink: Sink,
    pub written: u64,
}

enum Sink {
    Json { text: Text, starts: Vec<Vec<u8>> },
    Separated { text: Text, separator: u8 },
    Parquet(Box<ColumnSink>),
}

impl TableWriter {
    pub fn new(
        output: Output,
        file: TableFile,
        columns: &'static [(&'static str, Kind)],
        ids: &Ids,
    ) -> Result<Self> {
        let sink = match file.format {
            TableFormat::JsonLines => {
                let start = |(number, (name, _)): (usize, &(&str, Kind))| {
                    format!("{}\"{name}\":", if number == 0 { '{' } else { ',' }).into_bytes()
                };
                let starts = columns.iter().enumerate().map(start).collect();
                Sink::Json { text: Text::new(output, file.compression)?, starts }
            }
            TableFormat::Separated(separator) => {
                let mut text = Text::new(output, file.compression)?;
                let names: Vec<_> = columns.iter().map(|(name, _)| name.as_bytes()).collect();
                text.buffer.extend(names.join(&separator));
                text.buffer.push(b'\n');
                Sink::Separated { text, separator }
            }
            TableFormat::Parquet => {
                Sink::Parquet(Box::new(ColumnSink::new(output, columns, ids.are_numbers())?))
            }
        };
        Ok(Self { columns, sink, written: 0 })
    }

    /// Writes a row with a cell of the right kind for each column.
    pub fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell per column");
        self.written += 1;
        match &mut self.sink {
            Sink::Json { text, starts } => {
                for (start, &cell) in starts.iter().zip(cells) {
                    text.buffer.extend_from_slice(start);
                    json_cell(&mut text.buffer, cell);
                }
                text.buffer.extend_from_slice(b"}\n");
                text.flush_if_full()
            }
            Sink::Separated { text, separator } => {
                for (number, &cell) in cells.iter().enumerate() {
                    if number > 0 {
                        text.buffer.push(*separator);
                    }
                    field_cell(&mut text.buffer, cell, *separator);
                }
                text.buffer.push(b'\n');
                text.flush_if_full()
            }
            Sink::Parquet(columns) => columns.write(cells),
        }
    }

    /// Writes a nested JSON row. Does nothing for other formats.
    pub fn write_json(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let Sink::Json { text, .. } = &mut self.sink else { return Ok(()) };
        self.written += 1;
        write(&mut text.buffer);
        text.buffer.push(b'\n');
        text.flush_if_full()
    }

    /// Completes the output.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Json { text, .. } | Sink::Separated { text, .. } => text.finish(),
            Sink::Parquet(columns) => columns.finish(),
        }
    }
}

/// Appends a cell as JSON.
pub fn json_cell(line: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Id(id) => json_id(line, id),
        Cell::Number(number) | Cell::Optional(Some(number)) => decimal(line, number),
        Cell::Share(Some(share)) => line.extend_from_slice(share_text(share).as_bytes()),
        Cell::Share(None) | Cell::Optional(None) | Cell::Name(None) => {
            line.extend_from_slice(b"null")
        }
        Cell::Word(word) | Cell::Name(Some(word)) => json_id(line, Id::Given(word)),
    }
}

fn field_cell(line: &mut Vec<u8>, cell: Cell<'_>, separator: u8) {
    match cell {
        Cell::Id(id) => field_id(line, id, separator),
        Cell::Number(number) | Cell::Optional(Some(number)) => decimal(line, number),
        Cell::Share(Some(share)) => line.extend_from_slice(share_text(share).as_bytes()),
        Cell::Share(None) | Cell::Optional(None) | Cell::Name(None) => {}
        Cell::Word(word) | Cell::Name(Some(word)) => field_id(line, Id::Given(word), separator),
    }
}

/// The columns `distance`, `similarity` and `level`.
pub fn closeness_cells(closeness: Closeness) -> [Cell<'static>; 3] {
    let Closeness { distance, similarity, level } = closeness;
    [
        Cell::Optional(distance.map(u64::from)),
        Cell::Share(similarity),
        Cell::Name(level.map(Level::name)),
    ]
}

/// The shortest digits that are parsed back as the same number, with a decimal point.
fn share_text(share: f32) -> String {
    if share.is_finite() { format!("{share:?}") } else { "null".to_owned() }
}

/// A share with the same digits as a JSON value.
pub fn share_value(share: Option<f32>) -> Value {
    share.and_then(|share| share_text(share).parse::<f64>().ok()).into()
}

/// Buffered lines.
struct Text {
    output: CompressedOutput,
    buffer: Vec<u8>,
}

impl Text {
    fn new(output: Output, compression: Compression) -> Result<Self> {
        let buffer = Vec::with_capacity(BUFFER + 1024);
        Ok(Self { output: CompressedOutput::new(output, compression)?, buffer })
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.output.write_all(&self.buffer).context("cannot write the table")?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.output.finish()
    }
}

/// Buffered Parquet columns.
struct ColumnSink {
    writer: ArrowWriter<Output>,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
}

enum Column {
    Numbers(Int64Builder),
    Optional(Int64Builder),
    Shares(Float32Builder),
    Texts(StringBuilder),
    Names(StringBuilder),
}

impl ColumnSink {
    fn new(output: Output, columns: &[(&str, Kind)], numbers: bool) -> Result<Self> {
        let column = |kind: Kind| match kind {
            Kind::Number => Column::Numbers(Int64Builder::new()),
            Kind::Optional => Column::Optional(Int64Builder::new()),
            Kind::Id if numbers => Column::Numbers(Int64Builder::new()),
            Kind::Id | Kind::Word => Column::Texts(StringBuilder::new()),
            Kind::Name => Column::Names(StringBuilder::new()),
            Kind::Share => Column::Shares(Float32Builder::new()),
        };
        let columns: Vec<_> = columns.iter().map(|&(name, kind)| (name, column(kind))).collect();
        let fields: Vec<_> = columns.iter().map(|(name, column)| column.field(name)).collect();
        let schema = Arc::new(Schema::new(fields));
        let zstd = basic::Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(Self { writer, schema, columns, rows: 0 })
    }

    fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        self.columns.iter_mut().zip(cells).for_each(|(column, &cell)| column.push(cell));
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays)?;
        self.writer.write(&batch).context("cannot write the table")
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.into_inner().context("cannot write the table")?.finish()
    }
}

impl Column {
    fn field(&self, name: &str) -> Field {
        match self {
            Self::Numbers(_) => Field::new(name, DataType::Int64, false),
            Self::Optional(_) => Field::new(name, DataType::Int64, true),
            Self::Shares(_) => Field::new(name, DataType::Float32, true),
            Self::Texts(_) => Field::new(name, DataType::Utf8, false),
            Self::Names(_) => Field::new(name, DataType::Utf8, true),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Numbers(numbers), Cell::Number(number) | Cell::Id(Id::Number(number))) => {
                numbers.append_value(number as i64);
            }
            (Self::Optional(numbers), Cell::Optional(number)) => {
                numbers.append_option(number.map(|number| number as i64));
            }
            (Self::Texts(texts), Cell::Id(id)) => texts.append_value(id_text(id)),
            (Self::Texts(texts), Cell::Word(word)) => texts.append_value(word),
            (Self::Names(names), Cell::Name(name)) => names.append_option(name),
            (Self::Shares(shares), Cell::Share(share)) => shares.append_option(share),
            _ => unreachable!("each cell has the kind of its column"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Numbers(numbers) | Self::Optional(numbers) => Arc::new(numbers.finish()),
            Self::Shares(shares) => Arc::new(shares.finish()),
            Self::Texts(texts) | Self::Names(texts) => Arc::new(texts.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, path::PathBuf};

    use arrow_array::{Array, cast::AsArray, types::Int64Type};
    use lookalike::{Closeness, groups::Member, search::AlikePair};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::host::{Console, Host};
    use crate::{
        args::OutputArgs,
        report::{GroupWriter, PairWriter, RemovedRow, RemovedWriter},
    };

    fn ids(names: &[&str]) -> Ids {
        let mut ids = Ids::new(vec!["in".to_owned()]);
        names.iter().for_each(|name| ids.push_given(name));
        ids
    }

    /// Writes a file with this name and returns its content.
    fn written(name: &str, write: impl FnOnce(Output, TableFile)) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join(name);
        let file = TableFile::of(Some(&path)).unwrap();
        let args = OutputArgs { output: Some(path.clone()), force: false };
        write(Output::create(&args, Console::plain(&Host::silent(), true)).unwrap(), file);
        fs::read(path).unwrap()
    }

    fn groups(name: &str) -> Vec<u8> {
        let ids = ids(&["a", "b,c", "d\"", "e", "f"]);
        let member = |item, similarity: Option<f32>| {
            let closeness = similarity.map_or(Closeness::within(2), |it| Closeness::similar(2, it));
            Member { item, alike: 0, closeness }
        };
        written(name, |output, file| {
            let mut writer = GroupWriter::new(output, file, &ids, false).unwrap();
            writer.write(0, &[member(1, Some(0.5)), member(2, None)]).unwrap();
            writer.write(3, &[member(4, Some(1.0))]).unwrap();
            assert_eq!(writer.written, 2);
            writer.finish().unwrap();
        })
    }

    #[test]
    fn groups_are_lines_in_json_and_one_row_per_member_in_tables() {
        let json = String::from_utf8(groups("g.jsonl")).unwrap();
        let expected = r#"{"group":1,"keep":"a","members":[{"id":"b,c","distance":2,"similarity":0.5,"level":"similar"},{"id":"d\"","distance":2,"similarity":null,"level":null}]}
{"group":2,"keep":"e","members":[{"id":"f","distance":2,"similarity":1.0,"level":"copy"}]}
"#;
        assert_eq!(json, expected);
        let lines = json.lines().map(serde_json::from_str::<Value>);
        assert!(lines.into_iter().all(|line| line.is_ok()));
        let csv = "group,keep,id,distance,similarity,level\n\
                   1,a,\"b,c\",2,0.5,similar\n1,a,\"d\"\"\",2,,\n2,e,f,2,1.0,copy\n";
        assert_eq!(String::from_utf8(groups("g.csv")).unwrap(), csv);
        let mut decompressed = String::new();
        let compressed = groups("g.csv.gz");
        flate2::read::GzDecoder::new(&*compressed).read_to_string(&mut decompressed).unwrap();
        assert_eq!(decompressed, csv);
        assert_eq!(zstd::decode_all(&*groups("g.csv.zst")).unwrap(), csv.as_bytes());
    }

    fn removed(name: &str) -> Vec<u8> {
        let ids = ids(&["a", "b"]);
        let closeness = Closeness::similar(3, 0.97);
        let row = RemovedRow { item: 1, keep: 0, alike: 0, closeness };
        written(name, |output, file| {
            let mut writer = RemovedWriter::new(output, file, &ids, false).unwrap();
            writer.write(row).unwrap();
            writer.write(RemovedRow { closeness: Closeness::within(3), ..row }).unwrap();
            writer.finish().unwrap();
        })
    }

    #[test]
    fn removed_items_have_their_keeper_and_closeness() {
        let json = r#"{"id":"b","keep":"a","distance":3,"similarity":0.97,"level":"copy"}
{"id":"b","keep":"a","distance":3,"similarity":null,"level":null}
"#;
        assert_eq!(String::from_utf8(removed("r.jsonl")).unwrap(), json);
        let tsv = "id\tkeep\tdistance\tsimilarity\tlevel\nb\ta\t3\t0.97\tcopy\nb\ta\t3\t\t\n";
        assert_eq!(String::from_utf8(removed("r.tsv")).unwrap(), tsv);
    }

    fn batch(content: Vec<u8>) -> RecordBatch {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        reader.next().unwrap().unwrap()
    }

    #[test]
    fn parquet_has_the_same_values() {
        let removed = batch(removed("r.parquet"));
        assert_eq!(removed.column(0).as_string::<i32>().value(0), "b");
        assert_eq!(removed.column(2).as_primitive::<Int64Type>().value(1), 3);
        assert!(removed.column(3).is_null(1) && removed.column(3).is_valid(0));
        assert_eq!(removed.column(4).as_string::<i32>().value(0), "copy");
        assert!(removed.column(4).is_null(1));
        assert_eq!(batch(groups("g.parquet")).num_rows(), 3);
    }

    #[test]
    fn parquet_ids_are_numbers_only_if_all_ids_are() {
        let mut numbers = Ids::new(vec!["in".to_owned()]);
        numbers.push_numeric(7);
        numbers.push_numbers(3, 1);
        let mut mixed = ids(&["x"]);
        mixed.push_numeric(7);
        let pair = AlikePair { a: 0, b: 1, closeness: Closeness::within(1) };
        let column = |ids: &Ids| {
            let content = written("p.parquet", |output, file| {
                let mut writer = PairWriter::new(output, file, ids).unwrap();
                writer.write(pair).unwrap();
                writer.finish().unwrap();
            });
            batch(content).column(1).clone()
        };
        assert_eq!(column(&numbers).as_primitive::<Int64Type>().value(0), 3);
        assert_eq!(column(&mixed).as_string::<i32>().value(0), "7");
    }
}
