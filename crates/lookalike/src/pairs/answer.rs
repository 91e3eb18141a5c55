//! What was found, and how is it told?

use super::{Pair, Plan, join::Found};

/// The answer: every pair, with equal fingerprints kept together as groups.
#[derive(Clone, Debug)]
pub struct Pairs {
    plan: Plan,
    near: Vec<Pair>,
    groups: Groups,
    spilled: u64,
}

impl Pairs {
    /// Puts what was found in order. Of equal items only the first one stays in `near`.
    pub(super) fn new(found: Found, plan: Plan, spilled: u64) -> Self {
        let Found { mut near, equal } = found;
        let groups = Groups::new(equal);
        if !groups.is_empty() {
            let copies = groups.copies();
            let is_copy = |item: u32| copies.binary_search(&item).is_ok();
            near.retain(|pair| !is_copy(pair.a) && !is_copy(pair.b));
        }
        near.sort_unstable_by_key(|pair| u64::from(pair.a) << 32 | u64::from(pair.b));
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
        let size = |item: u32| self.groups.of(item).map_or(1, |group| group.len() as u64);
        let equal: u64 =
            self.groups.iter().map(|group| (group.len() * (group.len() - 1) / 2) as u64).sum();
        let near: u64 = self.near.iter().map(|pair| size(pair.a) * size(pair.b)).sum();
        equal + near
    }

    /// Reports every pair once, in order of `(a, b)`, pairs of equal items included.
    ///
    /// A group of `g` equal items makes `g * (g - 1) / 2` pairs, here and only here.
    pub fn for_each(&self, mut on_pair: impl FnMut(Pair)) {
        if self.groups.is_empty() {
            return self.near.iter().copied().for_each(on_pair);
        }
        let links = self.links();
        let mut partners = Vec::new();
        for (a, first) in self.involved(&links) {
            partners.clear();
            let from = links.partition_point(|link| link.0 < first);
            for &(_, other, distance) in links[from..].iter().take_while(|link| link.0 == first) {
                let items = self.groups.of(other).unwrap_or(std::slice::from_ref(&other));
                let later = &items[items.partition_point(|&b| b <= a)..];
                partners.extend(later.iter().map(|&b| Pair { a, b, distance }));
            }
            let equal = self.groups.of(first).unwrap_or(&[]);
            let later = &equal[equal.partition_point(|&b| b <= a)..];
            partners.extend(later.iter().map(|&b| Pair { a, b, distance: 0 }));
            partners.sort_unstable();
            partners.iter().copied().for_each(&mut on_pair);
        }
    }

    /// Bytes written to spill files; 0 if everything stayed in memory.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }

    /// Every near pair from both sides, in order.
    fn links(&self) -> Vec<(u32, u32, u32)> {
        let both = |pair: &Pair| [(pair.a, pair.b, pair.distance), (pair.b, pair.a, pair.distance)];
        let mut links: Vec<_> = self.near.iter().flat_map(both).collect();
        links.sort_unstable();
        links
    }

    /// All items that are in a pair, ascending, each with the first item equal to it.
    fn involved(&self, links: &[(u32, u32, u32)]) -> Vec<(u32, u32)> {
        let grouped =
            self.groups.iter().flat_map(|group| group.iter().map(|&item| (item, group[0])));
        let mut items: Vec<(u32, u32)> =
            links.iter().map(|link| (link.0, link.0)).chain(grouped).collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// Groups of equal items: at least two each, ascending, in order of their first item.
#[derive(Clone, Debug, Default)]
struct Groups {
    items: Vec<u32>,
    ends: Vec<usize>,
    /// The first item of each group once more, close together: they are looked for all the time.
    firsts: Vec<u32>,
}

impl Groups {
    /// From pairs `(one, copy)` in which every copy occurs with the first item of its group.
    fn new(mut pairs: Vec<(u32, u32)>) -> Self {
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

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
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
    fn copies(&self) -> Vec<u32> {
        let mut copies: Vec<u32> =
            self.iter().flat_map(|group| group[1..].iter().copied()).collect();
        copies.sort_unstable();
        copies
    }
}
