//! Fingerprints as text: one a line, a tab and an id may follow.

use std::{
    borrow::Cow,
    io::{BufRead, Read},
};

use anyhow::Result;
use lookalike::{Fingerprint, FingerprintError, Width};

use super::{Bad, Bytes, Ids, OnPiece, PIECE, Reason, Skipped, bytes::unreadable};
use crate::args::Kind;

/// A line that takes more is no fingerprint; it is not kept in memory to find out.
const LONGEST_LINE: u64 = 1 << 16;

/// How many lines are looked at to tell fingerprints from text.
const SAMPLE: usize = 20;

/// An input that has one fingerprint a line.
pub struct HashLines {
    reader: Box<dyn BufRead + Send>,
}

impl HashLines {
    /// Opens lines of fingerprints; other text is refused unless the user says it is `--kind hash`.
    pub fn open(bytes: Bytes, kind: Option<Kind>) -> Result<Self, Bad> {
        let refused = match kind {
            _ if bytes.start().starts_with(b"PK\x03\x04") => {
                Some("is a zip or .npz archive; save one array with numpy.save".to_owned())
            }
            _ if bytes.start().starts_with(b"\xff\xfe")
                || bytes.start().starts_with(b"\xfe\xff") =>
            {
                Some("is UTF-16 text; save it as UTF-8".to_owned())
            }
            Some(Kind::Hash) => None,
            Some(Kind::Text) => Some(not_yet("is text, as --kind says")),
            None => first_text_line(bytes.start())
                .map(|line| not_yet(&format!("looks like text (\"{}\")", shortened(&line)))),
        };
        match refused {
            Some(what) => Err(Bad::input(bytes.name(), what)),
            None => Ok(Self { reader: bytes.into_reader() }),
        }
    }

    /// Reads every line. `WORDS` must fit `width`.
    pub fn read<const WORDS: usize>(
        mut self,
        width: Width,
        ids: &mut Ids,
        skipped: &mut Skipped,
        on_piece: OnPiece<'_, WORDS>,
    ) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut line = Vec::new();
        for number in 1.. {
            match self.next_line(&mut line) {
                Ok(Line::End) => break,
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => {
                    let what = format!("more than {LONGEST_LINE} bytes in a line; {HOW_TO_WRITE}");
                    skipped.add(Bad::line(ids.input_name(), number, Reason::TooLong, what))?;
                    continue;
                }
                Err(error) => {
                    skipped.add(Bad::input(ids.input_name(), unreadable(&error)))?;
                    break;
                }
            }
            let Some((digits, id)) = columns(without_mark(&line, number)) else { continue };
            match parse(digits, width) {
                Ok(print) => piece.push(print),
                Err((reason, what)) => {
                    skipped.add(Bad::line(ids.input_name(), number, reason, what))?;
                    continue;
                }
            }
            if id.is_empty() {
                ids.push_numbers(number, 1);
            } else {
                ids.push_given(&String::from_utf8_lossy(id));
            }
            if piece.len() == PIECE {
                on_piece(&piece)?;
                piece.clear();
            }
        }
        on_piece(&piece)
    }

    fn next_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<Line> {
        line.clear();
        (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', line)?;
        Ok(match line.last() {
            None => Line::End,
            Some(b'\n') => Line::Whole,
            Some(_) if (line.len() as u64) < LONGEST_LINE => Line::Whole,
            Some(_) => {
                self.reader.skip_until(b'\n')?;
                Line::TooLong
            }
        })
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

const HOW_TO_WRITE: &str = "write a fingerprint as decimal, 0x hex or 0b binary";

/// Reads a fingerprint, or says why it is none and what to do.
pub fn parse<const WORDS: usize>(
    digits: &[u8],
    width: Width,
) -> Result<Fingerprint<WORDS>, (Reason, String)> {
    if let Some(number) = short_decimal(digits).filter(|_| width != Width::Bits32) {
        let mut print = Fingerprint::ZERO;
        print.0[0] = number;
        return Ok(print);
    }
    let text = String::from_utf8_lossy(digits);
    Fingerprint::parse(&text, width).map_err(|error| match error {
        FingerprintError::TooWide { .. } => (Reason::TooWide, too_wide(&text, width)),
        _ => (Reason::NotANumber, not_a_number(&text)),
    })
}

/// Up to 19 decimal digits, which always fit: the common case, in a plain loop.
fn short_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

fn too_wide(text: &str, width: Width) -> String {
    let fits = Width::ALL.into_iter().find(|&wider| Fingerprint::<4>::parse(text, wider).is_ok());
    let remedy = fits.map_or_else(
        || "the widest fingerprints have 256 bits".to_owned(),
        |wider| format!("use --bits {}", wider.bits()),
    );
    format!("{} does not fit into {} bits; {remedy}", shortened(text), width.bits())
}

fn not_a_number(text: &str) -> String {
    let hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = |text: &str| Fingerprint::<4>::parse(text, Width::Bits256).is_ok();
    let hint = if hex {
        format!(" (if this is hex, write 0x{})", shortened(text))
    } else if text.strip_prefix('-').is_some_and(number) {
        " (it is negative: write it unsigned)".to_owned()
    } else if text.split([' ', ',', ';']).next().is_some_and(number) {
        " (an id goes behind a tab)".to_owned()
    } else {
        String::new()
    };
    format!("\"{}\" is not a number; {HOW_TO_WRITE}{hint}", shortened(text))
}

/// Text that is safe and short enough to be shown in a message.
pub fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "..." } else { shown }
}

/// A line as fingerprint and id (empty if there is none); `None` for a blank line.
fn columns(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_end();
    let (digits, id) = match line.iter().position(|&byte| byte == b'\t') {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &line[..0]),
    };
    (!line.is_empty()).then_some((digits.trim_ascii(), id.trim_ascii()))
}

/// Some editors put a byte order mark before the first line.
fn without_mark(line: &[u8], number: u64) -> &[u8] {
    if number > 1 { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) }
}

fn not_yet(what: &str) -> String {
    format!(
        "{what}; pairs reads fingerprints only, so far: \
         say --kind hash if these are, or make some with lookalike hash"
    )
}

/// A line of the sample that is no number, if most of the sample is like that.
fn first_text_line(start: &[u8]) -> Option<Cow<'_, str>> {
    let lines = start.split(|&byte| byte == b'\n');
    let sample: Vec<_> = lines
        .zip(1..)
        .filter_map(|(line, number)| columns(without_mark(line, number)))
        .map(|(digits, _)| String::from_utf8_lossy(digits))
        .take(SAMPLE)
        .collect();
    let is_text = |text: &&Cow<str>| !text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    let text = sample.iter().filter(is_text).count();
    let first = sample.iter().find(is_text).cloned();
    first.filter(|_| text * 2 > sample.len())
}
