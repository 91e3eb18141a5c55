//! Reads web archives (WARC).
//!
//! Items are the bodies of responses and stored or extracted texts (resource, conversion). Other
//! records (requests, metadata, images) are not items.

use std::borrow::Cow;

use memchr::memmem;

use super::{
    Reason, charset,
    field::{FieldNames, Key, ParsedRow, RowId, RowResult},
    http::{Head, Page, Response},
    records::Split,
};

/// The first bytes of every record.
pub const MAGIC: &[u8] = b"WARC/";

/// The maximum length of a head.
const MAX_HEAD: usize = 1 << 16;

/// The header field that is the id if the user names none.
const DEFAULT_ID: &str = "WARC-Target-URI";

/// Finds the ends of records by their stated length.
#[derive(Default)]
pub struct SplitArchive {
    /// The remaining length of the record, once its head is read.
    length: Option<usize>,
    /// Whether the current bytes are not a record; then the next record is searched.
    lost: bool,
    searched: usize,
}

impl SplitArchive {
    fn stated_length(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.lost && self.length.is_none() {
            match Head::end(bytes) {
                Some(end) => {
                    let stated = bytes.starts_with(MAGIC).then(|| Head::read(&bytes[..end]));
                    let length = stated.and_then(|head| head.value("Content-Length")?.parse().ok());
                    self.length = length.and_then(|length: usize| end.checked_add(length));
                    self.lost = self.length.is_none();
                }
                None => self.lost = bytes.len() > MAX_HEAD,
            }
        }
        self.length
    }

    fn found(&mut self, end: usize) -> Option<usize> {
        *self = Self::default();
        Some(end)
    }
}

impl Split for SplitArchive {
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some(length) = self.stated_length(bytes) {
            // Two line ends follow each record; some writers omit them.
            let after = bytes.get(length..)?;
            let ends = after.iter().take(4).take_while(|byte| b"\r\n".contains(byte)).count();
            return if after.len() >= 4 { self.found(length + ends) } else { None };
        }
        if !self.lost {
            return None;
        }
        // A record starts at the beginning of a line.
        let from = self.searched.saturating_sub(MAGIC.len());
        match memmem::find(&bytes[from..], b"\nWARC/") {
            Some(offset) => self.found(from + offset + 1),
            None => {
                self.searched = bytes.len();
                None
            }
        }
    }

    fn pass(&mut self, count: usize) {
        self.length = self.length.map(|length| length.saturating_sub(count));
        self.searched = self.searched.saturating_sub(count);
    }

    fn cut(&mut self, rest: &[u8]) -> Option<&'static str> {
        let whole = self.length.is_some_and(|length| rest.len() >= length);
        let blank = rest.iter().all(u8::is_ascii_whitespace);
        let cut = "the file ends within this record; it may be incomplete";
        (!whole && !blank && !self.lost).then_some(cut)
    }
}

/// Reads one record.
pub fn parse<'a>(record: &'a [u8], wanted: &FieldNames) -> RowResult<'a> {
    let Some(end) = Head::end(record).filter(|_| record.starts_with(MAGIC)) else {
        let blank = record.iter().all(u8::is_ascii_whitespace);
        let what = "is not a WARC record; continuing with the next one";
        return if blank { Ok(None) } else { Err((Reason::Broken, what.to_owned())) };
    };
    let head = Head::read(&record[..end]);
    let Some(length) = head.value("Content-Length").and_then(|text| text.parse().ok()) else {
        return Err((Reason::Broken, "the record has no Content-Length".to_owned()));
    };
    let content = &record[end..];
    let content = &content[..content.len().min(length)];
    let page = match head.value("WARC-Type") {
        Some("response") if is_http(&head) => Response::read(content).page()?,
        Some("response" | "resource" | "conversion") => {
            let kind = head.value("Content-Type").unwrap_or("text/plain");
            Some(Page { body: Cow::Borrowed(content), kind: kind.to_owned() })
        }
        _ => None,
    };
    Ok(page.and_then(|page| item(page, &head, wanted)))
}

fn is_http(head: &Head<'_>) -> bool {
    head.value("Content-Type").is_some_and(|kind| kind.starts_with("application/http"))
}

/// An item, if the body is text.
fn item<'a>(page: Page<'a>, head: &Head<'_>, wanted: &FieldNames) -> Option<ParsedRow<'a>> {
    let kind = page.kind.to_ascii_lowercase();
    let is_html = kind.contains("html");
    if !is_html && !kind.starts_with("text/") {
        return None;
    }
    let charset = charset::named(kind.as_bytes());
    let (text, repair) = match page.body {
        Cow::Borrowed(body) => charset::decode_page(body, charset),
        Cow::Owned(body) => {
            let (text, repair) = charset::decode_page(&body, charset);
            (Cow::Owned(text.into_owned()), repair)
        }
    };
    let id = record_id(head, wanted.id.as_deref());
    let key = |name: &String| head.value(name).map(|value| Key::Text(value.to_owned()));
    let keys = wanted.keys.iter().map(key).collect();
    let modified = head.value("WARC-Date").and_then(seconds).map(|time| time * 1_000_000_000);
    Some(ParsedRow { id, keys, html: Some(is_html), modified, ..ParsedRow::text(text, repair) })
}

/// The id of a record: the wanted header field, otherwise its address, otherwise its record id.
fn record_id(head: &Head<'_>, wanted: Option<&str>) -> RowId<'static> {
    let names = [wanted.unwrap_or(DEFAULT_ID), DEFAULT_ID, "WARC-Record-ID"];
    let id = names.into_iter().find_map(|name| head.value(name));
    id.map_or(RowId::None, |id| RowId::Given(id.to_owned().into()))
}

/// Seconds since 1970 of a time such as `2024-02-29T12:00:00Z`.
fn seconds(time: &str) -> Option<i64> {
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    // Days since 1970. Years start in March, so that a leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}
