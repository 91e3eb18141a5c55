//! The pages of a TIFF file, and a reader for each.
//!
//! A TIFF is a chain of directories, one per page. Decoders read the first one. [`Page`] presents the
//! file with another page as its first.

use std::io::{self, Read, Seek, SeekFrom};

use super::{DecodeError, ImageFormat};

/// The maximum number of pages: a malicious chain can be as long as the file.
const MAX_PAGES: usize = 1 << 16;

const SUBFILE: u16 = 254;
const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const SAMPLES: u16 = 277;

/// The description of a page in its directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub offset: u64,
    pub width: u32,
    pub height: u32,
    /// The size of a pixel in whole bytes; more if in doubt.
    pub bytes: u64,
    /// Whether it is a smaller copy or a mask of another page.
    pub is_beside: bool,
}

/// The directories of a file, without smaller copies and masks of other pages.
pub(super) fn pages(file: &mut (impl Read + Seek)) -> Result<Vec<Directory>, DecodeError> {
    let mut all = directories(file)?;
    let first = all.first().map(|page| page.offset);
    // A viewer shows the first page, whatever it is.
    all.retain(|page| !page.is_beside || Some(page.offset) == first);
    Ok(all)
}

fn directories(file: &mut (impl Read + Seek)) -> Result<Vec<Directory>, DecodeError> {
    let mut header = Header::read(file).map_err(|_| cut_off())?;
    let mut pages: Vec<Directory> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    while header.first != 0 {
        if !seen.insert(header.first) || pages.len() == MAX_PAGES {
            return Err(broken("its pages have no end"));
        }
        let (page, next) = header.directory(file).map_err(|_| cut_off())?;
        pages.push(page);
        header.first = next;
    }
    if pages.is_empty() { Err(broken("it has no page")) } else { Ok(pages) }
}

fn cut_off() -> DecodeError {
    DecodeError::CutOff { format: ImageFormat::Tiff }
}

fn broken(what: &str) -> DecodeError {
    DecodeError::Broken { format: ImageFormat::Tiff, what: what.to_owned() }
}

/// The byte order, and where the first directory is.
#[derive(Clone, Copy)]
struct Header {
    is_little: bool,
    is_big: bool,
    first: u64,
}

impl Header {
    fn read(file: &mut (impl Read + Seek)) -> io::Result<Self> {
        file.seek(SeekFrom::Start(0))?;
        let start: [u8; 4] = bytes(file)?;
        let is_little = start[0] == b'I';
        let is_big = start[2..].contains(&43);
        let mut header = Self { is_little, is_big, first: 0 };
        if is_big {
            let _: [u8; 4] = bytes(file)?;
        }
        header.first = header.offset(file)?;
        Ok(header)
    }

    /// The directory at an offset, and the offset of the next one.
    fn directory(&self, file: &mut (impl Read + Seek)) -> io::Result<(Directory, u64)> {
        file.seek(SeekFrom::Start(self.first))?;
        let count = if self.is_big { self.offset(file)? } else { self.number(&bytes::<2>(file)?) };
        let size = if self.is_big { 20 } else { 12 };
        // Names of entries have 16 bits, so there are no more entries than that.
        let mut entries = vec![0; size * count.min(1 << 16) as usize];
        file.read_exact(&mut entries)?;
        let next = self.offset(file)?;
        let mut page = Directory { offset: self.first, ..Directory::default() };
        let (mut bits, mut samples) = (1, 1);
        for entry in entries.chunks_exact(size) {
            let (tag, value) = (self.number(&entry[..2]) as u16, self.value(entry));
            match tag {
                SUBFILE => page.is_beside = value & 0b101 != 0,
                WIDTH => page.width = value as u32,
                HEIGHT => page.height = value as u32,
                BITS if value <= 64 => bits = value,
                // Several numbers are stored elsewhere; this is their offset.
                BITS => {
                    file.seek(SeekFrom::Start(value))?;
                    bits = self.number(&bytes::<2>(file)?).min(64);
                }
                SAMPLES => samples = value.min(1 << 16),
                _ => {}
            }
        }
        page.bytes = bits.div_ceil(8) * samples;
        Ok((page, next))
    }

    /// The first number of an entry, if it is stored in the entry itself.
    fn value(&self, entry: &[u8]) -> u64 {
        let kind = self.number(&entry[2..4]);
        let at = if self.is_big { 12 } else { 8 };
        let size = match kind {
            1 => 1,
            3 => 2,
            16..=18 if self.is_big => 8,
            _ => 4,
        };
        self.number(&entry[at..at + size])
    }

    fn offset(&self, file: &mut impl Read) -> io::Result<u64> {
        Ok(if self.is_big {
            self.number(&bytes::<8>(file)?)
        } else {
            self.number(&bytes::<4>(file)?)
        })
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        if self.is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
    }
}

fn bytes<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A file that has the page at this offset as its first.
#[derive(Clone, Debug)]
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    head: Vec<u8>,
    at: u64,
}

impl<'a> Page<'a> {
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        let is_big = bytes.get(2..4).is_some_and(|two| two.contains(&43));
        let (from, size) = if is_big { (8, 8) } else { (4, 4) };
        let mut head = bytes.get(..from + size).unwrap_or(bytes).to_vec();
        let little = offset.to_le_bytes();
        for (at, byte) in head.iter_mut().skip(from).enumerate() {
            *byte = if bytes[0] == b'I' { little[at] } else { little[size - 1 - at] };
        }
        Self { bytes, head, at: 0 }
    }

    fn rest(&self) -> &[u8] {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        match self.head.get(at..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => self.bytes.get(at..).unwrap_or(&[]),
        }
    }
}

impl io::BufRead for Page<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest())
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount as u64;
    }
}

impl Read for Page<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.rest().read(target)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Page<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.bytes.len() as u64;
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
