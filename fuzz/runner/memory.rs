//! How much memory does a run take? An allocator that counts what is asked for.
//!
//! Counts what Rust code allocates, on all threads, as it asks for it: zeroed memory that is never
//! touched counts too. What C code (zstd, xz, bzip2) allocates by itself is not seen.

#![expect(
    unsafe_code,
    reason = "allocators are unsafe; this one hands every call on to the system's"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

#[global_allocator]
static COUNTING: Counting = Counting;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// From here on, the peak is counted from zero again; returns how much is allocated now.
pub fn start() -> usize {
    let current = CURRENT.load(Relaxed);
    PEAK.store(current, Relaxed);
    current
}

/// The most that was allocated at any time since `start`.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

struct Counting;

fn add(bytes: usize) {
    PEAK.fetch_max(CURRENT.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as in `alloc`. The system's own: it need not touch the memory.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` is of this allocator, and so of the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(more) => add(more),
            None => drop(CURRENT.fetch_sub(layout.size() - size, Relaxed)),
        }
        // SAFETY: `pointer` is of this allocator, and so of the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
