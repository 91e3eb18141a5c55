//! How do all items get into partitions that share some bits?
//!
//! Each thread scatters its chunk of the input into its own stretch of the record buffer, ordered
//! by partition: no thread writes where another does, and no lock is needed. A partition is then
//! one short run of records per chunk.
#![expect(unsafe_code, reason = "the BMI2 twin may only be called where BMI2 was detected")]

use std::array;

use rayon::prelude::*;

use super::record::{Layout, Part};
use crate::{Fingerprint, Kernel};

/// The largest fan-out of one pass: beyond about a thousand write streams, stores start to miss.
pub(super) const MOST_KEY_BITS: u32 = 10;
const MOST_PARTITIONS: usize = 1 << MOST_KEY_BITS;

/// Records of all live items, in partitions.
pub(super) struct Partitions<'a> {
    chunks: Vec<Chunk<'a>>,
}

/// One thread's records, ordered by partition.
struct Chunk<'a> {
    records: &'a mut [u64],
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl<'a> Partitions<'a> {
    /// Scatters every item that is not `dead` into `records`.
    pub fn scatter<const WORDS: usize>(
        prints: &[Fingerprint<WORDS>],
        layout: &Layout<WORDS>,
        dead: &[u64],
        kernel: Kernel,
        records: &'a mut [u64],
    ) -> Self {
        // A multiple of 64, so that a word of the dead set belongs to one chunk.
        let size = prints.len().div_ceil(rayon::current_num_threads()).next_multiple_of(64).max(64);
        let chunks = records
            .par_chunks_mut(size)
            .zip(prints.par_chunks(size))
            .enumerate()
            .map(|(chunk, (records, prints))| {
                let first = chunk * size;
                let dead = if dead.is_empty() { dead } else { &dead[first / 64..] };
                Chunk::scatter(Input { prints, first, dead }, layout, kernel, records)
            })
            .collect();
        Self { chunks }
    }

    /// The records of one partition, as one run per chunk.
    pub fn runs(&self, partition: usize) -> impl Iterator<Item = &[u64]> {
        self.chunks.iter().map(move |chunk| {
            &chunk.records[chunk.starts[partition] as usize..chunk.ends[partition] as usize]
        })
    }
}

/// The items of one chunk. `dead` has one bit per item, or is empty if all are alive.
#[derive(Clone, Copy)]
struct Input<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    first: usize,
    dead: &'a [u64],
}

impl<'a> Chunk<'a> {
    fn scatter<const WORDS: usize>(
        input: Input<'_, WORDS>,
        layout: &Layout<WORDS>,
        kernel: Kernel,
        records: &'a mut [u64],
    ) -> Self {
        let (starts, ends) = match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: BMI2 was detected.
            kernel if kernel.is_avx2() => unsafe { scatter_bmi2(input, layout, records) },
            _ => scatter_with(input, layout, records, |word, part| part.gather.apply(word)),
        };
        Self { records, starts, ends }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
fn scatter_bmi2<const WORDS: usize>(
    input: Input<'_, WORDS>,
    layout: &Layout<WORDS>,
    records: &mut [u64],
) -> (Vec<u32>, Vec<u32>) {
    scatter_with(input, layout, records, |word, part| {
        std::arch::x86_64::_pext_u64(word, part.gather.mask)
    })
}

/// Counts, then scatters. `gather` applies a part to a word; inlined into each kernel.
#[inline(always)]
fn scatter_with<const WORDS: usize>(
    input: Input<'_, WORDS>,
    layout: &Layout<WORDS>,
    records: &mut [u64],
    gather: impl Fn(u64, &Part) -> u64 + Copy,
) -> (Vec<u32>, Vec<u32>) {
    match (layout.key.as_slice(), layout.digest.as_slice()) {
        // The usual layout reads one word with two gathers; a loop over parts would double its cost.
        (&[key], &[digest]) => scatter_by(
            input,
            layout.stretch_bits,
            records,
            #[inline(always)]
            move |print| gather(print.0[key.word % WORDS], &key),
            #[inline(always)]
            move |print| gather(print.0[digest.word % WORDS], &digest) << digest.shift,
        ),
        // Uneven bits of one word take a gather for each block; of which there are few.
        (&[key], digests) if digests.len() <= FEW => {
            let few: [Part; FEW] =
                array::from_fn(|at| digests.get(at).copied().unwrap_or_default());
            scatter_by(
                input,
                layout.stretch_bits,
                records,
                #[inline(always)]
                move |print| gather(print.0[key.word % WORDS], &key),
                #[inline(always)]
                move |print| pack(&few, print, gather),
            )
        }
        (keys, digests) => scatter_by(
            input,
            layout.stretch_bits,
            records,
            #[inline(always)]
            |print| pack(keys, print, gather),
            #[inline(always)]
            |print| pack(digests, print, gather),
        ),
    }
}

/// Parts that are gathered without a loop.
const FEW: usize = 4;

/// All parts of a fingerprint, each where it belongs.
#[inline(always)]
fn pack<const WORDS: usize>(
    parts: &[Part],
    print: &Fingerprint<WORDS>,
    gather: impl Fn(u64, &Part) -> u64,
) -> u64 {
    let gather = |part: &Part| gather(print.0[part.word % WORDS], part) << part.shift;
    parts.iter().fold(0, |all, part| all | gather(part))
}

#[inline(always)]
fn scatter_by<const WORDS: usize>(
    input: Input<'_, WORDS>,
    stretch_bits: u32,
    records: &mut [u64],
    key: impl Fn(&Fingerprint<WORDS>) -> u64,
    digest: impl Fn(&Fingerprint<WORDS>) -> u64,
) -> (Vec<u32>, Vec<u32>) {
    let mut cursors = [0u32; MOST_PARTITIONS];
    for print in input.prints {
        cursors[key(print) as usize % MOST_PARTITIONS] += 1;
    }
    let mut total = 0;
    for cursor in &mut cursors {
        total += std::mem::replace(cursor, total);
    }
    let starts = cursors.to_vec();
    for (block, prints) in input.prints.chunks(64).enumerate() {
        let dead = input.dead.get(block).copied().unwrap_or(0);
        for (offset, print) in prints.iter().enumerate() {
            let item = (input.first + 64 * block + offset) as u64;
            let cursor = &mut cursors[key(print) as usize % MOST_PARTITIONS];
            let at = *cursor;
            // A dead item is written, too, and then written over: there is no branch to mispredict,
            // and its partition has room for it, because it was counted. The cursor moves before
            // the record is written: the processor could not tell that one is not the other.
            *cursor += u32::from(dead >> offset & 1 == 0);
            records[at as usize] = digest(print) | item >> stretch_bits;
        }
    }
    (starts, cursors.to_vec())
}
