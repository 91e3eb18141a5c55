//! Where do records lie while they are scattered?
//!
//! In one large allocation for all passes. It asks for huge pages: a scatter writes to a thousand
//! places in turn, and with small pages each of them would miss in the TLB.

use std::sync::{Mutex, TryLockError};

use memmap2::MmapMut;

/// Memory that searches for pairs work in, kept from one to the next: one word for each
/// fingerprint of the largest search so far.
///
/// Memory that is touched for the first time has to be found and cleared by the system, which takes
/// as long as a good part of the search. Who searches often saves that:
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
/// Searches at the same time may share one: all but the first allocate their own.
#[derive(Debug, Default)]
pub struct Workspace(Mutex<Records>);

impl Workspace {
    /// Lends room for so many records, with anything in it.
    pub(super) fn lend<T>(&self, records: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
        match self.0.try_lock() {
            Ok(mut kept) => work(kept.at_least(records)),
            // A search that was stopped leaves numbers behind, and no more.
            Err(TryLockError::Poisoned(stopped)) => work(stopped.into_inner().at_least(records)),
            Err(TryLockError::WouldBlock) => work(Records::new(records).at_least(records)),
        }
    }
}

/// Room for records, with anything in it; zeros at first.
#[derive(Debug)]
pub(crate) enum Records {
    Mapped(MmapMut),
    Owned(Vec<u64>),
}

impl Default for Records {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl Records {
    fn new(records: usize) -> Self {
        // Up to here the allocator keeps what was freed, and the next call finds it warm.
        const WORTH_MAPPING: usize = 1 << 19;
        if records < WORTH_MAPPING {
            return Self::Owned(vec![0; records]);
        }
        match MmapMut::map_anon(records * size_of::<u64>()) {
            Ok(map) => {
                #[cfg(target_os = "linux")]
                // Advice only: without huge pages the answer is the same, only slower.
                let _ = map.advise(memmap2::Advice::HugePage);
                Self::Mapped(map)
            }
            Err(_) => Self::Owned(vec![0; records]),
        }
    }

    /// So many records; what is there is given back before more is asked for.
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
    fn memory_is_kept_lent_to_one_and_outlives_a_search_that_stops() {
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
