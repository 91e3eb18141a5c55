//! How often is each feature there?
//!
//! An open-addressing table from hashes to places in a list, kept between texts. Feature hashes
//! are well mixed, so their lowest bits are the slot.

/// Distinct hashes, in the order they first came, and how often each came.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// Where a hash stands in the lists, from 1; 0 is a free slot.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    counts: Vec<u32>,
}

impl Counter {
    /// Forgets all, and makes room for so many hashes.
    pub(super) fn start(&mut self, most: usize) {
        // At most a quarter of the slots is taken, so that few hashes meet.
        let slots = (most * 4).next_power_of_two().max(64);
        self.slots.clear();
        self.slots.resize(slots, 0);
        self.hashes.clear();
        self.counts.clear();
    }

    /// Counts one; no more than announced, or it gets slow.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => {
                    self.hashes.push(hash);
                    self.counts.push(1);
                    self.slots[slot] = self.hashes.len() as u32;
                    return;
                }
                place if self.hashes[place as usize - 1] == hash => {
                    self.counts[place as usize - 1] += 1;
                    return;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The distinct hashes, in the order they first came.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Every distinct hash with how often it came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.hashes.iter().copied().zip(self.counts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(hashes in prop::collection::vec(0..50u64, 0..500), twice: bool) {
            let mut counter = Counter::default();
            for _ in 0..=usize::from(twice) {
                counter.start(hashes.len());
                hashes.iter().for_each(|&hash| counter.add(hash << 3));
            }
            let mut expected = BTreeMap::new();
            hashes.iter().for_each(|&hash| *expected.entry(hash << 3).or_insert(0) += 1);
            prop_assert_eq!(counter.iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
