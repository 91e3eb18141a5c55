//! Which of many fingerprints are within a distance of one, by looking at each?
//!
//! [`Columns`] holds fingerprints 32 bits at a time, so that a vector takes the same bits of many
//! of them at once. Only as many bits are looked at as it takes to rule almost all of them out.

use std::ops::Range;

use super::{Kernel, filter::chance_of_few};
use crate::Fingerprint;

/// Fingerprints prepared for being scanned within one radius.
pub(crate) struct Columns<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    radius: u32,
    cut: Cut,
}

/// How fingerprints are cut for a kernel. Each is made only where its kernel may run.
enum Cut {
    /// Not at all: each is looked at as it is.
    Whole,
    #[cfg(target_arch = "x86_64")]
    Nibbles(Lists<Nibbles>),
    #[cfg(target_arch = "x86_64")]
    Plain(Lists<Plain>),
}

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

impl<'a, const WORDS: usize> Columns<'a, WORDS> {
    pub fn new(prints: &'a [Fingerprint<WORDS>], radius: u32, kernel: Kernel) -> Self {
        let cut = match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx512() => Cut::Plain(Lists::new(prints, radius)),
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => Cut::Nibbles(Lists::new(prints, radius)),
            _ => Cut::Whole,
        };
        Self { prints, radius, cut }
    }

    /// Appends the positions in `range` of fingerprints within the radius of `query`, ascending,
    /// with their distances.
    pub fn within(
        &self,
        query: &Fingerprint<WORDS>,
        range: Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        match &self.cut {
            Cut::Whole => near.extend(range.filter_map(|position| {
                let distance = query.distance(&self.prints[position]);
                (distance <= self.radius).then_some((position as u32, distance))
            })),
            #[cfg(target_arch = "x86_64")]
            Cut::Nibbles(lists) => {
                let query = std::array::from_fn(|column| nibbles(bits32(query, column)));
                super::avx2::within(lists, &query, range, near);
            }
            #[cfg(target_arch = "x86_64")]
            Cut::Plain(lists) => {
                let query = std::array::from_fn(|column| bits32(query, column));
                super::avx512::within(lists, &query, range, near);
            }
        }
    }
}

impl<C: Column> Lists<C> {
    fn new<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn every_kernel_agrees<const WORDS: usize>(words: &[[u64; 4]], radius: u32, cuts: [usize; 2]) {
        let prints: Vec<Fingerprint<WORDS>> = words
            .iter()
            .map(|words| Fingerprint(std::array::from_fn(|word| words[word])))
            .collect();
        let [start, end] = cuts.map(|cut| cut % (prints.len() + 1));
        let range = start.min(end)..start.max(end);
        let query = &prints[start % prints.len()];
        let distances = range.clone().map(|at| (at as u32, query.distance(&prints[at])));
        let expected: Vec<_> = distances.filter(|&(_, distance)| distance <= radius).collect();
        for kernel in Kernel::available() {
            let mut near = Vec::new();
            Columns::new(&prints, radius, kernel).within(query, range.clone(), &mut near);
            assert_eq!(near, expected, "{kernel:?} {WORDS} {radius} {range:?}");
        }
    }

    proptest! {
        #[test]
        fn every_kernel_finds_those_within_any_radius_in_any_range(
            words in vec(prop_oneof![any::<[u64; 4]>(), any::<u8>().prop_map(|one| [1 << (one % 64); 4])], 1..90),
            radius in 0u32..260,
            cuts: [usize; 2],
        ) {
            every_kernel_agrees::<1>(&words, radius % 65, cuts);
            every_kernel_agrees::<2>(&words, radius % 129, cuts);
            every_kernel_agrees::<4>(&words, radius, cuts);
        }
    }
}
