//! Checks whether two programs found the same pairs.
//!
//! [`Answer`] is the number of pairs and an order-independent sum over them, so answers are compared
//! without storing them.

use lookalike::{Fingerprint, features::Features};
use serde::{Deserialize, Serialize};

/// The number of pairs, and a checksum over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How many.
    pub pairs: u64,
    /// The sum of [`pair_hash`] over all of them.
    pub checksum: u64,
}

impl Answer {
    /// Counts the pair of items `a` and `b`; the order of the two matters.
    pub fn add(&mut self, a: u64, b: u64) {
        self.pairs += 1;
        self.checksum = self.checksum.wrapping_add(pair_hash(a, b));
    }

    /// Takes a pair out that was added.
    pub fn remove(&mut self, a: u64, b: u64) {
        self.pairs -= 1;
        self.checksum = self.checksum.wrapping_sub(pair_hash(a, b));
    }

    /// Sums up the fingerprints that `simhash` makes of the items, in several passes over them.
    pub fn of_passes(
        passes: usize,
        items: &[Features<1>],
        simhash: impl Fn(&Features<1>) -> Option<Fingerprint<1>>,
    ) -> Self {
        let mut answer = Self::default();
        for pass in 0..passes {
            for item in items {
                answer.add(pass as u64, simhash(item).map_or(0, |print| print.0[0]));
            }
        }
        answer
    }
}

/// A hash of a pair. `faiss_peer.py` computes the same one.
pub fn pair_hash(a: u64, b: u64) -> u64 {
    let mixed = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_pairs_changes_nothing_but_order_inside_a_pair_does() {
        let sum = |pairs: &[(u64, u64)]| {
            let mut answer = Answer::default();
            pairs.iter().for_each(|&(a, b)| answer.add(a, b));
            answer
        };
        assert_eq!(sum(&[(1, 2), (3, 4)]), sum(&[(3, 4), (1, 2)]));
        assert_ne!(sum(&[(1, 2)]), sum(&[(2, 1)]));
        let mut less = sum(&[(1, 2), (3, 4)]);
        less.remove(3, 4);
        assert_eq!(less, sum(&[(1, 2)]));
    }
}
