//! How is what stays written? In the format it came in: lines and rows byte for byte, tables with
//! their schema, arrays with their type, files under their paths. What could not be read stays as it
//! is.

use std::{collections::BTreeMap, fs, io, io::Write, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::{
    Bad, Fingerprints, Rows, arrays,
    input::Input,
    npy::{Header, NpyRows},
    origin::Place,
    pack,
    parquet::TableWriter,
    reader::{Extent, Piece, each_piece},
    records::{Block, Part, without_mark},
    rows::Items,
};
use crate::{
    args::{Format, OutputArgs},
    host::Console,
    report::{FolderOutput, Output, PackedOutput, Packing},
};

/// An open place for what is kept; nothing is in its place before all is written.
pub enum KeptOutput {
    Records(PackedOutput),
    Table(Output),
    Folder(FolderOutput),
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Items that were kept, and such that were not.
    pub kept: u64,
    pub removed: u64,
    /// Records that are no items (blank, not readable, not text): kept as they are.
    pub others: u64,
}

impl Rows {
    /// Opens the output before work starts, so that what cannot be written costs no time.
    pub fn open_kept(&self, args: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        let format = self.one_format()?;
        if let Some(target) = args.file() {
            check_ending(target, format)?;
        }
        match format {
            Format::Text => {
                self.check_paths()?;
                let Some(target) = args.file() else {
                    bail!("kept files go to a folder; name one with -o")
                };
                Ok(KeptOutput::Folder(FolderOutput::create(target, &console.host.partials)?))
            }
            Format::Parquet => {
                self.check_tables()?;
                Ok(KeptOutput::Table(Output::create(args, console)?))
            }
            Format::Npy => {
                self.check_arrays()?;
                Ok(KeptOutput::Records(packed(args, console)?))
            }
            _ => {
                self.check_headers()?;
                Ok(KeptOutput::Records(packed(args, console)?))
            }
        }
    }

    /// Writes all items for which `keep` is true, and all records that are no items.
    /// Everything must have been [read](Self::read) before.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        let mut choice = Choice::new(&self.items, keep);
        match output {
            KeptOutput::Records(output) if self.inputs[0].format == Format::Npy => {
                self.write_array(&mut choice, output)?;
            }
            KeptOutput::Records(output) => write_records(&self.inputs, &mut choice, output)?,
            KeptOutput::Table(output) => self.write_table(&mut choice, output)?,
            KeptOutput::Folder(output) => self.write_folder(&mut choice, output)?,
        }
        Ok(choice.done)
    }

    fn write_table(&self, choice: &mut Choice<'_>, output: Output) -> Result<()> {
        let table = self.inputs[0].table().map_err(Bad::error)?;
        let mut writer = TableWriter::like(&table, output)?;
        each_piece(&self.inputs, Extent::All, |piece| match piece {
            Piece::Rows { input, before, batch } => {
                let rows = before..before + batch.num_rows() as u64;
                let keep = rows.map(|row| match self.is_lost(input, row) {
                    // It could not be read then, and is no item.
                    true => Ok(false),
                    false => choice.next(),
                });
                writer.write(&batch, keep.collect::<Result<Vec<_>>>()?).context(FAILED)
            }
            Piece::Lost { input, before, rows, bad } => {
                let is_new = (before..before + rows).any(|row| !self.is_lost(input, row));
                if is_new { Err(bad.error().context(FAILED)) } else { Ok(()) }
            }
            Piece::Failed(bad, _) | Piece::Refused(bad) => Err(bad.error().context(FAILED)),
            Piece::Records { .. } | Piece::Files(_) => Ok(()),
        })?;
        choice.check_end()?;
        writer.finish().context(FAILED)?.finish()
    }

    fn write_array(&self, choice: &mut Choice<'_>, mut output: PackedOutput) -> Result<()> {
        // Every row that could be read is an item.
        let kept = (0..self.items.len() as u32).filter(|&item| (choice.keep)(item)).count();
        let layout = arrays::Layout::of_input(&self.inputs[0]).map_err(Bad::error)?;
        output.write_all(&layout.header.bytes(kept as u64)).context(FAILED)?;
        each_piece(&self.inputs, Extent::All, |piece| {
            // What stopped the reading was told at the first time.
            let Piece::Rows { batch, .. } = piece else { return Ok(()) };
            let rows = arrays::rows_of(&batch);
            rows.into_iter().try_for_each(|row| match choice.next()? {
                true => output.write_all(&row).context(FAILED),
                false => Ok(()),
            })
        })?;
        choice.check_end()?;
        output.finish()
    }

    /// Arrays of different kinds cannot be kept in one.
    fn check_arrays(&self) -> Result<()> {
        let layout = |input: &Input| arrays::Layout::of_input(input).map_err(Bad::error);
        let first = layout(&self.inputs[0])?;
        self.check_alike(|input| Ok(layout(input)?.header.fits(&first.header)))
    }

    /// Whether this row could not be read.
    fn is_lost(&self, input: usize, row: u64) -> bool {
        self.lost.iter().any(|lost| lost.input == input && lost.rows.contains(&row))
    }

    fn write_folder(&self, choice: &mut Choice<'_>, output: FolderOutput) -> Result<()> {
        for input in &self.inputs {
            if choice.next()? {
                output
                    .put(&input.relative, |target| copy(input, target))
                    .with_context(|| format!("{}: cannot be copied", input.name))?;
            }
        }
        choice.check_end()?;
        output.finish()
    }

    fn one_format(&self) -> Result<Format> {
        let first = &self.inputs[0];
        match self.inputs.iter().find(|input| input.format != first.format) {
            None => Ok(first.format),
            Some(other) => {
                Err(two_formats([first, other], [first, other].map(|input| input.format.words())))
            }
        }
    }

    fn check_headers(&self) -> Result<()> {
        let columns = |input: &Input| {
            input.header.as_ref().map(|header| (header.separator, header.columns.clone()))
        };
        let first = columns(&self.inputs[0]);
        self.check_alike(|input| Ok(columns(input) == first))
    }

    fn check_tables(&self) -> Result<()> {
        let schema = self.inputs[0].table().map_err(Bad::error)?.schema().clone();
        self.check_alike(|input| {
            Ok(input.table().map_err(Bad::error)?.schema().fields() == schema.fields())
        })
    }

    fn check_alike(&self, is_alike: impl Fn(&Input) -> Result<bool>) -> Result<()> {
        for input in &self.inputs[1..] {
            ensure!(
                is_alike(input)?,
                "{} and {} have different columns, so they cannot be kept in one file; \
                 clean each by itself",
                self.inputs[0].name,
                input.name
            );
        }
        Ok(())
    }

    /// Two files cannot go to the same place.
    fn check_paths(&self) -> Result<()> {
        let mut taken = BTreeMap::new();
        for input in &self.inputs {
            if let Some(other) = taken.insert(&input.relative, &input.name) {
                let path = input.relative.display();
                bail!(
                    "{other} and {} would both be kept as {path}; give the folder they are in",
                    input.name
                );
            }
        }
        Ok(())
    }
}

impl Fingerprints {
    /// Opens the output before work starts, so that what cannot be written costs no time.
    pub fn open_kept(&self, args: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        if let Some(other) = self.other_form() {
            let formats = if self.array.is_some() { [ARRAY, LINES] } else { [LINES, ARRAY] };
            return Err(two_formats([&self.inputs[0], other], formats));
        }
        if let Some(target) = args.file() {
            check_print_ending(target, self.array.is_some())?;
        }
        Ok(KeptOutput::Records(packed(args, console)?))
    }

    /// Writes all items for which `keep` is true, and all lines that are no items.
    /// Everything must have been [read](Self::read) before.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: PackedOutput) -> Result<Kept> {
        let mut choice = Choice::new(&self.items, keep);
        match &self.array {
            None => write_records(&self.inputs, &mut choice, output)?,
            Some(header) => self.write_array(header, &mut choice, output)?,
        }
        Ok(choice.done)
    }

    fn write_array(
        &self,
        header: &Header,
        choice: &mut Choice<'_>,
        mut output: PackedOutput,
    ) -> Result<()> {
        // Every row is an item.
        let kept = (0..self.items.len() as u32).filter(|&item| (choice.keep)(item)).count();
        output.write_all(&header.bytes(kept as u64)).context(FAILED)?;
        for input in &self.inputs {
            let bytes = input.origin.open(&input.name).map_err(Bad::error)?;
            let mut rows = NpyRows::open(bytes).map_err(Bad::error)?;
            ensure!(rows.width == self.width, CHANGED);
            // What stopped it was told when it was read first.
            rows.each_piece(|mut rows| {
                rows.try_for_each(|row| match choice.next()? {
                    true => output.write_all(row).context(FAILED),
                    false => Ok(()),
                })
            })?;
        }
        choice.check_end()?;
        output.finish()
    }
}

const LINES: &str = "lines of fingerprints";

const ARRAY: &str = "a NumPy array";

/// Records go to one file, packed as its name says.
fn packed(args: &OutputArgs, console: Console<'_>) -> Result<PackedOutput> {
    let packing = Packing::of(args.file())?;
    PackedOutput::new(Output::create(args, console)?, packing)
}

fn write_records(inputs: &[Input], choice: &mut Choice<'_>, output: PackedOutput) -> Result<()> {
    let mut writer = RecordWriter { output, input: None, last: b'\n', going_on: false };
    each_piece(inputs, Extent::All, |piece| match piece {
        Piece::Records { input, block } => writer.write(inputs, input, &block, choice),
        _ => Ok(()),
    })?;
    choice.check_end()?;
    writer.output.finish()
}

fn two_formats(inputs: [&Input; 2], formats: [&str; 2]) -> anyhow::Error {
    anyhow!(
        "{} holds {}, but {} holds {}; kept data has one format: \
         give inputs of one kind, or leave -o out",
        inputs[0].name,
        formats[0],
        inputs[1].name,
        formats[1]
    )
}

/// Which record is kept? Asked for one after the other, in the order of reading.
struct Choice<'a> {
    items: &'a Items,
    record: u64,
    item: u32,
    keep: &'a dyn Fn(u32) -> bool,
    done: Kept,
}

impl<'a> Choice<'a> {
    fn new(items: &'a Items, keep: &'a dyn Fn(u32) -> bool) -> Self {
        Self { items, record: 0, item: 0, keep, done: Kept::default() }
    }

    fn next(&mut self) -> Result<bool> {
        let is_item = self.items.get(self.record);
        self.record += 1;
        let Some(true) = is_item else {
            ensure!(is_item.is_some(), CHANGED);
            self.done.others += 1;
            return Ok(true);
        };
        let kept = (self.keep)(self.item);
        self.item += 1;
        *(if kept { &mut self.done.kept } else { &mut self.done.removed }) += 1;
        Ok(kept)
    }

    fn check_end(&self) -> Result<()> {
        ensure!(self.record == self.items.len(), CHANGED);
        Ok(())
    }
}

const FAILED: &str = "cannot write what is kept";

const CHANGED: &str = "an input changed while it was read, so nothing is written; run again";

struct RecordWriter {
    output: PackedOutput,
    input: Option<usize>,
    /// The byte last written.
    last: u8,
    /// Whether the record that is being passed on in pieces is kept.
    going_on: bool,
}

impl RecordWriter {
    fn write(
        &mut self,
        inputs: &[Input],
        input: usize,
        block: &Block,
        choice: &mut Choice<'_>,
    ) -> Result<()> {
        let from = &inputs[input];
        let is_first = self.input.is_none_or(|first| first == 0) && input == 0;
        let starts = self.input.replace(input) != Some(input);
        if starts && self.last != b'\n' {
            // The input before did not end its last line.
            self.put(b"\n")?;
        }
        for (number, record) in block.records.iter().enumerate() {
            let bytes = block.record(number);
            let bytes = if is_first || record.line > 1 { bytes } else { without_mark(bytes) };
            if from.is_header(record.line) {
                self.going_on = is_first;
            } else if record.part != Part::More {
                self.going_on = choice.next()?;
            }
            if self.going_on {
                self.put(bytes)?;
                if from.format == Format::Warc {
                    self.output.end_member().context(FAILED)?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.last = bytes.last().copied().unwrap_or(self.last);
        self.output.write_all(bytes).context(FAILED)
    }
}

/// Copies a file, and makes the folders on its way.
pub fn copy_file(path: &Path, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(path, target)?;
    // A copy is as old as its original, so that the newest stays the newest.
    let modified = path.metadata().and_then(|data| data.modified());
    if let (Ok(modified), Ok(file)) = (modified, fs::File::open(target)) {
        let _ = file.set_modified(modified);
    }
    Ok(())
}

fn copy(input: &Input, target: &Path) -> io::Result<()> {
    match &input.origin.place {
        Place::File(path) => copy_file(path, target),
        Place::Stream(_) | Place::Bytes(_) | Place::Rows(_) => {
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            let bytes =
                input.origin.open(&input.name).map_err(|bad| io::Error::other(bad.error()))?;
            io::copy(&mut bytes.into_reader(), &mut fs::File::create(target)?).map(drop)
        }
    }
}

/// Kept data has the format of the input; a name that says otherwise is a mistake.
fn check_ending(target: &Path, format: Format) -> Result<()> {
    let named = Format::of_name(target);
    let packing = Packing::of(Some(target))?;
    let name = target.display();
    ensure!(
        format == Format::Text || named.is_none_or(|named| named == format),
        "{name}: kept data has the format of its input, {}; use {}",
        format.words(),
        format.ending()
    );
    ensure!(
        packing == Packing::None || !matches!(format, Format::Parquet | Format::Text),
        "{name}: {} are not packed again; leave the ending of the packing out",
        if format == Format::Parquet { "Parquet files" } else { "folders" }
    );
    Ok(())
}

/// As [`check_ending`]: an array is not lines, and lines are text.
fn check_print_ending(target: &Path, is_array: bool) -> Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ending = pack::unpacked_name(&name).rsplit_once('.').map(|(_, ending)| ending);
    let is_fitting = match is_array {
        true => ending.is_none_or(|ending| ending == "npy"),
        false => !matches!(ending, Some("npy" | "npz" | "parquet" | "pq")),
    };
    let (format, usual) = if is_array { (ARRAY, ".npy") } else { (LINES, ".txt") };
    ensure!(
        is_fitting,
        "{}: kept data has the format of its input, {format}; use {usual}",
        target.display()
    );
    Ok(())
}
