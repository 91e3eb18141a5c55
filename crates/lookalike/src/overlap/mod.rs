//! Which sets overlap enough, missing none?
//!
//! An exact set-similarity join. [`OverlapIndex`] finds all sets that can be alike a given one;
//! [`Overlaps`] runs it over many sets: all pairs, or star groups. Sets are weighted feature lists;
//! what features stand for, and which fingerprints their items have, is not known here.
//!
//! | file | question |
//! |---|---|
//! | `bounds.rs` | How much must two sets share to be alike? |
//! | `commonness.rs` | How common is a feature, and which features of a set are looked up? |
//! | `bitmap.rs` | What can two sets share at most, by a few bits of each? |
//! | `lists.rs`, `index.rs` | Which entries may be alike a set? |
//! | `sets.rs` | Where are the sets, if memory may not hold them? |
//! | `pairs.rs`, `stars.rs` | Which pairs are alike? Which items belong to which keeper? |

pub(crate) mod bitmap;
mod bounds;
mod commonness;
mod index;
mod lists;
mod pairs;
mod sets;
mod stars;
#[cfg(test)]
mod tests;

use std::{
    ops::Range,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
};

use rayon::prelude::*;

use crate::{
    Closeness,
    hamming::Kernel,
    keys::Keys,
    pairs::PairsError,
    verify::{Set, Verify},
};
use bounds::Bounds;
use commonness::Counts;
use index::{IndexSizes, Order, OverlapIndex, Postings, Probe, Rule};
pub(crate) use sets::{Block, Gathered, Sets};

/// Says how close two sets are, by number, if they are alike.
pub(crate) type Judge<'a> = &'a (dyn Fn(u32, u32, Set<'_>, Set<'_>) -> Option<Closeness> + Sync);

/// A search among many sets. Empty sets take no part.
pub(crate) struct Overlaps<'a> {
    pub sets: &'a Sets,
    /// By set: the weight of all its features.
    pub weights: &'a [u32],
    pub verify: Verify,
    /// If given, only sets with a common key are compared. Else the answer is exact.
    pub keys: Option<Keys>,
    /// How close two sets are, by number, if they are alike: at least as similar as `verify` asks for.
    pub judge: Judge<'a>,
    pub kernel: Kernel,
    /// Bytes that an index may take.
    pub memory: Option<u64>,
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// Work that was done, for people to read and for tests to see that filters filter.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Postings that were read.
    pub visited: AtomicU64,
    /// Pairs that share a listed feature.
    pub candidates: AtomicU64,
    /// Pairs whose sets were compared.
    pub verified: AtomicU64,
}

/// If fewer than one item in this many was dropped, counting again is not worth it.
const WORTH_RECOUNTING: usize = 32;

/// Sets that one thread takes at a time.
const TOGETHER: usize = 64;

/// Bytes of an index for each feature, at most: postings, their lists, bitmaps and a copy of the set.
const BYTES_PER_FEATURE: u64 = 16;
/// The most features of one index: postings are counted in 32 bits.
const MAX_FEATURES: u64 = 1 << 31;

/// What is known before the first index is built.
struct Prepared {
    rule: Rule,
    /// By set: whether it shares enough with others to be alike any.
    is_alive: Vec<bool>,
}

impl Overlaps<'_> {
    /// What is known of all sets.
    fn prepare_all(&self) -> Result<Prepared, PairsError> {
        self.prepare(self.weights.iter().map(|&weight| weight > 0).collect())
    }

    /// Counts the features of the sets that take part, and drops those that have too few in common
    /// with all others.
    fn prepare(&self, takes_part: Vec<bool>) -> Result<Prepared, PairsError> {
        let bounds = Bounds::new(self.verify.measure, self.verify.similarity);
        let counts = Counts::new(self.sets.total(), self.memory.unwrap_or(u64::MAX) / 2);
        let mut is_alive = takes_part;
        self.for_each_alive(&mut is_alive, |set| {
            counts.add(set);
            true
        })?;
        while !bounds.is_everything() {
            let before = is_alive.clone();
            self.for_each_alive(&mut is_alive, |set| {
                u64::from(counts.shared_weight(set)) >= bounds.least_common(set.weight)
            })?;
            let mut dropped: Vec<bool> =
                before.iter().zip(&is_alive).map(|(before, after)| before & !after).collect();
            let count = |some: &[bool]| some.iter().filter(|&&one| one).count();
            if count(&dropped) * WORTH_RECOUNTING <= count(&before) {
                break;
            }
            self.for_each_alive(&mut dropped, |set| {
                counts.subtract(set);
                true
            })?;
        }
        let keys = self.keys.as_ref().map(|keys| keys.some(0..keys.bands));
        let rule = Rule { bounds, commonness: counts.finish(), keys, kernel: self.kernel };
        Ok(Prepared { rule, is_alive })
    }

    /// Asks of every set that is alive whether it stays so.
    fn for_each_alive(
        &self,
        is_alive: &mut [bool],
        stays: impl Fn(Set<'_>) -> bool + Sync,
    ) -> Result<(), PairsError> {
        for range in self.sets.blocks() {
            let block = self.sets.load(range.clone())?;
            let alive = is_alive[range.clone()].par_iter_mut().with_min_len(TOGETHER).enumerate();
            alive.filter(|(_, alive)| **alive).for_each(|(at, alive)| {
                let item = range.start + at;
                let set = Set { features: block.set(item), weight: self.weights[item] };
                *alive = stays(set);
            });
        }
        Ok(())
    }

    /// How many of these sets, from the first on, an index may hold.
    fn slab(&self, items: &[u32]) -> usize {
        let most = self.memory.map_or(MAX_FEATURES, |bytes| bytes / BYTES_PER_FEATURE);
        self.fitting(items, most.min(MAX_FEATURES))
    }

    /// How many of these sets, from the first on, have at most this many features; at least one.
    fn fitting(&self, items: &[u32], features: u64) -> usize {
        let mut sum = 0;
        let fits = |&&item: &&u32| {
            sum += self.sets.len_of(item);
            sum <= features
        };
        items.iter().take_while(fits).count().max(1).min(items.len())
    }

    /// An index with room for all of these sets.
    fn sizes(&self, rule: &Rule, order: Order, items: &[u32], sets: &Gathered<'_>) -> IndexSizes {
        let features = items.iter().map(|&item| self.sets.len_of(item)).sum();
        let sizes = IndexSizes::new(order, features);
        let pool = Pool::<Postings>::default();
        in_chunks(items.len()).for_each(|chunk| {
            pool.with(|postings| {
                for at in chunk {
                    postings.take(rule, order, self.set(sets, items, at));
                    sizes.add(postings);
                }
            });
        });
        sizes
    }

    /// Inserts all of these sets into an index, in this order.
    fn insert_all(
        &self,
        index: &mut OverlapIndex<'_>,
        rule: &Rule,
        order: Order,
        items: &[u32],
        sets: &Gathered<'_>,
    ) {
        let mut postings: Vec<Postings> = Vec::new();
        for start in (0..items.len()).step_by(BATCH) {
            let batch = start..items.len().min(start + BATCH);
            postings.resize_with(batch.len().max(postings.len()), Postings::default);
            let taken = postings[..batch.len()].par_iter_mut().with_min_len(TOGETHER);
            taken.zip(batch.into_par_iter().with_min_len(TOGETHER)).for_each(|(postings, at)| {
                postings.take(rule, order, self.set(sets, items, at));
            });
            let len = items.len().min(start + BATCH) - start;
            postings[..len].iter().for_each(|postings| index.insert(postings));
        }
    }

    fn set<'s>(&self, sets: &'s Gathered<'_>, items: &[u32], at: usize) -> Set<'s> {
        Set { features: sets.features(at), weight: self.weights[items[at] as usize] }
    }
}

/// Sets whose postings wait to be inserted.
const BATCH: usize = if cfg!(test) { 8 } else { 1024 };

/// Positions in ranges of which each is one thread's work.
fn in_chunks(len: usize) -> impl ParallelIterator<Item = Range<usize>> {
    let chunks = len.div_ceil(TOGETHER);
    (0..chunks).into_par_iter().map(move |chunk| {
        let start = chunk * TOGETHER;
        start..len.min(start + TOGETHER)
    })
}

/// Buffers that threads take turns with.
struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Default> Pool<T> {
    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = lock().pop();
        let mut buffers = taken.unwrap_or_default();
        let result = work(&mut buffers);
        lock().push(buffers);
        result
    }
}
