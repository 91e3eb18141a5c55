//! Fingerprints as a NumPy `.npy` array: one row each, least significant word first.
//!
//! Reads format versions 1 to 3 (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::{
    io::{self, BufRead, Read},
    slice::ChunksExact,
};

use anyhow::Result;
use lookalike::{Fingerprint, Width, kind::vector::MAX_DIMENSIONS};

use super::{
    Bad, Bytes, Ids, OnPiece, PIECE, Reason, Skipped, compression::read_error, rows::Items,
};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum length of a header, which usually has 128 bytes.
const MAX_HEADER: usize = 1 << 16;

/// An array of unsigned integers as a list of fingerprints.
pub struct NpyRows {
    reader: Box<dyn BufRead + Send>,
    pub header: Header,
    rows: u64,
    pub width: Width,
}

/// Whether an input starts like an array.
pub fn is_npy(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

impl NpyRows {
    /// Reads the header.
    pub fn open(bytes: Bytes) -> Result<Self, Bad> {
        let name = bytes.name().to_owned();
        let mut reader = bytes.into_reader();
        let header = read_header(&mut reader).map_err(|what| Bad::input(&name, what))?;
        let (rows, width) = header.fingerprints().map_err(|what| Bad::input(&name, what))?;
        Ok(Self { reader, header, rows, width })
    }

    /// Reads every row. `WORDS` must fit [`width`](Self::width).
    pub fn read<const WORDS: usize>(
        mut self,
        ids: &mut Ids,
        items: &mut Items,
        skipped: &mut Skipped,
        on_piece: OnPiece<'_, WORDS>,
    ) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut read = 0;
        let error = self.each_piece(|rows| {
            piece.clear();
            piece.extend(rows.map(row));
            piece.iter().for_each(|_| items.push(true));
            ids.push_numbers(read + 1, piece.len() as u64);
            read += piece.len() as u64;
            on_piece(&piece)
        })?;
        if read < self.rows {
            return skipped
                .add_many(self.truncated(ids.input_name(), read, error), self.rows - read);
        }
        match fill(&mut self.reader, &mut [0]) {
            (0, None) => Ok(()),
            (_, Some(error)) => skipped.add(Bad::input(ids.input_name(), read_error(&error))),
            _ => skipped.add(Bad::input(
                ids.input_name(),
                "has more data after the array; save one array per file",
            )),
        }
    }

    /// Calls `on_piece` with the bytes of all complete rows, piece by piece. Returns the error if
    /// reading failed before the last row.
    pub fn each_piece(
        &mut self,
        mut on_piece: impl FnMut(ChunksExact<'_, u8>) -> Result<()>,
    ) -> Result<Option<io::Error>> {
        let row_bytes = self.width.bits() as usize / 8;
        let mut buffer = vec![0; PIECE * row_bytes];
        let mut left = self.rows;
        while left > 0 {
            let wanted = left.min(PIECE as u64) as usize * row_bytes;
            let (filled, error) = fill(&mut self.reader, &mut buffer[..wanted]);
            on_piece(buffer[..filled].chunks_exact(row_bytes))?;
            if filled < wanted {
                return Ok(error);
            }
            left -= (wanted / row_bytes) as u64;
        }
        Ok(None)
    }

    fn truncated(&self, name: &str, read: u64, error: Option<io::Error>) -> Bad {
        let error = error.map_or_else(String::new, |error| format!(" ({error})"));
        let what = format!("ends after {read} of {} rows{error}; save or copy it again", self.rows);
        Bad::item(name, Reason::Missing, what)
    }
}

/// The three entries of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    dtype: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// The header in NumPy's format, for an array of this type with another number of rows.
    pub fn bytes(&self, rows: u64) -> Vec<u8> {
        let mut shape = vec![rows.to_string()];
        shape.extend(self.shape.iter().skip(1).map(u64::to_string));
        let shape = match shape.as_slice() {
            [rows] => format!("{rows},"),
            shape => shape.join(", "),
        };
        let dtype = &self.dtype;
        let text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
        // Padding aligns the data to 64 bytes.
        let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
        let text = format!("{text:<width$}\n", width = length - 1);
        [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), text.as_bytes()].concat()
    }

    /// Rows, dimensions and the bytes of a number, if the array is a list of vectors.
    pub(super) fn vectors(&self) -> Result<(u64, u64, usize), String> {
        let refused = |remedy: &str| Err(format!("holds {self}; {remedy}"));
        let bytes = match self.dtype.as_str() {
            "<f2" => 2,
            "<f4" => 4,
            "<f8" => 8,
            ">f2" | ">f4" | ">f8" => return refused("save array.astype('<f4') instead"),
            "|i1" => {
                return refused(
                    "it may be quantised vectors or bytes of fingerprints: save \
                     array.astype('float32') if these are vectors",
                );
            }
            "<u8" | "<u4" => return refused("these may be fingerprints; use --kind hash"),
            _ => return refused("vectors are float32, float16 or float64"),
        };
        match *self.shape.as_slice() {
            [_, least @ (0 | 1)] => {
                let has = if least == 1 { "1 dimension" } else { "no dimensions" };
                refused(&format!("a cosine needs at least 2 dimensions, not {has}"))
            }
            [rows, dimensions] if dimensions <= MAX_DIMENSIONS as u64 => {
                Ok((rows, dimensions, bytes))
            }
            [_, _] => refused(&format!("at most {MAX_DIMENSIONS} dimensions")),
            [_] => refused("vectors have shape (n, d); save array.reshape(1, -1) for one vector"),
            _ => refused("vectors have shape (n, d)"),
        }
    }

    /// Whether the array holds floating-point numbers, or bytes that may be such.
    pub(super) fn is_vectors(&self) -> bool {
        matches!(self.dtype.as_str(), "<f2" | "<f4" | "<f8" | ">f2" | ">f4" | ">f8" | "|i1")
    }

    pub(super) fn is_fortran_order(&self) -> bool {
        self.fortran_order
    }

    /// Whether arrays of these kinds can be written one after the other.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.shape.get(1..) == other.shape.get(1..)
    }

    /// The number of rows and the width, if the array is a list of fingerprints.
    fn fingerprints(&self) -> Result<(u64, Width), String> {
        let refused = |remedy: &str| Err(format!("contains {self}; {remedy}"));
        match self.dtype.as_str() {
            "<u8" | "<u4" => {}
            ">u8" | ">u4" => return refused("save array.astype('<u8') instead"),
            "<i8" | "<i4" => return refused("save array.view('uint64') (or uint32) instead"),
            "<f2" | "<f4" | "<f8" => {
                return refused("these are vectors; use --kind vector, or leave --kind out");
            }
            "|i1" => {
                return refused(
                    "it may be quantised vectors or bytes of fingerprints: save \
                     array.astype('float32') for vectors, array.view('uint64') for fingerprints",
                );
            }
            _ => return refused("fingerprints must be uint64 (or uint32 for 32 bits)"),
        }
        if self.fortran_order {
            return refused("save numpy.ascontiguousarray(array) instead");
        }
        let bytes = if self.dtype == "<u8" { 8 } else { 4 };
        match (bytes, self.shape.as_slice()) {
            (4, &[rows] | &[rows, 1]) => Ok((rows, Width::Bits32)),
            (8, &[rows] | &[rows, 1]) => Ok((rows, Width::Bits64)),
            (8, &[rows, 2]) => Ok((rows, Width::Bits128)),
            (8, &[rows, 4]) => Ok((rows, Width::Bits256)),
            (4, _) => refused("uint32 fingerprints must have shape (n,)"),
            _ => refused("uint64 fingerprints must have shape (n,), (n, 2) or (n, 4)"),
        }
    }
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = if self.fortran_order { " in Fortran order" } else { "" };
        let name = match self.dtype.as_str() {
            "<u8" => "uint64",
            "<u4" => "uint32",
            ">u8" => "big-endian uint64",
            ">u4" => "big-endian uint32",
            "<i8" => "int64",
            "<i4" => "int32",
            "<f8" => "float64",
            "<f4" => "float32",
            "<f2" => "float16",
            ">f2" | ">f4" | ">f8" => "big-endian floats",
            "|i1" => "int8",
            "|b1" => "bool",
            "|u1" => "uint8",
            "|O" => "Python objects",
            other => other,
        };
        let shape: Vec<_> = self.shape.iter().map(u64::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        write!(f, "{name}{order}, shape ({}{comma})", shape.join(", "))
    }
}

pub(super) fn read_header(reader: &mut impl Read) -> Result<Header, String> {
    let damaged = |_| "starts like a .npy array, but its header is incomplete".to_owned();
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(damaged)?;
    let mut length = [0; 4];
    match start[6] {
        1 => reader.read_exact(&mut length[..2]).map_err(damaged)?,
        2 | 3 => reader.read_exact(&mut length).map_err(damaged)?,
        version => {
            return Err(format!("has .npy version {version}; lookalike reads versions 1 to 3"));
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(format!("has a .npy header of {length} bytes; save a plain array"));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(damaged)?;
    let text = String::from_utf8_lossy(&text);
    parse_header(&text)
        .ok_or_else(|| format!("has an invalid .npy header: {}", super::hashes::shortened(&text)))
}

/// Reads the Python dictionary that NumPy writes. The fields of a record type are not parsed.
fn parse_header(text: &str) -> Option<Header> {
    let descr = entry(text, "descr")?;
    let dtype = match descr.chars().next()? {
        quote @ ('\'' | '"') => descr[1..].split(quote).next()?,
        _ => "a record type",
    };
    let fortran_order = match entry(text, "fortran_order")? {
        value if value.starts_with("True") => true,
        value if value.starts_with("False") => false,
        _ => return None,
    };
    let shape = entry(text, "shape")?.strip_prefix('(')?.split(')').next()?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
    Some(Header { dtype: dtype.to_owned(), fortran_order, shape })
}

/// The text after a key of the dictionary.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let start = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
    Some(text[start + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
}

fn row<const WORDS: usize>(bytes: &[u8]) -> Fingerprint<WORDS> {
    let mut print = Fingerprint::ZERO;
    for (word, bytes) in print.0.iter_mut().zip(bytes.chunks(8)) {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(wide);
    }
    print
}

/// Reads until `buffer` is full or the input ends. Bytes before an error count.
pub(super) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_headers_as_numpy_writes_them() {
        let header = |text| parse_header(text).unwrap();
        let plain = header("{'descr': '<u8', 'fortran_order': False, 'shape': (5,), }   \n");
        assert_eq!(plain, Header { dtype: "<u8".into(), fortran_order: false, shape: vec![5] });
        let matrix = header("{'descr': '<u8', 'fortran_order': True, 'shape': (5, 4), }");
        assert_eq!(matrix, Header { dtype: "<u8".into(), fortran_order: true, shape: vec![5, 4] });
        let record = header("{'descr': [('a', '<u8')], 'fortran_order': False, 'shape': (), }");
        assert_eq!(record.to_string(), "a record type, shape ()");
        assert_eq!(parse_header("{'descr': '<u8'}"), None);
    }

    #[test]
    fn each_width_has_one_shape() {
        let width = |dtype: &str, shape: &[u64]| {
            let header = Header { dtype: dtype.into(), fortran_order: false, shape: shape.into() };
            header.fingerprints().ok()
        };
        assert_eq!(width("<u4", &[7]), Some((7, Width::Bits32)));
        assert_eq!(width("<u8", &[7]), Some((7, Width::Bits64)));
        assert_eq!(width("<u8", &[7, 1]), Some((7, Width::Bits64)));
        assert_eq!(width("<u8", &[7, 2]), Some((7, Width::Bits128)));
        assert_eq!(width("<u8", &[7, 4]), Some((7, Width::Bits256)));
        for (dtype, shape) in [
            ("<u8", &[7, 3][..]),
            ("<u8", &[]),
            ("<u8", &[1, 2, 4]),
            ("<u4", &[7, 2]),
            ("<f8", &[7]),
        ] {
            assert_eq!(width(dtype, shape), None, "{dtype} {shape:?}");
        }
    }
}
