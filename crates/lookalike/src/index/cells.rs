//! Buckets in half a cache line.
//!
//! A [`Cell`] holds fourteen checks of 16 bits and the position of the ids: one read shows which entries of a bucket
//! may match. Ids are in the *tail*, bucket after bucket. If a bucket has more entries, their checks are in the tail,
//! too, before its ids.

use std::ops::ControlFlow;

use bytemuck::{Pod, Zeroable};

use super::{batch::Test, plan::TablePlan};
use crate::{
    Fingerprint,
    hamming::{
        Kernel,
        lanes::{BLOCK, Lanes, NARROW_LANES, Task},
        prefetch,
    },
};

/// The maximum number of bits of a check in a cell.
pub(super) const CELL_CHECK_BITS: u32 = 16;

/// The number of checks that fit into a cell.
pub(super) const SLOTS: u32 = 14;

/// A cell in units of 32 bits.
pub(super) const CELL_WORDS: usize = size_of::<Cell>() / size_of::<u32>();

/// The maximum number of items in a table of cells: 28 bits address a tail of up to twice as many units.
pub(super) const MAX_ITEMS: u64 = 1 << 27;

/// The padding after the tail, so that vectors can be loaded past its last check.
const PADDING_WORDS: usize = NARROW_LANES / 2;

/// How many cache lines of a long bucket are prefetched; the hardware prefetches the rest.
const FIRST_LINES: usize = 4;

/// A cache line in units of 32 bits.
const LINE_WORDS: usize = 16;

/// One bucket.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Cell {
    link: Link,
    checks: [u16; SLOTS as usize],
}

/// The number of entries of a bucket (4 bits), and where its part of the tail starts (28 bits).
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
struct Link(u32);

impl Link {
    /// Means more entries than slots: their number is then the first unit of the bucket's part of the tail.
    const MORE: u32 = SLOTS + 1;

    fn new(start: usize, count: usize) -> Self {
        Self(start as u32 | (count as u32).min(Self::MORE) << 28)
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.0 >> 28
    }

    #[inline(always)]
    fn start(self) -> usize {
        self.0 as usize & 0x0fff_ffff
    }
}

/// The length of the part of the tail of a bucket with `count` entries, in units of 32 bits.
fn tail_words(count: usize) -> usize {
    let more = count.saturating_sub(SLOTS as usize);
    count + if more > 0 { 1 + more.div_ceil(2) } else { 0 }
}

/// The length of the tail of a table of these items, in units of 32 bits.
pub(super) fn tail_len<const WORDS: usize>(
    table: &TablePlan<WORDS>,
    prints: &[Fingerprint<WORDS>],
    kernel: Kernel,
) -> usize {
    let counts = kernel.run(Count { table, prints });
    counts.iter().map(|&count| tail_words(count as usize)).sum::<usize>() + PADDING_WORDS
}

/// Counts the items of each bucket.
struct Count<'a, const WORDS: usize> {
    table: &'a TablePlan<WORDS>,
    prints: &'a [Fingerprint<WORDS>],
}

impl<const WORDS: usize> Task for Count<'_, WORDS> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<u32> {
        let mut counts = vec![0; self.table.buckets()];
        for print in self.prints {
            counts[self.table.bucket(lanes, print) as usize] += 1;
        }
        counts
    }
}

/// Packs sorted entries: bucket `i` has those from `directory[i]` to `directory[i + 1]`.
pub(super) fn pack(
    directory: &[u32],
    checks: &[u32],
    ids: &[u32],
    cells: &mut [u32],
    tail: &mut [u32],
) {
    let cells: &mut [Cell] = bytemuck::cast_slice_mut(cells);
    let mut rest = 0;
    for (cell, bounds) in cells.iter_mut().zip(directory.windows(2)) {
        let entries = bounds[0] as usize..bounds[1] as usize;
        let (checks, ids) = (&checks[entries.clone()], &ids[entries]);
        cell.link = Link::new(rest, ids.len());
        for (slot, &check) in cell.checks.iter_mut().zip(checks) {
            *slot = check as u16;
        }
        let words = &mut tail[rest..rest + tail_words(ids.len())];
        rest += words.len();
        let (more, places) = words.split_at_mut(words.len() - ids.len());
        places.copy_from_slice(ids);
        if let Some((count, more)) = more.split_first_mut() {
            *count = ids.len() as u32;
            let more: &mut [u16] = bytemuck::cast_slice_mut(more);
            for (slot, &check) in more.iter_mut().zip(&checks[SLOTS as usize..]) {
                *slot = check as u16;
            }
        }
    }
}

/// The cells and the tail of one table.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub cells: &'a [u32],
    pub tail: &'a [u32],
}

impl Cells<'_> {
    /// Prefetches a cell.
    #[inline(always)]
    pub fn touch(&self, bucket: u32) {
        prefetch(self.cells.get(bucket as usize * CELL_WORDS));
    }

    /// Prefetches what a bucket has in the tail besides its ids.
    #[inline(always)]
    pub fn locate(&self, bucket: u32) {
        let link = Link(self.cells[bucket as usize * CELL_WORDS]);
        if link.count() == Link::MORE {
            for line in 0..FIRST_LINES {
                prefetch(self.tail.get(link.start() + line * LINE_WORDS));
            }
        }
    }

    /// Calls `hit` with the position in the tail of every entry that passes, and prefetches its id.
    #[inline(always)]
    pub fn scan<L: Lanes, E>(
        &self,
        lanes: L,
        bucket: u32,
        test: Test,
        mut hit: impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        let words = &self.cells[bucket as usize * CELL_WORDS..];
        let Some(words) = words.first_chunk::<CELL_WORDS>() else {
            return ControlFlow::Continue(());
        };
        let link = Link(words[0]);
        let cell: &[u16; NARROW_LANES] = bytemuck::cast_ref(words);
        // The first two of these 16 "checks" are the link.
        let near = test.near_narrow(lanes, cell) >> 2;
        if link.count() < Link::MORE {
            let near = near & ((1 << link.count()) - 1);
            self.report(near.into(), link.start(), &mut hit)
        } else {
            self.scan_more(lanes, near, link.start(), test, &mut hit)
        }
    }

    /// The same for a bucket with more entries than its cell has slots.
    #[inline(always)]
    fn scan_more<L: Lanes, E>(
        &self,
        lanes: L,
        near: u32,
        start: usize,
        test: Test,
        hit: &mut impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        // A damaged file may hold any number: ignore what does not fit the tail.
        let count = self.tail.get(start).map_or(0, |&count| count as usize);
        let more = count.saturating_sub(SLOTS as usize);
        let ids = start.saturating_add(1).saturating_add(more.div_ceil(2));
        if more == 0 || count > self.tail.len() || ids + count > self.tail.len() {
            return ControlFlow::Continue(());
        }
        self.report(near.into(), ids, hit)?;
        let checks: &[u16] = bytemuck::cast_slice(&self.tail[start + 1..]);
        let first = ids + SLOTS as usize;
        let (blocks, rest) = checks[..more].as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let near = test.near_block(lanes, block);
            self.report(near, first + number * BLOCK, hit)?;
        }
        for at in (more - rest.len()..more).step_by(NARROW_LANES) {
            let Some(chunk) = checks[at..].first_chunk() else { break };
            let left = u32::MAX >> (32 - (more - at).min(32));
            let near = test.near_narrow(lanes, chunk) & left;
            self.report(near.into(), first + at, hit)?;
        }
        ControlFlow::Continue(())
    }

    /// Calls `hit` for every bit of `near`, counted from position `first`.
    #[inline(always)]
    fn report<E>(
        &self,
        mut near: u64,
        first: usize,
        hit: &mut impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        while near != 0 {
            let position = first + near.trailing_zeros() as usize;
            prefetch(self.tail.get(position));
            hit(position as u32)?;
            near &= near - 1;
        }
        ControlFlow::Continue(())
    }

    /// The id at a position; `u32::MAX`, which no item has, if a damaged file points elsewhere.
    #[inline(always)]
    pub fn id(&self, position: u32) -> u32 {
        self.tail.get(position as usize).copied().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hamming::{filter::Filter, lanes::Portable};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_bucket_of_any_size_gives_back_its_entries(
            sizes in proptest::collection::vec(prop_oneof![0usize..20, 0usize..200], 1..20), query: u16, most in 0u32..17, equal_passes: bool,
        ) {
            let mut directory = vec![0u32];
            sizes.iter().for_each(|&size| directory.push(directory[directory.len() - 1] + size as u32));
            let total = directory[sizes.len()];
            let checks: Vec<u32> = (0..total).map(|id| id.wrapping_mul(0x9e37_79b9) >> 16).collect();
            let ids: Vec<u32> = (0..total).collect();
            let mut cells = vec![0; sizes.len() * CELL_WORDS];
            let mut tail = vec![0; sizes.iter().map(|&size| tail_words(size)).sum::<usize>() + PADDING_WORDS];
            pack(&directory, &checks, &ids, &mut cells, &mut tail);
            let packed = Cells { cells: &cells, tail: &tail };
            for bucket in 0..sizes.len() {
                let mut found = Vec::new();
                let filter = Filter::new(16, most);
                let test = Test { check: query.into(), most, filter, equal_passes };
                let _ = packed.scan(Portable, bucket as u32, test, |position| {
                    found.push(packed.id(position));
                    ControlFlow::<()>::Continue(())
                });
                let entries = directory[bucket]..directory[bucket + 1];
                let near: Vec<u32> = entries
                    .filter(|&id| {
                        let errors = (checks[id as usize] as u16 ^ query).count_ones();
                        errors <= most && (equal_passes || errors > 0)
                    })
                    .collect();
                prop_assert_eq!(found, near);
            }
        }

        #[test]
        fn damaged_cells_and_tails_break_nothing(
            cells: [u32; CELL_WORDS], tail in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..50], 0..60),
            link in 0u32..70, count in 0u32..16, equal_passes: bool,
        ) {
            for first in [cells[0], link | count << 28] {
                let mut cells = cells;
                cells[0] = first;
                let packed = Cells { cells: &cells, tail: &tail };
                packed.locate(0);
                let test = Test { check: 0, most: 16, filter: Filter::new(16, 16), equal_passes };
                let _ = packed.scan(Portable, 0, test, |position| {
                    packed.id(position);
                    ControlFlow::<()>::Continue(())
                });
            }
        }
    }
}
