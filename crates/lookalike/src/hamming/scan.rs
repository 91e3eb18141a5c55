//! Which of many fingerprints are within a distance of one, by looking at each?
//!
//! [`Columns`] holds fingerprints word by word, so that a vector register takes the same word of
//! several of them at once.

use super::Kernel;
use crate::Fingerprint;

/// Fingerprints in columns: all first words, then all second words.
pub(crate) struct Columns<const WORDS: usize> {
    words: [Vec<u64>; WORDS],
    len: usize,
}

/// Columns are padded to a multiple of this many fingerprints.
pub(super) const LANES: usize = 8;

impl<const WORDS: usize> Columns<WORDS> {
    pub fn new(prints: &[Fingerprint<WORDS>]) -> Self {
        let padded = prints.len().next_multiple_of(LANES);
        let column = |word: usize| {
            let mut column: Vec<u64> = Vec::with_capacity(padded);
            column.extend(prints.iter().map(|print| print.0[word]));
            column.resize(padded, 0);
            column
        };
        Self { words: std::array::from_fn(column), len: prints.len() }
    }

    /// Appends the positions in `range` whose fingerprints are at most `radius` away, ascending.
    pub fn within(
        &self,
        kernel: Kernel,
        query: &Fingerprint<WORDS>,
        radius: u32,
        range: std::ops::Range<usize>,
        near: &mut Vec<u32>,
    ) {
        let end = range.end.min(self.len);
        // Vectors start at multiples of LANES: what stands before the range is dropped again.
        let first = range.start / LANES * LANES;
        let columns: [&[u64]; WORDS] = std::array::from_fn(|word| {
            &self.words[word][first..end.next_multiple_of(LANES).max(first)]
        });
        let known = near.len();
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => super::avx2::within(columns, query, radius, first as u32, near),
            _ => within_portable(columns, query, radius, first as u32, near),
        }
        let inside = |position: &u32| (range.start..end).contains(&(*position as usize));
        let early = near[known..].iter().take_while(|position| !inside(position)).count();
        near.drain(known..known + early);
        while near.len() > known && near.last().is_some_and(|last| !inside(last)) {
            near.pop();
        }
    }
}

fn within_portable<const WORDS: usize>(
    columns: [&[u64]; WORDS],
    query: &Fingerprint<WORDS>,
    radius: u32,
    first: u32,
    near: &mut Vec<u32>,
) {
    let length = columns.first().map_or(0, |column| column.len());
    for index in 0..length {
        let other = Fingerprint(std::array::from_fn(|word| columns[word][index]));
        if query.distance(&other) <= radius {
            near.push(first + index as u32);
        }
    }
}
