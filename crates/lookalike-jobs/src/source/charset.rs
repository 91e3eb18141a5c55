//! Decodes text. A byte order mark decides, then a declared encoding, then UTF-8. Text that is not
//! UTF-8 is in a legacy encoding, which is detected. Bytes are never dropped or replaced by one
//! character, so that two different undecodable texts do not become equal.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its encoding may be declared. Browsers have the same limit.
const DECLARED_WITHIN: usize = 1024;

/// How many bytes, from the first that is not ASCII, the detector gets: at first, and if its answer
/// does not fit all bytes.
const SAMPLES: [usize; 2] = [1 << 14, 1 << 20];

/// How bytes became text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// They are valid in the declared encoding or UTF-8.
    #[default]
    None,
    /// This encoding was detected.
    Detected(&'static Encoding),
    /// Some bytes are invalid in the encoding of the others.
    Broken,
}

/// Decodes a whole file.
pub fn decode(bytes: &[u8]) -> (Cow<'_, str>, Repair) {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => decode_as(encoding, &bytes[mark..]),
        None => decode_record(bytes, None),
    }
}

/// Decodes part of a file. `detected` is the encoding of other text in the file that is not UTF-8.
pub fn decode_record<'a>(
    bytes: &'a [u8],
    detected: Option<&'static Encoding>,
) -> (Cow<'a, str>, Repair) {
    match UTF_8.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) => (text, Repair::None),
        None if is_mostly_utf8(bytes) => (decode_mixed(bytes), Repair::Broken),
        None => detect(bytes, detected),
    }
}

/// The detected encoding of a file that starts like this; none for UTF-8.
pub fn of_start(start: &[u8]) -> Option<&'static Encoding> {
    // The last character may be incomplete.
    let whole = match memchr::memrchr(b'\n', start) {
        Some(end) => &start[..end],
        None => start,
    };
    match decode_record(whole, None).1 {
        Repair::Detected(encoding) => Some(encoding),
        Repair::None | Repair::Broken => None,
    }
}

/// Decodes a web page. The byte order mark, the server (`sent`) or the page declares its encoding. If
/// it declares UTF-8 but is not valid, the encoding is detected.
pub fn decode_page<'a>(bytes: &'a [u8], sent: Option<&str>) -> (Cow<'a, str>, Repair) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, &bytes[mark..]);
    }
    let sent = sent.and_then(|label| Encoding::for_label(label.as_bytes()));
    let declared = || declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    match sent.or_else(declared) {
        Some(encoding) if encoding != UTF_8 => decode_as(encoding, bytes),
        _ => decode_record(bytes, None),
    }
}

fn decode_as<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> (Cow<'a, str>, Repair) {
    let (text, is_broken) = encoding.decode_without_bom_handling(bytes);
    (text, if is_broken { Repair::Broken } else { Repair::None })
}

/// Whether bytes are UTF-8 with some errors. In other encodings, valid UTF-8 sequences are rare.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut fits, mut errors) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        fits += chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count();
        errors += usize::from(!chunk.invalid().is_empty());
    }
    fits >= errors
}

/// Decodes valid UTF-8 sequences, and all other bytes as windows-1252.
fn decode_mixed(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    text.into()
}

/// Tries the encoding of the rest of the file, then the detector on a small and on a large sample.
fn detect<'a>(bytes: &'a [u8], others: Option<&'static Encoding>) -> (Cow<'a, str>, Repair) {
    let guesses = SAMPLES.into_iter().map(|length| guess(bytes, length));
    for encoding in others.into_iter().chain(guesses) {
        let (text, is_broken) = encoding.decode_without_bom_handling(bytes);
        if !is_broken {
            return (text, Repair::Detected(encoding));
        }
    }
    // windows-1252 has a character for every byte.
    (WINDOWS_1252.decode_without_bom_handling(bytes).0, Repair::Detected(WINDOWS_1252))
}

fn guess(bytes: &[u8], length: usize) -> &'static Encoding {
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let sample = &bytes[first.saturating_sub(1)..];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&sample[..sample.len().min(length)], sample.len() <= length);
    detector.guess(None, Utf8Detection::Deny)
}

/// The name after `charset=` in a header or page.
pub fn named(text: &[u8]) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let start = memchr::memmem::find(&lower, b"charset=")? + "charset=".len();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let name = text[start..].trim_ascii_start();
    let name = name.strip_prefix(b"\"").or(name.strip_prefix(b"'")).unwrap_or(name);
    let length = name.iter().position(|byte| !is_name(byte)).unwrap_or(name.len());
    std::str::from_utf8(&name[..length]).ok().filter(|name| !name.is_empty())
}

fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(named(start)?.as_bytes())?;
    // A page whose declaration is readable as ASCII is not UTF-16, whatever it declares.
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

/// Whether bytes start with the byte order mark of UTF-16.
pub fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
}

/// Converts UTF-16 with a byte order mark to UTF-8 without one.
pub struct Utf16Reader<R> {
    source: R,
    /// None at the end.
    decoder: Option<Decoder>,
    text: Vec<u8>,
    at: usize,
}

impl<R: BufRead> Utf16Reader<R> {
    pub fn new(source: R) -> Self {
        // This decoder obeys byte order marks.
        Self { source, decoder: Some(UTF_8.new_decoder()), text: Vec::new(), at: 0 }
    }

    /// Decodes the next bytes.
    fn fill(&mut self) -> io::Result<()> {
        while self.at == self.text.len()
            && let Some(decoder) = &mut self.decoder
        {
            let bytes = self.source.fill_buf()?;
            let is_last = bytes.is_empty();
            let capacity = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0);
            self.text.resize(capacity, 0);
            let (_, read, written, _) = decoder.decode_to_utf8(bytes, &mut self.text, is_last);
            self.source.consume(read);
            self.text.truncate(written);
            self.at = 0;
            if is_last {
                self.decoder = None;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let read = (&self.text[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_utf16_read_in_pieces_of_any_size() {
        let text = "\u{feff}één 🦊\r\nzwei";
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
            assert!(is_utf16(&wide));
            for piece in 1..5 {
                let mut narrow = String::new();
                let wide = io::BufReader::with_capacity(piece, wide.as_slice());
                Utf16Reader::new(wide).read_to_string(&mut narrow).unwrap();
                assert_eq!(narrow, &text[3..]);
            }
        }
    }

    #[test]
    fn byte_order_mark_decides_first() {
        assert_eq!(decode(b"\xff\xfeh\0i\0"), ("hi".into(), Repair::None));
        assert_eq!(decode(b"\xef\xbb\xbfhi"), ("hi".into(), Repair::None));
        assert_eq!(decode_page(b"\xfe\xff\0h\0i", Some("utf-8")), ("hi".into(), Repair::None));
    }

    const TEXTS: [(&str, &Encoding); 6] = [
        ("Паром на остров отходит в девять утра и снова в четыре.", encoding_rs::WINDOWS_1251),
        ("轮渡早上九点和下午四点从港口北端开往岛上。", encoding_rs::GBK),
        ("フェリーは午前九時と午後四時に島へ出発します。", encoding_rs::SHIFT_JIS),
        ("중앙역에서 아홉 시에 출발합니다", encoding_rs::EUC_KR),
        ("Żółw zjadł gęś", encoding_rs::WINDOWS_1250),
        ("café au lait", WINDOWS_1252),
    ];

    #[test]
    fn detects_legacy_encodings() {
        for (text, encoding) in TEXTS {
            let bytes = encoding.encode(text).0;
            let expected = (Cow::Borrowed(text), Repair::Detected(encoding));
            assert_eq!(decode(&bytes), expected);
            assert_eq!(decode_page(&bytes, Some("utf-8")), expected);
            assert_eq!(of_start(&bytes), Some(encoding));
            assert_eq!(decode(text.as_bytes()), (text.into(), Repair::None));
            // Far beyond the samples.
            let far = [vec![b' '; 1 << 21], b"\n".to_vec(), bytes.to_vec()].concat();
            let (decoded, repair) = decode(&far);
            assert_eq!((decoded.trim(), repair), (text, Repair::Detected(encoding)));
        }
        // The encoding of the file is more reliable than a guess from a short piece.
        let short = encoding_rs::WINDOWS_1251.encode("кот").0;
        let in_file = decode_record(&short, Some(encoding_rs::WINDOWS_1251));
        assert_eq!(in_file, ("кот".into(), Repair::Detected(encoding_rs::WINDOWS_1251)));
    }

    #[test]
    fn invalid_bytes_are_neither_dropped_nor_made_equal() {
        let broken = |end: &[u8]| {
            let bytes = ["Über Öl".as_bytes(), end].concat();
            let (text, repair) = decode(&bytes);
            assert_eq!(repair, Repair::Broken);
            text.into_owned()
        };
        assert_eq!(broken(b" caf\xe9"), "Über Öl café");
        assert_eq!(broken(b"\xc3"), "Über ÖlÃ");
        assert_ne!(broken(b"\xe1"), broken(b"\xe2"));
        // Bytes after the sample that its encoding does not have.
        let start = encoding_rs::GBK.encode(TEXTS[1].0).0.repeat(1000);
        for odd in [b"\xff\xff".as_slice(), b"\x80\x20"] {
            let bytes = [&start, odd].concat();
            let (text, repair) = decode(&bytes);
            assert!(matches!(repair, Repair::Detected(_)) && !text.contains('\u{fffd}'));
        }
    }

    #[test]
    fn server_or_page_declares_the_encoding() {
        let koi8 = b"\xf0\xd2\xc9\xd7\xc5\xd4";
        assert_eq!(decode_page(koi8, Some("koi8-r")).0, "Привет");
        let page = [b"<meta charset='KOI8-R'>".as_slice(), koi8].concat();
        assert!(decode_page(&page, None).0.ends_with("Привет"));
        assert_eq!(decode_page(b"caf\xe9", None).0, "café");
        assert_eq!(decode_page("café".as_bytes(), Some("no-such")), ("café".into(), Repair::None));
        assert_eq!(decode_page(b"<meta charset=utf-16>\xc3\xa9", None).0, "<meta charset=utf-16>é");
    }

    #[test]
    fn finds_charset_names_in_headers_and_pages() {
        for text in ["text/html; charset=x-1", "TEXT/HTML;CHARSET=\"x-1\"", "<meta charset='x-1'/>"]
        {
            assert_eq!(named(text.as_bytes()), Some("x-1"), "{text}");
        }
        assert_eq!(named(b"charset="), None);
        assert_eq!(named(b"text/html"), None);
    }
}
