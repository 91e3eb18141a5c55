//! Detects the format of an input by its extension or its first bytes.

use std::path::Path;

use super::{charset, compression, parquet, warc};
use crate::args::Format;

/// The supported formats, for messages.
const POSSIBLE: &str = "lookalike reads text and HTML files, .jsonl .ndjson .csv .tsv .parquet .warc, plain lines \
     (--lines), each also compressed with gzip, zstd, bzip2 or xz";

/// The first bytes of files that are not plain text.
const FOREIGN: [(&[u8], &str); 6] = [
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
];

impl Format {
    /// The format for a file's extension, ignoring a compression extension after it.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (_, extension) = compression::uncompressed_name(&name).rsplit_once('.')?;
        match extension {
            "jsonl" | "ndjson" | "json" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "parquet" | "pq" => Some(Self::Parquet),
            "warc" | "wet" => Some(Self::Warc),
            _ => None,
        }
    }

    /// The format of content that starts with these bytes; text if no other format fits.
    pub fn of_content(start: &[u8], is_stdin: bool) -> Self {
        if start.starts_with(parquet::MAGIC) {
            Self::Parquet
        } else if start.starts_with(warc::MAGIC) {
            Self::Warc
        } else if is_stdin && start.trim_ascii_start().starts_with(b"{") {
            Self::Jsonl
        } else {
            Self::Text
        }
    }

    /// Its name in messages.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV rows",
            Self::Tsv => "TSV rows",
            Self::Parquet => "Parquet rows",
            Self::Warc => "WARC records",
            Self::Lines => "lines",
            Self::Npy => "NumPy rows",
            Self::Text => "text files",
        }
    }

    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => ".jsonl",
            Self::Csv => ".csv",
            Self::Tsv => ".tsv",
            Self::Parquet => ".parquet",
            Self::Warc => ".warc",
            Self::Lines | Self::Text => ".txt",
            Self::Npy => ".npy",
        }
    }
}

/// Why content that starts with these bytes is not text; none if it may be.
pub fn not_text(start: &[u8]) -> Option<String> {
    // UTF-16 text contains zero bytes.
    let foreign = FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)).map(|found| found.1);
    let zero = (!charset::is_utf16(start) && start.contains(&0))
        .then_some("not text: it contains zero bytes");
    foreign.or(zero).map(|what| format!("is {what}; {POSSIBLE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_decides_the_format_of_compressed_files_too() {
        for (name, format) in [
            ("a/b.jsonl", Some(Format::Jsonl)),
            ("B.NDJSON.GZ", Some(Format::Jsonl)),
            ("c.csv.zst", Some(Format::Csv)),
            ("d.tsv.xz", Some(Format::Tsv)),
            ("e.parquet", Some(Format::Parquet)),
            ("f.warc.wet.gz", Some(Format::Warc)),
            ("g.txt.bz2", None),
            ("h", None),
            (".jsonl", Some(Format::Jsonl)),
        ] {
            assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn recognises_what_is_not_text() {
        for start in [b"PK\x03\x04".as_slice(), b"%PDF-1.4", b"a\0b"] {
            assert!(not_text(start).is_some());
        }
        for start in [b"".as_slice(), b"text", b"\xff\xfet\0", "é".as_bytes(), b"caf\xe9"] {
            assert_eq!(not_text(start), None);
        }
    }
}
