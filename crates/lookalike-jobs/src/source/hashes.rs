//! Fingerprints as text: one per line, optionally followed by a tab and an id, or the JSON lines of
//! `lookalike hash`.

use std::collections::BTreeMap;

use anyhow::Result;
use lookalike::{Fingerprint, Width, fingerprint::FingerprintError};
use serde_json::{Value, value::RawValue};

use super::{
    Bad, Bytes, Ids, OnPiece, PIECE, Reason, Skipped,
    compression::read_error,
    field::{RowId, row_id},
    jsonl,
    lines::{Line, Lines},
    rows::Items,
};

/// The maximum length of a line. Longer lines are not fingerprints, and are not kept in memory.
const MAX_LINE: u64 = 1 << 16;

/// How many lines are inspected to distinguish fingerprints from text.
const SAMPLE: usize = 20;

/// The first bytes of a zip archive, which NumPy writes for several arrays.
const ZIP: &[u8] = b"PK\x03\x04";

const REMEDY: &str = "write a fingerprint as a decimal, 0x hex or 0b binary number";

/// An input with one fingerprint per line.
pub struct HashLines {
    lines: Lines,
    /// The width, if the first lines show it.
    pub width: Option<Width>,
}

impl HashLines {
    /// Refuses text that does not look like fingerprints, unless the user named the kind `hash`.
    pub fn open(bytes: Bytes, is_named: bool) -> Result<Self, Bad> {
        if let Some(what) = not_hashes(bytes.start(), is_named) {
            return Err(Bad::input(bytes.name(), what));
        }
        let width = stated_width(bytes.start());
        Ok(Self { lines: Lines::new(bytes.into_reader(), MAX_LINE), width })
    }

    /// Reads every line and records which are items. `WORDS` must fit `width`.
    pub fn read<const WORDS: usize>(
        mut self,
        width: Width,
        ids: &mut Ids,
        items: &mut Items,
        skipped: &mut Skipped,
        on_piece: OnPiece<'_, WORDS>,
    ) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut line = Vec::new();
        loop {
            let next = self.lines.next(&mut line);
            let number = self.lines.number();
            let item = match next {
                Ok(Line::End) => break,
                Ok(Line::Whole) => Item::parse(&line, width),
                Ok(Line::TooLong) => Err((Reason::TooLong, too_long(MAX_LINE))),
                Err(error) => {
                    skipped.add(Bad::input(ids.input_name(), read_error(&error)))?;
                    break;
                }
            };
            items.push(matches!(item, Ok(Some(_))));
            match item {
                Ok(Some(Item { print, id })) => {
                    piece.push(print);
                    push_id(ids, &id, number);
                }
                Ok(None) => {}
                // A valid line without a fingerprint, like a text without features.
                Err((reason @ Reason::NoFeatures, what)) => {
                    skipped.note(Bad::line(ids.input_name(), number, reason, what), 1);
                }
                Err((reason, what)) => {
                    skipped.add(Bad::line(ids.input_name(), number, reason, what))?;
                }
            }
            if piece.len() == PIECE {
                on_piece(&piece)?;
                piece.clear();
            }
        }
        on_piece(&piece)
    }
}

/// Whether an input that starts with these bytes contains fingerprints; none if that is unclear.
pub fn looks_like_hashes(start: &[u8]) -> Option<bool> {
    if start.starts_with(ZIP) {
        return None;
    }
    if not_hashes(start, false).is_some() {
        return Some(false);
    }
    let sample: Vec<_> = first_lines(start).take(SAMPLE).collect();
    let hashes = sample.iter().filter(|line| is_hash(line)).count();
    (hashes * 2 > sample.len()).then_some(true)
}

/// Whether a line is only a fingerprint and an id. A row with other fields is not.
fn is_hash(line: &[u8]) -> bool {
    if !line.starts_with(b"{") {
        let digits = columns(line).and_then(|(digits, _)| std::str::from_utf8(digits).ok());
        return digits.is_some_and(is_number);
    }
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return false };
    let print = object.get("fingerprint");
    print.is_some_and(|print| print.is_null() || print.as_str().is_some_and(is_number))
        && object.keys().all(|key| matches!(key.as_str(), "id" | "fingerprint"))
}

fn too_long(limit: u64) -> String {
    format!("the line has more than {limit} bytes; {REMEDY}")
}

/// Why a record cannot be used, and what to do about it.
pub type Refusal = (Reason, String);

/// One line.
struct Item<'a, const WORDS: usize> {
    print: Fingerprint<WORDS>,
    id: RowId<'a>,
}

impl<'a, const WORDS: usize> Item<'a, WORDS> {
    /// Reads a line; none if it is blank.
    fn parse(line: &'a [u8], width: Width) -> Result<Option<Self>, Refusal> {
        if line.first() == Some(&b'{') {
            return Self::parse_json(line, width).map(Some);
        }
        let Some((digits, id)) = columns(line) else { return Ok(None) };
        let print = parse(digits, width)?;
        let id = match id {
            [] => RowId::None,
            id => RowId::Given(String::from_utf8_lossy(id)),
        };
        Ok(Some(Self { print, id }))
    }

    fn parse_json(line: &'a [u8], width: Width) -> Result<Self, Refusal> {
        let object: BTreeMap<String, &RawValue> = serde_json::from_slice(line).unwrap_or_default();
        let digits = object.get("fingerprint");
        if digits.is_some_and(|digits| digits.get() == "null") {
            return Err((Reason::NoFeatures, "the fingerprint is null".to_owned()));
        }
        let digits = digits.and_then(|digits| serde_json::from_str::<String>(digits.get()).ok());
        let Some(digits) = digits else {
            let what = r#"no fingerprint; write {"id":...,"fingerprint":"0x..."}"#;
            return Err((Reason::NotANumber, what.to_owned()));
        };
        if let Some(stated) = width_of_hex(&digits).filter(|&stated| stated != width) {
            let (stated, width) = (stated.bits(), width.bits());
            let what = format!(
                "has {stated} bits, but the other fingerprints have {width}; search each width \
                 separately"
            );
            return Err((Reason::OtherWidth, what));
        }
        let print = parse(digits.as_bytes(), width)?;
        let id = object.get("id").and_then(|id| jsonl::parse_id(id).ok());
        Ok(Self { print, id: id.map_or(RowId::None, row_id) })
    }
}

/// A line without an id is identified by its number.
fn push_id(ids: &mut Ids, id: &RowId<'_>, line: u64) {
    match id {
        RowId::None => ids.push_numbers(line, 1),
        RowId::Number(number) => ids.push_stated(*number),
        RowId::Given(id) => ids.push_given(id),
        RowId::OtherNumber(digits) => ids.push_other_number(digits),
    }
}

/// Parses a fingerprint.
fn parse<const WORDS: usize>(digits: &[u8], width: Width) -> Result<Fingerprint<WORDS>, Refusal> {
    if let Some(number) = short_number(digits).filter(|_| width != Width::Bits32) {
        let mut print = Fingerprint::ZERO;
        print.0[0] = number;
        return Ok(print);
    }
    let text = String::from_utf8_lossy(digits);
    if binary_width(digits).is_some_and(|binary| binary != width) {
        return Err((Reason::OtherWidth, too_wide(&text, width)));
    }
    Fingerprint::parse(&text, width).map_err(|error| match error {
        FingerprintError::TooWide { .. } => (Reason::TooWide, too_wide(&text, width)),
        _ => (Reason::NotANumber, not_a_number(&text)),
    })
}

/// Like [`parse`], for a width known only at run time.
pub fn parse_within(text: &str, width: Width) -> Result<Fingerprint<4>, Refusal> {
    let text = text.trim();
    match binary_width(text.as_bytes()) {
        Some(binary) if binary != width => return Err((Reason::OtherWidth, too_wide(text, width))),
        Some(_) => {
            let unfit = |_| (Reason::NotANumber, not_a_number(text));
            return Fingerprint::parse(text, width).map_err(unfit);
        }
        None => {}
    }
    let print = parse(text.as_bytes(), Width::Bits256)?;
    if bits_used(&print) > width.bits() {
        return Err((Reason::TooWide, too_wide(text, width)));
    }
    Ok(print)
}

/// Whether this is a valid way to write a fingerprint of any width.
pub fn is_number(text: &str) -> bool {
    let parsed = Fingerprint::<4>::parse(text, Width::Bits256);
    matches!(parsed, Ok(_) | Err(FingerprintError::TooWide { .. }))
}

/// A fast path for decimal and hex numbers of at most 64 bits.
fn short_number(digits: &[u8]) -> Option<u64> {
    match digits.strip_prefix(b"0x") {
        Some(hex) => (1..=16).contains(&hex.len()).then(|| unchecked::<16>(hex)).flatten(),
        None if digits.len() < 20 => {
            (!digits.is_empty()).then(|| unchecked::<10>(digits)).flatten()
        }
        // Nineteen digits always fit; the twentieth may overflow.
        None => {
            let (last, front) = digits.split_last().filter(|_| digits.len() == 20)?;
            let tens = unchecked::<10>(front)?.checked_mul(10)?;
            tens.checked_add(unchecked::<10>(std::slice::from_ref(last))?)
        }
    }
}

/// The value of digits that are too few to overflow.
fn unchecked<const RADIX: u32>(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, &digit| {
        Some(number * u64::from(RADIX) + u64::from(char::from(digit).to_digit(RADIX)?))
    })
}

fn too_wide(text: &str, width: Width) -> String {
    if let Some(binary) = binary_width(text.as_bytes()) {
        let (bits, shown) = (binary.bits(), shortened(text));
        return format!(
            "{shown} has {bits} binary digits, not {}; use --bits {bits}",
            width.bits()
        );
    }
    let fits = |print| Width::ALL.into_iter().find(|width| width.bits() >= bits_used(&print));
    let fitting = Fingerprint::parse(text, Width::Bits256).ok().and_then(fits);
    let remedy = fitting.map_or_else(
        || "fingerprints have at most 256 bits".to_owned(),
        |wider| format!("use --bits {}", wider.bits()),
    );
    format!("{} does not fit into {} bits; {remedy}", shortened(text), width.bits())
}

/// How many bits a number needs.
fn bits_used(print: &Fingerprint<4>) -> u32 {
    let top = print.0.iter().rposition(|&word| word != 0).unwrap_or(0);
    64 * top as u32 + 64 - print.0[top].leading_zeros()
}

fn not_a_number(text: &str) -> String {
    let hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hint = if hex {
        format!(" (if this is hex, write 0x{})", shortened(text))
    } else if text.strip_prefix('-').is_some_and(is_number) {
        " (write a negative number as unsigned)".to_owned()
    } else if text.split([' ', ',', ';']).next().is_some_and(is_number) {
        " (separate the id by a tab)".to_owned()
    } else {
        String::new()
    };
    format!("\"{}\" is not a number; {REMEDY}{hint}", shortened(text))
}

/// Escapes and shortens a text for a message.
pub fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown = String::new();
    for character in text.chars().take(SHOWN) {
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(SHOWN).is_some() { shown + "..." } else { shown }
}

/// Splits a line into fingerprint and id, which may be empty; none for a blank line.
fn columns(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_end();
    let (digits, id) = match line.iter().position(|&byte| byte == b'\t') {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &line[..0]),
    };
    (!line.is_empty()).then_some((digits.trim_ascii(), id.trim_ascii()))
}

/// Why an input that starts with these bytes does not contain fingerprints; none if it may.
fn not_hashes(start: &[u8], is_named: bool) -> Option<String> {
    if start.starts_with(ZIP) {
        return Some("is a zip or .npz archive; save one array with numpy.save".to_owned());
    }
    if is_named {
        return None;
    }
    let what = format!("looks like text (\"{}\")", shortened(&text_line(start)?));
    Some(format!("{what}; use --kind text for texts, or --kind hash if these are fingerprints"))
}

/// The first line that is not a fingerprint, if most lines are not.
fn text_line(start: &[u8]) -> Option<String> {
    let sample: Vec<_> = first_lines(start).take(SAMPLE).collect();
    let is_json = |line: &[u8]| {
        line.starts_with(b"{") && line.windows(13).any(|part| part == b"\"fingerprint\"")
    };
    let is_text = |line: &&&[u8]| !(line[0].is_ascii_digit() || is_json(line));
    let count = sample.iter().filter(is_text).count();
    let first = sample.iter().find(is_text)?;
    (count * 2 > sample.len()).then(|| String::from_utf8_lossy(first).into_owned())
}

/// The width of fingerprints that show it by their number of digits: binary digits in every line, or
/// the hex digits of `lookalike hash`.
fn stated_width(start: &[u8]) -> Option<Width> {
    let binary = |line| columns(line).and_then(|(digits, _)| binary_width(digits));
    let mut widths = first_lines(start).take(SAMPLE).map(binary);
    if let Some(Some(width)) = widths.next()
        && widths.all(|other| other == Some(width))
    {
        return Some(width);
    }
    let line = first_lines(start).next().filter(|line| line.starts_with(b"{"))?;
    let object: Value = serde_json::from_slice(line).ok()?;
    width_of_hex(object["fingerprint"].as_str()?)
}

/// The width of a fingerprint written with a digit 0 or 1 for every bit.
fn binary_width(digits: &[u8]) -> Option<Width> {
    let is_binary = digits.iter().all(|digit| matches!(digit, b'0' | b'1'));
    Width::from_bits(digits.len() as u32).ok().filter(|_| is_binary)
}

/// The common width of fingerprints that are all written with a digit 0 or 1 for every bit.
pub fn common_binary_width<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Width> {
    let mut widths = texts.into_iter().map(|text| binary_width(text.trim().as_bytes()));
    let width = widths.next()??;
    widths.all(|other| other == Some(width)).then_some(width)
}

fn width_of_hex(text: &str) -> Option<Width> {
    Width::from_bits(text.strip_prefix("0x")?.len() as u32 * 4).ok()
}

/// The first lines of an input, without blank ones.
fn first_lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    start.split(|&byte| byte == b'\n').map(|line| line.trim_ascii()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_path_equals_the_parser_of_the_library() {
        let texts = [
            "0",
            "7",
            "00000000000000000007",
            "9999999999999999999",
            "10000000000000000000",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "100000000000000000000",
            "0x0",
            "0xfFfFfFfFfFfFfFfF",
            "0x1ffffffffffffffff",
            "0x",
            "",
            "0b11",
            "1x",
            "1844674407370955161x",
            "x8446744073709551615",
            "0xg",
        ];
        for text in texts {
            let expected = Fingerprint::<1>::parse(text, Width::Bits64).ok();
            assert_eq!(parse(text.as_bytes(), Width::Bits64).ok(), expected, "{text}");
        }
    }
}
