//! The exact dot product of 16-bit integers.

use crate::hamming::Kernel;

/// The dot product of two lists of equal length. Values are little-endian and at least -32,767.
#[inline]
pub fn dot(a: &[[u8; 2]], b: &[[u8; 2]], kernel: Kernel) -> i64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = kernel.avx2() {
        return super::avx2::dot(avx2, a, b);
    }
    let _ = kernel;
    portable(a, b)
}

pub(super) fn portable(a: &[[u8; 2]], b: &[[u8; 2]]) -> i64 {
    let value = |bytes: &[u8; 2]| i32::from(i16::from_le_bytes(*bytes));
    // A product fits into 32 bits; a sum of three does not.
    a.iter().zip(b).map(|(a, b)| i64::from(value(a) * value(b))).sum()
}
