//! Which items belong to which keeper?
//!
//! Items are taken in keep order: one that is alike an earlier keeper belongs to the *first* such
//! keeper, otherwise it becomes a keeper. Pairs are listed only where there are few of them. Dense
//! items are halved: the first half is grouped, and the second is compared with its keepers, so that
//! many near-identical items cost a look-up each. Items are known by number; what makes two of them
//! alike is said by an implementation of [`Alike`].

mod judged;
pub(super) mod prints;

use super::{Recall, Search, Stars, classes::Classes, near, overlap, pairs};
use crate::{
    Radius, Resources,
    alike::{AlikePairs, Nearest},
    digest::{Digests, with_prints},
    groups::{self, Groups, Member},
    kind::Lookup,
    pairs::PairsError,
    search::pairs::Looked,
};
use judged::Judged;
use prints::NearPrints;

/// By entry, the keeper that it belongs to, and how that was found.
type Grouped = (Vec<Option<Nearest>>, Looked);

/// Groups around keepers, taken in `order`.
pub(super) fn stars(
    search: &Search<'_>,
    digests: &Digests,
    order: &[u32],
) -> Result<Stars, PairsError> {
    if lists_pairs(search, digests) {
        let super::Pairs { pairs, found } = pairs::find(search, digests)?;
        let groups = groups::star(digests.len() as usize, order, &pairs)?;
        return Ok(Stars { groups, found });
    }
    let by_lookup = |entries: &[u32]| match &search.lookups[..] {
        [Lookup::Overlap { verify, reach }] => {
            overlap::stars(search, digests, (*verify, *reach), entries)
        }
        [Lookup::Near { radius, decides: true, .. }] => {
            near_stars(search, digests, *radius, entries)
        }
        _ => judged_stars(search, digests, entries),
    };
    let (groups, looked) = if digests.shape().is_bare {
        let (nearest, looked) = by_lookup(order)?;
        (in_groups(&nearest), looked)
    } else {
        classes(search, digests).stars(order, by_lookup)?
    };
    Ok(Stars { groups, found: pairs::found(digests, vec![looked]) })
}

/// Groups of the first `own` items around the others.
pub(super) fn against(
    search: &Search<'_>,
    digests: &Digests,
    own: u32,
) -> Result<Stars, PairsError> {
    let items = digests.len();
    if lists_pairs(search, digests) {
        let super::Pairs { pairs, found } = pairs::find(search, digests)?;
        let order: Vec<u32> = (own..items).chain(0..own).collect();
        let groups = groups::star(items as usize, &order, &pairs.crossing(own as usize)?)?;
        return Ok(Stars { groups, found });
    }
    let by_lookup = |keepers: &[u32], entries: &[u32]| match &search.lookups[..] {
        [Lookup::Overlap { verify, reach }] => {
            overlap::around(search, digests, (*verify, *reach), keepers, entries)
        }
        [Lookup::Near { radius, decides: true, .. }] => {
            near_around(search, digests, *radius, keepers, entries)
        }
        _ => {
            let [keepers, entries] = [keepers, entries].map(|some| comparable(digests, some));
            let judged = Judged { search, digests };
            Ok((around(&judged, &keepers, &entries)?, judged.looked()?))
        }
    };
    let (groups, looked) = if digests.shape().is_bare {
        let (nearest, looked) =
            by_lookup(&(own..items).collect::<Vec<_>>(), &(0..own).collect::<Vec<_>>())?;
        (in_groups(&nearest), looked)
    } else {
        classes(search, digests).against(own, by_lookup)?
    };
    Ok(Stars { groups, found: pairs::found(digests, vec![looked]) })
}

/// Whether groups are formed of all pairs: if all items are alike, if the caller forces a plan for
/// pairs, and if fingerprints are in a file.
fn lists_pairs(search: &Search<'_>, digests: &Digests) -> bool {
    let is_every = search.lookups.iter().any(|lookup| matches!(lookup, Lookup::Every));
    let is_held = with_prints!(digests.prints(), |held| held.in_memory().is_some());
    is_every || search.by.blocks.is_some() || !is_held
}

fn classes<'a>(search: &Search<'_>, digests: &'a Digests) -> Classes<'a> {
    let equals = search.kind.equal(&search.by);
    Classes::new(digests.len(), digests.firsts(), digests.equal(), equals)
}

/// Those of some entries that are not alike others by their key only.
fn comparable(digests: &Digests, entries: &[u32]) -> Vec<u32> {
    entries.iter().copied().filter(|&entry| digests.at(entry).key().is_none()).collect()
}

fn judged_stars(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
) -> Result<Grouped, PairsError> {
    let judged = Judged { search, digests };
    Ok((group(&judged, &comparable(digests, entries))?, judged.looked()?))
}

fn near_stars(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
    entries: &[u32],
) -> Result<Grouped, PairsError> {
    near_by(search, digests, radius, |near| match digests.all_comparable() {
        true => group(near, entries),
        false => group(near, &comparable(digests, entries)),
    })
}

fn near_around(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
    keepers: &[u32],
    entries: &[u32],
) -> Result<Grouped, PairsError> {
    let [keepers, entries] = [keepers, entries].map(|some| comparable(digests, some));
    near_by(search, digests, radius, |near| around(near, &keepers, &entries))
}

fn near_by(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
    run: impl Fn(&dyn Alike) -> Result<Vec<Option<Nearest>>, PairsError>,
) -> Result<Grouped, PairsError> {
    let nearest = with_prints!(digests.prints(), |held| {
        let prints = held.in_memory().unwrap_or_default();
        run(&NearPrints { prints, radius, resources: search.resources })
    })?;
    let plan = near::plan_words(search, digests, radius)?;
    Ok((nearest, Looked { recall: Recall::Exact, plan, judged: 0 }))
}

/// Items of which some are alike.
trait Alike {
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
}

/// By number, the keeper that an item belongs to; `None` for keepers, and for items that are not in
/// `order`.
fn group(items: &dyn Alike, order: &[u32]) -> Result<Vec<Option<Nearest>>, PairsError> {
    let mut grouping = Grouping { items, nearest: vec![None; items.count()], keepers: Vec::new() };
    grouping.take(order)?;
    Ok(grouping.nearest)
}

/// By number, the first of `keepers` that one of `some` is alike; `None` for all others.
fn around(
    items: &dyn Alike,
    keepers: &[u32],
    some: &[u32],
) -> Result<Vec<Option<Nearest>>, PairsError> {
    let mut nearest = vec![None; items.count()];
    for (&item, found) in some.iter().zip(items.first_alike(keepers, some)?) {
        nearest[item as usize] = found;
    }
    Ok(nearest)
}

/// Items, by number, and their keepers as groups.
fn in_groups(nearest: &[Option<Nearest>]) -> Groups {
    let member = |(item, nearest): (u32, &Option<Nearest>)| {
        let Nearest { keeper, closeness } = (*nearest)?;
        Some(Member { item, alike: keeper, closeness })
    };
    groups::around_keepers((0..).zip(nearest).filter_map(member))
}

/// So few items are grouped by their pairs, however many pairs there are.
const FEW_ITEMS: usize = if cfg!(test) { 8 } else { 1024 };
/// Items with more pairs each than this are halved.
const MANY_PAIRS: f64 = 8.0;

struct Grouping<'a> {
    items: &'a dyn Alike,
    nearest: Vec<Option<Nearest>>,
    /// In keep order.
    keepers: Vec<u32>,
}

impl Grouping<'_> {
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
            for Member { item, closeness, .. } in group.members {
                let item = items[item as usize] as usize;
                self.nearest[item] = Some(Nearest { keeper, closeness });
            }
        }
        let nearest = &self.nearest;
        self.keepers.extend(items.iter().filter(|&&item| nearest[item as usize].is_none()));
        Ok(())
    }
}

/// How many pairs there are among some items, if there are so many among an evenly spread sample, so
/// that those beside each other count no more than others.
fn expected_pairs(
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
fn first_in_growing_slabs(
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
