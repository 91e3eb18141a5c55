//! How many values do the pages of a delta-encoded column claim to have? A decoder makes room for as
//! many as the data say, true or not, and no memory is an end that nobody can catch.

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

/// No writer makes larger blocks.
const LARGEST_BLOCK: u64 = 1 << 20;

/// Looks at every page of a column chunk; fails if one claims more values than its header says.
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
                    levels.into_iter().try_fold(buf.clone(), |data, (most, encoding)| {
                        behind_levels(data, most, encoding, u64::from(*num_values))
                    })?;
                (values, *num_values)
            }
            Page::DataPageV2 {
                buf, num_values, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                (behind(buf.clone(), levels)?, *num_values)
            }
            Page::DictionaryPage { .. } => continue,
        };
        let mut deltas = Deltas { data: &values, most: count.into() };
        match encoding {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => deltas.pass()?,
            // How much each value repeats, then how long what follows is.
            Encoding::DELTA_BYTE_ARRAY => {
                deltas.pass()?;
                deltas.pass()?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What follows the repetition or definition levels of a page.
fn behind_levels(
    data: Bytes,
    most: i16,
    encoding: Encoding,
    values: u64,
) -> Result<Bytes, ParquetError> {
    if most <= 0 {
        return Ok(data);
    }
    let bytes = match (encoding, data.first_chunk::<4>()) {
        (Encoding::RLE, Some(length)) => 4 + u64::from(u32::from_le_bytes(*length)),
        (Encoding::RLE, None) => return Err(broken("a page ends within its levels").into()),
        _ => (values * u64::from(u16::BITS - most.unsigned_abs().leading_zeros())).div_ceil(8),
    };
    behind(data, bytes)
}

fn behind(data: Bytes, bytes: u64) -> Result<Bytes, ParquetError> {
    let is_there = bytes <= data.len() as u64;
    is_there
        .then(|| data.slice(bytes as usize..))
        .ok_or_else(|| broken("a page ends within its levels").into())
}

/// Numbers packed as differences, in blocks of miniblocks.
struct Deltas<'a> {
    data: &'a [u8],
    /// The page has no more values than this.
    most: u64,
}

impl<'a> Deltas<'a> {
    /// Goes to the end of the numbers.
    fn pass(&mut self) -> io::Result<()> {
        let [block, miniblocks, count] = [self.varint()?, self.varint()?, self.varint()?];
        self.varint()?;
        let is_sound = block <= LARGEST_BLOCK && miniblocks > 0 && block % miniblocks == 0;
        if !is_sound || count > self.most {
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
        Err(broken("a page has a number without an end"))
    }
}
