//! Lines of any input, none of them so long that memory suffers.

use std::io::{self, BufRead, Read};

/// Reads lines up to a length; what is longer is passed over, never kept.
pub struct Lines {
    reader: Box<dyn BufRead + Send>,
    longest: u64,
    number: u64,
}

/// What the next line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// It is in the caller's buffer, without its end.
    Whole,
    TooLong,
    /// There is none.
    End,
}

impl Lines {
    pub fn new(reader: Box<dyn BufRead + Send>, longest: u64) -> Self {
        Self { reader, longest, number: 0 }
    }

    /// The number of the line last read, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads a line into `line`, replacing what is there.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        line.clear();
        self.number += 1;
        (&mut self.reader).take(self.longest + 1).read_until(b'\n', line)?;
        match line.last() {
            None => return Ok(Line::End),
            Some(b'\n') => {
                line.pop();
            }
            Some(_) if line.len() as u64 > self.longest => {
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
    fn lines_end_with_any_line_end_or_the_input() {
        let whole = |number, text: &[u8]| (number, Line::Whole, text.to_vec());
        assert_eq!(
            read(b"ab\ncd\r\n\nef"),
            [whole(1, b"ab"), whole(2, b"cd"), whole(3, b""), whole(4, b"ef")]
        );
        assert_eq!(read(b"\xef\xbb\xbfa\n"), [whole(1, b"a")]);
        assert_eq!(read(b"1234\n1234"), [whole(1, b"1234"), whole(2, b"1234")]);
    }

    #[test]
    fn long_lines_are_passed_over() {
        let kinds: Vec<_> =
            read(b"a\n12345\nb\n123456789").iter().map(|line| (line.0, line.1)).collect();
        let expected = [(1, Line::Whole), (2, Line::TooLong), (3, Line::Whole), (4, Line::TooLong)];
        assert_eq!(kinds, expected);
    }
}
