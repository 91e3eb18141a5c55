//! The AVX2 twin of [`Portable`](super::lanes::Portable).
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::arch::x86_64::*;

use super::{
    avx2::bytes_ones,
    bits::Gather,
    filter::Filter,
    kernel::Avx2,
    lanes::{BLOCK, LANES, Lanes, NARROW_LANES, Task},
};

impl Avx2 {
    /// See [`Kernel::run`](super::Kernel::run).
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        // SAFETY: `self` proves that all of it was detected.
        unsafe { self.run_detected(task) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn run_detected<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn gather(self, gather: &Gather, word: u64) -> u64 {
        // SAFETY: `self` proves that BMI2 was detected.
        unsafe { _pext_u64(word, gather.mask) }
    }

    #[inline(always)]
    fn near(self, filter: Filter, query: u32, checks: &[u32; LANES]) -> u32 {
        // SAFETY: `self` proves that AVX2 was detected.
        unsafe { near(filter, query, checks) }
    }

    #[inline(always)]
    fn near_narrow(self, most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32 {
        // SAFETY: `self` proves that AVX2 and BMI2 were detected.
        unsafe { near_narrow(most, query, checks) }
    }

    #[inline(always)]
    fn near_block(self, most: u32, query: u16, checks: &[u16; BLOCK]) -> u64 {
        // SAFETY: `self` proves that AVX2 was detected.
        unsafe {
            match most {
                0 => near_block::<0>(most, query, checks),
                1 => near_block::<1>(most, query, checks),
                2 => near_block::<2>(most, query, checks),
                3 => near_block::<3>(most, query, checks),
                _ => near_block::<MANY>(most, query, checks),
            }
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn near(filter: Filter, query: u32, checks: &[u32; LANES]) -> u32 {
    // SAFETY: the array has exactly the eight elements that are read.
    let checks = unsafe { _mm256_loadu_si256(checks.as_ptr().cast()) };
    let xor = _mm256_xor_si256(checks, _mm256_set1_epi32(query as i32));
    let zero = _mm256_setzero_si256();
    let passes = match filter {
        Filter::Few { most } => _mm256_cmpeq_epi32(clear_lowest(xor, most), zero),
        Filter::Halves => {
            let minus_one = _mm256_set1_epi16(-1);
            let left = _mm256_and_si256(xor, _mm256_add_epi16(xor, minus_one));
            let halves = _mm256_cmpeq_epi16(left, zero);
            // A lane passes if either half did, so unless both are zero.
            _mm256_xor_si256(_mm256_cmpeq_epi32(halves, zero), _mm256_set1_epi32(-1))
        }
        Filter::Count { most } => {
            _mm256_cmpgt_epi32(_mm256_set1_epi32(most.min(32) as i32 + 1), count_ones(xor))
        }
    };
    _mm256_movemask_ps(_mm256_castsi256_ps(passes)) as u32
}

/// Clears the lowest set bit of each lane, `times` (0 to 3) times.
#[target_feature(enable = "avx2")]
#[inline]
fn clear_lowest(mut lanes: __m256i, times: u32) -> __m256i {
    for _ in 0..times {
        lanes = _mm256_and_si256(lanes, _mm256_add_epi32(lanes, _mm256_set1_epi32(-1)));
    }
    lanes
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn near_narrow(most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32 {
    let (bound, query) = (narrow_bound(most), _mm256_set1_epi16(query as i16));
    let passes = few_narrow::<MANY>(bound, query, checks);
    // Each lane has two bits in the mask; every second one is enough.
    _pext_u32(_mm256_movemask_epi8(passes) as u32, 0x5555_5555)
}

/// Stands for more bits than are cleared one by one.
const MANY: u32 = 4;

/// See [`Lanes::near_block`]. `CLEARED` is `most`, or [`MANY`].
#[target_feature(enable = "avx2")]
#[inline]
fn near_block<const CLEARED: u32>(most: u32, query: u16, checks: &[u16; BLOCK]) -> u64 {
    let query = _mm256_set1_epi16(query as i16);
    let bound = narrow_bound(most);
    let (vectors, _) = checks.as_chunks::<NARROW_LANES>();
    let a = few_narrow::<CLEARED>(bound, query, &vectors[0]);
    let b = few_narrow::<CLEARED>(bound, query, &vectors[1]);
    let c = few_narrow::<CLEARED>(bound, query, &vectors[2]);
    let d = few_narrow::<CLEARED>(bound, query, &vectors[3]);
    let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    if _mm256_testz_si256(any, any) == 1 {
        return 0;
    }
    u64::from(narrow_mask(a, b)) | u64::from(narrow_mask(c, d)) << 32
}

/// One more than `most`, in every narrow lane.
#[target_feature(enable = "avx2")]
#[inline]
fn narrow_bound(most: u32) -> __m256i {
    _mm256_set1_epi16(most.min(16) as i16 + 1)
}

/// All ones in each lane that differs from the query in `CLEARED` bits or fewer, or with [`MANY`] in
/// fewer than `bound`. Where those are few,
/// clearing them one by one is cheaper than counting.
#[target_feature(enable = "avx2")]
#[inline]
fn few_narrow<const CLEARED: u32>(
    bound: __m256i,
    query: __m256i,
    checks: &[u16; NARROW_LANES],
) -> __m256i {
    // SAFETY: the array has exactly the sixteen elements that are read.
    let checks = unsafe { _mm256_loadu_si256(checks.as_ptr().cast()) };
    let mut left = _mm256_xor_si256(checks, query);
    if CLEARED == MANY {
        let sums = _mm256_maddubs_epi16(bytes_ones(left), _mm256_set1_epi8(1));
        return _mm256_cmpgt_epi16(bound, sums);
    }
    for _ in 0..CLEARED {
        left = _mm256_and_si256(left, _mm256_add_epi16(left, _mm256_set1_epi16(-1)));
    }
    _mm256_cmpeq_epi16(left, _mm256_setzero_si256())
}

/// One bit for each lane of two vectors of all ones or none.
#[target_feature(enable = "avx2")]
#[inline]
fn narrow_mask(low: __m256i, high: __m256i) -> u32 {
    // Packing goes by halves of vectors: their order is put right afterwards.
    let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
    _mm256_movemask_epi8(bytes) as u32
}

/// The number of set bits of each lane.
#[target_feature(enable = "avx2")]
#[inline]
fn count_ones(lanes: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(bytes_ones(lanes), _mm256_set1_epi8(1));
    _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
}
