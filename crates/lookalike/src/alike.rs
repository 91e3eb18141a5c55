//! Which items are alike, and how much?
//!
//! [`AlikePairs`] is what a search hands to grouping and reports: pairs of different items, and
//! groups of equal ones. It knows item numbers only.

use crate::{equal::EqualGroups, pairs::Pairs};

/// Two alike items and how alike they are. `a` comes before `b` in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlikePair {
    /// Number of the first item.
    pub a: u32,
    /// Number of the second item, larger than `a`.
    pub b: u32,
    /// Bits in which their fingerprints differ.
    pub distance: u32,
    /// The similarity of their contents, 0 to 1; `None` if only fingerprints were compared.
    pub similarity: Option<f32>,
}

/// Every pair of alike items, with equal items kept together as groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlikePairs {
    near: Vec<AlikePair>,
    equal: EqualGroups,
    /// What equal items have; `None` if only fingerprints were compared.
    equal_similarity: Option<f32>,
}

impl AlikePairs {
    /// `near` are pairs of different items, in any order and each once; `equal` pairs the first of
    /// equal items with every other one, and only firsts occur in `near`.
    pub(crate) fn new(
        mut near: Vec<AlikePair>,
        equal: Vec<(u32, u32)>,
        equal_similarity: Option<f32>,
    ) -> Self {
        near.sort_unstable_by_key(|pair| (pair.a, pair.b));
        Self { near, equal: EqualGroups::new(equal), equal_similarity }
    }

    /// From pairs given one by one, in any order; repeats count once.
    pub fn from_pairs(mut pairs: Vec<AlikePair>) -> Self {
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        Self::new(pairs, Vec::new(), None)
    }

    /// Pairs of different items, equal ones standing by their first; in order of `(a, b)`.
    pub fn near(&self) -> &[AlikePair] {
        &self.near
    }

    /// Groups of equal items, each ascending, in order of their first item.
    pub fn equal_groups(&self) -> impl Iterator<Item = &[u32]> {
        self.equal.iter()
    }

    /// The similarity of equal items: 1, or `None` if only fingerprints were compared.
    pub fn equal_similarity(&self) -> Option<f32> {
        self.equal_similarity
    }

    /// How many pairs [`for_each`](Self::for_each) reports. Does not make them.
    pub fn count(&self) -> u64 {
        self.equal.count_pairs(self.near.iter().map(|pair| (pair.a, pair.b)))
    }

    /// Reports every pair once, in order of `(a, b)`, pairs of equal items included.
    ///
    /// A group of `g` equal items makes `g * (g - 1) / 2` pairs, here and only here.
    pub fn for_each(&self, mut on_pair: impl FnMut(AlikePair)) {
        let near = self.near.iter().map(|pair| (pair.a, pair.b, (pair.distance, pair.similarity)));
        let equal = (0, self.equal_similarity);
        self.equal.for_each_pair(near, equal, |a, b, (distance, similarity)| {
            on_pair(AlikePair { a, b, distance, similarity });
        });
    }

    /// Every pair, as [`for_each`](Self::for_each) reports them.
    pub fn to_vec(&self) -> Vec<AlikePair> {
        let mut pairs = Vec::new();
        self.for_each(|pair| pairs.push(pair));
        pairs
    }
}

/// Items alike by their fingerprints alone.
impl From<&Pairs> for AlikePairs {
    fn from(pairs: &Pairs) -> Self {
        let near = pairs.near().iter().map(|pair| AlikePair {
            a: pair.a,
            b: pair.b,
            distance: pair.distance,
            similarity: None,
        });
        let equal = pairs
            .equal_groups()
            .flat_map(|group| group[1..].iter().map(|&copy| (group[0], copy)))
            .collect();
        Self::new(near.collect(), equal, None)
    }
}
