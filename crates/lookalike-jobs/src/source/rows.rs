//! Rows of any format as inputs, read in order, and a second time if necessary.
//!
//! A thread reads ahead and splits inputs into records ([`each_piece`]). The caller's threads parse
//! them, one block at a time. Order and result do not depend on the number of threads.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail, ensure};
use arrow_array::RecordBatch;
use lookalike::{
    Kind, Unfit,
    kind::{self, Digester},
};
use rayon::prelude::*;

use super::{
    Bad, Ids, Reason, Skipped,
    bytes::{check_streams, is_stream},
    charset::Repair,
    field::{Content, Key, ParsedRow, RowId, RowResult, Vectors},
    folder::{Walk, Walked},
    html,
    input::{Input, is_page, parse_file},
    origin::Source,
    parquet::Columns,
    path::path_text,
    reader::{Extent, Piece, TextFile, each_piece},
    records::{Block, MAX_RECORD, RecordPart},
    seen::{ContentHash, Seen},
    stamp::Stamp,
};
use crate::{
    args::{Format, RowArgs},
    report::{counted, grouped, visible},
};

/// What an item is, and which fields are read.
#[derive(Clone, Default)]
pub struct RowOptions {
    /// The format of all inputs, if the user named it.
    pub format: Option<Format>,
    /// The field with the text.
    pub field: Option<String>,
    /// The vectors that the field must hold, if it holds such.
    pub vectors: Option<Vectors>,
    /// The field with the id.
    pub id: Option<String>,
    /// The fields to order rows by.
    pub keys: Vec<String>,
    /// Whether all texts are web pages, of which the main text is used.
    pub html: bool,
    /// Whether web pages are used with their markup.
    pub markup: bool,
    /// Whether everything will be read a second time, to write kept items.
    pub again: bool,
    /// The folder for temporary files; the system's if none.
    pub temp: Option<PathBuf>,
    /// Whether symbolic links in folders are followed.
    pub follow_links: bool,
    /// Whether the state of each file is recorded, because files will be acted on.
    pub watch: bool,
    /// The memory limit.
    pub memory: Option<u64>,
}

impl RowOptions {
    /// The id and key fields that the user named and the input lacks.
    pub(super) fn missing(&self, has: impl Fn(&String) -> bool) -> Vec<String> {
        self.id.iter().chain(&self.keys).filter(|name| !has(name)).cloned().collect()
    }
}

impl From<&RowArgs> for RowOptions {
    fn from(args: &RowArgs) -> Self {
        Self {
            format: if args.lines { Some(Format::Lines) } else { args.format },
            field: args.field.clone(),
            id: args.id.clone(),
            html: args.html,
            markup: args.markup,
            follow_links: args.follow_links,
            ..Self::default()
        }
    }
}

/// All inputs of one command.
pub struct Rows {
    pub(super) inputs: Vec<Input>,
    options: RowOptions,
    notes: Vec<String>,
    walk: Walk,
    /// Which records read so far are items.
    pub(super) items: Items,
    /// Rows of tables that could not be read, and so are not records.
    pub(super) lost: Vec<LostRows>,
    /// The state of each item's file, if recorded.
    pub(super) seen: Vec<Seen>,
}

/// Consecutive rows of a table that could not be read.
pub(super) struct LostRows {
    pub input: usize,
    pub rows: Range<u64>,
}

/// One item.
pub struct Row<'a> {
    pub content: Content<'a>,
    /// The values of the fields to order by; empty if rows have no fields.
    pub keys: Vec<Option<Key>>,
    /// Its size in the input.
    pub bytes: u64,
    /// The modification time in nanoseconds since 1970, if known.
    pub modified: Option<i64>,
    location: Location,
    /// Whether it has an id, or is a file, whose id is its path.
    has_id: bool,
}

/// A line or row of an input, or the whole input.
#[derive(Clone, Copy)]
struct Location {
    input: usize,
    line: Option<u64>,
}

/// Consecutive items.
pub struct Batch<'a> {
    pub rows: Vec<Row<'a>>,
    /// The number of the first item.
    pub first: u32,
    /// The ids of all items so far.
    pub ids: &'a Ids,
    skipped: &'a mut Skipped,
    inputs: &'a [Input],
}

/// Receives items as they are read.
pub type OnBatch<'a> = &'a mut dyn FnMut(Batch<'_>) -> Result<()>;

impl Row<'_> {
    /// Its line or row in the input, from 1; 0 if it is the whole input.
    pub fn line(&self) -> u64 {
        self.location.line.unwrap_or(0)
    }

    /// What a kind keeps of it.
    pub fn digest(&self, kind: &dyn Kind) -> Result<lookalike::Digest, Unfit> {
        self.digest_by(&mut *kind.digester())
    }

    /// The same by a digester that is there already.
    pub fn digest_by(&self, digester: &mut dyn Digester) -> Result<lookalike::Digest, Unfit> {
        let input = match &self.content {
            Content::Text(text) => kind::Input::Text(text),
            Content::Features(features) => kind::Input::Features(features),
            Content::Vector(numbers) => kind::Input::Vector(numbers),
        };
        digester.digest(input).map(|(digest, _)| digest)
    }

    /// Its text; empty if it has features.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Features(_) | Content::Vector(_) => "",
        }
    }
}

impl Batch<'_> {
    /// The input and line of an item without an id.
    pub fn location_without_id(&self, row: &Row<'_>) -> Option<(&str, Option<u64>)> {
        let Location { input, line } = row.location;
        (!row.has_id).then(|| (self.inputs[input].name.as_str(), line))
    }

    /// Counts an item of this batch as skipped.
    pub fn refuse(&mut self, row: usize, reason: Reason, what: impl std::fmt::Display) {
        let Location { input, line } = self.rows[row].location;
        self.skipped.note(bad(&self.inputs[input], line, reason, what), 1);
    }
}

impl Rows {
    /// Opens all inputs, so that a wrong name fails before any work is done.
    pub fn open(paths: &[PathBuf], options: RowOptions, skipped: &mut Skipped) -> Result<Self> {
        let mut rows = Self::none(options);
        check_streams(paths)?;
        for path in paths {
            if is_stream(path) {
                let opened = Input::stream(path, &rows.options).map_err(Bad::error)?;
                rows.push(opened);
            } else if path.is_dir() {
                rows.open_folder(path, skipped)?;
            } else {
                match Input::file(path, &rows.options) {
                    Ok(opened) => rows.push_file(opened, path),
                    // A wrong name is an error; an existing but damaged input is skipped.
                    Err(bad) if paths.len() > 1 && path.exists() && bad.is_damage() => {
                        skipped.add(bad)?;
                    }
                    Err(bad) => return Err(bad.error()),
                }
            }
        }
        ensure!(
            !rows.inputs.is_empty(),
            "none of the {} can be read; first: {}",
            counted(paths.len() as u64, "input"),
            skipped.lines().next().unwrap_or_default()
        );
        rows.check_fields()?;
        rows.check_dimensions()?;
        Ok(rows)
    }

    /// Refuses a field that no input has.
    fn check_fields(&self) -> Result<()> {
        let is_missing = |name: &&String| {
            self.inputs.iter().all(|input| input.missing.contains(name)) && !self.inputs.is_empty()
        };
        let RowOptions { id, keys, .. } = &self.options;
        if let Some(name) = id.iter().find(is_missing) {
            bail!("--id {name}: no input has a column with this name");
        }
        if let Some(name) = keys.iter().find(is_missing) {
            bail!("--keep {name}: no input has a column with this name");
        }
        Ok(())
    }

    /// Bytes in memory, in the format of a file.
    pub fn of_bytes(bytes: &[u8], format: Format, options: RowOptions) -> Result<Self> {
        let input = Input::bytes(bytes, format, &options).map_err(Bad::error)?;
        let mut rows = Self::none(options);
        rows.push((input, None));
        Ok(rows)
    }

    /// Rows in memory, with a name for messages.
    pub fn in_memory(name: String, batches: Vec<RecordBatch>, options: RowOptions) -> Result<Self> {
        let opened = Input::memory(name, batches, &options).map_err(Bad::error)?;
        let mut rows = Self::none(options);
        rows.push(opened);
        Ok(rows)
    }

    fn none(options: RowOptions) -> Self {
        let (inputs, notes, lost, seen) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let walk = Walk::new(options.follow_links);
        Self { inputs, options, notes, walk, items: Items::default(), lost, seen }
    }

    /// The number of dimensions of the first vector, if it can be told before all are read.
    pub fn dimensions(&self) -> Option<u32> {
        self.inputs.iter().find_map(|input| input.dimensions)
    }

    /// Refuses inputs whose vectors have different numbers of dimensions.
    fn check_dimensions(&self) -> Result<()> {
        let known = |input: &Input| Some((input.name.clone(), input.dimensions?));
        let mut all = self.inputs.iter().filter_map(known);
        let Some((first, dimensions)) = all.next() else { return Ok(()) };
        if let Some((name, other)) = all.find(|(_, other)| *other != dimensions) {
            bail!(
                "{first} has vectors of {dimensions} dimensions, but {name} of {other}; they cannot be \
                 compared"
            );
        }
        Ok(())
    }

    /// A description of the inputs, for messages.
    pub fn what(&self) -> String {
        let formats: BTreeSet<_> =
            self.inputs.iter().map(|input| input.format.description()).collect();
        let formats: Vec<_> = formats.into_iter().collect();
        match self.inputs.as_slice() {
            [Input { format: Format::Text, name, .. }] => name.clone(),
            [input] => format!("{} of {}", formats.join(" and "), input.name),
            inputs if formats.len() == 1 && inputs[0].format == Format::Text => {
                counted(inputs.len() as u64, "text file")
            }
            inputs => {
                format!("{} of {}", formats.join(" and "), counted(inputs.len() as u64, "file"))
            }
        }
    }

    /// Notes for the user on what was guessed, ignored or repaired.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reads every item in order.
    pub fn read(&mut self, skipped: &mut Skipped, on_batch: OnBatch<'_>) -> Result<Ids> {
        let names = self.inputs.iter().map(|input| input.name.clone()).collect();
        let (without_before, before) = (skipped.count(Reason::NoField), skipped.total());
        let mut reading = Reading {
            inputs: &self.inputs,
            html: self.options.html,
            markup: self.options.markup,
            ids: Ids::new(names),
            items: Items::default(),
            lost: Vec::new(),
            seen: Vec::new(),
            // Keep the states of the first reading.
            watch: self.options.watch && self.seen.is_empty(),
            row: 0,
            input: None,
            broken: 0,
            detected: BTreeMap::new(),
            pages: 0,
        };
        each_piece(&self.inputs, Extent::FieldNames, |piece| {
            reading.take(piece, skipped, on_batch)
        })?;
        let Reading { ids, items, lost, seen, broken, detected, pages, .. } = reading;
        let without_field = skipped.count(Reason::NoField) - without_before;
        if let Some(field) =
            self.options.field.as_ref().filter(|_| ids.len() == 0 && without_field > 0)
        {
            bail!(
                "--field {field}: no field of this name in {}; first: {}",
                counted(items.len(), "row"),
                skipped.lines().next().unwrap_or_default().trim_start_matches("skipped ")
            );
        }
        // Rows in memory are never unreadable.
        if !self.inputs.iter().any(|input| matches!(input.origin.source, Source::Rows(_))) {
            skipped.check_some(ids.len(), before)?;
        }
        self.check_ids(&ids)?;
        self.items = items;
        self.lost = lost;
        if self.seen.is_empty() {
            self.seen = seen;
        }
        self.notes.extend(encoding_notes(broken, &detected));
        if pages > 0 {
            let are = if pages == 1 { "text is a web page" } else { "texts are web pages" };
            self.notes.push(format!(
                "note: {} {are}, compared by main text; use --markup to compare the markup",
                grouped(pages)
            ));
        }
        self.notes.extend(ids.repeated_note());
        Ok(ids)
    }

    /// Refuses an id field that no JSON row has. Tables are checked before they are read.
    fn check_ids(&self, ids: &Ids) -> Result<()> {
        let Some(id) = &self.options.id else { return Ok(()) };
        let only_json = self.inputs.iter().all(|input| input.format == Format::Jsonl);
        ensure!(
            !only_json || ids.len() == 0 || ids.are_some_given(),
            "--id {id}: no field of this name in {}",
            counted(ids.len(), "row")
        );
        Ok(())
    }

    fn push(&mut self, (input, note): (Input, Option<String>)) {
        self.inputs.push(input);
        self.notes.extend(note.filter(|note| !self.notes.contains(note)));
    }

    /// Lists a text file only once, even if it is named several times.
    fn push_file(&mut self, opened: (Input, Option<String>), path: &Path) {
        let file = path.metadata().ok().and_then(|data| Stamp::of(&data).file);
        if opened.0.format == Format::Text
            && let Some(first) = self.walk.list(file, self.inputs.len())
        {
            let name = visible(&opened.0.name);
            self.notes.push(format!("note: {name} is given more than once, and read once"));
            self.inputs[first].links.push(path.to_owned());
        } else {
            self.push(opened);
        }
    }

    fn open_folder(&mut self, path: &Path, skipped: &mut Skipped) -> Result<()> {
        let Walked { files, links, .. } = self.walk.folder(path, self.inputs.len(), skipped)?;
        let name = path_text(path);
        if let Some(ignored) = self.walk.note() {
            let name = visible(&name);
            self.notes.push(format!("note: ignored in {name}: {ignored}"));
        }
        ensure!(!files.is_empty() || !links.is_empty(), "{name}: the folder contains no files");
        let is_table = |file: &&PathBuf| match self.options.format {
            Some(format) => format != Format::Text,
            None => Format::of_name(file).is_some(),
        };
        let tables = files.iter().filter(is_table).count();
        if tables == 0 {
            self.inputs.extend(files.iter().map(|file| {
                Input::text(file, file.strip_prefix(path).unwrap_or(file), self.options.memory)
            }));
            for (first, link) in links {
                if let Some(input) = self.inputs.get_mut(first) {
                    input.links.push(link);
                }
            }
        } else if tables == files.len() {
            for file in &files {
                match Input::file(file, &self.options) {
                    Ok(opened) => self.push(opened),
                    Err(bad) => skipped.add(bad)?,
                }
            }
        } else {
            bail!(
                "{name}: contains {} with rows and {} without; name the ones to read, \
                 or use --format text to read every file as one text",
                counted(tables as u64, "file"),
                grouped((files.len() - tables) as u64)
            );
        }
        Ok(())
    }
}

fn bad(input: &Input, line: Option<u64>, reason: Reason, what: impl std::fmt::Display) -> Bad {
    match line {
        Some(line) => Bad::line(&input.name, line, reason, what),
        None => Bad::item(&input.name, reason, what),
    }
}

/// Which records are items, as one bit each.
#[derive(Default)]
pub struct Items {
    words: Vec<u64>,
    len: u64,
}

impl Items {
    pub fn push(&mut self, is_item: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(is_item) << (self.len % 64);
        }
        self.len += 1;
    }

    /// Whether this record is an item; none if there is no such record.
    pub fn get(&self, record: u64) -> Option<bool> {
        (record < self.len).then(|| self.words[(record / 64) as usize] >> (record % 64) & 1 == 1)
    }

    pub fn len(&self) -> u64 {
        self.len
    }
}

/// Notes on texts that are not UTF-8.
fn encoding_notes(broken: u64, detected: &BTreeMap<&'static str, u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if broken > 0 {
        let texts = counted(broken, "text");
        notes.push(format!(
            "note: {texts} with bytes that are invalid in their encoding; in UTF-8, such bytes are read \
             as windows-1252"
        ));
    }
    if !detected.is_empty() {
        let texts = counted(detected.values().sum(), "text");
        let each = detected.iter().map(|(name, &count)| format!("{name} ({})", grouped(count)));
        let each = each.collect::<Vec<_>>().join(", ");
        notes.push(format!("note: {texts} not in UTF-8; detected encodings: {each}"));
    }
    notes
}

/// The state of one reading.
struct Reading<'a> {
    inputs: &'a [Input],
    html: bool,
    markup: bool,
    ids: Ids,
    items: Items,
    lost: Vec<LostRows>,
    seen: Vec<Seen>,
    watch: bool,
    /// The last row of the current input, from 1.
    row: u64,
    input: Option<usize>,
    /// How many texts have invalid bytes.
    broken: u64,
    /// How many texts are in each detected encoding.
    detected: BTreeMap<&'static str, u64>,
    /// How many texts were recognised as web pages.
    pages: u64,
}

struct ParsedRecord<'a> {
    location: Location,
    bytes: u64,
    row: RowResult<'a>,
    /// The state of its file, if recorded.
    seen: Option<Seen>,
}

impl Reading<'_> {
    fn take(&mut self, piece: Piece, skipped: &mut Skipped, on_batch: OnBatch<'_>) -> Result<()> {
        match piece {
            Piece::Failed(bad, items) => skipped.add_many(bad, items),
            Piece::Lost { input, before, rows, bad } => {
                self.lost.push(LostRows { input, rows: before..before.saturating_add(rows) });
                skipped.add_many(bad, rows)
            }
            Piece::Refused(bad) => Err(bad.error()),
            Piece::Records { input, block } => {
                let parsed = self.parse_block(input, &block);
                self.pass_on(parsed, skipped, on_batch)
            }
            Piece::Rows { input, before, batch } => {
                let Some(wanted) = &self.inputs[input].wanted else { return Ok(()) };
                let columns = Columns::of(&batch, wanted);
                let parse = |number: usize| {
                    let row = columns.row(number, wanted);
                    let location = Location { input, line: Some(before + number as u64 + 1) };
                    let bytes = size(&row);
                    ParsedRecord { location, bytes, row: self.main_text(row), seen: None }
                };
                let parsed = (0..batch.num_rows()).into_par_iter().map(parse).collect();
                self.pass_on(parsed, skipped, on_batch)
            }
            Piece::Files(mut files) => {
                let unreadable: Vec<_> = files.iter_mut().filter_map(take_error).collect();
                let parsed = files.par_iter().map(|file| self.parse_file(file)).collect();
                unreadable.into_iter().try_for_each(|bad| skipped.add(bad))?;
                self.pass_on(parsed, skipped, on_batch)
            }
        }
    }

    fn parse_block<'b>(&self, input: usize, block: &'b Block) -> Vec<ParsedRecord<'b>> {
        let from = &self.inputs[input];
        let parse = |number: usize| {
            let record = &block.records[number];
            let row = match record.part {
                RecordPart::More => return None,
                _ if from.is_header(record.line) => return None,
                RecordPart::Whole => from.parse(block.record(number), record.line),
                RecordPart::Cut(what) => Err((Reason::Broken, what.to_owned())),
                RecordPart::TooLong => {
                    let what = format!("the record has more than {MAX_RECORD} bytes; split it");
                    Err((Reason::TooLong, what))
                }
            };
            let location = Location { input, line: Some(record.line) };
            let bytes = block.record(number).len() as u64;
            Some(ParsedRecord { location, bytes, row: self.main_text(row), seen: None })
        };
        (0..block.records.len()).into_par_iter().filter_map(parse).collect()
    }

    fn parse_file<'b>(&self, file: &'b TextFile) -> ParsedRecord<'b> {
        let row = match &file.content {
            Ok(content) => {
                let is_page = self.html || is_page(&self.inputs[file.input].name, content);
                let row = parse_file(content, is_page);
                self.main_text(Ok(Some(ParsedRow { modified: file.modified(), ..row })))
            }
            Err(_) => Ok(None),
        };
        let seen = match (&file.content, file.stamp) {
            (Ok(content), Some(stamp)) if self.watch => {
                Some(Seen { input: file.input, stamp, content: ContentHash::of(content) })
            }
            _ => None,
        };
        let location = Location { input: file.input, line: None };
        ParsedRecord { location, bytes: file.bytes, row, seen }
    }

    /// Replaces web pages by their main text, unless the user wants the markup.
    fn main_text<'b>(&self, row: RowResult<'b>) -> RowResult<'b> {
        let Some(mut row) = row? else { return Ok(None) };
        if let Content::Text(text) = &row.content
            && !self.markup
            && row.html.unwrap_or(self.html)
        {
            row.content = Content::Text(html::main_text(text).into());
        }
        Ok(Some(row))
    }

    /// Assigns ids to the items, counts skipped records, and passes the items on.
    fn pass_on(
        &mut self,
        parsed: Vec<ParsedRecord<'_>>,
        skipped: &mut Skipped,
        on_batch: OnBatch<'_>,
    ) -> Result<()> {
        let first = self.ids.len() as u32;
        let mut rows = Vec::with_capacity(parsed.len());
        for ParsedRecord { location, bytes, row, seen } in parsed {
            self.start_input(location.input);
            self.row += u64::from(!matches!(row, Ok(None)) || !self.skips_blank_rows());
            self.items.push(matches!(row, Ok(Some(_))));
            match row {
                Ok(None) => {}
                Err((reason, what)) => {
                    let input = &self.inputs[location.input];
                    skipped.add(bad(input, location.line, reason, what))?;
                }
                Ok(Some(row)) => {
                    self.push_id(&row.id, location);
                    let is_file =
                        location.line.is_none() && !self.inputs[location.input].is_stream();
                    let has_id = is_file || !matches!(row.id, RowId::None);
                    self.seen.extend(seen);
                    self.count_repair(row.repair);
                    let is_noted = !self.html && !self.markup;
                    self.pages += u64::from(is_noted && row.html == Some(true));
                    let ParsedRow { content, keys, modified, .. } = row;
                    rows.push(Row { content, keys, bytes, modified, location, has_id });
                }
            }
        }
        ensure!(
            self.ids.len() <= u64::from(u32::MAX),
            "more than {} items",
            grouped(u32::MAX.into())
        );
        if rows.is_empty() {
            return Ok(());
        }
        on_batch(Batch { rows, first, ids: &self.ids, skipped, inputs: self.inputs })
    }

    fn count_repair(&mut self, repair: Repair) {
        match repair {
            Repair::None => {}
            Repair::Broken => self.broken += 1,
            Repair::Detected(encoding) => *self.detected.entry(encoding.name()).or_default() += 1,
        }
    }

    fn start_input(&mut self, input: usize) {
        if self.input != Some(input) {
            self.input = Some(input);
            self.row = 0;
            self.ids.start_input(input);
        }
    }

    /// Blank lines count as rows except in CSV and TSV.
    fn skips_blank_rows(&self) -> bool {
        let format = self.input.map(|input| self.inputs[input].format);
        matches!(format, Some(Format::Csv | Format::Tsv))
    }

    fn push_id(&mut self, id: &RowId<'_>, location: Location) {
        match (id, location.line, self.inputs[location.input].format) {
            (RowId::Given(id), ..) => self.ids.push_given(id),
            (RowId::Number(number), ..) => self.ids.push_numeric(*number),
            (RowId::OtherNumber(digits), ..) => self.ids.push_other_number(digits),
            (RowId::None, None, _) => self.ids.push_input(),
            (RowId::None, Some(line), Format::Lines) => self.ids.push_numbers(line, 1),
            (RowId::None, Some(line), Format::Jsonl | Format::Parquet | Format::Npy) => {
                self.ids.push_row(line);
            }
            (RowId::None, Some(_), _) => self.ids.push_row(self.row),
        }
    }
}

/// The size of a row of columns: the length of its text.
fn size(row: &RowResult<'_>) -> u64 {
    match row {
        Ok(Some(ParsedRow { content: Content::Text(text), .. })) => text.len() as u64,
        _ => 0,
    }
}

/// Takes the error of an unreadable file, which is then not an item.
fn take_error(file: &mut TextFile) -> Option<Bad> {
    if file.content.is_ok() {
        return None;
    }
    std::mem::replace(&mut file.content, Err(Bad::input("", ""))).err()
}
