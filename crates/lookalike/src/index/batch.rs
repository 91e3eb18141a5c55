//! How are many queries answered so that memory is waited for only once?
//!
//! Every query asks for some buckets, and every bucket is somewhere else in memory. A [`Batch`]
//! takes a window of such probes through four stages together: each stage first asks for what the
//! next one reads. How a bucket is stored is the business of [`Buckets`].

use std::ops::ControlFlow;

use super::{Match, OnMatch, plan::Plan};
use crate::{
    Fingerprint, Radius,
    hamming::{
        filter::Filter,
        lanes::{Lanes, Task},
        prefetch,
    },
};

/// The tables of an index, as their storage sees them.
pub(super) trait Buckets {
    /// Where a bucket is, once looked up.
    type Place: Copy;

    /// Asks for what [`locate`](Self::locate) reads.
    fn touch(&self, table: usize, bucket: u32);

    /// Finds a bucket and asks for its first entries.
    fn locate(&self, table: usize, bucket: u32) -> Self::Place;

    /// Calls `hit` with the position of every entry that passes, and asks for its id.
    ///
    /// Without a test, all entries pass.
    fn scan<L: Lanes>(
        &self,
        lanes: L,
        table: usize,
        place: Self::Place,
        test: Option<Test>,
        hit: impl FnMut(u32),
    );

    /// The id of the entry at a position.
    fn id(&self, table: usize, position: u32) -> u32;
}

/// What the check of an entry is held against.
#[derive(Clone, Copy)]
pub(super) struct Test {
    /// The check of the query.
    pub check: u32,
    /// How many bits it has, 1 to 32.
    pub bits: u32,
    /// In how many of them an entry that passes may differ.
    pub most: u32,
}

impl Test {
    /// As a filter on 32-bit checks.
    #[inline(always)]
    pub fn filter(&self) -> Filter {
        Filter::new(self.bits, self.most)
    }
}

/// Some queries, what they are asked of, and who hears the matches.
pub(super) struct Batch<'a, const WORDS: usize, B: ?Sized> {
    pub plan: &'a Plan<WORDS>,
    pub buckets: &'a B,
    pub prints: &'a [Fingerprint<WORDS>],
    pub queries: &'a [Fingerprint<WORDS>],
    pub radius: Radius,
    pub on_match: OnMatch<'a>,
}

/// How many probes go through the stages together: enough to keep memory busy, few enough that
/// what was asked for is still in the cache when it is read.
const WINDOW: usize = 128;

/// How many fingerprints ahead of the one that is verified are asked for.
const AHEAD: usize = 16;

/// One bucket to look into.
#[derive(Clone, Copy)]
struct Probe {
    query: u32,
    table: u32,
    bucket: u32,
    check: u32,
}

/// One entry that passed the filter.
#[derive(Clone, Copy)]
struct Hit {
    probe: u32,
    /// Its position in the table, then its id.
    entry: u32,
}

/// What is on its way through the stages.
struct Window<P> {
    probes: Vec<Probe>,
    places: Vec<P>,
    hits: Vec<Hit>,
}

impl<const WORDS: usize, B: Buckets + ?Sized> Task for Batch<'_, WORDS, B> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> ControlFlow<()> {
        let probes = self.plan.probes(self.radius.bits()) as usize * self.queries.len();
        let room = probes.min(2 * WINDOW);
        let mut window = Window {
            probes: Vec::with_capacity(room),
            places: Vec::with_capacity(room),
            hits: Vec::new(),
        };
        for query in 0..self.queries.len() {
            for table in 0..self.plan.tables.len() {
                self.probe(lanes, query, table, &mut window.probes);
                if window.probes.len() >= WINDOW {
                    self.look(lanes, &mut window)?;
                }
            }
        }
        self.look(lanes, &mut window)
    }
}

impl<const WORDS: usize, B: Buckets + ?Sized> Batch<'_, WORDS, B> {
    /// Adds the buckets of one table in which one query may have matches.
    #[inline(always)]
    fn probe<L: Lanes>(&self, lanes: L, query: usize, table: usize, probes: &mut Vec<Probe>) {
        let print = &self.queries[query];
        let layout = &self.plan.tables[table];
        let Some(flips) = layout.flips_within(self.radius.bits()) else { return };
        let check = layout.check.of(lanes, print) as u32;
        layout.each_bucket(lanes, print, flips, |bucket| {
            self.buckets.touch(table, bucket);
            probes.push(Probe { query: query as u32, table: table as u32, bucket, check });
        });
    }

    /// Takes all probes of the window through the remaining stages.
    #[inline(always)]
    fn look<L: Lanes>(&mut self, lanes: L, window: &mut Window<B::Place>) -> ControlFlow<()> {
        let Window { probes, places, hits } = window;
        let locate = |probe: &Probe| self.buckets.locate(probe.table as usize, probe.bucket);
        places.extend(probes.iter().map(locate));
        for (index, (probe, &place)) in probes.iter().zip(&*places).enumerate() {
            let table = probe.table as usize;
            let test = self.test(table, probe.check);
            let hit = |entry| hits.push(Hit { probe: index as u32, entry });
            self.buckets.scan(lanes, table, place, test, hit);
        }
        for (index, hit) in hits.iter_mut().enumerate() {
            hit.entry = self.buckets.id(probes[hit.probe as usize].table as usize, hit.entry);
            if index < AHEAD {
                prefetch(self.prints.get(hit.entry as usize));
            }
        }
        for at in 0..hits.len() {
            let ahead = hits.get(at + AHEAD).and_then(|hit| self.prints.get(hit.entry as usize));
            prefetch(ahead);
            self.verify(&probes[hits[at].probe as usize], hits[at].entry)?;
        }
        probes.clear();
        places.clear();
        hits.clear();
        ControlFlow::Continue(())
    }

    /// The test on the checks of a table, if it has any.
    #[inline(always)]
    fn test(&self, table: usize, check: u32) -> Option<Test> {
        let table = &self.plan.tables[table];
        let (bits, most) = (table.check.len(), table.errors_in_check(self.radius.bits()));
        (bits > 0).then_some(Test { check, bits, most })
    }

    /// Reports the item if it is within the radius and this is the table to report it.
    #[inline(always)]
    fn verify(&mut self, probe: &Probe, id: u32) -> ControlFlow<()> {
        // A damaged file may name items that do not exist.
        let Some(print) = self.prints.get(id as usize) else { return ControlFlow::Continue(()) };
        let xor = print.xor(&self.queries[probe.query as usize]);
        let distance = xor.ones();
        if !self.radius.contains(distance)
            || !self.plan.owns(&self.plan.tables[probe.table as usize], &xor)
        {
            return ControlFlow::Continue(());
        }
        (self.on_match)(probe.query as usize, Match { id, distance })
    }
}
