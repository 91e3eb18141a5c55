//! How well do bits tell the fingerprints of a sample apart?

use crate::{Fingerprint, hamming::bits::BitSet};

/// For every bit, the chance that two fingerprints agree in it: one half for random bits.
pub(crate) fn agreement<const WORDS: usize>(sample: &[Fingerprint<WORDS>]) -> Vec<f64> {
    (0..64 * WORDS as u32)
        .map(|bit| {
            let ones = sample.iter().filter(|print| print.bit(bit)).count() as f64;
            let share = ones / sample.len().max(1) as f64;
            share * share + (1.0 - share) * (1.0 - share)
        })
        .collect()
}

/// How many pairs of a sample are equal in the bits of `key`.
pub(crate) fn colliding_pairs<const WORDS: usize>(
    sample: &[Fingerprint<WORDS>],
    key: &BitSet<WORDS>,
) -> f64 {
    let mut keys: Vec<[u64; WORDS]> = sample.iter().map(|print| masked(print, key)).collect();
    keys.sort_unstable();
    keys.chunk_by(|one, two| one == two).map(|bucket| pairs_of(bucket.len())).sum()
}

/// The bits of `key`, all others cleared.
pub(crate) fn masked<const WORDS: usize>(
    print: &Fingerprint<WORDS>,
    key: &BitSet<WORDS>,
) -> [u64; WORDS] {
    std::array::from_fn(|word| print.0[word] & key.0[word])
}

/// How many pairs so many items make.
pub(crate) fn pairs_of(items: usize) -> f64 {
    items as f64 * (items as f64 - 1.0) / 2.0
}
