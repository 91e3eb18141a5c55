//! How are many distances computed at once?
//!
//! [`Kernel`] names the instruction set; it is chosen once, before a batch. Every kernel has a
//! portable twin with the same answer. Nothing here knows what the bits mean.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod bits;
#[cfg(target_arch = "x86_64")]
mod columns;
pub(crate) mod filter;
mod kernel;
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_avx2;
#[cfg(target_arch = "x86_64")]
mod lanes_avx512;
mod prefetch;
pub(crate) mod scan;

#[cfg(target_arch = "x86_64")]
pub(crate) use kernel::Avx2;
pub use kernel::Kernel;
pub(crate) use prefetch::{prefetch, prefetch_to_write};

/// Stops the compiler at fingerprints of a width that kernels are not made for.
pub(crate) const fn assert_width<const WORDS: usize>() {
    assert!(matches!(WORDS, 1 | 2 | 4), "fingerprints have 64, 128 or 256 bits");
}
