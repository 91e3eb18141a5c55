//! What was found, and how is it told?

use rayon::prelude::*;

use super::{Pair, PairsError, Plan, join::Found};
use crate::{
    Closeness,
    alike::{AlikePair, PackedPair},
    equal::EqualGroups,
    listing::Listing,
    sorted::Room,
};

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
        let mut near = in_order(near);
        near.dedup_by_key(|pair| (pair.a, pair.b));
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
        let listing = Listing::new(&self.groups, Closeness::within(0), crate::alike::Equals::All);
        let listed = listing.for_each(near, &Room::unlimited(), |pair| {
            let AlikePair { a, b, closeness } = pair;
            on_pair(Pair { a, b, distance: closeness.distance.unwrap_or(0) });
            Ok::<_, PairsError>(())
        });
        listed.expect("what lies in memory can be read");
    }

    /// Bytes written to spill files; 0 if everything stayed in memory.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }
}

/// The same pairs, by `(a, b)`. First items are spread over the input, more or less: dealt into stretches
/// of it with a few pairs each, there is little left to sort.
fn in_order(pairs: Vec<Pair>) -> Vec<Pair> {
    const FEW: usize = 4;
    let items = pairs.iter().map(|pair| pair.a).max().map_or(1, |last| u64::from(last) + 1);
    let stretches = (pairs.len() / FEW).max(1) as u64;
    let shift = items.div_ceil(stretches).next_power_of_two().ilog2();
    let stretch = |pair: &Pair| (u64::from(pair.a) >> shift) as usize;
    // Where the next pair of each stretch goes: first counted, then summed up.
    let mut next = vec![0usize; (items >> shift) as usize + 1];
    pairs.iter().for_each(|pair| next[stretch(pair)] += 1);
    let mut total = 0;
    next.iter_mut().for_each(|next| total += std::mem::replace(next, total));
    let mut dealt = vec![Pair { a: 0, b: 0, distance: 0 }; pairs.len()];
    for pair in &pairs {
        let next = &mut next[stretch(pair)];
        dealt[*next] = *pair;
        *next += 1;
    }
    dealt
        .par_chunk_by_mut(|one, two| stretch(one) == stretch(two))
        .for_each(|pairs| pairs.sort_unstable_by_key(|pair| (pair.a, pair.b)));
    dealt
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
