//! How is memory asked for before it is needed?
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes a pointer, and reads nothing")
)]

/// Asks for a place in memory that will be read soon. Does nothing else, and nothing at all on
/// machines where no such instruction is known.
#[inline(always)]
pub(crate) fn prefetch<T>(place: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = place {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing; SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
