//! Keys of feature sets: similar sets share one with a known probability (MinHash, Broder 1997).
//!
//! Under a random order of all features, two sets have the same least feature with a probability that
//! is their similarity. A *key* combines the least features under several orders, so unrelated sets
//! rarely share one. Every set has a key for each of many *bands*, so similar sets share at least one.
//! The recall follows from the numbers of both. Nothing here knows what features are.

use std::ops::Range;

use crate::{
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
    verify::TWICE,
};

/// The number of keys of a set, and of least features in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The number of keys of a set.
    pub bands: usize,
    /// The number of least features in a key.
    pub rows: usize,
}

/// Least features in a key: with three, most unrelated sets share none, and similar ones share some.
const ROWS: usize = 3;

/// With more keys than this, comparing everything is faster.
const MAX_BANDS: f64 = 10_000.0;

/// The number of orders processed together.
const TOGETHER: usize = 64;

impl Keys {
    /// Keys with which at least the share `recall` of all pairs of this similarity have one in common.
    ///
    /// Multiplications are not quite random orders, so only half of the allowed misses are used.
    pub fn for_recall(similarity: f64, recall: f64) -> Self {
        let rows = ROWS;
        let missed = ((1.0 - recall) / 2.0).clamp(f64::EPSILON, 0.5);
        let apart = 1.0 - similarity.powi(rows as i32);
        let bands = if apart <= 0.0 { 1.0 } else { (missed.ln() / apart.ln()).ceil() };
        Self { bands: bands.clamp(1.0, MAX_BANDS) as usize, rows }
    }

    /// The share of pairs of this similarity that have a key in common.
    #[cfg(test)]
    pub fn recall(&self, similarity: f64) -> f64 {
        1.0 - (1.0 - similarity.powi(self.rows as i32)).powi(self.bands as i32)
    }

    /// Some of the bands.
    pub fn some(&self, bands: Range<usize>) -> Bands {
        let orders = bands.start * self.rows..bands.end * self.rows;
        let orders = orders.map(|order| mixed(order as u32 + 1) | 1).collect();
        Bands { rows: self.rows, orders }
    }
}

/// Some of the bands of [`Keys`], ready to make keys.
pub(crate) struct Bands {
    rows: usize,
    orders: Vec<u32>,
}

impl Bands {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.orders.len() / self.rows
    }

    /// Writes the keys of a set.
    ///
    /// A feature with the bit `TWICE` counts twice, as if it were two features.
    pub fn write(&self, set: &[u32], keys: &mut [u32], kernel: Kernel) {
        let mut least = vec![u32::MAX; self.orders.len()];
        for (orders, least) in self.orders.chunks(TOGETHER).zip(least.chunks_mut(TOGETHER)) {
            kernel.run(Least { set, orders, least });
        }
        for (key, rows) in keys.iter_mut().zip(least.chunks(self.rows)) {
            *key = rows.iter().fold(0, |key, &row| mixed(key ^ row).wrapping_add(row));
        }
    }
}

/// Computes the least feature of a set under some orders.
struct Least<'a> {
    set: &'a [u32],
    orders: &'a [u32],
    least: &'a mut [u32],
}

impl Task for Least<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) {
        let count = self.orders.len();
        let mut orders = [1; TOGETHER];
        let mut least = [u32::MAX; TOGETHER];
        orders[..count].copy_from_slice(self.orders);
        for &feature in self.set {
            look(mixed(feature), &orders, &mut least);
            if feature & TWICE != 0 {
                look(mixed(!feature), &orders, &mut least);
            }
        }
        self.least.copy_from_slice(&least[..count]);
    }
}

/// Updates the least features by one more. An order is multiplication by an odd number, which permutes
/// all features.
#[inline(always)]
fn look(feature: u32, orders: &[u32; TOGETHER], least: &mut [u32; TOGETHER]) {
    for (least, order) in least.iter_mut().zip(orders) {
        *least = (*least).min(feature.wrapping_mul(*order));
    }
}

/// A hash of a number in which every bit depends on every bit (the finalizer of MurmurHash3).
#[inline(always)]
fn mixed(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ number >> 13).wrapping_mul(0xc2b2_ae35);
    number ^ number >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::FeatureSet;

    /// Two sets of about `size` features that share a part.
    fn sets(seed: u32, size: u32, shared: u32) -> [FeatureSet; 2] {
        [1, 2].map(|side| {
            let own = (0..size - shared).map(|i| mixed(mixed(seed ^ side << 24).wrapping_add(i)));
            let both = (0..shared).map(|i| mixed(mixed(seed).wrapping_add(i)));
            FeatureSet::new(own.chain(both).collect())
        })
    }

    fn share(one: &FeatureSet, two: &FeatureSet) -> f64 {
        f64::from(crate::verify::Verify::DEFAULT.compare(one, two))
    }

    #[test]
    fn pairs_share_keys_as_often_as_recall_says() {
        let keys = Keys { bands: 42, rows: 3 };
        for (size, shared) in [(40, 14), (40, 20), (200, 90), (200, 110), (1000, 650)] {
            let (mut expected, mut found) = (0.0, 0.0);
            for seed in 0..1500 {
                let [one, two] = sets(seed, size, shared);
                expected += keys.recall(share(&one, &two));
                let [one, two] = [one, two].map(|set| {
                    let mut written = vec![0; keys.bands];
                    keys.some(0..keys.bands).write(set.features(), &mut written, Kernel::detect());
                    written
                });
                found += f64::from(u8::from(one.iter().zip(&two).any(|(one, two)| one == two)));
            }
            let gap = (expected - found) / 1500.0;
            assert!(gap.abs() < 0.03, "{size} features, {shared} shared: off by {gap}");
        }
    }

    #[test]
    fn every_kernel_makes_the_same_keys_and_bands_can_be_made_apart() {
        let keys = Keys { bands: 50, rows: 3 };
        for size in [1, 2, 7, 100] {
            let [set, _] = sets(size, size, 0);
            let mut all = vec![0; 50];
            keys.some(0..50).write(set.features(), &mut all, Kernel::Portable);
            for kernel in Kernel::available() {
                let (mut first, mut rest) = (vec![0; 13], vec![0; 37]);
                keys.some(0..13).write(set.features(), &mut first, kernel);
                keys.some(13..50).write(set.features(), &mut rest, kernel);
                assert_eq!([first, rest].concat(), all);
            }
        }
    }

    #[test]
    fn the_more_alike_the_surer() {
        let keys = Keys { bands: 42, rows: 3 };
        assert!(keys.recall(0.5) > 0.99 && keys.recall(0.38) > 0.9 && keys.recall(0.05) < 0.01);
        assert_eq!((keys.recall(0.0), keys.recall(1.0)), (0.0, 1.0));
    }
}
