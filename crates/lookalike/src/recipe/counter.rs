//! How often is each feature there?
//!
//! An open-addressing table from hashes to places in a list, kept between texts. Feature hashes
//! are well mixed, so their lowest bits are the slot.

/// Distinct hashes, in the order they first came, and how often each came.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// Where a hash stands in the list, from 1; 0 is a free slot.
    slots: Vec<u32>,
    /// The list, from 1; what is behind its last one is of texts before.
    counted: Vec<Counted>,
    last: usize,
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
        // At most half of the slots is taken, so that few hashes meet.
        let slots = (hashes.len() * 2).next_power_of_two().max(64);
        self.slots.clear();
        self.slots.resize(slots, 0);
        if self.counted.len() <= hashes.len() {
            self.counted.resize(hashes.len() + 1, Counted::default());
        }
        self.last = count(hashes, &mut self.slots, &mut self.counted);
    }

    /// Every distinct hash, in the order they first came, with how often it came.
    pub(super) fn counted(&self) -> &[Counted] {
        self.counted.get(1..=self.last).unwrap_or_default()
    }
}

/// Fills the list and says how long it is. Slots are a power of two.
fn count(hashes: &[u64], slots: &mut [u32], counted: &mut [Counted]) -> usize {
    let mask = slots.len() - 1;
    let mut last = 0;
    for &hash in hashes {
        let mut slot = hash as usize & mask;
        // Steps that do the same for new and old hashes, without jumps, are slower: they write so
        // much that reading waits for it.
        loop {
            let place = slots[slot] as usize;
            if place == 0 {
                last += 1;
                slots[slot] = last as u32;
                counted[last] = Counted { hash, count: 1 };
                break;
            }
            if counted[place].hash == hash {
                counted[place].count += 1;
                break;
            }
            slot = (slot + 1) & mask;
        }
    }
    last
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
