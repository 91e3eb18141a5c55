//! The pairs that a search found.

use rayon::prelude::*;

use super::{Pair, PairsError, Plan, join::FoundPairs};
use crate::{
    Closeness,
    alike::{AlikePair, PackedPair},
    equal::EqualGroups,
    listing::Listing,
    sorted::MemoryBudget,
};

/// All pairs within a radius. Equal fingerprints are kept together as groups.
#[derive(Clone, Debug)]
pub struct Pairs {
    plan: Plan,
    near: Vec<Pair>,
    groups: EqualGroups,
    spilled: u64,
}

impl Pairs {
    /// Sorts what was found. Only the first of equal items stays in `near`.
    pub(super) fn new(found: FoundPairs, plan: Plan, spilled: u64) -> Self {
        let FoundPairs { mut near, equal } = found;
        let groups = EqualGroups::new(equal);
        if !groups.is_empty() {
            let copies = groups.copies();
            let is_copy = |item: u32| copies.find(item).is_some();
            near.retain(|pair| !is_copy(pair.a) && !is_copy(pair.b));
        }
        let mut near = in_order(near);
        near.dedup_by_key(|pair| (pair.a, pair.b));
        Self { plan, near, groups, spilled }
    }

    /// How the pairs were found.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Pairs of different fingerprints, in order of `(a, b)`. The first of equal items stands for all of them.
    pub fn near(&self) -> &[Pair] {
        &self.near
    }

    /// Groups of items with the same fingerprint, each ascending, in order of their first item.
    pub fn equal_groups(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter()
    }

    /// The number of pairs that [`for_each`](Self::for_each) reports. Does not produce them.
    pub fn count(&self) -> u64 {
        let near = self.near.iter().map(|pair| self.groups.size(pair.a) * self.groups.size(pair.b));
        self.groups.count_pairs() + near.sum::<u64>()
    }

    /// Calls `on_pair` once for every pair, in order of `(a, b)`, including pairs of equal items.
    ///
    /// A group of `g` equal items becomes `g * (g - 1) / 2` pairs, produced here only.
    pub fn for_each(&self, mut on_pair: impl FnMut(Pair)) {
        let near = || self.near.iter().map(|&pair| Ok(PackedPair::from(pair)));
        let listing = Listing::new(&self.groups, Closeness::within(0), crate::alike::Equals::All);
        let listed = listing.for_each(near, &MemoryBudget::unlimited(), |pair| {
            let AlikePair { a, b, closeness } = pair;
            on_pair(Pair { a, b, distance: closeness.distance.unwrap_or(0) });
            Ok::<_, PairsError>(())
        });
        listed.expect("pairs in memory can always be read");
    }

    /// Bytes written to spill files; 0 if everything stayed in memory.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }
}

/// Sorts pairs by `(a, b)`. First items are spread over the input more or less evenly, so pairs are first
/// distributed to ranges of the input with a few pairs each, and then sorted inside.
fn in_order(pairs: Vec<Pair>) -> Vec<Pair> {
    const PER_RANGE: usize = 4;
    let items = pairs.iter().map(|pair| pair.a).max().map_or(1, |last| u64::from(last) + 1);
    let ranges = (pairs.len() / PER_RANGE).max(1) as u64;
    let shift = items.div_ceil(ranges).next_power_of_two().ilog2();
    let range_of = |pair: &Pair| (u64::from(pair.a) >> shift) as usize;
    // Where the next pair of each range goes: counts first, then their sums.
    let mut next = vec![0usize; (items >> shift) as usize + 1];
    pairs.iter().for_each(|pair| next[range_of(pair)] += 1);
    let mut total = 0;
    next.iter_mut().for_each(|next| total += std::mem::replace(next, total));
    let mut sorted = vec![Pair { a: 0, b: 0, distance: 0 }; pairs.len()];
    for pair in &pairs {
        let next = &mut next[range_of(pair)];
        sorted[*next] = *pair;
        *next += 1;
    }
    sorted
        .par_chunk_by_mut(|one, two| range_of(one) == range_of(two))
        .for_each(|pairs| pairs.sort_unstable_by_key(|pair| (pair.a, pair.b)));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pairs_come_in_order_however_they_are_spread(
            ends in proptest::collection::vec(
                (prop_oneof![0u32..9, any::<u32>(), Just(u32::MAX)], any::<u32>()), 0..100,
            ),
        ) {
            let pairs: Vec<Pair> = ends.iter().map(|&(a, b)| Pair { a, b, distance: 1 }).collect();
            let mut sorted = pairs.clone();
            sorted.sort_unstable();
            prop_assert_eq!(in_order(pairs), sorted);
        }
    }
}
