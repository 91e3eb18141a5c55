//! Who reads ahead? A thread of its own, so that reading and unpacking overlap with the work.
//!
//! It hands on [`Piece`]s of about the same size, in order, over a queue that holds a few.

use std::{io::Read, sync::mpsc};

use anyhow::Result;
use arrow_array::RecordBatch;

use super::{
    Bad, Reason,
    format::not_text,
    input::Input,
    origin::Origin,
    pack,
    parquet::damaged,
    records::{BLOCK, Block, Blocks, Failed, LONGEST, MOST},
    stamp::Stamp,
};
use crate::{args::Format, report::counted};

/// How many pieces wait at most.
const QUEUE: usize = 4;

/// Some of what was read.
pub enum Piece {
    /// Records of one input.
    Records { input: usize, block: Block },
    /// Rows of one input, and how many come before them.
    Rows { input: usize, before: u64, batch: RecordBatch },
    /// Files, one text each.
    Files(Vec<TextFile>),
    /// An input, or some of it, cannot be read: so many items, or one whose size nobody knows.
    Failed(Bad, u64),
}

pub struct TextFile {
    pub input: usize,
    pub content: Result<Vec<u8>, Bad>,
    /// As it lies on the disk.
    pub bytes: u64,
    /// How it was before it was read.
    pub stamp: Option<Stamp>,
}

impl TextFile {
    pub fn modified(&self) -> Option<i64> {
        self.stamp.map(|stamp| stamp.modified)
    }
}

/// What of a table is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The columns that are needed.
    Wanted,
    All,
}

/// Calls `on_piece` with everything there is, in order.
pub fn each_piece(
    inputs: &[Input],
    extent: Extent,
    mut on_piece: impl FnMut(Piece) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(QUEUE);
        scope.spawn(move || Reader { sender, files: Vec::new(), bytes: 0 }.run(inputs, extent));
        // If that fails, the queue is gone, and the reader stops.
        receiver.into_iter().try_for_each(&mut on_piece)
    })
}

/// Nobody wants more.
struct Gone;

struct Reader {
    sender: mpsc::SyncSender<Piece>,
    /// Small files go together.
    files: Vec<TextFile>,
    bytes: usize,
}

impl Reader {
    fn run(mut self, inputs: &[Input], extent: Extent) {
        for (number, input) in inputs.iter().enumerate() {
            let read = match input.format {
                Format::Text => self.file(number, input),
                Format::Parquet => self.table(number, input, extent),
                _ => self.records(number, input),
            };
            if read.is_err() {
                return;
            }
        }
        let _ = self.send_files();
    }

    fn send(&mut self, piece: Piece) -> Result<(), Gone> {
        self.send_files()?;
        self.sender.send(piece).map_err(|_| Gone)
    }

    fn send_files(&mut self) -> Result<(), Gone> {
        self.bytes = 0;
        match std::mem::take(&mut self.files) {
            files if files.is_empty() => Ok(()),
            files => self.sender.send(Piece::Files(files)).map_err(|_| Gone),
        }
    }

    fn records(&mut self, number: usize, input: &Input) -> Result<(), Gone> {
        let bytes = match input.origin.open(&input.name) {
            Ok(bytes) => bytes,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        let mut blocks = Blocks::new(bytes.into_reader(), input.split());
        loop {
            match blocks.next() {
                Ok(None) => return Ok(()),
                Ok(Some(block)) => self.send(Piece::Records { input: number, block })?,
                Err(Failed { line, what }) => {
                    let what = format!("the rest {what}");
                    let bad = Bad::line(&input.name, line, Reason::Input, what);
                    return self.send(Piece::Failed(bad, 1));
                }
            }
        }
    }

    fn table(&mut self, number: usize, input: &Input, extent: Extent) -> Result<(), Gone> {
        if let Origin::Memory(batches) = &input.origin {
            return self.batches(number, batches);
        }
        let table = match input.table() {
            Ok(table) => table,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        let wanted = input.wanted.as_ref().filter(|_| extent == Extent::Wanted);
        let mut before = 0;
        for (group, rows) in table.group_rows().into_iter().enumerate() {
            let mut read = 0;
            let batches = table.batches(group, wanted);
            let batches =
                batches.map(|batches| batches.map(|batch| batch.map_err(|e| damaged(&e))));
            let failed = match batches {
                Err(what) => Some(what),
                Ok(mut batches) => loop {
                    match batches.next() {
                        None => break None,
                        Some(Err(what)) => break Some(what),
                        Some(Ok(batch)) => {
                            let first = before + read;
                            read += batch.num_rows() as u64;
                            self.send(Piece::Rows { input: number, before: first, batch })?;
                        }
                    }
                },
            };
            if let Some(what) = failed {
                let lost = rows.saturating_sub(read);
                let what = format!("{what}; {} skipped", counted(lost, "row"));
                let bad = Bad::line(&input.name, before + read + 1, Reason::Input, what);
                self.send(Piece::Failed(bad, lost))?;
            }
            before += rows;
        }
        Ok(())
    }

    /// Rows that are there already, in pieces small enough to share out.
    fn batches(&mut self, number: usize, batches: &[RecordBatch]) -> Result<(), Gone> {
        let mut before = 0;
        for batch in batches {
            for first in (0..batch.num_rows()).step_by(MOST) {
                let batch = batch.slice(first, MOST.min(batch.num_rows() - first));
                let rows = batch.num_rows() as u64;
                self.send(Piece::Rows { input: number, before, batch })?;
                before += rows;
            }
        }
        Ok(())
    }

    fn file(&mut self, number: usize, input: &Input) -> Result<(), Gone> {
        let file = read_file(number, input);
        self.bytes += file.content.as_ref().map_or(0, Vec::len);
        self.files.push(file);
        if self.bytes >= BLOCK || self.files.len() >= MOST { self.send_files() } else { Ok(()) }
    }
}

fn read_file(number: usize, input: &Input) -> TextFile {
    // Before the content, so that a change while it is read is noticed later.
    let stamp = match &input.origin {
        Origin::File(path) => path.metadata().ok().as_ref().map(Stamp::of),
        Origin::Stream(_) | Origin::Memory(_) => None,
    };
    let content = read_text(&input.origin, &input.name);
    let read = content.as_ref().map_or(0, |content| content.len() as u64);
    TextFile { input: number, content, bytes: stamp.map_or(read, |stamp| stamp.bytes), stamp }
}

/// The bytes of a file that is one text.
pub fn read_text(origin: &Origin, name: &str) -> Result<Vec<u8>, Bad> {
    let bytes = origin.open(name)?;
    if let Some(what) = not_text(bytes.start()) {
        return Err(Bad::item(name, Reason::NotText, what));
    }
    let mut content = Vec::new();
    bytes
        .into_reader()
        .take(LONGEST as u64 + 1)
        .read_to_end(&mut content)
        .map_err(|error| Bad::input(name, pack::unreadable(&error)))?;
    if content.len() > LONGEST {
        let what = format!("has more than {LONGEST} bytes; --lines takes each line as a text");
        return Err(Bad::item(name, Reason::TooLong, what));
    }
    Ok(content)
}
