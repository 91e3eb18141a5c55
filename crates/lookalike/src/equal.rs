//! Which items are the very same?
//!
//! [`EqualGroups`] keeps equal items together, so that a million copies are one group and not half a
//! billion pairs. What makes two items equal is the caller's business.

/// Groups of equal items: at least two each, ascending, in order of their first item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EqualGroups {
    items: Vec<u32>,
    ends: Vec<usize>,
    /// The first item of each group once more, close together: they are looked for all the time.
    firsts: Vec<u32>,
    /// A bit for every item, set for first ones: most of those that are looked for are none.
    is_first: Vec<u64>,
}

impl EqualGroups {
    /// From pairs `(one, copy)` in which every copy occurs with the first item of its group.
    pub fn new(mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable_by_key(|&(one, copy)| (copy, one));
        pairs.dedup_by_key(|pair| pair.1);
        pairs.sort_unstable();
        let mut groups = Self::default();
        for group in pairs.chunk_by(|one, two| one.0 == two.0) {
            groups.firsts.push(group[0].0);
            groups.items.push(group[0].0);
            groups.items.extend(group.iter().map(|&(_, copy)| copy));
            groups.ends.push(groups.items.len());
        }
        let last = groups.firsts.last().map_or(0, |&last| last as usize + 1);
        groups.is_first = vec![0; last.div_ceil(64)];
        for &first in &groups.firsts {
            groups.is_first[first as usize / 64] |= 1 << (first % 64);
        }
        groups
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.ends.len()).map(|index| self.group(index))
    }

    fn group(&self, index: usize) -> &[u32] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[index]]
    }

    /// The group whose first item this is.
    #[inline]
    pub fn of(&self, first: u32) -> Option<&[u32]> {
        let bits = self.is_first.get(first as usize / 64)?;
        if bits >> (first % 64) & 1 == 0 {
            return None;
        }
        self.firsts.binary_search(&first).ok().map(|index| self.group(index))
    }

    /// How many items an item stands for that is the first of its group, or alone.
    pub fn size(&self, first: u32) -> u64 {
        self.of(first).map_or(1, |group| group.len() as u64)
    }

    /// All items but the first of each group, ascending.
    pub fn copies(&self) -> Vec<u32> {
        let mut copies: Vec<u32> =
            self.iter().flat_map(|group| group[1..].iter().copied()).collect();
        copies.sort_unstable();
        copies
    }

    /// How many pairs equal items make.
    pub fn count_pairs(&self) -> u64 {
        self.iter().map(|group| group.len() as u64 * (group.len() as u64 - 1) / 2).sum()
    }
}
