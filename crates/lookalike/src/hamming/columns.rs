//! Fingerprints in columns, so that vectors compare many of them at once.
//!
//! A column holds the same 32 bits of several fingerprints. [`Lists`] keep the columns that are compared
//! first apart from the others: as few as reject almost all fingerprints.

use std::ops::Range;

use super::filter::chance_of_few;
use crate::Fingerprint;

/// The columns of all fingerprints, grouped by chunks of [`Column::LANES`] fingerprints.
pub(super) struct Lists<C> {
    /// The columns that are compared first, chunk by chunk.
    pub first: Vec<C>,
    /// The other columns, for chunks that pass.
    pub rest: Vec<C>,
    /// How many columns of a fingerprint are in `first` and in `rest`.
    pub counts: [usize; 2],
    pub radius: u32,
}

/// The same 32 bits of `LANES` fingerprints; the last column is padded.
pub(super) trait Column: Default {
    /// Fingerprints per column.
    const LANES: usize;

    fn set(&mut self, lane: usize, bits: u32);
}

/// Eight fingerprints, split into the low and the high nibbles of their bytes: bits are then counted by
/// table lookup without shifts.
#[derive(Default)]
pub(super) struct Nibbles(pub [[u32; 8]; 2]);

impl Column for Nibbles {
    const LANES: usize = 8;

    fn set(&mut self, lane: usize, bits: u32) {
        [self.0[0][lane], self.0[1][lane]] = nibbles(bits);
    }
}

/// Sixteen fingerprints, as they are: one cache line.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Plain(pub [u32; 16]);

impl Column for Plain {
    const LANES: usize = 16;

    fn set(&mut self, lane: usize, bits: u32) {
        self.0[lane] = bits;
    }
}

/// The number of columns of the widest fingerprint.
pub(super) const MAX_COLUMNS: usize = 8;

impl<C: Column> Lists<C> {
    pub fn new<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Self {
        let all = 2 * WORDS;
        let count = columns_to_decide(all, radius);
        let cut = |columns: Range<usize>| {
            let chunks = prints.chunks(C::LANES);
            chunks
                .flat_map(|chunk| columns.clone().map(move |column| column_of(chunk, column)))
                .collect()
        };
        let (first, rest) = (cut(0..count), cut(count..all));
        Self { first, rest, counts: [count, all - count], radius }
    }

    /// The numbers of the chunks that overlap a range of fingerprints.
    pub fn chunks(range: &Range<usize>) -> Range<usize> {
        range.start / C::LANES..range.end.div_ceil(C::LANES)
    }

    /// Appends the fingerprints of a chunk that are within the radius and in `range`.
    pub fn report(
        &self,
        chunk: usize,
        distances: &[u32],
        range: &Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        for (position, &distance) in (chunk * C::LANES..).zip(distances) {
            if distance <= self.radius && range.contains(&position) {
                near.push((position as u32, distance));
            }
        }
    }

    /// The other columns of a chunk.
    pub fn rest_of(&self, chunk: usize) -> &[C] {
        &self.rest[chunk * self.counts[1]..][..self.counts[1]]
    }
}

/// Column number `column` of a chunk of fingerprints.
fn column_of<const WORDS: usize, C: Column>(prints: &[Fingerprint<WORDS>], column: usize) -> C {
    let mut filled = C::default();
    for (lane, print) in prints.iter().enumerate() {
        filled.set(lane, bits32(print, column));
    }
    filled
}

/// The low and the high nibble of each byte.
pub(super) fn nibbles(bits: u32) -> [u32; 2] {
    [bits & 0x0f0f_0f0f, bits >> 4 & 0x0f0f_0f0f]
}

/// The `column`th 32 bits; zero past the end.
pub(super) fn bits32<const WORDS: usize>(print: &Fingerprint<WORDS>, column: usize) -> u32 {
    print.0.get(column / 2).map_or(0, |word| (word >> (32 * (column % 2))) as u32)
}

/// How many of `all` columns reject all but one in a thousand random fingerprints.
fn columns_to_decide(all: usize, radius: u32) -> usize {
    (1..all).find(|&columns| chance_of_few(32 * columns as u32, radius) < 1e-3).unwrap_or(all)
}
