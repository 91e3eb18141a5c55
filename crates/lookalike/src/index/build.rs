//! Sorts all items into the buckets of a table.
//!
//! A counting sort in two steps: first into some hundred partitions, since more write streams would miss the
//! TLB; then each partition, which fits the cache, into its buckets. The sort is stable: a bucket holds its
//! items in order of their ids.

use rayon::prelude::*;

use super::plan::TablePlan;
use crate::{
    Fingerprint,
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
};

/// The arrays that a table is written to.
pub(super) struct TableMut<'a> {
    /// One offset per bucket, and the end of the last.
    pub directory: &'a mut [u32],
    /// One check per item, or none at all.
    pub checks: &'a mut [u32],
    /// One id per item.
    pub ids: &'a mut [u32],
}

/// Partitions of the first step. Three arrays are written, so there are three times as many write
/// streams; beyond about two thousand, stores start to miss in the TLB.
const PARTITION_BITS: u32 = 9;

/// Sorts all items into the buckets of `table`.
pub(super) fn fill<const WORDS: usize>(
    table: &TablePlan<WORDS>,
    prints: &[Fingerprint<WORDS>],
    kernel: Kernel,
    target: &mut TableMut<'_>,
) {
    let TableMut { directory, checks, ids } = target;
    // The checks may be followed by padding for vectors, which stays as it is.
    let checks_len = checks.len().min(prints.len());
    let checks = &mut checks[..checks_len];
    let inner_bits = table.directory_bits.saturating_sub(PARTITION_BITS);
    let mut buckets = vec![0; prints.len()];
    let scatter = Scatter { table, prints, inner_bits, buckets: &mut buckets, checks, ids };
    let ends = kernel.run(scatter);
    if let Some(last) = directory.last_mut() {
        *last = prints.len() as u32;
    }
    let mut parts = Vec::with_capacity(ends.len());
    let mut rest = (&mut directory[..], checks, &mut ids[..], &mut buckets[..]);
    let mut start = 0;
    for end in ends {
        let count = (end - start) as usize;
        parts.push(Partition {
            start,
            directory: take(&mut rest.0, 1 << inner_bits),
            checks: take(&mut rest.1, count),
            ids: take(&mut rest.2, count),
            buckets: take(&mut rest.3, count),
        });
        start = end;
    }
    parts.into_par_iter().for_each_init(Vec::new, |scratch, part| part.sort(scratch));
}

/// Cuts the first `count` elements off a slice, or all there are.
fn take<'a>(rest: &mut &'a mut [u32], count: usize) -> &'a mut [u32] {
    let count = count.min(rest.len());
    let (first, others) = std::mem::take(rest).split_at_mut(count);
    *rest = others;
    first
}

/// The first step. Returns the end of every partition.
struct Scatter<'a, const WORDS: usize> {
    table: &'a TablePlan<WORDS>,
    prints: &'a [Fingerprint<WORDS>],
    inner_bits: u32,
    buckets: &'a mut [u32],
    checks: &'a mut [u32],
    ids: &'a mut [u32],
}

impl<const WORDS: usize> Task for Scatter<'_, WORDS> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<u32> {
        let mut cursors = vec![0u32; self.table.buckets() >> self.inner_bits];
        for print in self.prints {
            cursors[(self.table.bucket(lanes, print) >> self.inner_bits) as usize] += 1;
        }
        let mut total = 0;
        cursors.iter_mut().for_each(|cursor| total += std::mem::replace(cursor, total));
        for (id, print) in self.prints.iter().enumerate() {
            let bucket = self.table.bucket(lanes, print);
            let cursor = &mut cursors[(bucket >> self.inner_bits) as usize];
            let at = *cursor as usize;
            *cursor += 1;
            self.buckets[at] = bucket;
            self.ids[at] = id as u32;
            if let Some(check) = self.checks.get_mut(at) {
                *check = self.table.check.of(lanes, print) as u32;
            }
        }
        cursors
    }
}

/// The items of neighbouring buckets, before the second step.
struct Partition<'a> {
    start: u32,
    directory: &'a mut [u32],
    checks: &'a mut [u32],
    ids: &'a mut [u32],
    buckets: &'a mut [u32],
}

impl Partition<'_> {
    /// Sorts by bucket and stores where each begins.
    fn sort(self, scratch: &mut Vec<u32>) {
        let inner = self.directory.len() - 1;
        self.directory.fill(0);
        for &bucket in &*self.buckets {
            self.directory[bucket as usize & inner] += 1;
        }
        let mut total = 0;
        for offset in &mut *self.directory {
            total += std::mem::replace(offset, total);
        }
        // From here on, `buckets` holds the position of each item.
        for bucket in &mut *self.buckets {
            let offset = &mut self.directory[*bucket as usize & inner];
            *bucket = *offset;
            *offset += 1;
        }
        for values in [self.ids, self.checks] {
            scratch.clear();
            scratch.extend_from_slice(values);
            for (&value, &place) in scratch.iter().zip(&*self.buckets) {
                values[place as usize] = value;
            }
        }
        // Every offset is now the end of its bucket, which is the start of the next.
        self.directory.rotate_right(1);
        self.directory[0] = 0;
        self.directory.iter_mut().for_each(|offset| *offset += self.start);
    }
}
