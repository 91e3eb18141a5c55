//! Which of many fingerprints are within a distance of one, by looking at each?
//!
//! [`Columns`] are fingerprints prepared for it, as the kernel likes them best.

use std::ops::Range;

use super::Kernel;
#[cfg(target_arch = "x86_64")]
use super::{
    columns::{Lists, Nibbles, Plain, bits32, nibbles},
    kernel::{Avx2, Avx512},
};
use crate::Fingerprint;

/// Fingerprints prepared for being scanned within one radius.
pub(crate) struct Columns<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    radius: u32,
    cut: Cut,
}

/// How fingerprints are cut for a kernel.
enum Cut {
    /// Not at all: each is looked at as it is.
    Whole,
    #[cfg(target_arch = "x86_64")]
    Nibbles(Avx2, Lists<Nibbles>),
    #[cfg(target_arch = "x86_64")]
    Plain(Avx512, Lists<Plain>),
}

impl<'a, const WORDS: usize> Columns<'a, WORDS> {
    pub fn new(prints: &'a [Fingerprint<WORDS>], radius: u32, kernel: Kernel) -> Self {
        let cut = match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(avx512) => Cut::Plain(avx512, Lists::new(prints, radius)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(avx2) => Cut::Nibbles(avx2, Lists::new(prints, radius)),
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
            Cut::Nibbles(avx2, lists) => {
                let query = std::array::from_fn(|column| nibbles(bits32(query, column)));
                super::avx2::within(*avx2, lists, &query, range, near);
            }
            #[cfg(target_arch = "x86_64")]
            Cut::Plain(avx512, lists) => {
                let query = std::array::from_fn(|column| bits32(query, column));
                super::avx512::within(*avx512, lists, &query, range, near);
            }
        }
    }
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
