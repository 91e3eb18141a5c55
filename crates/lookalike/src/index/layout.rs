//! The memory layout of a static index.
//!
//! [`Layout`] gives the position of everything in units of 32 bits, the same in memory and in the file. A
//! [`StaticTable`] reads buckets there: it has a directory, with checks and ids in two arrays, or [`Cells`]
//! with a tail.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::{
    batch::{Buckets, Test},
    build::{TableMut, fill},
    cells::{CELL_WORDS, Cells, pack, tail_len},
    file::{self, ALIGNMENT, Content, Header},
    plan::{Plan, TablePlan},
};
use crate::{
    Fingerprint,
    hamming::{
        Kernel,
        lanes::{LANES, Lanes},
        prefetch,
    },
};

/// The ranges of everything in an index, in units of 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub items: usize,
    pub prints: Range<usize>,
    pub tables: Vec<TableRanges>,
    pub words: usize,
}

/// The ranges of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableRanges {
    /// One offset per bucket and the end of the last; or the cells.
    directory: Range<usize>,
    /// Empty if the table has no checks, or cells; otherwise followed by padding for vectors.
    checks: Range<usize>,
    /// One id per item; or the tail.
    ids: Range<usize>,
    cells: bool,
}

/// How many tables are filled at once: each takes 12 bytes per item of temporary memory.
const AT_ONCE: usize = 2;

impl Layout {
    /// The layout of an index of these fingerprints.
    pub fn of<const WORDS: usize>(
        plan: &Plan<WORDS>,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Self {
        let tail = |table: &TablePlan<WORDS>| {
            if table.cells { tail_len(table, prints, kernel) } else { 0 }
        };
        Self::new(plan, prints.len(), plan.tables.par_iter().map(tail).collect())
    }

    /// The layout of an index in a file of this length, and the byte where it starts there; `None` if the
    /// sections of the file are not exactly those that the plan needs.
    pub fn in_file<const WORDS: usize>(
        plan: &Plan<WORDS>,
        items: usize,
        header: &Header,
        length: usize,
    ) -> Option<(Self, usize)> {
        let tail = |table: u32| {
            let section =
                header.sections.iter().find(|section| section.content == Content::Ids(table));
            Some(usize::try_from(section?.bytes).ok()? / size_of::<u32>())
        };
        let tails = (0..plan.tables.len() as u32).map(tail).collect::<Option<Vec<usize>>>()?;
        let layout = Self::new(plan, items, tails);
        let (start, end) = layout.bounds(header)?;
        (end == length as u64).then_some((layout, start))
    }

    /// `tails` are the lengths of the tails of tables with cells; not used for other tables.
    fn new<const WORDS: usize>(plan: &Plan<WORDS>, items: usize, tails: Vec<usize>) -> Self {
        let mut words = 0usize;
        let mut place = |count: usize| {
            let start = words;
            words = start.saturating_add(count).div_ceil(UNIT).saturating_mul(UNIT);
            start..start.saturating_add(count)
        };
        let prints = place(items * 2 * WORDS);
        let tables = plan.tables.iter().zip(tails).map(|(table, tail)| {
            let (directory, checks, ids) = match (table.cells, table.check.len()) {
                (true, _) => (table.buckets() * CELL_WORDS, 0, tail),
                (false, 0) => (table.buckets() + 1, 0, items),
                (false, _) => (table.buckets() + 1, items + LANES, items),
            };
            let [directory, checks, ids] = [directory, checks, ids].map(&mut place);
            TableRanges { directory, checks, ids, cells: table.cells }
        });
        let tables = tables.collect();
        Self { items, prints, tables, words }
    }

    /// Every section except the plan, in the order of the file.
    pub fn sections(&self) -> impl Iterator<Item = (Content, Range<usize>)> {
        let tables = (0u32..).zip(&self.tables).flat_map(|(number, table)| {
            let checks = Some((Content::Checks(number), table.checks.clone()));
            [(Content::Directory(number), table.directory.clone())]
                .into_iter()
                .chain(checks.filter(|(_, range)| !range.is_empty()))
                .chain([(Content::Ids(number), table.ids.clone())])
        });
        std::iter::once((Content::Fingerprints, self.prints.clone())).chain(tables)
    }

    /// Where this layout starts and ends in a file with these sections; `None` if they do not fit.
    fn bounds(&self, header: &Header) -> Option<(usize, u64)> {
        let (plan, parts) = header.sections.split_first()?;
        let sizes = self.sections().map(|(_, range)| 4 * range.len() as u64);
        let (starts, end) = file::starts(std::iter::once(plan.bytes).chain(sizes));
        let mut expected = self.sections().zip(&starts[1..]);
        let fits = plan.content == Content::Plan
            && plan.start == starts[0]
            && parts.len() + 1 == starts.len()
            && parts.iter().all(|part| {
                expected.next().is_some_and(|((content, range), &start)| {
                    let bytes = 4 * range.len() as u64;
                    (part.content, part.start, part.bytes) == (content, start, bytes)
                })
            });
        fits.then_some((starts[1] as usize, end))
    }

    /// Copies the fingerprints and sorts them into all tables.
    pub fn fill<const WORDS: usize>(
        &self,
        plan: &Plan<WORDS>,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
        words: &mut [u32],
    ) {
        let mut rest = Rest { words, at: 0 };
        rest.take(&self.prints).copy_from_slice(bytemuck::cast_slice(prints));
        let mut targets: Vec<TableMut<'_>> = self
            .tables
            .iter()
            .map(|place| TableMut {
                directory: rest.take(&place.directory),
                checks: rest.take(&place.checks),
                ids: rest.take(&place.ids),
            })
            .collect();
        for (tables, targets) in plan.tables.chunks(AT_ONCE).zip(targets.chunks_mut(AT_ONCE)) {
            tables.par_iter().zip(targets).for_each(|(table, target)| {
                if table.cells {
                    fill_cells(table, prints, kernel, target);
                } else {
                    fill(table, prints, kernel, target);
                }
            });
        }
    }
}

/// Sections start at multiples of this many units, in the file and in memory.
const UNIT: usize = ALIGNMENT as usize / size_of::<u32>();

/// Sorts into arrays, then packs these into cells.
fn fill_cells<const WORDS: usize>(
    table: &TablePlan<WORDS>,
    prints: &[Fingerprint<WORDS>],
    kernel: Kernel,
    target: &mut TableMut<'_>,
) {
    let mut directory = vec![0; table.buckets() + 1];
    let mut checks = vec![0; prints.len()];
    let mut ids = vec![0; prints.len()];
    let mut sorted = TableMut { directory: &mut directory, checks: &mut checks, ids: &mut ids };
    fill(table, prints, kernel, &mut sorted);
    pack(&directory, &checks, &ids, target.directory, target.ids);
}

/// Memory from position `at` on, handed out front to back.
struct Rest<'a> {
    words: &'a mut [u32],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, range: &Range<usize>) -> &'a mut [u32] {
        let words = std::mem::take(&mut self.words);
        let (_, words) = words.split_at_mut(range.start - self.at);
        let (taken, rest) = words.split_at_mut(range.len());
        (self.words, self.at) = (rest, range.end);
        taken
    }
}

impl TableRanges {
    /// The table as a search sees it, in the memory of its index.
    #[inline(always)]
    pub fn table<'a>(&self, words: &'a [u32]) -> StaticTable<'a> {
        let [directory, checks, ids] =
            [&self.directory, &self.checks, &self.ids].map(|range| &words[range.clone()]);
        if self.cells {
            StaticTable::Cells(Cells { cells: directory, tail: ids })
        } else {
            StaticTable::Arrays(Arrays { directory, checks, ids })
        }
    }
}

/// A table as a search sees it.
#[derive(Clone, Copy)]
pub(super) enum StaticTable<'a> {
    Cells(Cells<'a>),
    Arrays(Arrays<'a>),
}

/// A directory, and the entries in its order.
#[derive(Clone, Copy)]
pub(super) struct Arrays<'a> {
    directory: &'a [u32],
    checks: &'a [u32],
    ids: &'a [u32],
}

impl Arrays<'_> {
    #[inline(always)]
    fn locate(&self, bucket: u32) -> (u32, u32) {
        let at = bucket as usize;
        // A damaged file may hold any offset: clamp them to the table, in order.
        let end = self.directory[at + 1].min(self.ids.len() as u32);
        let start = self.directory[at].min(end);
        if start < end {
            let entries = if self.checks.is_empty() { self.ids } else { self.checks };
            prefetch(entries.get(start as usize));
            prefetch(entries.get(end as usize - 1));
        }
        (start, end)
    }

    #[inline(always)]
    fn scan<L: Lanes, E>(
        &self,
        lanes: L,
        (start, end): (u32, u32),
        test: Test,
        mut hit: impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        for at in (start..end).step_by(LANES) {
            // The checks go on for LANES elements behind the last entry.
            let Some(chunk) = self.checks[at as usize..].first_chunk::<LANES>() else { break };
            let left = u32::MAX >> (32 - (end - at).min(32));
            let mut near = test.near(lanes, chunk) & left;
            while near != 0 {
                let position = at + near.trailing_zeros();
                prefetch(self.ids.get(position as usize));
                hit(position)?;
                near &= near - 1;
            }
        }
        ControlFlow::Continue(())
    }
}

impl Buckets for StaticTable<'_> {
    /// The first entry and the one after the last; of cells, the bucket.
    type Location = (u32, u32);

    #[inline(always)]
    fn touch(self, bucket: u32) {
        match self {
            Self::Cells(cells) => cells.touch(bucket),
            Self::Arrays(arrays) => prefetch(arrays.directory.get(bucket as usize)),
        }
    }

    #[inline(always)]
    fn locate(self, bucket: u32) -> (u32, u32) {
        match self {
            Self::Cells(cells) => {
                cells.locate(bucket);
                (bucket, bucket)
            }
            Self::Arrays(arrays) => arrays.locate(bucket),
        }
    }

    #[inline(always)]
    fn scan<L: Lanes, E>(
        self,
        lanes: L,
        place: (u32, u32),
        test: Option<Test>,
        hit: impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        match (self, test) {
            (Self::Cells(cells), Some(test)) => cells.scan(lanes, place.0, test, hit),
            (Self::Arrays(arrays), Some(test)) => arrays.scan(lanes, place, test, hit),
            (_, None) => (place.0..place.1).try_for_each(hit),
        }
    }

    #[inline(always)]
    fn id(self, position: u32) -> u32 {
        match self {
            Self::Cells(cells) => cells.id(position),
            Self::Arrays(arrays) => arrays.ids[position as usize],
        }
    }
}
