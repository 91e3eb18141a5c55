//! How is what stays written? In the format it came in: lines and rows byte for byte, tables with
//! their schema, files under their paths. What could not be read stays as it is.

use std::{collections::BTreeMap, fs, io, io::Write, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Bad, Rows,
    input::Input,
    origin::Origin,
    parquet::TableWriter,
    reader::{Extent, Piece, each_piece},
    records::{Block, Part, without_mark},
    rows::Items,
};
use crate::{
    args::{Format, OutputArgs},
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
    pub fn open_kept(&self, args: &OutputArgs) -> Result<KeptOutput> {
        let format = self.one_format()?;
        if let Some(target) = &args.output {
            check_ending(target, format)?;
        }
        match format {
            Format::Text => {
                self.check_paths()?;
                let Some(target) = &args.output else {
                    bail!("kept files go to a folder; name one with -o")
                };
                Ok(KeptOutput::Folder(FolderOutput::create(target)?))
            }
            Format::Parquet => {
                self.check_tables()?;
                Ok(KeptOutput::Table(Output::create(args)?))
            }
            _ => {
                self.check_headers()?;
                let packing = Packing::of(args.output.as_deref())?;
                Ok(KeptOutput::Records(PackedOutput::new(Output::create(args)?, packing)?))
            }
        }
    }

    /// Writes all items for which `keep` is true, and all records that are no items.
    /// Everything must have been [read](Self::read) before.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        let mut choice =
            Choice { items: &self.items, record: 0, item: 0, keep, done: Kept::default() };
        match output {
            KeptOutput::Records(output) => self.write_records(&mut choice, output)?,
            KeptOutput::Table(output) => self.write_table(&mut choice, output)?,
            KeptOutput::Folder(output) => self.write_folder(&mut choice, output)?,
        }
        Ok(choice.done)
    }

    fn write_records(&self, choice: &mut Choice<'_>, output: PackedOutput) -> Result<()> {
        let mut writer = RecordWriter { output, input: None, last: b'\n', going_on: false };
        each_piece(&self.inputs, Extent::All, |piece| match piece {
            Piece::Records { input, block } => writer.write(&self.inputs, input, &block, choice),
            _ => Ok(()),
        })?;
        choice.check_end()?;
        writer.output.finish()
    }

    fn write_table(&self, choice: &mut Choice<'_>, output: Output) -> Result<()> {
        let table = self.inputs[0].table().map_err(Bad::error)?;
        let mut writer = TableWriter::like(&table, output)?;
        each_piece(&self.inputs, Extent::All, |piece| {
            let Piece::Rows { batch, .. } = piece else { return Ok(()) };
            let keep: Result<Vec<_>> = (0..batch.num_rows()).map(|_| choice.next()).collect();
            writer.write(&batch, keep?).context(FAILED)
        })?;
        choice.check_end()?;
        writer.finish().context(FAILED)?.finish()
    }

    fn write_folder(&self, choice: &mut Choice<'_>, output: FolderOutput) -> Result<()> {
        for input in &self.inputs {
            if choice.next()? {
                copy(input, &output.path().join(&input.relative))
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
            Some(other) => bail!(
                "{} holds {}, but {} holds {}; kept data has one format: \
                 give inputs of one kind, or leave -o out",
                first.name,
                first.format.words(),
                other.name,
                other.format.words()
            ),
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

/// Which record is kept? Asked for one after the other, in the order of reading.
struct Choice<'a> {
    items: &'a Items,
    record: u64,
    item: u32,
    keep: &'a dyn Fn(u32) -> bool,
    done: Kept,
}

impl Choice<'_> {
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
    match &input.origin {
        Origin::File(path) => copy_file(path, target),
        Origin::Stdin(_) | Origin::Memory(_) => {
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
