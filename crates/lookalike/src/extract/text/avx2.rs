//! The classes of characters for AVX2: 32 bytes at a time.

#![expect(unsafe_code, reason = "calls functions compiled for AVX2 once it is known to be there")]

use std::arch::x86_64::*;

use bytemuck::cast;

use super::ascii::hash_words;
use crate::hamming::Kernel;

/// As [`hash_words`]; `false`, and nothing done, if this machine has no AVX2.
pub(super) fn try_hash_words(kernel: Kernel, text: &str, hashes: &mut Vec<u64>) -> bool {
    if !kernel.is_avx2() {
        return false;
    }
    // SAFETY: the kernel was asked whether AVX2, BMI2 and POPCNT are there (and BMI1, which is
    // older).
    unsafe { by_avx2(text, hashes) };
    true
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn by_avx2(text: &str, hashes: &mut Vec<u64>) {
    hash_words(text, hashes, |block| bitmap(block));
}

#[target_feature(enable = "avx2")]
#[inline]
fn bitmap(block: &[u8; 64]) -> u64 {
    let [first, second] = cast::<[u8; 64], [__m256i; 2]>(*block);
    u64::from(in_runs(first)) | u64::from(in_runs(second)) << 32
}

/// One bit for each byte that is an ASCII letter or digit, or not ASCII.
#[target_feature(enable = "avx2")]
#[inline]
fn in_runs(bytes: __m256i) -> u32 {
    // Comparisons are signed: the last wanted byte is moved to 127, so that one bound is enough.
    let small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
    let letter = _mm256_cmpgt_epi8(
        _mm256_add_epi8(small, _mm256_set1_epi8(127 - b'z' as i8)),
        _mm256_set1_epi8(127 - 26),
    );
    let digit = _mm256_cmpgt_epi8(
        _mm256_add_epi8(bytes, _mm256_set1_epi8(127 - b'9' as i8)),
        _mm256_set1_epi8(127 - 10),
    );
    // The mask is made of the top bits, and what is not ASCII has them.
    _mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(letter, digit), bytes)) as u32
}
