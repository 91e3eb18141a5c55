//! The voting kernel in plain Rust.

use super::majority::{Lanes, majority};
use super::pack;

pub(super) fn unweighted<const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    majority::<[u64; 4], WORDS>(hashes)
}

pub(super) fn weighted<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
) -> [u64; WORDS] {
    let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    let mut sums = [[0i64; 64]; WORDS];
    for (hash, &weight) in hashes.iter().zip(weights) {
        for (sums, word) in sums.iter_mut().zip(hash) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += i64::from(weight) & -((word >> bit & 1) as i64);
            }
        }
    }
    sums.map(|sums| pack(|bit| 2 * sums[bit] > total))
}

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
