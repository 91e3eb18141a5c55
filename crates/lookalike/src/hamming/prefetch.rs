//! Requests memory before it is needed.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instructions take a pointer, and read nothing")
)]

/// Requests memory that will be read soon. A hint: it reads nothing, and does nothing on machines other than
/// x86-64.
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

/// Requests the memory of an element that will be written soon; `at` may lie beyond the end. A hint, like
/// [`prefetch`].
///
/// A line requested for reading may stay in other cores' caches, and a store would wait until they give it
/// up.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(elements: &mut [T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let place = elements.as_mut_ptr().wrapping_add(at);
        // SAFETY: a prefetch accesses nothing, whatever the address, and changes no flag. Processors without
        // this instruction ignore it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) place, options(readonly, nostack, preserves_flags));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}
