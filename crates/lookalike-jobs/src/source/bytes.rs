//! The decompressed bytes of a file or stream, whatever they contain.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use super::{Bad, charset, compression, path::path_text};

/// How much of the content is read ahead to detect the format.
const AHEAD: usize = 1 << 12;

/// The size of one read.
const BUFFER: usize = 1 << 18;

/// The decompressed bytes of one input.
pub struct Bytes {
    name: String,
    start: Vec<u8>,
    compressed: bool,
    reader: Box<dyn BufRead + Send>,
}

impl Bytes {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self, Bad> {
        let name = name_of(path);
        let reader = open_raw(path).map_err(|what| Bad::input(&name, what))?;
        Self::decompress(name, reader, AHEAD, None)
    }

    /// Decompresses a stream within `memory`, and reads the first `ahead` bytes. `name` is for
    /// messages.
    pub fn decompress(
        name: String,
        mut compressed: impl Read + Send + 'static,
        ahead: usize,
        memory: Option<u64>,
    ) -> Result<Self, Bad> {
        let read_failed = |error| Bad::input(&name, compression::read_error(&error));
        let mut magic = Vec::new();
        (&mut compressed)
            .take(compression::MAGIC as u64)
            .read_to_end(&mut magic)
            .map_err(read_failed)?;
        let compressed = Cursor::new(magic.clone()).chain(compressed);
        let reader = compression::decompress(&magic, compressed, memory)
            .map_err(|what| Bad::input(&name, what))?;
        let bytes = Self::ahead(name, reader, ahead)?;
        Ok(Self { compressed: !bytes.start.starts_with(&magic), ..bytes })
    }

    /// Converts UTF-16 with a byte order mark to UTF-8. Other bytes stay the same.
    pub fn into_text(self) -> Result<Self, Bad> {
        if !charset::is_utf16(&self.start) {
            return Ok(self);
        }
        let ahead = self.start.len();
        let bytes = Self::ahead(self.name, charset::Utf16Reader::new(self.reader), ahead)?;
        Ok(Self { compressed: self.compressed, ..bytes })
    }

    fn ahead(
        name: String,
        mut reader: impl Read + Send + 'static,
        ahead: usize,
    ) -> Result<Self, Bad> {
        let read_failed = |error| Bad::input(&name, compression::read_error(&error));
        let mut start = Vec::new();
        // Readers get all bytes before the failure first, then the failure.
        let failed = match (&mut reader).take(ahead as u64).read_to_end(&mut start) {
            Err(error) if start.is_empty() => return Err(read_failed(error)),
            read => Failure(read.err()),
        };
        let reader = Cursor::new(start.clone()).chain(failed).chain(reader);
        let reader = Box::new(BufReader::with_capacity(BUFFER, reader));
        Ok(Self { name, start, compressed: false, reader })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes, or all of them if there are few.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Whether the file was compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// All bytes, from the first.
    pub fn into_reader(self) -> Box<dyn BufRead + Send> {
        self.reader
    }
}

/// A reader without bytes that returns its error once, if it has one.
struct Failure(Option<io::Error>);

impl Read for Failure {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The name of an input in ids and messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path_text(path) }
}

/// The beginning of standard input. It stays in the buffer for the next reader.
pub fn stdin_ahead() -> Result<Bytes, Bad> {
    let name = name_of(Path::new("-"));
    let ahead = io::stdin().lock().fill_buf().map(<[u8]>::to_vec);
    let ahead = ahead.map_err(|error| Bad::input(&name, compression::read_error(&error)))?;
    Bytes::decompress(name, Cursor::new(ahead), AHEAD, None)
}

/// Whether this is standard input, a pipe or a device, which can be read only once.
pub fn is_stream(path: &Path) -> bool {
    let is_other = |data: Metadata| !data.is_file() && !data.is_dir();
    path == Path::new("-") || path.metadata().is_ok_and(is_other)
}

/// Refuses a stream that is named more than once.
pub fn check_streams(paths: &[PathBuf]) -> Result<()> {
    let is_twice = |path: &Path| paths.iter().filter(|other| *other == path).count() > 1;
    match paths.iter().find(|path| is_stream(path) && is_twice(path)) {
        Some(path) if path == Path::new("-") => {
            bail!("-: standard input can be read only once; give - once")
        }
        Some(path) => bail!("{}: a pipe can be read only once; give it once", path_text(path)),
        None => Ok(()),
    }
}

/// Opens a file, or returns a message why it cannot be opened.
pub fn open_file(path: &Path) -> Result<File, String> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "no such file; check the name".to_owned(),
        _ => format!("cannot be opened: {error}"),
    })?;
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err("is a folder; name the files in it".to_owned());
    }
    Ok(file)
}

/// Opens a file or stream without decompressing it.
pub fn open_raw(path: &Path) -> Result<Box<dyn Read + Send>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    open_file(path).map(|file| Box::new(file) as _)
}
