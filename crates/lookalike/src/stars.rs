//! Which items belong to which keeper, by their fingerprints?
//!
//! Items are taken in keep order: one that is alike an earlier keeper belongs to the *first* such
//! keeper, otherwise it becomes a keeper. Pairs are listed only where there are few of them. Dense
//! items are halved: the first half is grouped, and the second is compared with its keepers, so that
//! many near-identical items cost a look-up each. Items are known by number, and alike if their
//! fingerprints are within a radius.

use crate::{
    AlikePairs, AllPairs, Fingerprint, PairsError, Radius, Resources, Search, StaticIndex, groups,
};

/// The keeper that an item belongs to, and how far apart the two are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nearest {
    pub keeper: u32,
    pub distance: u32,
}

/// So few items are grouped by their pairs, however many pairs there are.
const FEW_ITEMS: usize = if cfg!(test) { 8 } else { 1024 };
/// Items with more pairs each than this are halved.
const MANY_PAIRS: f64 = 8.0;

struct Stars<'a, const WORDS: usize> {
    items: &'a NearPrints<'a, WORDS>,
    nearest: Vec<Option<Nearest>>,
    /// In keep order.
    keepers: Vec<u32>,
}

impl<const WORDS: usize> Stars<'_, WORDS> {
    /// Groups some items, none of which is alike a keeper so far.
    fn take(&mut self, items: &[u32]) -> Result<(), PairsError> {
        if items.len() <= FEW_ITEMS
            || self.items.expected_pairs(items)? <= MANY_PAIRS * items.len() as f64
        {
            return self.take_by_pairs(items);
        }
        let (first, second) = items.split_at(items.len() / 2);
        let before = self.keepers.len();
        self.take(first)?;
        let found = self.items.first_alike(&self.keepers[before..], second)?;
        let mut rest = Vec::new();
        for (&item, nearest) in second.iter().zip(found) {
            self.nearest[item as usize] = nearest;
            if nearest.is_none() {
                rest.push(item);
            }
        }
        self.take(&rest)
    }

    fn take_by_pairs(&mut self, items: &[u32]) -> Result<(), PairsError> {
        let pairs = self.items.pairs(items)?;
        let order: Vec<u32> = (0..items.len() as u32).collect();
        for group in groups::star(items.len(), &order, &pairs)? {
            let keeper = items[group.keep as usize];
            for member in group.members {
                let item = items[member.item as usize] as usize;
                self.nearest[item] = Some(Nearest { keeper, distance: member.distance });
            }
        }
        let nearest = &self.nearest;
        self.keepers.extend(items.iter().filter(|&&item| nearest[item as usize].is_none()));
        Ok(())
    }
}

/// Items that are alike if their fingerprints are within a radius.
pub(crate) struct NearPrints<'a, const WORDS: usize> {
    pub prints: &'a [Fingerprint<WORDS>],
    pub radius: Radius,
    pub resources: &'a Resources<'a>,
}

impl<const WORDS: usize> NearPrints<'_, WORDS> {
    /// By item, the keeper that it belongs to; `None` for keepers, and for items that are not in
    /// `order`.
    pub fn stars(&self, order: &[u32]) -> Result<Vec<Option<Nearest>>, PairsError> {
        let nearest = vec![None; self.prints.len()];
        let mut stars = Stars { items: self, nearest, keepers: Vec::new() };
        stars.take(order)?;
        Ok(stars.nearest)
    }

    fn prints(&self, items: &[u32]) -> Vec<Fingerprint<WORDS>> {
        items.iter().map(|&item| self.prints[item as usize]).collect()
    }

    /// The pairs among some items, by their positions in `items`.
    fn pairs(&self, items: &[u32]) -> Result<AlikePairs, PairsError> {
        let search = AllPairs::new(self.radius).resources(self.resources.clone());
        Ok(AlikePairs::from(&search.run(&self.prints(items))?))
    }

    /// About how many pairs there are among some items.
    fn expected_pairs(&self, items: &[u32]) -> Result<f64, PairsError> {
        // Evenly spread, so that those beside each other count no more than others.
        let step = items.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<u32> = items.iter().copied().step_by(step).collect();
        let pairs = AllPairs::new(self.radius).run(&self.prints(&sample))?.count() as f64;
        Ok(pairs * (items.len() as f64 / sample.len().max(1) as f64).powi(2))
    }

    /// By item, the first of `keepers` that it is alike, in their order.
    pub fn first_alike(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let mut nearest = vec![None; items.len()];
        let mut waiting: Vec<usize> = (0..items.len()).collect();
        let queries = self.prints(items);
        in_growing_slabs(keepers, WORDS, self.resources, |keepers| {
            let index = self.index(keepers)?;
            let some: Vec<_> = waiting.iter().map(|&at| queries[at]).collect();
            index.par_search_batch(&some, self.radius, |query, found| {
                let first = &mut nearest[waiting[query]];
                let keeper = found.id;
                if first.is_none_or(|first: Nearest| keeper < first.keeper) {
                    *first = Some(Nearest { keeper, distance: found.distance });
                }
            })?;
            // From positions in this slab to items.
            for &at in &waiting {
                if let Some(first) = &mut nearest[at] {
                    first.keeper = keepers[first.keeper as usize];
                }
            }
            waiting.retain(|&at| nearest[at].is_none());
            // How much is left is not known.
            self.resources.report(0.5);
            Ok(!waiting.is_empty())
        })?;
        Ok(nearest)
    }

    fn index(&self, keepers: &[u32]) -> Result<StaticIndex<WORDS>, PairsError> {
        let kernel = self.resources.kernel_to_use();
        Ok(StaticIndex::build_with(&self.prints(keepers), self.radius, kernel)?)
    }
}

/// Fingerprints of which the pairs are counted, to tell how many there are of all.
const SAMPLE: usize = if cfg!(test) { 16 } else { 8192 };

/// Keepers of the first slab. What is near very many of them is found here, and never asked again.
const FIRST_SLAB: usize = if cfg!(test) { 3 } else { 1024 };
/// How many times as many the next one has.
const GROWTH: usize = 8;

/// Looks at keepers slab by slab, each larger than the one before and within the memory limit, until
/// `look` says that nobody waits any more.
fn in_growing_slabs(
    keepers: &[u32],
    words: usize,
    resources: &Resources<'_>,
    mut look: impl FnMut(&[u32]) -> Result<bool, PairsError>,
) -> Result<(), PairsError> {
    // An index takes some 64 bytes beside the fingerprint.
    let fitting = |bytes: u64| bytes as usize / (64 + 8 * words);
    let most = resources.share(INDEX).map_or(usize::MAX, fitting).max(FIRST_SLAB);
    let (mut rest, mut size) = (keepers, FIRST_SLAB);
    while !rest.is_empty() {
        let (slab, later) = rest.split_at(size.min(rest.len()));
        if !look(slab)? {
            break;
        }
        (rest, size) = (later, size.saturating_mul(GROWTH).min(most));
    }
    Ok(())
}

/// Eighths of the memory limit for an index of keepers.
const INDEX: u64 = 3;
