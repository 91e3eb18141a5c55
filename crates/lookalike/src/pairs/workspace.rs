//! The memory that records are scattered into.
//!
//! One large allocation serves all passes. It uses huge pages: a scatter writes to a thousand places in
//! turn, and with small pages each write would miss in the TLB.

use std::sync::{Mutex, TryLockError};

use memmap2::MmapMut;

/// Working memory of searches for pairs, kept from one search to the next: 8 bytes for each fingerprint of the
/// largest search so far.
///
/// The system has to find and clear memory that is touched for the first time, which takes a good part of the
/// time of a search. Repeated searches save that:
///
/// ```
/// use lookalike::{AllPairs, Fingerprint, Radius, pairs::Workspace};
///
/// let workspace = Workspace::default();
/// for seed in 1..4 {
///     let prints: Vec<_> = (0..1000u64).map(|item| Fingerprint([item * seed])).collect();
///     let pairs = AllPairs::new(Radius::new(1)).workspace(&workspace).run(&prints)?;
///     println!("{} pairs", pairs.count());
/// }
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
///
/// Concurrent searches may share a workspace: all but the first allocate their own memory.
#[derive(Debug, Default)]
pub struct Workspace(Mutex<RecordBuffer>);

impl Workspace {
    /// Lends a buffer for this many records, with arbitrary contents.
    pub(super) fn lend<T>(&self, records: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
        match self.0.try_lock() {
            Ok(mut kept) => work(kept.at_least(records)),
            // A search that was stopped leaves only numbers behind.
            Err(TryLockError::Poisoned(stopped)) => work(stopped.into_inner().at_least(records)),
            Err(TryLockError::WouldBlock) => work(RecordBuffer::new(records).at_least(records)),
        }
    }
}

/// A buffer for records, with arbitrary contents; zeros at first.
#[derive(Debug)]
pub(crate) enum RecordBuffer {
    Mapped(MmapMut),
    Owned(Vec<u64>),
}

impl Default for RecordBuffer {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl RecordBuffer {
    fn new(records: usize) -> Self {
        // The allocator reuses smaller buffers, whose pages stay mapped.
        const WORTH_MAPPING: usize = 1 << 19;
        if records < WORTH_MAPPING {
            return Self::Owned(vec![0; records]);
        }
        match MmapMut::map_anon(records * size_of::<u64>()) {
            Ok(map) => {
                #[cfg(target_os = "linux")]
                // Only advice: without huge pages the result is the same, but slower.
                let _ = map.advise(memmap2::Advice::HugePage);
                Self::Mapped(map)
            }
            Err(_) => Self::Owned(vec![0; records]),
        }
    }

    /// The buffer for this many records. If it has to grow, the old one is freed first.
    pub fn at_least(&mut self, records: usize) -> &mut [u64] {
        if self.all().len() < records {
            *self = Self::default();
            *self = Self::new(records);
        }
        &mut self.all_mut()[..records]
    }

    pub fn all_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Mapped(map) => bytemuck::cast_slice_mut(&mut map[..]),
            Self::Owned(records) => records,
        }
    }

    pub fn all(&self) -> &[u64] {
        match self {
            Self::Mapped(map) => bytemuck::cast_slice(&map[..]),
            Self::Owned(records) => records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn memory_is_reused_lent_once_at_a_time_and_survives_a_stopped_search() {
        let workspace = Workspace::default();
        let place = |records: &mut [u64]| (records.as_ptr() as usize, records.len());
        let (first, room) = workspace.lend(1000, place);
        assert_eq!(room, 1000);
        assert_eq!(workspace.lend(10, place), (first, 10));
        let inner = workspace.lend(5, |_| workspace.lend(7, place));
        assert!(inner.1 == 7 && inner.0 != first);
        let stopped = catch_unwind(AssertUnwindSafe(|| workspace.lend(5, |_| panic!("stop"))));
        assert!(stopped.is_err());
        assert_eq!(workspace.lend(1000, place), (first, 1000));
        assert_eq!(workspace.lend(5 << 20, |records| records.len()), 5 << 20);
    }
}
