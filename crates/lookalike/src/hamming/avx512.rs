//! The AVX-512 kernels. Each has a portable twin in the file that calls it.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::{arch::x86_64::*, ops::Range};

use super::{
    avx2::common_steps,
    columns::{Lists, MOST_COLUMNS, Plain},
    filter::{Digests, Passed},
    kernel::Avx512,
};

/// See [`Filter::buckets`](super::filter::Filter::buckets). No check is looked at: counting bits takes
/// one instruction, and words decide at once what checks would leave open.
pub(super) fn buckets(
    _: Avx512,
    ends: &[u32],
    largest: u32,
    digests: Digests<'_>,
    passed: &mut Passed,
) {
    // SAFETY: an `Avx512` exists only where AVX-512 and POPCNT were detected.
    unsafe { sweep(ends, largest, digests, passed) }
}

/// Compares all words with the few that follow them, whatever bucket those are in, and then those
/// that are farther apart in one bucket, as its AVX2 twin does.
#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
fn sweep(ends: &[u32], largest: u32, digests: Digests<'_>, passed: &mut Passed) {
    let common = common_steps(ends, largest);
    let mut hits = Hits::new(digests, passed);
    if let Some(&end) = ends.last().filter(|_| common > 0) {
        hits.slide(0..end, 1..common + 1);
    }
    let mut start = 0;
    for &end in ends {
        if end - start <= largest && end - start > common + 1 {
            hits.slide(start..end, common + 1..end - start);
        }
        start = end;
    }
    hits.look();
}

/// Pairs of words that differ in few bits, to be looked at together.
struct Hits<'a> {
    ones: [u64; MOST_HITS],
    twos: [u64; MOST_HITS],
    count: usize,
    digests: Digests<'a>,
    /// The bits that are counted first, and how many of them may differ.
    telling: (u64, u32),
    passed: &'a mut Passed,
}

const MOST_HITS: usize = 512;

/// Words in a vector.
const LANES: usize = 8;

impl<'a> Hits<'a> {
    fn new(digests: Digests<'a>, passed: &'a mut Passed) -> Self {
        let telling = digests.telling();
        Self { ones: [0; MOST_HITS], twos: [0; MOST_HITS], count: 0, digests, telling, passed }
    }

    /// Holds eight neighbours in a register and slides those that follow past them, one position at a
    /// time, so many `steps` or to the end of `items`: four for one branch. The number of `steps` is a
    /// multiple of four, or they go to the end.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    #[inline]
    fn slide(&mut self, items: Range<u32>, steps: Range<u32>) {
        let words = self.digests.words;
        let bits = _mm512_set1_epi64(self.telling.0 as i64);
        let most = _mm512_set1_epi64(i64::from(self.telling.1));
        let mut at = items.start;
        while at + steps.start < items.end {
            let held = load(words, at);
            for step in (steps.start..steps.end.min(items.end - at)).step_by(4) {
                let from = at + step;
                let a = differing(held, load(words, from), bits);
                let b = differing(held, load(words, from + 1), bits);
                let c = differing(held, load(words, from + 2), bits);
                let d = differing(held, load(words, from + 3), bits);
                let fewest = _mm512_min_epu32(_mm512_min_epu32(a, b), _mm512_min_epu32(c, d));
                if _mm512_cmple_epu64_mask(fewest, most) != 0 {
                    let near = [a, b, c, d].map(|count| _mm512_cmple_epu64_mask(count, most));
                    self.add(near, held, from, items.end);
                }
            }
            at += LANES as u32;
        }
    }

    /// Adds the pairs of eight words with those that lie `from` here on, and one, two and three
    /// further, if they are near and do not reach beyond the bucket. Most calls add one or two: no loop
    /// is over these, and no branch needs to be guessed.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    #[inline]
    fn add(&mut self, near: [__mmask8; 4], held: __m512i, from: u32, end: u32) {
        let mut count = self.count;
        for (from, near) in (from..).zip(near) {
            let inside = (1u32 << end.saturating_sub(from).min(LANES as u32)) - 1;
            let near = near & inside as __mmask8;
            store(&mut self.ones, count, _mm512_maskz_compress_epi64(near, held));
            let others = load(self.digests.words, from);
            store(&mut self.twos, count, _mm512_maskz_compress_epi64(near, others));
            count += near.count_ones() as usize;
        }
        self.count = count;
        // There are four times eight of them.
        if count > MOST_HITS - 4 * LANES {
            self.look();
        }
    }

    /// Looks closer at all of them, eight at a time; see [`Passed::look`].
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    #[cold]
    fn look(&mut self) {
        let Digests { same, lane, lane_most, all, most, rivals, .. } = self.digests;
        let pairs = &mut self.passed.pairs;
        let mut kept = pairs.len();
        pairs.resize(kept + self.count + LANES, [0; 2]);
        let eights = self.ones.as_chunks().0.iter().zip(self.twos.as_chunks().0);
        for (at, (ones, twos)) in (0..self.count).step_by(LANES).zip(eights) {
            let (ones, twos) = (load_all(ones), load_all(twos));
            let xor = _mm512_xor_si512(ones, twos);
            let there = ((1u32 << (self.count - at).min(LANES)) - 1) as __mmask8;
            let near = _mm512_mask_testn_epi64_mask(there, xor, _mm512_set1_epi64(same as i64))
                & at_most(xor, all, most)
                & at_most(xor, lane, lane_most);
            let elsewhere = rivals.iter().map(|rival| at_most(xor, rival.bits, rival.most));
            let here = near & !elsewhere.fold(0, |any, there| any | there);
            let ones = _mm512_maskz_compress_epi64(here, ones);
            let twos = _mm512_maskz_compress_epi64(here, twos);
            // The first of the one with the first of the other, and so on.
            let first_four = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let last_four = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            let room = pairs[kept..kept + LANES].as_flattened_mut();
            store(room, 0, _mm512_permutex2var_epi64(ones, first_four, twos));
            store(room, LANES, _mm512_permutex2var_epi64(ones, last_four, twos));
            kept += here.count_ones() as usize;
        }
        pairs.truncate(kept);
        self.count = 0;
    }
}

/// Which words have at most so many of `bits`.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
fn at_most(words: __m512i, bits: u64, most: u32) -> __mmask8 {
    let count = _mm512_popcnt_epi64(_mm512_and_si512(words, _mm512_set1_epi64(bits as i64)));
    _mm512_cmple_epu64_mask(count, _mm512_set1_epi64(i64::from(most)))
}

/// How many of `bits` differ, in each lane.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
fn differing(one: __m512i, two: __m512i, bits: __m512i) -> __m512i {
    _mm512_popcnt_epi64(_mm512_and_si512(_mm512_xor_si512(one, two), bits))
}

/// Eight words from position `at` on.
#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &[u64], at: u32) -> __m512i {
    debug_assert!(at as usize + LANES <= words.len());
    // SAFETY: a `slide` begins its four steps before a bucket's end, so `at` is at most two beyond it,
    // and `Filter::buckets` asserts that the slice goes on for PADDING elements there.
    unsafe { _mm512_loadu_si512(words.as_ptr().add(at as usize).cast()) }
}

/// Eight words that are there.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_all(words: &[u64; LANES]) -> __m512i {
    // SAFETY: the array has exactly the eight words that are read.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Stores eight words from position `at` on.
#[target_feature(enable = "avx512f")]
#[inline]
fn store(words: &mut [u64], at: usize, lanes: __m512i) {
    let room = &mut words[at..at + LANES];
    // SAFETY: there is room for exactly the eight words that are written.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), lanes) }
}

/// See [`Columns::within`](super::scan::Columns::within).
pub(super) fn within(
    _: Avx512,
    lists: &Lists<Plain>,
    query: &[u32; MOST_COLUMNS],
    range: Range<usize>,
    near: &mut Vec<(u32, u32)>,
) {
    // SAFETY: an `Avx512` exists only where AVX-512 was detected.
    unsafe {
        match lists.counts[0] {
            1 => lists.sweep::<1>(query, range, near),
            2 => lists.sweep::<2>(query, range, near),
            3 => lists.sweep::<3>(query, range, near),
            4 => lists.sweep::<4>(query, range, near),
            5 => lists.sweep::<5>(query, range, near),
            6 => lists.sweep::<6>(query, range, near),
            7 => lists.sweep::<7>(query, range, near),
            _ => lists.sweep::<MOST_COLUMNS>(query, range, near),
        }
    }
}

impl Lists<Plain> {
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn sweep<const COLUMNS: usize>(
        &self,
        query: &[u32; MOST_COLUMNS],
        range: Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        let most = _mm512_set1_epi32(self.radius as i32);
        let mut held = [_mm512_setzero_si512(); COLUMNS];
        for (held, &query) in held.iter_mut().zip(query) {
            *held = _mm512_set1_epi32(query as i32);
        }
        let chunks = Self::chunks(&range);
        let sets = &self.first.as_chunks::<COLUMNS>().0[chunks.clone()];
        for (chunk, set) in chunks.zip(sets) {
            let mut sums = _mm512_setzero_si512();
            for (held, column) in held.iter().zip(set) {
                sums = _mm512_add_epi32(sums, differing_in(*held, column));
            }
            if _mm512_cmple_epu32_mask(sums, most) != 0 {
                self.look_closer(sums, &query[COLUMNS..], chunk, &range, near);
            }
        }
    }

    /// Adds what the other columns of sixteen fingerprints differ in, and tells those that are near.
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    #[cold]
    fn look_closer(
        &self,
        mut sums: __m512i,
        query: &[u32],
        chunk: usize,
        range: &Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        for (&query, column) in query.iter().zip(self.rest_of(chunk)) {
            sums = _mm512_add_epi32(sums, differing_in(_mm512_set1_epi32(query as i32), column));
        }
        let mut distances = [0u32; 16];
        // SAFETY: the array has exactly the sixteen elements that are written.
        unsafe { _mm512_storeu_si512(distances.as_mut_ptr().cast(), sums) }
        self.tell(chunk, &distances, range, near);
    }
}

/// In how many bits each lane of a column differs.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
#[inline]
fn differing_in(held: __m512i, column: &Plain) -> __m512i {
    // SAFETY: the array has exactly the sixteen elements that are read.
    let column = unsafe { _mm512_loadu_si512(column.0.as_ptr().cast()) };
    _mm512_popcnt_epi32(_mm512_xor_si512(held, column))
}
