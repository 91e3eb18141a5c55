//! A global allocator that counts the memory of a run.
//!
//! Counts what Rust code requests, on all threads, including zeroed memory that is never touched.
//! Memory that C code (zstd, xz, bzip2) allocates is not counted.

#![expect(
    unsafe_code,
    reason = "allocators are unsafe; this one forwards every call to the system allocator"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

#[global_allocator]
static COUNTING: Counting = Counting;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Resets the peak, and returns the number of bytes allocated now.
pub fn start() -> usize {
    let current = CURRENT.load(Relaxed);
    PEAK.store(current, Relaxed);
    current
}

/// The peak of allocated bytes since `start`.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

struct Counting;

fn add(bytes: usize) {
    PEAK.fetch_max(CURRENT.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is forwarded unchanged to the system allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as in `alloc`. The system allocator need not touch zeroed memory.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` was allocated here, and so by the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(more) => add(more),
            None => drop(CURRENT.fetch_sub(layout.size() - size, Relaxed)),
        }
        // SAFETY: `pointer` was allocated here, and so by the system allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
