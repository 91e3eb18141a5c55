//! Which entries may be alike a set?

use std::ops::Range;

use super::{
    bitmap::{self, Folds},
    bounds::Bounds,
    commonness::{Commonness, Ranker},
    lists::{ListSizes, Lists, Part, Posting},
};
use crate::{
    hamming::{Kernel, prefetch},
    keys::Bands,
    verify::Set,
};

/// What all indexes of one search have in common: when two sets are alike, how common features are,
/// and how candidates are found.
pub(crate) struct Rule {
    pub bounds: Bounds,
    pub commonness: Commonness,
    /// If there are any, only sets with a common key are candidates.
    pub keys: Option<Bands>,
    pub kernel: Kernel,
}

/// The order in which entries are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ascending weight; a set is only looked up among entries that are not heavier.
    Weight,
    /// Any.
    Any,
}

/// Sets by their rare features: finds every entry that can be alike a set.
///
/// Fix one order of all features, rare ones first. Two alike sets share at least `need`, so their
/// first common feature is where at least so much of both is still to come: in the *prefix* of each.
/// Entries are listed by the features of their prefix, and looked up by those of the other's.
///
/// In any pair, the feature is in the short prefix of the lighter set: from there on it has what it
/// shares with a set that is at least as heavy. What the long prefix of a heavier set has beyond its
/// short one is in lists of its own, which are read for the short prefix of a lighter set only.
pub(crate) struct OverlapIndex<'r> {
    rule: &'r Rule,
    order: Order,
    entries: Vec<Entry>,
    /// By entry, once more: they are looked at all the time, and so lie close together.
    weights: Vec<u32>,
    bitmaps: Vec<u64>,
    /// The long ones only if entries come in any order.
    lists: Lists,
    /// By weight, up to some: the first entry that is as heavy.
    firsts: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Entry {
    weight: u32,
    /// The weight of the features that are not unique.
    shared: u32,
    /// Where its bitmap begins, and its words.
    bitmap: u32,
    words: u32,
}

/// Weights beyond are looked for.
const FIRSTS: usize = 1 << 20;

/// Room for the entries of an index, counted from any thread before the first of them is inserted.
pub(crate) struct IndexSizes {
    order: Order,
    lists: ListSizes,
}

/// How many features of a set are asked for before they are needed, and places twice as far ahead.
const AHEAD: usize = 16;

impl IndexSizes {
    /// For sets that have about this many features together.
    pub fn new(order: Order, features: u64) -> Self {
        let parts = match order {
            Order::Weight => 1,
            Order::Any => 2,
        };
        Self { order, lists: ListSizes::new(features / 3, parts) }
    }

    /// Makes room for a set.
    pub fn add(&self, postings: &Postings) {
        let listed = &postings.listed;
        for (at, &(part, feature, _)) in listed.iter().enumerate() {
            if let Some(&(part, later, _)) = listed.get(at + AHEAD) {
                self.lists.prefetch(part, later);
            }
            self.lists.add(part, feature);
        }
    }
}

/// Where a set is listed; keeps its buffers.
#[derive(Default)]
pub(crate) struct Postings {
    ranker: Ranker,
    keys: Vec<u32>,
    listed: Vec<(Part, u32, u32)>,
    weight: u32,
    shared: u32,
}

impl Postings {
    pub fn take(&mut self, rule: &Rule, order: Order, set: Set<'_>) {
        let Rule { bounds, commonness, keys, kernel } = rule;
        self.weight = set.weight;
        self.shared = self.ranker.take(commonness, set);
        self.listed.clear();
        if let Some(bands) = keys {
            self.keys.resize(bands.len(), 0);
            bands.write(set.features, &mut self.keys, *kernel);
            self.listed.extend(self.keys.iter().map(|&key| (Part::Short, key, key)));
            return;
        }
        let short = bounds.least_common_with_heavier(set.weight);
        let least = match order {
            Order::Weight => short,
            Order::Any => bounds.least_common(set.weight),
        };
        let prefix = self.ranker.prefix(self.shared, least);
        self.listed.extend(prefix.iter().map(|ranked| {
            let part = if u64::from(ranked.rest) >= short { Part::Short } else { Part::Long };
            (part, ranked.feature, bounds.heaviest_partner(set.weight, ranked.rest))
        }));
    }
}

impl<'r> OverlapIndex<'r> {
    pub fn new(rule: &'r Rule, sizes: IndexSizes) -> Self {
        Self {
            rule,
            order: sizes.order,
            entries: Vec::new(),
            weights: Vec::new(),
            bitmaps: Vec::new(),
            lists: Lists::new(sizes.lists),
            firsts: Vec::new(),
        }
    }

    pub fn rule(&self) -> &'r Rule {
        self.rule
    }

    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Inserts a set for which there is room: it takes the next number.
    pub fn insert(&mut self, postings: &Postings) {
        let entry = self.entries.len() as u32;
        let Postings { weight, shared, .. } = *postings;
        let listed = &postings.listed;
        for (at, &(part, feature, tag)) in listed.iter().enumerate() {
            if let Some(&(part, later, _)) = listed.get(at + 2 * AHEAD) {
                self.lists.prefetch_head(part, later);
            }
            if let Some(&(part, later, _)) = listed.get(at + AHEAD) {
                self.lists.prefetch_end(part, later);
            }
            self.lists.push(part, feature, Posting::new(entry, tag));
        }
        let (start, words) = (self.bitmaps.len(), bitmap::words(shared));
        self.bitmaps.resize(start + words, 0);
        bitmap::flip(postings.ranker.shared(), &mut self.bitmaps[start..]);
        // Bitmaps are a multiple of two words: their places fit where their words do.
        self.entries.push(Entry {
            weight,
            shared,
            bitmap: (start / 2) as u32,
            words: words as u32,
        });
        self.weights.push(weight);
        if self.order == Order::Weight {
            let weights = (weight as usize + 1).min(FIRSTS);
            self.firsts.resize(weights.max(self.firsts.len()), entry);
        }
    }

    /// The first entry that weighs more than this, if they come in order of weight.
    #[inline]
    fn first_above(&self, weight: u32) -> u32 {
        match self.firsts.get(weight as usize + 1) {
            Some(&first) => first,
            None if self.firsts.len() < FIRSTS => self.len(),
            None => self.entries.partition_point(|entry| entry.weight <= weight) as u32,
        }
    }

    /// Collects the entries within a range that share a listed feature with a set:
    /// [`Probe::found`], each once, in any order. `of` lists the set in [`Order::Any`].
    pub fn collect(&self, of: &Postings, within: Range<u32>, probe: &mut Probe) {
        probe.begin(of, self.len());
        if self.rule.bounds.is_everything() {
            return probe.find_all(within);
        }
        self.prepare(of, probe);
        let start = match self.order {
            Order::Weight => {
                let lightest = self.rule.bounds.lightest_partner(of.weight);
                within.start.max(self.first_above(lightest.saturating_sub(1)))
            }
            Order::Any => within.start,
        };
        let looks = std::mem::take(&mut probe.looks);
        for look in looks.iter().take(2 * AHEAD) {
            self.lists.prefetch_head(look.part, look.feature);
        }
        for (at, look) in looks.iter().enumerate() {
            if let Some(later) = looks.get(at + 2 * AHEAD) {
                self.lists.prefetch_head(later.part, later.feature);
            }
            if let Some(later) = looks.get(at + AHEAD) {
                self.lists.prefetch_list(later.part, later.feature, start, self.len());
            }
            match self.order {
                Order::Weight => {
                    let end = within.end.min(self.first_above(look.heaviest));
                    self.walk(look, start..end, probe, |_| true);
                }
                Order::Any => self.walk(look, start..within.end, probe, |entry| {
                    self.weights[entry as usize] <= look.heaviest
                }),
            }
        }
        probe.looks = looks;
    }

    /// Lists the features of a set that are looked up: where it would be listed itself.
    fn prepare(&self, of: &Postings, probe: &mut Probe) {
        probe.looks.clear();
        for &(part, feature, tag) in &of.listed {
            let look = match self.rule.keys {
                // Only the same key counts.
                Some(_) => {
                    Look { part, feature, least_tag: tag, most_tag: tag, heaviest: u32::MAX }
                }
                None => Look {
                    part: Part::Short,
                    feature,
                    least_tag: of.weight,
                    most_tag: u32::MAX,
                    heaviest: tag,
                },
            };
            probe.looks.push(look);
            if self.order == Order::Any && self.rule.keys.is_none() && part == Part::Short {
                probe.looks.push(Look { part: Part::Long, ..look });
            }
        }
    }

    /// Reads the postings of one list. Which of them count is as good as random: so there is no
    /// branch, and an entry that does not count is overwritten by the next one.
    #[inline]
    fn walk(
        &self,
        look: &Look,
        within: Range<u32>,
        probe: &mut Probe,
        is_light: impl Fn(u32) -> bool,
    ) {
        let list = self.lists.of(look.part, look.feature, within.start, self.len());
        let tags = look.most_tag - look.least_tag;
        let (mut count, mut visited) = (probe.count, 0);
        for posting in list {
            let entry = posting.entry();
            if entry >= within.end {
                break;
            }
            visited += 1;
            let (word, bit) = (entry as usize / 64, entry % 64);
            let is_new = probe.seen[word] >> bit & 1 == 0;
            let counts =
                (posting.tag().wrapping_sub(look.least_tag) <= tags) & is_light(entry) & is_new;
            probe.seen[word] |= u64::from(counts) << bit;
            probe.found[count] = entry;
            count += usize::from(counts);
        }
        probe.count = count;
        probe.visited += visited;
    }

    /// Asks for what [`passes`](Self::passes) will look at.
    #[inline]
    pub fn prefetch(&self, found: &[u32], at: usize) {
        const AHEAD: usize = 8;
        if let Some(&entry) = found.get(at + 2 * AHEAD) {
            prefetch(self.entries.get(entry as usize));
        }
        if let Some(&entry) = found.get(at + AHEAD) {
            let start = self.entries[entry as usize].bitmap as usize * 2;
            prefetch(self.bitmaps.get(start));
        }
    }

    /// Whether an entry that was found can be alike the set: by weights, and by bitmaps.
    #[inline]
    pub fn passes(&self, entry: u32, probe: &Probe) -> bool {
        let Entry { weight, shared, bitmap, words } = self.entries[entry as usize];
        let need = self.rule.bounds.need(weight, probe.weight);
        if need > u64::from(shared.min(probe.shared)) {
            return false;
        }
        let start = bitmap as usize * 2;
        let bitmap = &self.bitmaps[start..start + words as usize];
        let differing = probe.folds.differing(bitmap, self.rule.kernel);
        // What they share is in neither difference: shared + shared - 2 common >= differing.
        u64::from(differing) <= u64::from(shared) + u64::from(probe.shared) - 2 * need
    }
}

/// One feature of a set that is looked up, and which postings count.
#[derive(Clone, Copy)]
struct Look {
    part: Part,
    feature: u32,
    least_tag: u32,
    most_tag: u32,
    /// Heavier entries do not share enough from here on.
    heaviest: u32,
}

/// Looks up sets, one after the other; keeps its buffers.
#[derive(Default)]
pub(crate) struct Probe {
    folds: Folds,
    looks: Vec<Look>,
    weight: u32,
    shared: u32,
    /// By entry, one bit each: whether it was found for the last set.
    seen: Vec<u64>,
    /// The entries found for the last set: this number of them, each entry once. There is room for all
    /// entries and one more.
    found: Vec<u32>,
    count: usize,
    /// Postings that were read, for all sets.
    pub visited: u64,
}

impl Probe {
    /// The entries that were found for the last set.
    pub fn found(&self) -> &[u32] {
        &self.found[..self.count]
    }

    fn begin(&mut self, of: &Postings, entries: u32) {
        for &entry in &self.found[..self.count] {
            self.seen[entry as usize / 64] = 0;
        }
        self.count = 0;
        let entries = entries as usize;
        self.seen.resize(self.seen.len().max(entries.div_ceil(64)), 0);
        self.found.resize(self.found.len().max(entries + 1), 0);
        self.weight = of.weight;
        self.shared = of.shared;
        self.folds.take(of.ranker.shared(), of.shared);
    }

    fn find_all(&mut self, entries: Range<u32>) {
        self.count = entries.len();
        for (found, entry) in self.found.iter_mut().zip(entries) {
            *found = entry;
        }
    }
}
