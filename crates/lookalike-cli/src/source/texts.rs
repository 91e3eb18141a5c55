//! Texts: whole inputs, or each line of them. Invalid UTF-8 is replaced, and told.

use std::{
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
};

use super::{
    Bad, Bytes, Id, Reason,
    bytes::{name_of, unreadable},
    lines::{Line, Lines},
};

/// The longest input that is one text.
const LONGEST_INPUT: u64 = 1 << 30;

/// The longest line that is one text.
const LONGEST_LINE: u64 = 1 << 26;

/// Texts are handed on in pieces of at most this many,
const PIECE: usize = 1 << 12;

/// or when they have this many bytes.
const PIECE_BYTES: usize = 1 << 22;

/// Endings of tables, whose rows are no plain texts.
const TABLES: [&str; 5] = [".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"];

/// What one text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    Input,
    Line,
}

/// The texts of all inputs, in order.
pub struct Texts {
    inputs: Vec<(PathBuf, String)>,
    each: Each,
    opened: usize,
    lines: Option<Lines>,
}

/// One text, or why there is none.
pub struct TextItem {
    pub place: Place,
    pub text: Result<Text, Bad>,
}

/// Where a text stands.
#[derive(Clone, Copy)]
pub struct Place {
    input: usize,
    /// From 1; none for a whole input.
    line: Option<u64>,
}

/// A text, and whether it was valid UTF-8 throughout.
pub struct Text {
    pub text: String,
    pub valid: bool,
}

impl Texts {
    pub fn new(paths: Vec<PathBuf>, each: Each) -> Self {
        let inputs = paths.into_iter().map(|path| {
            let name = name_of(&path);
            (path, name)
        });
        Self { inputs: inputs.collect(), each, opened: 0, lines: None }
    }

    /// The next texts; none at the end.
    pub fn next_piece(&mut self) -> Vec<TextItem> {
        let mut piece = Vec::new();
        let mut bytes = 0;
        while piece.len() < PIECE && bytes < PIECE_BYTES {
            let Some(item) = self.next_item() else { break };
            bytes += item.text.as_ref().map_or(0, |text| text.text.len());
            piece.push(item);
        }
        piece
    }

    /// What the item at `place` is called: a line by its number, a whole input by its name.
    pub fn id(&self, place: Place) -> Id<'_> {
        let name = &self.inputs[place.input].1;
        match place.line {
            None => Id::Given(name),
            Some(number) if self.inputs.len() == 1 => Id::Number(number),
            Some(number) => Id::Line { input: name, number },
        }
    }

    /// Whether there is nothing but this one input.
    pub fn is_all(&self, place: Place) -> bool {
        self.inputs.len() == 1 && place.line.is_none()
    }

    /// Says that the item at `place` cannot be used.
    pub fn bad(&self, place: Place, reason: Reason, what: impl std::fmt::Display) -> Bad {
        let name = &self.inputs[place.input].1;
        match place.line {
            None => Bad::item(name, reason, what),
            Some(number) => Bad::line(name, number, reason, what),
        }
    }

    fn next_item(&mut self) -> Option<TextItem> {
        loop {
            if let Some(item) = self.next_line() {
                return Some(item);
            }
            let (input, (path, _)) = (self.opened, self.inputs.get(self.opened)?);
            let text = match (self.each, Bytes::open(path)) {
                (Each::Line, Ok(bytes)) => {
                    self.lines = Some(Lines::new(bytes.into_reader(), LONGEST_LINE));
                    self.opened += 1;
                    continue;
                }
                (Each::Input, Ok(bytes)) => check_ending(path).and_then(|()| read_whole(bytes)),
                (_, Err(bad)) => Err(bad),
            };
            self.opened += 1;
            return Some(TextItem { place: Place { input, line: None }, text });
        }
    }

    /// The next line of the input that is open for its lines.
    fn next_line(&mut self) -> Option<TextItem> {
        let lines = self.lines.as_mut()?;
        let mut line = Vec::new();
        let next = lines.next(&mut line);
        let place = Place { input: self.opened - 1, line: Some(lines.number()) };
        let text = match next {
            Ok(Line::Whole) => Ok(Text::from(line)),
            Ok(Line::TooLong) => {
                let what = format!("more than {LONGEST_LINE} bytes in a line; break it up");
                Err(self.bad(place, Reason::TooLong, what))
            }
            Ok(Line::End) => {
                self.lines = None;
                return None;
            }
            Err(error) => {
                self.lines = None;
                Err(self.bad(place, Reason::Input, unreadable(&error)))
            }
        };
        Some(TextItem { place, text })
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, valid: true },
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Self { text, valid: false }
            }
        }
    }
}

/// The text of one file, or of standard input for `-`.
pub fn read_text(path: &Path) -> Result<Text, Bad> {
    Bytes::open(path).and_then(read_whole)
}

fn read_whole(bytes: Bytes) -> Result<Text, Bad> {
    let name = bytes.name().to_owned();
    match read_limited(bytes.into_reader()) {
        Ok(content) if content.len() as u64 > LONGEST_INPUT => Err(Bad::item(
            &name,
            Reason::TooLong,
            format!("has more than {LONGEST_INPUT} bytes; --lines takes each line as a text"),
        )),
        Ok(content) => Ok(Text::from(content)),
        Err(error) => Err(Bad::input(&name, unreadable(&error))),
    }
}

fn read_limited(reader: impl BufRead) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(LONGEST_INPUT + 1).read_to_end(&mut content)?;
    Ok(content)
}

fn check_ending(path: &Path) -> Result<(), Bad> {
    let name = path.to_string_lossy().to_lowercase();
    let unpacked = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match TABLES.iter().find(|ending| unpacked.ends_with(*ending)) {
        None => Ok(()),
        Some(ending) => Err(Bad::input(
            &name_of(path),
            format!("rows of {ending} files are not read yet; --lines takes each line as a text"),
        )),
    }
}
