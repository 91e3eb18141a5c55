//! In which encoding is a text? Byte order marks decide, then what the text or its sender says,
//! then UTF-8. What does not fit is replaced, and told.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its encoding may be declared; browsers look no further.
const DECLARED_WITHIN: usize = 1024;

/// The text of bytes that are UTF-8 unless they start with another mark, and whether something in
/// them had to be replaced.
pub fn decode(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let (text, _, repaired) = UTF_8.decode(bytes);
    (text, repaired)
}

/// The text of a web page: as its mark, its sender or the page itself says. A page that says
/// nothing is UTF-8 if it can be, else Windows-1252, as browsers have it.
pub fn decode_page<'a>(bytes: &'a [u8], sender: Option<&str>) -> (Cow<'a, str>, bool) {
    let said = sender.and_then(|label| Encoding::for_label(label.as_bytes()));
    let declared = || declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    let encoding = said.or_else(declared).unwrap_or_else(|| match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    });
    let (text, _, repaired) = encoding.decode(bytes);
    (text, repaired)
}

/// The name behind `charset=`, in a header or a page.
pub fn named(text: &[u8]) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let behind = memchr::memmem::find(&lower, b"charset=")? + "charset=".len();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let name = text[behind..].trim_ascii_start();
    let name = name.strip_prefix(b"\"").or(name.strip_prefix(b"'")).unwrap_or(name);
    let length = name.iter().position(|byte| !is_name(byte)).unwrap_or(name.len());
    std::str::from_utf8(&name[..length]).ok().filter(|name| !name.is_empty())
}

fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(named(start)?.as_bytes())?;
    // A page whose declaration can be read byte by byte is not UTF-16, whatever it says.
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_decide_before_anything_else() {
        assert_eq!(decode(b"\xff\xfeh\0i\0"), ("hi".into(), false));
        assert_eq!(decode(b"\xef\xbb\xbfhi"), ("hi".into(), false));
        assert_eq!(decode_page(b"\xfe\xff\0h\0i", Some("utf-8")), ("hi".into(), false));
        assert_eq!(decode(b"caf\xe9"), ("caf\u{fffd}".into(), true));
    }

    #[test]
    fn pages_are_read_as_their_sender_or_they_themselves_say() {
        let koi8 = b"\xf0\xd2\xc9\xd7\xc5\xd4";
        assert_eq!(decode_page(koi8, Some("koi8-r")).0, "Привет");
        let page = [b"<meta charset='KOI8-R'>".as_slice(), koi8].concat();
        assert!(decode_page(&page, None).0.ends_with("Привет"));
        assert_eq!(decode_page(b"caf\xe9", None), ("café".into(), false));
        assert_eq!(decode_page("café".as_bytes(), Some("no-such")), ("café".into(), false));
        assert_eq!(decode_page(b"<meta charset=utf-16>\xc3\xa9", None).0, "<meta charset=utf-16>é");
    }

    #[test]
    fn names_are_found_in_headers_and_pages() {
        for text in ["text/html; charset=x-1", "TEXT/HTML;CHARSET=\"x-1\"", "<meta charset='x-1'/>"]
        {
            assert_eq!(named(text.as_bytes()), Some("x-1"), "{text}");
        }
        assert_eq!(named(b"charset="), None);
        assert_eq!(named(b"text/html"), None);
    }
}
