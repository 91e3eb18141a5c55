//! Reads the sizes of pages from their headers before anything is decoded, because a decoder allocates
//! as much memory as a header claims.
//!
//! The headers are Thrift structs in the compact protocol. The `parquet` crate does not expose them.

use std::io::{self, BufRead, BufReader, Read};

use parquet::{
    errors::ParquetError,
    file::{metadata::ColumnChunkMetaData, reader::ChunkReader},
};

/// The sizes in the page headers of one column chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// The maximum size of a page in bytes.
    pub max_bytes: u64,
    /// The maximum number of values in a page.
    pub max_values: u64,
    /// The size of the dictionary in bytes.
    pub dictionary: u64,
    /// The maximum over all pages of the mean size of a value in bytes.
    pub per_value: u64,
    /// Whether values are delta-encoded, with their own counts.
    pub has_deltas: bool,
}

/// A page type.
const DICTIONARY: i64 = 2;

/// Encodings: deltas of numbers, of lengths, and of texts, each of which may repeat the whole previous
/// text.
const DELTAS: [i64; 3] = [5, 6, DELTA_BYTE_ARRAY];
const DELTA_BYTE_ARRAY: i64 = 7;

/// The maximum nesting of a page header.
const MAX_DEPTH: u32 = 16;

impl Pages {
    /// Reads all page headers of a column chunk.
    pub fn of(file: &impl ChunkReader, column: &ColumnChunkMetaData) -> Result<Self, ParquetError> {
        let (mut at, length) = column.byte_range();
        let end = at.saturating_add(length);
        let mut pages = Self::default();
        while at < end {
            let mut header =
                Header { reader: BufReader::with_capacity(512, file.get_read(at)?), read: 0 };
            let page = header.page()?;
            let data = at + header.read;
            if page.compressed > end.saturating_sub(data) {
                return Err(broken("a page is longer than its column").into());
            }
            pages.add(&page)?;
            at = data + page.compressed;
        }
        Ok(pages)
    }

    fn add(&mut self, page: &Page) -> io::Result<()> {
        self.max_bytes = self.max_bytes.max(page.uncompressed);
        if page.is_dictionary {
            if page.values > page.uncompressed {
                return Err(broken("a dictionary has more values than bytes"));
            }
            self.dictionary = self.dictionary.max(page.uncompressed);
            return Ok(());
        }
        self.max_values = self.max_values.max(page.values);
        self.has_deltas |= page.has_deltas;
        let per_value = match page.repeats {
            true => page.uncompressed,
            false => page.uncompressed.div_ceil(page.values.max(1)),
        };
        self.per_value = self.per_value.max(per_value);
        Ok(())
    }
}

/// One page header.
#[derive(Default)]
struct Page {
    uncompressed: u64,
    compressed: u64,
    values: u64,
    is_dictionary: bool,
    has_deltas: bool,
    repeats: bool,
}

pub(super) fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn size(number: i64) -> io::Result<u64> {
    u64::try_from(number).map_err(|_| broken("a page header has a negative size"))
}

/// Reads a header byte by byte and counts its length.
struct Header<R> {
    reader: R,
    read: u64,
}

impl<R: BufRead> Header<R> {
    fn page(&mut self) -> io::Result<Page> {
        let mut page = Page::default();
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, 5) => page.is_dictionary = self.number()? == DICTIONARY,
                (2, 5) => page.uncompressed = size(self.number()?)?,
                (3, 5) => page.compressed = size(self.number()?)?,
                // Headers of data pages, of dictionaries, and of data pages of version 2.
                (5 | 7 | 8, 12) => {
                    let fields = self.numbers()?;
                    let encoding = if id == 8 { fields[4] } else { fields[2] };
                    page.values = size(fields[1])?;
                    page.has_deltas = DELTAS.contains(&encoding);
                    page.repeats = encoding == DELTA_BYTE_ARRAY;
                }
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Ok(page)
    }

    /// The numeric fields 0 to 4 of a struct.
    fn numbers(&mut self) -> io::Result<[i64; 5]> {
        let mut numbers = [0; 5];
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (usize::try_from(id).ok().and_then(|id| numbers.get_mut(id)), kind) {
                (Some(number), 5) => *number = self.number()?,
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Ok(numbers)
    }

    /// The type of the next field; none at the end of a struct.
    fn field(&mut self, id: &mut i64) -> io::Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => self.number()?,
            more => id.saturating_add(more.into()),
        };
        Ok(Some(byte & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(broken("a page header nests too deep"));
        }
        match kind {
            // The type of a Boolean field contains its value.
            1 | 2 if depth == 0 => Ok(()),
            1..=3 => self.skip_bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            9 | 10 => self.skip_list(depth),
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    if !matches!(kind, 1 | 2) {
                        self.skip(kind, depth + 1)?;
                    }
                }
                Ok(())
            }
            _ => Err(broken("a page header has a field of an unknown type")),
        }
    }

    fn skip_list(&mut self, depth: u32) -> io::Result<()> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => length.into(),
        };
        // Ends at the end of the file at the latest, because every element takes a byte.
        (0..length).try_for_each(|_| self.skip(head & 0x0f, depth + 1))
    }

    fn number(&mut self) -> io::Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(broken("a page header has a number of more than 64 bits"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        self.read += 1;
        Ok(byte[0])
    }

    fn skip_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink())?;
        self.read += skipped;
        if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
