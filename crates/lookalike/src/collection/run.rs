//! How are items that no longer change searched?
//!
//! A [`Run`] is a part of a collection: the items of a stretch of sequence numbers, with an index of
//! their fingerprints and a table of their ids. It never changes; items that are removed later are
//! kept apart, in [`Removed`].

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    about::SavedRun,
    names::{self, Names, NamesBuilder},
};
use crate::{Fingerprint, IndexError, Radius, Search, StaticIndex, index::file};

/// Items of a stretch of sequence numbers.
pub struct Run<const WORDS: usize> {
    pub index: StaticIndex<WORDS>,
    pub names: Names,
    /// The sum of the checksums of the records of its items.
    pub ledger: u64,
}

/// Items of a run that are gone.
#[derive(Clone, Debug, Default)]
pub struct Removed {
    bits: Vec<u64>,
    /// They, and the checksums their records had.
    list: Vec<(u32, u64)>,
    /// The sum of these.
    ledger: u64,
}

impl Removed {
    #[inline]
    pub fn contains(&self, item: u32) -> bool {
        self.bits.get(item as usize / 64).is_some_and(|bits| bits >> (item % 64) & 1 == 1)
    }

    pub fn insert(&mut self, item: u32, checksum: u64) {
        let word = item as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (item % 64);
        self.list.push((item, checksum));
        self.ledger = self.ledger.wrapping_add(checksum);
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn items(&self) -> impl Iterator<Item = u32> {
        self.list.iter().map(|&(item, _)| item)
    }
}

/// A run, what of it is gone, and the files it stands in.
pub struct Shelved<const WORDS: usize> {
    pub run: Arc<Run<WORDS>>,
    pub removed: Arc<Removed>,
    pub saved: Option<SavedRun>,
}

impl<const WORDS: usize> Clone for Shelved<WORDS> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), removed: self.removed.clone(), saved: self.saved }
    }
}

impl<const WORDS: usize> Shelved<WORDS> {
    pub fn new(run: Run<WORDS>) -> Self {
        Self { run: Arc::new(run), removed: Arc::default(), saved: None }
    }

    /// Items that are there.
    pub fn len(&self) -> usize {
        self.run.names.len() - self.removed.len()
    }

    /// The sum of the checksums of the records that are there.
    pub fn ledger(&self) -> u64 {
        self.run.ledger.wrapping_sub(self.removed.ledger)
    }

    /// The item of this id, if it is there.
    pub fn find(&self, id: &str, hash: u64) -> Option<u32> {
        self.run.names.find(id, hash).filter(|&item| !self.removed.contains(item))
    }

    /// Marks an item as gone.
    pub fn remove(&mut self, item: u32, checksum: u64) {
        Arc::make_mut(&mut self.removed).insert(item, checksum);
    }

    /// The sequence numbers of its items that are gone, and the checksums their records had.
    pub fn removed_sequences(&self) -> impl Iterator<Item = (u64, u64)> {
        let names = &self.run.names;
        self.removed.list.iter().map(|&(item, checksum)| (names.sequence(item), checksum))
    }

    pub fn memory_bytes(&self) -> usize {
        let removed = size_of_val(&*self.removed.bits) + size_of_val(&*self.removed.list);
        self.run.index.memory_bytes() + self.run.names.memory_bytes() + removed
    }
}

/// Collects the items of a run, in order of their sequence numbers.
pub struct RunBuilder<const WORDS: usize> {
    prints: Vec<Fingerprint<WORDS>>,
    names: NamesBuilder,
    ledger: u64,
}

impl<const WORDS: usize> RunBuilder<WORDS> {
    pub fn new() -> Self {
        Self { prints: Vec::new(), names: NamesBuilder::default(), ledger: 0 }
    }

    pub fn push(
        &mut self,
        id: &str,
        hash: u64,
        sequence: u64,
        checksum: u64,
        prints: impl IntoIterator<Item = Fingerprint<WORDS>>,
    ) {
        let before = self.prints.len();
        self.prints.extend(prints);
        self.names.push(id, hash, sequence, self.prints.len() - before);
        self.ledger = self.ledger.wrapping_add(checksum);
    }

    pub fn is_empty(&self) -> bool {
        self.prints.is_empty()
    }

    pub fn finish(self, max_radius: Radius) -> Result<Run<WORDS>, IndexError> {
        let Self { prints, names, ledger } = self;
        let (index, names) =
            rayon::join(|| StaticIndex::build(&prints, max_radius), || names.finish());
        Ok(Run { index: index?, names, ledger })
    }

    /// Adds all items of some runs that are still there. `seed` is that of the hashes of ids.
    pub fn extend_from_all(&mut self, runs: &[Shelved<WORDS>], seed: u64) {
        let sum = |count: fn(&Run<WORDS>) -> usize| -> usize {
            runs.iter().map(|shelved| count(&shelved.run)).sum()
        };
        self.prints.reserve(sum(|run| run.index.len()));
        self.names.reserve(sum(|run| run.names.len()), sum(|run| run.names.id_bytes()));
        runs.iter().for_each(|shelved| self.extend_from(shelved, seed));
    }

    /// Makes room for so many items that are about to come.
    pub fn reserve(&mut self, items: usize) {
        self.prints.reserve(items);
        self.names.reserve(items, 0);
    }

    fn extend_from(&mut self, shelved: &Shelved<WORDS>, seed: u64) {
        let (names, prints) = (&shelved.run.names, shelved.run.index.prints());
        let living = (0..names.len() as u32).filter(|&item| !shelved.removed.contains(item));
        for item in living {
            let (id, own) = (names.id(item), prints[names.slots(item)].iter().copied());
            self.push(id, names::hash(id, seed), names.sequence(item), 0, own);
        }
        self.ledger = self.ledger.wrapping_add(shelved.ledger());
    }
}

impl<const WORDS: usize> Run<WORDS> {
    /// Writes the run to its two files.
    pub fn save(&self, folder: &Path, number: u64, end: u64) -> Result<SavedRun, IndexError> {
        let [index, names] = files(folder, number);
        self.index.save(&index)?;
        Ok(SavedRun {
            number,
            ledger: self.ledger,
            end,
            names: self.names.save(&names)?,
            index: file::checksum_of_header(&index)?,
        })
    }

    /// Maps the files of a run, if they are those that were written.
    pub fn open(folder: &Path, saved: &SavedRun, max_radius: Radius) -> Result<Self, IndexError> {
        let [index_file, names_file] = files(folder, saved.number);
        let differs = |path: &Path| IndexError::Damaged {
            path: path.into(),
            what: "it is not the file that was written".to_owned(),
        };
        for (path, checksum) in [(&index_file, saved.index), (&names_file, saved.names)] {
            if file::checksum_of_header(path)? != checksum {
                return Err(differs(path));
            }
        }
        let index = StaticIndex::open(&index_file)?;
        if index.max_radius() != max_radius {
            return Err(differs(&index_file));
        }
        let names = Names::open(&names_file, index.len())?;
        Ok(Self { index, names, ledger: saved.ledger })
    }

    /// Compares every byte of an opened run with its checksum.
    pub fn verify(&self) -> Result<(), IndexError> {
        self.index.verify()
    }
}

/// The files of a run.
pub fn files(folder: &Path, number: u64) -> [PathBuf; 2] {
    ["index", "names"].map(|ending| folder.join(format!("{number:06}.{ending}")))
}

/// Opens all runs, on all threads.
pub fn open_all<const WORDS: usize>(
    folder: &Path,
    saved: &[SavedRun],
    max_radius: Radius,
) -> Result<Vec<Shelved<WORDS>>, IndexError> {
    let opened = saved.par_iter().map(|saved| {
        let run = Run::open(folder, saved, max_radius)?;
        Ok(Shelved { saved: Some(*saved), ..Shelved::new(run) })
    });
    opened.collect()
}
