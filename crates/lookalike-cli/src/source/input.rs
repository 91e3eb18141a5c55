//! What is one input of a command, before anything is read from it? Its name, its format, and where
//! in a row the wanted fields stand.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use encoding_rs::Encoding;

use super::{
    Bad, Reason,
    bytes::name_of,
    charset, csv,
    field::{Found, Outcome, Wanted},
    jsonl,
    origin::Origin,
    parquet::{self, Table},
    reader,
    records::{Split, SplitLines, without_end, without_mark},
    rows::RowOptions,
    warc,
};
use crate::args::Format;

pub struct Input {
    pub name: String,
    pub origin: Origin,
    pub format: Format,
    /// The fields that are read; none for texts and lines.
    pub wanted: Option<Wanted>,
    /// Of a table in text.
    pub header: Option<Box<csv::Header>>,
    columns: Option<Box<csv::Columns>>,
    /// Of text that is no UTF-8, by the beginning of a file of rows.
    encoding: Option<&'static Encoding>,
    /// What came out of a packed table, or from standard input.
    copy: Option<File>,
    /// Where a kept file goes in the output folder.
    pub relative: PathBuf,
    /// Other names of the same file, found on the way.
    pub links: Vec<PathBuf>,
}

impl Input {
    /// A file that is one text, found in a folder.
    pub fn text(path: &Path, relative: &Path) -> Self {
        Self::new(name_of(path), Origin::file(path), Format::Text, relative.to_owned())
    }

    /// A file the user named, or one of a folder of tables. A guess comes with a note.
    pub fn file(path: &Path, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        let name = name_of(path);
        super::bytes::open_file(path).map_err(|what| Bad::input(&name, what))?;
        let origin = Origin::file(path);
        let format = match options.format.or_else(|| Format::of_name(path)) {
            Some(format) => format,
            None => Format::of_content(&origin.start(&name)?, false),
        };
        let relative = path.file_name().map(PathBuf::from).unwrap_or_default();
        Self::new(name, origin, format, relative).with_layout(options)
    }

    /// Standard input or a pipe.
    pub fn stream(path: &Path, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        let (name, origin) =
            (name_of(path), Origin::new(path, options.again, options.temp.as_deref())?);
        let start = origin.start(&name)?;
        let format = options.format.unwrap_or_else(|| Format::of_content(&start, true));
        let relative = path.file_name().filter(|_| name != "stdin").unwrap_or("stdin".as_ref());
        Self::new(name, origin, format, relative.into()).with_layout(options)
    }

    /// Whether it has no path by which it could be known again.
    pub fn is_stream(&self) -> bool {
        matches!(self.origin, Origin::Stream(_))
    }

    /// Lines of which nothing is known but where they are.
    pub fn lines(name: String, origin: Origin) -> Self {
        Self::new(name, origin, Format::Lines, PathBuf::new())
    }

    /// Rows that a program holds.
    pub fn memory(
        name: String,
        batches: Vec<RecordBatch>,
        options: &RowOptions,
    ) -> Result<(Self, Option<String>), Bad> {
        let relative = PathBuf::from(&name);
        Self::new(name, Origin::Memory(batches), Format::Parquet, relative).with_layout(options)
    }

    fn new(name: String, origin: Origin, format: Format, relative: PathBuf) -> Self {
        let (wanted, header, columns, encoding, copy) = (None, None, None, None, None);
        let links = Vec::new();
        Self { name, origin, format, wanted, header, columns, encoding, copy, relative, links }
    }

    /// Looks where the wanted fields stand.
    fn with_layout(mut self, options: &RowOptions) -> Result<(Self, Option<String>), Bad> {
        let choose = |columns: &[String]| {
            let (text, id) = (options.field.as_deref(), options.id.as_deref());
            Wanted::choose(text, id, &options.keys, columns)
        };
        let bad = |name: &str, what: String| Bad::item(name, Reason::NoField, what);
        let (wanted, note) = match self.format {
            Format::Text => return Ok((self, None)),
            Format::Lines => {
                // What cannot be unpacked at all is told before any work is done.
                self.encoding = charset::of_start(&self.origin.start(&self.name)?);
                return Ok((self, None));
            }
            Format::Warc => {
                self.origin.start(&self.name)?;
                let (wanted, _) = choose(&[]);
                (Wanted { id: options.id.clone(), ..wanted }, None)
            }
            Format::Jsonl => {
                let start = self.origin.start(&self.name)?;
                if without_mark(&start).trim_ascii_start().starts_with(b"[") {
                    let what = "is one JSON list; write an object a line: jq -c '.[]' FILE";
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
                (wanted, note)
            }
        };
        self.wanted = Some(wanted);
        Ok((self, note))
    }

    /// The columns of a table, which is unpacked for it if need be.
    fn schema(&mut self, temp: Option<&Path>) -> Result<SchemaRef, Bad> {
        let packed = match &self.origin {
            Origin::File(_) => self.origin.open(&self.name)?.is_packed(),
            Origin::Stream(_) => true,
            Origin::Memory(batches) => {
                return Ok(batches
                    .first()
                    .map_or_else(|| Schema::empty().into(), RecordBatch::schema));
            }
        };
        if packed {
            self.copy = Some(self.origin.seekable(&self.name, temp)?);
        }
        Ok(self.table()?.schema().clone())
    }

    /// Opens a Parquet file.
    pub fn table(&self) -> Result<Table, Bad> {
        let file = match &self.copy {
            Some(copy) => copy.try_clone().map_err(|error| Bad::input(&self.name, error))?,
            // It is not packed, so nothing is copied.
            None => self.origin.seekable(&self.name, None)?,
        };
        Table::open(file).map_err(|what| Bad::input(&self.name, what))
    }

    /// What a record of this input is.
    pub fn split(&self) -> Box<dyn Split> {
        match (self.format, &self.header) {
            (Format::Csv | Format::Tsv, Some(header)) => {
                Box::new(csv::SplitRows::new(header.separator))
            }
            (Format::Warc, _) => Box::new(warc::SplitArchive::default()),
            _ => Box::new(SplitLines::default()),
        }
    }

    /// Whether the record that starts at this line is the row of names.
    pub fn is_header(&self, line: u64) -> bool {
        self.columns.is_some() && line == 1
    }

    /// What a record says.
    pub fn parse<'a>(&self, record: &'a [u8], line: u64) -> Outcome<'a> {
        match (self.format, &self.wanted, &self.columns) {
            (Format::Jsonl, Some(wanted), _) => jsonl::parse(record, wanted, self.encoding),
            (Format::Warc, Some(wanted), _) => warc::parse(record, wanted),
            (_, Some(wanted), Some(columns)) => columns.parse(record, wanted),
            _ => {
                let text = without_end(record);
                let text = if line == 1 { without_mark(text) } else { text };
                let (text, repair) = charset::decode_record(text, self.encoding);
                Ok(Some(Found::text(text, repair)))
            }
        }
    }
}

/// The text of a whole file.
pub fn parse_file(content: &[u8], is_html: bool) -> Found<'_> {
    let (text, repair) =
        if is_html { charset::decode_page(content, None) } else { charset::decode(content) };
    Found::text(text, repair)
}

/// The text of one file.
pub fn read_text(path: &Path) -> Result<String, Bad> {
    let content = reader::read_text(&Origin::file(path), &name_of(path))?;
    Ok(charset::decode(&content).0.into_owned())
}
