//! How is memory asked for before it is needed?
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instructions take a pointer, and read nothing")
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

/// Asks for the place of an element that will be written soon; it may lie beyond the end. Does nothing
/// else, and nothing at all on machines where no such instruction is known.
///
/// A line that is only read may stay in the caches of others, and a store would have to wait until it is
/// taken from them.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(elements: &mut [T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let place = elements.as_mut_ptr().wrapping_add(at);
        // SAFETY: a prefetch touches nothing, whatever the address, and changes no flag. Processors that
        // do not know this one pass over it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) place, options(readonly, nostack, preserves_flags));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}
