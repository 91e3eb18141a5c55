//! Who reads ahead? A thread of its own, so that reading and unpacking overlap with the work.
//!
//! It hands on [`Piece`]s of about the same size, in order, over a queue that holds a few.

use std::{io::Read, sync::mpsc};

use anyhow::Result;
use arrow_array::RecordBatch;

use super::{
    Bad, Reason, arrays,
    format::not_text,
    input::Input,
    origin::{Origin, Place},
    pack,
    parquet::{Batches, Unread, damaged, longest, pieces},
    records::{BLOCK, Block, Blocks, Failed, LONGEST, MOST},
    stamp::Stamp,
};
use crate::{
    args::Format,
    report::{self, counted},
};

/// How many pieces wait at most.
const QUEUE: usize = 4;

/// What a record takes while its features are made, for each byte it has.
const PER_BYTE: u64 = 8;

/// What any run may take beside its memory limit.
const SPARE: u64 = 64 << 20;

/// Some of what was read.
pub enum Piece {
    /// Records of one input.
    Records { input: usize, block: Block },
    /// Rows of one input, and how many come before them.
    Rows { input: usize, before: u64, batch: RecordBatch },
    /// Rows of one input that cannot be read, and how many come before them.
    Lost { input: usize, before: u64, rows: u64, bad: Bad },
    /// The run cannot go on.
    Refused(Bad),
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
                Format::Npy => self.array(number, input),
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

    /// Refuses a record whose features would not fit the memory limit.
    fn check(&mut self, input: &Input, bytes: usize) -> Result<(), Gone> {
        let needed = (bytes as u64 * PER_BYTE).saturating_sub(SPARE);
        let Some(_) = input.memory.filter(|&memory| needed > memory) else { return Ok(()) };
        let what = format!(
            "--memory is too small for a record of {}; use at least --memory {}M",
            report::bytes(bytes as u64),
            needed.div_ceil(1 << 20)
        );
        self.send(Piece::Refused(Bad::input(&input.name, what)))?;
        Err(Gone)
    }

    fn records(&mut self, number: usize, input: &Input) -> Result<(), Gone> {
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
                    let longest = (0..block.records.len()).map(|record| block.record(record).len());
                    self.check(input, longest.max().unwrap_or(0))?;
                    self.send(Piece::Records { input: number, block })?;
                }
                Err(Failed { line, what }) => {
                    let what = format!("the rest {what}");
                    let bad = Bad::line(&input.name, line, Reason::Input, what);
                    return self.send(Piece::Failed(bad, 1));
                }
            }
        }
    }

    fn table(&mut self, number: usize, input: &Input, extent: Extent) -> Result<(), Gone> {
        if let Place::Rows(batches) = &input.origin.place {
            return self.batches(number, batches);
        }
        let table = match input.table() {
            Ok(table) => table,
            Err(bad) => return self.send(Piece::Failed(bad, 1)),
        };
        let wanted = input.wanted.as_ref().filter(|_| extent == Extent::Wanted);
        let mut before = 0;
        for (group, rows) in table.group_rows().into_iter().enumerate() {
            let (read, failed) = match table.batches(group, wanted) {
                Ok(batches) => self.group(number, input, before, batches)?,
                Err(Unread::Damaged(what)) => (0, Some(what)),
                Err(Unread::TooLarge(what)) => {
                    let bad = Bad::input(&input.name, what);
                    self.send(Piece::Refused(bad))?;
                    return Err(Gone);
                }
            };
            let lost = rows.saturating_sub(read);
            let cut = (lost > 0).then(|| damaged(&"it ends before its last row"));
            if let Some(what) = failed.or(cut) {
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
    fn array(&mut self, number: usize, input: &Input) -> Result<(), Gone> {
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

    /// The rows of one group: how many, and what stopped them if anything did.
    fn group(
        &mut self,
        input: usize,
        from: &Input,
        before: u64,
        batches: Batches,
    ) -> Result<(u64, Option<String>), Gone> {
        let mut read = 0;
        for batch in batches {
            match batch {
                Err(what) => return Ok((read, Some(what))),
                Ok(batch) => {
                    for batch in pieces(&batch) {
                        self.check(from, longest(&batch))?;
                        let first = before + read;
                        read += batch.num_rows() as u64;
                        self.send(Piece::Rows { input, before: first, batch })?;
                    }
                }
            }
        }
        Ok((read, None))
    }

    /// Rows that are there already, in pieces small enough to share out.
    fn batches(&mut self, number: usize, batches: &[RecordBatch]) -> Result<(), Gone> {
        let mut before = 0;
        for batch in batches {
            for first in (0..batch.num_rows()).step_by(MOST) {
                let batch = batch.slice(first, MOST.min(batch.num_rows() - first));
                for batch in pieces(&batch) {
                    let rows = batch.num_rows() as u64;
                    self.send(Piece::Rows { input: number, before, batch })?;
                    before += rows;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, number: usize, input: &Input) -> Result<(), Gone> {
        let file = read_file(number, input);
        self.check(input, file.content.as_ref().map_or(0, Vec::len))?;
        self.bytes += file.content.as_ref().map_or(0, Vec::len);
        self.files.push(file);
        if self.bytes >= BLOCK || self.files.len() >= MOST { self.send_files() } else { Ok(()) }
    }
}

fn read_file(number: usize, input: &Input) -> TextFile {
    // Before the content, so that a change while it is read is noticed later.
    let stamp = match &input.origin.place {
        Place::File(path) => path.metadata().ok().as_ref().map(Stamp::of),
        Place::Stream(_) | Place::Bytes(_) | Place::Rows(_) => None,
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
