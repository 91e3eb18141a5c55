//! The voting kernel for AVX2.
//!
//! Equal weights count bit by bit ([`majority`]). Other weights are summed by table: the bits of 32
//! hashes are transposed, so that a 32-bit lane holds one bit position of all of them, and three
//! bits of a lane at a time choose among the eight sums that three weights can make.

#![expect(unsafe_code, reason = "calls functions compiled for AVX2 once it is known to be there")]

use std::arch::x86_64::*;

use bytemuck::cast;

use super::majority::{Lanes, majority};
use super::pack;
use crate::hamming::Kernel;

/// The AVX2 kernel, if it is asked for and this machine has it.
pub(super) fn available(kernel: Kernel) -> Option<Avx2> {
    (kernel == Kernel::Avx2 && is_x86_feature_detected!("avx2")).then_some(Avx2(()))
}

/// Proof that this machine has AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn unweighted<const WORDS: usize>(self, hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
        // SAFETY: `self` is made by `available` only, after AVX2 was detected.
        unsafe { unweighted(hashes) }
    }

    pub(super) fn weighted<const WORDS: usize>(
        self,
        hashes: &[[u64; WORDS]],
        weights: &[i32],
    ) -> [u64; WORDS] {
        // SAFETY: `self` is made by `available` only, after AVX2 was detected.
        unsafe { weighted(hashes, weights) }
    }
}

#[target_feature(enable = "avx2")]
fn unweighted<const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    majority::<Register, WORDS>(hashes)
}

/// One AVX2 register. Only [`unweighted`] names this type, so its methods run where AVX2 is there.
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
        // SAFETY: called from `unweighted` only, which requires AVX2.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: called from `unweighted` only, which requires AVX2.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: called from `unweighted` only, which requires AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: called from `unweighted` only, which requires AVX2.
        unsafe { _mm256_testz_si256(self.0, self.0) == 1 }
    }
}

/// How many hashes are transposed at once.
const BLOCK: usize = 32;

/// Larger weights are summed in two halves: 32-bit sums of a block must not overflow.
const LARGEST_WEIGHT: u32 = i32::MAX as u32 / BLOCK as u32;

/// For each bit position, the weight of the hashes that have it set.
type Sums<const WORDS: usize> = [[i64; 64]; WORDS];

#[target_feature(enable = "avx2")]
fn weighted<const WORDS: usize>(hashes: &[[u64; WORDS]], weights: &[i32]) -> [u64; WORDS] {
    let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    let largest = weights.iter().fold(1, |largest, weight| weight.unsigned_abs().max(largest));
    let mut sums = [[0; 64]; WORDS];
    if largest <= LARGEST_WEIGHT {
        add_weights(hashes, weights, largest, 1, &mut sums);
    } else {
        let low: Vec<i32> = weights.iter().map(|weight| weight & 0xffff).collect();
        let high: Vec<i32> = weights.iter().map(|weight| weight >> 16).collect();
        add_weights(hashes, &low, 1 << 16, 1, &mut sums);
        add_weights(hashes, &high, 1 << 16, 1 << 16, &mut sums);
    }
    sums.map(|sums| pack(|bit| 2 * sums[bit] > total))
}

/// Adds `scale` times each weight to the sums of the bits set in its hash.
#[target_feature(enable = "avx2")]
fn add_weights<const WORDS: usize>(
    hashes: &[[u64; WORDS]],
    weights: &[i32],
    largest: u32,
    scale: i64,
    sums: &mut Sums<WORDS>,
) {
    // So many weights cannot overflow a 32-bit sum.
    let run = (i32::MAX as u32 / largest) as usize / BLOCK * BLOCK;
    for (hashes, weights) in hashes.chunks(run).zip(weights.chunks(run)) {
        let mut lanes = [[_mm256_setzero_si256(); 8]; WORDS];
        for (hashes, weights) in hashes.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
            let tables = tables(weights);
            for (word, lanes) in lanes.iter_mut().enumerate() {
                add_block(transpose(&column(hashes, word)), &tables, lanes);
            }
        }
        for (sums, lanes) in sums.iter_mut().zip(lanes) {
            flush(lanes, scale, sums);
        }
    }
}

/// One word of each of at most 32 hashes, then zeros.
#[inline]
fn column<const WORDS: usize>(hashes: &[[u64; WORDS]], word: usize) -> [u64; BLOCK] {
    let mut column = [0; BLOCK];
    for (value, hash) in column.iter_mut().zip(hashes) {
        *value = hash[word];
    }
    column
}

/// The sums that three neighbours among 32 weights can make, in the order of [`transpose`]: entry
/// `e` of table `t` adds those weights of bits `3t`, `3t + 1`, `3t + 2` that are set in `e`.
#[target_feature(enable = "avx2")]
#[inline]
fn tables(weights: &[i32]) -> [__m256i; 11] {
    let mut ordered = [0; 33];
    for (feature, &weight) in weights.iter().enumerate() {
        ordered[feature / 4 + feature % 4 * 8] = weight;
    }
    let masks = [
        _mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1),
        _mm256_setr_epi32(0, 0, -1, -1, 0, 0, -1, -1),
        _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1),
    ];
    let mut tables = [_mm256_setzero_si256(); 11];
    for (table, weights) in tables.iter_mut().zip(ordered.as_chunks::<3>().0) {
        for (&weight, mask) in weights.iter().zip(masks) {
            *table = _mm256_add_epi32(*table, _mm256_and_si256(_mm256_set1_epi32(weight), mask));
        }
    }
    tables
}

/// Lane `d` of register `c` holds bit `8d + c` of all hashes; hash `4r + l` is its bit `8l + r`.
#[target_feature(enable = "avx2")]
fn transpose(hashes: &[u64; BLOCK]) -> [__m256i; 8] {
    let (rows, _) = hashes.as_chunks::<4>();
    let mut rows: [__m256i; 8] = std::array::from_fn(|r| cast(rows[r]));
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

#[target_feature(enable = "avx2")]
#[inline]
fn add_block(bits: [__m256i; 8], tables: &[__m256i; 11], lanes: &mut [__m256i; 8]) {
    for (lane, mut bits) in lanes.iter_mut().zip(bits) {
        for &table in tables {
            *lane = _mm256_add_epi32(*lane, _mm256_permutevar8x32_epi32(table, bits));
            bits = _mm256_srli_epi32::<3>(bits);
        }
    }
}

#[target_feature(enable = "avx2")]
fn flush(lanes: [__m256i; 8], scale: i64, sums: &mut [i64; 64]) {
    for (c, lane) in lanes.into_iter().enumerate() {
        let lane: [i32; 8] = cast(lane);
        for (d, sum) in lane.into_iter().enumerate() {
            sums[8 * d + c] += scale * i64::from(sum);
        }
    }
}
