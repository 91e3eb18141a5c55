//! Counts how often each feature occurs in a text.
//!
//! An open-addressing table that is reused: only its counts are reset between texts. Hashes of features
//! are well mixed, so their lowest bits are the slot.

/// Distinct hashes in the order of their first occurrence, with their counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// A power of two of slots, each with a hash and a count; a slot with count 0 is free.
    hashes: Vec<u64>,
    counts: Vec<u32>,
    /// The taken slots in the order in which they were taken, followed by arbitrary ones.
    taken: Vec<u32>,
    distinct: usize,
}

/// A hash and its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) hash: u64,
    pub(super) count: u32,
}

impl Counter {
    /// Replaces the previous counts by those of these hashes.
    pub(super) fn count(&mut self, hashes: &[u64]) {
        // At most half of the slots are taken, so collisions are rare.
        let slots = (hashes.len() * 2).next_power_of_two();
        if self.hashes.len() < slots {
            self.hashes.resize(slots, 0);
            self.counts.resize(slots, 0);
            self.taken.resize(slots, 0);
        }
        self.counts[..slots].fill(0);
        let mut table = Table {
            mask: slots - 1,
            hashes: &mut self.hashes[..slots],
            counts: &mut self.counts[..slots],
        };
        let mut distinct = 0;
        for &hash in hashes {
            let (slot, is_new) = table.add(hash);
            self.taken[distinct] = slot as u32;
            distinct += usize::from(is_new);
        }
        self.distinct = distinct;
    }

    /// Every distinct hash with its count.
    pub(super) fn counted(&self) -> impl ExactSizeIterator<Item = Counted> + Clone {
        self.taken[..self.distinct].iter().map(|&slot| Counted {
            hash: self.hashes[slot as usize],
            count: self.counts[slot as usize],
        })
    }
}

struct Table<'a> {
    mask: usize,
    hashes: &'a mut [u64],
    counts: &'a mut [u32],
}

impl Table<'_> {
    /// Counts a hash; returns its slot, and whether it is new. There is no branch on that: about half
    /// of the hashes are new, which no processor predicts.
    #[inline(always)]
    fn add(&mut self, hash: u64) -> (usize, bool) {
        let mut slot = hash as usize & self.mask;
        loop {
            let count = self.counts[slot];
            // All ones if the slot is free; hidden from the compiler, which would branch on it.
            let free = std::hint::black_box(u64::from(count != 0).wrapping_sub(1));
            if (self.hashes[slot] ^ hash) & !free == 0 {
                self.hashes[slot] = hash;
                self.counts[slot] = count + 1;
                return (slot, count == 0);
            }
            slot = (slot + 1) & self.mask;
        }
    }
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
            let found = counter.counted().map(|counted| (counted.hash, counted.count));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
