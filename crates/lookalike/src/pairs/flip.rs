//! How are pairs found whose lanes differ in one bit?
//!
//! Where no lane of the cover may hold more than one error, two items that are near share the key of a
//! lane (its first block), or their keys differ in one bit, and then the rest of the lane is equal. So
//! all items are sorted by the key once for each lane, and every bucket is compared with itself and with
//! those one bit apart, by the rest of the lane: see [`Slots`]. A [`Join`](super::join::Join) sorts more
//! often; what this one needs is memory, for the slots.

use std::{collections::BTreeMap, ops::Range, sync::Mutex};

use rayon::prelude::*;

use super::{
    Pair, Workspace,
    cover::{Cover, Lane},
    find::find_distinct,
    join::{Found, lock, without_copies},
    record::{Layout, Positions},
    scatter::{Counts, Partitions, STREAM_BITS},
    verify::Candidates,
};
use crate::{
    Fingerprint, Kernel,
    hamming::{
        lanes::{Lanes, Task},
        late::Late,
        prefetch,
        slots::{
            BLOCK_BITS, Bucket, CHECK_BITS, Cells, EMPTY, Hit, Hits, Keying, Slots, Tables, WIDTH,
        },
    },
};

/// Partitions smaller than this are not worth their bookkeeping.
const PARTITION: usize = 1024;
/// The most bits of the key that choose the bucket in a partition.
pub(super) const MOST_LOW_BITS: u32 = 13;
/// Hits that are looked at together.
const LOOK_AT_ONCE: usize = 64;
/// Buckets with more items than this are joined by a plan of their own.
const CROWD: usize = 256;

/// All that is needed to know.
#[derive(Clone, Copy)]
pub(super) struct Flip<'a, const WORDS: usize> {
    pub prints: &'a [Fingerprint<WORDS>],
    /// Lanes with a budget of one error or none, each in two blocks: its key, and the rest.
    pub cover: &'a Cover<WORDS>,
    pub radius: u32,
    pub kernel: Kernel,
    /// How many joins this one is inside of.
    pub depth: u32,
    pub workspace: &'a Workspace,
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// Words of memory for so many items in buckets by a key of so many bits.
pub(super) fn words_needed(items: usize, key_bits: u32) -> usize {
    items + 2 * bucket_words(key_bits)
}

/// Words of a table with a check or a place for every slot.
fn bucket_words(key_bits: u32) -> usize {
    (size_of::<Bucket>() / size_of::<u64>()) << key_bits
}

/// How many bits of the key choose the partition.
fn partition_bits(items: usize, key_bits: u32) -> u32 {
    let wanted = (items / PARTITION).max(1).ilog2().min(STREAM_BITS);
    wanted.max(key_bits.saturating_sub(MOST_LOW_BITS)).min(key_bits - BLOCK_BITS)
}

impl<const WORDS: usize> Flip<'_, WORDS> {
    /// Finds all pairs.
    pub fn run(&self) -> Found {
        let items = self.prints.len();
        let key_bits = self.cover.lanes[0].branches[0].block.len();
        let workers: Vec<Mutex<Worker>> =
            (0..rayon::current_num_threads()).map(|_| Mutex::default()).collect();
        let partition_bits = partition_bits(items, key_bits);
        let positions = Positions { items, stretch_bits: 0 };
        let layout =
            |lane| Layout::new(self.cover, lane, 0, partition_bits, positions, self.radius);
        let layouts: Vec<_> = (0..self.cover.lanes.len()).map(layout).collect();
        let counts = Counts::of(self.prints, &layouts, self.kernel);
        self.workspace.lend(words_needed(items, key_bits), |memory| {
            let (checks, memory) = memory.split_at_mut(bucket_words(key_bits));
            let (places, records) = memory.split_at_mut(bucket_words(key_bits));
            let checks: &mut [Bucket] = bytemuck::cast_slice_mut(checks);
            let places: &mut [Bucket] = bytemuck::cast_slice_mut(places);
            let mut found = Found::default();
            let mut copies = Vec::new();
            for (lane, (layout, counts)) in layouts.iter().zip(&counts).enumerate() {
                let all = 0..1 << partition_bits;
                let partitions = counts.write(all, &copies, records);
                let one = OneLane::new(self, lane, layout, &workers);
                let tables = Tables { checks, places };
                one.find(&one.sort(&partitions, tables), &mut found);
                if lane == 0 {
                    copies = found.copies(items);
                }
            }
            workers.iter().for_each(|worker| found.take_near(&mut lock(worker).found));
            found
        })
    }

    fn report(&self, done: f64) {
        (self.progress)(done / self.cover.lanes.len() as f64);
    }
}

/// What one thread works with, kept from partition to partition.
#[derive(Default)]
struct Worker {
    cells: Cells,
    hits: Vec<Hit>,
    candidates: Candidates,
    found: Found,
}

/// Items in buckets by their keys.
struct Sorted<'a> {
    parts: Vec<Part<'a>>,
    slots: Slots<'a>,
    /// For each slot that is taken, where in its part the record lies.
    places: &'a [Bucket],
    /// The low bits of a bucket's number that tell it from the others of its part.
    low_bits: u32,
}

/// The records of one partition, and what is not in the slots of its buckets.
struct Part<'a> {
    runs: Vec<&'a [u64]>,
    /// Items that found no slot, by bucket.
    late: Vec<Late>,
    /// Buckets with too many items to compare, which have nothing in their slots, and their items.
    crowds: Vec<(u32, Vec<u32>)>,
}

impl Sorted<'_> {
    #[inline(always)]
    fn part(&self, bucket: u32) -> &Part<'_> {
        &self.parts[(bucket >> self.low_bits) as usize]
    }

    /// The place of an item that is in a slot.
    #[inline(always)]
    fn place(&self, slot: u32) -> Option<&u16> {
        self.places.as_flattened().get(slot as usize)
    }

    /// The record of an item that the slots tell.
    #[inline(always)]
    fn record(&self, item: u32) -> &u64 {
        match (self.place(item), self.slots.late(item)) {
            (_, Some(late)) => self.part(late.bucket).record(late.at),
            (Some(&place), _) => self.part(item / WIDTH as u32).record(place.into()),
            (None, None) => unreachable!("items are in slots, or late"),
        }
    }
}

impl Part<'_> {
    #[inline(always)]
    fn record(&self, at: u32) -> &u64 {
        let mut at = at as usize;
        for run in &self.runs {
            match run.get(at) {
                Some(record) => return record,
                None => at -= run.len(),
            }
        }
        unreachable!("places are counted over the runs of their part")
    }
}

/// A closer look at some hits, which counts bits: see [`OneLane::look`].
struct Look<'a, const WORDS: usize> {
    lane: &'a OneLane<'a, WORDS>,
    sorted: &'a Sorted<'a>,
    hits: &'a [Hit],
    candidates: &'a mut Candidates,
}

impl<const WORDS: usize> Task for Look<'_, WORDS> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        self.lane.look(self.sorted, self.hits, self.candidates);
    }
}

/// The work for one lane.
struct OneLane<'a, const WORDS: usize> {
    flip: &'a Flip<'a, WORDS>,
    lane: usize,
    layout: &'a Layout<WORDS>,
    keying: Keying,
    workers: &'a [Mutex<Worker>],
}

impl<'a, const WORDS: usize> OneLane<'a, WORDS> {
    fn new(
        flip: &'a Flip<'a, WORDS>,
        lane: usize,
        layout: &'a Layout<WORDS>,
        workers: &'a [Mutex<Worker>],
    ) -> Self {
        let Lane { bits, branches, .. } = &flip.cover.lanes[lane];
        let rest = layout.field(&bits.without(&branches[0].block));
        let keying = Keying {
            bucket_shift: layout.trunk.field.shift,
            check_shift: rest.shift,
            check_mask: !(u16::MAX << rest.bits.min(CHECK_BITS)),
        };
        Self { flip, lane, layout, keying, workers }
    }

    /// Finds the pairs that this lane owns. All copies are found in the first lane.
    fn find(&self, sorted: &Sorted<'_>, found: &mut Found) {
        self.compare(sorted);
        for worker in self.workers {
            found.equal.append(&mut lock(worker).found.equal);
        }
        let crowds: BTreeMap<u32, &[u32]> = sorted
            .parts
            .iter()
            .flat_map(|part| &part.crowds)
            .map(|(bucket, ids)| (*bucket, &ids[..]))
            .collect();
        crowds.keys().for_each(|&crowd| self.join_crowd(crowd, &crowds, sorted, found));
    }

    fn with_worker<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        work(&mut lock(&self.workers[rayon::current_thread_index().unwrap_or(0)]))
    }

    /// Gives the items of every partition slots in their buckets.
    fn sort<'s>(
        &self,
        partitions: &'s Partitions<'_>,
        Tables { checks, places }: Tables<'s>,
    ) -> Sorted<'s> {
        // The bits of the key that are not the partition's.
        let low_bits = self.layout.trunk.field.bits;
        let count = (checks.len() >> low_bits) as f64;
        let parts = checks
            .par_chunks_mut(1 << low_bits)
            .zip(places.par_chunks_mut(1 << low_bits))
            .enumerate()
            .with_max_len(1)
            .map(|(number, (checks, places))| {
                self.flip.report(self.lane as f64 + 0.5 * number as f64 / count);
                let runs = partitions.runs(number).collect();
                let first = (number as u32) << low_bits;
                let tables = Tables { checks, places };
                self.with_worker(|worker| self.sort_part(runs, first, tables, worker))
            })
            .collect::<Vec<_>>();
        let late = parts.iter().map(|part| &part.late[..]).collect::<Vec<_>>().concat();
        Sorted { parts, slots: Slots::new(checks, late), places, low_bits }
    }

    fn sort_part<'s>(
        &self,
        runs: Vec<&'s [u64]>,
        first: u32,
        mut tables: Tables<'_>,
        worker: &mut Worker,
    ) -> Part<'s> {
        let Worker { cells, found, .. } = worker;
        let mut late = Vec::new();
        cells.fill(self.flip.kernel, &runs, self.keying, &mut tables, &mut late);
        let mut part = Part { runs, late: Vec::new(), crowds: Vec::new() };
        if late.chunk_by(|one, two| one.bucket == two.bucket).any(|late| late.len() > CROWD) {
            late = self.thin_out(&mut part, &mut tables, &late, found);
        }
        // Until here, buckets were counted from the first one of the part.
        late.iter_mut().for_each(|late| late.bucket += first);
        part.crowds.iter_mut().for_each(|(bucket, _)| *bucket += first);
        part.late = late;
        part
    }

    /// Takes copies out of large buckets (all copies meet in the first lane, and are left out of the
    /// others), and then those buckets that are large even so. Returns what is late of the others.
    fn thin_out(
        &self,
        part: &mut Part<'_>,
        tables: &mut Tables<'_>,
        late: &[Late],
        found: &mut Found,
    ) -> Vec<Late> {
        let mut left = Vec::new();
        for late in late.chunk_by(|one, two| one.bucket == two.bucket) {
            if late.len() <= CROWD {
                left.extend_from_slice(late);
                continue;
            }
            let bucket = late[0].bucket;
            let at = bucket as usize;
            let (checks, places) = (&mut tables.checks[at], &mut tables.places[at]);
            let early = checks.iter().zip(&*places).filter(|(check, _)| **check != EMPTY);
            let early = early.map(|(&check, &at)| Late { bucket, at: at.into(), check });
            let mut items: Vec<Late> = early.chain(late.iter().copied()).collect();
            if self.lane == 0 {
                items = self.without_copies(part, items, found);
            }
            *checks = [EMPTY; WIDTH];
            if items.len() > CROWD {
                let ids = items.iter().map(|item| self.layout.id(*part.record(item.at)));
                part.crowds.push((bucket, ids.collect()));
                continue;
            }
            let fit =
                items.iter().take(WIDTH).take_while(|item| item.at <= u16::MAX.into()).count();
            for (slot, item) in items.drain(..fit).enumerate() {
                checks[slot] = item.check;
                places[slot] = item.at as u16;
            }
            left.append(&mut items);
        }
        left
    }

    /// Keeps the first item of each fingerprint, and reports its copies.
    fn without_copies(&self, part: &Part<'_>, items: Vec<Late>, found: &mut Found) -> Vec<Late> {
        let known = |item: Late| {
            let id = self.layout.id(*part.record(item.at));
            (self.flip.prints[id as usize], id, item)
        };
        let (mut firsts, copies) = without_copies(items.into_iter().map(known).collect());
        found.equal.extend(copies);
        firsts.sort_unstable();
        firsts
    }

    /// Finds the pairs in and between all buckets that are no crowds.
    fn compare(&self, sorted: &Sorted<'_>) {
        let parts = sorted.parts.len() as u32;
        (0..parts).into_par_iter().with_max_len(1).for_each(|part| {
            self.flip.report(self.lane as f64 + 0.5 + 0.5 * f64::from(part) / f64::from(parts));
            self.with_worker(|worker| {
                let buckets = part << sorted.low_bits..(part + 1) << sorted.low_bits;
                self.compare_part(sorted, buckets, worker);
            });
        });
    }

    /// Finds the pairs in these buckets, and between them and those they lead to.
    fn compare_part(&self, sorted: &Sorted<'_>, buckets: Range<u32>, worker: &mut Worker) {
        let Flip { prints, cover, radius, kernel, .. } = *self.flip;
        let Worker { hits, candidates, found, .. } = worker;
        let on_hits = &mut |hits: &[Hit]| kernel.run(Look { lane: self, sorted, hits, candidates });
        let hits = Hits { waiting: hits, on_hits };
        sorted.slots.hits(kernel, buckets, cover.lanes[self.lane].budget, hits);
        candidates.verify(kernel, prints, radius, |xor| cover.lane_owns(self.lane, xor), found);
    }

    /// Makes candidates of the hits whose records do not tell that they are far apart. Inlined into each
    /// kernel.
    #[inline(always)]
    fn look(&self, sorted: &Sorted<'_>, hits: &[Hit], candidates: &mut Candidates) {
        // Places and records lie all over the memory: asked for together, they arrive together.
        for some in hits.chunks(LOOK_AT_ONCE) {
            for item in some.iter().flat_map(|hit| [hit.0, hit.1]) {
                prefetch(sorted.place(item));
            }
            let mut records = [(&0, &0); LOOK_AT_ONCE];
            for (records, &(one, two)) in records.iter_mut().zip(some) {
                *records = (sorted.record(one), sorted.record(two));
                prefetch(Some(records.0));
                prefetch(Some(records.1));
            }
            candidates.extend_by(records[..some.len()].iter().map(|(one, two)| {
                let ids = (self.layout.id(**one), self.layout.id(**two));
                (ids, self.may_be_near(**one ^ **two))
            }));
        }
    }

    /// Whether records with this xor do not tell that their items are far from each other.
    #[inline(always)]
    fn may_be_near(&self, xor: u64) -> bool {
        let Layout { lane_mask, digest_mask, .. } = *self.layout;
        let budget = self.flip.cover.lanes[self.lane].budget;
        // Not one after the other: there is no branch to mispredict.
        ((xor & digest_mask).count_ones() <= self.flip.radius)
            & ((xor & lane_mask).count_ones() <= budget)
    }

    /// Finds the pairs of a crowd, and those between it and the buckets one bit apart. Of two crowds, the
    /// first one reports.
    fn join_crowd(
        &self,
        crowd: u32,
        crowds: &BTreeMap<u32, &[u32]>,
        sorted: &Sorted<'_>,
        found: &mut Found,
    ) {
        let Flip { prints, cover, radius, kernel, depth, .. } = *self.flip;
        let mut items = crowds[&crowd].to_vec();
        let inside = items.len() as u32;
        if cover.lanes[self.lane].budget > 0 {
            for other in sorted.slots.beside(crowd) {
                match crowds.get(&other) {
                    Some(_) if other < crowd => {}
                    Some(ids) => items.extend_from_slice(ids),
                    None => {
                        let others = sorted.slots.items(other);
                        items.extend(others.map(|item| self.layout.id(*sorted.record(item))));
                    }
                }
            }
        }
        let some: Vec<_> = items.iter().map(|&id| prints[id as usize]).collect();
        let pairs = find_distinct(&some, radius, kernel, depth + 1);
        found.near.extend(pairs.into_iter().filter(|pair| pair.a.min(pair.b) < inside).filter_map(
            |pair| {
                let xor = some[pair.a as usize].xor(&some[pair.b as usize]);
                let owned = cover.lane_owns(self.lane, &xor) && pair.distance > 0;
                owned.then(|| {
                    Pair::new(items[pair.a as usize], items[pair.b as usize], pair.distance)
                })
            },
        ));
    }
}
