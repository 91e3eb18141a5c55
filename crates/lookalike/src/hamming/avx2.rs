//! The AVX2 kernels. Each has a portable twin in the file that calls it.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::arch::x86_64::*;

use super::{
    filter::{Filter, PADDING},
    scan::LANES,
};
use crate::Fingerprint;

/// See [`Filter::buckets`].
pub(super) fn buckets(
    filter: Filter,
    checks: &[u32],
    first: u32,
    ends: &[u32],
    largest: u32,
    passed: &mut Vec<(u32, u32)>,
) {
    // SAFETY: `Kernel::Avx2` is only handed out after AVX2 was detected.
    unsafe {
        match filter {
            Filter::Few { mask, most: 0 } => few::<0>(mask, checks, first, ends, largest, passed),
            Filter::Few { mask, most: 1 } => few::<1>(mask, checks, first, ends, largest, passed),
            Filter::Few { mask, most: 2 } => few::<2>(mask, checks, first, ends, largest, passed),
            Filter::Few { mask, .. } => few::<3>(mask, checks, first, ends, largest, passed),
            Filter::Halves => halves(checks, first, ends, largest, passed),
            Filter::Count { mask, most } => count(mask, most, checks, first, ends, largest, passed),
        }
    }
}

/// At most `MOST` bits of `mask`: clearing the lowest set bit that often leaves nothing.
#[target_feature(enable = "avx2")]
fn few<const MOST: u32>(
    mask: u32,
    checks: &[u32],
    first: u32,
    ends: &[u32],
    largest: u32,
    passed: &mut Vec<(u32, u32)>,
) {
    let mask = _mm256_set1_epi32(mask as i32);
    let minus_one = _mm256_set1_epi32(-1);
    sweep(checks, first, ends, largest, passed, |xor| {
        let mut left = _mm256_and_si256(xor, mask);
        for _ in 0..MOST {
            left = _mm256_and_si256(left, _mm256_add_epi32(left, minus_one));
        }
        _mm256_cmpeq_epi32(left, _mm256_setzero_si256())
    });
}

#[target_feature(enable = "avx2")]
fn halves(checks: &[u32], first: u32, ends: &[u32], largest: u32, passed: &mut Vec<(u32, u32)>) {
    let minus_one = _mm256_set1_epi16(-1);
    sweep(checks, first, ends, largest, passed, |xor| {
        let left = _mm256_and_si256(xor, _mm256_add_epi16(xor, minus_one));
        _mm256_cmpeq_epi16(left, _mm256_setzero_si256())
    });
}

#[target_feature(enable = "avx2")]
fn count(
    mask: u32,
    most: u32,
    checks: &[u32],
    first: u32,
    ends: &[u32],
    largest: u32,
    passed: &mut Vec<(u32, u32)>,
) {
    let mask = _mm256_set1_epi32(mask as i32);
    let bound = _mm256_set1_epi32(most.min(32) as i32 + 1);
    let ones = _mm256_set1_epi8(1);
    let ones_wide = _mm256_set1_epi16(1);
    sweep(checks, first, ends, largest, passed, |xor| {
        let bytes = bytes_ones(_mm256_and_si256(xor, mask));
        let sums = _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, ones), ones_wide);
        _mm256_cmpgt_epi32(bound, sums)
    });
}

/// The number of set bits of each byte.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn bytes_ones(bits: __m256i) -> __m256i {
    let table = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3,
        3, 4,
    );
    let nibble = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(table, _mm256_and_si256(bits, nibble));
    let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(bits), nibble));
    _mm256_add_epi8(low, high)
}

/// Holds eight neighbours in a register and slides the rest of their bucket past them, one
/// position at a time: no loop per item, so short buckets do not drown in mispredicted ends.
#[target_feature(enable = "avx2")]
#[inline]
fn sweep(
    checks: &[u32],
    first: u32,
    ends: &[u32],
    largest: u32,
    passed: &mut Vec<(u32, u32)>,
    test: impl Fn(__m256i) -> __m256i,
) {
    let mut start = first;
    for &end in ends {
        if end - start <= largest {
            let mut at = start;
            while at + 1 < end {
                let held = load(checks, at);
                for step in 1..end - at {
                    let hits = test(_mm256_xor_si256(held, load(checks, at + step)));
                    if _mm256_testz_si256(hits, hits) == 0 {
                        let lanes = _mm256_movemask_epi8(hits) as u32;
                        report(lanes, at, step, end, passed);
                    }
                }
                at += 8;
            }
        }
        start = end;
    }
}

/// Eight checks from position `at` on.
#[target_feature(enable = "avx2")]
#[inline]
fn load(checks: &[u32], at: u32) -> __m256i {
    debug_assert!(at as usize + PADDING <= checks.len());
    // SAFETY: `at` is at most one bucket's end, and `Filter::buckets` asserts that the slice goes
    // on for PADDING = 8 elements beyond every end.
    unsafe { _mm256_loadu_si256(checks.as_ptr().add(at as usize).cast()) }
}

/// Appends the pairs of the lanes whose bytes are set, unless they reach beyond the bucket.
#[cold]
fn report(lanes: u32, at: u32, step: u32, end: u32, passed: &mut Vec<(u32, u32)>) {
    for lane in 0..8 {
        let (i, j) = (at + lane, at + lane + step);
        if lanes >> (4 * lane) & 0xf != 0 && j < end {
            passed.push((i, j));
        }
    }
}

/// See [`Columns::within`](super::scan::Columns::within); `columns` have a length that is a
/// multiple of `LANES`.
pub(super) fn within<const WORDS: usize>(
    columns: [&[u64]; WORDS],
    query: &Fingerprint<WORDS>,
    radius: u32,
    first: u32,
    near: &mut Vec<u32>,
) {
    // SAFETY: `Kernel::Avx2` is only handed out after AVX2 was detected.
    unsafe { within_columns(columns, query, radius, first, near) }
}

#[target_feature(enable = "avx2")]
fn within_columns<const WORDS: usize>(
    columns: [&[u64]; WORDS],
    query: &Fingerprint<WORDS>,
    radius: u32,
    first: u32,
    near: &mut Vec<u32>,
) {
    let bound = _mm256_set1_epi64x(i64::from(radius) + 1);
    let query: [__m256i; WORDS] =
        std::array::from_fn(|word| _mm256_set1_epi64x(query.0[word] as i64));
    let chunks: [&[[u64; LANES]]; WORDS] = std::array::from_fn(|word| columns[word].as_chunks().0);
    let length = chunks.iter().map(|column| column.len()).min().unwrap_or(0);
    let chunks: [&[[u64; LANES]]; WORDS] = std::array::from_fn(|word| &chunks[word][..length]);
    for index in 0..length {
        let mut low = _mm256_setzero_si256();
        let mut high = _mm256_setzero_si256();
        for word in 0..WORDS {
            let chunk = &chunks[word][index];
            // A byte counts at most 8 ones a word; with up to 4 words it cannot overflow.
            low = _mm256_add_epi8(
                low,
                bytes_ones(_mm256_xor_si256(query[word], load_words(chunk, 0))),
            );
            high = _mm256_add_epi8(
                high,
                bytes_ones(_mm256_xor_si256(query[word], load_words(chunk, 4))),
            );
        }
        let zero = _mm256_setzero_si256();
        let low = _mm256_cmpgt_epi64(bound, _mm256_sad_epu8(low, zero));
        let high = _mm256_cmpgt_epi64(bound, _mm256_sad_epu8(high, zero));
        let any = _mm256_or_si256(low, high);
        if _mm256_testz_si256(any, any) == 0 {
            let lanes = _mm256_movemask_pd(_mm256_castsi256_pd(low)) as u32
                | (_mm256_movemask_pd(_mm256_castsi256_pd(high)) as u32) << 4;
            let start = first + (index * LANES) as u32;
            near.extend(
                (0..LANES as u32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| start + lane),
            );
        }
    }
}

/// Four words of a chunk, from `at` (0 or 4) on.
#[target_feature(enable = "avx2")]
#[inline]
fn load_words(chunk: &[u64; LANES], at: usize) -> __m256i {
    let words = &chunk[at..at + 4];
    // SAFETY: `words` has exactly the four elements that are read.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}
