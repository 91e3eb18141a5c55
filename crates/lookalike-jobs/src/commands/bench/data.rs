//! Synthetic fingerprints. Each is generated from its number alone, so that order and threads do
//! not matter.

use std::ops::Range;

use lookalike::{Fingerprint, Radius, Width};
use rayon::prelude::*;

use crate::args::Distribution;

/// One item in this many is a neighbour of an earlier one.
const PLANTED: u64 = 100;

/// Members of a family of [`Distribution::Clustered`].
const FAMILY: u64 = 10;

/// Mask of the bits that vary in [`Distribution::FewBits`].
const VARYING_BITS: u64 = (1 << 40) - 1;

/// A data set, described but not stored.
pub struct SyntheticData {
    pub distribution: Distribution,
    pub count: usize,
    pub seed: u64,
    pub width: Width,
    pub radius: Radius,
}

impl SyntheticData {
    /// Generates a range of items on all threads.
    pub fn generate<const WORDS: usize>(
        &self,
        items: Range<usize>,
        prints: &mut Vec<Fingerprint<WORDS>>,
    ) {
        let items = items.into_par_iter();
        items.map(|item| self.fingerprint(item as u64)).collect_into_vec(prints);
    }

    /// The fingerprint of one item. Every [`PLANTED`]th is an earlier one with up to `radius` bits
    /// flipped.
    fn fingerprint<const WORDS: usize>(&self, item: u64) -> Fingerprint<WORDS> {
        if item % PLANTED != PLANTED - 1 || self.distribution == Distribution::Equal {
            return self.original(item);
        }
        let mut random = Random::new(self.seed ^ 0x9e37, item);
        let other = random.below(item);
        let original = other - u64::from(other % PLANTED == PLANTED - 1);
        let flips = random.below(u64::from(self.radius.bits()) + 1);
        self.flipped(self.original(original), flips, &mut random)
    }

    fn original<const WORDS: usize>(&self, item: u64) -> Fingerprint<WORDS> {
        let mut random = Random::new(self.seed, item);
        match self.distribution {
            Distribution::Random => self.print(|_| random.next()),
            Distribution::Skewed => self.print(|word| self.biased(word as u64, &mut random)),
            Distribution::FewBits => {
                self.print(|word| if word == 0 { random.next() & VARYING_BITS } else { 0 })
            }
            Distribution::Equal => self.print(|word| mix(self.seed + word as u64)),
            Distribution::Clustered => {
                let mut ancestor = Random::new(self.seed ^ 0xc1a5, item / FAMILY);
                let print = self.print(|_| ancestor.next());
                let flips = random.below(u64::from(self.radius.bits()) + 1);
                self.flipped(print, flips, &mut random)
            }
        }
    }

    /// A word whose bits are 1 with different probabilities, from 4/16 to 11/16.
    ///
    /// A bit of probability t/16 combines random bits along the binary digits of t, from the
    /// lowest: "or" where the digit is 1, "and" where it is 0. The majority of three does both at
    /// once.
    fn biased(&self, word: u64, random: &mut Random) -> u64 {
        let mut bias = Random::new(self.seed ^ 0xb1a5, word);
        let [ones, twos, eights] = [(); 3].map(|()| bias.next());
        let digits = [ones, twos, !eights, eights];
        digits.into_iter().fold(0, |bits, digit| {
            let next = random.next();
            bits & next | digit & (bits | next)
        })
    }

    fn print<const WORDS: usize>(&self, word: impl FnMut(usize) -> u64) -> Fingerprint<WORDS> {
        let mut print = Fingerprint(std::array::from_fn(word));
        if self.width == Width::Bits32 {
            print.0[0] &= u64::from(u32::MAX);
        }
        print
    }

    fn flipped<const WORDS: usize>(
        &self,
        print: Fingerprint<WORDS>,
        flips: u64,
        random: &mut Random,
    ) -> Fingerprint<WORDS> {
        let mut flipped = Fingerprint::<WORDS>::ZERO;
        while u64::from(flipped.ones()) < flips {
            let bit = random.below(u64::from(self.width.bits())) as usize;
            flipped.0[bit / 64] |= 1 << (bit % 64);
        }
        print.xor(&flipped)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), seeded for every item.
struct Random(u64);

impl Random {
    fn new(seed: u64, item: u64) -> Self {
        Self(mix(seed) ^ mix(item.wrapping_add(0x5bf0_3635)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which is not 0; the bias is below 2^-32 for the sizes used.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
