//! Writes kept items in the format of their input: lines and rows byte for byte, tables with their
//! schema, arrays with their type, files under their paths. Records that could not be read are copied
//! unchanged.

use std::{collections::BTreeMap, fs, io, io::Write, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::{
    Bad, Fingerprints, Rows, arrays, compression,
    input::Input,
    npy::{Header, NpyRows},
    origin::Source,
    parquet::ParquetWriter,
    reader::{Extent, Piece, each_piece},
    records::{Block, RecordPart, without_mark},
    rows::Items,
};
use crate::{
    args::{Format, OutputArgs},
    host::Console,
    report::{CompressedOutput, Compression, FolderOutput, Output},
};

/// An open output for kept items. It appears under its name when it is complete.
pub enum KeptOutput {
    Records(CompressedOutput),
    Table(Output),
    Folder(FolderOutput),
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub kept: u64,
    pub removed: u64,
    /// Records that are not items (blank, unreadable, not text), which are copied.
    pub others: u64,
}

impl Rows {
    /// Opens the output before work starts, so that an unwritable path fails early.
    pub fn open_kept(&self, args: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        let format = self.common_format()?;
        if let Some(target) = args.file() {
            check_extension(target, format)?;
        }
        match format {
            Format::Text => {
                self.check_paths()?;
                let Some(target) = args.file() else {
                    bail!("kept files are written to a folder; name one with -o")
                };
                Ok(KeptOutput::Folder(FolderOutput::create(target, &console.host.partials)?))
            }
            Format::Parquet => {
                self.check_tables()?;
                Ok(KeptOutput::Table(Output::create(args, console)?))
            }
            Format::Npy => {
                self.check_arrays()?;
                Ok(KeptOutput::Records(compressed(args, console)?))
            }
            _ => {
                self.check_headers()?;
                Ok(KeptOutput::Records(compressed(args, console)?))
            }
        }
    }

    /// Writes all items for which `keep` is true, and all records that are not items.
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
        Ok(choice.counts)
    }

    fn write_table(&self, choice: &mut Choice<'_>, output: Output) -> Result<()> {
        let table = self.inputs[0].table().map_err(Bad::error)?;
        let mut writer = ParquetWriter::like(&table, output)?;
        each_piece(&self.inputs, Extent::All, |piece| match piece {
            Piece::Rows { input, before, batch } => {
                let rows = before..before + batch.num_rows() as u64;
                let keep = rows.map(|row| match self.is_lost(input, row) {
                    // It could not be read before either, and is not an item.
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

    fn write_array(&self, choice: &mut Choice<'_>, mut output: CompressedOutput) -> Result<()> {
        // The header says how many rows follow. Rows that are no items are kept.
        let mut counted = Choice::new(&self.items, choice.keep);
        (0..self.items.len()).try_for_each(|_| counted.next().map(drop))?;
        let kept = counted.counts.kept + counted.counts.others;
        let layout = arrays::Layout::of_input(&self.inputs[0]).map_err(Bad::error)?;
        output.write_all(&layout.header.bytes(kept)).context(FAILED)?;
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
        self.check_columns(|input| Ok(layout(input)?.header.fits(&first.header)))
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

    fn common_format(&self) -> Result<Format> {
        let first = &self.inputs[0];
        match self.inputs.iter().find(|input| input.format != first.format) {
            None => Ok(first.format),
            Some(other) => Err(two_formats(
                [first, other],
                [first, other].map(|input| input.format.description()),
            )),
        }
    }

    fn check_headers(&self) -> Result<()> {
        let columns = |input: &Input| {
            input.header.as_ref().map(|header| (header.separator, header.columns.clone()))
        };
        let first = columns(&self.inputs[0]);
        self.check_columns(|input| Ok(columns(input) == first))
    }

    fn check_tables(&self) -> Result<()> {
        let schema = self.inputs[0].table().map_err(Bad::error)?.schema().clone();
        self.check_columns(|input| {
            Ok(input.table().map_err(Bad::error)?.schema().fields() == schema.fields())
        })
    }

    fn check_columns(&self, is_same: impl Fn(&Input) -> Result<bool>) -> Result<()> {
        for input in &self.inputs[1..] {
            ensure!(
                is_same(input)?,
                "{} and {} have different columns and cannot be written to one file; \
                 deduplicate each separately",
                self.inputs[0].name,
                input.name
            );
        }
        Ok(())
    }

    /// Two files cannot be written to the same path.
    fn check_paths(&self) -> Result<()> {
        let mut taken = BTreeMap::new();
        for input in &self.inputs {
            if let Some(other) = taken.insert(&input.relative, &input.name) {
                let path = input.relative.display();
                bail!(
                    "{other} and {} would both be written as {path}; name their common folder instead",
                    input.name
                );
            }
        }
        Ok(())
    }
}

impl Fingerprints {
    /// Opens the output before work starts, so that an unwritable path fails early.
    pub fn open_kept(&self, args: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        if let Some(other) = self.other_form() {
            let formats = if self.array.is_some() { [ARRAY, LINES] } else { [LINES, ARRAY] };
            return Err(two_formats([&self.inputs[0], other], formats));
        }
        if let Some(target) = args.file() {
            check_print_extension(target, self.array.is_some())?;
        }
        Ok(KeptOutput::Records(compressed(args, console)?))
    }

    /// Writes all items for which `keep` is true, and all lines that are not items.
    /// Everything must have been [read](Self::read) before.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: CompressedOutput) -> Result<Kept> {
        let mut choice = Choice::new(&self.items, keep);
        match &self.array {
            None => write_records(&self.inputs, &mut choice, output)?,
            Some(header) => self.write_array(header, &mut choice, output)?,
        }
        Ok(choice.counts)
    }

    fn write_array(
        &self,
        header: &Header,
        choice: &mut Choice<'_>,
        mut output: CompressedOutput,
    ) -> Result<()> {
        // Every row is an item.
        let kept = (0..self.items.len() as u32).filter(|&item| (choice.keep)(item)).count();
        output.write_all(&header.bytes(kept as u64)).context(FAILED)?;
        for input in &self.inputs {
            let bytes = input.origin.open(&input.name).map_err(Bad::error)?;
            let mut rows = NpyRows::open(bytes).map_err(Bad::error)?;
            ensure!(rows.width == self.width, CHANGED);
            // An error here was reported when the input was read first.
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

/// The output file for records, compressed according to its extension.
fn compressed(args: &OutputArgs, console: Console<'_>) -> Result<CompressedOutput> {
    let compression = Compression::of(args.file())?;
    CompressedOutput::new(Output::create(args, console)?, compression)
}

fn write_records(
    inputs: &[Input],
    choice: &mut Choice<'_>,
    output: CompressedOutput,
) -> Result<()> {
    let mut writer = RecordWriter { output, input: None, last: b'\n', is_kept: false };
    each_piece(inputs, Extent::All, |piece| match piece {
        Piece::Records { input, block } => writer.write(inputs, input, &block, choice),
        _ => Ok(()),
    })?;
    choice.check_end()?;
    writer.output.finish()
}

fn two_formats(inputs: [&Input; 2], formats: [&str; 2]) -> anyhow::Error {
    anyhow!(
        "{} contains {}, but {} contains {}; kept items are written in one format: \
         use inputs of one format, or omit -o",
        inputs[0].name,
        formats[0],
        inputs[1].name,
        formats[1]
    )
}

/// Decides for one record after another, in reading order, whether it is kept.
struct Choice<'a> {
    items: &'a Items,
    record: u64,
    item: u32,
    keep: &'a dyn Fn(u32) -> bool,
    counts: Kept,
}

impl<'a> Choice<'a> {
    fn new(items: &'a Items, keep: &'a dyn Fn(u32) -> bool) -> Self {
        Self { items, record: 0, item: 0, keep, counts: Kept::default() }
    }

    fn next(&mut self) -> Result<bool> {
        let is_item = self.items.get(self.record);
        self.record += 1;
        let Some(true) = is_item else {
            ensure!(is_item.is_some(), CHANGED);
            self.counts.others += 1;
            return Ok(true);
        };
        let kept = (self.keep)(self.item);
        self.item += 1;
        *(if kept { &mut self.counts.kept } else { &mut self.counts.removed }) += 1;
        Ok(kept)
    }

    fn check_end(&self) -> Result<()> {
        ensure!(self.record == self.items.len(), CHANGED);
        Ok(())
    }
}

const FAILED: &str = "cannot write the kept items";

const CHANGED: &str = "an input changed while it was read; nothing was written; run again";

struct RecordWriter {
    output: CompressedOutput,
    input: Option<usize>,
    /// The last byte written.
    last: u8,
    /// Whether the current record, which may come in several pieces, is kept.
    is_kept: bool,
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
            // The last line of the previous input has no line end.
            self.put(b"\n")?;
        }
        for (number, record) in block.records.iter().enumerate() {
            let bytes = block.record(number);
            let bytes = if is_first || record.line > 1 { bytes } else { without_mark(bytes) };
            if from.is_header(record.line) {
                self.is_kept = is_first;
            } else if record.part != RecordPart::More {
                self.is_kept = choice.next()?;
            }
            if self.is_kept {
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

/// Copies a file, and creates the folders of its new path.
pub fn copy_file(path: &Path, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(path, target)?;
    // Keep the modification time, so that the newest file stays the newest.
    let modified = path.metadata().and_then(|data| data.modified());
    if let (Ok(modified), Ok(file)) = (modified, fs::File::open(target)) {
        let _ = file.set_modified(modified);
    }
    Ok(())
}

fn copy(input: &Input, target: &Path) -> io::Result<()> {
    match &input.origin.source {
        Source::File(path) => copy_file(path, target),
        Source::Stream(_) | Source::Bytes(_) | Source::Rows(_) => {
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            let bytes =
                input.origin.open(&input.name).map_err(|bad| io::Error::other(bad.error()))?;
            io::copy(&mut bytes.into_reader(), &mut fs::File::create(target)?).map(drop)
        }
    }
}

/// Kept items have the format of the input, so another extension is an error.
fn check_extension(target: &Path, format: Format) -> Result<()> {
    let named = Format::of_name(target);
    let compression = Compression::of(Some(target))?;
    let name = target.display();
    ensure!(
        format == Format::Text || named.is_none_or(|named| named == format),
        "{name}: kept items are written in the format of the input, {}; use the extension {}",
        format.description(),
        format.extension()
    );
    ensure!(
        compression == Compression::None || !matches!(format, Format::Parquet | Format::Text),
        "{name}: {} are not compressed; drop the compression extension",
        if format == Format::Parquet { "Parquet files" } else { "folders" }
    );
    Ok(())
}

/// Like [`check_extension`], for fingerprints.
fn check_print_extension(target: &Path, is_array: bool) -> Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let extension = compression::uncompressed_name(&name).rsplit_once('.').map(|split| split.1);
    let fits = match is_array {
        true => extension.is_none_or(|extension| extension == "npy"),
        false => !matches!(extension, Some("npy" | "npz" | "parquet" | "pq")),
    };
    let (format, extension) = if is_array { (ARRAY, ".npy") } else { (LINES, ".txt") };
    ensure!(
        fits,
        "{}: kept items are written in the format of the input, {format}; use the extension \
         {extension}",
        target.display()
    );
    Ok(())
}
