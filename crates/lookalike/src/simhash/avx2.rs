//! The voting kernel for AVX2.
//!
//! Equal weights are counted bit by bit ([`majority`]). Other weights are summed by table: the bits of
//! 32 hashes are transposed, so a 32-bit lane holds one bit position of all of them. Two bits of a lane
//! at a time select one of the four sums that two weights can make.

#![expect(unsafe_code, reason = "calls functions compiled for AVX2 once it is known to be there")]

use std::arch::x86_64::*;

use bytemuck::cast;

use super::majority::{Lanes, majority};
use super::weighted::{self, RunSums};
use crate::hamming::Avx2;

/// The bits set in more than half of the hashes.
pub(super) fn unweighted<const WORDS: usize>(_: Avx2, hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    // SAFETY: an `Avx2` exists only where AVX2 was detected.
    unsafe { by_count(hashes) }
}

/// The bits whose hashes weigh more than half of all.
pub(super) fn weighted<const WORDS: usize>(
    _: Avx2,
    hashes: &[[u64; WORDS]],
    weights: &[i32],
) -> [u64; WORDS] {
    // SAFETY: an `Avx2` exists only where AVX2 was detected.
    unsafe { by_weight(hashes, weights) }
}

#[target_feature(enable = "avx2")]
fn by_count<const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    majority::<Register, WORDS>(hashes)
}

/// One AVX2 register. Only [`by_count`] uses this type, so its methods run only where AVX2 is available.
#[derive(Clone, Copy)]
struct Register(__m256i);

impl Lanes for Register {
    #[inline(always)]
    fn load(words: [u64; 4]) -> Self {
        Self(cast(words))
    }

    #[inline(always)]
    fn store(self) -> [u64; 4] {
        cast(self.0)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: called from `by_count` only, which requires AVX2.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: called from `by_count` only, which requires AVX2.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: called from `by_count` only, which requires AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: called from `by_count` only, which requires AVX2.
        unsafe { _mm256_testz_si256(self.0, self.0) == 1 }
    }
}

/// The number of hashes transposed at once.
const BLOCK: usize = 32;

#[target_feature(enable = "avx2")]
fn by_weight<const WORDS: usize>(hashes: &[[u64; WORDS]], weights: &[i32]) -> [u64; WORDS] {
    let total = weighted::total(weights);
    let sums = weighted::sums(hashes, weights, |hashes, weights, sums| {
        add_run(hashes, weights, sums);
    });
    let mut words = [0; WORDS];
    for (word, sums) in words.iter_mut().zip(&sums) {
        *word = transpose_bits(above_half(sums, total));
    }
    words
}

/// The word whose bit `i` is set iff `sums[i]` is more than half of `total`.
#[target_feature(enable = "avx2")]
#[inline]
fn above_half(sums: &[i64; 64], total: i64) -> u64 {
    let total = _mm256_set1_epi64x(total);
    let mut word = 0;
    for (i, &four) in sums.as_chunks::<4>().0.iter().enumerate() {
        let twice = _mm256_slli_epi64::<1>(cast(four));
        let above = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(twice, total)));
        word |= (above as u64) << (4 * i);
    }
    word
}

/// Adds each weight to the sums of the bits set in its hash; the sum of bit `8d + c` is at `8c + d`.
#[target_feature(enable = "avx2")]
fn add_run<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
    sums: &mut RunSums<WORDS>,
) {
    let mut lanes = sums.map(cast::<[i32; 64], [__m256i; 8]>);
    let (hash_blocks, last_hashes) = hashes.as_chunks::<BLOCK>();
    let (weight_blocks, last_weights) = weights.as_chunks::<BLOCK>();
    for (hashes, weights) in hash_blocks.iter().zip(weight_blocks) {
        add_block(hashes, weights, &mut lanes);
    }
    if !last_weights.is_empty() {
        // A weight of zero adds nothing.
        let (mut hashes, mut weights) = ([[0; WORDS]; BLOCK], [0; BLOCK]);
        hashes[..last_hashes.len()].copy_from_slice(last_hashes);
        weights[..last_weights.len()].copy_from_slice(last_weights);
        add_block(&hashes, &weights, &mut lanes);
    }
    *sums = lanes.map(cast);
}

/// Adds 32 weights to the sums of the bits set in their hashes.
#[target_feature(enable = "avx2")]
#[inline]
fn add_block<const WORDS: usize>(
    hashes: &[[u64; WORDS]; BLOCK],
    weights: &[i32; BLOCK],
    lanes: &mut [[__m256i; 8]; WORDS],
) {
    let tables = tables(weights);
    for (word, lanes) in lanes.iter_mut().enumerate() {
        add_chosen(transpose(hashes, word), &tables, lanes);
    }
}

/// The sums that two weights can make, in the order of [`transpose`]: entry `e` of either half of
/// table `t` adds the weights of those of the bits `2t` and `2t + 1` that are set in `e`.
#[target_feature(enable = "avx2")]
#[inline]
fn tables(weights: &[i32; BLOCK]) -> [__m256i; 16] {
    let mut ordered = [0; BLOCK];
    for l in 0..4 {
        for r in 0..8 {
            ordered[8 * l + r] = weights[4 * r + l];
        }
    }
    let first = _mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1);
    let second = _mm256_setr_epi32(0, 0, -1, -1, 0, 0, -1, -1);
    let mut tables = [_mm256_setzero_si256(); 16];
    for (table, &[a, b]) in tables.iter_mut().zip(ordered.as_chunks::<2>().0) {
        let a = _mm256_and_si256(_mm256_set1_epi32(a), first);
        let b = _mm256_and_si256(_mm256_set1_epi32(b), second);
        *table = _mm256_add_epi32(a, b);
    }
    tables
}

/// Lane `d` of register `c` holds bit `8d + c` of one word of all hashes; of that lane, bit `8l + r`
/// is the one of hash `4r + l`.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose<const WORDS: usize>(hashes: &[[u64; WORDS]; BLOCK], word: usize) -> [__m256i; 8] {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (row, four) in rows.iter_mut().zip(hashes.as_chunks::<4>().0) {
        *row = cast([four[0][word], four[1][word], four[2][word], four[3][word]]);
    }
    swap::<4>(&mut rows, 0x0f);
    swap::<2>(&mut rows, 0x33);
    swap::<1>(&mut rows, 0x55);
    let halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    let bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
    ));
    for row in &mut rows {
        *row = _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(*row, halves), bytes);
    }
    rows
}

/// One step of the 8 by 8 bit transposition in every byte (Hacker's Delight, section 7-3).
#[target_feature(enable = "avx2")]
#[inline]
fn swap<const SHIFT: i32>(rows: &mut [__m256i; 8], mask: i8) {
    let mask = _mm256_set1_epi8(mask);
    let distance = SHIFT as usize;
    for low in (0..8).filter(|row| row & distance == 0) {
        let (a, b) = (rows[low], rows[low + distance]);
        let moved = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16::<SHIFT>(a), b), mask);
        rows[low] = _mm256_xor_si256(a, _mm256_slli_epi16::<SHIFT>(moved));
        rows[low + distance] = _mm256_xor_si256(b, moved);
    }
}

/// Adds the sums that two bits of a lane at a time select from the tables.
#[target_feature(enable = "avx2")]
#[inline]
fn add_chosen(bits: [__m256i; 8], tables: &[__m256i; 16], lanes: &mut [__m256i; 8]) {
    for (lane, mut bits) in lanes.iter_mut().zip(bits) {
        for &table in tables {
            let chosen = _mm256_permutevar_ps(_mm256_castsi256_ps(table), bits);
            *lane = _mm256_add_epi32(*lane, _mm256_castps_si256(chosen));
            bits = _mm256_srli_epi32::<2>(bits);
        }
    }
}

/// Moves bit `8c + d` to `8d + c`.
fn transpose_bits(mut word: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let moved = (word ^ word >> shift) & mask;
        word ^= moved ^ moved << shift;
    }
    word
}
