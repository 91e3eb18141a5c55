//! How is a table written? As JSON lines, separated values or Parquet, as the file's ending says.
//!
//! A table has columns of a few kinds; what they mean, its callers know.

use std::{io::Write, path::Path, sync::Arc};

use anyhow::{Context, Result, bail};
use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{Float32Builder, Int64Builder, StringBuilder},
};
use arrow_schema::{DataType, Field, Schema};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};

use super::{
    Output, PackedOutput, Packing,
    ids::{decimal, field_id, id_text, json_id},
};
use crate::source::{Id, Ids};

/// Written in pieces of about this many bytes,
const PIECE: usize = 1 << 18;

/// or of this many rows, if they go to columns.
const ROWS: usize = 1 << 16;

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFile {
    format: TableFormat,
    packing: Packing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableFormat {
    /// `{"a":1,"b":2}`
    JsonLines,
    /// `1,2`, with another separator for `.tsv`; the first line has the names.
    Separated(u8),
    Parquet,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Id,
    Number,
    Share,
    Word,
}

/// One value.
#[derive(Clone, Copy)]
pub enum Cell<'a> {
    Id(Id<'a>),
    Number(u64),
    /// A part of 1; nothing if it was not measured.
    Share(Option<f32>),
    Word(&'a str),
}

impl TableFile {
    /// The format that goes with a file's ending; JSON lines for standard output.
    pub fn of(file: Option<&Path>) -> Result<Self> {
        let packing = Packing::of(file)?;
        let format = match file {
            None => TableFormat::JsonLines,
            Some(file) => TableFormat::of(file, packing)?,
        };
        Ok(Self { format, packing })
    }

    pub fn is_json(self) -> bool {
        self.format == TableFormat::JsonLines
    }
}

impl TableFormat {
    fn of(file: &Path, packing: Packing) -> Result<Self> {
        const POSSIBLE: &str = "use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet";
        let name = file.display();
        let unpacked =
            if packing == Packing::None { file.to_owned() } else { file.with_extension("") };
        let ending =
            unpacked.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "jsonl" | "ndjson" | "json" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Separated(b',')),
            "tsv" => Ok(Self::Separated(b'\t')),
            "parquet" if packing == Packing::None => Ok(Self::Parquet),
            "parquet" => bail!("{name}: Parquet is packed already; use .parquet"),
            _ if file.exists() && !file.is_file() && !file.is_dir() => Ok(Self::JsonLines),
            _ => bail!("{name}: the ending decides the format; {POSSIBLE}"),
        }
    }
}

/// Writes rows, one after the other.
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
                Sink::Json { text: Text::new(output, file.packing)?, starts }
            }
            TableFormat::Separated(separator) => {
                let mut text = Text::new(output, file.packing)?;
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

    /// Writes a row: a cell for each column, of its kind.
    pub fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
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

    /// Writes a row of JSON that is no list of cells. Only for JSON lines.
    pub fn write_json(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let Sink::Json { text, .. } = &mut self.sink else { return Ok(()) };
        self.written += 1;
        write(&mut text.buffer);
        text.buffer.push(b'\n');
        text.flush_if_full()
    }

    /// Writes what is left and gives a file its name.
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
        Cell::Number(number) => decimal(line, number),
        Cell::Share(Some(share)) => line.extend_from_slice(share_text(share).as_bytes()),
        Cell::Share(None) => line.extend_from_slice(b"null"),
        Cell::Word(word) => json_id(line, Id::Given(word)),
    }
}

fn field_cell(line: &mut Vec<u8>, cell: Cell<'_>, separator: u8) {
    match cell {
        Cell::Id(id) => field_id(line, id, separator),
        Cell::Number(number) => decimal(line, number),
        Cell::Share(Some(share)) => line.extend_from_slice(share_text(share).as_bytes()),
        Cell::Share(None) => {}
        Cell::Word(word) => field_id(line, Id::Given(word), separator),
    }
}

/// As few digits as tell it apart from its neighbours, and always a decimal point.
fn share_text(share: f32) -> String {
    if share.is_finite() { format!("{share:?}") } else { "null".to_owned() }
}

/// Lines on their way out.
struct Text {
    output: PackedOutput,
    buffer: Vec<u8>,
}

impl Text {
    fn new(output: Output, packing: Packing) -> Result<Self> {
        let buffer = Vec::with_capacity(PIECE + 1024);
        Ok(Self { output: PackedOutput::new(output, packing)?, buffer })
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= PIECE { self.flush() } else { Ok(()) }
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

/// Columns on their way out.
struct ColumnSink {
    writer: ArrowWriter<Output>,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
}

enum Column {
    Numbers(Int64Builder),
    Shares(Float32Builder),
    Texts(StringBuilder),
}

impl ColumnSink {
    fn new(output: Output, columns: &[(&str, Kind)], numbers: bool) -> Result<Self> {
        let column = |kind: Kind| match kind {
            Kind::Number => Column::Numbers(Int64Builder::new()),
            Kind::Id if numbers => Column::Numbers(Int64Builder::new()),
            Kind::Id | Kind::Word => Column::Texts(StringBuilder::new()),
            Kind::Share => Column::Shares(Float32Builder::new()),
        };
        let columns: Vec<_> = columns.iter().map(|&(name, kind)| (name, column(kind))).collect();
        let fields: Vec<_> = columns.iter().map(|(name, column)| column.field(name)).collect();
        let schema = Arc::new(Schema::new(fields));
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(Self { writer, schema, columns, rows: 0 })
    }

    fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        self.columns.iter_mut().zip(cells).for_each(|(column, &cell)| column.push(cell));
        self.rows += 1;
        if self.rows == ROWS { self.flush() } else { Ok(()) }
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
            Self::Shares(_) => Field::new(name, DataType::Float32, true),
            Self::Texts(_) => Field::new(name, DataType::Utf8, false),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Numbers(numbers), Cell::Number(number) | Cell::Id(Id::Number(number))) => {
                numbers.append_value(number as i64);
            }
            (Self::Texts(texts), Cell::Id(id)) => texts.append_value(id_text(id)),
            (Self::Texts(texts), Cell::Word(word)) => texts.append_value(word),
            (Self::Shares(shares), Cell::Share(share)) => shares.append_option(share),
            _ => unreachable!("cells are of the kinds of their columns"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Numbers(numbers) => Arc::new(numbers.finish()),
            Self::Shares(shares) => Arc::new(shares.finish()),
            Self::Texts(texts) => Arc::new(texts.finish()),
        }
    }
}
