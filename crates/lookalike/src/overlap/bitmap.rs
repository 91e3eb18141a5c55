//! What can two sets share at most, by a few bits of each?
//!
//! Every feature flips one bit of its set's bitmap. In the xor of two bitmaps, common features cancel,
//! and each feature that only one set has flips one bit: the number of bits that differ is at most
//! the number of such features. Features that count twice have a bitmap of their own. A bitmap folds
//! to half its size when its halves are xored, so that those of different sizes can be compared
//! (after Sandes, Teodoro and Melo, "Bitmap filter", Information Systems 2020).

use crate::{
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
    verify::TWICE,
};

/// Words of the smallest and of the largest bitmap. Both halves of a bitmap are whole words.
const MIN_WORDS: usize = 2;
const MAX_WORDS: usize = 128;

/// Bits for each unit of weight: with fewer than two, almost nothing is refused.
const BITS_PER_WEIGHT: u32 = 3;

/// The words of the bitmap of a set of this weight, a power of two.
pub(crate) fn words(weight: u32) -> usize {
    let bits = u64::from(weight) * u64::from(BITS_PER_WEIGHT);
    (bits.div_ceil(64) as usize).next_power_of_two().clamp(MIN_WORDS, MAX_WORDS)
}

/// Flips the bits of all features: first half those that count once, second half those that count
/// twice.
pub(crate) fn flip(features: &[u32], bitmap: &mut [u64]) {
    let half = bitmap.len() / 2;
    let mask = half as u32 * 64 - 1;
    for &feature in features {
        let bit = feature >> 1 & mask;
        let word = (feature & TWICE) as usize * half + bit as usize / 64;
        bitmap[word] ^= 1 << (bit % 64);
    }
}

/// The bitmap of one set in every size, to be held against many others.
#[derive(Default)]
pub(crate) struct Folds {
    /// The largest first, each half as long as the one before.
    words: Vec<u64>,
    largest: usize,
}

impl Folds {
    /// Takes the features of a set.
    pub fn take(&mut self, features: &[u32], weight: u32) {
        self.largest = words(weight);
        self.words.clear();
        self.words.resize(2 * self.largest, 0);
        flip(features, &mut self.words[..self.largest]);
        let (mut from, mut len) = (0, self.largest);
        while len > MIN_WORDS {
            let to = from + len;
            fold(&mut self.words[from..to + len / 2], len);
            (from, len) = (to, len / 2);
        }
    }

    /// A bound from below on the weight of what only one of the two sets has.
    #[inline]
    pub fn differing(&self, other: &[u64], kernel: Kernel) -> u32 {
        let len = other.len().min(self.largest);
        // What precedes a size is twice the largest, less twice this size.
        let start = 2 * (self.largest - len);
        kernel.run(Differing { one: &self.words[start..start + len], other })
    }
}

/// Writes the fold of the first `len` words behind them.
fn fold(words: &mut [u64], len: usize) {
    let (whole, folded) = words.split_at_mut(len);
    let quarter = len / 4;
    for half in 0..2 {
        for at in 0..quarter {
            let from = half * 2 * quarter + at;
            folded[half * quarter + at] = whole[from] ^ whole[from + quarter];
        }
    }
}

/// Counts the bits in which two bitmaps differ, those of the second half twice. `other` may be
/// several times as long, and is folded on the way.
struct Differing<'a> {
    one: &'a [u64],
    other: &'a [u64],
}

impl Task for Differing<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> u32 {
        let Self { one, other } = self;
        let half = one.len() / 2;
        if one.len() == other.len() {
            return count(&one[..half], &other[..half]) + 2 * count(&one[half..], &other[half..]);
        }
        let mut folded = [0u64; MAX_WORDS];
        let folded = &mut folded[..one.len()];
        let (once, twice) = other.split_at(other.len() / 2);
        for (folded, other) in folded.chunks_exact_mut(half).zip([once, twice]) {
            for piece in other.chunks_exact(half) {
                folded.iter_mut().zip(piece).for_each(|(folded, word)| *folded ^= word);
            }
        }
        count(&one[..half], &folded[..half]) + 2 * count(&one[half..], &folded[half..])
    }
}

#[inline(always)]
fn count(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}
