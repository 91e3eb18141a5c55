//! The AVX2 kernels: the dot product of 16-bit integers, and the test of the filter.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::arch::x86_64::*;

use super::{
    codes::{Panel, STEP},
    filter::{ROWS, Tile},
};
use crate::hamming::Avx2;

/// See [`dot`](super::dot()).
#[inline]
pub fn dot(_: Avx2, a: &[[u8; 2]], b: &[[u8; 2]]) -> i64 {
    // SAFETY: an `Avx2` exists only where AVX2 was detected.
    unsafe { dot_avx2(a, b) }
}

#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[[u8; 2]], b: &[[u8; 2]]) -> i64 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut sums = [_mm256_setzero_si256(); 2];
    for (a, b) in a.iter().zip(b) {
        // SAFETY: both chunks have 32 bytes.
        let (a, b) = unsafe {
            (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast()))
        };
        // Two products of at most 32,767^2 fit into 32 bits; four do not.
        let pairs = _mm256_madd_epi16(a, b);
        sums[0] = _mm256_add_epi64(sums[0], _mm256_cvtepi32_epi64(_mm256_castsi256_si128(pairs)));
        let high = _mm256_extracti128_si256::<1>(pairs);
        sums[1] = _mm256_add_epi64(sums[1], _mm256_cvtepi32_epi64(high));
    }
    let sum = _mm256_add_epi64(sums[0], sums[1]);
    let sum = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let sum = _mm_extract_epi64::<0>(sum) + _mm_extract_epi64::<1>(sum);
    sum + super::dot::portable(a_rest, b_rest)
}

/// The number of rows whose sums fit into registers together.
const GROUP: usize = 4;

/// See [`Test::passed`](super::filter::Test::passed).
#[inline]
pub fn passed(_: Avx2, tile: &Tile, panel: Panel<'_>, thresholds: &[f32; ROWS]) -> [u32; ROWS] {
    let mut passed = [0; ROWS];
    for first in (0..ROWS).step_by(GROUP) {
        for half in 0..2 {
            // SAFETY: an `Avx2` exists only where AVX2 was detected.
            let bits = unsafe { sweep(tile, panel, thresholds, first, half) };
            for (passed, bits) in passed[first..].iter_mut().zip(bits) {
                *passed |= bits << (16 * half);
            }
        }
    }
    passed
}

/// Tests [`GROUP`] rows against half of the columns: two vectors of eight.
#[target_feature(enable = "avx2")]
fn sweep(
    tile: &Tile,
    panel: Panel<'_>,
    thresholds: &[f32; ROWS],
    first: usize,
    half: usize,
) -> [u32; GROUP] {
    let (bias, ones) = (_mm256_set1_epi8(i8::MIN), _mm256_set1_epi16(1));
    let mut sums = [[_mm256_setzero_si256(); GROUP]; 2];
    let rows = first..first + GROUP;
    for (words, codes) in tile.words.iter().zip(panel.codes.as_chunks::<STEP>().0) {
        let codes = codes.as_chunks::<32>().0;
        for (part, sums) in sums.iter_mut().enumerate() {
            // SAFETY: a chunk has 32 bytes.
            let columns = unsafe { _mm256_loadu_si256(codes[2 * half + part].as_ptr().cast()) };
            let columns = _mm256_xor_si256(columns, bias);
            let sizes = _mm256_abs_epi8(columns);
            for (sum, &word) in sums.iter_mut().zip(&words[rows.clone()]) {
                // a * b = |a| * (b times the sign of a), so one factor is unsigned. Codes are at most
                // 127, so a sum of two products fits into 16 bits.
                let signed = _mm256_sign_epi8(_mm256_set1_epi32(word), columns);
                let pairs = _mm256_maddubs_epi16(sizes, signed);
                let products = _mm256_madd_epi16(pairs, ones);
                *sum = _mm256_add_epi32(*sum, products);
            }
        }
    }
    let mut passed = [0; GROUP];
    for (part, sums) in sums.iter().enumerate() {
        let at = 16 * half + 8 * part;
        let (scales, rests) = (&panel.scales[at..at + 8], &panel.rests[at..at + 8]);
        // SAFETY: both slices have 8 numbers.
        let (scales, rests) =
            unsafe { (_mm256_loadu_ps(scales.as_ptr()), _mm256_loadu_ps(rests.as_ptr())) };
        for (row, (passed, &sum)) in rows.clone().zip(passed.iter_mut().zip(sums)) {
            let rest = _mm256_set1_ps(tile.rests[row]);
            let product = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scales);
            let bound = _mm256_add_ps(product, _mm256_mul_ps(rest, rests));
            let threshold = _mm256_set1_ps(thresholds[row]);
            let mask = _mm256_cmp_ps::<_CMP_GE_OQ>(bound, threshold);
            *passed |= (_mm256_movemask_ps(mask) as u32) << (8 * part);
        }
    }
    passed
}
