//! Which items belong to which keeper?
//!
//! Items are taken in an order of preference. One that is alike an earlier keeper belongs to the
//! *first* such keeper, otherwise it becomes a keeper. Only keepers are in the index: a thousand
//! texts of one template cost a thousand look-ups, not half a million pairs.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use super::{
    BATCH, Counters, Gathered, Order, OverlapIndex, Overlaps, Pool, Postings, Prepared, Probe,
    Rule, in_chunks,
};
use crate::PairsError;

/// The keeper that a set belongs to, and how similar the two are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Joined {
    pub keeper: u32,
    pub similarity: f32,
}

impl Overlaps<'_> {
    /// By set, the keeper that it belongs to; `None` for keepers, and for sets that are not in `order`.
    pub fn stars(&self, order: &[u32]) -> Result<(Vec<Option<Joined>>, Counters), PairsError> {
        let Prepared { rule, is_alive } = self.prepare_all()?;
        let mut waiting: Vec<u32> =
            order.iter().copied().filter(|&item| is_alive[item as usize]).collect();
        let mut stars = Stars::new(self, &rule, waiting.len());
        while !waiting.is_empty() {
            let members = self.slab(&waiting);
            let (members, later) = waiting.split_at(members);
            let sets = self.sets.gather(members)?;
            let sizes = self.sizes(&rule, Order::Any, members, &sets);
            let mut keepers = Keepers {
                index: OverlapIndex::new(&rule, sizes),
                members,
                sets: &sets,
                positions: Vec::new(),
            };
            for start in (0..members.len()).step_by(BATCH) {
                stars.take(&mut keepers, start..members.len().min(start + BATCH));
            }
            stars.look_up_all(&keepers, later)?;
            waiting = stars.waiting(later);
        }
        Ok((stars.joined, stars.counters))
    }

    /// By set, the first of `keepers` that it is alike, a keeper itself included if it is one of
    /// `items`. Keepers are not compared with each other, nor items.
    pub fn nearest(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<(Vec<Option<Joined>>, Counters), PairsError> {
        let Prepared { rule, is_alive } = self.prepare_all()?;
        let alive = |some: &[u32]| -> Vec<u32> {
            some.iter().copied().filter(|&item| is_alive[item as usize]).collect()
        };
        let (keepers, mut waiting) = (alive(keepers), alive(items));
        let mut stars = Stars::new(self, &rule, waiting.len());
        let mut rest = &keepers[..];
        while !rest.is_empty() && !waiting.is_empty() {
            let (members, later) = rest.split_at(self.slab(rest));
            let sets = self.sets.gather(members)?;
            let sizes = self.sizes(&rule, Order::Any, members, &sets);
            let mut index = OverlapIndex::new(&rule, sizes);
            self.insert_all(&mut index, &rule, Order::Any, members, &sets);
            let positions = (0..members.len() as u32).collect();
            let slab = Keepers { index, members, sets: &sets, positions };
            stars.look_up_all(&slab, &waiting)?;
            waiting = stars.waiting(&waiting);
            rest = later;
        }
        Ok((stars.joined, stars.counters))
    }
}

/// An index of keepers.
struct Keepers<'a> {
    index: OverlapIndex<'a>,
    /// The sets from which keepers come.
    members: &'a [u32],
    sets: &'a Gathered<'a>,
    /// By entry of the index: which of the members it is.
    positions: Vec<u32>,
}

/// What a look-up found.
#[derive(Default)]
struct Hits {
    /// The first keeper that is alike.
    joined: Option<Joined>,
    /// If there is none: entries beyond the keepers that may be alike.
    open: Vec<u32>,
}

struct Stars<'a> {
    overlaps: &'a Overlaps<'a>,
    rule: &'a Rule,
    joined: Vec<Option<Joined>>,
    counters: Counters,
    done: AtomicU64,
    total: u64,
    probes: Pool<(Postings, Probe)>,
    postings: Vec<Postings>,
}

impl<'a> Stars<'a> {
    fn new(overlaps: &'a Overlaps<'a>, rule: &'a Rule, items: usize) -> Self {
        Self {
            overlaps,
            rule,
            joined: vec![None; overlaps.weights.len()],
            counters: Counters::default(),
            done: AtomicU64::new(0),
            total: items as u64,
            probes: Pool::default(),
            postings: Vec::new(),
        }
    }

    /// Those that belong to no keeper yet.
    fn waiting(&self, items: &[u32]) -> Vec<u32> {
        items.iter().copied().filter(|&item| self.joined[item as usize].is_none()).collect()
    }

    /// Takes the next members in order: those that belong to no keeper become keepers.
    ///
    /// All are put into the index and looked up at once. What they find among the keepers before
    /// them is final; what they find among each other is settled in order. Then they are taken out
    /// again, but for the new keepers.
    fn take(&mut self, keepers: &mut Keepers<'_>, batch: Range<usize>) {
        let Self { overlaps, rule, .. } = *self;
        let members = keepers.members;
        self.postings.resize_with(batch.len().max(self.postings.len()), Postings::default);
        let postings = &mut self.postings[..batch.len()];
        postings.par_iter_mut().zip(batch.clone()).with_min_len(16).for_each(|(postings, at)| {
            postings.take(rule, Order::Any, overlaps.set(keepers.sets, members, at));
        });
        let before = keepers.index.len();
        postings.iter().for_each(|postings| keepers.index.insert(postings));
        keepers.positions.extend(batch.clone().map(|at| at as u32));
        let hits: Vec<Hits> = batch
            .clone()
            .into_par_iter()
            .with_min_len(16)
            .map(|at| {
                let number = at - batch.start;
                let end = before + number as u32;
                let set = (members, keepers.sets, at);
                self.probes.with(|(_, probe)| {
                    self.look_up(keepers, set, before, end, (&self.postings[number], probe))
                })
            })
            .collect();
        let mut is_keeper = vec![false; batch.len()];
        for (at, hits) in batch.clone().zip(hits) {
            let is_open = |entry: &u32| is_keeper[(entry - before) as usize];
            let item = members[at];
            let open = hits.open.iter().copied().filter(is_open);
            let found = hits.joined.or_else(|| {
                let set = (members, keepers.sets, at);
                open.into_iter().find_map(|entry| self.verify(keepers, set, entry))
            });
            is_keeper[at - batch.start] = found.is_none();
            self.joined[item as usize] = found;
        }
        let postings = &self.postings[..batch.len()];
        keepers.index.remove_last(postings);
        keepers.positions.truncate(before as usize);
        for ((postings, is_keeper), at) in postings.iter().zip(is_keeper).zip(batch) {
            if is_keeper {
                keepers.index.insert(postings);
                keepers.positions.push(at as u32);
            }
        }
    }

    /// Looks up items that come after all members.
    fn look_up_all(&mut self, keepers: &Keepers<'_>, items: &[u32]) -> Result<(), PairsError> {
        let mut rest = items;
        while !rest.is_empty() {
            let (some, later) = rest.split_at(self.overlaps.looked_up(rest));
            let sets = self.overlaps.sets.gather(some)?;
            let entries = keepers.index.len();
            let found: Vec<Vec<Option<Joined>>> = in_chunks(some.len())
                .map(|chunk| {
                    self.probes.with(|(postings, probe)| {
                        let one = |at| {
                            postings.take(
                                self.rule,
                                Order::Any,
                                self.overlaps.set(&sets, some, at),
                            );
                            let set = (some, &sets, at);
                            self.look_up(keepers, set, entries, entries, (postings, probe)).joined
                        };
                        chunk.map(one).collect()
                    })
                })
                .collect();
            for (&item, found) in some.iter().zip(found.into_iter().flatten()) {
                self.joined[item as usize] = found;
            }
            rest = later;
        }
        Ok(())
    }

    /// Looks up a set among the entries before `end`; those from `keepers_end` on are not settled.
    fn look_up(
        &self,
        keepers: &Keepers<'_>,
        set: (&[u32], &Gathered<'_>, usize),
        keepers_end: u32,
        end: u32,
        (postings, probe): (&Postings, &mut Probe),
    ) -> Hits {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        if done.is_multiple_of(64) {
            (self.overlaps.progress)((done as f64 / self.total.max(1) as f64).min(1.0));
        }
        let visited = probe.visited;
        keepers.index.collect(postings, 0..end, probe);
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.counters.visited, probe.visited - visited);
        add(&self.counters.candidates, probe.found.len() as u64);
        let mut passing = Vec::new();
        for (position, &entry) in probe.found.iter().enumerate() {
            keepers.index.prefetch(&probe.found, position);
            if keepers.index.passes(entry, probe) {
                passing.push(entry);
            }
        }
        // In order, so that the first one that is alike is the first there is.
        passing.sort_unstable();
        let settled = passing.partition_point(|&entry| entry < keepers_end);
        let joined = passing[..settled].iter().find_map(|&entry| self.verify(keepers, set, entry));
        let open = if joined.is_none() { passing.split_off(settled) } else { Vec::new() };
        Hits { joined, open }
    }

    /// Whether a set is alike an entry.
    fn verify(
        &self,
        keepers: &Keepers<'_>,
        (items, sets, at): (&[u32], &Gathered<'_>, usize),
        entry: u32,
    ) -> Option<Joined> {
        let Overlaps { verify, kernel, accepts, .. } = self.overlaps;
        self.counters.verified.fetch_add(1, Ordering::Relaxed);
        let position = keepers.positions[entry as usize] as usize;
        let keeper = keepers.members[position];
        let one = self.overlaps.set(sets, items, at);
        let other = self.overlaps.set(keepers.sets, keepers.members, position);
        let similarity = verify.enough(one, other, *kernel)?;
        accepts(items[at], keeper).then_some(Joined { keeper, similarity })
    }
}
