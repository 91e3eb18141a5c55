//! Groups of equal items.
//!
//! [`EqualGroups`] keeps equal items together, so that a million copies are one group instead of half a
//! trillion pairs. The caller decides what makes two items equal.

use rayon::prelude::*;

/// Groups of equal items: at least two each, ascending, in order of their first item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EqualGroups {
    items: Vec<u32>,
    ends: Vec<usize>,
    /// The first item of each group again, for fast lookup.
    firsts: ItemSet,
}

/// A set of items, fast for lookups that mostly fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemSet {
    items: Vec<u32>,
    /// A filter in front of `items`: one bit per value of the lowest bits of an item. Small enough to stay in
    /// the cache.
    marks: Vec<u64>,
}

impl ItemSet {
    /// From ascending items.
    pub fn new(items: Vec<u32>) -> Self {
        let words = if items.is_empty() { 0 } else { items.len().div_ceil(4).next_power_of_two() };
        let mut set = Self { items, marks: vec![0; words] };
        for item in &set.items {
            let (word, bit) = mark_of(*item, words);
            set.marks[word] |= bit;
        }
        set
    }

    /// The item's position in the set, if it is there.
    #[inline]
    pub fn find(&self, item: u32) -> Option<usize> {
        if self.items.is_empty() {
            return None;
        }
        let (word, bit) = mark_of(item, self.marks.len());
        if self.marks[word] & bit == 0 {
            return None;
        }
        self.items.binary_search(&item).ok()
    }
}

/// The word and the bit of an item's mark.
#[inline]
fn mark_of(item: u32, words: usize) -> (usize, u64) {
    ((item as usize / 64) & (words - 1), 1 << (item % 64))
}

impl EqualGroups {
    /// From pairs `(one, copy)`; every copy must occur with the first item of its group.
    pub fn new(mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.par_sort_unstable_by_key(|&(one, copy)| (copy, one));
        pairs.dedup_by_key(|pair| pair.1);
        pairs.par_sort_unstable();
        let mut groups = Self::default();
        let mut firsts = Vec::new();
        for group in pairs.chunk_by(|one, two| one.0 == two.0) {
            firsts.push(group[0].0);
            groups.items.push(group[0].0);
            groups.items.extend(group.iter().map(|&(_, copy)| copy));
            groups.ends.push(groups.items.len());
        }
        groups.firsts = ItemSet::new(firsts);
        groups
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.ends.len()).map(|index| self.group(index))
    }

    /// The group of this number.
    pub fn group(&self, index: usize) -> &[u32] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[index]]
    }

    /// The group whose first item this is.
    #[inline]
    pub fn of(&self, first: u32) -> Option<&[u32]> {
        self.firsts.find(first).map(|index| self.group(index))
    }

    /// The size of the group whose first item this is; 1 if it is in no group.
    pub fn size(&self, first: u32) -> u64 {
        self.of(first).map_or(1, |group| group.len() as u64)
    }

    /// All items but the first of each group.
    pub fn copies(&self) -> ItemSet {
        let mut copies: Vec<u32> =
            self.iter().flat_map(|group| group[1..].iter().copied()).collect();
        copies.sort_unstable();
        ItemSet::new(copies)
    }

    /// How many pairs equal items make.
    pub fn count_pairs(&self) -> u64 {
        self.iter().map(|group| group.len() as u64 * (group.len() as u64 - 1) / 2).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_finds_its_items_and_no_others(
            items in proptest::collection::btree_set(prop_oneof![0u32..200, any::<u32>()], 0..100),
            others in proptest::collection::vec(prop_oneof![0u32..200, any::<u32>()], 0..100),
        ) {
            let items: Vec<u32> = items.into_iter().collect();
            let set = ItemSet::new(items.clone());
            for item in items.iter().chain(&others) {
                prop_assert_eq!(set.find(*item), items.binary_search(item).ok());
            }
        }
    }
}
