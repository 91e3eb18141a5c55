//! How often is each feature there?
//!
//! An open-addressing table, kept between texts and never cleared: a bitmap says which slots are
//! taken. Feature hashes are well mixed, so their lowest bits are the slot.

/// Distinct hashes, in no order, and how often each came.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// A power of two. What is in a slot that is not taken is of texts before.
    slots: Vec<Counted>,
    /// A bit for every slot.
    taken: Vec<u64>,
    counted: Vec<Counted>,
}

/// A hash, and how often it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) hash: u64,
    pub(super) count: u32,
}

impl Counter {
    /// Counts all of these, in place of what was counted before.
    pub(super) fn count(&mut self, hashes: &[u64]) {
        // At most half of the slots are taken, so that few hashes meet.
        let slots = (hashes.len() * 2).next_power_of_two().max(64);
        if self.slots.len() < slots {
            self.slots.resize(slots, Counted::default());
        }
        self.taken.clear();
        self.taken.resize(slots / 64, 0);
        let slots = &mut self.slots[..slots];
        hashes.iter().for_each(|&hash| add(hash, slots, &mut self.taken));
        self.counted.clear();
        for (&taken, slots) in self.taken.iter().zip(slots.as_chunks::<64>().0) {
            self.counted.extend(ones(taken).map(|slot| slots[slot]));
        }
    }

    /// Every distinct hash with how often it came.
    pub(super) fn counted(&self) -> &[Counted] {
        &self.counted
    }
}

/// Counts a hash. What is written does not depend on whether it is new: half of them are, and no
/// processor guesses which. Where it is written depends on the hash alone, so nothing waits for it.
#[inline(always)]
fn add(hash: u64, slots: &mut [Counted], taken: &mut [u64]) {
    let mask = slots.len() - 1;
    let mut slot = hash as usize & mask;
    loop {
        let is_taken = taken[slot / 64] >> (slot % 64) & 1;
        let before = slots[slot];
        if (is_taken == 0) | (before.hash == hash) {
            taken[slot / 64] |= 1 << (slot % 64);
            slots[slot] = Counted { hash, count: before.count * is_taken as u32 + 1 };
            return;
        }
        slot = (slot + 1) & mask;
    }
}

/// The places of the ones, from the lowest.
#[inline(always)]
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(
            hashes in prop::collection::vec((0..50u64).prop_map(|hash| hash << 3), 0..500),
            before in 0..600usize,
        ) {
            let mut counter = Counter::default();
            counter.count(&vec![8; before]);
            counter.count(&hashes);
            let mut expected = BTreeMap::new();
            hashes.iter().for_each(|&hash| *expected.entry(hash).or_insert(0) += 1);
            prop_assert_eq!(counter.counted().len(), expected.len());
            let found = counter.counted().iter().map(|counted| (counted.hash, counted.count));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
