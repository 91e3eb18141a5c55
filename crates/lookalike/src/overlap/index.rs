//! Which entries may be alike a set?

use std::ops::Range;

use super::{
    bitmap::{self, Folds},
    bounds::Bounds,
    commonness::{Commonness, Ranker},
    lists::{ListSizes, Lists, Posting},
};
use crate::{Kernel, hamming::prefetch, keys::Bands, verify::Set};

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
    short: Lists,
    /// Only if entries come in any order.
    long: Lists,
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

/// The list that a posting belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Short,
    Long,
}

/// Room for the entries of an index, counted from any thread before the first of them is inserted.
pub(crate) struct IndexSizes {
    order: Order,
    short: ListSizes,
    long: ListSizes,
}

impl IndexSizes {
    /// For sets that have about this many features together.
    pub fn new(order: Order, features: u64) -> Self {
        let [short, long] = match order {
            Order::Weight => [features / 3, 0],
            Order::Any => [features / 3, features / 4],
        };
        Self { order, short: ListSizes::new(short), long: ListSizes::new(long) }
    }

    /// Makes room for a set.
    pub fn add(&self, rule: &Rule, set: Set<'_>, postings: &mut Postings) {
        postings.take(rule, self.order, set);
        for &(part, feature, _) in &postings.listed {
            match part {
                Part::Short => self.short.add(feature),
                Part::Long => self.long.add(feature),
            }
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
            short: Lists::new(sizes.short),
            long: Lists::new(sizes.long),
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
        for &(part, feature, tag) in &postings.listed {
            let list = match part {
                Part::Short => &mut self.short,
                Part::Long => &mut self.long,
            };
            list.push(feature, Posting::new(entry, tag));
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

    /// Takes out the sets that were inserted last: all of these, and none after them.
    pub fn remove_last(&mut self, postings: &[Postings]) {
        for &(part, feature, _) in postings.iter().flat_map(|postings| &postings.listed) {
            match part {
                Part::Short => self.short.pop(feature),
                Part::Long => self.long.pop(feature),
            }
        }
        self.entries.truncate(self.entries.len() - postings.len());
        self.weights.truncate(self.entries.len());
        let words =
            self.entries.last().map_or(0, |last| 2 * last.bitmap as usize + last.words as usize);
        self.bitmaps.truncate(words);
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
            return probe.found.extend(within);
        }
        self.prepare(of, probe);
        let start = match self.order {
            Order::Weight => {
                let lightest = self.rule.bounds.lightest_partner(of.weight);
                within.start.max(self.first_above(lightest.saturating_sub(1)))
            }
            Order::Any => within.start,
        };
        const AHEAD: usize = 16;
        let looks = std::mem::take(&mut probe.looks);
        for look in looks.iter().take(2 * AHEAD) {
            self.lists(look.part).prefetch_head(look.feature);
        }
        for (at, look) in looks.iter().enumerate() {
            if let Some(later) = looks.get(at + 2 * AHEAD) {
                self.lists(later.part).prefetch_head(later.feature);
            }
            if let Some(later) = looks.get(at + AHEAD) {
                self.lists(later.part).prefetch_list(later.feature, start, self.len());
            }
            self.walk(look, start..within.end, probe);
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

    #[inline]
    fn lists(&self, part: Part) -> &Lists {
        match part {
            Part::Short => &self.short,
            Part::Long => &self.long,
        }
    }

    #[inline]
    fn walk(&self, look: &Look, within: Range<u32>, probe: &mut Probe) {
        let list = self.lists(look.part).of(look.feature, within.start, self.len());
        let tags = look.most_tag - look.least_tag;
        let end = match self.order {
            Order::Weight => within.end.min(self.first_above(look.heaviest)),
            Order::Any => within.end,
        };
        probe.visited += list.len() as u64;
        for posting in list {
            let entry = posting.entry();
            if entry >= end {
                break;
            }
            if posting.tag().wrapping_sub(look.least_tag) > tags
                || self.order == Order::Any && self.weights[entry as usize] > look.heaviest
                || probe.seen[entry as usize] == probe.stamp
            {
                continue;
            }
            probe.seen[entry as usize] = probe.stamp;
            probe.found.push(entry);
        }
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
    /// By entry: the last set that it was found for.
    seen: Vec<u32>,
    stamp: u32,
    /// What was found for the last set.
    pub found: Vec<u32>,
    /// Postings that were read, for all sets.
    pub visited: u64,
}

impl Probe {
    fn begin(&mut self, of: &Postings, entries: u32) {
        self.found.clear();
        if self.stamp == u32::MAX {
            self.seen.fill(0);
            self.stamp = 0;
        }
        self.stamp += 1;
        self.seen.resize(self.seen.len().max(entries as usize), 0);
        self.weight = of.weight;
        self.shared = of.shared;
        self.folds.take(of.ranker.shared(), of.shared);
    }
}
