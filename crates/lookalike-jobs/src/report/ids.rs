//! Writes ids as numbers or strings in the syntax of each format.

use std::borrow::Cow;

use serde_json::Value;

use crate::source::Id;

/// Appends an id as a JSON value: a number as a number, any other id as a string.
pub fn json_id(line: &mut Vec<u8>, id: Id<'_>) {
    match id {
        Id::Number(number) => decimal(line, number),
        Id::Given(text) => json_string(line, text),
        Id::OtherNumber(digits) => line.extend_from_slice(digits.as_bytes()),
        Id::Line { input, number } => {
            json_string(line, input);
            line.pop();
            line.push(b':');
            decimal(line, number);
            line.push(b'"');
        }
    }
}

/// Appends an id as a field of a table, quoted if it contains the delimiter, a quote or a line end.
pub fn field_id(line: &mut Vec<u8>, id: Id<'_>, delimiter: u8) {
    match id {
        Id::Number(number) => decimal(line, number),
        Id::Given(text) | Id::OtherNumber(text) => field(line, text, delimiter),
        Id::Line { input, number } => field(line, &format!("{input}:{number}"), delimiter),
    }
}

/// An id as text.
pub fn id_text(id: Id<'_>) -> Cow<'_, str> {
    match id {
        Id::Number(number) => number.to_string().into(),
        Id::Given(text) | Id::OtherNumber(text) => text.into(),
        Id::Line { input, number } => format!("{input}:{number}").into(),
    }
}

/// An id as a JSON value. Numbers that do not fit `u64` are strings.
pub fn id_value(id: Id<'_>) -> Value {
    match id {
        Id::Number(number) => number.into(),
        id => id_text(id).into(),
    }
}

/// Appends a number, two digits at a time. A run may write hundreds of millions of numbers.
pub fn decimal(line: &mut Vec<u8>, mut number: u64) {
    let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let start = line.len();
    let mut end = start + digits;
    line.resize(end, b'0');
    while end - start >= 2 {
        let pair = (number % 100) as u8;
        number /= 100;
        end -= 2;
        line[end..end + 2].copy_from_slice(&[b'0' + pair / 10, b'0' + pair % 10]);
    }
    if end > start {
        line[start] = b'0' + number as u8;
    }
}

fn json_string(line: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(line, text).expect("a string written to memory");
}

fn field(line: &mut Vec<u8>, text: &str, delimiter: u8) {
    let special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if text.bytes().any(special) {
        line.extend_from_slice(format!("\"{}\"", text.replace('"', "\"\"")).as_bytes());
    } else {
        line.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(id: Id<'_>) -> String {
        let mut line = Vec::new();
        json_id(&mut line, id);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn writes_numbers_like_the_standard_library() {
        let tens = (0..20).map(|power| 10u64.pow(power));
        let numbers = tens.flat_map(|ten| [ten - 1, ten, ten + 1, ten.wrapping_mul(7)]);
        for number in numbers.chain([u64::MAX]) {
            assert_eq!(json(Id::Number(number)), number.to_string());
        }
    }

    #[test]
    fn line_numbers_are_numbers_and_names_are_strings() {
        assert_eq!(json(Id::Number(u64::MAX)), "18446744073709551615");
        assert_eq!(json(Id::Number(0)), "0");
        assert_eq!(json(Id::Given("7\"\t")), r#""7\"\t""#);
        assert_eq!(json(Id::Line { input: "a\"b", number: 10 }), r#""a\"b:10""#);
    }

    #[test]
    fn quotes_fields_only_if_necessary() {
        for (text, expected) in [("a b", "a b"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\"")] {
            let mut line = Vec::new();
            field_id(&mut line, Id::Given(text), b',');
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }
}
