//! Which items are alike, and how much?
//!
//! [`AlikePairs`] is what a search hands to grouping and reports: pairs of different items, and
//! groups of equal ones. Pairs lie in memory, or in a temporary file if there is no room for them;
//! they are always handed out one by one, in order. It knows item numbers only.

use bytemuck::{Pod, Zeroable};

use crate::{
    Closeness,
    closeness::PackedCloseness,
    equal::EqualGroups,
    listing::Listing,
    pairs::{Pairs, PairsError},
    sorted::{InOrder, MemoryBudget, Record, Sorted, SortedIter, Sorter},
};

/// Two alike items and how alike they are. `a` comes before `b` in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlikePair {
    /// Number of the first item.
    pub a: u32,
    /// Number of the second item, larger than `a`.
    pub b: u32,
    /// How close they are.
    pub closeness: Closeness,
}

/// The keeper that an item belongs to, and how close the two are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub keeper: u32,
    pub closeness: Closeness,
}

/// Which pairs of equal items are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equals {
    /// Every pair.
    #[default]
    All,
    /// Of a group of equal items only the first has pairs: one with each of its equals, and those with
    /// other items.
    First,
}

/// Every pair of alike items, with equal items kept together as groups.
#[derive(Clone, Debug)]
pub struct AlikePairs {
    near: Sorted<PackedPair>,
    equal: EqualGroups,
    /// How close equal items are.
    equals: Closeness,
    /// What may be held of all that is made of the pairs.
    budget: MemoryBudget,
}

impl AlikePairs {
    /// `near` are pairs of different items, each once; `equal` pairs the first of equal items with
    /// every other one, and only firsts occur in `near`.
    pub(crate) fn new(
        near: Sorted<PackedPair>,
        equal: Vec<(u32, u32)>,
        equals: Closeness,
        budget: MemoryBudget,
    ) -> Self {
        Self { near, equal: EqualGroups::new(equal), equals, budget }
    }

    /// From pairs given one by one, in any order; repeats count once.
    pub fn from_pairs(mut pairs: Vec<AlikePair>) -> Self {
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        let near = pairs.into_iter().map(PackedPair::from).collect();
        Self::new(
            Sorted::in_memory(near),
            Vec::new(),
            Closeness::within(0),
            MemoryBudget::unlimited(),
        )
    }

    /// Pairs of different items, equal ones standing by their first; in order of `(a, b)`.
    ///
    /// Fails only if they had to go to a temporary file, and that cannot be read.
    pub fn near(&self) -> impl Iterator<Item = Result<AlikePair, PairsError>> {
        self.near.iter().map(|pair| pair.map(AlikePair::from))
    }

    /// [`near`](Self::near), as they are stored.
    pub(crate) fn near_packed(&self) -> SortedIter<'_, PackedPair> {
        self.near.iter()
    }

    /// Groups of equal items, each ascending, in order of their first item.
    pub fn equal_groups(&self) -> impl Iterator<Item = &[u32]> {
        self.equal.iter()
    }

    /// All items that an item of [`near`](Self::near) stands for: its equals and itself, ascending.
    pub fn equals<'a>(&'a self, first: &'a u32) -> &'a [u32] {
        self.equal.of(*first).unwrap_or(std::slice::from_ref(first))
    }

    /// How close equal items are.
    pub fn equal_closeness(&self) -> Closeness {
        self.equals
    }

    /// How many pairs [`for_each`](Self::for_each) reports. Does not make them.
    pub fn count(&self) -> Result<u64, PairsError> {
        if self.equal.is_empty() {
            return Ok(self.near.len() as u64);
        }
        let mut count = self.equal.count_pairs();
        for pair in self.near() {
            let AlikePair { a, b, .. } = pair?;
            count += self.equal.size(a) * self.equal.size(b);
        }
        Ok(count)
    }

    /// Reports every pair once, in order of `(a, b)`, pairs of equal items included.
    ///
    /// A group of `g` equal items makes `g * (g - 1) / 2` pairs, here and only here.
    pub fn for_each(&self, mut on_pair: impl FnMut(AlikePair)) -> Result<(), PairsError> {
        self.list(Equals::All, |pair| {
            on_pair(pair);
            Ok(())
        })
    }

    /// As [`for_each`](Self::for_each), with the pairs of equal items that are asked for. Stops at the
    /// first error.
    pub fn list<E: From<PairsError>>(
        &self,
        equals: Equals,
        on_pair: impl FnMut(AlikePair) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { near, equal, equals: closeness, budget } = self;
        let listing = Listing::new(equal, *closeness, equals);
        listing.for_each(|| near.iter(), budget, on_pair)
    }

    /// Every pair, as [`for_each`](Self::for_each) reports them.
    pub fn to_vec(&self) -> Result<Vec<AlikePair>, PairsError> {
        let mut pairs = Vec::new();
        self.for_each(|pair| pairs.push(pair))?;
        Ok(pairs)
    }

    /// The pairs of one of the first `own` items and a later one.
    ///
    /// Equal later items are alike the same: the first of them speaks for all, so that a thousand
    /// copies here and a thousand there do not make a million pairs.
    pub fn crossing(&self, own: usize) -> Result<Self, PairsError> {
        let is_own = |item: &u32| (*item as usize) < own;
        let mut found = Sorter::new(&self.budget);
        let mut cross = |ones: &[u32], others: &[u32], like: AlikePair| {
            let Some(&b) = others.iter().find(|item| !is_own(item)) else { return Ok(()) };
            let mut ones = ones.iter().copied().filter(is_own);
            ones.try_for_each(|a| found.push(PackedPair::from(AlikePair { a, b, ..like })))
        };
        for group in self.equal.iter() {
            cross(group, group, AlikePair { a: 0, b: 0, closeness: self.equals })?;
        }
        for pair in self.near() {
            let pair = pair?;
            let [ones, others] = [self.equals(&pair.a), self.equals(&pair.b)];
            cross(ones, others, pair)?;
            cross(others, ones, pair)?;
        }
        let near = found.finish()?.into_sorted(&self.budget, Some)?;
        Ok(Self::new(near, Vec::new(), self.equals, self.budget.clone()))
    }

    /// The same without pairs of different items that are not wanted: by those that [`near`] has.
    ///
    /// [`near`]: Self::near
    pub fn wanted(&self, mut is_wanted: impl FnMut(AlikePair) -> bool) -> Result<Self, PairsError> {
        let mut found = Sorter::new(&self.budget);
        for pair in self.near() {
            let pair = pair?;
            if is_wanted(pair) {
                found.push(PackedPair::from(pair))?;
            }
        }
        Ok(Self { near: found.finish()?.into_sorted(&self.budget, Some)?, ..self.clone() })
    }

    /// Links by their `a`, in order: what `links` makes of each pair of different items.
    pub(crate) fn sorted_links<L: IntoIterator<Item = PackedPair>>(
        &self,
        mut links: impl FnMut(PackedPair) -> L,
    ) -> Result<InOrder<PackedPair>, PairsError> {
        let mut sorter = Sorter::new(&self.budget);
        for pair in self.near_packed() {
            links(pair?).into_iter().try_for_each(|link| sorter.push(link))?;
        }
        sorter.finish()
    }
}

impl Default for AlikePairs {
    fn default() -> Self {
        Self::from_pairs(Vec::new())
    }
}

/// Wherever the pairs lie.
impl PartialEq for AlikePairs {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, two)| matches!((one, two), (Ok(one), Ok(two)) if one == two);
        self.equal == other.equal
            && self.equals == other.equals
            && self.near.len() == other.near.len()
            && self.near().zip(other.near()).all(same)
    }
}

/// Items alike by their fingerprints alone.
impl From<&Pairs> for AlikePairs {
    fn from(pairs: &Pairs) -> Self {
        let near = pairs.near().iter().map(|&pair| PackedPair::from(pair)).collect();
        let equal = pairs
            .equal_groups()
            .flat_map(|group| group[1..].iter().map(|&copy| (group[0], copy)))
            .collect();
        Self::new(Sorted::in_memory(near), equal, Closeness::within(0), MemoryBudget::unlimited())
    }
}

/// An [`AlikePair`] as it is stored and sorted.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PackedPair {
    pub a: u32,
    pub b: u32,
    closeness: PackedCloseness,
}

impl Record for PackedPair {
    fn sort_key(&self) -> u64 {
        u64::from(self.a) << 32 | u64::from(self.b)
    }
}

impl PackedPair {
    /// Two others, as close as these.
    pub fn between(self, a: u32, b: u32) -> Self {
        Self { a, b, ..self }
    }

    pub fn closeness(&self) -> Closeness {
        self.closeness.into()
    }
}

impl From<AlikePair> for PackedPair {
    fn from(pair: AlikePair) -> Self {
        let AlikePair { a, b, closeness } = pair;
        Self { a, b, closeness: closeness.into() }
    }
}

impl From<crate::Pair> for PackedPair {
    fn from(pair: crate::Pair) -> Self {
        let crate::Pair { a, b, distance } = pair;
        Self { a, b, closeness: Closeness::within(distance).into() }
    }
}

impl From<PackedPair> for AlikePair {
    fn from(pair: PackedPair) -> Self {
        Self { a: pair.a, b: pair.b, closeness: pair.closeness() }
    }
}
