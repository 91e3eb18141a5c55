//! Where an input comes from, and how it is read a second time.
//!
//! A file is opened again. Standard input and pipes can be read only once, so they are copied to an
//! unnamed temporary file if they will be needed again. Rows and bytes in memory stay available.

use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use arrow_array::RecordBatch;

use super::{
    Bad,
    bytes::{Bytes, is_stream, name_of, open_file, open_raw},
};

/// How much of an input is read ahead to detect its columns.
const AHEAD: usize = 1 << 20;

pub struct Origin {
    pub source: Source,
    /// The memory limit for decompression.
    memory: Option<u64>,
}

pub enum Source {
    File(PathBuf),
    Stream(Stream),
    /// Bytes in memory.
    Bytes(bytes::Bytes),
    /// Rows in memory.
    Rows(Vec<RecordBatch>),
}

/// Standard input or a pipe.
pub struct Stream {
    /// The open stream, until it is read.
    unread: Mutex<Option<Bytes>>,
    /// A copy of everything read so far.
    spool: Option<File>,
}

impl Origin {
    /// A file or stream. With `again`, a stream is copied to the folder `temp` for a second reading.
    pub fn new(
        path: &Path,
        again: bool,
        temp: Option<&Path>,
        memory: Option<u64>,
    ) -> Result<Self, Bad> {
        if !is_stream(path) {
            return Ok(Self::file(path, memory));
        }
        let name = name_of(path);
        let failed = |error: io::Error| Bad::input(&name, spool_error(&error));
        let spool = if again { Some(unnamed_file(temp).map_err(failed)?) } else { None };
        let copy = spool.as_ref().map(File::try_clone).transpose().map_err(failed)?;
        let reader = open_raw(path).map_err(|what| Bad::input(&name, what))?;
        let bytes = Bytes::decompress(name, Tee { reader, copy }, AHEAD, memory)?;
        let unread = Mutex::new(Some(bytes.into_text()?));
        Ok(Self { source: Source::Stream(Stream { unread, spool }), memory })
    }

    pub fn file(path: &Path, memory: Option<u64>) -> Self {
        Self { source: Source::File(path.to_owned()), memory }
    }

    pub fn rows(batches: Vec<RecordBatch>) -> Self {
        Self { source: Source::Rows(batches), memory: None }
    }

    pub fn bytes(bytes: &[u8]) -> Self {
        Self { source: Source::Bytes(bytes::Bytes::copy_from_slice(bytes)), memory: None }
    }

    /// The first decompressed bytes. UTF-16 is converted to UTF-8.
    pub fn start(&self, name: &str) -> Result<Vec<u8>, Bad> {
        match &self.source {
            Source::File(_) | Source::Bytes(_) => Ok(self.open_text(name)?.start().to_vec()),
            Source::Stream(stream) => {
                let unread = stream.unread.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(unread.as_ref().map_or_else(Vec::new, |bytes| bytes.start().to_vec()))
            }
            Source::Rows(_) => Ok(Vec::new()),
        }
    }

    /// All decompressed bytes.
    pub fn open(&self, name: &str) -> Result<Bytes, Bad> {
        match &self.source {
            Source::File(path) => {
                let file = open_file(path).map_err(|what| Bad::input(name, what))?;
                Bytes::decompress(name.to_owned(), file, AHEAD, self.memory)
            }
            Source::Stream(stream) => stream.open(name, self.memory),
            Source::Bytes(bytes) => {
                Bytes::decompress(name.to_owned(), Cursor::new(bytes.clone()), AHEAD, self.memory)
            }
            Source::Rows(_) => Err(Bad::input(name, "has rows, but no bytes")),
        }
    }

    /// All decompressed bytes. UTF-16 with a byte order mark is converted to UTF-8.
    pub fn open_text(&self, name: &str) -> Result<Bytes, Bad> {
        self.open(name)?.into_text()
    }

    /// A file that can be read in any order: the input itself, or a decompressed unnamed copy in the
    /// folder `temp`.
    pub fn seekable(&self, name: &str, temp: Option<&Path>) -> Result<File, Bad> {
        let bytes = self.open(name)?;
        if let (Source::File(path), false) = (&self.source, bytes.is_compressed()) {
            return open_file(path).map_err(|what| Bad::input(name, what));
        }
        let copied = || -> io::Result<File> {
            let mut file = unnamed_file(temp)?;
            io::copy(&mut bytes.into_reader(), &mut file)?;
            Ok(file)
        };
        copied().map_err(|error| Bad::input(name, format!("cannot be decompressed: {error}")))
    }
}

impl Stream {
    fn open(&self, name: &str, memory: Option<u64>) -> Result<Bytes, Bad> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bytes) = unread {
            return Ok(bytes);
        }
        let failed = |error: io::Error| Bad::input(name, format!("cannot be read again: {error}"));
        let spool =
            self.spool.as_ref().ok_or_else(|| failed(io::Error::other("it was not copied")))?;
        let mut copy = spool.try_clone().map_err(failed)?;
        copy.seek(SeekFrom::Start(0)).map_err(failed)?;
        Bytes::decompress(name.to_owned(), copy, AHEAD, memory)
    }
}

/// A file without a name in this folder or the system's; it disappears when closed.
fn unnamed_file(folder: Option<&Path>) -> io::Result<File> {
    folder.map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

fn spool_error(error: &io::Error) -> String {
    format!("cannot be copied for a second reading: {error}; choose another folder with --temp")
}

/// Copies everything that is read to a file.
struct Tee<R> {
    reader: R,
    copy: Option<File>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..count])
                .map_err(|error| io::Error::other(spool_error(&error)))?;
        }
        Ok(count)
    }
}
