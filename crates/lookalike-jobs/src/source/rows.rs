//! Which items do the inputs of a command hold? Rows of any format, read in order, twice if need be.
//!
//! A thread reads ahead and cuts inputs into records ([`each_piece`]); records are parsed on the
//! caller's threads, a block at a time. Order and answer do not depend on the number of threads.

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
    field::{Content, Found, Key, Outcome, RowId, Vectors},
    folder::{Walk, Walked},
    html,
    input::{Input, is_page, parse_file},
    origin::Place as Origin,
    parquet::Columns,
    path::path_text,
    reader::{Extent, Piece, TextFile, each_piece},
    records::{Block, LONGEST, Part},
    seen::{Digest, Seen},
    stamp::Stamp,
};
use crate::{
    args::{Format, RowArgs},
    report::{counted, grouped, visible},
};

/// What is an item, and what of it is read?
#[derive(Clone, Default)]
pub struct RowOptions {
    /// The format of all inputs, if the user says.
    pub format: Option<Format>,
    /// The field of the text, and of the id.
    pub field: Option<String>,
    /// The vectors that the field must hold, if it holds such.
    pub vectors: Option<Vectors>,
    pub id: Option<String>,
    /// The fields to order rows by.
    pub keys: Vec<String>,
    /// All texts are web pages; their main text is wanted.
    pub html: bool,
    /// Of web pages, everything is wanted, not their main text.
    pub markup: bool,
    /// Everything will be read a second time, to write what is kept.
    pub again: bool,
    /// The folder for temporary files, if not the system's.
    pub temp: Option<PathBuf>,
    /// Symbolic links in folders are followed.
    pub follow_links: bool,
    /// Files will be acted on: notes how each was when it was read.
    pub watch: bool,
    /// The memory limit, if there is one.
    pub memory: Option<u64>,
}

impl RowOptions {
    /// The fields that the user named, but for that of the text, that are not there.
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
    /// Which records were items, once they are read.
    pub(super) items: Items,
    /// Rows of tables that could not be read, and so are no records.
    pub(super) lost: Vec<Lost>,
    /// How each item was, if they are files and are watched.
    pub(super) seen: Vec<Seen>,
}

/// Rows of one table that follow each other.
pub(super) struct Lost {
    pub input: usize,
    pub rows: Range<u64>,
}

/// One item.
pub struct Row<'a> {
    pub content: Content<'a>,
    /// The values of the fields to order by, as far as it has them; none if rows have no fields.
    pub keys: Vec<Option<Key>>,
    /// How large it is where it is stored.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970, if that is known.
    pub modified: Option<i64>,
    place: Place,
    /// Whether it says its id, or is a file, which goes by its path.
    has_name: bool,
}

/// Where an item stands: a line or row of an input, or all of it.
#[derive(Clone, Copy)]
struct Place {
    input: usize,
    line: Option<u64>,
}

/// Some items that follow each other.
pub struct Batch<'a> {
    pub rows: Vec<Row<'a>>,
    /// The number of the first.
    pub first: u32,
    /// The names of all items so far.
    pub ids: &'a Ids,
    skipped: &'a mut Skipped,
    inputs: &'a [Input],
}

/// Takes items as they are read.
pub type OnBatch<'a> = &'a mut dyn FnMut(Batch<'_>) -> Result<()>;

impl Row<'_> {
    /// Which line or row of its input it is, from 1; 0 if it is all of it.
    pub fn line(&self) -> u64 {
        self.place.line.unwrap_or(0)
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

    /// Its text; nothing if it has features.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Features(_) | Content::Vector(_) => "",
        }
    }
}

impl Batch<'_> {
    /// The input and the line or row where an item stands that has no name of its own.
    pub fn place_of_unnamed(&self, row: &Row<'_>) -> Option<(&str, Option<u64>)> {
        let Place { input, line } = row.place;
        (!row.has_name).then(|| (self.inputs[input].name.as_str(), line))
    }

    /// Says that an item of this batch cannot be used after all.
    pub fn refuse(&mut self, row: usize, reason: Reason, what: impl std::fmt::Display) {
        let Place { input, line } = self.rows[row].place;
        self.skipped.note(bad(&self.inputs[input], line, reason, what), 1);
    }
}

impl Rows {
    /// Opens all inputs, so that a wrong name is noticed before any work is done.
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
                    // A wrong name is a mistake; what is there but damaged does not stop the others.
                    Err(bad) if paths.len() > 1 && path.exists() && bad.is_damage() => {
                        skipped.add(bad)?;
                    }
                    Err(bad) => return Err(bad.error()),
                }
            }
        }
        ensure!(
            !rows.inputs.is_empty(),
            "none of the {} can be read; the first: {}",
            counted(paths.len() as u64, "input"),
            skipped.lines().next().unwrap_or_default()
        );
        rows.check_fields()?;
        rows.check_dimensions()?;
        Ok(rows)
    }

    /// Refuses a field that is known to be in no input.
    fn check_fields(&self) -> Result<()> {
        let is_missing = |name: &&String| {
            self.inputs.iter().all(|input| input.missing.contains(name)) && !self.inputs.is_empty()
        };
        let RowOptions { id, keys, .. } = &self.options;
        if let Some(name) = id.iter().find(is_missing) {
            bail!("--id {name}: no input has a column of that name");
        }
        if let Some(name) = keys.iter().find(is_missing) {
            bail!("--keep {name}: no input has a column of that name");
        }
        Ok(())
    }

    /// Bytes of one format, as a file would hold them.
    pub fn of_bytes(bytes: &[u8], format: Format, options: RowOptions) -> Result<Self> {
        let input = Input::bytes(bytes, format, &options).map_err(Bad::error)?;
        let mut rows = Self::none(options);
        rows.push((input, None));
        Ok(rows)
    }

    /// Rows that a program holds, under a name for messages.
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

    /// What is read, in words.
    pub fn what(&self) -> String {
        let formats: BTreeSet<_> = self.inputs.iter().map(|input| input.format.words()).collect();
        let formats: Vec<_> = formats.into_iter().collect();
        match self.inputs.as_slice() {
            [input] => format!("{} of {}", formats.join(" and "), input.name),
            inputs => {
                format!("{} of {}", formats.join(" and "), counted(inputs.len() as u64, "file"))
            }
        }
    }

    /// What the user should know of what was guessed, left out or repaired.
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
            // A second reading changes nothing of how they were at the first.
            watch: self.options.watch && self.seen.is_empty(),
            row: 0,
            input: None,
            broken: 0,
            detected: BTreeMap::new(),
            pages: 0,
        };
        each_piece(&self.inputs, Extent::Wanted, |piece| reading.take(piece, skipped, on_batch))?;
        let Reading { ids, items, lost, seen, broken, detected, pages, .. } = reading;
        let without = skipped.count(Reason::NoField) - without_before;
        if let Some(field) = self.options.field.as_ref().filter(|_| ids.len() == 0 && without > 0) {
            bail!(
                "--field {field}: none of {} has a field of that name; skipped {}",
                counted(items.len(), "row"),
                skipped.lines().next().unwrap_or_default().trim_start_matches("skipped ")
            );
        }
        // Rows that a program holds are all there, whatever they say.
        if !self.inputs.iter().any(|input| matches!(input.origin.place, Origin::Rows(_))) {
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
                "note: {} {are}, compared by the main text; --markup keeps the markup",
                grouped(pages)
            ));
        }
        self.notes.extend(ids.repeated_note());
        Ok(ids)
    }

    /// Refuses an id that no row of JSON has; of tables it is known before.
    fn check_ids(&self, ids: &Ids) -> Result<()> {
        let Some(id) = &self.options.id else { return Ok(()) };
        let only_json = self.inputs.iter().all(|input| input.format == Format::Jsonl);
        ensure!(
            !only_json || ids.len() == 0 || ids.are_some_given(),
            "--id {id}: none of {} has a field of that name",
            counted(ids.len(), "row")
        );
        Ok(())
    }

    fn push(&mut self, (input, note): (Input, Option<String>)) {
        self.inputs.push(input);
        self.notes.extend(note.filter(|note| !self.notes.contains(note)));
    }

    /// A file that is one text is listed once, however often it is named.
    fn push_file(&mut self, opened: (Input, Option<String>), path: &Path) {
        let file = path.metadata().ok().and_then(|data| Stamp::of(&data).file);
        if opened.0.format == Format::Text
            && let Some(first) = self.walk.list(file, self.inputs.len())
        {
            let name = visible(&opened.0.name);
            self.notes.push(format!("note: {name} is listed already, and read once"));
            self.inputs[first].links.push(path.to_owned());
        } else {
            self.push(opened);
        }
    }

    fn open_folder(&mut self, path: &Path, skipped: &mut Skipped) -> Result<()> {
        let Walked { files, links, .. } = self.walk.folder(path, self.inputs.len(), skipped)?;
        let name = path_text(path);
        if let Some(left_out) = self.walk.note() {
            let name = visible(&name);
            self.notes.push(format!("note: left out of {name}: {left_out}"));
        }
        ensure!(
            !files.is_empty() || !links.is_empty(),
            "{name}: there are no files in this folder"
        );
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
                "{name}: holds {} of rows and {} of other kinds; name the ones to read, \
                 or --format text to take every file as one text",
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

/// Which records are items: one bit each.
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

    /// Whether this record was an item; none if there was no such record.
    pub fn get(&self, record: u64) -> Option<bool> {
        (record < self.len).then(|| self.words[(record / 64) as usize] >> (record % 64) & 1 == 1)
    }

    pub fn len(&self) -> u64 {
        self.len
    }
}

/// What to say of texts that are no UTF-8.
fn encoding_notes(broken: u64, detected: &BTreeMap<&'static str, u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if broken > 0 {
        let texts = counted(broken, "text");
        notes.push(format!(
            "note: {texts} with bytes that do not fit the encoding of the rest; in UTF-8, such bytes \
             are read as windows-1252"
        ));
    }
    if !detected.is_empty() {
        let texts = counted(detected.values().sum(), "text");
        let each = detected.iter().map(|(name, &count)| format!("{} as {name}", grouped(count)));
        let each = each.collect::<Vec<_>>().join(", ");
        notes.push(format!("note: not UTF-8, and read by its looks: {texts}, {each}"));
    }
    notes
}

/// A reading under way.
struct Reading<'a> {
    inputs: &'a [Input],
    html: bool,
    markup: bool,
    ids: Ids,
    items: Items,
    lost: Vec<Lost>,
    seen: Vec<Seen>,
    watch: bool,
    /// The row of the current input last read, from 1.
    row: u64,
    input: Option<usize>,
    /// Texts with bytes that do not fit.
    broken: u64,
    /// Texts in encodings that were detected, by name.
    detected: BTreeMap<&'static str, u64>,
    /// Web pages that were told as such, and give their main text.
    pages: u64,
}

/// A record as it was parsed.
struct Parsed<'a> {
    place: Place,
    bytes: u64,
    outcome: Outcome<'a>,
    /// Of a file that is watched.
    seen: Option<Seen>,
}

impl Reading<'_> {
    fn take(&mut self, piece: Piece, skipped: &mut Skipped, on_batch: OnBatch<'_>) -> Result<()> {
        match piece {
            Piece::Failed(bad, items) => skipped.add_many(bad, items),
            Piece::Lost { input, before, rows, bad } => {
                self.lost.push(Lost { input, rows: before..before.saturating_add(rows) });
                skipped.add_many(bad, rows)
            }
            Piece::Refused(bad) => Err(bad.error()),
            Piece::Records { input, block } => {
                let parsed = self.parse_block(input, &block);
                self.settle(parsed, skipped, on_batch)
            }
            Piece::Rows { input, before, batch } => {
                let Some(wanted) = &self.inputs[input].wanted else { return Ok(()) };
                let columns = Columns::of(&batch, wanted);
                let row = |row: usize| {
                    let outcome = columns.row(row, wanted);
                    let place = Place { input, line: Some(before + row as u64 + 1) };
                    Parsed {
                        place,
                        bytes: size(&outcome),
                        outcome: self.shown(outcome),
                        seen: None,
                    }
                };
                let parsed = (0..batch.num_rows()).into_par_iter().map(row).collect();
                self.settle(parsed, skipped, on_batch)
            }
            Piece::Files(mut files) => {
                let refused: Vec<_> = files.iter_mut().map(take_refusal).collect();
                let parsed = files.par_iter().map(|file| self.parse_file(file)).collect();
                self.settle_files(parsed, refused, skipped, on_batch)
            }
        }
    }

    fn parse_block<'b>(&self, input: usize, block: &'b Block) -> Vec<Parsed<'b>> {
        let from = &self.inputs[input];
        let parse = |number: usize| {
            let record = &block.records[number];
            let outcome = match record.part {
                Part::More => return None,
                _ if from.is_header(record.line) => return None,
                Part::Whole => from.parse(block.record(number), record.line),
                Part::Cut(what) => Err((Reason::Broken, what.to_owned())),
                Part::TooLong => {
                    let what = format!("more than {LONGEST} bytes in one record; break it up");
                    Err((Reason::TooLong, what))
                }
            };
            let place = Place { input, line: Some(record.line) };
            let bytes = block.record(number).len() as u64;
            Some(Parsed { place, bytes, outcome: self.shown(outcome), seen: None })
        };
        (0..block.records.len()).into_par_iter().filter_map(parse).collect()
    }

    fn parse_file<'b>(&self, file: &'b TextFile) -> Parsed<'b> {
        let outcome = match &file.content {
            Ok(content) => {
                let is_page = self.html || is_page(&self.inputs[file.input].name, content);
                let found = parse_file(content, is_page);
                self.shown(Ok(Some(Found { modified: file.modified(), ..found })))
            }
            Err(_) => Ok(None),
        };
        let seen = match (&file.content, file.stamp) {
            (Ok(content), Some(stamp)) if self.watch => {
                Some(Seen { input: file.input, stamp, digest: Digest::of(content) })
            }
            _ => None,
        };
        let place = Place { input: file.input, line: None };
        Parsed { place, bytes: file.bytes, outcome, seen }
    }

    /// Takes the main text of web pages, unless all of them is wanted.
    fn shown<'b>(&self, outcome: Outcome<'b>) -> Outcome<'b> {
        let Some(mut found) = outcome? else { return Ok(None) };
        if let Content::Text(text) = &found.content
            && !self.markup
            && found.html.unwrap_or(self.html)
        {
            found.content = Content::Text(html::main_text(text).into());
        }
        Ok(Some(found))
    }

    /// Files that could not be read are told in their turn.
    fn settle_files(
        &mut self,
        parsed: Vec<Parsed<'_>>,
        refused: Vec<Option<Bad>>,
        skipped: &mut Skipped,
        on_batch: OnBatch<'_>,
    ) -> Result<()> {
        for refused in refused.into_iter().flatten() {
            skipped.add(refused)?;
        }
        self.settle(parsed, skipped, on_batch)
    }

    /// Names the items, counts the rest, and hands the items on.
    fn settle(
        &mut self,
        parsed: Vec<Parsed<'_>>,
        skipped: &mut Skipped,
        on_batch: OnBatch<'_>,
    ) -> Result<()> {
        let first = self.ids.len() as u32;
        let mut rows = Vec::with_capacity(parsed.len());
        for Parsed { place, bytes, outcome, seen } in parsed {
            self.start_input(place.input);
            self.row += u64::from(!matches!(outcome, Ok(None)) || !self.skips_blank_rows());
            self.items.push(matches!(outcome, Ok(Some(_))));
            match outcome {
                Ok(None) => {}
                Err((reason, what)) => {
                    skipped.add(bad(&self.inputs[place.input], place.line, reason, what))?;
                }
                Ok(Some(found)) => {
                    self.name(&found.id, place);
                    let is_file = place.line.is_none() && !self.inputs[place.input].is_stream();
                    let has_name = is_file || !matches!(found.id, RowId::Place);
                    self.seen.extend(seen);
                    self.note_repair(found.repair);
                    let is_told = !self.html && !self.markup;
                    self.pages += u64::from(is_told && found.html == Some(true));
                    let Found { content, keys, modified, .. } = found;
                    rows.push(Row { content, keys, bytes, modified, place, has_name });
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

    fn note_repair(&mut self, repair: Repair) {
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

    /// In a table a blank line is no row; anywhere else, lines are counted.
    fn skips_blank_rows(&self) -> bool {
        let format = self.input.map(|input| self.inputs[input].format);
        matches!(format, Some(Format::Csv | Format::Tsv))
    }

    fn name(&mut self, id: &RowId<'_>, place: Place) {
        match (id, place.line, self.inputs[place.input].format) {
            (RowId::Given(id), ..) => self.ids.push_given(id),
            (RowId::Number(number), ..) => self.ids.push_numeric(*number),
            (RowId::Numeral(digits), ..) => self.ids.push_numeral(digits),
            (RowId::Place, None, _) => self.ids.push_input(),
            (RowId::Place, Some(line), Format::Lines) => self.ids.push_numbers(line, 1),
            (RowId::Place, Some(line), Format::Jsonl | Format::Parquet | Format::Npy) => {
                self.ids.push_row(line);
            }
            (RowId::Place, Some(_), _) => self.ids.push_row(self.row),
        }
    }
}

/// A row of columns is not stored in one place; its text is most of it.
fn size(outcome: &Outcome<'_>) -> u64 {
    match outcome {
        Ok(Some(Found { content: Content::Text(text), .. })) => text.len() as u64,
        _ => 0,
    }
}

/// Why a file cannot be read; what is left of it is no item.
fn take_refusal(file: &mut TextFile) -> Option<Bad> {
    if file.content.is_ok() {
        return None;
    }
    let empty = Bad::input("", "");
    std::mem::replace(&mut file.content, Err(empty)).err()
}
