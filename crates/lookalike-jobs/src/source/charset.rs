//! In which encoding is a text? Byte order marks decide, then what the text or its sender says, then
//! UTF-8. What is no UTF-8 is in an encoding from before: a detector tells which. Bytes are never
//! dropped or made equal, so that no two texts are taken for one because neither can be read.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its encoding may be declared; browsers look no further.
const DECLARED_WITHIN: usize = 1024;

/// How many bytes, from the first that is not ASCII, the detector is given: first, and if what it says
/// does not fit the rest.
const SAMPLES: [usize; 2] = [1 << 14, 1 << 20];

/// What had to be done to make text of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Nothing: they are what they are said to be, or UTF-8.
    #[default]
    None,
    /// They are in this encoding, by their looks.
    Detected(&'static Encoding),
    /// Some do not fit the rest.
    Broken,
}

/// The text of bytes that are a whole file.
pub fn decode(bytes: &[u8]) -> (Cow<'_, str>, Repair) {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => said(encoding, &bytes[mark..]),
        None => decode_record(bytes, None),
    }
}

/// The text of some bytes of a file, in which other text that is no UTF-8 has this encoding.
pub fn decode_record<'a>(
    bytes: &'a [u8],
    others: Option<&'static Encoding>,
) -> (Cow<'a, str>, Repair) {
    match UTF_8.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) => (text, Repair::None),
        None if is_mostly_utf8(bytes) => (mixed(bytes), Repair::Broken),
        None => detected(bytes, others),
    }
}

/// The encoding of a file that starts like this, if that is known and no UTF-8.
pub fn of_start(start: &[u8]) -> Option<&'static Encoding> {
    // The last character may be cut.
    let whole = match memchr::memrchr(b'\n', start) {
        Some(end) => &start[..end],
        None => start,
    };
    match decode_record(whole, None).1 {
        Repair::Detected(encoding) => Some(encoding),
        Repair::None | Repair::Broken => None,
    }
}

/// The text of a web page: as its mark, its sender or the page itself says, unless it says UTF-8 and
/// is none.
pub fn decode_page<'a>(bytes: &'a [u8], sender: Option<&str>) -> (Cow<'a, str>, Repair) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return said(encoding, &bytes[mark..]);
    }
    let sent = sender.and_then(|label| Encoding::for_label(label.as_bytes()));
    let declared = || declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    match sent.or_else(declared) {
        Some(encoding) if encoding != UTF_8 => said(encoding, bytes),
        _ => decode_record(bytes, None),
    }
}

fn said<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> (Cow<'a, str>, Repair) {
    let (text, is_broken) = encoding.decode_without_bom_handling(bytes);
    (text, if is_broken { Repair::Broken } else { Repair::None })
}

/// Whether bytes are UTF-8 but for some errors: in other encodings, characters that look like it are
/// rare.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut fits, mut errors) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        fits += chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count();
        errors += usize::from(!chunk.invalid().is_empty());
    }
    fits >= errors
}

/// UTF-8 in which other bytes stand for themselves.
fn mixed(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    text.into()
}

/// Tries what others have, then what the detector says of a little, then of much.
fn detected<'a>(bytes: &'a [u8], others: Option<&'static Encoding>) -> (Cow<'a, str>, Repair) {
    let guesses = SAMPLES.into_iter().map(|most| guess(bytes, most));
    for encoding in others.into_iter().chain(guesses) {
        let (text, is_broken) = encoding.decode_without_bom_handling(bytes);
        if !is_broken {
            return (text, Repair::Detected(encoding));
        }
    }
    // It has a character for every byte.
    (WINDOWS_1252.decode_without_bom_handling(bytes).0, Repair::Detected(WINDOWS_1252))
}

fn guess(bytes: &[u8], most: usize) -> &'static Encoding {
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let sample = &bytes[first.saturating_sub(1)..];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&sample[..sample.len().min(most)], sample.len() <= most);
    detector.guess(None, Utf8Detection::Deny)
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

/// Whether bytes start with the mark of UTF-16.
pub fn is_wide(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
}

/// Reads UTF-16 with a byte order mark as UTF-8 without one.
pub struct Narrowed<R> {
    wide: R,
    /// None at the end.
    decoder: Option<Decoder>,
    text: Vec<u8>,
    at: usize,
}

impl<R: BufRead> Narrowed<R> {
    /// The mark tells the order of bytes.
    pub fn new(wide: R) -> Self {
        Self { wide, decoder: Some(UTF_8.new_decoder()), text: Vec::new(), at: 0 }
    }

    /// Decodes some more.
    fn fill(&mut self) -> io::Result<()> {
        while self.at == self.text.len()
            && let Some(decoder) = &mut self.decoder
        {
            let bytes = self.wide.fill_buf()?;
            let is_last = bytes.is_empty();
            let most = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0);
            self.text.resize(most, 0);
            let (_, read, written, _) = decoder.decode_to_utf8(bytes, &mut self.text, is_last);
            self.wide.consume(read);
            self.text.truncate(written);
            self.at = 0;
            if is_last {
                self.decoder = None;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Narrowed<R> {
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
    fn wide_text_is_narrowed_however_it_arrives() {
        let text = "\u{feff}één 🦊\r\nzwei";
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
            assert!(is_wide(&wide));
            for piece in 1..5 {
                let mut narrow = String::new();
                let wide = io::BufReader::with_capacity(piece, wide.as_slice());
                Narrowed::new(wide).read_to_string(&mut narrow).unwrap();
                assert_eq!(narrow, &text[3..]);
            }
        }
    }

    #[test]
    fn marks_decide_before_anything_else() {
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
    fn encodings_from_before_are_detected() {
        for (text, encoding) in TEXTS {
            let bytes = encoding.encode(text).0;
            let expected = (Cow::Borrowed(text), Repair::Detected(encoding));
            assert_eq!(decode(&bytes), expected);
            assert_eq!(decode_page(&bytes, Some("utf-8")), expected);
            assert_eq!(of_start(&bytes), Some(encoding));
            assert_eq!(decode(text.as_bytes()), (text.into(), Repair::None));
            // Far behind what the detector is given.
            let far = [vec![b' '; 1 << 21], b"\n".to_vec(), bytes.to_vec()].concat();
            let (decoded, repair) = decode(&far);
            assert_eq!((decoded.trim(), repair), (text, Repair::Detected(encoding)));
        }
        // What a short piece looks like is less sure than what the file has around it.
        let short = encoding_rs::WINDOWS_1251.encode("кот").0;
        let in_file = decode_record(&short, Some(encoding_rs::WINDOWS_1251));
        assert_eq!(in_file, ("кот".into(), Repair::Detected(encoding_rs::WINDOWS_1251)));
    }

    #[test]
    fn bytes_that_do_not_fit_are_neither_dropped_nor_made_equal() {
        let broken = |end: &[u8]| {
            let bytes = ["Über Öl".as_bytes(), end].concat();
            let (text, repair) = decode(&bytes);
            assert_eq!(repair, Repair::Broken);
            text.into_owned()
        };
        assert_eq!(broken(b" caf\xe9"), "Über Öl café");
        assert_eq!(broken(b"\xc3"), "Über ÖlÃ");
        assert_ne!(broken(b"\xe1"), broken(b"\xe2"));
        // A sample in one encoding, and more that has none.
        let start = encoding_rs::GBK.encode(TEXTS[1].0).0.repeat(1000);
        for odd in [b"\xff\xff".as_slice(), b"\x80\x20"] {
            let bytes = [&start, odd].concat();
            let (text, repair) = decode(&bytes);
            assert!(matches!(repair, Repair::Detected(_)) && !text.contains('\u{fffd}'));
        }
    }

    #[test]
    fn pages_are_read_as_their_sender_or_they_themselves_say() {
        let koi8 = b"\xf0\xd2\xc9\xd7\xc5\xd4";
        assert_eq!(decode_page(koi8, Some("koi8-r")).0, "Привет");
        let page = [b"<meta charset='KOI8-R'>".as_slice(), koi8].concat();
        assert!(decode_page(&page, None).0.ends_with("Привет"));
        assert_eq!(decode_page(b"caf\xe9", None).0, "café");
        assert_eq!(decode_page("café".as_bytes(), Some("no-such")), ("café".into(), Repair::None));
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
