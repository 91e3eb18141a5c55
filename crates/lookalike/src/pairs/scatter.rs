//! How do all items get into partitions that share some bits?
//!
//! Each thread scatters its chunk of the input into its own stretch of the record buffer, ordered
//! by partition: no thread writes where another does, and no lock is needed. A partition is then
//! one short run of records per chunk.
//!
//! Items are counted first. Very many of them are then written slice by slice, a slice being some
//! partitions in a row: every slice reads the whole input, which is cheap, and the buffer need hold
//! only one of them.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "AVX2 twins may only be called where AVX2 was detected")
)]

use std::ops::Range;

use rayon::prelude::*;

use super::record::{Layout, Part};
use crate::{
    Fingerprint,
    hamming::{Kernel, prefetch_to_write},
};

/// The largest fan-out of one pass: beyond about a thousand write streams, stores start to miss.
const STREAM_BITS: u32 = 10;
const MOST_STREAMS: usize = 1 << STREAM_BITS;
/// Very many items are written in so many slices, as a power of two.
const SLICE_BITS: u32 = 2;
const MOST_PARTITIONS: usize = 1 << (STREAM_BITS + SLICE_BITS);
/// From so many items on, the input is read more often, and less memory has to be touched.
const MANY: usize = 1 << 25;

/// The most bits that choose the partition of so many items.
pub(super) const fn most_key_bits(items: usize) -> u32 {
    STREAM_BITS + if items < MANY { 0 } else { SLICE_BITS }
}

/// The records of so many items that are in the buffer at a time, unless partitions are very uneven.
pub(super) const fn records_at_once(items: usize) -> usize {
    if items < MANY {
        return items;
    }
    // Partitions are never quite even: with a little more room, nothing is left for one more slice.
    let slice = items >> SLICE_BITS;
    slice + slice / 16
}

/// How many items each partition has, chunk by chunk.
pub(super) struct Counts<'a, const WORDS: usize> {
    layout: &'a Layout<WORDS>,
    kernel: Kernel,
    chunks: Vec<Counted<'a, WORDS>>,
}

/// What one thread counts, and writes.
struct Counted<'a, const WORDS: usize> {
    /// The position of the first item: a multiple of 64, so that a word of a set belongs to one chunk.
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

    /// Cuts the partitions into slices of up to `most` items, or of one partition with more.
    pub fn slices(&self, most: usize) -> Vec<Range<usize>> {
        let partitions = 1usize << self.layout.key_bits();
        let mut slices = Vec::new();
        let (mut start, mut items) = (0, 0);
        for partition in 0..partitions {
            let more = self.items(partition..partition + 1);
            let full = items + more > most || partition - start == MOST_STREAMS;
            if full && partition > start {
                slices.push(start..partition);
                (start, items) = (partition, 0);
            }
            items += more;
        }
        slices.push(start..partitions);
        slices
    }

    /// The items of some partitions: there must be room for so many records to write them.
    pub fn items(&self, slice: Range<usize>) -> usize {
        self.chunks.iter().map(|chunk| total(&chunk.counts[slice.clone()])).sum()
    }

    /// Writes the records of all items of these partitions but `dead` ones, which have a bit each; there
    /// are no bits if all are alive.
    pub fn write<'r>(
        &self,
        slice: Range<usize>,
        dead: &[u64],
        mut records: &'r mut [u64],
    ) -> Partitions<'r> {
        let mut writes = Vec::new();
        for chunk in &self.chunks {
            let (own, rest) = records.split_at_mut(total(&chunk.counts[slice.clone()]));
            records = rest;
            let dead = if dead.is_empty() { dead } else { &dead[chunk.first / 64..] };
            writes.push(Write { chunk, dead, slice: slice.clone(), records: own });
        }
        let chunks = writes.into_par_iter().map(|write| write.run(self.layout, self.kernel));
        Partitions { first: slice.start, chunks: chunks.collect() }
    }
}

fn total(counts: &[u32]) -> usize {
    counts.iter().map(|&count| count as usize).sum()
}

/// Records of live items, in partitions.
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
    gather: impl Fn(u64, &Part) -> u64 + Copy,
) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for layouts in layouts.chunks(2) {
        let mut counts = [[0; MOST_PARTITIONS]; 2];
        match layouts.iter().map(|layout| &layout.key[..]).collect::<Vec<_>>()[..] {
            // The usual keys are of one word each. Both are read off it at once.
            [&[one], &[two]] => {
                for print in prints {
                    let keys = [one, two].map(|part| gather(print.0[part.word % WORDS], &part));
                    for (counts, key) in counts.iter_mut().zip(keys) {
                        counts[key as usize % MOST_PARTITIONS] += 1;
                    }
                }
            }
            ref keys => {
                for (counts, parts) in counts.iter_mut().zip(keys) {
                    for print in prints {
                        counts[pack(parts, print, gather) as usize % MOST_PARTITIONS] += 1;
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
    dead: &'a [u64],
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
        gather: impl Fn(u64, &Part) -> u64 + Copy,
    ) -> Chunk<'r> {
        match (layout.key.as_slice(), layout.digest.as_slice()) {
            // The usual layout reads one word with two gathers; a loop over parts would double its cost.
            (&[key], &[digest]) => self.run_by(
                layout,
                #[inline(always)]
                move |print| gather(print.0[key.word % WORDS], &key),
                #[inline(always)]
                move |print| gather(print.0[digest.word % WORDS], &digest) << digest.shift,
            ),
            // Uneven bits of one word take a gather for each block; of which there are few.
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

    /// The same for a key of one part, and a digest of so many.
    #[inline(always)]
    fn run_few<const PARTS: usize>(
        self,
        layout: &Layout<WORDS>,
        key: Part,
        digest: [Part; PARTS],
        gather: impl Fn(u64, &Part) -> u64 + Copy,
    ) -> Chunk<'r> {
        self.run_by(
            layout,
            #[inline(always)]
            move |print| gather(print.0[key.word % WORDS], &key),
            #[inline(always)]
            move |print| pack(&digest, print, gather),
        )
    }

    /// `key` tells the partition, `digest` what a record has beside the position.
    #[inline(always)]
    fn run_by(
        self,
        layout: &Layout<WORDS>,
        key: impl Fn(&Fingerprint<WORDS>) -> u64,
        digest: impl Fn(&Fingerprint<WORDS>) -> u64,
    ) -> Chunk<'r> {
        let Self { chunk: Counted { first, prints, counts }, dead, slice, records } = self;
        let mut cursors = [0u32; MOST_STREAMS];
        let mut total = 0;
        for (cursor, count) in cursors.iter_mut().zip(&counts[slice.clone()]) {
            *cursor = total;
            total += count;
        }
        let starts = cursors[..slice.len()].to_vec();
        let everything = slice.len() == counts.len();
        let inside = Inside::new(layout, &slice);
        let stream = |key: u64| (key as usize).wrapping_sub(slice.start) % MOST_STREAMS;
        for (block, prints) in prints.chunks(64).enumerate() {
            let first = first + 64 * block;
            let dead = dead.get(block).copied().unwrap_or(0);
            if everything {
                for (offset, print) in prints.iter().enumerate() {
                    // A dead item is written, too, and then written over: there is no branch to
                    // mispredict, and its partition has room for it, because it was counted.
                    let record = digest(print) | (first + offset) as u64 >> layout.stretch_bits;
                    let alive = dead >> offset & 1 == 0;
                    put(&mut cursors[stream(key(print))], records, record, alive);
                }
                continue;
            }
            let mut wanted = inside.of(prints) & !dead;
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

/// Records of a cache line.
const LINE: usize = 8;

/// Writes a record, and goes on behind it if it is to stay.
#[inline(always)]
fn put(cursor: &mut u32, records: &mut [u64], record: u64, stays: bool) {
    let at = *cursor;
    // The cursor moves before the record is written: the processor could not tell that one is not the
    // other.
    *cursor += u32::from(stays);
    // The stream's next line. There are so many streams that no processor foresees it.
    prefetch_to_write(records, at as usize + LINE);
    records[at as usize] = record;
}

/// Whether items are in a slice, of which the first and the last partition are known.
///
/// A key is some bits of a fingerprint brought together, so keys are ordered as the words are that have
/// all other bits cleared: there is nothing to gather, and a loop without branches does many at once.
struct Inside<'a, const WORDS: usize> {
    parts: &'a [Part],
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
            [Part { word, gather, .. }] => {
                self.mark(&mut inside, prints, |print| print.0[word % WORDS] & gather.mask)
            }
            ref parts => self.mark(&mut inside, prints, |print| {
                pack(parts, print, |word, part| part.gather.apply(word))
            }),
        }
        let bytes = inside.as_chunks::<8>().0;
        // The product brings the lowest bit of each byte to the top one, side by side.
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
            dead in proptest::collection::vec(any::<u64>(), 5),
            some_dead: bool,
        ) {
            let prints: Vec<Fingerprint<1>> = words.iter().map(|&word| Fingerprint([word])).collect();
            let cover = Cover::<1>::new(&BitOrder::contiguous((0..64).collect()), 3, 1, Cut::Once { picked: 1 });
            let positions = Positions { items: prints.len(), stretch_bits: 0 };
            let layout = Layout::new(&cover, 0, 0, key_bits, positions, 3);
            let dead: &[u64] = if some_dead { &dead } else { &[] };
            let alive = |item: &u32| {
                dead.get(*item as usize / 64).is_none_or(|word| word >> (item % 64) & 1 == 0)
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
                        let partitions = counts.write(slice.clone(), dead, &mut records);
                        for partition in slice {
                            let records = partitions.runs(partition).flatten();
                            let items = records.map(|&record| layout.id(record));
                            found.extend(items.map(|item| (partition as u64, item)));
                        }
                    }
                });
                let key = |item: u32| words[item as usize] & !(u64::MAX << key_bits);
                let live = (0..prints.len() as u32).filter(alive);
                let mut expected: Vec<_> = live.map(|item| (key(item), item)).collect();
                expected.sort_unstable();
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
