//! How common is a feature, and which features of a set are looked up?
//!
//! Features are counted in *slots*, by their upper bits. A collision makes a feature look more common
//! than it is; that may cost time, but never a pair: any one order of features serves, as long as
//! all sets use the same.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{
    hamming::prefetch,
    verify::{Set, TWICE},
};

/// How many items have the features of each slot.
pub(crate) struct Counts {
    shift: u32,
    counts: Vec<AtomicU32>,
}

impl Counts {
    /// For about `features` features, in at most `bytes` bytes.
    pub fn new(features: u64, bytes: u64) -> Self {
        let most = (bytes / size_of::<AtomicU32>() as u64).max(1);
        let slots = (features / FEATURES_PER_SLOT).clamp(MIN_SLOTS, most.max(MIN_SLOTS));
        let bits = slots.next_power_of_two().trailing_zeros().min(31);
        let counts = std::iter::repeat_with(AtomicU32::default).take(1 << bits).collect();
        Self { shift: 32 - bits, counts }
    }

    pub fn add(&self, set: Set<'_>) {
        self.each(set, |_, count| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    }

    pub fn subtract(&self, set: Set<'_>) {
        self.each(set, |_, count| {
            count.fetch_sub(1, Ordering::Relaxed);
        });
    }

    fn each(&self, set: Set<'_>, mut on_count: impl FnMut(u32, &AtomicU32)) {
        for (at, &feature) in set.features.iter().enumerate() {
            if let Some(&later) = set.features.get(at + AHEAD) {
                prefetch(self.counts.get((later >> self.shift) as usize));
            }
            on_count(feature, &self.counts[(feature >> self.shift) as usize]);
        }
    }

    /// The weight of those features of a set that another item may have, too.
    pub fn shared_weight(&self, set: Set<'_>) -> u32 {
        let mut weight = 0;
        self.each(set, |feature, count| {
            let is_shared = count.load(Ordering::Relaxed) > 1;
            weight += if is_shared { 1 + (feature & TWICE) } else { 0 };
        });
        weight
    }

    pub fn finish(self) -> Commonness {
        let class = |count: AtomicU32| class_of(count.into_inner());
        Commonness { shift: self.shift, classes: self.counts.into_iter().map(class).collect() }
    }
}

/// How many features ahead memory is asked for: a slot is somewhere else for each of them.
const AHEAD: usize = 24;

const FEATURES_PER_SLOT: u64 = if cfg!(test) { 1 } else { 4 };
/// Few in tests, so that they see collisions.
const MIN_SLOTS: u64 = if cfg!(test) { 4 } else { 1 << 10 };

/// Classes for each doubling of a count.
const STEPS: u32 = 4;
/// The class of what only one item has.
const UNIQUE: u8 = 0;
/// One more than the highest rank: classes of all counts, and a doubling for features that count once.
const RANKS: usize = 1 + (33 * STEPS + STEPS) as usize;

/// Grows with the logarithm of a count.
fn class_of(count: u32) -> u8 {
    if count < 2 {
        return UNIQUE;
    }
    let log = count.ilog2();
    // The two bits below the highest one: a quarter of a doubling.
    let quarter = (u64::from(count) << 2 >> log) as u32 & (STEPS - 1);
    (1 + log * STEPS + quarter) as u8
}

/// The class of every slot: how common its features are.
pub(crate) struct Commonness {
    shift: u32,
    classes: Vec<u8>,
}

/// A feature and what its set weighs from there on, in the order of all features.
#[derive(Clone, Copy)]
pub(crate) struct Ranked {
    pub feature: u32,
    /// The weight of this feature and of all that follow it.
    pub rest: u32,
}

/// Puts sets in order; keeps its buffers.
#[derive(Default)]
pub(crate) struct Ranker {
    ranks: Vec<u8>,
    order: Vec<Ranked>,
    /// Features that other items may have, too, in the order of the set.
    shared: Vec<u32>,
}

impl Commonness {
    /// Where a feature stands among all: rare ones first, those that count once twice as far back.
    #[inline]
    fn rank(&self, feature: u32) -> u8 {
        match self.classes[(feature >> self.shift) as usize] {
            UNIQUE => UNIQUE,
            class if feature & TWICE != 0 => class,
            class => class + STEPS as u8,
        }
    }
}

impl Ranker {
    /// Takes a set and returns the weight of its shared features: [`shared`](Self::shared).
    pub fn take(&mut self, commonness: &Commonness, set: Set<'_>) -> u32 {
        self.shared.clear();
        self.ranks.clear();
        let mut weight = 0;
        for (at, &feature) in set.features.iter().enumerate() {
            if let Some(&later) = set.features.get(at + AHEAD) {
                prefetch(commonness.classes.get((later >> commonness.shift) as usize));
            }
            let rank = commonness.rank(feature);
            if rank != UNIQUE {
                self.shared.push(feature);
                self.ranks.push(rank);
                weight += 1 + (feature & TWICE);
            }
        }
        weight
    }

    /// The features that are not unique.
    pub fn shared(&self) -> &[u32] {
        &self.shared
    }

    /// Of the set that was taken, the features from which on it weighs at least `least`: the first
    /// feature that it shares with a partner is among them.
    pub fn prefix(&mut self, weight: u32, least: u64) -> &[Ranked] {
        let mut starts = [0u32; RANKS + 1];
        let mut weights = [0u32; RANKS];
        for (&feature, &rank) in self.shared.iter().zip(&self.ranks) {
            starts[rank as usize + 1] += 1;
            weights[rank as usize] += 1 + (feature & TWICE);
        }
        // Ranks that begin too late are left out as a whole.
        let mut rest = u64::from(weight);
        let mut end = 0;
        while end < RANKS && rest >= least.max(1) {
            rest -= u64::from(weights[end]);
            starts[end + 1] += starts[end];
            end += 1;
        }
        let len = starts[end] as usize;
        self.order.resize(len, Ranked { feature: 0, rest: 0 });
        for (&feature, &rank) in self.shared.iter().zip(&self.ranks) {
            if (rank as usize) < end {
                let place = &mut starts[rank as usize];
                self.order[*place as usize].feature = feature;
                *place += 1;
            }
        }
        let mut rest = weight;
        let mut kept = 0;
        for ranked in &mut self.order {
            if u64::from(rest) < least.max(1) {
                break;
            }
            ranked.rest = rest;
            rest -= 1 + (ranked.feature & TWICE);
            kept += 1;
        }
        &self.order[..kept]
    }
}
