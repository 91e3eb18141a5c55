//! Reads lines of limited length.

use std::{
    io::{self, BufRead, Read},
    path::Path,
};

use super::{Bad, Bytes, Reason, charset, compression::read_error};

/// Reads lines up to a maximum length. Longer lines are skipped without keeping them in memory.
pub struct Lines {
    reader: Box<dyn BufRead + Send>,
    max_length: u64,
    number: u64,
}

/// The result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// It is in the caller's buffer, without its end.
    Whole,
    TooLong,
    /// There are no more lines.
    End,
}

impl Lines {
    pub fn new(reader: Box<dyn BufRead + Send>, max_length: u64) -> Self {
        Self { reader, max_length, number: 0 }
    }

    /// The number of the last line read, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads a line into `line`, which is cleared first.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        line.clear();
        self.number += 1;
        (&mut self.reader).take(self.max_length + 1).read_until(b'\n', line)?;
        match line.last() {
            None => return Ok(Line::End),
            Some(b'\n') => {
                line.pop();
            }
            Some(_) if line.len() as u64 > self.max_length => {
                self.reader.skip_until(b'\n')?;
                return Ok(Line::TooLong);
            }
            Some(_) => {}
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        // Some editors put a byte order mark before the first line.
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(Line::Whole)
    }
}

/// The maximum length of a text.
const MAX_TEXT: u64 = 1 << 26;

/// The maximum number of lines in a piece.
const PIECE: usize = 1 << 12;

/// A piece ends when it has this many bytes.
const PIECE_BYTES: usize = 1 << 22;

/// The lines of one input as texts. Every line is returned, even if it cannot be read.
pub struct LineTexts {
    name: String,
    lines: Option<Lines>,
}

/// One line, or why it cannot be read.
pub struct LineText {
    pub number: u64,
    pub text: Result<String, Bad>,
}

impl LineTexts {
    pub fn open(path: &Path) -> Result<Self, Bad> {
        let bytes = Bytes::open(path)?.into_text()?;
        let name = bytes.name().to_owned();
        Ok(Self { name, lines: Some(Lines::new(bytes.into_reader(), MAX_TEXT)) })
    }

    /// The next lines; none at the end.
    pub fn next_piece(&mut self) -> Vec<LineText> {
        let mut piece = Vec::new();
        let mut bytes = 0;
        while piece.len() < PIECE && bytes < PIECE_BYTES {
            let Some(line) = self.next_line() else { break };
            bytes += line.text.as_ref().map_or(0, String::len);
            piece.push(line);
        }
        piece
    }

    /// The report of a line that cannot be used.
    pub fn bad(&self, number: u64, reason: Reason, what: impl std::fmt::Display) -> Bad {
        Bad::line(&self.name, number, reason, what)
    }

    fn next_line(&mut self) -> Option<LineText> {
        let lines = self.lines.as_mut()?;
        let mut line = Vec::new();
        let next = lines.next(&mut line);
        let number = lines.number();
        let text = match next {
            Ok(Line::Whole) => Ok(charset::decode_record(&line, None).0.into_owned()),
            Ok(Line::TooLong) => {
                let what = format!("the line has more than {MAX_TEXT} bytes; split it");
                Err(self.bad(number, Reason::TooLong, what))
            }
            Ok(Line::End) => {
                self.lines = None;
                return None;
            }
            Err(error) => {
                self.lines = None;
                Err(self.bad(number, Reason::Input, read_error(&error)))
            }
        };
        Some(LineText { number, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static [u8]) -> Vec<(u64, Line, Vec<u8>)> {
        let mut lines = Lines::new(Box::new(text), 4);
        let mut all = Vec::new();
        let mut line = Vec::new();
        loop {
            match lines.next(&mut line).unwrap() {
                Line::End => return all,
                kind => all.push((lines.number(), kind, std::mem::take(&mut line))),
            }
        }
    }

    #[test]
    fn lines_end_at_lf_crlf_or_the_end_of_input() {
        let whole = |number, text: &[u8]| (number, Line::Whole, text.to_vec());
        assert_eq!(
            read(b"ab\ncd\r\n\nef"),
            [whole(1, b"ab"), whole(2, b"cd"), whole(3, b""), whole(4, b"ef")]
        );
        assert_eq!(read(b"\xef\xbb\xbfa\n"), [whole(1, b"a")]);
        assert_eq!(read(b"1234\n1234"), [whole(1, b"1234"), whole(2, b"1234")]);
    }

    #[test]
    fn skips_long_lines() {
        let kinds: Vec<_> =
            read(b"a\n12345\nb\n123456789").iter().map(|line| (line.0, line.1)).collect();
        let expected = [(1, Line::Whole), (2, Line::TooLong), (3, Line::Whole), (4, Line::TooLong)];
        assert_eq!(kinds, expected);
    }
}
