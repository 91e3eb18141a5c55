//! Which pairs of sets are alike?
//!
//! Sets are taken in order of weight. As many as fit make an index; they and all heavier ones that can
//! be alike them are looked up in it. Then comes the next index. Which sets share an index changes
//! the cost, never the answer.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::{
    Counters, Gathered, Order, OverlapIndex, Overlaps, Pool, Postings, Prepared, Probe, in_chunks,
};
use crate::{alike::AlikePair, pairs::PairsError};

/// Takes pairs as they are found, from any thread, in any order, each once.
pub(crate) type OnPairs<'a> = &'a (dyn Fn(Vec<AlikePair>) -> Result<(), PairsError> + Sync);

/// How many sets are compared with how many others to tell how many pairs there are.
const ESTIMATED_FROM: usize = 512;
const ESTIMATED_WITH: usize = 1 << 14;

/// Features of sets that are looked up and do not lie in memory, for each byte that an index may take.
const LOOKED_UP_SHARE: u64 = 16;

impl Overlaps<'_> {
    /// Finds every alike pair.
    pub fn pairs(&self, on_pairs: OnPairs<'_>) -> Result<Counters, PairsError> {
        let Prepared { rule, is_alive } = self.prepare_all()?;
        let mut order: Vec<u32> =
            (0..self.weights.len() as u32).filter(|&item| is_alive[item as usize]).collect();
        order.par_sort_unstable_by_key(|&item| (self.weights[item as usize], item));
        let weight = |&item: &u32| self.weights[item as usize];
        let mut join = Join {
            overlaps: self,
            counters: Counters::default(),
            done: AtomicU64::new(0),
            total: 0,
            probes: Pool::default(),
            on_pairs,
        };
        let mut slabs = Vec::new();
        let mut rest = &order[..];
        while !rest.is_empty() {
            let members = self.slab(rest);
            let heaviest = weight(&rest[members - 1]);
            let reached = |item: &u32| rule.bounds.lightest_partner(weight(item)) <= heaviest;
            let reaches = members + rest[members..].partition_point(reached);
            slabs.push((&rest[..members], &rest[members..reaches]));
            join.total += reaches as u64;
            rest = &rest[members..];
        }
        for (members, later) in slabs {
            let sets = self.sets.gather(members)?;
            let sizes = self.sizes(&rule, Order::Weight, members, &sets);
            let mut index = OverlapIndex::new(&rule, sizes);
            self.insert_all(&mut index, &rule, Order::Weight, members, &sets);
            let slab = Slab { index, members, sets: &sets };
            join.look_up(&slab, members, &sets, true)?;
            let mut later = later;
            while !later.is_empty() {
                let (some, rest) = later.split_at(self.looked_up(later));
                join.look_up(&slab, some, &self.sets.gather(some)?, false)?;
                later = rest;
            }
        }
        Ok(join.counters)
    }

    /// About how many pairs there are: some sets are compared with some others, and the count is scaled
    /// up. The same sets for the same input.
    pub fn expected_pairs(&self) -> Result<u64, PairsError> {
        let items = self.weights.len();
        let every = |step: usize| (0..items as u32).step_by(step.max(1)).collect::<Vec<u32>>();
        let members = every(items / ESTIMATED_FROM);
        let others = every(items.div_ceil(ESTIMATED_WITH));
        let mut takes_part = vec![false; items];
        members.iter().chain(&others).for_each(|&item| takes_part[item as usize] = true);
        let Prepared { rule, .. } = self.prepare(takes_part)?;
        let sets = self.sets.gather(&members)?;
        let sizes = self.sizes(&rule, Order::Any, &members, &sets);
        let mut index = OverlapIndex::new(&rule, sizes);
        self.insert_all(&mut index, &rule, Order::Any, &members, &sets);
        let slab = Slab { index, members: &members, sets: &sets };
        let found = AtomicU64::new(0);
        let count = |pairs: Vec<AlikePair>| {
            let pairs = pairs.iter().filter(|pair| pair.a != pair.b).count();
            found.fetch_add(pairs as u64, Ordering::Relaxed);
            Ok(())
        };
        let join = Join {
            overlaps: self,
            counters: Counters::default(),
            done: AtomicU64::new(0),
            total: 0,
            probes: Pool::default(),
            on_pairs: &count,
        };
        let mut rest = &others[..];
        while !rest.is_empty() {
            let (some, later) = rest.split_at(self.looked_up(rest));
            join.look_up(&slab, some, &self.sets.gather(some)?, false)?;
            rest = later;
        }
        let share = |some: &[u32]| some.len() as f64 / items.max(1) as f64;
        let scale = (2.0 * share(&members) * share(&others)).max(f64::MIN_POSITIVE);
        Ok((found.into_inner() as f64 / scale).round() as u64)
    }

    /// How many of these sets, from the first on, are looked up at a time: all, if they lie in memory.
    pub(super) fn looked_up(&self, items: &[u32]) -> usize {
        match self.memory {
            Some(bytes) if self.sets.spilled() > 0 => self.fitting(items, bytes / LOOKED_UP_SHARE),
            _ => items.len(),
        }
    }
}

/// An index, and the sets that are in it.
struct Slab<'a> {
    index: OverlapIndex<'a>,
    members: &'a [u32],
    sets: &'a Gathered<'a>,
}

struct Join<'a> {
    overlaps: &'a Overlaps<'a>,
    counters: Counters,
    /// Sets that were looked up, of all that will be.
    done: AtomicU64,
    total: u64,
    probes: Pool<(Postings, Probe)>,
    on_pairs: OnPairs<'a>,
}

impl Join<'_> {
    /// Looks up sets in an index; if they are its own members, each among those before it.
    fn look_up(
        &self,
        slab: &Slab<'_>,
        items: &[u32],
        sets: &Gathered<'_>,
        are_members: bool,
    ) -> Result<(), PairsError> {
        in_chunks(items.len()).try_for_each(|chunk| {
            // First: if it unwinds, to stop the search, nothing more is looked up.
            let done = self.done.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            if self.total > 0 {
                (self.overlaps.progress)(done as f64 / self.total as f64);
            }
            let pairs = self.probes.with(|(postings, probe)| {
                let mut pairs = Vec::new();
                for at in chunk {
                    let end = if are_members { at as u32 } else { slab.index.len() };
                    postings.take(
                        slab.index.rule(),
                        Order::Any,
                        self.overlaps.set(sets, items, at),
                    );
                    self.look_up_one(slab, (items, sets, at), end, (postings, probe), &mut pairs);
                }
                pairs
            });
            (self.on_pairs)(pairs)
        })
    }

    fn look_up_one(
        &self,
        slab: &Slab<'_>,
        (items, sets, at): (&[u32], &Gathered<'_>, usize),
        end: u32,
        (postings, probe): (&Postings, &mut Probe),
        pairs: &mut Vec<AlikePair>,
    ) {
        let judge = self.overlaps.judge;
        let set = self.overlaps.set(sets, items, at);
        let visited = probe.visited;
        slab.index.collect(postings, 0..end, probe);
        let (mut verified, item) = (0, items[at]);
        for (position, &entry) in probe.found().iter().enumerate() {
            slab.index.prefetch(probe.found(), position);
            if !slab.index.passes(entry, probe) {
                continue;
            }
            verified += 1;
            let other = slab.members[entry as usize];
            let other_set = self.overlaps.set(slab.sets, slab.members, entry as usize);
            if let Some(closeness) = judge(item, other, set, other_set) {
                let (a, b) = (item.min(other), item.max(other));
                pairs.push(AlikePair { a, b, closeness });
            }
        }
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.counters.visited, probe.visited - visited);
        add(&self.counters.candidates, probe.found().len() as u64);
        add(&self.counters.verified, verified);
    }
}
