//! What was found, and how is it told?

use rayon::prelude::*;

use super::{Pair, PairsError, Plan, join::Found};
use crate::{AlikePair, alike::PackedPair, equal::EqualGroups, listing::Listing, sorted::Room};

/// The answer: every pair, with equal fingerprints kept together as groups.
#[derive(Clone, Debug)]
pub struct Pairs {
    plan: Plan,
    near: Vec<Pair>,
    groups: EqualGroups,
    spilled: u64,
}

impl Pairs {
    /// Puts what was found in order. Of equal items only the first one stays in `near`.
    pub(super) fn new(found: Found, plan: Plan, spilled: u64) -> Self {
        let Found { mut near, equal } = found;
        let groups = EqualGroups::new(equal);
        if !groups.is_empty() {
            let copies = groups.copies();
            let is_copy = |item: u32| copies.find(item).is_some();
            near.retain(|pair| !is_copy(pair.a) && !is_copy(pair.b));
        }
        let order = |pair: &Pair| u64::from(pair.a) << 32 | u64::from(pair.b);
        near.par_sort_unstable_by_key(order);
        near.dedup_by_key(|pair| order(pair));
        Self { plan, near, groups, spilled }
    }

    /// How the pairs were found.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Pairs of different fingerprints, each fingerprint standing by its first item; in order of
    /// `(a, b)`.
    pub fn near(&self) -> &[Pair] {
        &self.near
    }

    /// Groups of items with the same fingerprint, each ascending, in order of their first item.
    pub fn equal_groups(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter()
    }

    /// How many pairs [`for_each`](Self::for_each) reports. Does not make them.
    pub fn count(&self) -> u64 {
        let near = self.near.iter().map(|pair| self.groups.size(pair.a) * self.groups.size(pair.b));
        self.groups.count_pairs() + near.sum::<u64>()
    }

    /// Reports every pair once, in order of `(a, b)`, pairs of equal items included.
    ///
    /// A group of `g` equal items makes `g * (g - 1) / 2` pairs, here and only here.
    pub fn for_each(&self, mut on_pair: impl FnMut(Pair)) {
        let near = || self.near.iter().map(|&pair| Ok(PackedPair::from(pair)));
        let listing = Listing::new(&self.groups, None, usize::MAX);
        let listed = listing.for_each(near, &Room::unlimited(), |pair| {
            let AlikePair { a, b, distance, .. } = pair;
            on_pair(Pair { a, b, distance });
            Ok::<_, PairsError>(())
        });
        listed.expect("what lies in memory can be read");
    }

    /// Bytes written to spill files; 0 if everything stayed in memory.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }
}
