//! How are more records put in order than memory may hold?
//!
//! A [`Sorter`] takes records from any thread. What its [`Room`] does not hold goes to a temporary
//! file in sorted runs, which are merged when all is there. [`Sorted`] keeps what is in order, in
//! memory or in such a file. The files have no name: whatever ends the process, the system removes
//! them. Nothing here knows what records stand for.

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

/// Something that has a place in an order. Records of one place come in any order.
pub(crate) trait Record: Pod + Send + Sync {
    fn place(&self) -> u64;
}

/// How many bytes of records memory may hold, and the folder for those beyond.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    bytes: u64,
    folder: PathBuf,
}

impl Room {
    pub fn new(bytes: u64, folder: PathBuf) -> Self {
        Self { bytes, folder }
    }

    /// Everything is held in memory.
    pub fn unlimited() -> Self {
        Self { bytes: u64::MAX, folder: PathBuf::new() }
    }

    /// How many records fit into a part of it.
    fn records<T>(&self, parts: usize) -> usize {
        let records = self.bytes / parts as u64 / size_of::<T>() as u64;
        usize::try_from(records).unwrap_or(usize::MAX).max(FEWEST)
    }

    fn file(&self) -> Result<SpillFile, PairsError> {
        SpillFile::create(self.folder.clone())
    }
}

/// However little room there is, so many records are moved at a time. Few in tests, so that they see
/// many runs.
const FEWEST: usize = if cfg!(test) { 4 } else { 1 << 12 };
/// More records than this at a time make nothing faster.
const ENOUGH: usize = 1 << 15;

/// Takes records in any order, from any thread.
pub(crate) struct Sorter<T> {
    room: Room,
    /// Records of a run.
    most: usize,
    held: Mutex<Vec<T>>,
    /// Buffers of runs that were written.
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
    pub fn new(room: &Room) -> Self {
        // One run is filled while every thread may be writing another.
        let most = room.records::<T>(rayon::current_num_threads() + 1);
        Self {
            room: room.clone(),
            most,
            held: Mutex::default(),
            spare: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    pub fn push(&mut self, record: T) -> Result<(), PairsError> {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.push(record);
        if held.len() < self.most {
            return Ok(());
        }
        let run = std::mem::take(held);
        self.write(run)
    }

    /// Takes all records of a list, and leaves it empty.
    pub fn append(&self, records: &mut Vec<T>) -> Result<(), PairsError> {
        let full = {
            let mut held = lock(&self.held);
            held.append(records);
            let spare = || lock(&self.spare).pop().unwrap_or_default();
            (held.len() >= self.most).then(|| std::mem::replace(&mut *held, spare()))
        };
        full.map_or(Ok(()), |run| self.write(run))
    }

    /// Sorts outside of any lock, on this thread alone: a thread that waits for others may be given
    /// work that comes back here.
    fn write(&self, mut run: Vec<T>) -> Result<(), PairsError> {
        run.sort_unstable_by_key(Record::place);
        let mut runs = lock(&self.runs);
        if runs.is_none() {
            *runs = Some(Runs { file: self.room.file()?, ends: Vec::new() });
        }
        let runs = runs.as_mut().expect("it was made just now");
        runs.file.append(&run)?;
        runs.ends.push(runs.ends.last().copied().unwrap_or(0) + run.len());
        run.clear();
        lock(&self.spare).push(run);
        Ok(())
    }

    /// All records in order. No more will come.
    pub fn finish(self) -> Result<InOrder<T>, PairsError> {
        let mut held = self.held.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(self.spare);
        held.par_sort_unstable_by_key(Record::place);
        let runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(match runs {
            None => InOrder::Held(held.into_iter()),
            Some(mut runs) => {
                runs.file.append(&held)?;
                runs.ends.push(runs.ends.last().copied().unwrap_or(0) + held.len());
                drop(held);
                InOrder::Merged(Merge::new(runs, &self.room)?)
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The records of a [`Sorter`], in order.
pub(crate) enum InOrder<T> {
    Held(std::vec::IntoIter<T>),
    Merged(Merge<T>),
}

impl<T: Record> InOrder<T> {
    /// Bytes that were written to a file.
    pub fn spilled(&self) -> u64 {
        match self {
            Self::Held(_) => 0,
            Self::Merged(merge) => merge.file.written(),
        }
    }

    /// What `keep` makes of the records, kept; it must not change their order.
    pub fn settle(
        self,
        room: &Room,
        mut keep: impl FnMut(T) -> Option<T>,
    ) -> Result<Sorted<T>, PairsError> {
        match self {
            // Collected where it lies.
            Self::Held(records) => Ok(Sorted::held(records.filter_map(keep).collect())),
            Self::Merged(mut merge) => {
                let mut file = room.file()?;
                let mut written = Vec::with_capacity(ENOUGH);
                let mut len = 0;
                for record in &mut merge {
                    written.extend(keep(record?));
                    if written.len() == ENOUGH {
                        len += written.len();
                        file.append(&written)?;
                        written.clear();
                    }
                }
                len += written.len();
                file.append(&written)?;
                Ok(Sorted { held: Vec::new(), file: Some(Arc::new(file)), len })
            }
        }
    }
}

impl<T: Record> Iterator for InOrder<T> {
    type Item = Result<T, PairsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Held(records) => records.next().map(Ok),
            Self::Merged(merge) => merge.next(),
        }
    }
}

/// Runs of a file, read together.
pub(crate) struct Merge<T> {
    file: SpillFile,
    runs: Vec<Stretch<T>>,
    /// The next record of each run by its place; the least is on top.
    next: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<T: Record> Merge<T> {
    fn new(runs: Runs, room: &Room) -> Result<Self, PairsError> {
        let Runs { file, ends } = runs;
        let at_once = room.records::<T>(ends.len()).min(ENOUGH);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let mut runs: Vec<Stretch<T>> =
            starts.zip(&ends).map(|(start, &end)| Stretch::new(start, end, at_once)).collect();
        let mut next = BinaryHeap::with_capacity(runs.len());
        for (number, run) in (0..).zip(&mut runs) {
            if let Some(record) = run.peek(&file)? {
                next.push(Reverse((record.place(), number)));
            }
        }
        Ok(Self { file, runs, next })
    }

    fn step(&mut self) -> Result<Option<T>, PairsError> {
        let Some(mut least) = self.next.peek_mut() else { return Ok(None) };
        let run = &mut self.runs[least.0.1 as usize];
        let record = run.take();
        match run.peek(&self.file)? {
            Some(after) => least.0.0 = after.place(),
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

/// Neighbouring records of a file, read piece by piece.
pub(crate) struct Stretch<T> {
    piece: Vec<T>,
    /// The next record in the piece.
    at: usize,
    /// The records that are still in the file.
    rest: std::ops::Range<usize>,
    at_once: usize,
}

impl<T: Record> Stretch<T> {
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

    /// Takes the record that was seen last.
    fn take(&mut self) -> T {
        self.at += 1;
        self.piece[self.at - 1]
    }
}

/// Records in order, in memory or in a file.
#[derive(Clone)]
pub(crate) struct Sorted<T> {
    held: Vec<T>,
    file: Option<Arc<SpillFile>>,
    len: usize,
}

impl<T: Record> Sorted<T> {
    /// From records that are in order.
    pub fn held(held: Vec<T>) -> Self {
        Self { len: held.len(), held, file: None }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that were written to a file.
    pub fn spilled(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.written())
    }

    pub fn iter(&self) -> Records<'_, T> {
        match &self.file {
            None => Records::Held(self.held.iter()),
            Some(file) => Records::Read(file, Stretch::new(0, self.len, ENOUGH)),
        }
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self { held: Vec::new(), file: None, len: 0 }
    }
}

impl<T> fmt::Debug for Sorted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The records of [`Sorted`], in order.
pub(crate) enum Records<'a, T> {
    Held(std::slice::Iter<'a, T>),
    Read(&'a SpillFile, Stretch<T>),
}

impl<T: Record> Iterator for Records<'_, T> {
    type Item = Result<T, PairsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Held(records) => records.next().copied().map(Ok),
            Self::Read(file, stretch) => match stretch.peek(file) {
                Ok(Some(_)) => Some(Ok(stretch.take())),
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
        fn place(&self) -> u64 {
            self >> 8
        }
    }

    fn places(records: impl Iterator<Item = Result<u64, PairsError>>) -> Vec<u64> {
        records.map(|record| record.unwrap().place()).collect()
    }

    proptest! {
        #[test]
        fn any_room_and_any_number_of_threads_give_one_order(
            records in prop::collection::vec(0..5000u64, 0..300),
            bytes in 0..1000u64,
        ) {
            let mut expected: Vec<u64> = records.iter().map(Record::place).collect();
            expected.sort_unstable();
            for bytes in [bytes, u64::MAX] {
                let room = Room::new(bytes, std::env::temp_dir());
                let filled = || {
                    let sorter = Sorter::new(&room);
                    let append = |some: &[u64]| sorter.append(&mut some.to_vec());
                    records.par_chunks(7).try_for_each(append).unwrap();
                    sorter.finish().unwrap()
                };
                prop_assert_eq!(places(filled()), expected.clone());
                let even = |record: u64| record.place().is_multiple_of(2).then_some(record + (2 << 8));
                let settled = filled().settle(&room, even).unwrap();
                let expected: Vec<u64> =
                    expected.iter().filter(|&place| place.is_multiple_of(2)).map(|place| place + 2).collect();
                prop_assert_eq!(settled.len(), expected.len());
                prop_assert_eq!(places(settled.iter()), expected.clone());
                prop_assert_eq!(places(settled.clone().iter()), expected);
            }
        }

        #[test]
        fn pushing_one_by_one_is_the_same(records in prop::collection::vec(0..5000u64, 0..100)) {
            let mut sorter = Sorter::new(&Room::new(100, std::env::temp_dir()));
            records.iter().for_each(|&record| sorter.push(record).unwrap());
            let mut expected: Vec<u64> = records.iter().map(Record::place).collect();
            expected.sort_unstable();
            prop_assert_eq!(places(sorter.finish().unwrap()), expected);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_said() {
        let mut sorter = Sorter::new(&Room::new(0, "/nowhere/at/all".into()));
        let error = (0..100u64).find_map(|record| sorter.push(record).err()).unwrap();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
