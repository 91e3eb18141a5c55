//! Estimates how many pairs share keys more often than chance explains.
//!
//! In data with many fingerprints that differ in a few bits only, most pairs that share a key are related:
//! they share other keys as well, pass every filter, and meet on path after path. [`Excess`] estimates how
//! many such pairs there are and how far apart they are, from those in a sample that share a long key. It
//! does not know what a meeting costs.

use crate::Fingerprint;

/// Pairs that share a long key beyond what chance explains.
#[derive(Debug)]
pub(super) struct Excess {
    /// The number of bits that vary.
    bits: f64,
    /// The number of bits of the key.
    key: f64,
    /// The number of all pairs, and of those that share the key.
    all: f64,
    pairs: f64,
    /// Quantiles of their distances, ascending.
    distances: Vec<u32>,
}

impl Excess {
    /// From the share `part` of `all` pairs that agree in a key of `key` of `bits` bits, and the distances of
    /// some of them, each with its weight.
    pub fn new(
        bits: u32,
        key: u32,
        all: f64,
        part: f64,
        mut distances: Vec<(u32, f64)>,
    ) -> Option<Self> {
        const MAX: usize = 16;
        distances.sort_unstable_by_key(|&(distance, _)| distance);
        let total: f64 = distances.iter().map(|&(_, weight)| weight).sum();
        let mut kept = Vec::with_capacity(MAX);
        let mut before = 0.0;
        for (distance, weight) in distances {
            before += weight;
            while kept.len() < MAX && (kept.len() as f64 + 0.5) / MAX as f64 * total < before {
                kept.push(distance);
            }
        }
        (!kept.is_empty() && bits > key).then(|| Self {
            bits: bits.into(),
            key: key.into(),
            all,
            pairs: part * all,
            distances: kept,
        })
    }

    /// The number of pairs that share a key of `key` bits, each weighted by `part` of its distance.
    ///
    /// Errors are assumed to be spread evenly over the bits. So a pair of distance `d` that shares the long
    /// key shares one of another length `ratio^d` times as often, where `ratio` compares the bits outside the
    /// two keys.
    pub fn meetings(&self, key: f64, part: impl Fn(u32) -> f64) -> f64 {
        let ratio = ((self.bits - key) / (self.bits - self.key)).max(0.0);
        let (mut shared, mut counted) = (0.0, 0.0);
        for &apart in &self.distances {
            let each = self.pairs / self.distances.len() as f64 * ratio.powi(apart as i32);
            shared += each;
            counted += each * part(apart);
        }
        // There are no more pairs than all.
        counted * (self.all / shared.max(self.all))
    }

    /// The number of such pairs within a radius.
    pub fn near(&self, key: f64, radius: u32) -> f64 {
        self.meetings(key, |apart| f64::from(u8::from(apart <= radius)))
    }

    /// The probability that at most `most` of `errors`, spread over the bits outside a shared key, are among
    /// certain `bits`.
    pub fn chance_of_few(&self, key: f64, errors: u32, bits: f64, most: u32) -> f64 {
        let hit = (bits / (self.bits - key).max(1.0)).clamp(0.0, 1.0);
        if errors <= most || hit == 0.0 {
            return 1.0;
        }
        if hit == 1.0 {
            return 0.0;
        }
        let mut term = (1.0 - hit).powi(errors as i32);
        let mut sum = 0.0;
        for hits in 0..=most {
            sum += term;
            term *= f64::from(errors - hits) / f64::from(hits + 1) * hit / (1.0 - hit);
        }
        sum.min(1.0)
    }
}

/// Distances of some pairs of a bucket of distinct fingerprints, each with the number of pairs it stands for.
pub(super) fn distances<const WORDS: usize>(
    bucket: &[Fingerprint<WORDS>],
) -> impl Iterator<Item = (u32, f64)> {
    // Sorted neighbours are nearer than others: compare each with the one half a bucket away.
    let (first, second) = bucket.split_at(bucket.len() / 2);
    let pairs = bucket.len() as f64 * (bucket.len() as f64 - 1.0) / 2.0;
    let weight = pairs / first.len() as f64;
    first.iter().zip(second).map(move |(one, two)| (one.distance(two), weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_weighted_by_their_distance() {
        let excess =
            Excess::new(256, 22, 1e8, 1e-2, vec![(4, 3.0), (12, 1.0)]).expect("some distances");
        let all = excess.meetings(22.0, |_| 1.0);
        let near = excess.meetings(22.0, |apart| f64::from(apart <= 10));
        assert_eq!((all, near), (1e6, 0.75e6));
        // Shorter keys are shared by more of them, the more so the farther they are apart.
        let more = |apart: u32| (256.0f64 / 234.0).powi(apart as i32);
        let expected = 0.75e6 * more(4) + 0.25e6 * more(12);
        assert!((excess.meetings(0.0, |_| 1.0) / expected - 1.0).abs() < 1e-9);
        let most = Excess::new(64, 22, 1e6, 0.9, vec![(9, 1.0)]).expect("some distances");
        assert_eq!(most.meetings(0.0, |_| 0.5), 0.5e6);
    }

    #[test]
    fn a_quarter_of_the_bits_gets_its_share_of_the_errors() {
        let excess = Excess::new(100, 10, 1.0, 1.0, vec![(2, 1.0)]).expect("some distances");
        let chances = [0, 1, 2].map(|most| excess.chance_of_few(20.0, 2, 20.0, most));
        assert_eq!(chances.map(|chance| (chance * 1e6).round() / 1e6), [0.5625, 0.9375, 1.0]);
        assert_eq!(excess.chance_of_few(20.0, 2, 80.0, 1), 0.0);
    }
}
