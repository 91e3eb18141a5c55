//! How do fingerprints lie if vectors compare many of them at once?
//!
//! In columns of 32 bits, so that a vector takes the same bits of many. [`Lists`] have those apart that
//! are looked at first: as many as it takes to rule almost all fingerprints out.

use std::ops::Range;

use super::filter::chance_of_few;
use crate::Fingerprint;

/// The columns of all fingerprints, a few of these together.
pub(super) struct Lists<C> {
    /// The columns that are looked at first, of the first few fingerprints, of the next few, and so on.
    pub first: Vec<C>,
    /// The others, which decide what is left.
    pub rest: Vec<C>,
    /// How many of each a fingerprint has.
    pub counts: [usize; 2],
    pub radius: u32,
}

/// The same 32 bits of some fingerprints; the last ones are padded.
pub(super) trait Column: Default {
    /// How many.
    const LANES: usize;

    fn set(&mut self, lane: usize, bits: u32);
}

/// Eight, as the low and the high nibbles of their bytes: what a table of nibbles counts without any
/// shifting.
#[derive(Default)]
pub(super) struct Nibbles(pub [[u32; 8]; 2]);

impl Column for Nibbles {
    const LANES: usize = 8;

    fn set(&mut self, lane: usize, bits: u32) {
        [self.0[0][lane], self.0[1][lane]] = nibbles(bits);
    }
}

/// Sixteen, as they are: a line of the cache.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Plain(pub [u32; 16]);

impl Column for Plain {
    const LANES: usize = 16;

    fn set(&mut self, lane: usize, bits: u32) {
        self.0[lane] = bits;
    }
}

/// Columns of the widest fingerprint.
pub(super) const MOST_COLUMNS: usize = 8;

impl<C: Column> Lists<C> {
    pub fn new<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Self {
        let all = 2 * WORDS;
        let count = telling_columns(all, radius);
        let cut = |columns: Range<usize>| {
            let chunks = prints.chunks(C::LANES);
            chunks
                .flat_map(|chunk| columns.clone().map(move |column| column_of(chunk, column)))
                .collect()
        };
        let (first, rest) = (cut(0..count), cut(count..all));
        Self { first, rest, counts: [count, all - count], radius }
    }

    /// The numbers of the few that lie in a range, or a part of them does.
    pub fn chunks(range: &Range<usize>) -> Range<usize> {
        range.start / C::LANES..range.end.div_ceil(C::LANES)
    }

    /// Tells those of the few of a number that are within the radius and in the range, which may begin
    /// and end among them.
    pub fn tell(
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

    /// The other columns of the few of a number.
    pub fn rest_of(&self, chunk: usize) -> &[C] {
        &self.rest[chunk * self.counts[1]..][..self.counts[1]]
    }
}

/// Column number `column` of a few fingerprints.
fn column_of<const WORDS: usize, C: Column>(prints: &[Fingerprint<WORDS>], column: usize) -> C {
    let mut made = C::default();
    for (lane, print) in prints.iter().enumerate() {
        made.set(lane, bits32(print, column));
    }
    made
}

/// The low and the high nibble of each byte.
pub(super) fn nibbles(bits: u32) -> [u32; 2] {
    [bits & 0x0f0f_0f0f, bits >> 4 & 0x0f0f_0f0f]
}

/// The `column`th 32 bits; zero past the end.
pub(super) fn bits32<const WORDS: usize>(print: &Fingerprint<WORDS>, column: usize) -> u32 {
    print.0.get(column / 2).map_or(0, |word| (word >> (32 * (column % 2))) as u32)
}

/// How many of `all` columns leave fewer than one random fingerprint in a thousand in question.
fn telling_columns(all: usize, radius: u32) -> usize {
    (1..all).find(|&columns| chance_of_few(32 * columns as u32, radius) < 1e-3).unwrap_or(all)
}
