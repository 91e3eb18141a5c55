//! Where does one record end and the next begin? Cuts a stream into records, a block at a time.
//!
//! What a record is, a [`Split`] knows: a line, a row of a table, a record of a web archive.
//! No record is held in memory that is longer than [`LONGEST`]; such a one passes by in pieces.

use std::io::{self, BufRead, Read};

use super::pack;

/// The longest record, and the longest file that is one text.
pub const LONGEST: usize = 64 << 20;

/// A block has about this many bytes,
pub const BLOCK: usize = 2 << 20;

/// and at most this many records.
pub const MOST: usize = 1 << 14;

/// How much is read at once.
const READ: usize = 1 << 18;

/// Finds the ends of records.
pub trait Split: Send {
    /// Where the record that starts at `bytes[0]` ends; `None` if that takes more bytes. Then the
    /// same bytes come again with more behind them, so it may remember how far it looked.
    fn end(&mut self, bytes: &[u8]) -> Option<usize>;

    /// The first `count` bytes of the record that is looked at are taken away.
    fn pass(&mut self, count: usize);

    /// The input ends with `rest`, a record without an end: what is wrong with that, if anything.
    fn cut(&mut self, rest: &[u8]) -> Option<&'static str>;
}

/// A stretch of an input, cut into records.
pub struct Block {
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
}

pub struct Record {
    /// It starts where the one before it ends.
    end: usize,
    /// The line it starts in, from 1.
    pub line: u64,
    pub part: Part,
}

/// How much of a record this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// The beginning of one that is longer than [`LONGEST`].
    TooLong,
    /// More of the same.
    More,
    /// The input ends within it, and this is wrong with that.
    Cut(&'static str),
}

impl Block {
    /// The bytes of a record, its end included.
    pub fn record(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.records[number - 1].end };
        &self.bytes[start..self.records[number].end]
    }
}

/// The blocks of one input.
pub struct Blocks {
    reader: Box<dyn BufRead + Send>,
    split: Box<dyn Split>,
    /// The beginning of a record whose end is not yet read.
    pending: Vec<u8>,
    line: u64,
    /// Within a record that is too long.
    inside: bool,
    failed: Option<io::Error>,
    ended: bool,
}

/// Reading stopped before the input's end.
pub struct Failed {
    /// The last line that was read whole.
    pub line: u64,
    pub what: String,
}

impl Blocks {
    pub fn new(reader: Box<dyn BufRead + Send>, split: Box<dyn Split>) -> Self {
        let (pending, failed) = (Vec::new(), None);
        Self { reader, split, pending, line: 1, inside: false, failed, ended: false }
    }

    /// The next block; none at the end. After a failure there is nothing more.
    pub fn next(&mut self) -> Result<Option<Block>, Failed> {
        let mut bytes = std::mem::take(&mut self.pending);
        let mut records = Vec::new();
        let mut start = 0;
        loop {
            self.cut_whole_records(&bytes, &mut start, &mut records);
            if start >= BLOCK || records.len() >= MOST {
                break;
            }
            if bytes.len() - start > LONGEST {
                self.push(&bytes[start..], Part::TooLong, bytes.len(), &mut records);
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
                Err(Failed { line: self.line - 1, what: pack::unreadable(&error) })
            }
            (false, failed) => {
                self.failed = failed;
                Ok(Some(Block { bytes, records }))
            }
        }
    }

    fn cut_whole_records(&mut self, bytes: &[u8], start: &mut usize, records: &mut Vec<Record>) {
        while records.len() < MOST {
            let Some(length) = self.split.end(&bytes[*start..]) else { break };
            let end = *start + length;
            let part = if length > LONGEST { Part::TooLong } else { Part::Whole };
            self.push(&bytes[*start..end], part, end, records);
            self.inside = false;
            *start = end;
        }
    }

    /// What stands at the end without an end of its own. If reading failed, nobody knows whether
    /// it is whole, so it is left out.
    fn cut_last_record(&mut self, bytes: &[u8], start: &mut usize, records: &mut Vec<Record>) {
        if *start < bytes.len() && self.failed.is_none() {
            let part = self.split.cut(&bytes[*start..]).map_or(Part::Whole, Part::Cut);
            self.push(&bytes[*start..], part, bytes.len(), records);
            self.split.pass(bytes.len() - *start);
            *start = bytes.len();
        }
    }

    fn push(&mut self, record: &[u8], part: Part, end: usize, records: &mut Vec<Record>) {
        let part = if self.inside { Part::More } else { part };
        records.push(Record { end, line: self.line, part });
        self.line += memchr::memchr_iter(b'\n', record).count() as u64;
    }

    /// Reads more; false at the end or if that fails.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> bool {
        match (&mut self.reader).take(READ as u64).read_to_end(bytes) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) => {
                self.failed = Some(error);
                self.ended = true;
                // What came before the failure is good.
                return true;
            }
        }
        !self.ended
    }
}

/// Every line is a record.
#[derive(Default)]
pub struct SplitLines {
    looked: usize,
}

impl Split for SplitLines {
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let found = memchr::memchr(b'\n', &bytes[self.looked..]);
        let end = found.map(|offset| self.looked + offset + 1);
        self.looked = if end.is_some() { 0 } else { bytes.len() };
        end
    }

    fn pass(&mut self, count: usize) {
        self.looked -= count;
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

    /// Hands out a few bytes at a time, then fails if told to.
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

    type Seen = Vec<(u64, Part, Vec<u8>)>;

    fn cut(content: Vec<u8>, piece: usize, fails: bool) -> (Seen, Option<(u64, String)>) {
        let reader = io::BufReader::with_capacity(piece, Dribble(content, piece, fails));
        let mut blocks = Blocks::new(Box::new(reader), Box::new(SplitLines::default()));
        let mut seen = Vec::new();
        loop {
            match blocks.next() {
                Ok(None) => return (seen, None),
                Err(Failed { line, what }) => return (seen, Some((line, what))),
                Ok(Some(block)) => {
                    seen.extend(block.records.iter().enumerate().map(|(number, record)| {
                        (record.line, record.part, block.record(number).to_vec())
                    }))
                }
            }
        }
    }

    #[test]
    fn records_do_not_depend_on_how_bytes_arrive() {
        let text = b"one\r\n\ntwo\nlast".to_vec();
        let expected: Seen = vec![
            (1, Part::Whole, b"one\r\n".to_vec()),
            (2, Part::Whole, b"\n".to_vec()),
            (3, Part::Whole, b"two\n".to_vec()),
            (4, Part::Whole, b"last".to_vec()),
        ];
        for piece in 1..=text.len() {
            assert_eq!(cut(text.clone(), piece, false), (expected.clone(), None), "{piece}");
        }
    }

    #[test]
    fn a_failure_comes_after_all_whole_records_and_drops_the_torn_one() {
        for piece in [1, 3, 100] {
            let (seen, failed) = cut(b"one\ntwo\nthr".to_vec(), piece, true);
            assert_eq!(seen.len(), 2);
            let (line, what) = failed.unwrap();
            assert_eq!(line, 2);
            assert!(what.starts_with("cannot be read: torn"), "{what}");
        }
    }

    #[test]
    fn an_endless_line_passes_by_in_pieces_without_being_held() {
        let long = [vec![b'x'; 2 * LONGEST + 5], b"\nnext\n".to_vec()].concat();
        let (seen, failed) = cut(long, 1 << 20, false);
        assert!(failed.is_none());
        assert!(seen.iter().all(|(_, _, bytes)| bytes.len() <= LONGEST + 2 * READ));
        assert_eq!(seen.iter().map(|(_, _, bytes)| bytes.len()).sum::<usize>(), 2 * LONGEST + 11);
        let parts: Vec<_> = seen.iter().map(|(line, part, _)| (*line, *part)).collect();
        assert_eq!(parts.first(), Some(&(1, Part::TooLong)));
        assert_eq!(parts.last(), Some(&(2, Part::Whole)));
        assert!(parts[1..parts.len() - 1].iter().all(|&part| part == (1, Part::More)));
    }

    #[test]
    fn a_record_is_too_long_by_its_length_alone() {
        for (length, part) in [(LONGEST - 1, Part::Whole), (LONGEST, Part::TooLong)] {
            let line = [vec![b'x'; length], b"\n".to_vec()].concat();
            assert_eq!(cut(line, 1 << 22, false).0[0].1, part);
        }
    }
}
