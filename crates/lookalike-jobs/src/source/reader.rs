//! Reads ahead on a thread of its own, so that reading and decompression overlap with the work.
//!
//! It sends [`Piece`]s of about the same size, in order, over a short queue.

use std::{io::Read, sync::mpsc};

use anyhow::Result;
use arrow_array::RecordBatch;

use super::{
    Bad, Reason, arrays, compression,
    format::not_text,
    input::Input,
    origin::{Origin, Source},
    parquet::{Batches, GroupError, damaged, max_length, pieces},
    records::{BLOCK_BYTES, Block, Blocks, MAX_RECORD, MAX_RECORDS, ReadError},
    stamp::Stamp,
};
use crate::{
    args::Format,
    report::{self, counted},
};

/// The maximum number of waiting pieces.
const QUEUE: usize = 4;

/// The memory that feature extraction takes per byte of a record.
const PER_BYTE: u64 = 8;

/// The memory that any run may take beyond its limit.
const SPARE: u64 = 64 << 20;

/// Part of what was read.
pub enum Piece {
    /// Records of one input.
    Records { input: usize, block: Block },
    /// Rows of one input, and how many precede them.
    Rows { input: usize, before: u64, batch: RecordBatch },
    /// Unreadable rows of one input, and how many precede them.
    Lost { input: usize, before: u64, rows: u64, bad: Bad },
    /// The run must stop.
    Refused(Bad),
    /// Text files.
    Files(Vec<TextFile>),
    /// An input, or the rest of it, cannot be read. Counts this many skipped items.
    Failed(Bad, u64),
}

pub struct TextFile {
    pub input: usize,
    pub content: Result<Vec<u8>, Bad>,
    /// Its size on disk.
    pub bytes: u64,
    /// The state of the file before it was read.
    pub stamp: Option<Stamp>,
}

impl TextFile {
    pub fn modified(&self) -> Option<i64> {
        self.stamp.map(|stamp| stamp.modified)
    }
}

/// Which columns of a table are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Only the needed columns.
    FieldNames,
    All,
}

/// Calls `on_piece` with all pieces of all inputs, in order.
pub fn each_piece(
    inputs: &[Input],
    extent: Extent,
    mut on_piece: impl FnMut(Piece) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(QUEUE);
        scope.spawn(move || Reader { sender, files: Vec::new(), bytes: 0 }.run(inputs, extent));
        // If this fails, the queue is dropped and the reader stops.
        receiver.into_iter().try_for_each(&mut on_piece)
    })
}

/// The receiver was dropped.
struct Stopped;

struct Reader {
    sender: mpsc::SyncSender<Piece>,
    /// Small files are sent together.
    files: Vec<TextFile>,
    bytes: usize,
}

impl Reader {
    fn run(mut self, inputs: &[Input], extent: Extent) {
        for (number, input) in inputs.iter().enumerate() {
            let read = match input.format {
                Format::Text => self.file(number, input),
                Format::Parquet => self.table(number, input, extent),
                Format::Npy => self.array(number, input),
                _ => self.records(number, input),
            };
            if read.is_err() {
                return;
            }
        }
        let _ = self.send_files();
    }

    fn send(&mut self, piece: Piece) -> Result<(), Stopped> {
        self.send_files()?;
        self.sender.send(piece).map_err(|_| Stopped)
    }

    fn send_files(&mut self) -> Result<(), Stopped> {
        self.bytes = 0;
        match std::mem::take(&mut self.files) {
            files if files.is_empty() => Ok(()),
            files => self.sender.send(Piece::Files(files)).map_err(|_| Stopped),
        }
    }

    /// Refuses a record whose features would not fit the memory limit.
    fn check(&mut self, input: &Input, bytes: usize) -> Result<(), Stopped> {
        let needed = (bytes as u64 * PER_BYTE).saturating_sub(SPARE);
        let Some(_) = input.memory.filter(|&memory| needed > memory) else { return Ok(()) };
        let what = format!(
            "--memory is too small for a record of {}; use at least --memory {}M",
            report::bytes(bytes as u64),
            needed.div_ceil(1 << 20)
        );
        self.send(Piece::Refused(Bad::input(&input.name, what)))?;
        Err(Stopped)
    }

    fn records(&mut self, number: usize, input: &Input) -> Result<(), Stopped> {
        let opened = match input.format {
            Format::Warc => input.origin.open(&input.name),
            _ => input.origin.open_text(&input.name),
        };
        let bytes = match opened {
            Ok(bytes) => bytes,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        let mut blocks = Blocks::new(bytes.into_reader(), input.split());
        loop {
            match blocks.next() {
                Ok(None) => return Ok(()),
                Ok(Some(block)) => {
                    let lengths = (0..block.records.len()).map(|record| block.record(record).len());
                    self.check(input, lengths.max().unwrap_or(0))?;
                    self.send(Piece::Records { input: number, block })?;
                }
                Err(ReadError { line, what }) => {
                    let what = format!("the rest {what}");
                    let bad = Bad::line(&input.name, line, Reason::Input, what);
                    return self.send(Piece::Failed(bad, 1));
                }
            }
        }
    }

    fn table(&mut self, number: usize, input: &Input, extent: Extent) -> Result<(), Stopped> {
        if let Source::Rows(batches) = &input.origin.source {
            return self.batches(number, batches);
        }
        let table = match input.table() {
            Ok(table) => table,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        let wanted = input.wanted.as_ref().filter(|_| extent == Extent::FieldNames);
        let mut before = 0;
        for (group, rows) in table.group_rows().into_iter().enumerate() {
            let (read, failed) = match table.batches(group, wanted) {
                Ok(batches) => self.group(number, input, before, batches)?,
                Err(GroupError::Damaged(what)) => (0, Some(what)),
                Err(GroupError::TooLarge(what)) => {
                    let bad = Bad::input(&input.name, what);
                    self.send(Piece::Refused(bad))?;
                    return Err(Stopped);
                }
            };
            let lost = rows.saturating_sub(read);
            let truncated = (lost > 0).then(|| damaged(&"it ends before its last row"));
            if let Some(what) = failed.or(truncated) {
                let before = before + read;
                let what = format!("{what}; {} skipped", counted(lost, "row"));
                let bad = Bad::line(&input.name, before + 1, Reason::Input, what);
                self.send(Piece::Lost { input: number, before, rows: lost, bad })?;
            }
            before = before.saturating_add(rows);
        }
        Ok(())
    }

    /// The rows of an array.
    fn array(&mut self, number: usize, input: &Input) -> Result<(), Stopped> {
        let mut array = match arrays::Rows::open(input) {
            Ok(array) => array,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        loop {
            let before = array.done();
            match array.next() {
                Ok(Some(batch)) => self.send(Piece::Rows { input: number, before, batch })?,
                Ok(None) => return Ok(()),
                Err(arrays::Failed::Short { rows, what }) => {
                    let bad = Bad::item(&input.name, Reason::Missing, what);
                    return self.send(Piece::Lost { input: number, before, rows, bad });
                }
                Err(arrays::Failed::Long(what)) => {
                    return self.send(Piece::Failed(Bad::input(&input.name, what), 1));
                }
            }
        }
    }

    /// Sends the rows of one group. Returns their number, and the error if one stopped them.
    fn group(
        &mut self,
        input: usize,
        from: &Input,
        before: u64,
        batches: Batches,
    ) -> Result<(u64, Option<String>), Stopped> {
        let mut read = 0;
        for batch in batches {
            match batch {
                Err(what) => return Ok((read, Some(what))),
                Ok(batch) => {
                    for batch in pieces(&batch) {
                        self.check(from, max_length(&batch))?;
                        let first = before + read;
                        read += batch.num_rows() as u64;
                        self.send(Piece::Rows { input, before: first, batch })?;
                    }
                }
            }
        }
        Ok((read, None))
    }

    /// Sends rows in memory, in pieces small enough for parallel work.
    fn batches(&mut self, number: usize, batches: &[RecordBatch]) -> Result<(), Stopped> {
        let mut before = 0;
        for batch in batches {
            for first in (0..batch.num_rows()).step_by(MAX_RECORDS) {
                let batch = batch.slice(first, MAX_RECORDS.min(batch.num_rows() - first));
                for batch in pieces(&batch) {
                    let rows = batch.num_rows() as u64;
                    self.send(Piece::Rows { input: number, before, batch })?;
                    before += rows;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, number: usize, input: &Input) -> Result<(), Stopped> {
        let file = read_file(number, input);
        self.check(input, file.content.as_ref().map_or(0, Vec::len))?;
        self.bytes += file.content.as_ref().map_or(0, Vec::len);
        self.files.push(file);
        if self.bytes >= BLOCK_BYTES || self.files.len() >= MAX_RECORDS {
            return self.send_files();
        }
        Ok(())
    }
}

fn read_file(number: usize, input: &Input) -> TextFile {
    // Taken before the content is read, so that a change in between is noticed.
    let stamp = match &input.origin.source {
        Source::File(path) => path.metadata().ok().as_ref().map(Stamp::of),
        Source::Stream(_) | Source::Bytes(_) | Source::Rows(_) => None,
    };
    let content = read_text(&input.origin, &input.name);
    let read = content.as_ref().map_or(0, |content| content.len() as u64);
    TextFile { input: number, content, bytes: stamp.map_or(read, |stamp| stamp.bytes), stamp }
}

/// The bytes of a text file.
pub fn read_text(origin: &Origin, name: &str) -> Result<Vec<u8>, Bad> {
    let bytes = origin.open(name)?;
    if let Some(what) = not_text(bytes.start()) {
        return Err(Bad::item(name, Reason::NotText, what));
    }
    let mut content = Vec::new();
    bytes
        .into_reader()
        .take(MAX_RECORD as u64 + 1)
        .read_to_end(&mut content)
        .map_err(|error| Bad::input(name, compression::read_error(&error)))?;
    if content.len() > MAX_RECORD {
        let what = format!("has more than {MAX_RECORD} bytes; use --lines if each line is a text");
        return Err(Bad::item(name, Reason::TooLong, what));
    }
    Ok(content)
}
