//! Index files.
//!
//! A file has a header (kind, version, width, number of items), a list of sections with checksums, and the
//! sections. All numbers are little-endian, and sections start at multiples of 64 bytes, so a mapped file is used
//! directly. `docs/format.md` specifies it for people. Nothing here knows what sections mean.

use std::{
    fmt,
    io::{self, Write},
    path::Path,
};

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::IndexError;

/// The first bytes of every index file.
const MAGIC: [u8; 8] = *b"LOOKALIK";

/// The format written and read here.
pub(crate) const VERSION: u32 = 1;

/// The sizes of the header and of one entry of the list of sections.
const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: usize = 32;

/// Sections start at multiples of this: a cache line, and more than any number's alignment.
pub(crate) const ALIGNMENT: u64 = 64;

/// The kind of index in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Static = 1,
    Mutable = 2,
    /// The ids of the items of a collection's run, whose index is another file.
    Names = 3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Mutable => "mutable",
            Self::Names => "collection's",
        }
    }
}

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Plan,
    Fingerprints,
    Directory(u32),
    Checks(u32),
    Ids(u32),
    Live,
    Owners(u32),
    Sequences,
    NameBases,
    NameEnds,
    Names,
    Tags,
    Places,
    EqualKeys,
    EqualItems,
    SetOrder,
    SetWeights,
    SetLengths,
    SetBitmaps,
    SetKeys,
    SetKeyOwners,
    VectorCodes,
    VectorBounds,
}

impl Content {
    /// The two numbers that identify it in the file.
    fn code(self) -> [u32; 2] {
        match self {
            Self::Plan => [1, 0],
            Self::Fingerprints => [2, 0],
            Self::Directory(table) => [3, table],
            Self::Checks(table) => [4, table],
            Self::Ids(table) => [5, table],
            Self::Live => [6, 0],
            Self::Owners(table) => [7, table],
            Self::Sequences => [8, 0],
            Self::NameBases => [9, 0],
            Self::NameEnds => [10, 0],
            Self::Names => [11, 0],
            Self::Tags => [12, 0],
            Self::Places => [13, 0],
            Self::EqualKeys => [14, 0],
            Self::EqualItems => [15, 0],
            Self::SetOrder => [16, 0],
            Self::SetWeights => [17, 0],
            Self::SetLengths => [18, 0],
            Self::SetBitmaps => [19, 0],
            Self::SetKeys => [20, 0],
            Self::SetKeyOwners => [21, 0],
            Self::VectorCodes => [22, 0],
            Self::VectorBounds => [23, 0],
        }
    }

    fn from_code(code: [u32; 2]) -> Option<Self> {
        Some(match code {
            [1, 0] => Self::Plan,
            [2, 0] => Self::Fingerprints,
            [3, table] => Self::Directory(table),
            [4, table] => Self::Checks(table),
            [5, table] => Self::Ids(table),
            [6, 0] => Self::Live,
            [7, table] => Self::Owners(table),
            [8, 0] => Self::Sequences,
            [9, 0] => Self::NameBases,
            [10, 0] => Self::NameEnds,
            [11, 0] => Self::Names,
            [12, 0] => Self::Tags,
            [13, 0] => Self::Places,
            [14, 0] => Self::EqualKeys,
            [15, 0] => Self::EqualItems,
            [16, 0] => Self::SetOrder,
            [17, 0] => Self::SetWeights,
            [18, 0] => Self::SetLengths,
            [19, 0] => Self::SetBitmaps,
            [20, 0] => Self::SetKeys,
            [21, 0] => Self::SetKeyOwners,
            [22, 0] => Self::VectorCodes,
            [23, 0] => Self::VectorBounds,
            _ => return None,
        })
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => write!(f, "the plan"),
            Self::Fingerprints => write!(f, "the fingerprints"),
            Self::Directory(table) => write!(f, "table {table} (directory)"),
            Self::Checks(table) => write!(f, "table {table} (checks)"),
            Self::Ids(table) => write!(f, "table {table} (ids)"),
            Self::Live => write!(f, "the list of live items"),
            Self::Owners(_) => write!(f, "the items of fingerprints"),
            Self::Sequences => write!(f, "the sequence numbers"),
            Self::NameBases | Self::NameEnds => write!(f, "the ends of ids"),
            Self::Names => write!(f, "the ids"),
            Self::Tags | Self::Places => write!(f, "the table of ids"),
            Self::EqualKeys | Self::EqualItems => write!(f, "the equal items"),
            Self::SetOrder | Self::SetWeights | Self::SetLengths | Self::SetBitmaps => {
                write!(f, "the feature sets")
            }
            Self::VectorCodes | Self::VectorBounds => write!(f, "the codes of vectors"),
            Self::SetKeys | Self::SetKeyOwners => write!(f, "the keys of feature sets"),
        }
    }
}

/// What the header says about the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub kind: Kind,
    /// The number of 64-bit words of a fingerprint.
    pub words: u32,
    pub max_radius: u32,
    /// The number of fingerprints.
    pub items: u64,
}

/// One section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub content: Content,
    pub start: u64,
    pub bytes: u64,
    pub checksum: u64,
}

/// A header whose checksum was verified.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub about: About,
    pub sections: Vec<Section>,
}

/// Where sections of these sizes start, and where the last one ends.
pub(crate) fn starts(sizes: impl IntoIterator<Item = u64>) -> (Vec<u64>, u64) {
    let sizes: Vec<u64> = sizes.into_iter().collect();
    let mut end = (HEADER_BYTES + ENTRY_BYTES * sizes.len()) as u64;
    let mut place = |size| {
        let start = end.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        end = start.saturating_add(size);
        start
    };
    let starts = sizes.into_iter().map(&mut place).collect();
    (starts, end)
}

/// Writes a file under a temporary name beside `path`, then renames it: readers see the old file or the new one,
/// never part of one.
pub(crate) fn write(
    path: &Path,
    about: About,
    contents: &[(Content, &[u8])],
) -> Result<(), IndexError> {
    refuse_big_endian(path)?;
    let (starts, end) = starts(contents.iter().map(|(_, bytes)| bytes.len() as u64));
    let sections: Vec<Section> = contents
        .par_iter()
        .zip(starts)
        .map(|(&(content, bytes), start)| Section {
            content,
            start,
            bytes: bytes.len() as u64,
            checksum: xxh3_64(bytes),
        })
        .collect();
    let header = encode_header(about, &sections, end);
    replace(path, |file| {
        file.write_all(&header)?;
        let mut at = header.len() as u64;
        for (section, (_, bytes)) in sections.iter().zip(contents) {
            let padding = [0; ALIGNMENT as usize];
            file.write_all(&padding[..(section.start - at) as usize])?;
            file.write_all(bytes)?;
            at = section.start + section.bytes;
        }
        Ok(())
    })
}

/// Replaces the file at `path` by what `content` writes, or leaves it unchanged.
pub(crate) fn replace(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), IndexError> {
    let failed = |source| IndexError::Io { path: path.into(), action: "writing the index", source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    // The permissions of any new file, less the process's mask. Temporary files are private by default.
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let mut buffered = io::BufWriter::with_capacity(1 << 20, file.as_file_mut());
    content(&mut buffered).and_then(|()| buffered.flush()).map_err(failed)?;
    drop(buffered);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn encode_header(about: About, sections: &[Section], length: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + ENTRY_BYTES * sections.len());
    bytes.extend(MAGIC);
    let numbers = [VERSION, about.kind as u32, about.words, about.max_radius];
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(
        [about.items, length, sections.len() as u64].iter().flat_map(|number| number.to_le_bytes()),
    );
    bytes.resize(HEADER_BYTES, 0);
    for section in sections {
        bytes.extend(section.content.code().iter().flat_map(|number| number.to_le_bytes()));
        let numbers = [section.start, section.bytes, section.checksum];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    let checksum = header_checksum(&bytes);
    bytes[CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The position of the header's own checksum, its last number.
const CHECKSUM: usize = HEADER_BYTES - 8;

/// The checksum of the header and the list of sections, without the checksum itself.
fn header_checksum(bytes: &[u8]) -> u64 {
    xxh3_64(&[&bytes[..CHECKSUM], &bytes[HEADER_BYTES..]].concat())
}

/// The checksum in the header of an index file. It covers the checksums of all sections, so it identifies the
/// content.
#[cfg(feature = "collection")]
pub(crate) fn checksum_of_header(path: &Path) -> Result<u64, IndexError> {
    let mut header = [0; HEADER_BYTES];
    std::fs::File::open(path)
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut header))
        .map_err(|source| IndexError::Io { path: path.into(), action: "reading", source })?;
    let (_, checksum) = header.split_at(CHECKSUM);
    Ok(checksum.try_into().map_or(0, u64::from_le_bytes))
}

/// Reads the header of `bytes`, the whole file. Rejects anything but an index of this kind, width and format, at
/// its full length. Does not read sections.
pub(crate) fn read_header(
    path: &Path,
    bytes: &[u8],
    kind: Kind,
    words: usize,
) -> Result<Header, IndexError> {
    refuse_big_endian(path)?;
    check_magic(path, bytes)?;
    let damaged = |what: &str| IndexError::Damaged { path: path.into(), what: what.into() };
    let cut = || IndexError::Length {
        path: path.into(),
        found: bytes.len() as u64,
        expected: HEADER_BYTES as u64,
    };
    let mut numbers = Numbers(bytes.get(MAGIC.len()..).unwrap_or_default());
    let version = numbers.u32().ok_or_else(cut)?;
    if version != VERSION {
        return Err(IndexError::Version { path: path.into(), found: version, reads: VERSION });
    }
    let mut next = || numbers.u32().ok_or_else(cut);
    let (found_kind, found_words, max_radius) = (next()?, next()?, next()?);
    let mut next = || numbers.u64().ok_or_else(cut);
    let (items, length, count, _, checksum) = (next()?, next()?, next()?, next()?, next()?);
    let covered = usize::try_from(count)
        .ok()
        .and_then(|count| count.checked_mul(ENTRY_BYTES)?.checked_add(HEADER_BYTES))
        .and_then(|end| bytes.get(..end))
        .ok_or_else(|| damaged("the list of sections reaches beyond the end"))?;
    if header_checksum(covered) != checksum {
        return Err(damaged("checksum of the header differs"));
    }
    if length != bytes.len() as u64 {
        return Err(IndexError::Length {
            path: path.into(),
            found: bytes.len() as u64,
            expected: length,
        });
    }
    let kinds = [Kind::Static, Kind::Mutable, Kind::Names];
    let found_kind = kinds.into_iter().find(|kind| *kind as u32 == found_kind);
    let found_kind = found_kind.ok_or_else(|| damaged("an unknown kind of index"))?;
    if found_kind != kind {
        return Err(IndexError::Kind {
            path: path.into(),
            found: found_kind.name(),
            expected: kind.name(),
        });
    }
    if found_words as usize != words {
        let (found, expected) = (64 * u64::from(found_words), 64 * words as u64);
        return Err(IndexError::Width { path: path.into(), found, expected });
    }
    let sections = (0..count)
        .map(|_| {
            let content = Content::from_code([numbers.u32()?, numbers.u32()?])?;
            let (start, bytes, checksum) = (numbers.u64()?, numbers.u64()?, numbers.u64()?);
            Some(Section { content, start, bytes, checksum })
        })
        .collect::<Option<Vec<Section>>>()
        .ok_or_else(|| damaged("an unknown section"))?;
    let about = About { kind, words: found_words, max_radius, items };
    Ok(Header { about, sections })
}

/// Sections are used without conversion, so numbers must have the same byte order in memory as in the file.
fn refuse_big_endian(path: &Path) -> Result<(), IndexError> {
    if cfg!(target_endian = "little") {
        return Ok(());
    }
    let source =
        io::Error::new(io::ErrorKind::Unsupported, "index files need a little-endian machine");
    Err(IndexError::Io { path: path.into(), action: "using an index file", source })
}

fn check_magic(path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
    if bytes.starts_with(&MAGIC) {
        return Ok(());
    }
    let found = match bytes {
        [] => "it is empty".to_string(),
        _ if MAGIC.starts_with(bytes) => format!("it ends after {} bytes", bytes.len()),
        _ => format!("starts with \"{}\"", bytes[..bytes.len().min(4)].escape_ascii()),
    };
    Err(IndexError::Foreign { path: path.into(), found })
}

impl Section {
    /// The bytes of the section; an error if it is beyond the end of the file.
    pub fn of<'a>(&self, path: &Path, bytes: &'a [u8]) -> Result<&'a [u8], IndexError> {
        let range = usize::try_from(self.start)
            .ok()
            .zip(usize::try_from(self.start.saturating_add(self.bytes)).ok());
        range.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(|| IndexError::Damaged {
            path: path.into(),
            what: format!("{} reaches beyond the end", self.content),
        })
    }

    /// Verifies the checksum.
    pub fn verify(&self, path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
        if xxh3_64(self.of(path, bytes)?) == self.checksum {
            return Ok(());
        }
        let what = format!("checksum of {} differs", self.content);
        Err(IndexError::Damaged { path: path.into(), what })
    }
}

impl Header {
    /// The section with this content.
    pub fn section(&self, path: &Path, content: Content) -> Result<&Section, IndexError> {
        self.sections.iter().find(|section| section.content == content).ok_or_else(|| {
            IndexError::Damaged { path: path.into(), what: format!("{content} is missing") }
        })
    }

    /// Verifies the checksums of all sections.
    pub fn verify(&self, path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
        self.sections.par_iter().try_for_each(|section| section.verify(path, bytes))?;
        // Bytes between sections have no checksum: they are zero.
        let mut end = HEADER_BYTES + ENTRY_BYTES * self.sections.len();
        for section in &self.sections {
            let padding = bytes.get(end..section.start as usize).unwrap_or_default();
            if padding.iter().any(|&byte| byte != 0) {
                let what = format!("something stands before {}", section.content);
                return Err(IndexError::Damaged { path: path.into(), what });
            }
            end = (section.start + section.bytes) as usize;
        }
        Ok(())
    }
}

/// A reader of little-endian numbers.
pub(crate) struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    pub fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    pub fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }
}
