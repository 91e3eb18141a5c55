//! Pairs of matching items, with groups of equal ones.
//!
//! A search returns [`AlikePairs`] to grouping and reports: pairs of different items, and groups of
//! equal items. Pairs are in memory, or in a temporary file if they exceed the memory limit, and are
//! always read one by one, in order. Items are known by their numbers only.

use bytemuck::{Pod, Zeroable};

use crate::{
    Closeness,
    closeness::PackedCloseness,
    equal::EqualGroups,
    listing::Listing,
    pairs::{Pairs, PairsError},
    sorted::{InOrder, MemoryBudget, Record, Sorted, SortedIter, Sorter},
};

/// Two matching items and their closeness. `a` comes before `b` in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlikePair {
    /// The number of the first item.
    pub a: u32,
    /// The number of the second item, larger than `a`.
    pub b: u32,
    /// Their closeness.
    pub closeness: Closeness,
}

/// The keeper that an item belongs to, and the closeness of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub keeper: u32,
    pub closeness: Closeness,
}

/// The pairs of equal items to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equals {
    /// Every pair.
    #[default]
    All,
    /// Only the first of a group of equal items has pairs: one with each of its equals, and those with
    /// other items.
    First,
}

/// All pairs of matching items, with equal items as groups.
///
/// ```
/// use lookalike::{Closeness, search::{AlikePair, AlikePairs}};
///
/// let pair = |a, b| AlikePair { a, b, closeness: Closeness::within(3) };
/// let pairs = AlikePairs::from_pairs(vec![pair(1, 2), pair(0, 1)]);
/// let listed: Vec<_> = pairs.to_vec()?.iter().map(|pair| (pair.a, pair.b)).collect();
/// assert_eq!(listed, [(0, 1), (1, 2)]);
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct AlikePairs {
    near: Sorted<PackedPair>,
    equal: EqualGroups,
    /// The closeness of equal items.
    equals: Closeness,
    /// The memory for whatever is computed from the pairs.
    budget: MemoryBudget,
}

impl AlikePairs {
    /// `near` has pairs of different items, each once. `equal` pairs the first of equal items with
    /// every other one; only these first items occur in `near`.
    pub(crate) fn new(
        near: Sorted<PackedPair>,
        equal: Vec<(u32, u32)>,
        equals: Closeness,
        budget: MemoryBudget,
    ) -> Self {
        Self { near, equal: EqualGroups::new(equal), equals, budget }
    }

    /// From pairs in any order; repeats count once.
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

    /// Pairs of different items in order of `(a, b)`. The first of equal items represents them.
    ///
    /// Fails only if the pairs are in a temporary file that cannot be read.
    pub fn near(&self) -> impl Iterator<Item = Result<AlikePair, PairsError>> {
        self.near.iter().map(|pair| pair.map(AlikePair::from))
    }

    /// [`near`](Self::near), as they are stored.
    pub(crate) fn near_packed(&self) -> SortedIter<'_, PackedPair> {
        self.near.iter()
    }

    /// Groups of equal items, each ascending, in order of their first items.
    pub fn equal_groups(&self) -> impl Iterator<Item = &[u32]> {
        self.equal.iter()
    }

    /// All items that an item of [`near`](Self::near) represents: itself and its equals, ascending.
    pub fn equals<'a>(&'a self, first: &'a u32) -> &'a [u32] {
        self.equal.of(*first).unwrap_or(std::slice::from_ref(first))
    }

    /// The closeness of equal items.
    pub fn equal_closeness(&self) -> Closeness {
        self.equals
    }

    /// The number of pairs that [`for_each`](Self::for_each) reports, without enumerating them.
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

    /// Reports every pair once, in order of `(a, b)`, including pairs of equal items.
    ///
    /// A group of `g` equal items has `g * (g - 1) / 2` pairs. They exist only here.
    pub fn for_each(&self, mut on_pair: impl FnMut(AlikePair)) -> Result<(), PairsError> {
        self.list(Equals::All, |pair| {
            on_pair(pair);
            Ok(())
        })
    }

    /// [`for_each`](Self::for_each) with a choice of the pairs of equal items. Stops at the first
    /// error.
    pub fn list<E: From<PairsError>>(
        &self,
        equals: Equals,
        on_pair: impl FnMut(AlikePair) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { near, equal, equals: closeness, budget } = self;
        let listing = Listing::new(equal, *closeness, equals);
        listing.for_each(|| near.iter(), budget, on_pair)
    }

    /// All pairs, as [`for_each`](Self::for_each) reports them.
    pub fn to_vec(&self) -> Result<Vec<AlikePair>, PairsError> {
        let mut pairs = Vec::new();
        self.for_each(|pair| pairs.push(pair))?;
        Ok(pairs)
    }

    /// The pairs between the first `own` items and the later ones.
    ///
    /// The first of equal later items represents all of them, so a thousand copies on each side do not
    /// make a million pairs.
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

    /// The same with a filter for pairs of different items, which is asked about those of [`near`].
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

    /// The links that `links` makes of each pair of different items, ordered by `a`.
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

/// Pairs in memory or in a file.
impl PartialEq for AlikePairs {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, two)| matches!((one, two), (Ok(one), Ok(two)) if one == two);
        self.equal == other.equal
            && self.equals == other.equals
            && self.near.len() == other.near.len()
            && self.near().zip(other.near()).all(same)
    }
}

/// Items that match by their fingerprints alone.
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

/// An [`AlikePair`] in its stored form, which sorts by `(a, b)`.
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
    /// Another pair with the same closeness.
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

impl From<crate::pairs::Pair> for PackedPair {
    fn from(pair: crate::pairs::Pair) -> Self {
        let crate::pairs::Pair { a, b, distance } = pair;
        Self { a, b, closeness: Closeness::within(distance).into() }
    }
}

impl From<PackedPair> for AlikePair {
    fn from(pair: PackedPair) -> Self {
        Self { a: pair.a, b: pair.b, closeness: pair.closeness() }
    }
}
