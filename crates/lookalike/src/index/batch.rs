//! Answers many queries with overlapping cache misses.
//!
//! Every query reads some buckets, which are scattered in memory. A [`Batch`] takes a window of such probes
//! through four stages together, table by table; each stage prefetches what the next one reads. [`Buckets`]
//! hides how a bucket is stored.

use std::ops::{ControlFlow, Range};

use super::{Match, OnMatch, plan::Plan};
use crate::{
    Fingerprint, Radius,
    hamming::{
        filter::Filter,
        lanes::{BLOCK, LANES, Lanes, NARROW_LANES, Task},
        prefetch,
    },
};

/// The storage of one table of an index.
pub(super) trait Buckets: Copy {
    /// Where a located bucket is.
    type Location: Copy + Default;

    /// Prefetches what [`locate`](Self::locate) reads.
    fn touch(self, bucket: u32);

    /// Finds a bucket and prefetches its first entries.
    fn locate(self, bucket: u32) -> Self::Location;

    /// Calls `hit` with the position of every entry that passes the test, and prefetches its id, until it returns
    /// `Break`. Without a test, all entries pass.
    fn scan<L: Lanes, E>(
        self,
        lanes: L,
        place: Self::Location,
        test: Option<Test>,
        hit: impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E>;

    /// The id of the entry at a position.
    fn id(self, position: u32) -> u32;
}

/// The test of the check of an entry.
#[derive(Clone, Copy)]
pub(super) struct Test {
    /// The check of the query.
    pub check: u32,
    /// The maximum number of differing bits.
    pub most: u32,
    /// The filter that tests the same for checks of 32 bits.
    pub filter: Filter,
    /// Whether an equal check passes. If not, another table reports the entry: see
    /// [`TablePlan::differs_in_check`](super::plan::TablePlan::differs_in_check).
    pub equal_passes: bool,
}

impl Test {
    /// A bit for each of these checks: whether it passes.
    #[inline(always)]
    pub fn near<L: Lanes>(&self, lanes: L, checks: &[u32; LANES]) -> u32 {
        let near = lanes.near(self.filter, self.check, checks);
        if self.equal_passes {
            return near;
        }
        near & !lanes.near(Filter::exact(0), self.check, checks)
    }

    /// The same for checks of 16 bits.
    #[inline(always)]
    pub fn near_narrow<L: Lanes>(&self, lanes: L, checks: &[u16; NARROW_LANES]) -> u32 {
        let near = lanes.near_narrow(self.most, self.check as u16, checks);
        if self.equal_passes {
            return near;
        }
        near & !lanes.near_narrow(0, self.check as u16, checks)
    }

    /// The same for more checks, of which hardly any pass.
    #[inline(always)]
    pub fn near_block<L: Lanes>(&self, lanes: L, checks: &[u16; BLOCK]) -> u64 {
        let near = lanes.near_block(self.most, self.check as u16, checks);
        if self.equal_passes || near == 0 {
            return near;
        }
        near & !lanes.near_block(0, self.check as u16, checks)
    }
}

/// Some queries, the index they are for, and the receiver of matches.
pub(super) struct Batch<'a, const WORDS: usize, F> {
    pub plan: &'a Plan<WORDS>,
    /// The storage of each table of the plan, by its number.
    pub buckets: F,
    pub prints: &'a [Fingerprint<WORDS>],
    pub queries: &'a [Fingerprint<WORDS>],
    pub radius: Radius,
    pub on_match: OnMatch<'a>,
}

/// The number of probes that go through the stages together: enough to keep memory busy, few enough that what was
/// prefetched is still in the cache when it is read.
const WINDOW: usize = 128;

/// The maximum number of hits that wait to be verified: buckets with many equal items would fill the memory.
const MAX_HITS: usize = 1 << 14;

/// The maximum number of matches of several queries that wait. Beyond it, these queries are answered one by one.
const MAX_MATCHES: usize = 1 << 16;

/// How many fingerprints are prefetched ahead of the one that is verified.
const AHEAD: usize = 16;

/// One bucket to read.
#[derive(Clone, Copy)]
struct Probe<P> {
    table: u32,
    /// Counted from the first query of the window.
    query: u32,
    bucket: u32,
    /// Where the bucket is, once located.
    place: P,
    test: Option<Test>,
}

/// An entry that passed the filter.
#[derive(Clone, Copy)]
struct Hit {
    table: u32,
    query: u32,
    /// Its position in the table, then its id.
    entry: u32,
}

/// The probes, hits and matches that go through the stages together.
struct Window<P> {
    /// The queries of this window.
    queries: Range<usize>,
    /// Table by table, so that what all probes of a table share is looked up once.
    probes: Vec<Probe<P>>,
    hits: Vec<Hit>,
    /// Matches of several queries, sorted by query in the end.
    matches: Vec<(u32, Match)>,
}

impl<P> Window<P> {
    /// Whether matches wait, so that they are reported query by query.
    fn several(&self) -> bool {
        self.queries.len() > 1
    }
}

/// Why a window ends early.
enum End {
    /// The receiver of matches returned `Break`.
    Enough,
    /// Too many matches wait; none has been reported.
    TooManyMatches,
}

impl<const WORDS: usize, B: Buckets, F: Fn(usize) -> B> Task for Batch<'_, WORDS, F> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> ControlFlow<()> {
        let each = (self.plan.probes(self.radius.bits()) as usize).max(1);
        let at_once = (WINDOW / each).max(1);
        let room = each.saturating_mul(self.queries.len().min(at_once)).min(2 * WINDOW);
        let probes = Vec::with_capacity(room);
        let mut window = Window { queries: 0..0, probes, hits: Vec::new(), matches: Vec::new() };
        // Queries before this one are answered one by one.
        let mut alone = 0;
        while window.queries.end < self.queries.len() {
            let first = window.queries.end;
            let count = if first < alone { 1 } else { at_once };
            window.queries = first..(first + count).min(self.queries.len());
            match self.answer(lanes, &mut window) {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(End::Enough) => return ControlFlow::Break(()),
                ControlFlow::Break(End::TooManyMatches) => {
                    alone = window.queries.end;
                    window.queries.end = first;
                    window.matches.clear();
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl<const WORDS: usize, B: Buckets, F: Fn(usize) -> B> Batch<'_, WORDS, F> {
    /// Answers the queries of a window.
    #[inline(always)]
    fn answer<L: Lanes>(&mut self, lanes: L, window: &mut Window<B::Location>) -> ControlFlow<End> {
        for table in 0..self.plan.tables.len() {
            self.probe(lanes, table, window);
            // A single query may have more probes than fit into a window.
            if !window.several() && window.probes.len() >= WINDOW {
                self.look(lanes, window)?;
            }
        }
        self.look(lanes, window)
    }

    /// Adds the probes of all queries for one table.
    #[inline(always)]
    fn probe<L: Lanes>(&self, lanes: L, table: usize, window: &mut Window<B::Location>) {
        let layout = &self.plan.tables[table];
        let Some(flips) = layout.flips_within(self.radius.bits()) else { return };
        let buckets = (self.buckets)(table);
        let (bits, equal_passes) = (layout.check.len(), !layout.differs_in_check());
        let most = layout.errors_in_check(self.radius.bits());
        let filter = Filter::new(bits, most);
        let (table, place) = (table as u32, B::Location::default());
        for (query, print) in (0..).zip(&self.queries[window.queries.clone()]) {
            let check = layout.check.of(lanes, print) as u32;
            let test = (bits > 0).then_some(Test { check, most, filter, equal_passes });
            layout.each_bucket(lanes, print, flips, |bucket| {
                buckets.touch(bucket);
                window.probes.push(Probe { table, query, bucket, place, test });
            });
        }
    }

    /// Takes all probes of the window through the remaining stages.
    #[inline(always)]
    fn look<L: Lanes>(&mut self, lanes: L, window: &mut Window<B::Location>) -> ControlFlow<End> {
        let of_one_table = |one: &Probe<_>, two: &Probe<_>| one.table == two.table;
        for part in window.probes.chunk_by_mut(of_one_table) {
            let buckets = (self.buckets)(part[0].table as usize);
            part.iter_mut().for_each(|probe| probe.place = buckets.locate(probe.bucket));
        }
        let probes = std::mem::take(&mut window.probes);
        for part in probes.chunk_by(of_one_table) {
            let buckets = (self.buckets)(part[0].table as usize);
            for &Probe { table, query, place, test, .. } in part {
                buckets.scan(lanes, place, test, |entry| {
                    window.hits.push(Hit { table, query, entry });
                    if window.hits.len() < MAX_HITS {
                        return ControlFlow::Continue(());
                    }
                    self.resolve(window)
                })?;
            }
        }
        self.resolve(window)?;
        window.probes = probes;
        window.probes.clear();
        // A stable sort: tables stay in the same order for every query.
        window.matches.sort_by_key(|&(query, _)| query);
        let first = window.queries.start;
        let mut waiting = window.matches.drain(..);
        waiting.try_for_each(|(query, found)| self.report(first, query, found))
    }

    /// Verifies hits. Matches of a single query are reported at once, those of several wait.
    #[inline(always)]
    fn resolve(&mut self, window: &mut Window<B::Location>) -> ControlFlow<End> {
        let several = window.several();
        let Window { queries: Range { start, .. }, hits, matches, .. } = window;
        for part in hits.chunk_by_mut(|one, two| one.table == two.table) {
            let buckets = (self.buckets)(part[0].table as usize);
            part.iter_mut().for_each(|hit| hit.entry = buckets.id(hit.entry));
        }
        for hit in hits.iter().take(AHEAD) {
            prefetch(self.prints.get(hit.entry as usize));
        }
        for at in 0..hits.len() {
            let ahead = hits.get(at + AHEAD).and_then(|hit| self.prints.get(hit.entry as usize));
            prefetch(ahead);
            let hit = hits[at];
            match self.verify(*start, hit) {
                Some(found) if several => matches.push((hit.query, found)),
                Some(found) => self.report(*start, hit.query, found)?,
                None => {}
            }
        }
        hits.clear();
        if matches.len() < MAX_MATCHES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(End::TooManyMatches)
        }
    }

    #[inline(always)]
    fn report(&mut self, first: usize, query: u32, found: Match) -> ControlFlow<End> {
        (self.on_match)(first + query as usize, found).map_break(|()| End::Enough)
    }

    /// The item, if it is within the radius and its table is the one to report it.
    #[inline(always)]
    fn verify(&self, first: usize, hit: Hit) -> Option<Match> {
        // A damaged file may name items that do not exist.
        let print = self.prints.get(hit.entry as usize)?;
        let xor = print.xor(&self.queries[first + hit.query as usize]);
        let distance = xor.ones();
        let near = self.radius.contains(distance)
            && self.plan.owns(&self.plan.tables[hit.table as usize], &xor);
        near.then_some(Match { id: hit.entry, distance })
    }
}
