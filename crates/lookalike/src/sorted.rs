//! Sorts more records than fit in memory.
//!
//! A [`Sorter`] takes records from any thread. Records that exceed its [`MemoryBudget`] are written to a
//! temporary file in sorted runs, which are merged at the end. [`Sorted`] holds records in order, in
//! memory or in such a file. The files are unnamed, so the system removes them however the process ends.
//! Nothing here knows what records mean.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::pairs::{PairsError, SpillFile};

/// Something that can be sorted by a number. Records with the same key come in any order.
pub(crate) trait Record: Pod + Send + Sync {
    fn sort_key(&self) -> u64;
}

/// How many bytes of records may be held in memory, and the folder for the rest.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    bytes: u64,
    folder: PathBuf,
}

impl MemoryBudget {
    pub fn new(bytes: u64, folder: PathBuf) -> Self {
        Self { bytes, folder }
    }

    /// No limit: everything stays in memory.
    pub fn unlimited() -> Self {
        Self { bytes: u64::MAX, folder: PathBuf::new() }
    }

    /// How many records fit into one of `parts` equal parts of it.
    fn records<T>(&self, parts: usize) -> usize {
        let records = self.bytes / parts as u64 / size_of::<T>() as u64;
        usize::try_from(records).unwrap_or(usize::MAX).max(MIN_RECORDS)
    }

    fn file(&self) -> Result<SpillFile, PairsError> {
        SpillFile::create(self.folder.clone())
    }
}

/// The minimum number of records that are moved at a time, however small the budget. Few in tests, so that
/// these cover many runs.
const MIN_RECORDS: usize = if cfg!(test) { 4 } else { 1 << 12 };
/// The maximum number of records that are moved at a time: more would not be faster.
const MAX_AT_ONCE: usize = 1 << 15;

/// Takes records in any order, from any thread.
pub(crate) struct Sorter<T> {
    budget: MemoryBudget,
    /// Maximum number of records in a run.
    max_run: usize,
    records: Mutex<Vec<T>>,
    /// Empty buffers of runs that were written.
    spare: Mutex<Vec<Vec<T>>>,
    runs: Mutex<Option<Runs>>,
}

/// Sorted runs in a file, one after the other.
struct Runs {
    file: SpillFile,
    /// Where each run ends, in records.
    ends: Vec<usize>,
}

impl<T: Record> Sorter<T> {
    pub fn new(budget: &MemoryBudget) -> Self {
        // One run is filled while every thread may be writing another.
        let max_run = budget.records::<T>(rayon::current_num_threads() + 1);
        Self {
            budget: budget.clone(),
            max_run,
            records: Mutex::default(),
            spare: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    pub fn push(&mut self, record: T) -> Result<(), PairsError> {
        let records = self.records.get_mut().unwrap_or_else(PoisonError::into_inner);
        records.push(record);
        if records.len() < self.max_run {
            return Ok(());
        }
        let run = std::mem::take(records);
        self.write(run)
    }

    /// Moves all records out of a list.
    pub fn append(&self, records: &mut Vec<T>) -> Result<(), PairsError> {
        let full = {
            let mut run = lock(&self.records);
            run.append(records);
            let spare = || lock(&self.spare).pop().unwrap_or_default();
            (run.len() >= self.max_run).then(|| std::mem::replace(&mut *run, spare()))
        };
        full.map_or(Ok(()), |run| self.write(run))
    }

    /// Sorts outside any lock and on this thread alone: a thread that waits for others may be given work
    /// that calls this function again.
    fn write(&self, mut run: Vec<T>) -> Result<(), PairsError> {
        run.sort_unstable_by_key(Record::sort_key);
        let mut runs = lock(&self.runs);
        if runs.is_none() {
            *runs = Some(Runs { file: self.budget.file()?, ends: Vec::new() });
        }
        let runs = runs.as_mut().expect("assigned above if it was none");
        runs.file.append(&run)?;
        runs.ends.push(runs.ends.last().copied().unwrap_or(0) + run.len());
        run.clear();
        lock(&self.spare).push(run);
        Ok(())
    }

    /// All records, in order.
    pub fn finish(self) -> Result<InOrder<T>, PairsError> {
        let mut records = self.records.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(self.spare);
        records.par_sort_unstable_by_key(Record::sort_key);
        let runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(match runs {
            None => InOrder::InMemory(records.into_iter()),
            Some(mut runs) => {
                runs.file.append(&records)?;
                runs.ends.push(runs.ends.last().copied().unwrap_or(0) + records.len());
                drop(records);
                InOrder::Merged(Merge::new(runs, &self.budget)?)
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The records of a [`Sorter`], in order.
pub(crate) enum InOrder<T> {
    InMemory(std::vec::IntoIter<T>),
    Merged(Merge<T>),
}

impl<T: Record> InOrder<T> {
    /// Bytes that were written to a file.
    pub fn spilled(&self) -> u64 {
        match self {
            Self::InMemory(_) => 0,
            Self::Merged(merge) => merge.file.written(),
        }
    }

    /// Stores what `keep` returns for each record. `keep` must not change the order.
    pub fn into_sorted(
        self,
        budget: &MemoryBudget,
        mut keep: impl FnMut(T) -> Option<T>,
    ) -> Result<Sorted<T>, PairsError> {
        match self {
            // Collected in place.
            Self::InMemory(records) => Ok(Sorted::in_memory(records.filter_map(keep).collect())),
            Self::Merged(mut merge) => {
                let mut file = budget.file()?;
                let mut written = Vec::with_capacity(MAX_AT_ONCE);
                let mut len = 0;
                for record in &mut merge {
                    written.extend(keep(record?));
                    if written.len() == MAX_AT_ONCE {
                        len += written.len();
                        file.append(&written)?;
                        written.clear();
                    }
                }
                len += written.len();
                file.append(&written)?;
                Ok(Sorted { records: Vec::new(), file: Some(Arc::new(file)), len })
            }
        }
    }
}

impl<T: Record> Iterator for InOrder<T> {
    type Item = Result<T, PairsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::InMemory(records) => records.next().map(Ok),
            Self::Merged(merge) => merge.next(),
        }
    }
}

/// The runs of a file, merged while they are read.
pub(crate) struct Merge<T> {
    file: SpillFile,
    runs: Vec<BufferedRange<T>>,
    /// The key of each run's next record, the smallest on top, and the number of the run.
    next: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<T: Record> Merge<T> {
    fn new(runs: Runs, budget: &MemoryBudget) -> Result<Self, PairsError> {
        let Runs { file, ends } = runs;
        let at_once = budget.records::<T>(ends.len()).min(MAX_AT_ONCE);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let mut runs: Vec<BufferedRange<T>> = starts
            .zip(&ends)
            .map(|(start, &end)| BufferedRange::new(start, end, at_once))
            .collect();
        let mut next = BinaryHeap::with_capacity(runs.len());
        for (number, run) in (0..).zip(&mut runs) {
            if let Some(record) = run.peek(&file)? {
                next.push(Reverse((record.sort_key(), number)));
            }
        }
        Ok(Self { file, runs, next })
    }

    fn step(&mut self) -> Result<Option<T>, PairsError> {
        let Some(mut least) = self.next.peek_mut() else { return Ok(None) };
        let run = &mut self.runs[least.0.1 as usize];
        let record = run.take();
        match run.peek(&self.file)? {
            Some(after) => least.0.0 = after.sort_key(),
            None => {
                PeekMut::pop(least);
            }
        }
        Ok(Some(record))
    }
}

impl<T: Record> Iterator for Merge<T> {
    type Item = Result<T, PairsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

/// Consecutive records of a file, read piece by piece.
pub(crate) struct BufferedRange<T> {
    piece: Vec<T>,
    /// The next record in the piece.
    at: usize,
    /// Records not read yet.
    rest: std::ops::Range<usize>,
    at_once: usize,
}

impl<T: Record> BufferedRange<T> {
    fn new(start: usize, end: usize, at_once: usize) -> Self {
        Self { piece: Vec::new(), at: 0, rest: start..end, at_once }
    }

    /// The next record.
    fn peek(&mut self, file: &SpillFile) -> Result<Option<T>, PairsError> {
        if self.at == self.piece.len() {
            self.piece.resize(self.rest.len().min(self.at_once), T::zeroed());
            file.read(self.rest.start, &mut self.piece)?;
            self.rest.start += self.piece.len();
            self.at = 0;
        }
        Ok(self.piece.get(self.at).copied())
    }

    /// Takes the record that `peek` returned last.
    fn take(&mut self) -> T {
        self.at += 1;
        self.piece[self.at - 1]
    }
}

/// Sorted records, in memory or in a file.
#[derive(Clone)]
pub(crate) struct Sorted<T> {
    records: Vec<T>,
    file: Option<Arc<SpillFile>>,
    len: usize,
}

impl<T: Record> Sorted<T> {
    /// From records that are already sorted.
    pub fn in_memory(records: Vec<T>) -> Self {
        Self { len: records.len(), records, file: None }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that were written to a file.
    pub fn spilled(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.written())
    }

    pub fn iter(&self) -> SortedIter<'_, T> {
        match &self.file {
            None => SortedIter::InMemory(self.records.iter()),
            Some(file) => SortedIter::Read(file, BufferedRange::new(0, self.len, MAX_AT_ONCE)),
        }
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self { records: Vec::new(), file: None, len: 0 }
    }
}

impl<T> fmt::Debug for Sorted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The records of [`Sorted`], in order.
pub(crate) enum SortedIter<'a, T> {
    InMemory(std::slice::Iter<'a, T>),
    Read(&'a SpillFile, BufferedRange<T>),
}

impl<T: Record> Iterator for SortedIter<'_, T> {
    type Item = Result<T, PairsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::InMemory(records) => records.next().copied().map(Ok),
            Self::Read(file, range) => match range.peek(file) {
                Ok(Some(_)) => Some(Ok(range.take())),
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Record for u64 {
        fn sort_key(&self) -> u64 {
            self >> 8
        }
    }

    fn keys(records: impl Iterator<Item = Result<u64, PairsError>>) -> Vec<u64> {
        records.map(|record| record.unwrap().sort_key()).collect()
    }

    proptest! {
        #[test]
        fn any_budget_and_any_number_of_threads_give_the_same_order(
            records in prop::collection::vec(0..5000u64, 0..300),
            bytes in 0..1000u64,
        ) {
            let mut expected: Vec<u64> = records.iter().map(Record::sort_key).collect();
            expected.sort_unstable();
            for bytes in [bytes, u64::MAX] {
                let budget = MemoryBudget::new(bytes, std::env::temp_dir());
                let filled = || {
                    let sorter = Sorter::new(&budget);
                    let append = |some: &[u64]| sorter.append(&mut some.to_vec());
                    records.par_chunks(7).try_for_each(append).unwrap();
                    sorter.finish().unwrap()
                };
                prop_assert_eq!(keys(filled()), expected.clone());
                let even = |record: u64| record.sort_key().is_multiple_of(2).then_some(record + (2 << 8));
                let sorted = filled().into_sorted(&budget, even).unwrap();
                let expected: Vec<u64> =
                    expected.iter().filter(|&key| key.is_multiple_of(2)).map(|key| key + 2).collect();
                prop_assert_eq!(sorted.len(), expected.len());
                prop_assert_eq!(keys(sorted.iter()), expected.clone());
                prop_assert_eq!(keys(sorted.clone().iter()), expected);
            }
        }

        #[test]
        fn pushing_one_by_one_is_the_same(records in prop::collection::vec(0..5000u64, 0..100)) {
            let mut sorter = Sorter::new(&MemoryBudget::new(100, std::env::temp_dir()));
            records.iter().for_each(|&record| sorter.push(record).unwrap());
            let mut expected: Vec<u64> = records.iter().map(Record::sort_key).collect();
            expected.sort_unstable();
            prop_assert_eq!(keys(sorter.finish().unwrap()), expected);
        }
    }

    #[test]
    fn the_error_names_a_folder_that_cannot_be_written() {
        let mut sorter = Sorter::new(&MemoryBudget::new(0, "/nowhere/at/all".into()));
        let error = (0..100u64).find_map(|record| sorter.push(record).err()).unwrap();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
