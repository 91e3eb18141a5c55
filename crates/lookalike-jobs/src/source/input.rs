//! One input of a command before it is read: its name, its format, and the fields to read.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use encoding_rs::Encoding;

use super::{
    Bad, Reason, arrays,
    bytes::name_of,
    charset, compression, csv,
    field::{Content, FieldNames, ParsedRow, RowResult},
    html, jsonl, npy,
    origin::{Origin, Source},
    parquet::{self, Content as TableContent, ParquetFile},
    reader,
    records::{Blocks, Split, SplitLines, without_end, without_mark},
    rows::RowOptions,
    warc,
};
use crate::args::Format;

pub struct Input {
    pub name: String,
    pub origin: Origin,
    pub format: Format,
    /// The fields to read; none for texts and lines.
    pub wanted: Option<FieldNames>,
    /// The header of a CSV or TSV file.
    pub header: Option<Box<csv::Header>>,
    columns: Option<Box<csv::Columns>>,
    /// The encoding of rows that are not UTF-8, detected from the beginning of the file.
    encoding: Option<&'static Encoding>,
    /// A seekable copy of a compressed table or of standard input.
    copy: Option<Arc<File>>,
    /// The memory limit.
    pub memory: Option<u64>,
    /// Fields that the user named and the columns lack.
    pub missing: Vec<String>,
    /// Its path in an output folder.
    pub relative: PathBuf,
    /// Other names of the same file.
    pub links: Vec<PathBuf>,
    /// The number of dimensions of its vectors, if it has such.
    pub dimensions: Option<u32>,
}

impl Input {
    /// A text file found in a folder.
    pub fn text(path: &Path, relative: &Path, memory: Option<u64>) -> Self {
        Self::new(name_of(path), Origin::file(path, memory), Format::Text, relative.to_owned())
    }

    /// A file that the user named, or one of a folder of tables. Notes which text field was guessed.
    pub fn file(path: &Path, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        let name = name_of(path);
        super::bytes::open_file(path).map_err(|what| Bad::input(&name, what))?;
        let origin = Origin::file(path, options.memory);
        let format = match options.format.or_else(|| Format::of_name(path)) {
            Some(format) => format,
            None => format_of(&origin.start(&name)?, false, options),
        };
        let relative = path.file_name().map(PathBuf::from).unwrap_or_default();
        Self::new(name, origin, format, relative).with_layout(options)
    }

    /// Standard input or a pipe.
    pub fn stream(path: &Path, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        let (name, origin) = (
            name_of(path),
            Origin::new(path, options.again, options.temp.as_deref(), options.memory)?,
        );
        let start = origin.start(&name)?;
        let format = options.format.unwrap_or_else(|| format_of(&start, true, options));
        let relative = path.file_name().filter(|_| name != "stdin").unwrap_or("stdin".as_ref());
        Self::new(name, origin, format, relative.into()).with_layout(options)
    }

    /// Whether it is a stream, which has no lasting path.
    pub fn is_stream(&self) -> bool {
        matches!(self.origin.source, Source::Stream(_))
    }

    /// Lines without further structure.
    pub fn lines(name: String, origin: Origin) -> Self {
        Self::new(name, origin, Format::Lines, PathBuf::new())
    }

    /// Rows in memory.
    pub fn memory(
        name: String,
        batches: Vec<RecordBatch>,
        options: &RowOptions,
    ) -> Result<(Self, Option<String>), Bad> {
        let relative = PathBuf::from(&name);
        Self::new(name, Origin::rows(batches), Format::Parquet, relative).with_layout(options)
    }

    /// Bytes in memory, of this format.
    pub fn bytes(bytes: &[u8], format: Format, options: &RowOptions) -> Result<Self, Bad> {
        let input = Self::new("input".to_owned(), Origin::bytes(bytes), format, PathBuf::new());
        input.with_layout(options).map(|(input, _)| input)
    }

    fn new(name: String, origin: Origin, format: Format, relative: PathBuf) -> Self {
        let (wanted, header, columns, encoding, copy) = (None, None, None, None, None);
        let (links, missing, memory) = (Vec::new(), Vec::new(), None);
        Self {
            name,
            origin,
            format,
            wanted,
            header,
            columns,
            encoding,
            copy,
            memory,
            missing,
            relative,
            links,
            dimensions: None,
        }
    }

    /// Finds the fields to read.
    fn with_layout(mut self, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        self.memory = options.memory;
        let choose = |columns: &[String]| {
            let (text, id) = (options.field.as_deref(), options.id.as_deref());
            FieldNames::choose(text, id, &options.keys, columns, options.vectors)
        };
        let bad = |name: &str, what: String| Bad::item(name, Reason::NoField, what);
        let (wanted, note) = match self.format {
            Format::Text if options.vectors.is_some() => {
                let what = "is no array or table of vectors; lookalike reads .npy, .parquet, .jsonl \
                            and .csv";
                return Err(Bad::input(&self.name, what));
            }
            Format::Text => return Ok((self, None)),
            Format::Npy => {
                let layout = arrays::Layout::of(&self.origin.start(&self.name)?)
                    .map_err(|what| Bad::input(&self.name, what))?;
                self.dimensions = layout.dimensions.try_into().ok();
                self.copy = layout.seekable(&self.origin, &self.name, options.temp.as_deref())?;
                let keys = options.keys.clone();
                let text = arrays::COLUMN.to_owned();
                (FieldNames { text, id: None, keys, vectors: options.vectors }, None)
            }
            Format::Lines => {
                // Damaged compression fails here, before any work is done.
                self.encoding = charset::of_start(&self.origin.start(&self.name)?);
                return Ok((self, None));
            }
            Format::Warc => {
                self.origin.start(&self.name)?;
                let (wanted, _) = choose(&[]);
                (FieldNames { id: options.id.clone(), ..wanted }, None)
            }
            Format::Jsonl => {
                let start = self.origin.start(&self.name)?;
                if without_mark(&start).trim_ascii_start().starts_with(b"[") {
                    let what = "is one JSON list; write one object per line: jq -c '.[]' FILE";
                    return Err(Bad::input(&self.name, what));
                }
                self.encoding = charset::of_start(&start);
                choose(&jsonl::columns(&start, self.encoding))
            }
            Format::Csv | Format::Tsv => {
                let separator = if self.format == Format::Csv { b',' } else { b'\t' };
                let start = self.origin.start(&self.name)?;
                let header = csv::Header::read(&start, separator)
                    .map_err(|what| Bad::input(&self.name, what))?;
                let (wanted, note) = choose(&header.columns);
                let columns =
                    csv::Columns::of(&header, &wanted).map_err(|what| bad(&self.name, what))?;
                self.missing = options.missing(|name| header.columns.contains(name));
                self.columns = Some(Box::new(columns));
                self.header = Some(Box::new(header));
                (wanted, note)
            }
            Format::Parquet => {
                let schema = self.schema(options.temp.as_deref())?;
                let columns: Vec<_> =
                    schema.fields().iter().map(|field| field.name().clone()).collect();
                let (wanted, note) = choose(&columns);
                if !parquet::has(&schema, &wanted.text) {
                    return Err(bad(&self.name, super::field::no_field(&wanted.text, &columns)));
                }
                if parquet::is_list_of_texts(&schema, &wanted.text) {
                    let what = super::field::list_of_texts(&wanted.text);
                    return Err(Bad::item(&self.name, Reason::WrongType, what));
                }
                self.missing = options.missing(|name| parquet::has(&schema, name));
                (wanted, note)
            }
        };
        self.wanted = Some(wanted);
        let is_told = options.vectors.is_none_or(|vectors| vectors.dimensions.is_some());
        if !is_told && self.dimensions.is_none() {
            self.dimensions = self.first_dimensions()?;
        }
        if let Some(vectors) = self.wanted.as_mut().and_then(|wanted| wanted.vectors.as_mut()) {
            vectors.dimensions = vectors.dimensions.or(self.dimensions);
        }
        Ok((self, note))
    }

    /// The number of dimensions of the first vector at the beginning of the input.
    fn first_dimensions(&self) -> Result<Option<u32>, Bad> {
        let Some(wanted) = &self.wanted else { return Ok(None) };
        let of_found = |outcome: RowResult<'_>| match outcome {
            Ok(Some(ParsedRow { content: Content::Vector(numbers), .. })) => {
                u32::try_from(numbers.len()).ok()
            }
            _ => None,
        };
        if self.format != Format::Parquet {
            let start = std::io::Cursor::new(self.origin.start(&self.name)?);
            let mut blocks = Blocks::new(Box::new(start), self.split());
            let Ok(Some(block)) = blocks.next() else { return Ok(None) };
            let first = (0..block.records.len()).find_map(|number| {
                let line = block.records[number].line;
                if self.is_header(line) {
                    return None;
                }
                of_found(self.parse(block.record(number), line))
            });
            return Ok(first);
        }
        let of_batch = |batch: &RecordBatch| {
            let columns = parquet::Columns::of(batch, wanted);
            (0..batch.num_rows()).find_map(|row| of_found(columns.row(row, wanted)))
        };
        if let Source::Rows(batches) = &self.origin.source {
            return Ok(batches.iter().find_map(of_batch));
        }
        let table = self.table()?;
        if let Some(size) = parquet::list_size(table.schema(), &wanted.text) {
            return Ok(size.try_into().ok());
        }
        // Damage is reported when the input is read.
        let first = (0..table.group_rows().len()).find_map(|group| {
            let mut batches = table.batches(group, Some(wanted)).ok()?;
            batches.find_map(|batch| of_batch(&batch.ok()?))
        });
        Ok(first)
    }

    /// The nameless copy of it, if it was made seekable.
    pub fn copy(&self) -> Option<&File> {
        self.copy.as_deref()
    }

    /// The columns of a table. A compressed table is decompressed first.
    fn schema(&mut self, temp: Option<&Path>) -> Result<SchemaRef, Bad> {
        let needs_copy = match &self.origin.source {
            Source::File(_) => self.origin.open(&self.name)?.is_compressed(),
            Source::Stream(_) => true,
            Source::Bytes(_) => false,
            Source::Rows(batches) => {
                return Ok(batches
                    .first()
                    .map_or_else(|| Schema::empty().into(), RecordBatch::schema));
            }
        };
        if needs_copy {
            self.copy = Some(Arc::new(self.origin.seekable(&self.name, temp)?));
        }
        Ok(self.table()?.schema().clone())
    }

    /// Opens a Parquet file.
    pub fn table(&self) -> Result<ParquetFile, Bad> {
        let content = match (&self.copy, &self.origin.source) {
            (Some(copy), _) => TableContent::File(Arc::clone(copy)),
            (_, Source::Bytes(bytes)) => TableContent::Memory(bytes.clone()),
            // It is not compressed, so nothing is copied.
            _ => TableContent::File(Arc::new(self.origin.seekable(&self.name, None)?)),
        };
        ParquetFile::open(content, self.memory).map_err(|what| Bad::input(&self.name, what))
    }

    /// Splits this input into records.
    pub fn split(&self) -> Box<dyn Split> {
        match (self.format, &self.header) {
            (Format::Csv | Format::Tsv, Some(header)) => {
                Box::new(csv::SplitRows::new(header.separator))
            }
            (Format::Warc, _) => Box::new(warc::SplitArchive::default()),
            _ => Box::new(SplitLines::default()),
        }
    }

    /// Whether the record that starts at this line is the header.
    pub fn is_header(&self, line: u64) -> bool {
        self.columns.is_some() && line == 1
    }

    /// Parses a record.
    pub fn parse<'a>(&self, record: &'a [u8], line: u64) -> RowResult<'a> {
        match (self.format, &self.wanted, &self.columns) {
            (Format::Jsonl, Some(wanted), _) => jsonl::parse(record, wanted, self.encoding),
            (Format::Warc, Some(wanted), _) => warc::parse(record, wanted),
            (_, Some(wanted), Some(columns)) => columns.parse(record, wanted),
            _ => {
                let text = without_end(record);
                let text = if line == 1 { without_mark(text) } else { text };
                let (text, repair) = charset::decode_record(text, self.encoding);
                Ok(Some(ParsedRow::text(text, repair)))
            }
        }
    }
}

/// The format of something that starts like this. Arrays are rows if vectors are wanted.
fn format_of(start: &[u8], is_stdin: bool, options: &RowOptions) -> Format {
    match options.vectors.is_some() && npy::is_npy(start) {
        true => Format::Npy,
        false => Format::of_content(start, is_stdin),
    }
}

/// The text of a whole file.
pub fn parse_file(content: &[u8], is_page: bool) -> ParsedRow<'_> {
    let (text, repair) =
        if is_page { charset::decode_page(content, None) } else { charset::decode(content) };
    ParsedRow { html: Some(is_page), ..ParsedRow::text(text, repair) }
}

/// Whether a file is a web page, by its extension or first bytes.
pub fn is_page(name: &str, content: &[u8]) -> bool {
    let name = compression::uncompressed_name(name).to_ascii_lowercase();
    let by_name = [".html", ".htm", ".xhtml"].iter().any(|extension| name.ends_with(extension));
    let content = without_mark(content).trim_ascii_start();
    let begins = |with: &[u8]| {
        content.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    by_name || begins(b"<!doctype html") || begins(b"<html")
}

/// The text of one file, in the way [`Rows`](super::Rows) reads it.
pub fn read_text(path: &Path, html: bool, markup: bool) -> Result<String, Bad> {
    let name = name_of(path);
    let content = reader::read_text(&Origin::file(path, None), &name)?;
    let is_page = html || is_page(&name, &content);
    match parse_file(&content, is_page).content {
        Content::Text(text) if is_page && !markup => Ok(html::main_text(&text)),
        Content::Text(text) => Ok(text.into_owned()),
        Content::Features(_) | Content::Vector(_) => Ok(String::new()),
    }
}
