//! Finds all pairs in memory.
//!
//! For every trunk of the cover, one pass scatters all items into partitions that agree in some bits of its
//! block. A partition fits the cache; its records are split further along the paths of the cover, until
//! buckets are small enough to compare exhaustively. A [`Join`] knows the cover, not why it was chosen.

use std::{
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rayon::prelude::*;

use super::{
    Pair, Workspace,
    find::find_distinct,
    record::{Check, Field, Layout, Node, Positions, stretch_bits},
    scatter::{Counts, max_key_bits, records_at_once},
    verify::Candidates,
    workspace::RecordBuffer,
};
use crate::{
    Fingerprint,
    cover::{Cover, Path},
    hamming::{
        Kernel,
        filter::{Digests, Filter, PADDING, Passed},
        prefetch,
    },
};

/// Buckets are compared, not split, up to this size for every way in which they could be split: splitting
/// would cost more.
const SMALL: usize = 128;
/// Buckets that cannot be split are compared up to this size; larger ones get a plan of their own.
pub(super) const DENSE: usize = 1024;
/// With more records than this, pairs that pass in large buckets are verified bucket by bucket.
const MANY: usize = 1 << 16;
/// Splits aim at buckets of about this size.
const TARGET: usize = 6;
/// The maximum number of bits of one split: more than for a scatter, since a split stays in the cache.
pub(super) const MAX_SPLIT_BITS: u32 = 11;
const MAX_BUCKETS: usize = 1 << MAX_SPLIT_BITS;
/// The minimum average size of a partition: smaller ones cost more than they save.
const PARTITION: usize = 2048;

/// What a join works on, and how.
#[derive(Clone, Copy)]
pub(super) struct Join<'a, const WORDS: usize> {
    pub prints: &'a [Fingerprint<WORDS>],
    pub cover: &'a Cover<WORDS>,
    pub radius: u32,
    pub kernel: Kernel,
    /// A record holds the position of a stretch of `2^stretch_bits` items.
    pub stretch_bits: u32,
    /// The number of records written at a time, unless one partition has more.
    pub at_once: usize,
    /// The number of joins around this one.
    pub depth: u32,
    pub workspace: &'a Workspace,
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// The pairs that a search found, in no order.
#[derive(Debug, Default)]
pub(super) struct FoundPairs {
    /// Pairs of different fingerprints. Items listed second in `equal` may or may not occur here. Where
    /// records hold positions of stretches, a pair may occur more than once.
    pub near: Vec<Pair>,
    /// Pairs of equal fingerprints. Every item but the first of its group is listed with the first.
    pub equal: Vec<(u32, u32)>,
}

impl<'a, const WORDS: usize> Join<'a, WORDS> {
    /// A join that is inside no other, without progress reports.
    pub fn new(
        prints: &'a [Fingerprint<WORDS>],
        cover: &'a Cover<WORDS>,
        radius: u32,
        kernel: Kernel,
        workspace: &'a Workspace,
    ) -> Self {
        let stretch_bits = stretch_bits(prints.len());
        let at_once = records_at_once(prints.len());
        let (depth, progress) = (0, &|_| {});
        Self { prints, cover, radius, kernel, stretch_bits, at_once, depth, workspace, progress }
    }

    /// Finds all pairs.
    pub fn run(&self) -> FoundPairs {
        self.run_trunks(&self.cover.trunk_numbers().collect::<Vec<_>>())
    }

    /// Finds the pairs of the paths that begin with these trunks (lane and number). Equal items are found in
    /// the first trunk, and copies are left out of the others.
    pub fn run_trunks(&self, trunks: &[(usize, usize)]) -> FoundPairs {
        let workers: Vec<Mutex<Worker<WORDS>>> =
            (0..rayon::current_num_threads()).map(|_| Mutex::new(Worker::default())).collect();
        let items = self.prints.len();
        let positions = Positions { items, stretch_bits: self.stretch_bits };
        let layout = |&(lane, trunk): &(usize, usize)| {
            let block = &self.cover.trunks[lane][trunk].block;
            let key_bits = partition_bits(items, block.len());
            Layout::new(self.cover, lane, trunk, key_bits, positions, self.radius)
        };
        let layouts: Vec<_> = trunks.iter().map(layout).collect();
        let counts = Counts::of(self.prints, &layouts, self.kernel);
        let mut found = FoundPairs::default();
        let mut skipped = Vec::new();
        for (done, (layout, counts)) in layouts.iter().zip(&counts).enumerate() {
            let progress = |part: f64| (self.progress)((done as f64 + part) / trunks.len() as f64);
            let lane = &self.cover.lanes[layout.trunk.path.lane];
            let first = trunks[done] == (0, 0);
            let walk = Walk { join: self, layout, budget: lane.budget, first };
            walk.trunk(counts, &skipped, &workers, &progress);
            let dense: Vec<DenseBucket<WORDS>> =
                workers.iter().flat_map(|worker| lock(worker).drain(&mut found)).collect();
            dense.iter().for_each(|dense| self.join_dense(dense, &mut found));
            if done == 0 {
                skipped = found.copies(items);
            }
        }
        workers.iter().for_each(|worker| found.take_near(&mut lock(worker).sink.found));
        found
    }

    /// Joins a bucket that its path cannot split further, by a plan of its own.
    fn join_dense(&self, dense: &DenseBucket<WORDS>, found: &mut FoundPairs) {
        let prints: Vec<Fingerprint<WORDS>> =
            dense.ids.iter().map(|&id| self.prints[id as usize]).collect();
        let inner = find_distinct(&prints, self.radius, self.kernel, self.depth + 1);
        found.near.extend(inner.into_iter().filter_map(|pair| {
            let xor = prints[pair.a as usize].xor(&prints[pair.b as usize]);
            let (a, b) = (dense.ids[pair.a as usize], dense.ids[pair.b as usize]);
            dense.path.owns(self.cover, &xor).then(|| Pair {
                a: a.min(b),
                b: a.max(b),
                distance: pair.distance,
            })
        }));
    }
}

/// Locks the state of a worker. A worker that panicked leaves only numbers behind.
fn lock<T>(worker: &Mutex<T>) -> MutexGuard<'_, T> {
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FoundPairs {
    /// Moves the near pairs of `other` here.
    pub fn take_near(&mut self, other: &mut Self) {
        // Fresh memory is expensive: the larger list stays where it is.
        if self.near.len() < other.near.len() {
            mem::swap(&mut self.near, &mut other.near);
        }
        self.near.append(&mut other.near);
    }

    /// A bit for each item that equals an earlier one; empty if there are none.
    pub fn copies(&self, items: usize) -> Vec<u64> {
        if self.equal.is_empty() {
            return Vec::new();
        }
        let mut copies = vec![0u64; items.div_ceil(64)];
        self.equal.iter().for_each(|&(_, copy)| copies[copy as usize / 64] |= 1 << (copy % 64));
        copies
    }
}

/// The buffers of one thread, kept from partition to partition.
struct Worker<const WORDS: usize> {
    buffers: Vec<SplitBuffer>,
    sink: Sink<WORDS>,
}

impl<const WORDS: usize> Default for Worker<WORDS> {
    fn default() -> Self {
        let buffers = (0..=64).map(|_| SplitBuffer::default()).collect();
        Self { buffers, sink: Sink::default() }
    }
}

impl<const WORDS: usize> Worker<WORDS> {
    /// Moves equal items to `found`; returns the buckets still to be joined.
    fn drain(&mut self, found: &mut FoundPairs) -> Vec<DenseBucket<WORDS>> {
        found.equal.append(&mut self.sink.found.equal);
        self.sink.strict = false;
        mem::take(&mut self.sink.dense)
    }
}

/// The results of one thread, and its work in progress.
#[derive(Default)]
struct Sink<const WORDS: usize> {
    passed: Passed,
    candidates: Candidates,
    /// Whether the cheap filter let too many pairs of this trunk pass in vain.
    strict: bool,
    found: FoundPairs,
    dense: Vec<DenseBucket<WORDS>>,
}

/// Distinct fingerprints that agree in all bits of their path, too many to compare.
struct DenseBucket<const WORDS: usize> {
    path: Path<WORDS>,
    ids: Vec<u32>,
}

/// The result of one split: records in buckets.
#[derive(Default)]
struct SplitBuffer {
    records: RecordBuffer,
    /// The checks of records that are compared.
    checks: Vec<u32>,
    ends: Vec<u32>,
    /// The sizes of the smallest bucket and of the largest.
    narrowest: usize,
    widest: usize,
}

impl SplitBuffer {
    /// Copies the records of `runs`, ordered by the key in `field`.
    fn split(&mut self, runs: &[&[u64]], field: Field) {
        let buckets = 1usize << field.bits;
        // Masked with a constant, so that no bounds check is needed.
        let mask = (buckets - 1) % MAX_BUCKETS;
        let key = |record: u64| (record >> field.shift) as usize & mask;
        // Cursors are counters first; in the end each stands at the end of its bucket.
        let mut cursors = [0u32; MAX_BUCKETS];
        runs.iter().copied().flatten().for_each(|&record| cursors[key(record)] += 1);
        let (mut total, mut widest, mut narrowest) = (0, 0, u32::MAX);
        for cursor in &mut cursors[..buckets] {
            let count = mem::replace(cursor, total);
            total += count;
            widest = widest.max(count);
            narrowest = narrowest.min(count);
        }
        (self.narrowest, self.widest) = (narrowest as usize, widest as usize);
        let total = total as usize;
        if self.records.all().len() < total + PADDING {
            // The next group may be a little larger.
            self.records.at_least(total + total / 8 + PADDING);
        }
        let records = self.records.at_least(total + PADDING);
        for run in runs {
            for &record in *run {
                let cursor = &mut cursors[key(record)];
                let at = *cursor;
                *cursor += 1;
                records[at as usize] = record;
            }
        }
        self.ends.clear();
        self.ends.extend_from_slice(&cursors[..buckets]);
    }

    /// Copies the records of `runs` into one bucket.
    fn gather(&mut self, runs: &[&[u64]]) {
        self.split(runs, Field::default());
    }

    fn records(&self) -> &[u64] {
        let total = self.ends.last().copied().unwrap_or(0);
        &self.records.all()[..total as usize]
    }

    fn make_checks(&mut self, check: Check) {
        let total = self.records().len();
        if self.checks.len() < total + PADDING {
            self.checks.resize(total + PADDING, 0);
        }
        for (slot, &record) in self.checks.iter_mut().zip(&self.records.all()[..total]) {
            *slot = check.of(record);
        }
    }

    /// The buckets with more than `small` records.
    fn buckets_above(&self, small: usize) -> impl Iterator<Item = &[u64]> {
        let ends = if self.widest > small { &*self.ends } else { &[] };
        let starts = std::iter::once(&0).chain(ends);
        starts
            .zip(ends)
            .map(|(&start, &end)| &self.records()[start as usize..end as usize])
            .filter(move |bucket| bucket.len() > small)
    }
}

/// How far some records have been split along a path.
#[derive(Clone, Copy)]
struct PathPoint<'a, const WORDS: usize> {
    node: &'a Node<WORDS>,
    /// The bits of the path's last block that are left to split by.
    rest: Field,
    /// Record bits in which the records are known to agree.
    equal: u64,
}

impl<const WORDS: usize> PathPoint<'_, WORDS> {
    /// The number of ways in which records can be split here.
    fn ways(&self) -> usize {
        self.node.next.len().max(usize::from(self.rest.bits > 0))
    }
}

/// The walk along the paths of one trunk.
struct Walk<'a, const WORDS: usize> {
    join: &'a Join<'a, WORDS>,
    layout: &'a Layout<WORDS>,
    /// The budget of the lane.
    budget: u32,
    /// Whether this is the first trunk. All copies meet there, and are left out of the others.
    first: bool,
}

impl<const WORDS: usize> Walk<'_, WORDS> {
    /// Finds the pairs of all paths that begin with the trunk, except those of `skipped` items.
    fn trunk(
        &self,
        counts: &Counts<'_, WORDS>,
        skipped: &[u64],
        workers: &[Mutex<Worker<WORDS>>],
        progress: &(dyn Fn(f64) + Sync),
    ) {
        let Join { workspace, at_once, .. } = *self.join;
        let Layout { trunk: node, .. } = self.layout;
        let slices = counts.slices(at_once);
        let most = slices.iter().map(|slice| counts.items(slice.clone())).max().unwrap_or(0);
        let count = slices.last().map_or(0, |last| last.end) as f64;
        let begun = AtomicU64::new(0);
        workspace.lend(most.max(at_once), |records| {
            for slice in slices {
                let partitions = counts.write(slice.clone(), skipped, records);
                slice.into_par_iter().with_max_len(1).for_each(|partition| {
                    // Before the work: if `progress` unwinds, partitions not yet begun are skipped.
                    progress(begun.fetch_add(1, Ordering::Relaxed) as f64 / count);
                    let runs: Vec<&[u64]> = partitions.runs(partition).collect();
                    let Worker { buffers, sink } =
                        &mut *lock(&workers[rayon::current_thread_index().unwrap_or(0)]);
                    let point = PathPoint { node, rest: node.field, equal: 0 };
                    self.visit(point, &runs, buffers, sink);
                });
            }
        });
    }

    /// The maximum size of a bucket that is compared at this point, rather than split or finished, among
    /// `records` in all.
    fn max_compared(&self, point: &PathPoint<'_, WORDS>, records: usize) -> usize {
        match point.ways() {
            // Copies must not be compared exhaustively, and not too many pairs may wait to be verified.
            0 if !self.first && records <= MANY => DENSE,
            ways => small(ways),
        }
    }

    /// Finds the pairs that the path owns, among records that agree in its bits so far.
    fn visit(
        &self,
        point: PathPoint<'_, WORDS>,
        runs: &[&[u64]],
        buffers: &mut [SplitBuffer],
        sink: &mut Sink<WORDS>,
    ) {
        let total: usize = runs.iter().map(|run| run.len()).sum();
        let next = &point.node.next;
        let reach = next.iter().map(|node| node.field.bits).max().unwrap_or(0);
        if total <= self.max_compared(&point, total) {
            self.compare(&point, runs, buffers, sink);
        } else if point.rest.bits > 0 && (next.is_empty() || wanted_bits(total) > reach) {
            self.split(point, runs, buffers, sink);
        } else if next.is_empty() {
            self.finish(&point, runs, buffers, sink);
        } else {
            for node in next {
                self.split(PathPoint { node, rest: node.field, ..point }, runs, buffers, sink);
            }
        }
    }

    /// Splits by the rest of the last block, compares small buckets, visits large ones.
    fn split(
        &self,
        mut point: PathPoint<'_, WORDS>,
        runs: &[&[u64]],
        buffers: &mut [SplitBuffer],
        sink: &mut Sink<WORDS>,
    ) {
        let total: usize = runs.iter().map(|run| run.len()).sum();
        let (used, rest) =
            point.rest.cut(wanted_bits(total).min(point.rest.bits).min(MAX_SPLIT_BITS));
        point.rest = rest;
        point.equal |= used.mask();
        let (buffer, deeper) =
            buffers.split_first_mut().expect("one buffer for each bit of a record, and one more");
        buffer.split(runs, used);
        let small = self.max_compared(&point, total);
        self.compare_buckets(&point, buffer, small, sink);
        for bucket in buffer.buckets_above(small) {
            self.visit(point, &[bucket], deeper, sink);
        }
    }

    /// Compares all records with each other.
    fn compare(
        &self,
        point: &PathPoint<'_, WORDS>,
        runs: &[&[u64]],
        buffers: &mut [SplitBuffer],
        sink: &mut Sink<WORDS>,
    ) {
        if let Some(buffer) = buffers.first_mut() {
            buffer.gather(runs);
            self.compare_buckets(point, buffer, usize::MAX, sink);
        }
    }

    /// Compares the records of each bucket of up to `largest`, cheapest test first.
    fn compare_buckets(
        &self,
        point: &PathPoint<'_, WORDS>,
        buffer: &mut SplitBuffer,
        largest: usize,
        sink: &mut Sink<WORDS>,
    ) {
        if buffer.narrowest > largest {
            return;
        }
        let Join { kernel, radius, .. } = *self.join;
        if Filter::reads_checks(kernel) {
            buffer.make_checks(self.layout.check);
        }
        let digests = Digests {
            rivals: &point.node.rivals,
            words: buffer.records.all(),
            same: point.equal,
            lane: self.layout.lane_mask,
            max_in_lane: self.budget,
            all: self.layout.digest_mask,
            most: radius,
        };
        sink.passed.pairs.clear();
        sink.passed.wasted = 0;
        let (ends, largest) = (&buffer.ends, largest as u32);
        let check = self.layout.check;
        let filter = if sink.strict { check.exact_filter() } else { check.filter(point.equal) };
        filter.buckets(kernel, &buffer.checks, ends, largest, digests, &mut sink.passed);
        let records = u64::from(ends.last().copied().unwrap_or(0));
        sink.strict |= sink.passed.wasted > records / 8;
        let Sink { passed, candidates, found, .. } = sink;
        let pairs = passed.pairs.iter().copied();
        if self.layout.stretch_bits == 0 {
            pairs.for_each(|[one, two]| candidates.push(self.layout.id(one), self.layout.id(two)));
        } else {
            self.resolve_items(pairs, candidates);
        }
        let Join { prints, cover, .. } = *self.join;
        candidates.verify(kernel, prints, radius, |xor| point.node.path.owns(cover, xor), found);
    }

    /// Finds the items of records that hold positions of stretches. Other items of the same stretch with the
    /// same record are taken, too; a near pair may then be found more than once.
    fn resolve_items(
        &self,
        mut pairs: impl Iterator<Item = [u64; 2]>,
        candidates: &mut Candidates,
    ) {
        const AT_ONCE: usize = 16;
        const LINE: usize = 64;
        let prints = self.join.prints;
        let step = (LINE / size_of::<Fingerprint<WORDS>>()).max(1);
        loop {
            let mut some = [[0; 2]; AT_ONCE];
            let taken = some.iter_mut().zip(&mut pairs).map(|(to, pair)| *to = pair).count();
            if taken == 0 {
                return;
            }
            // Stretches are scattered in memory: requested together, they arrive together.
            for &record in some[..taken].iter().flatten() {
                let stretch = &prints[self.layout.stretch(record, prints.len())];
                stretch.iter().step_by(step).for_each(|print| prefetch(Some(print)));
            }
            for &[one, two] in &some[..taken] {
                for one in self.items(one) {
                    let others = self.items(two).filter(|&two| one != two);
                    others.for_each(|two| candidates.push(one, two));
                }
            }
        }
    }

    /// Handles many records at the end of their path.
    fn finish(
        &self,
        point: &PathPoint<'_, WORDS>,
        runs: &[&[u64]],
        buffers: &mut [SplitBuffer],
        sink: &mut Sink<WORDS>,
    ) {
        let records: Vec<u64> =
            if self.first { self.without_copies(point, runs, sink) } else { runs.concat() };
        if records.len() <= DENSE {
            self.compare(point, &[&records], buffers, sink);
        } else {
            let items = records.iter().flat_map(|&record| self.items(record));
            let mut ids: Vec<u32> = items.collect();
            ids.sort_unstable();
            ids.dedup();
            sink.dense.push(DenseBucket { path: point.node.path.clone(), ids });
        }
    }

    /// The items that a record may stand for.
    fn items(&self, record: u64) -> impl Iterator<Item = u32> {
        self.layout.items(record, self.join.prints)
    }

    /// Reports equal items if this path owns them; returns the first record of each fingerprint.
    fn without_copies(
        &self,
        point: &PathPoint<'_, WORDS>,
        runs: &[&[u64]],
        sink: &mut Sink<WORDS>,
    ) -> Vec<u64> {
        let owned = point.node.path.owns(self.join.cover, &Fingerprint::ZERO);
        let known = |&record: &u64| {
            let items = self.items(record);
            items.map(move |id| (self.join.prints[id as usize], id, record))
        };
        let mut records = runs.concat();
        records.sort_unstable();
        let mut firsts = Vec::with_capacity(records.len());
        for group in records.chunk_by(|&one, &two| self.layout.same_digest(one, two)) {
            if let [only] = group {
                firsts.push(*only);
                continue;
            }
            // Fingerprints are far away in memory: they are read only where records do not decide.
            let (different, copies) = without_copies(group.iter().flat_map(known).collect());
            firsts.extend(different);
            if owned {
                sink.found.equal.extend(copies);
            }
        }
        firsts
    }
}

/// Separates copies: returns what stands for the first item of each fingerprint, and every copy with its first
/// item.
fn without_copies<const WORDS: usize, T: Copy + Ord>(
    mut items: Vec<(Fingerprint<WORDS>, u32, T)>,
) -> (Vec<T>, Vec<(u32, u32)>) {
    items.sort_unstable();
    items.dedup_by_key(|item| item.1);
    let (mut firsts, mut copies) = (Vec::new(), Vec::new());
    for group in items.chunk_by(|one, two| one.0 == two.0) {
        let (_, first, record) = group[0];
        firsts.push(record);
        copies.extend(group[1..].iter().map(|&(_, copy, _)| (first, copy)));
    }
    (firsts, copies)
}

/// How many bits of a block choose the partition of this many items.
pub(super) fn partition_bits(items: usize, block: u32) -> u32 {
    let most = max_key_bits(items);
    let wanted = (items / PARTITION).max(1).ilog2().min(most);
    // A split by only one or two bits would cost as much as one by many.
    if block <= (wanted + 2).min(most) { block } else { wanted }
}

/// The size up to which a bucket that can be split in this many ways is compared instead.
pub(super) fn small(ways: usize) -> usize {
    SMALL * ways.max(1)
}

/// How many bits split this many records into buckets of the wanted size.
pub(super) fn wanted_bits(records: usize) -> u32 {
    records.div_ceil(TARGET).next_power_of_two().ilog2()
}
