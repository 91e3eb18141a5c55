//! Which candidates are alike?
//!
//! Cheap tests first, at once: the second fingerprint, and sizes that rule it out. If all sets are in
//! memory, what passes is tested soon after; else it waits, sorted by where its sets lie, until all
//! candidates are there. There is room for some that wait and some that were found; the rest is on
//! disk.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::{FOUND, TextSearch, WAITING, digest::Second, sets::Block, store::Store};
use crate::{
    AlikePair, Kernel, Pair, PairsError, Verify,
    alike::PackedPair,
    sorted::{InOrder, Record, Sorter},
    verify::Set,
};

/// Takes candidates, by entry, and keeps the alike ones.
pub(super) struct Check<'a, const WORDS: usize> {
    store: &'a Store<WORDS>,
    verify: Verify,
    second_radius: u32,
    kernel: Kernel,
    /// Which entries can be in memory together: all, if there is one block.
    blocks: Vec<Range<usize>>,
    /// All sets, if they are in memory.
    sets: Option<Block<'a>>,
    /// Else, those whose sets must be fetched.
    waiting: Option<Sorter<Candidate>>,
    alike: Sorter<PackedPair>,
    tested: AtomicU64,
}

/// Candidates that a thread collects before they are tested, or wait.
const TOGETHER: usize = 1 << 10;
/// Candidates that waited and are tested at a time, by all threads.
const AT_ONCE: usize = 1 << 16;

impl<'a, const WORDS: usize> Check<'a, WORDS> {
    pub fn new(
        search: &TextSearch,
        verify: Verify,
        store: &'a Store<WORDS>,
    ) -> Result<Self, PairsError> {
        let blocks = store.sets.blocks();
        let sets = match &blocks[..] {
            [all] => Some(store.sets.load(all.clone())?),
            _ => None,
        };
        Ok(Self {
            store,
            verify,
            second_radius: verify.second_radius(),
            kernel: search.kernel,
            blocks,
            waiting: sets.is_none().then(|| Sorter::new(&search.room(WAITING))),
            sets,
            alike: Sorter::new(&search.room(FOUND)),
            tested: AtomicU64::new(0),
        })
    }

    /// Whether two entries can be alike, by what is known without their sets.
    #[inline]
    pub fn can_be(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a as usize, b as usize];
        self.is_second_near(&self.store.seconds[a], &self.store.seconds[b]) && {
            let [a, b] = [self.store.weights[a], self.store.weights[b]];
            a.max(b) <= self.verify.heaviest_partner(a.min(b))
        }
    }

    /// Whether two entries can be alike, by their second fingerprints.
    #[inline]
    pub fn is_second_near(&self, a: &Second, b: &Second) -> bool {
        a.distance(b) <= self.second_radius
    }

    /// Begins to take candidates on some thread.
    pub fn tester(&self) -> Tester<'_, 'a, WORDS> {
        Tester { check: self, candidates: Vec::new(), failure: None }
    }

    /// Tests candidates or has them wait, and leaves their list empty.
    fn take(&self, candidates: &mut Vec<Pair>) -> Result<(), PairsError> {
        if let Some(waiting) = &self.waiting {
            let candidates = candidates.drain(..).map(|pair| self.candidate(pair));
            waiting.append(&mut candidates.collect())?;
        }
        if let Some(all) = &self.sets {
            self.tested.fetch_add(candidates.len() as u64, Ordering::Relaxed);
            let found = candidates.drain(..).filter_map(|pair| self.test(pair, all, all));
            self.alike.append(&mut found.collect())?;
        }
        Ok(())
    }

    fn test(&self, pair: Pair, a: &Block, b: &Block) -> Option<PackedPair> {
        let [one, two] = [pair.a as usize, pair.b as usize];
        let a = Set { features: a.set(one), weight: self.store.weights[one] };
        let b = Set { features: b.set(two), weight: self.store.weights[two] };
        let similarity = Some(self.verify.enough(a, b, self.kernel)?);
        let Pair { a, b, distance } = pair;
        Some(AlikePair { a, b, distance, similarity }.into())
    }

    fn candidate(&self, pair: Pair) -> Candidate {
        let block =
            |item: u32| self.blocks.partition_point(|block| block.end <= item as usize) as u32;
        let Pair { a, b, distance } = pair;
        Candidate { blocks: [block(a), block(b)], a, b, distance }
    }

    /// The alike pairs in order, of which some may come twice, and how many were tested.
    pub fn finish(mut self) -> Result<(InOrder<PackedPair>, u64), PairsError> {
        if let Some(waiting) = self.waiting.take() {
            self.test_waiting(waiting.finish()?)?;
        }
        Ok((self.alike.finish()?, self.tested.into_inner()))
    }

    /// Tests what waited, block by block.
    fn test_waiting(
        &self,
        waiting: impl Iterator<Item = Result<Candidate, PairsError>>,
    ) -> Result<(), PairsError> {
        let mut waiting = waiting.peekable();
        let mut loaded: Option<Loaded<'_>> = None;
        let mut some = Vec::with_capacity(AT_ONCE);
        while let Some(first) = waiting.next().transpose()? {
            some.push(first);
            let blocks = first.blocks;
            let fits = |next: &Result<Candidate, _>| {
                next.as_ref().map_or(true, |next| next.blocks == blocks)
            };
            while some.len() < AT_ONCE
                && let Some(next) = waiting.next_if(fits)
            {
                some.push(next?);
            }
            loaded = Some(self.load(loaded, blocks)?);
            if let Some(Loaded { a, b, .. }) = &loaded {
                self.test_all(&some, a, b.as_ref().unwrap_or(a))?;
            }
            some.clear();
        }
        Ok(())
    }

    /// The sets of two blocks, of which some may be there already.
    fn load(&self, before: Option<Loaded<'a>>, blocks: [u32; 2]) -> Result<Loaded<'a>, PairsError> {
        let load = |block: u32| self.store.sets.load(self.blocks[block as usize].clone());
        let [one, two] = blocks;
        let (a, b) = match before {
            Some(before) if before.blocks == blocks => return Ok(before),
            Some(before) if before.blocks[0] == one => (before.a, None),
            _ => (load(one)?, None),
        };
        let b = if one == two { b } else { Some(load(two)?) };
        Ok(Loaded { blocks, a, b })
    }

    fn test_all(
        &self,
        candidates: &[Candidate],
        a: &Block<'_>,
        b: &Block<'_>,
    ) -> Result<(), PairsError> {
        self.tested.fetch_add(candidates.len() as u64, Ordering::Relaxed);
        candidates.par_chunks(TOGETHER).try_for_each(|some| {
            let found = some.iter().filter_map(|&candidate| {
                let Candidate { a: one, b: two, distance, .. } = candidate;
                self.test(Pair { a: one, b: two, distance }, a, b)
            });
            self.alike.append(&mut found.collect())
        })
    }
}

/// The sets of two blocks; the second may be the first.
struct Loaded<'a> {
    blocks: [u32; 2],
    a: Block<'a>,
    b: Option<Block<'a>>,
}

/// Takes candidates on one thread.
pub(super) struct Tester<'c, 'a, const WORDS: usize> {
    check: &'c Check<'a, WORDS>,
    candidates: Vec<Pair>,
    /// What went wrong first.
    failure: Option<PairsError>,
}

impl<const WORDS: usize> Tester<'_, '_, WORDS> {
    /// Takes a pair that can be alike. It may come again.
    #[inline]
    pub fn push(&mut self, pair: Pair) {
        self.candidates.push(pair);
        if self.candidates.len() == TOGETHER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let taken = self.check.take(&mut self.candidates);
        if self.failure.is_none() {
            self.failure = taken.err();
        }
    }

    /// No more candidates will come from here.
    pub fn finish(mut self) -> Result<(), PairsError> {
        self.flush();
        self.failure.map_or(Ok(()), Err)
    }
}

/// A pair that may be alike, and the blocks in which the sets of both lie.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Candidate {
    blocks: [u32; 2],
    a: u32,
    b: u32,
    distance: u32,
}

impl Record for Candidate {
    fn place(&self) -> u64 {
        u64::from(self.blocks[0]) << 32 | u64::from(self.blocks[1])
    }
}
