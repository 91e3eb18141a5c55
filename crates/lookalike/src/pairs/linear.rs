//! The definition that all faster searches are tested against.

use super::Pair;
use crate::{Fingerprint, Radius};

/// Calls `on_pair` for every pair within `radius`, in order of `(a, b)`, by comparing exhaustively.
///
/// Quadratic and simple: tests compare every other search with this one.
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
