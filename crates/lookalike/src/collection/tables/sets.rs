//! Feature sets that overlap enough: all of them, by weights and bitmaps; or, where some may be missed,
//! those with a common key.
//!
//! Bitmaps lie in the order of weight, so that a search reads those of a window of weights, one after
//! the other. Keys lie band by band, ascending: a search looks its own keys up.

use rayon::prelude::*;

use super::super::array::{Array, MappedFile};
use crate::{
    Digest,
    hamming::Kernel,
    index::{IndexError, file::Content},
    keys::{Bands, Keys},
    overlap::bitmap::{self, Folds},
    verify::{FeatureSet, Set, Verify},
};

/// How keys are made, if any are kept.
pub type KeyRule = Option<Keys>;

/// The feature sets of the items of a run, without the features.
pub struct SetTable {
    /// Items that have a set, by ascending weight, and these weights.
    order: Array<u32>,
    weights: Array<u32>,
    /// By item: how many features it has.
    lengths: Array<u32>,
    bitmaps: Array<u64>,
    /// Sets of one weight, which have bitmaps of one length.
    groups: Vec<Group>,
    /// Band by band, ascending, and whose they are.
    keys: Array<u32>,
    owners: Array<u32>,
}

#[derive(Clone, Copy)]
struct Group {
    weight: u32,
    /// Where it ends in the order.
    end: usize,
    /// Where its bitmaps begin.
    bitmaps: usize,
}

/// A set that is looked up; made once for all runs.
pub struct Wanted<'a> {
    pub set: Set<'a>,
    folds: Folds,
}

impl<'a> Wanted<'a> {
    pub fn new(set: Set<'a>) -> Self {
        let mut folds = Folds::default();
        folds.take(set.features, set.weight);
        Self { set, folds }
    }
}

impl SetTable {
    /// Calls `on_item` with every item that may overlap enough.
    pub fn scan(
        &self,
        verify: &Verify,
        wanted: &Wanted<'_>,
        kernel: Kernel,
        mut on_item: impl FnMut(u32),
    ) {
        let Verify { measure, similarity, .. } = *verify;
        let own = u64::from(wanted.set.weight);
        let mut start = 0;
        for group in &self.groups {
            let range = std::mem::replace(&mut start, group.end)..group.end;
            let weight = u64::from(group.weight);
            let need = measure.need(similarity, measure.size(own, weight));
            if need > own.min(weight) {
                continue;
            }
            // What they share is in neither difference: own + weight - 2 common >= differing.
            let most = own + weight - 2 * need;
            let words = bitmap::words(group.weight);
            let bitmaps = self.bitmaps[group.bitmaps..].chunks_exact(words);
            for (&item, bitmap) in self.order[range].iter().zip(bitmaps) {
                if u64::from(wanted.folds.differing(bitmap, kernel)) <= most {
                    on_item(item);
                }
            }
        }
    }

    /// Calls `on_item` with every item that has one of these keys, those of the first bands.
    pub fn with_keys(&self, keys: &[u32], mut on_item: impl FnMut(u32)) {
        let items = self.order.len();
        if items == 0 {
            return;
        }
        let bands = self.keys.chunks_exact(items).zip(self.owners.chunks_exact(items));
        for (key, (band, owners)) in keys.iter().zip(bands) {
            let start = band.partition_point(|one| one < key);
            let equal = band[start..].iter().take_while(|one| *one == key);
            owners[start..].iter().zip(equal).for_each(|(&item, _)| on_item(item));
        }
    }

    /// How many features an item has.
    pub fn features(&self, item: u32) -> u64 {
        self.lengths[item as usize].into()
    }

    /// Whether an item has this set, as far as is kept.
    pub fn holds(&self, item: u32, digest: &Digest) -> bool {
        let set = &digest.set;
        if self.features(item) != set.features().len() as u64 || set.weight() == 0 {
            return self.features(item) == 0 && set.weight() == 0;
        }
        let Ok(place) = self.groups.binary_search_by_key(&set.weight(), |group| group.weight)
        else {
            return false;
        };
        let start = place.checked_sub(1).map_or(0, |before| self.groups[before].end);
        let group = self.groups[place];
        let words = bitmap::words(group.weight);
        let mut own = vec![0; words];
        bitmap::flip(set.features(), &mut own);
        let Ok(rank) = self.order[start..group.end].binary_search(&item) else { return false };
        let at = group.bitmaps + rank * words;
        self.bitmaps[at..at + words] == own
    }

    pub fn sections(&self) -> [(Content, &[u8]); 6] {
        [
            (Content::SetOrder, self.order.bytes()),
            (Content::SetWeights, self.weights.bytes()),
            (Content::SetLengths, self.lengths.bytes()),
            (Content::SetBitmaps, self.bitmaps.bytes()),
            (Content::SetKeys, self.keys.bytes()),
            (Content::SetKeyOwners, self.owners.bytes()),
        ]
    }

    pub fn open(
        file: &MappedFile<'_>,
        keys: Option<&Keys>,
        items: usize,
    ) -> Result<Self, IndexError> {
        let weights: Array<u32> = file.array(Content::SetWeights)?;
        let table = Self {
            order: file.array(Content::SetOrder)?,
            groups: groups(&weights),
            weights,
            lengths: file.array(Content::SetLengths)?,
            bitmaps: file.array(Content::SetBitmaps)?,
            keys: file.array(Content::SetKeys)?,
            owners: file.array(Content::SetKeyOwners)?,
        };
        if table.fits(keys, items) {
            return Ok(table);
        }
        Err(file.damaged("the feature sets are not those of the run"))
    }

    fn fits(&self, keys: Option<&Keys>, items: usize) -> bool {
        let sets = self.order.len();
        let words = |&weight: &u32| bitmap::words(weight);
        let all_keys = sets * keys.map_or(0, |keys| keys.bands);
        let is_item = |&item: &u32| (item as usize) < items;
        self.weights.len() == sets
            && self.weights.is_sorted()
            && self.lengths.len() == items
            && self.bitmaps.len() == self.weights.iter().map(words).sum::<usize>()
            && [self.keys.len(), self.owners.len()] == [all_keys; 2]
            && self.order.iter().all(is_item)
            && self.owners.iter().all(is_item)
    }
}

fn groups(weights: &[u32]) -> Vec<Group> {
    let (mut groups, mut end, mut bitmaps) = (Vec::new(), 0, 0);
    for same in weights.chunk_by(|one, two| one == two) {
        end += same.len();
        groups.push(Group { weight: same[0], end, bitmaps });
        bitmaps += same.len() * bitmap::words(same[0]);
    }
    groups
}

/// What is kept of feature sets, item by item.
pub struct SetRows {
    bands: Option<Bands>,
    weights: Vec<u32>,
    lengths: Vec<u32>,
    bitmaps: Vec<u64>,
    /// The keys of all items that have a set.
    keys: Vec<u32>,
}

impl SetRows {
    pub fn new(keys: Option<&Keys>) -> Self {
        let bands = keys.map(|keys| keys.some(0..keys.bands));
        let none = || Vec::new();
        Self { bands, weights: none(), lengths: none(), bitmaps: Vec::new(), keys: none() }
    }

    fn bands(&self) -> usize {
        self.bands.as_ref().map_or(0, Bands::len)
    }

    pub fn push(&mut self, set: &FeatureSet) {
        self.weights.push(set.weight());
        self.lengths.push(set.features().len() as u32);
        if set.weight() == 0 {
            return;
        }
        let start = self.bitmaps.len();
        self.bitmaps.resize(start + bitmap::words(set.weight()), 0);
        bitmap::flip(set.features(), &mut self.bitmaps[start..]);
        if let Some(bands) = &self.bands {
            let start = self.keys.len();
            self.keys.resize(start + bands.len(), 0);
            bands.write(set.features(), &mut self.keys[start..], Kernel::detect());
        }
    }

    /// Adds some items of another table as the next ones.
    pub fn extend(&mut self, table: &SetTable, kept: &[u32]) {
        let mut ranks = vec![u32::MAX; table.lengths.len()];
        (0..).zip(&*table.order).for_each(|(rank, &item)| ranks[item as usize] = rank);
        let starts: Vec<usize> = table
            .weights
            .iter()
            .scan(0, |end, &weight| {
                let start = *end;
                *end += bitmap::words(weight);
                Some(start)
            })
            .collect();
        let first = self.keys.len();
        let mut places = vec![u32::MAX; table.lengths.len()];
        let mut sets = 0;
        for &item in kept {
            let rank = ranks[item as usize] as usize;
            let weight = table.weights.get(rank).copied().unwrap_or(0);
            self.weights.push(weight);
            self.lengths.push(table.lengths[item as usize]);
            if weight > 0 {
                let start = starts[rank];
                self.bitmaps.extend(&table.bitmaps[start..start + bitmap::words(weight)]);
                places[item as usize] = sets;
                sets += 1;
            }
        }
        let bands = self.bands();
        self.keys.resize(first + sets as usize * bands, 0);
        let items = table.order.len().max(1);
        let keys = table.keys.chunks_exact(items).zip(table.owners.chunks_exact(items));
        for (band, (keys, owners)) in keys.enumerate() {
            for (&key, &owner) in keys.iter().zip(owners) {
                let place = places[owner as usize];
                if place != u32::MAX {
                    self.keys[first + place as usize * bands + band] = key;
                }
            }
        }
    }

    pub fn finish(self) -> SetTable {
        let bands = self.bands();
        let Self { weights, lengths, bitmaps, keys, .. } = self;
        let with_sets: Vec<u32> =
            (0..weights.len() as u32).filter(|&item| weights[item as usize] > 0).collect();
        let mut starts = vec![0; weights.len()];
        let mut end = 0;
        for &item in &with_sets {
            starts[item as usize] = end;
            end += bitmap::words(weights[item as usize]);
        }
        let mut order = with_sets.clone();
        order.par_sort_unstable_by_key(|&item| (weights[item as usize], item));
        let mut ordered = Vec::with_capacity(bitmaps.len());
        for &item in &order {
            let start = starts[item as usize];
            ordered.extend(&bitmaps[start..start + bitmap::words(weights[item as usize])]);
        }
        let banded: Vec<Vec<(u32, u32)>> = (0..bands)
            .into_par_iter()
            .map(|band| {
                // There may be no set, and so no key.
                let keys = keys.iter().skip(band).step_by(bands);
                let mut band: Vec<(u32, u32)> =
                    keys.copied().zip(with_sets.iter().copied()).collect();
                band.sort_unstable();
                band
            })
            .collect();
        let weights: Vec<u32> = order.iter().map(|&item| weights[item as usize]).collect();
        let (keys, owners) = banded.into_iter().flatten().unzip();
        SetTable {
            groups: groups(&weights),
            order: Array::Made(order),
            weights: Array::Made(weights),
            lengths: Array::Made(lengths),
            bitmaps: Array::Made(ordered),
            keys: Array::Made(keys),
            owners: Array::Made(owners),
        }
    }
}
