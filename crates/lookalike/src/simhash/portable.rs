//! The voting kernel in plain Rust.

use super::majority::{Lanes, majority};
use super::weighted::{self, RunSums};

pub(super) fn unweighted<const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    majority::<[u64; 4], WORDS>(hashes)
}

pub(super) fn weighted<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
) -> [u64; WORDS] {
    let total = weighted::total(weights);
    weighted::sums(hashes, weights, add_run)
        .map(|sums| (0..64).fold(0, |word, bit| word | u64::from(2 * sums[bit] > total) << bit))
}

/// Adds each weight to the sums of the bits set in its hash.
fn add_run<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
    sums: &mut RunSums<WORDS>,
) {
    for (hash, &weight) in hashes.iter().zip(weights) {
        for (sums, word) in sums.iter_mut().zip(hash) {
            let (low, high) = sums.split_at_mut(32);
            add_chosen(*word as u32, weight, low);
            add_chosen((word >> 32) as u32, weight, high);
        }
    }
}

/// Tests bits by mask, because SSE2 cannot shift lanes by different amounts.
#[inline(always)]
fn add_chosen(bits: u32, weight: i32, sums: &mut [i32]) {
    for (sum, mask) in sums.iter_mut().zip(MASKS) {
        *sum += if bits & mask == mask { weight } else { 0 };
    }
}

const MASKS: [u32; 32] = {
    let mut masks = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        masks[bit] = 1 << bit;
        bit += 1;
    }
    masks
};

impl Lanes for [u64; 4] {
    #[inline(always)]
    fn load(words: [u64; 4]) -> Self {
        words
    }

    #[inline(always)]
    fn store(self) -> [u64; 4] {
        self
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] & other[lane])
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] | other[lane])
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] ^ other[lane])
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        self == [0; 4]
    }
}
