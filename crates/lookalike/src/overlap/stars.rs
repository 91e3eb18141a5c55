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
    BATCH, Counters, Gathered, IndexSizes, Order, OverlapIndex, Overlaps, Pool, Postings, Prepared,
    Probe, Rule, in_chunks,
};
use crate::{alike::Nearest, pairs::PairsError};

impl Overlaps<'_> {
    /// By set, the keeper that it belongs to; `None` for keepers, and for sets that are not in `order`.
    pub fn stars(&self, order: &[u32]) -> Result<(Vec<Option<Nearest>>, Counters), PairsError> {
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
    ) -> Result<(Vec<Option<Nearest>>, Counters), PairsError> {
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

struct Stars<'a> {
    overlaps: &'a Overlaps<'a>,
    rule: &'a Rule,
    joined: Vec<Option<Nearest>>,
    counters: Counters,
    done: AtomicU64,
    total: u64,
    probes: Pool<Probe>,
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
    /// What they find among the keepers before them is final. The others are compared with each
    /// other, in a small index of their own, and settled in order.
    fn take(&mut self, keepers: &mut Keepers<'_>, batch: Range<usize>) {
        let Self { overlaps, rule, .. } = *self;
        let (members, sets) = (keepers.members, keepers.sets);
        self.postings.resize_with(batch.len().max(self.postings.len()), Postings::default);
        let postings = &mut self.postings[..batch.len()];
        postings.par_iter_mut().zip(batch.clone()).with_min_len(16).for_each(|(postings, at)| {
            postings.take(rule, Order::Any, overlaps.set(sets, members, at));
        });
        let postings = &self.postings[..batch.len()];
        let settled: Vec<Option<Nearest>> = (postings.par_iter(), batch.clone())
            .into_par_iter()
            .with_min_len(16)
            .map(|(postings, at)| {
                self.advance();
                self.first_alike(keepers, (members, sets, at), postings)
            })
            .collect();
        let mut open = Vec::new();
        for (at, joined) in batch.clone().zip(settled) {
            self.joined[members[at] as usize] = joined;
            if joined.is_none() {
                open.push(at as u32);
            }
        }
        for at in self.settle(keepers, &open, batch.start) {
            keepers.index.insert(&self.postings[at as usize - batch.start]);
            keepers.positions.push(at);
        }
    }

    /// Settles members that belong to no earlier keeper, in order, and returns the new keepers among
    /// them.
    fn settle(&mut self, keepers: &Keepers<'_>, open: &[u32], first: usize) -> Vec<u32> {
        let (members, sets) = (keepers.members, keepers.sets);
        let postings = |at: u32| &self.postings[at as usize - first];
        let features = open.iter().map(|&at| self.overlaps.sets.len_of(members[at as usize])).sum();
        let sizes = IndexSizes::new(Order::Any, features);
        open.iter().for_each(|&at| sizes.add(postings(at)));
        let mut index = OverlapIndex::new(self.rule, sizes);
        open.iter().for_each(|&at| index.insert(postings(at)));
        let young = Keepers { index, members, sets, positions: open.to_vec() };
        let passing: Vec<Vec<u32>> = (0..open.len() as u32)
            .into_par_iter()
            .with_min_len(16)
            .map(|entry| {
                let postings = postings(open[entry as usize]);
                self.probes.with(|probe| self.passing(&young, 0..entry, postings, probe))
            })
            .collect();
        let mut is_keeper = vec![false; open.len()];
        for (entry, passing) in passing.into_iter().enumerate() {
            let set = (members, sets, open[entry] as usize);
            let found = passing
                .into_iter()
                .filter(|&earlier| is_keeper[earlier as usize])
                .find_map(|earlier| self.verify(&young, set, earlier));
            is_keeper[entry] = found.is_none();
            self.joined[members[open[entry] as usize] as usize] = found;
        }
        open.iter().zip(is_keeper).filter(|(_, is_keeper)| *is_keeper).map(|(&at, _)| at).collect()
    }

    /// Looks up items that come after all members.
    fn look_up_all(&mut self, keepers: &Keepers<'_>, items: &[u32]) -> Result<(), PairsError> {
        let mut rest = items;
        while !rest.is_empty() {
            let (some, later) = rest.split_at(self.overlaps.looked_up(rest));
            let sets = self.overlaps.sets.gather(some)?;
            let found: Vec<Vec<Option<Nearest>>> = in_chunks(some.len())
                .map(|chunk| {
                    let mut postings = Postings::default();
                    let one = |at| {
                        self.advance();
                        postings.take(self.rule, Order::Any, self.overlaps.set(&sets, some, at));
                        self.first_alike(keepers, (some, &sets, at), &postings)
                    };
                    chunk.map(one).collect()
                })
                .collect();
            for (&item, found) in some.iter().zip(found.into_iter().flatten()) {
                self.joined[item as usize] = found;
            }
            rest = later;
        }
        Ok(())
    }

    /// One more item is looked up.
    fn advance(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        if done.is_multiple_of(64) {
            (self.overlaps.progress)((done as f64 / self.total.max(1) as f64).min(1.0));
        }
    }

    /// The first keeper that a set is alike.
    fn first_alike(
        &self,
        keepers: &Keepers<'_>,
        set: (&[u32], &Gathered<'_>, usize),
        postings: &Postings,
    ) -> Option<Nearest> {
        let all = 0..keepers.index.len();
        let passing = self.probes.with(|probe| self.passing(keepers, all, postings, probe));
        passing.into_iter().find_map(|entry| self.verify(keepers, set, entry))
    }

    /// The entries within a range that may be alike a set, in order.
    fn passing(
        &self,
        keepers: &Keepers<'_>,
        within: Range<u32>,
        postings: &Postings,
        probe: &mut Probe,
    ) -> Vec<u32> {
        let visited = probe.visited;
        keepers.index.collect(postings, within, probe);
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.counters.visited, probe.visited - visited);
        add(&self.counters.candidates, probe.found().len() as u64);
        let mut passing = Vec::new();
        for (position, &entry) in probe.found().iter().enumerate() {
            keepers.index.prefetch(probe.found(), position);
            if keepers.index.passes(entry, probe) {
                passing.push(entry);
            }
        }
        passing.sort_unstable();
        passing
    }

    /// Whether a set is alike an entry.
    fn verify(
        &self,
        keepers: &Keepers<'_>,
        (items, sets, at): (&[u32], &Gathered<'_>, usize),
        entry: u32,
    ) -> Option<Nearest> {
        self.counters.verified.fetch_add(1, Ordering::Relaxed);
        let position = keepers.positions[entry as usize] as usize;
        let keeper = keepers.members[position];
        let one = self.overlaps.set(sets, items, at);
        let other = self.overlaps.set(keepers.sets, keepers.members, position);
        let closeness = (self.overlaps.judge)(items[at], keeper, one, other)?;
        Some(Nearest { keeper, closeness })
    }
}
