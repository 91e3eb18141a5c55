//! Checks how many values the pages of a delta-encoded column claim. A decoder allocates as much
//! memory as the data claim, and running out of memory cannot be caught.

use std::{io, sync::Arc};

use bytes::Bytes;
use parquet::{
    basic::Encoding,
    column::page::{Page, PageReader},
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData, reader::ChunkReader, serialized_reader::SerializedPageReader,
    },
};

use super::pages::broken;

/// The maximum block size. No writer exceeds it.
const MAX_BLOCK: u64 = 1 << 20;

/// Fails if a page of a column chunk claims more values than its header.
pub fn check<R: ChunkReader + 'static>(
    file: R,
    column: &ColumnChunkMetaData,
    rows: usize,
) -> Result<(), ParquetError> {
    let mut pages = SerializedPageReader::new(Arc::new(file), column, rows, None)?;
    while let Some(page) = pages.get_next_page()? {
        let encoding = page.encoding();
        let (values, count) = match &page {
            Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
                let descriptor = column.column_descr();
                let levels = [
                    (descriptor.max_rep_level(), *rep_level_encoding),
                    (descriptor.max_def_level(), *def_level_encoding),
                ];
                let values =
                    levels.into_iter().try_fold(buf.clone(), |data, (max_level, encoding)| {
                        skip_levels(data, max_level, encoding, u64::from(*num_values))
                    })?;
                (values, *num_values)
            }
            Page::DataPageV2 {
                buf, num_values, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                (skip(buf.clone(), levels)?, *num_values)
            }
            Page::DictionaryPage { .. } => continue,
        };
        let mut deltas = Deltas { data: &values, max_values: count.into() };
        match encoding {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => deltas.skip()?,
            // The lengths of the shared prefixes, then of the suffixes.
            Encoding::DELTA_BYTE_ARRAY => {
                deltas.skip()?;
                deltas.skip()?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The data after the repetition or definition levels of a page.
fn skip_levels(
    data: Bytes,
    max_level: i16,
    encoding: Encoding,
    values: u64,
) -> Result<Bytes, ParquetError> {
    if max_level <= 0 {
        return Ok(data);
    }
    let bytes = match (encoding, data.first_chunk::<4>()) {
        (Encoding::RLE, Some(length)) => 4 + u64::from(u32::from_le_bytes(*length)),
        (Encoding::RLE, None) => return Err(broken("a page ends within its levels").into()),
        _ => (values * u64::from(u16::BITS - max_level.unsigned_abs().leading_zeros())).div_ceil(8),
    };
    skip(data, bytes)
}

fn skip(data: Bytes, bytes: u64) -> Result<Bytes, ParquetError> {
    let fits = bytes <= data.len() as u64;
    fits.then(|| data.slice(bytes as usize..))
        .ok_or_else(|| broken("a page ends within its levels").into())
}

/// Delta-encoded numbers in blocks of miniblocks.
struct Deltas<'a> {
    data: &'a [u8],
    /// The number of values in the page header.
    max_values: u64,
}

impl<'a> Deltas<'a> {
    /// Moves to the end of the numbers.
    fn skip(&mut self) -> io::Result<()> {
        let [block, miniblocks, count] = [self.varint()?, self.varint()?, self.varint()?];
        self.varint()?;
        let is_valid = block <= MAX_BLOCK && miniblocks > 0 && block % miniblocks == 0;
        if !is_valid || count > self.max_values {
            return Err(broken("a page claims more values than it has"));
        }
        let in_miniblock = block / miniblocks;
        let mut left = count.saturating_sub(1);
        while left > 0 {
            self.varint()?;
            let widths = self.take(miniblocks)?;
            for &width in widths {
                if left == 0 {
                    break;
                }
                self.take((in_miniblock * u64::from(width)).div_ceil(8))?;
                left = left.saturating_sub(in_miniblock);
            }
            if in_miniblock == 0 {
                return Err(broken("a page claims more values than it has"));
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: u64) -> io::Result<&'a [u8]> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let (taken, rest) = self
            .data
            .split_at_checked(bytes)
            .ok_or_else(|| broken("a page ends within its values"))?;
        self.data = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(broken("a page has a number of more than 64 bits"))
    }
}
