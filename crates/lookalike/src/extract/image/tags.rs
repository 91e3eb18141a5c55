//! The tags of a TIFF structure. EXIF blocks and most RAW files are such structures.
//!
//! [`Tiff`] follows the offsets in the bytes, never beyond their end. Values are read in place, and
//! nothing is allocated for what a file merely claims to hold. The caller knows what tags mean.

/// A structure with more directories than this has a loop or is malicious.
const MAX_DIRECTORIES: usize = 64;

/// A tag with more offsets than this does not name sub-directories.
const MAX_SUBDIRECTORIES: usize = 16;

/// The tag of the offsets of sub-directories.
const SUBDIRECTORIES: u16 = 0x014A;

/// A TIFF structure. Offsets count from its header.
#[derive(Clone, Copy)]
pub(super) struct Tiff<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

/// A directory: a list of tags with their values.
#[derive(Clone, Copy)]
pub(super) struct Directory<'a> {
    tiff: Tiff<'a>,
    entries: &'a [[u8; 12]],
    /// The offset of the next directory of the chain; 0 for none.
    next: u32,
}

impl<'a> Tiff<'a> {
    /// `None` unless it starts like a TIFF file or like a RAW file of Olympus or Panasonic.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let big_endian = match bytes.get(..2)? {
            b"II" => false,
            b"MM" => true,
            _ => return None,
        };
        let tiff = Self { bytes, big_endian };
        matches!(tiff.short(2)?, 42 | 0x4F52 | 0x5352 | 0x55).then_some(tiff)
    }

    /// The first directory, which describes the image, or the first of several images.
    pub(super) fn first(self) -> Option<Directory<'a>> {
        self.directory(self.long(4)?)
    }

    /// The directory at this offset.
    pub(super) fn directory(self, offset: u32) -> Option<Directory<'a>> {
        let at = usize::try_from(offset).ok()?;
        let count = usize::from(self.short(at)?);
        let (start, end) = (at.checked_add(2)?, at.checked_add(2 + 12 * count)?);
        let entries = self.bytes.get(start..end)?.as_chunks::<12>().0;
        Some(Directory { tiff: self, entries, next: self.long(end).unwrap_or(0) })
    }

    /// The directories of all images: the chain from the first one, and their sub-directories.
    pub(super) fn directories(self) -> Vec<Directory<'a>> {
        let (mut found, mut seen) = (Vec::new(), Vec::new());
        let mut open: Vec<u32> = self.long(4).into_iter().collect();
        while let Some(offset) = open.pop() {
            if found.len() == MAX_DIRECTORIES {
                break;
            }
            if offset == 0 || seen.contains(&offset) {
                continue;
            }
            seen.push(offset);
            if let Some(directory) = self.directory(offset) {
                open.push(directory.next);
                open.extend(directory.numbers(SUBDIRECTORIES).take(MAX_SUBDIRECTORIES));
                found.push(directory);
            }
        }
        found
    }

    fn short(self, at: usize) -> Option<u16> {
        let bytes = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn long(self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(self.long_of(bytes))
    }

    fn long_of(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

impl<'a> Directory<'a> {
    /// The directory that this tag points to.
    pub(super) fn below(&self, tag: u16) -> Option<Directory<'a>> {
        self.tiff.directory(self.number(tag)?)
    }

    /// Whether the directory has this tag.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.value(tag).is_some()
    }

    /// The first number of a tag.
    pub(super) fn number(&self, tag: u16) -> Option<u32> {
        self.numbers(tag).next()
    }

    /// The numbers of a tag: bytes, or whole numbers of 16 or 32 bits.
    pub(super) fn numbers(&self, tag: u16) -> impl Iterator<Item = u32> + 'a {
        let tiff = self.tiff;
        let (kind, bytes) = self.value(tag).unwrap_or((1, &[]));
        let size = size_of(kind).filter(|_| !matches!(kind, 2 | 5 | 10 | 12)).unwrap_or(1);
        bytes.chunks_exact(size).map(move |one| match *one {
            [low, high] if tiff.big_endian => u16::from_be_bytes([low, high]).into(),
            [low, high] => u16::from_le_bytes([low, high]).into(),
            [a, b, c, d] => tiff.long_of([a, b, c, d]),
            _ => one.first().copied().unwrap_or(0).into(),
        })
    }

    /// The text of a tag; `None` if it is blank.
    pub(super) fn text(&self, tag: u16) -> Option<&'a str> {
        let (_, bytes) = self.value(tag)?;
        let text = bytes.split(|&byte| byte == 0).next()?;
        std::str::from_utf8(text).ok().map(str::trim).filter(|text| !text.is_empty())
    }

    /// The bytes of a tag.
    pub(super) fn bytes(&self, tag: u16) -> Option<&'a [u8]> {
        self.value(tag).map(|(_, bytes)| bytes)
    }

    /// The type of a tag and its bytes; `None` if they lie beyond the end of the structure.
    fn value(&self, tag: u16) -> Option<(u16, &'a [u8])> {
        let tiff = self.tiff;
        let number = |bytes: [u8; 2]| match tiff.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        };
        let entry = self.entries.iter().find(|entry| number([entry[0], entry[1]]) == tag)?;
        let [_, _, kind_0, kind_1, count @ .., a, b, c, d] = entry;
        let kind = number([*kind_0, *kind_1]);
        let count = usize::try_from(tiff.long_of(*count)).ok()?;
        let length = count.checked_mul(size_of(kind)?)?;
        if length <= 4 {
            return Some((kind, &entry[8..8 + length]));
        }
        let start = usize::try_from(tiff.long_of([*a, *b, *c, *d])).ok()?;
        Some((kind, tiff.bytes.get(start..start.checked_add(length)?)?))
    }
}

/// The size of one value of a type, in bytes.
const fn size_of(kind: u16) -> Option<usize> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 => Some(8),
        _ => None,
    }
}
