//! Finds feature sets that may overlap enough, by weights and bitmaps: among all sets, or, if the
//! search may miss some, among those with a common key.
//!
//! Bitmaps are sorted by weight, so that a search reads those of a range of weights sequentially. Keys
//! are sorted within each band, so that a search can look up its own keys.

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

/// How keys are made; `None` if no keys are stored.
pub type KeyRule = Option<Keys>;

/// The feature sets of the items of a run, without the features.
pub struct SetTable {
    /// The items that have a set, by ascending weight, and these weights.
    order: Array<u32>,
    weights: Array<u32>,
    /// By item: its position in this order, or `NONE`.
    ranks: Vec<u32>,
    /// By item: its number of features.
    lengths: Array<u32>,
    bitmaps: Array<u64>,
    /// The sets of each weight, which have bitmaps of equal length.
    groups: Vec<Group>,
    /// The keys band by band, ascending within a band, and the item of each.
    keys: Array<u32>,
    owners: Array<u32>,
}

#[derive(Clone, Copy)]
struct Group {
    weight: u32,
    /// The end of the group in the order.
    end: usize,
    /// The start of its bitmaps.
    bitmaps: usize,
}

/// The rank of an item without a set.
const NONE: u32 = u32::MAX;

/// A set to search for, and the overlap that a match needs.
pub struct SetQuery<'a> {
    set: Set<'a>,
    folds: Folds,
    verify: Verify,
    kernel: Kernel,
}

impl<'a> SetQuery<'a> {
    pub fn new(set: Set<'a>, verify: Verify, kernel: Kernel) -> Self {
        let mut folds = Folds::default();
        folds.take(set.features, set.weight);
        Self { set, folds, verify, kernel }
    }

    /// The largest difference that a set of this weight may have; `None` if it is too light or heavy.
    fn max_differing(&self, weight: u32) -> Option<u64> {
        let Verify { measure, similarity, .. } = self.verify;
        let (own, weight) = (u64::from(self.set.weight), u64::from(weight));
        let need = measure.need(similarity, measure.size(own, weight));
        // The common part is in neither difference: own + weight - 2 common >= differing.
        (need <= own.min(weight)).then(|| own + weight - 2 * need)
    }

    fn differing(&self, bitmap: &[u64]) -> u64 {
        self.folds.differing(bitmap, self.kernel).into()
    }
}

impl SetTable {
    /// Calls `on_item` with every item that may overlap enough.
    pub fn scan(&self, query: &SetQuery<'_>, mut on_item: impl FnMut(u32)) {
        let mut start = 0;
        for group in &self.groups {
            let range = std::mem::replace(&mut start, group.end)..group.end;
            let Some(max) = query.max_differing(group.weight) else { continue };
            let words = bitmap::words(group.weight);
            let bitmaps = self.bitmaps[group.bitmaps..].chunks_exact(words);
            for (&item, bitmap) in self.order[range].iter().zip(bitmaps) {
                if query.differing(bitmap) <= max {
                    on_item(item);
                }
            }
        }
    }

    /// Calls `on_item` with every item that may overlap enough and has one of these keys of the first
    /// bands; several times for an item with several of them.
    pub fn with_keys(&self, keys: &[u32], query: &SetQuery<'_>, mut on_item: impl FnMut(u32)) {
        let items = self.order.len();
        if items == 0 {
            return;
        }
        let bands = self.keys.chunks_exact(items).zip(self.owners.chunks_exact(items));
        for (key, (band, owners)) in keys.iter().zip(bands) {
            let start = band.partition_point(|one| one < key);
            let equal = band[start..].iter().take_while(|one| *one == key);
            let owners = owners[start..].iter().zip(equal).map(|(&item, _)| item);
            // Reading a record takes far longer than comparing bitmaps.
            owners.filter(|&item| self.may_overlap(query, item)).for_each(&mut on_item);
        }
    }

    fn may_overlap(&self, query: &SetQuery<'_>, item: u32) -> bool {
        self.bitmap(item).is_some_and(|(weight, bitmap)| {
            query.max_differing(weight).is_some_and(|max| query.differing(bitmap) <= max)
        })
    }

    /// The weight and the bitmap of an item; `None` if it has no set.
    fn bitmap(&self, item: u32) -> Option<(u32, &[u64])> {
        let rank = self.ranks[item as usize];
        let weight = *self.weights.get(rank as usize)?;
        let place = self.groups.partition_point(|group| group.weight < weight);
        let start = place.checked_sub(1).map_or(0, |before| self.groups[before].end);
        let words = bitmap::words(weight);
        let at = self.groups[place].bitmaps + (rank as usize - start) * words;
        Some((weight, &self.bitmaps[at..at + words]))
    }

    /// The number of features of an item.
    pub fn features(&self, item: u32) -> u64 {
        self.lengths[item as usize].into()
    }

    /// Whether the entry of an item is that of this digest's set.
    pub fn holds(&self, item: u32, digest: &Digest) -> bool {
        let set = &digest.set;
        if self.features(item) != set.features().len() as u64 || set.weight() == 0 {
            return self.features(item) == 0 && set.weight() == 0;
        }
        let mut own = vec![0; bitmap::words(set.weight())];
        bitmap::flip(set.features(), &mut own);
        self.bitmap(item) == Some((set.weight(), &own))
    }

    /// The memory in use besides the sections, in bytes.
    pub fn rank_bytes(&self) -> usize {
        size_of_val(&*self.ranks)
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
        let order: Array<u32> = file.array(Content::SetOrder)?;
        let table = Self {
            ranks: ranks(&order, items),
            order,
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

/// The positions of items in an order.
fn ranks(order: &[u32], items: usize) -> Vec<u32> {
    let mut ranks = vec![NONE; items];
    for (rank, &item) in (0..).zip(order) {
        // A damaged file may contain any number; `fits` refuses it afterwards.
        if let Some(place) = ranks.get_mut(item as usize) {
            *place = rank;
        }
    }
    ranks
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

/// Collects the entries of feature sets, item by item.
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

    /// Adds items of another table as the next ones.
    pub fn extend(&mut self, table: &SetTable, kept: &[u32]) {
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
            let rank = table.ranks[item as usize] as usize;
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
                // Without sets, there are no keys.
                let keys = keys.iter().skip(band).step_by(bands);
                let mut band: Vec<(u32, u32)> =
                    keys.copied().zip(with_sets.iter().copied()).collect();
                band.sort_unstable();
                band
            })
            .collect();
        let items = weights.len();
        let weights: Vec<u32> = order.iter().map(|&item| weights[item as usize]).collect();
        let (keys, owners) = banded.into_iter().flatten().unzip();
        SetTable {
            groups: groups(&weights),
            ranks: ranks(&order, items),
            order: Array::Owned(order),
            weights: Array::Owned(weights),
            lengths: Array::Owned(lengths),
            bitmaps: Array::Owned(ordered),
            keys: Array::Owned(keys),
            owners: Array::Owned(owners),
        }
    }
}
