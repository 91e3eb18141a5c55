//! How are many queries answered so that memory is waited for only once?
//!
//! Every query asks for some buckets, and every bucket is somewhere else in memory. A [`Batch`]
//! takes a window of such probes through four stages together, table by table: each stage first asks
//! for what the next one reads. How a bucket is stored is the business of [`Buckets`].

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

/// One table of an index, as its storage sees it.
pub(super) trait Buckets: Copy {
    /// Where a bucket is, once looked up.
    type Place: Copy + Default;

    /// Asks for what [`locate`](Self::locate) reads.
    fn touch(self, bucket: u32);

    /// Finds a bucket and asks for its first entries.
    fn locate(self, bucket: u32) -> Self::Place;

    /// Calls `hit` with the position of every entry that passes, and asks for its id.
    ///
    /// Without a test, all entries pass.
    fn scan<L: Lanes>(self, lanes: L, place: Self::Place, test: Option<Test>, hit: impl FnMut(u32));

    /// The id of the entry at a position.
    fn id(self, position: u32) -> u32;
}

/// What the check of an entry is held against.
#[derive(Clone, Copy)]
pub(super) struct Test {
    /// The check of the query.
    pub check: u32,
    /// In how many bits an entry that passes may differ,
    pub most: u32,
    /// the filter that asks so of checks of 32 bits,
    pub filter: Filter,
    /// and whether an entry may differ in none.
    pub same: bool,
}

impl Test {
    /// Which of these checks pass, a bit each.
    #[inline(always)]
    pub fn near<L: Lanes>(&self, lanes: L, checks: &[u32; LANES]) -> u32 {
        let near = lanes.near(self.filter, self.check, checks);
        if self.same { near } else { near & !lanes.near(Filter::exact(0), self.check, checks) }
    }

    /// The same for checks of 16 bits.
    #[inline(always)]
    pub fn near_narrow<L: Lanes>(&self, lanes: L, checks: &[u16; NARROW_LANES]) -> u32 {
        let near = lanes.near_narrow(self.most, self.check as u16, checks);
        if self.same { near } else { near & !lanes.near_narrow(0, self.check as u16, checks) }
    }

    /// The same for many of them, of which hardly any pass.
    #[inline(always)]
    pub fn near_block<L: Lanes>(&self, lanes: L, checks: &[u16; BLOCK]) -> u64 {
        let near = lanes.near_block(self.most, self.check as u16, checks);
        if self.same || near == 0 {
            return near;
        }
        near & !lanes.near_block(0, self.check as u16, checks)
    }
}

/// Some queries, what they are asked of, and who hears the matches.
pub(super) struct Batch<'a, const WORDS: usize, F> {
    pub plan: &'a Plan<WORDS>,
    /// Where the tables of the plan are, by their number.
    pub buckets: F,
    pub prints: &'a [Fingerprint<WORDS>],
    pub queries: &'a [Fingerprint<WORDS>],
    pub radius: Radius,
    pub on_match: OnMatch<'a>,
}

/// How many probes go through the stages together: enough to keep memory busy, few enough that
/// what was asked for is still in the cache when it is read.
const WINDOW: usize = 128;

/// So many hits are looked up before there are more: crowds of equal items would fill the memory.
const MOST_HITS: usize = 1 << 14;

/// How many fingerprints ahead of the one that is verified are asked for.
const AHEAD: usize = 16;

/// One bucket to look into.
#[derive(Clone, Copy)]
struct Probe<P> {
    table: u32,
    query: u32,
    bucket: u32,
    /// Where the bucket is, once looked up.
    place: P,
    test: Option<Test>,
}

/// One entry that passed the filter.
#[derive(Clone, Copy)]
struct Hit {
    table: u32,
    query: u32,
    /// Its position in the table, then its id.
    entry: u32,
}

/// What is on its way through the stages.
struct Window<P> {
    /// Table by table: what is the same for all probes of one is looked up once.
    probes: Vec<Probe<P>>,
    hits: Vec<Hit>,
    /// Those of several queries, by query in the end.
    matches: Vec<(u32, Match)>,
    several: bool,
}

impl<const WORDS: usize, B: Buckets, F: Fn(usize) -> B> Task for Batch<'_, WORDS, F> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> ControlFlow<()> {
        let each = (self.plan.probes(self.radius.bits()) as usize).max(1);
        let at_once = (WINDOW / each).max(1);
        let room = each.saturating_mul(self.queries.len().min(at_once)).min(2 * WINDOW);
        let mut window = Window {
            probes: Vec::with_capacity(room),
            hits: Vec::new(),
            matches: Vec::new(),
            several: false,
        };
        for first in (0..self.queries.len()).step_by(at_once) {
            let queries = first..(first + at_once).min(self.queries.len());
            window.several = queries.len() > 1;
            for table in 0..self.plan.tables.len() {
                self.probe(lanes, queries.clone(), table, &mut window.probes);
                // The tables of one query may be more than a window takes; those of several are not.
                if !window.several && window.probes.len() >= WINDOW {
                    self.look(lanes, &mut window)?;
                }
            }
            self.look(lanes, &mut window)?;
        }
        ControlFlow::Continue(())
    }
}

impl<const WORDS: usize, B: Buckets, F: Fn(usize) -> B> Batch<'_, WORDS, F> {
    /// Adds the buckets of one table in which some queries may have matches.
    #[inline(always)]
    fn probe<L: Lanes>(
        &self,
        lanes: L,
        queries: Range<usize>,
        table: usize,
        probes: &mut Vec<Probe<B::Place>>,
    ) {
        let layout = &self.plan.tables[table];
        let Some(flips) = layout.flips_within(self.radius.bits()) else { return };
        let buckets = (self.buckets)(table);
        let (bits, same) = (layout.check.len(), !layout.differs_in_check());
        let most = layout.errors_in_check(self.radius.bits());
        let filter = Filter::new(bits, most);
        let (table, place) = (table as u32, B::Place::default());
        for (query, print) in (queries.start as u32..).zip(&self.queries[queries]) {
            let check = layout.check.of(lanes, print) as u32;
            let test = (bits > 0).then_some(Test { check, filter, most, same });
            layout.each_bucket(lanes, print, flips, |bucket| {
                buckets.touch(bucket);
                probes.push(Probe { table, query, bucket, place, test });
            });
        }
    }

    /// Takes all probes of the window through the remaining stages.
    #[inline(always)]
    fn look<L: Lanes>(&mut self, lanes: L, window: &mut Window<B::Place>) -> ControlFlow<()> {
        let of_one_table = |one: &Probe<_>, two: &Probe<_>| one.table == two.table;
        for part in window.probes.chunk_by_mut(of_one_table) {
            let buckets = (self.buckets)(part[0].table as usize);
            part.iter_mut().for_each(|probe| probe.place = buckets.locate(probe.bucket));
        }
        for part in window.probes.chunk_by(of_one_table) {
            let buckets = (self.buckets)(part[0].table as usize);
            for &Probe { table, query, place, test, .. } in part {
                let hit = |entry| window.hits.push(Hit { table, query, entry });
                buckets.scan(lanes, place, test, hit);
                if window.hits.len() >= MOST_HITS {
                    self.resolve(&mut window.hits, &mut window.matches, window.several)?;
                }
            }
        }
        self.resolve(&mut window.hits, &mut window.matches, window.several)?;
        // Tables come in the same order for every query.
        window.matches.sort_by_key(|&(query, _)| query);
        let mut matches = window.matches.drain(..);
        matches.try_for_each(|(query, found)| (self.on_match)(query as usize, found))?;
        drop(matches);
        window.probes.clear();
        ControlFlow::Continue(())
    }

    /// Looks up what hits are. Matches of one query are told at once, those of several wait.
    #[inline(always)]
    fn resolve(
        &mut self,
        hits: &mut Vec<Hit>,
        matches: &mut Vec<(u32, Match)>,
        several: bool,
    ) -> ControlFlow<()> {
        for (index, hit) in hits.iter_mut().enumerate() {
            hit.entry = (self.buckets)(hit.table as usize).id(hit.entry);
            if index < AHEAD {
                prefetch(self.prints.get(hit.entry as usize));
            }
        }
        for at in 0..hits.len() {
            let ahead = hits.get(at + AHEAD).and_then(|hit| self.prints.get(hit.entry as usize));
            prefetch(ahead);
            match self.verify(hits[at]) {
                Some(found) if several => matches.push(found),
                Some((query, found)) => (self.on_match)(query as usize, found)?,
                None => {}
            }
        }
        hits.clear();
        ControlFlow::Continue(())
    }

    /// The query and the item, if that is within the radius and its table is the one to report it.
    #[inline(always)]
    fn verify(&self, hit: Hit) -> Option<(u32, Match)> {
        // A damaged file may name items that do not exist.
        let print = self.prints.get(hit.entry as usize)?;
        let xor = print.xor(&self.queries[hit.query as usize]);
        let distance = xor.ones();
        let near = self.radius.contains(distance)
            && self.plan.owns(&self.plan.tables[hit.table as usize], &xor);
        near.then_some((hit.query, Match { id: hit.entry, distance }))
    }
}
