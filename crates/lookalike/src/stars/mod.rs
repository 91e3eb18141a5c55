//! Which items belong to which keeper?
//!
//! Items are taken in keep order: one that is alike an earlier keeper belongs to the *first* such
//! keeper, otherwise it becomes a keeper. Pairs are listed only where there are few of them. Dense
//! items are halved: the first half is grouped, and the second is compared with its keepers, so that
//! many near-identical items cost a look-up each. Items are known by number; what makes two of them
//! alike is said by an implementation of [`Alike`].

mod classes;
mod prints;

use crate::{
    AlikePairs, PairsError, Resources,
    groups::{self, Groups, Member},
};
pub(crate) use classes::Classes;
pub(crate) use prints::NearPrints;

/// The keeper that an item belongs to, and how close the two are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub keeper: u32,
    pub distance: u32,
    pub similarity: Option<f32>,
}

/// Items of which some are alike.
pub(crate) trait Alike {
    /// How many there are.
    fn count(&self) -> usize;

    /// About how many pairs there are among some items.
    fn expected_pairs(&self, items: &[u32]) -> Result<f64, PairsError>;

    /// The pairs among some items, by their positions in `items`.
    fn pairs(&self, items: &[u32]) -> Result<AlikePairs, PairsError>;

    /// By item, the first of `keepers` that it is alike, in their order.
    fn first_alike(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError>;

    /// By number, the keeper that an item belongs to; `None` for keepers, and for items that are not
    /// in `order`.
    fn stars(&self, order: &[u32]) -> Result<Vec<Option<Nearest>>, PairsError>
    where
        Self: Sized,
    {
        let nearest = vec![None; self.count()];
        let mut stars = Stars { items: self, nearest, keepers: Vec::new() };
        stars.take(order)?;
        Ok(stars.nearest)
    }

    /// By number, the first of `keepers` that one of `items` is alike; `None` for all others.
    fn around(&self, keepers: &[u32], items: &[u32]) -> Result<Vec<Option<Nearest>>, PairsError> {
        let mut nearest = vec![None; self.count()];
        for (&item, found) in items.iter().zip(self.first_alike(keepers, items)?) {
            nearest[item as usize] = found;
        }
        Ok(nearest)
    }
}

/// Items, by number, and their keepers as groups.
pub(crate) fn in_groups(nearest: &[Option<Nearest>]) -> Groups {
    let member = |(item, nearest): (u32, &Option<Nearest>)| {
        let Nearest { keeper, distance, similarity } = (*nearest)?;
        Some(Member { item, alike: keeper, distance, similarity })
    };
    groups::around_keepers((0..).zip(nearest).filter_map(member))
}

/// So few items are grouped by their pairs, however many pairs there are.
const FEW_ITEMS: usize = if cfg!(test) { 8 } else { 1024 };
/// Items with more pairs each than this are halved.
const MANY_PAIRS: f64 = 8.0;

struct Stars<'a, A> {
    items: &'a A,
    nearest: Vec<Option<Nearest>>,
    /// In keep order.
    keepers: Vec<u32>,
}

impl<A: Alike> Stars<'_, A> {
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
            for Member { item, distance, similarity, .. } in group.members {
                let item = items[item as usize] as usize;
                self.nearest[item] = Some(Nearest { keeper, distance, similarity });
            }
        }
        let nearest = &self.nearest;
        self.keepers.extend(items.iter().filter(|&&item| nearest[item as usize].is_none()));
        Ok(())
    }
}

/// How many pairs there are among some items, if there are so many among an evenly spread sample, so
/// that those beside each other count no more than others.
pub(crate) fn expected_pairs(
    items: &[u32],
    sample: usize,
    count: impl Fn(&[u32]) -> Result<u64, PairsError>,
) -> Result<f64, PairsError> {
    let step = items.len().div_ceil(sample).max(1);
    let sample: Vec<u32> = items.iter().copied().step_by(step).collect();
    let pairs = count(&sample)? as f64;
    Ok(pairs * (items.len() as f64 / sample.len().max(1) as f64).powi(2))
}

/// Keepers of the first slab. What is near very many of them is found here, and never asked again.
const FIRST_SLAB: usize = if cfg!(test) { 3 } else { 1024 };
/// How many times as many the next one has.
const GROWTH: usize = 8;
/// Eighths of the memory limit for an index of keepers.
const INDEX: u64 = 3;

/// By item, the first of `keepers` that it is alike. Looks at keepers slab by slab, each larger than
/// the one before and within the memory limit; `look` is given a slab and the positions of items that
/// still wait, and returns, for those that are alike one of the slab, the first.
pub(crate) fn first_in_growing_slabs(
    keepers: &[u32],
    items: usize,
    bytes_of_keeper: usize,
    resources: &Resources<'_>,
    mut look: impl FnMut(&[u32], &[usize]) -> Result<Vec<Option<Nearest>>, PairsError>,
) -> Result<Vec<Option<Nearest>>, PairsError> {
    let most = resources.share(INDEX).map_or(usize::MAX, |bytes| bytes as usize / bytes_of_keeper);
    let most = most.max(FIRST_SLAB);
    let mut nearest = vec![None; items];
    let mut waiting: Vec<usize> = (0..items).collect();
    let (mut rest, mut size) = (keepers, FIRST_SLAB);
    while !rest.is_empty() && !waiting.is_empty() {
        let (slab, later) = rest.split_at(size.min(rest.len()));
        for (&at, found) in waiting.iter().zip(look(slab, &waiting)?) {
            nearest[at] = found;
        }
        waiting.retain(|&at| nearest[at].is_none());
        // How much is left is not known.
        resources.report(0.5);
        (rest, size) = (later, size.saturating_mul(GROWTH).min(most));
    }
    Ok(nearest)
}
