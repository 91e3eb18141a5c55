//! The AVX-512 twin of [`Portable`](super::lanes::Portable): bits of narrow lanes are counted in one
//! instruction, and answers are masks at once.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::arch::x86_64::*;

use super::{
    bits::Gather,
    filter::Filter,
    kernel::Avx512,
    lanes::{BLOCK, LANES, Lanes, NARROW_LANES, Task},
};

impl Avx512 {
    /// See [`Kernel::run`](super::Kernel::run).
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        // SAFETY: `self` proves that all of it was detected.
        unsafe { self.run_detected(task) }
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,avx512bitalg,bmi1,bmi2,popcnt"
    )]
    fn run_detected<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn gather(self, gather: &Gather, word: u64) -> u64 {
        // SAFETY: `self` proves that BMI2 was detected.
        unsafe { _pext_u64(word, gather.mask) }
    }

    #[inline(always)]
    fn near(self, filter: Filter, query: u32, checks: &[u32; LANES]) -> u32 {
        // SAFETY: `self` proves that all of it was detected.
        unsafe { near(filter, query, checks) }
    }

    #[inline(always)]
    fn near_narrow(self, most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32 {
        // SAFETY: `self` proves that all of it was detected.
        unsafe { near_narrow(most, query, checks) }
    }

    #[inline(always)]
    fn near_block(self, most: u32, query: u16, checks: &[u16; BLOCK]) -> u64 {
        // SAFETY: `self` proves that all of it was detected.
        unsafe { near_block(most, query, checks) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,bmi2")]
#[inline]
fn near(filter: Filter, query: u32, checks: &[u32; LANES]) -> u32 {
    // SAFETY: the array has exactly the eight elements that are read.
    let checks = unsafe { _mm256_loadu_si256(checks.as_ptr().cast()) };
    let xor = _mm256_xor_si256(checks, _mm256_set1_epi32(query as i32));
    match filter {
        Filter::Few { most } | Filter::Count { most } => {
            let most = _mm256_set1_epi32(most.min(32) as i32);
            _mm256_cmple_epu32_mask(_mm256_popcnt_epi32(xor), most).into()
        }
        Filter::Halves => {
            let less = _mm256_add_epi16(xor, _mm256_set1_epi16(-1));
            let halves = u32::from(_mm256_testn_epi16_mask(xor, less));
            // A lane passes if either half did.
            _pext_u32(halves | halves >> 1, 0x5555)
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bitalg")]
#[inline]
fn near_narrow(most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32 {
    // SAFETY: the array has exactly the sixteen elements that are read.
    let checks = unsafe { _mm256_loadu_si256(checks.as_ptr().cast()) };
    let xor = _mm256_xor_si256(checks, _mm256_set1_epi16(query as i16));
    let most = _mm256_set1_epi16(most.min(16) as i16);
    _mm256_cmple_epu16_mask(_mm256_popcnt_epi16(xor), most).into()
}

#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
#[inline]
fn near_block(most: u32, query: u16, checks: &[u16; BLOCK]) -> u64 {
    let query = _mm512_set1_epi16(query as i16);
    let most = _mm512_set1_epi16(most.min(16) as i16);
    let (halves, _) = checks.as_chunks::<{ BLOCK / 2 }>();
    let [low, high] = [&halves[0], &halves[1]].map(|half| {
        // SAFETY: the array has exactly the 32 elements that are read.
        let checks = unsafe { _mm512_loadu_si512(half.as_ptr().cast()) };
        let ones = _mm512_popcnt_epi16(_mm512_xor_si512(checks, query));
        _mm512_cmple_epu16_mask(ones, most)
    });
    u64::from(low) | u64::from(high) << 32
}
