//! Sums the weights of the hashes that have a bit set.
//!
//! A kernel sums a run of hashes in 32-bit lanes. This module makes the runs short enough that no lane
//! can overflow, whatever the weights, and sums the runs in 64 bits.

/// For each bit position of each word, the weight of the hashes of a run that have it set.
pub(super) type RunSums<const WORDS: usize> = [[i32; 64]; WORDS];

/// Only the last run may be shorter than this.
const MIN_RUN: usize = 32;

/// Larger weights are summed in two halves, because not even the shortest run of them fits 32 bits.
const MAX_WEIGHT: u32 = i32::MAX as u32 / MIN_RUN as u32;

/// For each bit position of each word, the weight of all hashes that have it set.
pub(super) type Sums<const WORDS: usize> = [[i64; 64]; WORDS];

/// Sums the weights of the hashes that have a bit set; `add_run` does so for one run.
#[inline(always)]
pub(super) fn sums<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
    add_run: impl Fn(&[[u64; WORDS]], &[i32], &mut RunSums<WORDS>),
) -> Sums<WORDS> {
    let largest = weights.iter().fold(1, |largest, weight| weight.unsigned_abs().max(largest));
    let mut sums = [[0; 64]; WORDS];
    if largest <= MAX_WEIGHT {
        add_weights(hashes, weights, largest, &add_run, &mut sums);
    } else {
        let high: Vec<i32> = weights.iter().map(|weight| weight >> 16).collect();
        add_weights(hashes, &high, 1 << 15, &add_run, &mut sums);
        sums.as_flattened_mut().iter_mut().for_each(|sum| *sum <<= 16);
        let low: Vec<i32> = weights.iter().map(|weight| weight & 0xffff).collect();
        add_weights(hashes, &low, 1 << 16, &add_run, &mut sums);
    }
    sums
}

/// The weight of all hashes together.
#[inline(always)]
pub(super) fn total(weights: &[i32]) -> i64 {
    weights.iter().map(|&weight| i64::from(weight)).sum()
}

/// Adds every weight, none larger than `largest`, to the sums of the bits set in its hash.
#[inline(always)]
fn add_weights<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
    largest: u32,
    add_run: impl Fn(&[[u64; WORDS]], &[i32], &mut RunSums<WORDS>),
    sums: &mut Sums<WORDS>,
) {
    let length = (i32::MAX as u32 / largest) as usize / MIN_RUN * MIN_RUN;
    for (hashes, weights) in hashes.chunks(length).zip(weights.chunks(length)) {
        let mut run = [[0; 64]; WORDS];
        add_run(hashes, weights, &mut run);
        for (sum, &run) in sums.as_flattened_mut().iter_mut().zip(run.as_flattened()) {
            *sum += i64::from(run);
        }
    }
}
