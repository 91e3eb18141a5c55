//! Scatters all items into partitions that agree in some bits.
//!
//! Each thread scatters its chunk of the input into its own part of the record buffer, ordered by partition,
//! so no lock is needed. A partition is then one short run of records per chunk.
//!
//! Items are counted first. Large inputs are then written in slices of consecutive partitions: every slice
//! reads the whole input, which is cheap, and the buffer has to hold only one slice.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "AVX2 twins may only be called where AVX2 was detected")
)]

use std::ops::Range;

use rayon::prelude::*;

use super::record::{GatherPart, Layout};
use crate::{
    Fingerprint,
    hamming::{Kernel, prefetch_to_write},
};

/// The maximum fan-out of one pass: beyond about a thousand write streams, stores start to miss.
const STREAM_BITS: u32 = 10;
const MAX_STREAMS: usize = 1 << STREAM_BITS;
/// The number of slices of large inputs, as a power of two.
const SLICE_BITS: u32 = 2;
const MAX_PARTITIONS: usize = 1 << (STREAM_BITS + SLICE_BITS);
/// From this many items on, the input is written in slices.
const MANY: usize = 1 << 25;

/// The maximum number of bits that choose the partition of this many items.
pub(super) const fn max_key_bits(items: usize) -> u32 {
    STREAM_BITS + if items < MANY { 0 } else { SLICE_BITS }
}

/// How many records of this many items are in the buffer at a time, unless partitions are very uneven.
pub(super) const fn records_at_once(items: usize) -> usize {
    if items < MANY {
        return items;
    }
    // Partitions are never quite even: some spare room avoids a fifth slice.
    let slice = items >> SLICE_BITS;
    slice + slice / 16
}

/// The number of items of each partition, by chunk.
pub(super) struct Counts<'a, const WORDS: usize> {
    layout: &'a Layout<WORDS>,
    kernel: Kernel,
    chunks: Vec<Counted<'a, WORDS>>,
}

/// The chunk of one thread, counted.
struct Counted<'a, const WORDS: usize> {
    /// The position of the first item: a multiple of 64, so that no word of a bit set spans two chunks.
    first: usize,
    prints: &'a [Fingerprint<WORDS>],
    counts: Vec<u32>,
}

impl<'a, const WORDS: usize> Counts<'a, WORDS> {
    /// Counts the items for each of these layouts.
    pub fn of(
        prints: &'a [Fingerprint<WORDS>],
        layouts: &'a [Layout<WORDS>],
        kernel: Kernel,
    ) -> Vec<Self> {
        let threads = rayon::current_num_threads();
        let size = prints.len().div_ceil(threads).next_multiple_of(64).max(64);
        let chunks = prints.par_chunks(size).map(|prints| count(prints, layouts, kernel));
        let counted: Vec<Vec<Vec<u32>>> = chunks.collect();
        let mut all: Vec<Self> =
            layouts.iter().map(|layout| Self { layout, kernel, chunks: Vec::new() }).collect();
        for (number, (prints, counted)) in prints.chunks(size).zip(counted).enumerate() {
            for (all, counts) in all.iter_mut().zip(counted) {
                all.chunks.push(Counted { first: number * size, prints, counts });
            }
        }
        all
    }

    /// Divides the partitions into slices of up to `most` items, or of one larger partition.
    pub fn slices(&self, most: usize) -> Vec<Range<usize>> {
        let partitions = 1usize << self.layout.key_bits();
        let mut slices = Vec::new();
        let (mut start, mut items) = (0, 0);
        for partition in 0..partitions {
            let more = self.items(partition..partition + 1);
            let full = items + more > most || partition - start == MAX_STREAMS;
            if full && partition > start {
                slices.push(start..partition);
                (start, items) = (partition, 0);
            }
            items += more;
        }
        slices.push(start..partitions);
        slices
    }

    /// The number of items of some partitions: writing them needs room for this many records.
    pub fn items(&self, slice: Range<usize>) -> usize {
        self.chunks.iter().map(|chunk| total(&chunk.counts[slice.clone()])).sum()
    }

    /// Writes the records of all items of these partitions, except `skipped` items, which have a bit each. An
    /// empty slice skips none.
    pub fn write<'r>(
        &self,
        slice: Range<usize>,
        skipped: &[u64],
        mut records: &'r mut [u64],
    ) -> Partitions<'r> {
        let mut writes = Vec::new();
        for chunk in &self.chunks {
            let (own, rest) = records.split_at_mut(total(&chunk.counts[slice.clone()]));
            records = rest;
            let skipped = if skipped.is_empty() { skipped } else { &skipped[chunk.first / 64..] };
            writes.push(Write { chunk, skipped, slice: slice.clone(), records: own });
        }
        let chunks = writes.into_par_iter().map(|write| write.run(self.layout, self.kernel));
        Partitions { first: slice.start, chunks: chunks.collect() }
    }
}

fn total(counts: &[u32]) -> usize {
    counts.iter().map(|&count| count as usize).sum()
}

/// Records in partitions.
pub(super) struct Partitions<'a> {
    first: usize,
    chunks: Vec<Chunk<'a>>,
}

/// One thread's records, ordered by partition.
struct Chunk<'a> {
    records: &'a mut [u64],
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Partitions<'_> {
    /// The records of one partition, as one run per chunk.
    pub fn runs(&self, partition: usize) -> impl Iterator<Item = &[u64]> {
        let at = partition - self.first;
        self.chunks
            .iter()
            .map(move |chunk| &chunk.records[chunk.starts[at] as usize..chunk.ends[at] as usize])
    }
}

/// Counts the items of a chunk for each of these layouts.
fn count<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    layouts: &[Layout<WORDS>],
    kernel: Kernel,
) -> Vec<Vec<u32>> {
    #[cfg(target_arch = "x86_64")]
    if kernel.avx2().is_some() {
        // SAFETY: the proof exists only where AVX2, BMI1 and BMI2 were detected.
        return unsafe { count_avx2(prints, layouts) };
    }
    count_with(prints, layouts, |word, part| part.gather.apply(word))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn count_avx2<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    layouts: &[Layout<WORDS>],
) -> Vec<Vec<u32>> {
    count_with(prints, layouts, |word, part| std::arch::x86_64::_pext_u64(word, part.gather.mask))
}

/// `gather` applies a part to a word; inlined into each kernel.
#[inline(always)]
fn count_with<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    layouts: &[Layout<WORDS>],
    gather: impl Fn(u64, &GatherPart) -> u64 + Copy,
) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for layouts in layouts.chunks(2) {
        let mut counts = [[0; MAX_PARTITIONS]; 2];
        match layouts.iter().map(|layout| &layout.key[..]).collect::<Vec<_>>()[..] {
            // Usually keys come from one word each: count both in one pass.
            [&[one], &[two]] => {
                for print in prints {
                    let keys = [one, two].map(|part| gather(print.0[part.word % WORDS], &part));
                    for (counts, key) in counts.iter_mut().zip(keys) {
                        counts[key as usize % MAX_PARTITIONS] += 1;
                    }
                }
            }
            ref keys => {
                for (counts, parts) in counts.iter_mut().zip(keys) {
                    for print in prints {
                        counts[pack(parts, print, gather) as usize % MAX_PARTITIONS] += 1;
                    }
                }
            }
        }
        let counts = counts.iter().zip(layouts);
        all.extend(counts.map(|(counts, layout)| counts[..1 << layout.key_bits()].to_vec()));
    }
    all
}

/// The items of a slice, to be written.
struct Write<'a, 'r, const WORDS: usize> {
    chunk: &'a Counted<'a, WORDS>,
    skipped: &'a [u64],
    slice: Range<usize>,
    records: &'r mut [u64],
}

impl<'r, const WORDS: usize> Write<'_, 'r, WORDS> {
    fn run(self, layout: &Layout<WORDS>, kernel: Kernel) -> Chunk<'r> {
        #[cfg(target_arch = "x86_64")]
        if kernel.avx2().is_some() {
            // SAFETY: the proof exists only where AVX2, BMI1 and BMI2 were detected.
            return unsafe { self.run_avx2(layout) };
        }
        self.run_with(layout, |word, part| part.gather.apply(word))
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run_avx2(self, layout: &Layout<WORDS>) -> Chunk<'r> {
        self.run_with(layout, |word, part| std::arch::x86_64::_pext_u64(word, part.gather.mask))
    }

    /// `gather` applies a part to a word; inlined into each kernel.
    #[inline(always)]
    fn run_with(
        self,
        layout: &Layout<WORDS>,
        gather: impl Fn(u64, &GatherPart) -> u64 + Copy,
    ) -> Chunk<'r> {
        match (layout.key.as_slice(), layout.digest.as_slice()) {
            // The usual layout takes two gathers from one word; a loop over parts would double its cost.
            (&[key], &[digest]) => self.run_by(
                layout,
                #[inline(always)]
                move |print| gather(print.0[key.word % WORDS], &key),
                #[inline(always)]
                move |print| gather(print.0[digest.word % WORDS], &digest) << digest.shift,
            ),
            // Unevenly informative bits of one word take a gather for each of a few blocks.
            (&[key], &[a, b]) => self.run_few(layout, key, [a, b], gather),
            (&[key], &[a, b, c]) => self.run_few(layout, key, [a, b, c], gather),
            (&[key], &[a, b, c, d]) => self.run_few(layout, key, [a, b, c, d], gather),
            (keys, digests) => self.run_by(
                layout,
                #[inline(always)]
                |print| pack(keys, print, gather),
                #[inline(always)]
                |print| pack(digests, print, gather),
            ),
        }
    }

    /// The same for a key of one part and a digest of `PARTS` parts.
    #[inline(always)]
    fn run_few<const PARTS: usize>(
        self,
        layout: &Layout<WORDS>,
        key: GatherPart,
        digest: [GatherPart; PARTS],
        gather: impl Fn(u64, &GatherPart) -> u64 + Copy,
    ) -> Chunk<'r> {
        self.run_by(
            layout,
            #[inline(always)]
            move |print| gather(print.0[key.word % WORDS], &key),
            #[inline(always)]
            move |print| pack(&digest, print, gather),
        )
    }

    /// `key` gives the partition, `digest` the bits of the record above the position.
    #[inline(always)]
    fn run_by(
        self,
        layout: &Layout<WORDS>,
        key: impl Fn(&Fingerprint<WORDS>) -> u64,
        digest: impl Fn(&Fingerprint<WORDS>) -> u64,
    ) -> Chunk<'r> {
        let Self { chunk: Counted { first, prints, counts }, skipped, slice, records } = self;
        let mut cursors = [0u32; MAX_STREAMS];
        let mut total = 0;
        for (cursor, count) in cursors.iter_mut().zip(&counts[slice.clone()]) {
            *cursor = total;
            total += count;
        }
        let starts = cursors[..slice.len()].to_vec();
        let everything = slice.len() == counts.len();
        let inside = Inside::new(layout, &slice);
        let stream = |key: u64| (key as usize).wrapping_sub(slice.start) % MAX_STREAMS;
        for (block, prints) in prints.chunks(64).enumerate() {
            let first = first + 64 * block;
            let skipped = skipped.get(block).copied().unwrap_or(0);
            if everything {
                for (offset, print) in prints.iter().enumerate() {
                    // A skipped item is written, too, and then overwritten: no branch can be mispredicted,
                    // and its partition has room for it, because it was counted.
                    let record = digest(print) | (first + offset) as u64 >> layout.stretch_bits;
                    let stays = skipped >> offset & 1 == 0;
                    put(&mut cursors[stream(key(print))], records, record, stays);
                }
                continue;
            }
            let mut wanted = inside.of(prints) & !skipped;
            while wanted != 0 {
                let offset = wanted.trailing_zeros() as usize;
                wanted &= wanted - 1;
                let print = &prints[offset];
                let record = digest(print) | (first + offset) as u64 >> layout.stretch_bits;
                put(&mut cursors[stream(key(print))], records, record, true);
            }
        }
        let ends = cursors[..slice.len()].to_vec();
        Chunk { records, starts, ends }
    }
}

/// All parts of a fingerprint, each shifted to its field.
#[inline(always)]
fn pack<const WORDS: usize>(
    parts: &[GatherPart],
    print: &Fingerprint<WORDS>,
    gather: impl Fn(u64, &GatherPart) -> u64,
) -> u64 {
    let gather = |part: &GatherPart| gather(print.0[part.word % WORDS], part) << part.shift;
    parts.iter().fold(0, |all, part| all | gather(part))
}

/// Records of a cache line.
const LINE: usize = 8;

/// Writes a record, and advances behind it if it stays.
#[inline(always)]
fn put(cursor: &mut u32, records: &mut [u64], record: u64, stays: bool) {
    let at = *cursor;
    // The cursor advances before the record is written: the processor cannot know that the two do not
    // overlap.
    *cursor += u32::from(stays);
    // The stream's next line: there are too many streams for the hardware prefetcher.
    prefetch_to_write(records, at as usize + LINE);
    records[at as usize] = record;
}

/// Tests whether items are in a slice, given its first and its last partition.
///
/// A key is some gathered bits of a word, so keys have the same order as the words with all other bits cleared.
/// No gather is needed, and a loop without branches tests many items at once.
struct Inside<'a, const WORDS: usize> {
    parts: &'a [GatherPart],
    first: u64,
    span: u64,
}

impl<'a, const WORDS: usize> Inside<'a, WORDS> {
    fn new(layout: &'a Layout<WORDS>, slice: &Range<usize>) -> Self {
        let spread = |key: usize| match layout.key[..] {
            [part] => part.gather.undo(key as u64),
            _ => key as u64,
        };
        let first = spread(slice.start);
        Self { parts: &layout.key, first, span: spread(slice.end - 1) - first }
    }

    /// A bit for each of up to 64 items.
    #[inline(always)]
    fn of(&self, prints: &[Fingerprint<WORDS>]) -> u64 {
        let mut inside = [0u8; 64];
        match *self.parts {
            [GatherPart { word, gather, .. }] => {
                self.mark(&mut inside, prints, |print| print.0[word % WORDS] & gather.mask)
            }
            ref parts => self.mark(&mut inside, prints, |print| {
                pack(parts, print, |word, part| part.gather.apply(word))
            }),
        }
        let bytes = inside.as_chunks::<8>().0;
        // The product moves the lowest bit of each byte into the top byte.
        let bits =
            |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bytes.iter().rev().fold(0, |all, eight| all << 8 | bits(eight))
    }

    #[inline(always)]
    fn mark(
        &self,
        inside: &mut [u8; 64],
        prints: &[Fingerprint<WORDS>],
        key: impl Fn(&Fingerprint<WORDS>) -> u64,
    ) {
        for (inside, print) in inside.iter_mut().zip(prints) {
            *inside = u8::from(key(print).wrapping_sub(self.first) <= self.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cover::{BitOrder, Cover, Cut},
        pairs::record::Positions,
    };
    use proptest::prelude::*;

    proptest! {
        /// Each record is in the partition of its key, and every live item has one, slice by slice.
        #[test]
        fn slices_hold_every_live_item_once(
            words in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..4], 0..300),
            (key_bits, most, threads) in (0u32..8, 1usize..100, 1usize..4),
            skipped in proptest::collection::vec(any::<u64>(), 5),
            some_skipped: bool,
        ) {
            let prints: Vec<Fingerprint<1>> = words.iter().map(|&word| Fingerprint([word])).collect();
            let cover = Cover::<1>::new(&BitOrder::contiguous((0..64).collect()), 3, 1, Cut::Once { picked: 1 });
            let positions = Positions { items: prints.len(), stretch_bits: 0 };
            let layout = Layout::new(&cover, 0, 0, key_bits, positions, 3);
            let skipped: &[u64] = if some_skipped { &skipped } else { &[] };
            let stays = |item: &u32| {
                skipped.get(*item as usize / 64).is_none_or(|word| word >> (item % 64) & 1 == 0)
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for kernel in Kernel::available() {
                let layouts = [layout.clone()];
                let mut found = Vec::new();
                pool.install(|| {
                    let counts = &Counts::of(&prints, &layouts, kernel)[0];
                    let slices = counts.slices(most);
                    for slice in slices {
                        assert!(counts.items(slice.clone()) <= most || slice.len() == 1);
                        let mut records = vec![0; counts.items(slice.clone())];
                        let partitions = counts.write(slice.clone(), skipped, &mut records);
                        for partition in slice {
                            let records = partitions.runs(partition).flatten();
                            let items = records.map(|&record| layout.id(record));
                            found.extend(items.map(|item| (partition as u64, item)));
                        }
                    }
                });
                let key = |item: u32| words[item as usize] & !(u64::MAX << key_bits);
                let live = (0..prints.len() as u32).filter(stays);
                let mut expected: Vec<_> = live.map(|item| (key(item), item)).collect();
                expected.sort_unstable();
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
