//! How do we get at the bytes of an input, wherever it is and however it is packed?
//!
//! Compression is told by the first bytes, not by the name. Knows nothing of what is inside.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

use super::Bad;

/// How much of the content is read ahead, to tell what it is.
const AHEAD: usize = 1 << 12;

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// Packings we can name but not open; the remedy is the tool that opens them.
const FOREIGN: [(&[u8], &str, &str); 4] = [
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfe", "an old zstd", "zstd -dc"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
];

/// The unpacked bytes of one input.
pub struct Bytes {
    name: String,
    start: Vec<u8>,
    reader: Box<dyn BufRead + Send>,
}

impl Bytes {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self, Bad> {
        let name = name_of(path);
        let packed = open_packed(path).map_err(|what| Bad::input(&name, what))?;
        let read_failed = |error| Bad::input(&name, unreadable(&error));
        let (packing, packed) = look_ahead(packed, 6).map_err(read_failed)?;
        let mut reader = unpack(&packing, packed, path).map_err(|what| Bad::input(&name, what))?;
        let start = read_up_to(&mut reader, AHEAD).map_err(read_failed)?;
        let reader = BufReader::with_capacity(BUFFER, Cursor::new(start.clone()).chain(reader));
        Ok(Self { name, start, reader: Box::new(reader) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes; all of them if there are few.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Everything, from the first byte on.
    pub fn into_reader(self) -> Box<dyn BufRead + Send> {
        self.reader
    }
}

/// What an input is called in ids and messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// What to say about a failed read.
pub fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; the file may be damaged or cut short")
}

fn open_packed(path: &Path) -> Result<Box<dyn Read + Send>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "no such file; check the name".to_owned(),
        _ => format!("cannot be opened: {error}"),
    })?;
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err("is a folder; name the files in it".to_owned());
    }
    Ok(Box::new(file))
}

fn unpack(
    packing: &[u8],
    packed: impl Read + Send + 'static,
    path: &Path,
) -> Result<Box<dyn Read + Send>, String> {
    if packing.starts_with(b"\x1f\x8b") {
        let buffered = BufReader::with_capacity(BUFFER, packed);
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(buffered)));
    }
    if packing.starts_with(b"\x28\xb5\x2f\xfd") {
        let mut decoder = zstd::Decoder::new(packed).map_err(|error| unreadable(&error))?;
        // Files made with `zstd --long=31` need the largest window.
        decoder.window_log_max(31).map_err(|error| unreadable(&error))?;
        return Ok(Box::new(decoder));
    }
    match FOREIGN.iter().find(|(magic, ..)| packing.starts_with(magic)) {
        Some((_, what, tool)) => Err(format!(
            "is packed as {what}, which is not read yet; use: {tool} {} | lookalike ... -",
            path.display()
        )),
        None => Ok(Box::new(packed)),
    }
}

/// The first `count` bytes, and a reader that still starts with them.
fn look_ahead(mut reader: impl Read, count: usize) -> io::Result<(Vec<u8>, impl Read)> {
    let start = read_up_to(&mut reader, count)?;
    Ok((start.clone(), Cursor::new(start).chain(reader)))
}

fn read_up_to(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(count as u64).read_to_end(&mut start)?;
    Ok(start)
}
