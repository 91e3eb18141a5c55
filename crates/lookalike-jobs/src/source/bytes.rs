//! How do we get at the bytes of an input, wherever it is and however it is packed?
//!
//! Knows nothing of what is inside.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use super::{Bad, charset, pack, path::path_text};

/// How much of the content is read ahead, to tell what it is.
const AHEAD: usize = 1 << 12;

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// The unpacked bytes of one input.
pub struct Bytes {
    name: String,
    start: Vec<u8>,
    packed: bool,
    reader: Box<dyn BufRead + Send>,
}

impl Bytes {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self, Bad> {
        let name = name_of(path);
        let reader = open_packed(path).map_err(|what| Bad::input(&name, what))?;
        Self::unpack(name, reader, AHEAD, None)
    }

    /// Unpacks a stream that is called `name` within `memory`, and reads `ahead` bytes of what comes
    /// out.
    pub fn unpack(
        name: String,
        mut packed: impl Read + Send + 'static,
        ahead: usize,
        memory: Option<u64>,
    ) -> Result<Self, Bad> {
        let read_failed = |error| Bad::input(&name, pack::unreadable(&error));
        let mut magic = Vec::new();
        (&mut packed).take(pack::MAGIC as u64).read_to_end(&mut magic).map_err(read_failed)?;
        let packed = Cursor::new(magic.clone()).chain(packed);
        let reader =
            pack::unpack(&magic, packed, memory).map_err(|what| Bad::input(&name, what))?;
        let bytes = Self::ahead(name, reader, ahead)?;
        Ok(Self { packed: !bytes.start.starts_with(&magic), ..bytes })
    }

    /// The same bytes, if they are text: UTF-16 with a byte order mark as UTF-8.
    pub fn into_text(self) -> Result<Self, Bad> {
        if !charset::is_wide(&self.start) {
            return Ok(self);
        }
        let ahead = self.start.len();
        let bytes = Self::ahead(self.name, charset::Narrowed::new(self.reader), ahead)?;
        Ok(Self { packed: self.packed, ..bytes })
    }

    fn ahead(
        name: String,
        mut reader: impl Read + Send + 'static,
        ahead: usize,
    ) -> Result<Self, Bad> {
        let read_failed = |error| Bad::input(&name, pack::unreadable(&error));
        let mut start = Vec::new();
        // A failure is told in its turn, behind what came before it.
        let failed = match (&mut reader).take(ahead as u64).read_to_end(&mut start) {
            Err(error) if start.is_empty() => return Err(read_failed(error)),
            read => Failure(read.err()),
        };
        let reader = Cursor::new(start.clone()).chain(failed).chain(reader);
        let reader = Box::new(BufReader::with_capacity(BUFFER, reader));
        Ok(Self { name, start, packed: false, reader })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes; all of them if there are few.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Whether the file holds something else than what comes out.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Everything, from the first byte on.
    pub fn into_reader(self) -> Box<dyn BufRead + Send> {
        self.reader
    }
}

/// Fails once, if there is a failure; has no bytes.
struct Failure(Option<io::Error>);

impl Read for Failure {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// What an input is called in ids and messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path_text(path) }
}

/// The beginning of standard input, which is still there for whoever reads it.
pub fn stdin_ahead() -> Result<Bytes, Bad> {
    let name = name_of(Path::new("-"));
    let ahead = io::stdin().lock().fill_buf().map(<[u8]>::to_vec);
    let ahead = ahead.map_err(|error| Bad::input(&name, pack::unreadable(&error)))?;
    Bytes::unpack(name, Cursor::new(ahead), AHEAD, None)
}

/// Whether this is standard input, a pipe or a device: read once, and never looked into before.
pub fn is_stream(path: &Path) -> bool {
    let is_other = |data: Metadata| !data.is_file() && !data.is_dir();
    path == Path::new("-") || path.metadata().is_ok_and(is_other)
}

/// Refuses a stream that is given more than once.
pub fn check_streams(paths: &[PathBuf]) -> Result<()> {
    let is_twice = |path: &Path| paths.iter().filter(|other| *other == path).count() > 1;
    match paths.iter().find(|path| is_stream(path) && is_twice(path)) {
        Some(path) if path == Path::new("-") => {
            bail!("-: standard input can be read once only; give - once")
        }
        Some(path) => bail!("{}: a pipe can be read once only; give it once", path_text(path)),
        None => Ok(()),
    }
}

/// Opens a file, or says why that cannot be done.
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

/// Opens a file or a stream.
pub fn open_packed(path: &Path) -> Result<Box<dyn Read + Send>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    open_file(path).map(|file| Box::new(file) as _)
}
