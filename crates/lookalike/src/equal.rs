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
    fn of(&self, first: u32) -> Option<&[u32]> {
        self.firsts.binary_search(&first).ok().map(|index| self.group(index))
    }

    /// All items but the first of each group, ascending.
    pub fn copies(&self) -> Vec<u32> {
        let mut copies: Vec<u32> =
            self.iter().flat_map(|group| group[1..].iter().copied()).collect();
        copies.sort_unstable();
        copies
    }

    /// How many pairs [`for_each_pair`](Self::for_each_pair) reports. Does not make them.
    pub fn count_pairs(&self, near: impl Iterator<Item = (u32, u32)>) -> u64 {
        let size = |item: u32| self.of(item).map_or(1, |group| group.len() as u64);
        let equal: u64 =
            self.iter().map(|group| (group.len() * (group.len() - 1) / 2) as u64).sum();
        equal + near.map(|(a, b)| size(a) * size(b)).sum::<u64>()
    }

    /// Reports every pair once, in order of `(a, b)`: those in `near`, between first items and in
    /// order, once for every copy of each side, and those of equal items, with `equal`.
    pub fn for_each_pair<T: Copy>(
        &self,
        near: impl Iterator<Item = (u32, u32, T)>,
        equal: T,
        mut on_pair: impl FnMut(u32, u32, T),
    ) {
        if self.is_empty() {
            return near.for_each(|(a, b, how)| on_pair(a, b, how));
        }
        let links = links(near);
        let mut partners = Vec::new();
        for (a, first) in self.involved(&links) {
            partners.clear();
            let from = links.partition_point(|link| link.0 < first);
            for &(_, other, how) in links[from..].iter().take_while(|link| link.0 == first) {
                let items = self.of(other).unwrap_or(std::slice::from_ref(&other));
                partners.extend(after(items, a).iter().map(|&b| (b, how)));
            }
            let copies = self.of(first).unwrap_or(&[]);
            partners.extend(after(copies, a).iter().map(|&b| (b, equal)));
            partners.sort_unstable_by_key(|&(b, _)| b);
            partners.iter().for_each(|&(b, how)| on_pair(a, b, how));
        }
    }

    /// All items that are in a pair, ascending, each with the first item equal to it.
    fn involved<T>(&self, links: &[(u32, u32, T)]) -> Vec<(u32, u32)> {
        let grouped = self.iter().flat_map(|group| group.iter().map(|&item| (item, group[0])));
        let mut items: Vec<(u32, u32)> =
            links.iter().map(|link| (link.0, link.0)).chain(grouped).collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// Every near pair from both sides, in order.
fn links<T: Copy>(near: impl Iterator<Item = (u32, u32, T)>) -> Vec<(u32, u32, T)> {
    let mut links: Vec<_> = near.flat_map(|(a, b, how)| [(a, b, how), (b, a, how)]).collect();
    links.sort_unstable_by_key(|&(a, b, _)| (a, b));
    links
}

/// Those of ascending `items` that come after `item`.
fn after(items: &[u32], item: u32) -> &[u32] {
    &items[items.partition_point(|&other| other <= item)..]
}
