//! How is a path written as text, so that no two are written alike and each can be read back?
//!
//! A path is bytes, an id is text. Paths that are UTF-8 are written as they are. In all others a byte
//! that is not UTF-8 is written `\xNN` and a backslash twice; so are paths that look as if they had
//! been written so.

use std::path::{Path, PathBuf};

/// A path as text.
pub fn path_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !looks_escaped(text) => text.to_owned(),
        _ => escaped(path),
    }
}

/// The path that was written as this text.
pub fn path_of_text(text: &str) -> PathBuf {
    if looks_escaped(text) { unescaped(text) } else { PathBuf::from(text) }
}

#[cfg(unix)]
fn looks_escaped(text: &str) -> bool {
    text.contains("\\x")
}

#[cfg(unix)]
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(unix)]
fn unescaped(text: &str) -> PathBuf {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        (rest, _) = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => (after, bytes.push(b'\\')),
            (b'\\', [b'x', one, two, after @ ..]) if hex(&[*one, *two]).is_some() => {
                (after, bytes.extend(hex(&[*one, *two])))
            }
            _ => (after, bytes.push(*first)),
        };
    }
    OsString::from_vec(bytes).into()
}

// Elsewhere backslashes part folders, and names are text but for half characters.
#[cfg(not(unix))]
fn looks_escaped(_: &str) -> bool {
    false
}

#[cfg(not(unix))]
fn escaped(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(not(unix))]
fn unescaped(text: &str) -> PathBuf {
    text.into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        path_text(Path::new(OsStr::from_bytes(bytes)))
    }

    #[test]
    fn usual_names_stay_and_bytes_that_are_no_text_are_shown() {
        assert_eq!(text("Bilder/Übung 1\n.jpg".as_bytes()), "Bilder/Übung 1\n.jpg");
        assert_eq!(text(b"a\\b"), "a\\b");
        assert_eq!(text(b"caf\xe9.txt"), "caf\\xe9.txt");
        assert_eq!(text(b"caf\\xe9.txt"), "caf\\\\xe9.txt");
        assert_eq!(text(b"\\\xff"), "\\\\\\xff");
    }

    proptest! {
        #[test]
        fn every_path_is_read_back(
            parts in prop::collection::vec(
                prop::sample::select(vec![&b"\\"[..], b"x", b"e9", b"\xff", b"\xc3\xa9"]),
                0..12,
            )
        ) {
            let bytes = parts.concat();
            let path = Path::new(OsStr::from_bytes(&bytes));
            prop_assert_eq!(path_of_text(&path_text(path)), path);
        }
    }
}
