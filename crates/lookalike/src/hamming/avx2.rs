//! The AVX2 kernels. Each has a portable twin in the file that calls it.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::{arch::x86_64::*, ops::Range};

use super::{
    columns::{Lists, MOST_COLUMNS, Nibbles},
    filter::{Digests, Filter, PADDING, Passed},
    kernel::Avx2,
};

/// See [`Filter::buckets`].
pub(super) fn buckets(
    _: Avx2,
    filter: Filter,
    checks: &[u32],
    ends: &[u32],
    largest: u32,
    digests: Digests<'_>,
    passed: &mut Passed,
) {
    // SAFETY: an `Avx2` exists only where AVX2 and POPCNT were detected.
    unsafe {
        match filter {
            Filter::Few { most: 0 } => few::<0>(checks, ends, largest, digests, passed),
            Filter::Few { most: 1 } => few::<1>(checks, ends, largest, digests, passed),
            Filter::Few { most: 2 } => few::<2>(checks, ends, largest, digests, passed),
            Filter::Few { .. } => few::<3>(checks, ends, largest, digests, passed),
            Filter::Halves => halves(checks, ends, largest, digests, passed),
            Filter::Count { most } => count(most, checks, ends, largest, digests, passed),
        }
    }
}

/// At most `MOST` bits: clearing the lowest set bit that often leaves nothing.
#[target_feature(enable = "avx2,popcnt")]
fn few<const MOST: u32>(
    checks: &[u32],
    ends: &[u32],
    largest: u32,
    digests: Digests<'_>,
    passed: &mut Passed,
) {
    let minus_one = _mm256_set1_epi32(-1);
    sweep(checks, ends, largest, digests, passed, |xor| {
        let mut left = xor;
        for _ in 0..MOST {
            left = _mm256_and_si256(left, _mm256_add_epi32(left, minus_one));
        }
        _mm256_cmpeq_epi32(left, _mm256_setzero_si256())
    });
}

#[target_feature(enable = "avx2,popcnt")]
fn halves(checks: &[u32], ends: &[u32], largest: u32, digests: Digests<'_>, passed: &mut Passed) {
    let minus_one = _mm256_set1_epi16(-1);
    sweep(checks, ends, largest, digests, passed, |xor| {
        let left = _mm256_and_si256(xor, _mm256_add_epi16(xor, minus_one));
        _mm256_cmpeq_epi16(left, _mm256_setzero_si256())
    });
}

#[target_feature(enable = "avx2,popcnt")]
fn count(
    most: u32,
    checks: &[u32],
    ends: &[u32],
    largest: u32,
    digests: Digests<'_>,
    passed: &mut Passed,
) {
    let bound = _mm256_set1_epi32(most.min(32) as i32 + 1);
    let ones = _mm256_set1_epi8(1);
    let ones_wide = _mm256_set1_epi16(1);
    sweep(checks, ends, largest, digests, passed, |xor| {
        let bytes = bytes_ones(xor);
        let sums = _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, ones), ones_wide);
        _mm256_cmpgt_epi32(bound, sums)
    });
}

/// The number of set bits of each byte.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn bytes_ones(bits: __m256i) -> __m256i {
    let nibble = _mm256_set1_epi8(0x0f);
    let low = nibble_ones(_mm256_and_si256(bits, nibble));
    let high = nibble_ones(_mm256_and_si256(_mm256_srli_epi16::<4>(bits), nibble));
    _mm256_add_epi8(low, high)
}

/// The number of set bits of each byte, all of them below 16.
#[target_feature(enable = "avx2")]
#[inline]
fn nibble_ones(nibbles: __m256i) -> __m256i {
    let table = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3,
        3, 4,
    );
    _mm256_shuffle_epi8(table, nibbles)
}

/// Compares all items with the few that follow them, whatever bucket those are in, and then those
/// that are farther apart in one bucket: where buckets are short, no loop is as long as one of them,
/// and no branch needs to be guessed.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn sweep(
    checks: &[u32],
    ends: &[u32],
    largest: u32,
    digests: Digests<'_>,
    passed: &mut Passed,
    test: impl Fn(__m256i) -> __m256i,
) {
    let common = common_steps(ends, largest);
    let mut hits = Hits::new(digests, passed);
    if let Some(&end) = ends.last().filter(|_| common > 0) {
        slide(checks, 0..end, 1..common + 1, &mut hits, &test);
    }
    let mut start = 0;
    for &end in ends {
        if end - start <= largest && end - start > common + 1 {
            slide(checks, start..end, common + 1..end - start, &mut hits, &test);
        }
        start = end;
    }
    hits.look();
}

/// Holds eight neighbours in a register and slides those that follow past them, one position at a
/// time, so many `steps` or to the end of `items`: four for one branch. The number of `steps` is a
/// multiple of four, or they go to the end.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn slide(
    checks: &[u32],
    items: Range<u32>,
    steps: Range<u32>,
    hits: &mut Hits<'_>,
    test: &impl Fn(__m256i) -> __m256i,
) {
    let mut at = items.start;
    while at + steps.start < items.end {
        let held = load(checks, at);
        for step in (steps.start..steps.end.min(items.end - at)).step_by(4) {
            let from = at + step;
            let a = test(_mm256_xor_si256(held, load(checks, from)));
            let b = test(_mm256_xor_si256(held, load(checks, from + 1)));
            let c = test(_mm256_xor_si256(held, load(checks, from + 2)));
            let d = test(_mm256_xor_si256(held, load(checks, from + 3)));
            let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
            if _mm256_movemask_epi8(any) != 0 {
                hits.add(lanes_of([a, b, c, d]), at, step, items.end);
            }
        }
        at += 8;
    }
}

/// Which lanes of four vectors are not zero. Bits 0 to 3 are the lower lanes of the first, the next four
/// those of the second, and so on; from 16 on, the upper ones.
#[target_feature(enable = "avx2")]
#[inline]
fn lanes_of(vectors: [__m256i; 4]) -> u32 {
    let zero = _mm256_setzero_si256();
    let [a, b, c, d] = vectors.map(|lanes| _mm256_cmpeq_epi32(lanes, zero));
    let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    !_mm256_movemask_epi8(bytes) as u32
}

/// Pairs that have passed a filter, to be looked at together.
struct Hits<'a> {
    pairs: [(u32, u32); MOST_HITS],
    count: usize,
    digests: Digests<'a>,
    passed: &'a mut Passed,
}

const MOST_HITS: usize = 512;

impl<'a> Hits<'a> {
    fn new(digests: Digests<'a>, passed: &'a mut Passed) -> Self {
        Self { pairs: [(0, 0); MOST_HITS], count: 0, digests, passed }
    }

    /// Adds the pairs of the eight items from `at` on with those `step` and up to three more behind
    /// them, if the `lanes` say so and they do not reach beyond the bucket.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn add(&mut self, mut lanes: u32, at: u32, step: u32, end: u32) {
        while lanes != 0 {
            let place = lanes.trailing_zeros();
            lanes &= lanes - 1;
            let i = at + (place & 3 | place >> 2 & 4);
            let j = i + step + (place >> 2 & 3);
            self.pairs[self.count % MOST_HITS] = (i, j);
            self.count += usize::from(j < end);
        }
        // There are 32 lanes.
        if self.count > MOST_HITS - 32 {
            self.look();
        }
    }

    #[target_feature(enable = "popcnt")]
    #[cold]
    fn look(&mut self) {
        let hits = self.pairs[..self.count].iter().map(|&(i, j)| self.digests.pair(i, j));
        self.passed.look(&self.digests, hits);
        self.count = 0;
    }
}

/// How many items that follow are worth comparing each item with before buckets are looked at: twice
/// as many as a bucket has; none if some bucket is not to be compared at all.
pub(super) fn common_steps(ends: &[u32], largest: u32) -> u32 {
    let total = ends.last().copied().unwrap_or(0);
    let steps = (2 * total / ends.len().max(1) as u32 + 2).next_multiple_of(4);
    let starts = std::iter::once(&0).chain(ends);
    let widest = starts.zip(ends).fold(0, |widest, (start, end)| widest.max(end - start));
    if steps > MOST_COMMON_STEPS || widest > largest { 0 } else { steps }
}

/// With more, the loops of single buckets are long enough.
const MOST_COMMON_STEPS: u32 = PADDING as u32 - 12;

/// Eight checks from position `at` on.
#[target_feature(enable = "avx2")]
#[inline]
fn load(checks: &[u32], at: u32) -> __m256i {
    debug_assert!(at as usize + 8 <= checks.len());
    // SAFETY: `at` is at most MOST_COMMON_STEPS and the three of an unfinished `slide` beyond a
    // bucket's end, and `Filter::buckets` asserts that the slice goes on for PADDING elements there.
    unsafe { _mm256_loadu_si256(checks.as_ptr().add(at as usize).cast()) }
}

/// See [`Columns::within`](super::scan::Columns::within).
pub(super) fn within(
    _: Avx2,
    lists: &Lists<Nibbles>,
    query: &[[u32; 2]; MOST_COLUMNS],
    range: Range<usize>,
    near: &mut Vec<(u32, u32)>,
) {
    // SAFETY: an `Avx2` exists only where AVX2 was detected.
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

impl Lists<Nibbles> {
    #[target_feature(enable = "avx2")]
    fn sweep<const COLUMNS: usize>(
        &self,
        query: &[[u32; 2]; MOST_COLUMNS],
        range: Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        let bound = _mm256_set1_epi32(self.radius as i32 + 1);
        let mut held = [[_mm256_setzero_si256(); 2]; COLUMNS];
        for (held, query) in held.iter_mut().zip(query) {
            *held = splat(query);
        }
        let chunks = Self::chunks(&range);
        let sets = &self.first.as_chunks::<COLUMNS>().0[chunks.clone()];
        for (chunk, set) in chunks.zip(sets) {
            let mut counts = _mm256_setzero_si256();
            for (held, column) in held.iter().zip(set) {
                // A nibble counts at most 4 ones; sixteen of them leave room in a byte.
                counts = _mm256_add_epi8(counts, differing(held, column));
            }
            let sums = lane_sums(counts);
            let few = _mm256_cmpgt_epi32(bound, sums);
            if _mm256_testz_si256(few, few) == 0 {
                self.look_closer(sums, &query[COLUMNS..], chunk, &range, near);
            }
        }
    }

    /// Adds what the other columns of eight fingerprints differ in, and tells those that are near.
    ///
    /// Called cold: the loop that calls it needs all registers for itself.
    #[target_feature(enable = "avx2")]
    #[cold]
    fn look_closer(
        &self,
        sums: __m256i,
        query: &[[u32; 2]],
        chunk: usize,
        range: &Range<usize>,
        near: &mut Vec<(u32, u32)>,
    ) {
        let mut counts = _mm256_setzero_si256();
        for (query, column) in query.iter().zip(self.rest_of(chunk)) {
            counts = _mm256_add_epi8(counts, differing(&splat(query), column));
        }
        let mut distances = [0; 8];
        store_lanes(_mm256_add_epi32(sums, lane_sums(counts)), &mut distances);
        self.tell(chunk, &distances, range, near);
    }
}

/// The low and the high nibbles of 32 bits, in every lane.
#[target_feature(enable = "avx2")]
#[inline]
fn splat(nibbles: &[u32; 2]) -> [__m256i; 2] {
    [_mm256_set1_epi32(nibbles[0] as i32), _mm256_set1_epi32(nibbles[1] as i32)]
}

/// In how many bits each byte of a column differs.
#[target_feature(enable = "avx2")]
#[inline]
fn differing(held: &[__m256i; 2], column: &Nibbles) -> __m256i {
    let low = nibble_ones(_mm256_xor_si256(held[0], load_lanes(&column.0[0])));
    let high = nibble_ones(_mm256_xor_si256(held[1], load_lanes(&column.0[1])));
    _mm256_add_epi8(low, high)
}

/// The sum of the bytes of each lane.
#[target_feature(enable = "avx2")]
#[inline]
fn lane_sums(bytes: __m256i) -> __m256i {
    let (ones, ones_wide) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
    _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, ones), ones_wide)
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_lanes(sums: __m256i, lanes: &mut [u32; 8]) {
    // SAFETY: the array has exactly the eight elements that are written.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_lanes(lanes: &[u32; 8]) -> __m256i {
    // SAFETY: the array has exactly the eight elements that are read.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}
