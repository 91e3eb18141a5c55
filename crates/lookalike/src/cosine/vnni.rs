//! The test of the filter with the AVX-512 instructions for dot products of bytes.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::arch::x86_64::*;

use super::{
    codes::{Panel, STEP},
    filter::{ROWS, Tile},
};
use crate::hamming::Kernel;

/// Proof that this CPU has AVX-512 F, BW, VL and VNNI.
#[derive(Clone, Copy)]
pub struct Vnni(());

impl Vnni {
    /// `None` unless the kernel uses AVX-512 and the CPU has VNNI.
    pub fn of(kernel: Kernel) -> Option<Self> {
        let is_available =
            matches!(kernel, Kernel::Avx512(_)) && is_x86_feature_detected!("avx512vnni");
        is_available.then_some(Self(()))
    }
}

/// See [`Test::passed`](super::filter::Test::passed).
#[inline]
pub fn passed(_: Vnni, tile: &Tile, panel: Panel<'_>, thresholds: &[f32; ROWS]) -> [u32; ROWS] {
    // SAFETY: a `Vnni` exists only where these features were detected.
    unsafe { sweep(tile, panel, thresholds) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn sweep(tile: &Tile, panel: Panel<'_>, thresholds: &[f32; ROWS]) -> [u32; ROWS] {
    let mut sums = [[_mm512_setzero_si512(); 2]; ROWS];
    for (sums, &unbias) in sums.iter_mut().zip(&tile.unbias) {
        *sums = [_mm512_set1_epi32(unbias); 2];
    }
    for (words, codes) in tile.words.iter().zip(panel.codes.as_chunks::<STEP>().0) {
        let (one, two) = codes.split_at(STEP / 2);
        // SAFETY: both halves have 64 bytes.
        let columns = unsafe {
            [_mm512_loadu_si512(one.as_ptr().cast()), _mm512_loadu_si512(two.as_ptr().cast())]
        };
        for (sums, &word) in sums.iter_mut().zip(words) {
            let row = _mm512_set1_epi32(word);
            sums[0] = _mm512_dpbusd_epi32(sums[0], columns[0], row);
            sums[1] = _mm512_dpbusd_epi32(sums[1], columns[1], row);
        }
    }
    let halves = |parts: &[f32; 32]| {
        let (one, two) = parts.split_at(16);
        // SAFETY: both halves have 16 numbers.
        unsafe { [_mm512_loadu_ps(one.as_ptr()), _mm512_loadu_ps(two.as_ptr())] }
    };
    let (scales, rests) = (halves(panel.scales), halves(panel.rests));
    let mut passed = [0; ROWS];
    for (row, passed) in passed.iter_mut().enumerate() {
        let (rest, threshold) = (_mm512_set1_ps(tile.rests[row]), _mm512_set1_ps(thresholds[row]));
        for half in 0..2 {
            let product = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[row][half]), scales[half]);
            let bound = _mm512_add_ps(product, _mm512_mul_ps(rest, rests[half]));
            let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(bound, threshold);
            *passed |= u32::from(mask) << (16 * half);
        }
    }
    passed
}
