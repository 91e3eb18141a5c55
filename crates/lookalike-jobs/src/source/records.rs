//! Splits a stream into records, one block at a time.
//!
//! A [`Split`] defines what a record is: a line, a row of a table, a record of a web archive. A record
//! longer than [`MAX_RECORD`] is never in memory as a whole; it is passed on in pieces.

use std::io::{self, BufRead, Read};

use super::compression;

/// The maximum length of a record or text file.
pub const MAX_RECORD: usize = 64 << 20;

/// The approximate size of a block.
pub const BLOCK_BYTES: usize = 2 << 20;

/// The maximum number of records in a block.
pub const MAX_RECORDS: usize = 1 << 14;

/// The size of one read.
const READ: usize = 1 << 18;

/// Finds the ends of records.
pub trait Split: Send {
    /// The end of the record that starts at `bytes[0]`; `None` if it needs more bytes. The next call
    /// then has the same bytes followed by more, so an implementation may remember how far it
    /// searched.
    fn end(&mut self, bytes: &[u8]) -> Option<usize>;

    /// The first `count` bytes of the current record are dropped from the next call.
    fn pass(&mut self, count: usize);

    /// The input ends with `rest`, a record without an end. Returns an error message if that is
    /// invalid.
    fn cut(&mut self, rest: &[u8]) -> Option<&'static str>;
}

/// RecordPart of an input, split into records.
pub struct Block {
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
}

pub struct Record {
    /// It starts at the end of the previous record.
    end: usize,
    /// The number of its first line, from 1.
    pub line: u64,
    pub part: RecordPart,
}

/// Whether this is a whole record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPart {
    Whole,
    /// The beginning of a record longer than [`MAX_RECORD`].
    TooLong,
    /// A later piece of such a record.
    More,
    /// An invalid record at the end of the input, with the error message.
    Cut(&'static str),
}

impl Block {
    /// The bytes of a record, with its line end.
    pub fn record(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.records[number - 1].end };
        &self.bytes[start..self.records[number].end]
    }
}

/// The blocks of one input.
pub struct Blocks {
    reader: Box<dyn BufRead + Send>,
    split: Box<dyn Split>,
    /// The beginning of a record whose end is not read yet.
    pending: Vec<u8>,
    line: u64,
    /// Whether the current record is too long.
    inside: bool,
    failed: Option<io::Error>,
    ended: bool,
}

/// An error before the end of the input.
pub struct ReadError {
    /// The last complete line.
    pub line: u64,
    pub what: String,
}

impl Blocks {
    pub fn new(reader: Box<dyn BufRead + Send>, split: Box<dyn Split>) -> Self {
        let (pending, failed) = (Vec::new(), None);
        Self { reader, split, pending, line: 1, inside: false, failed, ended: false }
    }

    /// The next block; none at the end, and none after a failure.
    pub fn next(&mut self) -> Result<Option<Block>, ReadError> {
        let mut bytes = std::mem::take(&mut self.pending);
        let mut records = Vec::new();
        let mut start = 0;
        loop {
            self.cut_whole_records(&bytes, &mut start, &mut records);
            if start >= BLOCK_BYTES || records.len() >= MAX_RECORDS {
                break;
            }
            if bytes.len() - start > MAX_RECORD {
                self.push(&bytes[start..], RecordPart::TooLong, bytes.len(), &mut records);
                self.split.pass(bytes.len() - start);
                self.inside = true;
                start = bytes.len();
                break;
            }
            if self.ended || !self.fill(&mut bytes) {
                self.cut_last_record(&bytes, &mut start, &mut records);
                break;
            }
        }
        self.pending = bytes.split_off(start);
        match (records.is_empty(), self.failed.take()) {
            (true, None) => Ok(None),
            (true, Some(error)) => {
                self.pending.clear();
                Err(ReadError { line: self.line - 1, what: compression::read_error(&error) })
            }
            (false, failed) => {
                self.failed = failed;
                Ok(Some(Block { bytes, records }))
            }
        }
    }

    fn cut_whole_records(&mut self, bytes: &[u8], start: &mut usize, records: &mut Vec<Record>) {
        while records.len() < MAX_RECORDS {
            let Some(length) = self.split.end(&bytes[*start..]) else { break };
            let end = *start + length;
            let part = if length > MAX_RECORD { RecordPart::TooLong } else { RecordPart::Whole };
            self.push(&bytes[*start..end], part, end, records);
            self.inside = false;
            *start = end;
        }
    }

    /// The last record may lack an end. After a read error it may be incomplete, so it is dropped.
    fn cut_last_record(&mut self, bytes: &[u8], start: &mut usize, records: &mut Vec<Record>) {
        if *start < bytes.len() && self.failed.is_none() {
            let part = self.split.cut(&bytes[*start..]).map_or(RecordPart::Whole, RecordPart::Cut);
            self.push(&bytes[*start..], part, bytes.len(), records);
            self.split.pass(bytes.len() - *start);
            *start = bytes.len();
        }
    }

    fn push(&mut self, record: &[u8], part: RecordPart, end: usize, records: &mut Vec<Record>) {
        let part = if self.inside { RecordPart::More } else { part };
        records.push(Record { end, line: self.line, part });
        self.line += memchr::memchr_iter(b'\n', record).count() as u64;
    }

    /// Reads more; false at the end of the input.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> bool {
        match (&mut self.reader).take(READ as u64).read_to_end(bytes) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) => {
                self.failed = Some(error);
                self.ended = true;
                // The bytes before the error are valid.
                return true;
            }
        }
        !self.ended
    }
}

/// Every line is a record.
#[derive(Default)]
pub struct SplitLines {
    searched: usize,
}

impl Split for SplitLines {
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let found = memchr::memchr(b'\n', &bytes[self.searched..]);
        let end = found.map(|offset| self.searched + offset + 1);
        self.searched = if end.is_some() { 0 } else { bytes.len() };
        end
    }

    fn pass(&mut self, count: usize) {
        self.searched -= count;
    }

    fn cut(&mut self, _: &[u8]) -> Option<&'static str> {
        None
    }
}

/// A line without its end.
pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Some editors put a byte order mark before the first line.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time, then fails if the flag is set.
    struct Dribble(Vec<u8>, usize, bool);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() && self.2 {
                return Err(io::Error::other("torn"));
            }
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    type Seen = Vec<(u64, RecordPart, Vec<u8>)>;

    fn cut(content: Vec<u8>, piece: usize, fails: bool) -> (Seen, Option<(u64, String)>) {
        let reader = io::BufReader::with_capacity(piece, Dribble(content, piece, fails));
        let mut blocks = Blocks::new(Box::new(reader), Box::new(SplitLines::default()));
        let mut seen = Vec::new();
        loop {
            match blocks.next() {
                Ok(None) => return (seen, None),
                Err(ReadError { line, what }) => return (seen, Some((line, what))),
                Ok(Some(block)) => {
                    seen.extend(block.records.iter().enumerate().map(|(number, record)| {
                        (record.line, record.part, block.record(number).to_vec())
                    }))
                }
            }
        }
    }

    #[test]
    fn records_do_not_depend_on_the_size_of_reads() {
        let text = b"one\r\n\ntwo\nlast".to_vec();
        let expected: Seen = vec![
            (1, RecordPart::Whole, b"one\r\n".to_vec()),
            (2, RecordPart::Whole, b"\n".to_vec()),
            (3, RecordPart::Whole, b"two\n".to_vec()),
            (4, RecordPart::Whole, b"last".to_vec()),
        ];
        for piece in 1..=text.len() {
            assert_eq!(cut(text.clone(), piece, false), (expected.clone(), None), "{piece}");
        }
    }

    #[test]
    fn read_error_comes_after_all_complete_records() {
        for piece in [1, 3, 100] {
            let (seen, failed) = cut(b"one\ntwo\nthr".to_vec(), piece, true);
            assert_eq!(seen.len(), 2);
            let (line, what) = failed.unwrap();
            assert_eq!(line, 2);
            assert!(what.starts_with("cannot be read: torn"), "{what}");
        }
    }

    #[test]
    fn passes_on_a_very_long_line_in_pieces() {
        let long = [vec![b'x'; 2 * MAX_RECORD + 5], b"\nnext\n".to_vec()].concat();
        let (seen, failed) = cut(long, 1 << 20, false);
        assert!(failed.is_none());
        assert!(seen.iter().all(|(_, _, bytes)| bytes.len() <= MAX_RECORD + 2 * READ));
        assert_eq!(
            seen.iter().map(|(_, _, bytes)| bytes.len()).sum::<usize>(),
            2 * MAX_RECORD + 11
        );
        let parts: Vec<_> = seen.iter().map(|(line, part, _)| (*line, *part)).collect();
        assert_eq!(parts.first(), Some(&(1, RecordPart::TooLong)));
        assert_eq!(parts.last(), Some(&(2, RecordPart::Whole)));
        assert!(parts[1..parts.len() - 1].iter().all(|&part| part == (1, RecordPart::More)));
    }

    #[test]
    fn only_the_length_makes_a_record_too_long() {
        for (length, part) in
            [(MAX_RECORD - 1, RecordPart::Whole), (MAX_RECORD, RecordPart::TooLong)]
        {
            let line = [vec![b'x'; length], b"\n".to_vec()].concat();
            assert_eq!(cut(line, 1 << 22, false).0[0].1, part);
        }
    }
}
