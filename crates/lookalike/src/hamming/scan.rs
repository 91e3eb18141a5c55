//! Which of many fingerprints are within a distance of one, by looking at each?
//!
//! [`Columns`] holds fingerprints 32 bits at a time, so that a vector takes the same bits of eight
//! of them at once. Only as many bits are looked at as it takes to rule almost all of them out.

use std::ops::Range;

use super::{Kernel, filter::chance_of_few};
use crate::Fingerprint;

/// Fingerprints prepared for being scanned within one radius.
pub(crate) struct Columns<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    /// How many columns are looked at first, and for every eight fingerprints, all of these.
    count: usize,
    columns: Vec<Column>,
    /// For every eight fingerprints the other columns, which decide what is left.
    rest: Vec<Column>,
}

/// The same 32 bits of eight fingerprints, as the low and the high nibbles of their bytes: what a
/// table of nibbles counts without any shifting.
pub(super) type Column = [[u32; LANES]; 2];

/// Fingerprints that are looked at together; the last ones are padded.
pub(super) const LANES: usize = 8;

/// Columns of the widest fingerprint.
pub(super) const MOST_COLUMNS: usize = 8;

impl<'a, const WORDS: usize> Columns<'a, WORDS> {
    pub fn new(prints: &'a [Fingerprint<WORDS>], radius: u32, kernel: Kernel) -> Self {
        let count = telling_columns(2 * WORDS, radius);
        let cut = |columns: Range<usize>| match kernel {
            Kernel::Portable => Vec::new(),
            _ => prints
                .chunks(LANES)
                .flat_map(|chunk| columns.clone().map(move |column| column_of(chunk, column)))
                .collect(),
        };
        let (columns, rest) = (cut(0..count), cut(count..2 * WORDS));
        Self { prints, radius, kernel, count, columns, rest }
    }

    /// Appends the positions in `range` of fingerprints within the radius of `query`, ascending,
    /// with their distances.
    pub fn within(
        &self,
        query: &Fingerprint<WORDS>,
        range: Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => {
                let query = std::array::from_fn(|column| nibbles(bits32(query, column)));
                let chunks = range.start / LANES..range.end.div_ceil(LANES);
                let [columns, rest] = [&self.columns, &self.rest].map(Vec::as_slice);
                let counts = [self.count, 2 * WORDS - self.count];
                let within = super::avx2::Within { columns, rest, counts, radius: self.radius };
                within.visit(&query, chunks, |position, distance| {
                    // The range may begin and end inside of eight, and the last eight are padded.
                    if range.contains(&position) {
                        near.push((position as u32, distance));
                    }
                });
            }
            _ => near.extend(range.filter_map(|position| {
                let distance = query.distance(&self.prints[position]);
                (distance <= self.radius).then_some((position as u32, distance))
            })),
        }
    }
}

/// Column number `column` of up to eight fingerprints.
fn column_of<const WORDS: usize>(prints: &[Fingerprint<WORDS>], column: usize) -> Column {
    let mut halves = [[0; LANES]; 2];
    for (lane, print) in prints.iter().enumerate() {
        let [low, high] = nibbles(bits32(print, column));
        (halves[0][lane], halves[1][lane]) = (low, high);
    }
    halves
}

/// The low and the high nibble of each byte.
fn nibbles(bits: u32) -> [u32; 2] {
    [bits & 0x0f0f_0f0f, bits >> 4 & 0x0f0f_0f0f]
}

/// The `column`th 32 bits; zero past the end.
fn bits32<const WORDS: usize>(print: &Fingerprint<WORDS>, column: usize) -> u32 {
    print.0.get(column / 2).map_or(0, |word| (word >> (32 * (column % 2))) as u32)
}

/// How many of `all` columns leave fewer than one random fingerprint in a thousand in question.
fn telling_columns(all: usize, radius: u32) -> usize {
    (1..all).find(|&columns| chance_of_few(32 * columns as u32, radius) < 1e-3).unwrap_or(all)
}
