//! The oracle: every pair, one by one. What all the fast ways must equal.

use super::Pair;
use crate::{Fingerprint, Radius};

/// Every pair within `radius`, in order of `(a, b)`, by comparing each with each.
///
/// Quadratic, and obviously right: tests hold every other way against this one.
pub fn all_pairs<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: Radius,
    mut on_pair: impl FnMut(Pair),
) {
    for (a, first) in prints.iter().enumerate() {
        for (b, second) in prints.iter().enumerate().skip(a + 1) {
            let distance = first.distance(second);
            if radius.contains(distance) {
                on_pair(Pair { a: a as u32, b: b as u32, distance });
            }
        }
    }
}
