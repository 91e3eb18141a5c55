//! Splits CSV and TSV into rows and fields, as in RFC 4180.
//!
//! Kept rows are copied byte for byte, and their length is limited. The `csv` crate supports neither,
//! so it is only the oracle of the tests.

use std::borrow::Cow;

use encoding_rs::Encoding;
use memchr::{memchr, memchr2};

use super::{
    Reason,
    charset::{self, Repair},
    field::{FieldNames, FieldValues, ParsedRow, RowResult, Value, no_field},
    jsonl,
    records::{Split, without_end, without_mark},
};

/// Finds the ends of rows. A line end within quotes does not end a row.
pub struct SplitRows {
    separator: u8,
    state: State,
    looked: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote in a quoted field: the end of the field, or the first of a doubled quote.
    Quote,
}

impl SplitRows {
    pub fn new(separator: u8) -> Self {
        Self { separator, state: State::FieldStart, looked: 0 }
    }

    fn found(&mut self, end: usize) -> Option<usize> {
        (self.state, self.looked) = (State::FieldStart, 0);
        Some(end)
    }
}

impl Split for SplitRows {
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.looked;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            self.state = match (self.state, byte) {
                (State::FieldStart | State::Plain | State::Quote, b'\n') => return self.found(at),
                (State::FieldStart, b'"') | (State::Quote, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::Quote,
                (State::Quoted, _) => {
                    at = memchr(b'"', &bytes[at..]).map_or(bytes.len(), |offset| at + offset);
                    State::Quoted
                }
                (_, byte) if byte == self.separator => State::FieldStart,
                _ => {
                    let stop = memchr2(b'\n', self.separator, &bytes[at..]);
                    at = stop.map_or(bytes.len(), |offset| at + offset);
                    State::Plain
                }
            };
        }
        self.looked = at;
        None
    }

    fn pass(&mut self, count: usize) {
        self.looked -= count;
    }

    fn cut(&mut self, _: &[u8]) -> Option<&'static str> {
        let open = self.state == State::Quoted;
        open.then_some("a quote is not closed before the end of the file; close it or double it")
    }
}

/// The fields of one row, unquoted.
pub fn fields(row: &[u8], separator: u8) -> Vec<Cow<'_, [u8]>> {
    let mut rest = without_end(row);
    let mut fields = Vec::new();
    loop {
        let (field, length) = next_field(rest, separator);
        fields.push(field);
        match rest.get(length) {
            Some(_) => rest = &rest[length + 1..],
            None => return fields,
        }
    }
}

/// Whether the line is empty.
pub fn is_blank(row: &[u8]) -> bool {
    without_end(row).is_empty()
}

/// The first field, and the position of the separator after it.
fn next_field(bytes: &[u8], separator: u8) -> (Cow<'_, [u8]>, usize) {
    let plain =
        |from: usize| memchr(separator, &bytes[from..]).map_or(bytes.len(), |offset| from + offset);
    if bytes.first() != Some(&b'"') {
        let end = plain(0);
        return (Cow::Borrowed(&bytes[..end]), end);
    }
    let mut text = Cow::Borrowed(&bytes[..0]);
    let mut from = 1;
    loop {
        let Some(offset) = memchr(b'"', &bytes[from..]) else {
            return (joined(text, &bytes[from..]), bytes.len());
        };
        let quote = from + offset;
        if bytes.get(quote + 1) != Some(&b'"') {
            let end = plain(quote + 1);
            return (joined(joined(text, &bytes[from..quote]), &bytes[quote + 1..end]), end);
        }
        text = joined(text, &bytes[from..=quote]);
        from = quote + 2;
    }
}

/// Concatenates two slices without a copy if one is empty.
fn joined<'a>(front: Cow<'a, [u8]>, back: &'a [u8]) -> Cow<'a, [u8]> {
    if back.is_empty() {
        return front;
    }
    if front.is_empty() {
        return Cow::Borrowed(back);
    }
    let mut whole = front.into_owned();
    whole.extend_from_slice(back);
    Cow::Owned(whole)
}

/// The first row of a file: the names of its columns, and their separator.
pub struct Header {
    pub columns: Vec<String>,
    pub separator: u8,
    /// The encoding of text that is not UTF-8, detected from the beginning of the file.
    encoding: Option<&'static Encoding>,
}

impl Header {
    /// Reads the beginning of a file. A header without commas may have semicolons or tabs.
    pub fn read(start: &[u8], separator: u8) -> Result<Self, String> {
        let end = SplitRows::new(separator).end(start).unwrap_or(start.len());
        let row = without_mark(&start[..end]);
        if is_blank(row) {
            return Err("has no header row with the names of its columns".to_owned());
        }
        let has = |separator: &u8| row.contains(separator);
        let others = [b';', b'\t'].into_iter().filter(has);
        let separator =
            [separator].into_iter().filter(has).chain(others).next().unwrap_or(separator);
        let names = fields(row, separator);
        let encoding = charset::of_start(start);
        let decoded = |name| charset::decode_record(name, encoding).0.into_owned();
        let names = names.iter().map(|name| decoded(name));
        Ok(Self { columns: names.collect(), separator, encoding })
    }
}

/// The positions of the wanted fields in a row.
pub struct Columns {
    separator: u8,
    text: usize,
    id: Option<usize>,
    keys: Vec<Option<usize>>,
    /// The number of columns.
    count: usize,
    /// Whether cells contain features as JSON.
    features: bool,
    /// The encoding of text that is not UTF-8.
    encoding: Option<&'static Encoding>,
}

impl Columns {
    pub fn of(header: &Header, wanted: &FieldNames) -> Result<Self, String> {
        let at = |name: &String| header.columns.iter().position(|column| column == name);
        let text = at(&wanted.text).ok_or_else(|| no_field(&wanted.text, &header.columns))?;
        Ok(Self {
            separator: header.separator,
            text,
            id: wanted.id.as_ref().and_then(at),
            keys: wanted.keys.iter().map(at).collect(),
            count: header.columns.len(),
            features: wanted.text == "features" || wanted.vectors.is_some(),
            encoding: header.encoding,
        })
    }

    /// Reads one row; none for a blank line.
    pub fn parse<'a>(&self, row: &'a [u8], wanted: &FieldNames) -> RowResult<'a> {
        if is_blank(row) {
            return Ok(None);
        }
        let mut cells = fields(row, self.separator);
        // A cell may be both id and key.
        let value = |column: usize| cells.get(column).map(|cell| scalar(self.text(cell.clone()).0));
        let id = self.id.and_then(value);
        let keys = self.keys.iter().map(|column| column.and_then(value)).collect();
        let count = cells.len();
        let Some(cell) = cells.get_mut(self.text) else {
            let what = format!("has only {count} of {} fields, so the text is missing", self.count);
            return Err((Reason::NoField, what));
        };
        let (text, repair) = self.text(std::mem::take(cell));
        let given = if self.features { jsonl::parse_value(&text) } else { None };
        let text = Some(given.unwrap_or(Value::Text(text)));
        let found = wanted.item(FieldValues { text, id, keys }, Vec::new)?;
        Ok(found.map(|found| ParsedRow { repair, ..found }))
    }

    /// The text of a cell, and how it was decoded.
    fn text<'a>(&self, cell: Cow<'a, [u8]>) -> (Cow<'a, str>, Repair) {
        match cell {
            Cow::Borrowed(bytes) => charset::decode_record(bytes, self.encoding),
            Cow::Owned(bytes) => {
                let (text, repair) = charset::decode_record(&bytes, self.encoding);
                (Cow::Owned(text.into_owned()), repair)
            }
        }
    }
}

/// Cells have no type: digits are a number, an empty cell is null.
fn scalar(cell: Cow<'_, str>) -> Value<'_> {
    if cell.is_empty() {
        return Value::Null;
    }
    // A number only if we would write it in the same way, so that ids stay unchanged.
    match cell.parse::<u64>() {
        Ok(number) if number.to_string() == cell => Value::Unsigned(number),
        _ => match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Number(number, cell.into_owned()),
            _ => Value::Text(cell),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All rows with their bytes and fields, up to a row whose quote is not closed.
    fn rows(mut text: &[u8], split: &mut SplitRows) -> Vec<(Vec<u8>, Vec<String>)> {
        let mut rows = Vec::new();
        while !text.is_empty() {
            let end = split.end(text).unwrap_or(text.len());
            if split.cut(text).is_some() {
                break;
            }
            let fields = fields(&text[..end], b',');
            let fields = fields.iter().map(|field| String::from_utf8_lossy(field).into_owned());
            rows.push((text[..end].to_vec(), fields.collect()));
            text = &text[end..];
        }
        rows
    }

    fn by_the_csv_crate(text: &[u8]) -> Vec<Vec<String>> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true);
        let mut reader = builder.from_reader(text);
        let records = reader.byte_records().map(|record| record.unwrap());
        records
            .map(|record| record.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn rows_equal_those_of_the_csv_crate(text in "([a\",\n]|\r\n){0,40}") {
            let bytes = text.as_bytes();
            let ours: Vec<_> = rows(bytes, &mut SplitRows::new(b','))
                .into_iter().filter(|(row, _)| !is_blank(row)).map(|(_, fields)| fields).collect();
            let theirs = by_the_csv_crate(bytes);
            // Ours does not return a row whose quote is not closed.
            prop_assert!(theirs.len() - ours.len() <= 1);
            prop_assert_eq!(&ours[..], &theirs[..ours.len()]);
        }

        #[test]
        fn row_ends_do_not_depend_on_how_bytes_arrive(text in "([a\",\n]|\r\n){0,40}") {
            let bytes = text.as_bytes();
            let mut split = SplitRows::new(b',');
            let mut start = 0;
            let mut ends = Vec::new();
            for seen in 0..=bytes.len() {
                if let Some(length) = split.end(&bytes[start..seen]) {
                    start += length;
                    ends.push(start);
                }
            }
            let whole = rows(bytes, &mut SplitRows::new(b','));
            let expected = whole.iter().filter(|(row, _)| row.ends_with(b"\n"));
            let expected: Vec<_> =
                expected.scan(0, |end, (row, _)| { *end += row.len(); Some(*end) }).collect();
            prop_assert_eq!(ends, expected);
        }
    }

    #[test]
    fn detects_the_separator_of_a_file_without_commas() {
        for (text, separator) in
            [("a,b;c\n", b','), ("a;b\n", b';'), ("\u{feff}a\tb\r\n", b'\t'), ("a\n", b',')]
        {
            let header = Header::read(text.as_bytes(), b',').unwrap();
            assert_eq!((header.separator, header.columns[0].as_str()), (separator, "a"));
        }
    }
}
