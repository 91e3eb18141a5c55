//! Writes paths as text that is unique and can be parsed back.
//!
//! A path is bytes, an id is text. UTF-8 paths are written unchanged. In other paths, a byte that is
//! not UTF-8 is written `\xNN` and a backslash is doubled. UTF-8 paths that look escaped are escaped
//! too.

use std::path::{Path, PathBuf};

/// A path as text.
pub fn path_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !looks_escaped(text) => text.to_owned(),
        _ => escaped(path),
    }
}

/// Extensions of files that users name on a command line.
const EXTENSIONS: [&str; 52] = [
    "txt", "text", "md", "rst", "log", "html", "htm", "xhtml", "xml", "json", "jsonl", "ndjson",
    "csv", "tsv", "parquet", "warc", "wet", "npy", "pdf", "doc", "docx", "odt", "tex", "gz", "zst",
    "bz2", "xz", "jpg", "jpeg", "png", "gif", "webp", "bmp", "tif", "tiff", "heic", "avif", "jxl",
    "cr2", "cr3", "nef", "arw", "dng", "raf", "orf", "rw2", "py", "rs", "c", "cpp", "js", "java",
];

/// Whether an argument is more likely a file name than a text: one word with a file extension, or a
/// path into a folder.
pub fn looks_like_path(text: &str) -> bool {
    if text.contains(char::is_whitespace) || text.contains("://") {
        return false;
    }
    let path = Path::new(text);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_known = EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    is_known
        || ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start))
        || folder.is_some_and(Path::is_dir)
}

/// The inverse of [`path_text`].
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

// On Windows, backslashes separate folders, and names are text except for unpaired surrogates.
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
    fn escapes_only_bytes_that_are_not_utf8() {
        assert_eq!(text("Bilder/Übung 1\n.jpg".as_bytes()), "Bilder/Übung 1\n.jpg");
        assert_eq!(text(b"a\\b"), "a\\b");
        assert_eq!(text(b"caf\xe9.txt"), "caf\\xe9.txt");
        assert_eq!(text(b"caf\\xe9.txt"), "caf\\\\xe9.txt");
        assert_eq!(text(b"\\\xff"), "\\\\\\xff");
    }

    proptest! {
        #[test]
        fn parses_back_every_path(
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
