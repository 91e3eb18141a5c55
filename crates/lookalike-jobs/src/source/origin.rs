//! Where does an input come from, and how is it read a second time?
//!
//! A file is opened again. Standard input or a pipe cannot be, so what is read from it is written to
//! a nameless temporary file beside, if it will be needed again. Rows that another program holds are
//! there all the time.

use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use arrow_array::RecordBatch;

use super::{
    Bad,
    bytes::{Bytes, is_stream, name_of, open_file, open_packed},
};

/// How much of an input is read ahead, to tell what its rows look like.
const AHEAD: usize = 1 << 20;

pub struct Origin {
    pub place: Place,
    /// The most memory that unpacking may take.
    memory: Option<u64>,
}

pub enum Place {
    File(PathBuf),
    Stream(Stream),
    /// Bytes, in memory.
    Bytes(bytes::Bytes),
    /// Rows of columns, in memory.
    Rows(Vec<RecordBatch>),
}

/// Standard input or a pipe, opened already, and what was read from it so far.
pub struct Stream {
    fresh: Mutex<Option<Bytes>>,
    spool: Option<File>,
}

impl Origin {
    /// A file, or what [`is_stream`] is. `again`: it will be read a second time, and if it is a stream
    /// is kept in the folder `temp` for it.
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
        let failed = |error: io::Error| Bad::input(&name, not_kept(&error));
        let spool = if again { Some(nameless(temp).map_err(failed)?) } else { None };
        let copy = spool.as_ref().map(File::try_clone).transpose().map_err(failed)?;
        let reader = open_packed(path).map_err(|what| Bad::input(&name, what))?;
        let fresh = Bytes::unpack(name, Tee { reader, copy }, AHEAD, memory)?;
        let fresh = Mutex::new(Some(fresh.into_text()?));
        Ok(Self { place: Place::Stream(Stream { fresh, spool }), memory })
    }

    pub fn file(path: &Path, memory: Option<u64>) -> Self {
        Self { place: Place::File(path.to_owned()), memory }
    }

    pub fn rows(batches: Vec<RecordBatch>) -> Self {
        Self { place: Place::Rows(batches), memory: None }
    }

    pub fn bytes(bytes: &[u8]) -> Self {
        Self { place: Place::Bytes(bytes::Bytes::copy_from_slice(bytes)), memory: None }
    }

    /// The first bytes of what is inside, as text if it is text.
    pub fn start(&self, name: &str) -> Result<Vec<u8>, Bad> {
        match &self.place {
            Place::File(_) | Place::Bytes(_) => Ok(self.open_text(name)?.start().to_vec()),
            Place::Stream(stream) => {
                let fresh = stream.fresh.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(fresh.as_ref().map_or_else(Vec::new, |bytes| bytes.start().to_vec()))
            }
            Place::Rows(_) => Ok(Vec::new()),
        }
    }

    /// Everything that is inside, from its beginning.
    pub fn open(&self, name: &str) -> Result<Bytes, Bad> {
        match &self.place {
            Place::File(path) => {
                let file = open_file(path).map_err(|what| Bad::input(name, what))?;
                Bytes::unpack(name.to_owned(), file, AHEAD, self.memory)
            }
            Place::Stream(stream) => stream.open(name, self.memory),
            Place::Bytes(bytes) => {
                Bytes::unpack(name.to_owned(), Cursor::new(bytes.clone()), AHEAD, self.memory)
            }
            Place::Rows(_) => Err(Bad::input(name, "has rows, but no bytes")),
        }
    }

    /// The same as text: UTF-16 with a byte order mark as UTF-8.
    pub fn open_text(&self, name: &str) -> Result<Bytes, Bad> {
        self.open(name)?.into_text()
    }

    /// A file that can be read in any order: the input itself, or a nameless copy of what is inside, in
    /// the folder `temp`.
    pub fn seekable(&self, name: &str, temp: Option<&Path>) -> Result<File, Bad> {
        let bytes = self.open(name)?;
        if let (Place::File(path), false) = (&self.place, bytes.is_packed()) {
            return open_file(path).map_err(|what| Bad::input(name, what));
        }
        let copied = || -> io::Result<File> {
            let mut file = nameless(temp)?;
            io::copy(&mut bytes.into_reader(), &mut file)?;
            Ok(file)
        };
        copied().map_err(|error| Bad::input(name, format!("cannot be unpacked: {error}")))
    }
}

impl Stream {
    fn open(&self, name: &str, memory: Option<u64>) -> Result<Bytes, Bad> {
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bytes) = fresh {
            return Ok(bytes);
        }
        let failed = |error: io::Error| Bad::input(name, format!("cannot be read again: {error}"));
        let spool =
            self.spool.as_ref().ok_or_else(|| failed(io::Error::other("it was not kept")))?;
        let mut copy = spool.try_clone().map_err(failed)?;
        copy.seek(SeekFrom::Start(0)).map_err(failed)?;
        Bytes::unpack(name.to_owned(), copy, AHEAD, memory)
    }
}

/// A file that vanishes when it is closed, in this folder or the system's.
fn nameless(folder: Option<&Path>) -> io::Result<File> {
    folder.map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

fn not_kept(error: &io::Error) -> String {
    format!("cannot be kept for a second reading: {error}; --temp names another folder for it")
}

/// Hands on what it reads, and writes it down.
struct Tee<R> {
    reader: R,
    copy: Option<File>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..count]).map_err(|error| io::Error::other(not_kept(&error)))?;
        }
        Ok(count)
    }
}
