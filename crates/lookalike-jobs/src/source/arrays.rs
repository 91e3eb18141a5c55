//! Vectors as a NumPy `.npy` array of floating-point numbers: one row each, in C or Fortran order.
//!
//! They are handed on as columns of fixed-size lists, like those of tables.

use std::{
    fs::File,
    io::{self, BufRead, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, anyhow, bail};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, PrimitiveArray, RecordBatch,
    cast::AsArray,
    types::{Float16Type, Float32Type, Float64Type},
};
use arrow_schema::{DataType, Field};
use lookalike::{Digest, Kind};

use super::{
    Bad, Bytes, RowOptions, Rows as Tables, Skipped, Vectors,
    compression::read_error,
    input::Input,
    npy::{self, Header},
    origin::Origin,
    rows::Row,
};

/// The column of an array.
pub const COLUMN: &str = "embedding";

/// Rows are read in pieces of about this many bytes. Several pieces are in memory, some as 64-bit numbers.
const PIECE: usize = 1 << 20;

/// How an array of vectors lies in a file.
pub struct Layout {
    pub header: Header,
    rows: u64,
    pub dimensions: usize,
    /// The bytes of a number.
    size: usize,
}

impl Layout {
    /// Reads the header at the start of an input.
    pub fn of(mut start: &[u8]) -> Result<Self, String> {
        Self::read(&mut start)
    }

    pub fn of_input(input: &Input) -> Result<Self, Bad> {
        Self::of(&input.origin.start(&input.name)?).map_err(|what| Bad::input(&input.name, what))
    }

    fn read(reader: &mut impl Read) -> Result<Self, String> {
        let header = npy::read_header(reader)?;
        let (rows, dimensions, size) = header.vectors()?;
        Ok(Self { header, rows, dimensions: dimensions as usize, size })
    }

    /// Columns that lie one after the other are read in any order: the file, or a nameless copy.
    pub fn seekable(
        &self,
        origin: &Origin,
        name: &str,
        temp: Option<&Path>,
    ) -> Result<Option<Arc<File>>, Bad> {
        let is_needed = self.header.is_fortran_order();
        is_needed.then(|| origin.seekable(name, temp).map(Arc::new)).transpose()
    }

    fn batch(&self, bytes: &[u8]) -> Option<RecordBatch> {
        let lists = match self.size {
            2 => self.lists::<Float16Type>(bytes.chunks_exact(2).map(|two| {
                <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes([two[0], two[1]])
            })),
            4 => self.lists::<Float32Type>(
                bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)),
            ),
            _ => self.lists::<Float64Type>(
                bytes.as_chunks().0.iter().map(|eight| f64::from_le_bytes(*eight)),
            ),
        };
        RecordBatch::try_from_iter([(COLUMN, lists?)]).ok()
    }

    fn lists<T: ArrowPrimitiveType>(
        &self,
        numbers: impl Iterator<Item = T::Native>,
    ) -> Option<ArrayRef> {
        let numbers = PrimitiveArray::<T>::from_iter_values(numbers);
        let item = Arc::new(Field::new("item", T::DATA_TYPE, false));
        let size = i32::try_from(self.dimensions).ok()?;
        let lists = FixedSizeListArray::try_new(item, size, Arc::new(numbers), None).ok()?;
        Some(Arc::new(lists))
    }
}

/// The bytes of each row of a batch, as an array has them.
pub fn rows_of(batch: &RecordBatch) -> Vec<Vec<u8>> {
    let lists = batch.column(0).as_fixed_size_list();
    let bytes_of = |row: usize| {
        let row = lists.value(row);
        match row.data_type() {
            DataType::Float16 => bytes(row.as_primitive::<Float16Type>(), |it| it.to_le_bytes()),
            DataType::Float32 => bytes(row.as_primitive::<Float32Type>(), f32::to_le_bytes),
            _ => bytes(row.as_primitive::<Float64Type>(), f64::to_le_bytes),
        }
    };
    (0..lists.len()).map(bytes_of).collect()
}

fn bytes<T: ArrowPrimitiveType, const N: usize>(
    numbers: &PrimitiveArray<T>,
    bytes: impl Fn(T::Native) -> [u8; N],
) -> Vec<u8> {
    numbers.values().iter().flat_map(|&number| bytes(number)).collect()
}

/// Why there are no more rows.
pub enum Failed {
    /// So many rows are missing.
    Short { rows: u64, what: String },
    /// Something follows the array.
    Long(String),
}

/// The rows of an array, some at a time.
pub struct Rows {
    layout: Layout,
    source: Source,
    done: u64,
    ended: bool,
}

enum Source {
    /// Row by row.
    Stream(Box<dyn BufRead + Send>),
    /// Column by column, from this place on.
    Columns(File, u64),
}

impl Rows {
    pub fn open(input: &Input) -> Result<Self, Bad> {
        let bad = |what: String| Bad::input(&input.name, what);
        let (layout, source) = match input.copy() {
            None => {
                let mut reader = input.origin.open(&input.name)?.into_reader();
                (Layout::read(&mut reader).map_err(bad)?, Source::Stream(reader))
            }
            Some(file) => {
                let failed = |error: io::Error| bad(read_error(&error));
                let mut file = file.try_clone().map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                let layout = Layout::read(&mut file).map_err(bad)?;
                let start = file.stream_position().map_err(failed)?;
                (layout, Source::Columns(file, start))
            }
        };
        Ok(Self { layout, source, done: 0, ended: false })
    }

    /// The rows before the next batch.
    pub fn done(&self) -> u64 {
        self.done
    }

    pub fn next(&mut self) -> Result<Option<RecordBatch>, Failed> {
        let Layout { rows, dimensions, size, .. } = self.layout;
        let row = dimensions * size;
        let wanted = (rows - self.done).min((PIECE / row).max(1) as u64) as usize;
        if wanted == 0 || self.ended {
            return self.check_end().map(|()| None);
        }
        let (bytes, error) = match &mut self.source {
            Source::Stream(reader) => {
                let mut bytes = vec![0; wanted * row];
                let (filled, error) = npy::fill(reader, &mut bytes);
                bytes.truncate(filled / row * row);
                (bytes, error)
            }
            Source::Columns(file, start) => {
                match columns(file, *start, rows, self.done, wanted, (dimensions, size)) {
                    Ok(bytes) => (bytes, None),
                    Err(error) => (Vec::new(), Some(error)),
                }
            }
        };
        let got = bytes.len() / row;
        self.ended = got < wanted;
        if got == 0 {
            return Err(self.short(error));
        }
        self.done += got as u64;
        Ok(self.layout.batch(&bytes))
    }

    fn short(&self, error: Option<io::Error>) -> Failed {
        let Self { done, layout: Layout { rows, .. }, .. } = self;
        let why = error.map_or_else(String::new, |error| format!(" ({error})"));
        let what = format!("ends after {done} of {rows} rows{why}; save or copy it again");
        Failed::Short { rows: rows - done, what }
    }

    /// Whether all rows were there, and nothing follows.
    fn check_end(&mut self) -> Result<(), Failed> {
        if self.done < self.layout.rows {
            let short = self.short(None);
            self.done = self.layout.rows;
            return Err(short);
        }
        let Source::Stream(reader) = &mut self.source else { return Ok(()) };
        match npy::fill(reader, &mut [0]) {
            (0, None) => Ok(()),
            (_, Some(error)) => Err(Failed::Long(read_error(&error))),
            _ => Err(Failed::Long("goes on after its array; save one array a file".to_owned())),
        }
    }
}

/// Some rows of an array whose columns lie one after the other.
fn columns(
    file: &mut File,
    start: u64,
    rows: u64,
    done: u64,
    wanted: usize,
    (dimensions, size): (usize, usize),
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; wanted * dimensions * size];
    let mut column = vec![0; wanted * size];
    for dimension in 0..dimensions {
        let too_far = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let before = (dimension as u64).checked_mul(rows).ok_or_else(too_far)?;
        let place = (before.checked_add(done).ok_or_else(too_far)?)
            .checked_mul(size as u64)
            .and_then(|place| place.checked_add(start))
            .ok_or_else(too_far)?;
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(&mut column)?;
        for (row, number) in column.chunks_exact(size).enumerate() {
            let at = (row * dimensions + dimension) * size;
            bytes[at..at + size].copy_from_slice(number);
        }
    }
    Ok(bytes)
}

/// Whether all of these are arrays of floating-point numbers.
pub fn are_vectors(paths: &[PathBuf]) -> bool {
    let is_array = |path: &PathBuf| {
        path.is_file()
            && Bytes::open(path)
                .and_then(Bytes::into_text)
                .is_ok_and(|bytes| npy::is_npy(bytes.start()) && has_vectors(bytes.start()))
    };
    paths.iter().all(is_array)
}

/// Whether an array that starts like this holds vectors.
pub fn has_vectors(mut start: &[u8]) -> bool {
    npy::read_header(&mut start).is_ok_and(|header| header.is_vectors())
}

/// The digest of the one vector in a file.
pub fn read_vector(path: &Path, kind: &dyn Kind) -> Result<Digest> {
    let options = RowOptions { vectors: Some(Vectors::default()), ..RowOptions::default() };
    let mut skipped = Skipped::unless(true);
    let mut rows = Tables::open(&[path.to_owned()], options, &mut skipped)?;
    let mut digests = Vec::new();
    rows.read(&mut skipped, &mut |batch| {
        let first_two = batch.rows.iter().take(2);
        digests.extend(first_two.map(|row: &Row<'_>| row.digest(kind)));
        Ok(())
    })?;
    let name = path.display();
    match digests.len() {
        1 => {
            let digest = digests.remove(0);
            digest.map_err(|unfit| anyhow!("{name}: {unfit}"))
        }
        0 => bail!("{name}: has no vector"),
        _ => bail!("{name}: has several vectors; pairs compares all of them"),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{LargeListArray, ListArray};
    use arrow_buffer::OffsetBuffer;

    use super::*;
    use crate::source::Content;

    fn vectors_of(lists: ArrayRef) -> (Vec<Vec<f64>>, u64, Option<u32>) {
        let batch = RecordBatch::try_from_iter_with_nullable([(COLUMN, lists, true)]).unwrap();
        let options = RowOptions { vectors: Some(Vectors::default()), ..RowOptions::default() };
        let mut rows = Tables::in_memory("rows".to_owned(), vec![batch], options).unwrap();
        let dimensions = rows.dimensions();
        let (mut skipped, mut found) = (Skipped::unless(false), Vec::new());
        rows.read(&mut skipped, &mut |batch| {
            found.extend(batch.rows.iter().map(|row| match &row.content {
                Content::Vector(numbers) => numbers.clone(),
                other => panic!("{other:?}"),
            }));
            Ok(())
        })
        .unwrap();
        (found, skipped.total(), dimensions)
    }

    fn field(kind: DataType) -> Arc<Field> {
        Arc::new(Field::new("item", kind, true))
    }

    #[test]
    fn lists_of_every_kind_hold_vectors() {
        let expected = vec![vec![1.0, 0.5], vec![-2.0, 0.25]];
        let half = |bits: u16| <Float16Type as ArrowPrimitiveType>::Native::from_bits(bits);
        let halves = [0x3c00, 0x3800, 0xc000, 0x3400].map(half);
        let numbers: [ArrayRef; 3] = [
            Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(halves)),
            Arc::new(PrimitiveArray::<Float32Type>::from_iter_values([1.0, 0.5, -2.0, 0.25])),
            Arc::new(PrimitiveArray::<Float64Type>::from_iter_values([1.0, 0.5, -2.0, 0.25])),
        ];
        for numbers in numbers {
            let item = field(numbers.data_type().clone());
            let lists: [ArrayRef; 3] = [
                Arc::new(ListArray::new(
                    item.clone(),
                    OffsetBuffer::from_lengths([2, 2]),
                    numbers.clone(),
                    None,
                )),
                Arc::new(LargeListArray::new(
                    item.clone(),
                    OffsetBuffer::from_lengths([2, 2]),
                    numbers.clone(),
                    None,
                )),
                Arc::new(FixedSizeListArray::new(item, 2, numbers, None)),
            ];
            for lists in lists {
                assert_eq!(vectors_of(lists), (expected.clone(), 0, Some(2)));
            }
        }
    }

    #[test]
    fn rows_with_nulls_or_of_other_dimensions_are_skipped() {
        let numbers = PrimitiveArray::<Float32Type>::from(vec![
            Some(1.0),
            Some(2.0),
            Some(3.0),
            None,
            Some(1.0),
            Some(2.0),
            Some(3.0),
            Some(0.0),
            Some(0.0),
        ]);
        let offsets = OffsetBuffer::from_lengths([2, 2, 3, 0, 2]);
        let valid = vec![true, true, true, false, true].into();
        let lists =
            ListArray::new(field(DataType::Float32), offsets, Arc::new(numbers), Some(valid));
        assert_eq!(vectors_of(Arc::new(lists)), (vec![vec![1.0, 2.0]], 4, Some(2)));
    }
}
