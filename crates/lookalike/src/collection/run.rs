//! Immutable parts of a collection.
//!
//! A [`Run`] holds the items of a range of sequence numbers, with the search tables built from their
//! digests and a table of their ids. A run never changes; items that are removed later are listed
//! separately, in [`Removed`].

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    about::SavedRun,
    array::MappedFile,
    names::{self, Names, NamesBuilder},
    tables::{Layout, Rows, Tables},
};
use crate::{
    Digest,
    index::{
        IndexError,
        file::{self, About, Kind},
        map::map_file,
    },
};

/// The items of a range of sequence numbers.
pub struct Run {
    pub names: Names,
    pub tables: Tables,
    /// The sum of the checksums of its items' records.
    pub ledger: u64,
}

/// The removed items of a run.
#[derive(Clone, Debug, Default)]
pub struct Removed {
    bits: Vec<u64>,
    /// The removed items and the checksums of their records.
    list: Vec<(u32, u64)>,
    /// The sum of these checksums.
    ledger: u64,
    /// The number of features of the removed items.
    features: u64,
}

impl Removed {
    #[inline]
    pub fn contains(&self, item: u32) -> bool {
        self.bits.get(item as usize / 64).is_some_and(|bits| bits >> (item % 64) & 1 == 1)
    }

    fn insert(&mut self, item: u32, checksum: u64, features: u64) {
        let word = item as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (item % 64);
        self.list.push((item, checksum));
        self.ledger = self.ledger.wrapping_add(checksum);
        self.features += features;
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }
}

/// A run, its removed items, and the files it is saved in.
#[derive(Clone)]
pub struct LiveRun {
    pub run: Arc<Run>,
    pub removed: Arc<Removed>,
    pub saved: Option<SavedRun>,
    /// The number of features of all its items, including removed ones.
    features: u64,
}

impl LiveRun {
    pub fn new(run: Run) -> Self {
        let features = (0..run.names.len() as u32).map(|item| run.tables.features(item)).sum();
        Self { run: Arc::new(run), removed: Arc::default(), saved: None, features }
    }

    /// The number of items that are not removed.
    pub fn len(&self) -> usize {
        self.run.names.len() - self.removed.len()
    }

    /// The number of features of the items that are not removed.
    pub fn features(&self) -> u64 {
        self.features - self.removed.features
    }

    /// The sum of the checksums of the records of items that are not removed.
    pub fn ledger(&self) -> u64 {
        self.run.ledger.wrapping_sub(self.removed.ledger)
    }

    /// The items that are not removed, in ascending order.
    pub fn live_items(&self) -> impl Iterator<Item = u32> {
        (0..self.run.names.len() as u32).filter(|&item| !self.removed.contains(item))
    }

    /// The item with this id, unless it is removed.
    pub fn find(&self, id: &str, hash: u64) -> Option<u32> {
        self.run.names.find(id, hash).filter(|&item| !self.removed.contains(item))
    }

    /// Marks an item as removed.
    pub fn remove(&mut self, item: u32, checksum: u64) {
        let features = self.run.tables.features(item);
        Arc::make_mut(&mut self.removed).insert(item, checksum, features);
    }

    /// The sequence numbers of its removed items, and the checksums of their records.
    pub fn removed_sequences(&self) -> impl Iterator<Item = (u64, u64)> {
        let names = &self.run.names;
        self.removed.list.iter().map(|&(item, checksum)| (names.sequence(item), checksum))
    }

    pub fn memory_bytes(&self) -> usize {
        let removed = size_of_val(&*self.removed.bits) + size_of_val(&*self.removed.list);
        self.run.tables.memory_bytes() + self.run.names.memory_bytes() + removed
    }
}

/// Builds a run from items in order of their sequence numbers.
pub struct RunBuilder {
    rows: Rows,
    names: NamesBuilder,
    ledger: u64,
    is_empty: bool,
}

impl RunBuilder {
    pub fn new(layout: &Layout) -> Self {
        let names = NamesBuilder::default();
        Self { rows: Rows::new(layout), names, ledger: 0, is_empty: true }
    }

    pub fn push(&mut self, id: &str, hash: u64, sequence: u64, checksum: u64, digest: &Digest) {
        self.rows.push(digest);
        self.names.push(id, hash, sequence);
        self.ledger = self.ledger.wrapping_add(checksum);
        self.is_empty = false;
    }

    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub fn finish(self, layout: &Layout) -> Result<Run, IndexError> {
        let Self { rows, names, ledger, .. } = self;
        let (tables, names) = rayon::join(|| rows.finish(layout), || names.finish());
        Ok(Run { tables: tables?, names, ledger })
    }

    /// Adds the items of other runs, except removed ones. `seed` is the seed of the id hashes.
    pub fn extend_from_all(&mut self, runs: &[LiveRun], seed: u64) {
        let ids = runs.iter().map(|run| run.run.names.id_bytes()).sum();
        let items = runs.iter().map(LiveRun::len).sum();
        self.reserve(items);
        self.names.reserve(items, ids);
        runs.iter().for_each(|run| self.extend_from(run, seed));
    }

    /// Reserves memory for this number of items.
    pub fn reserve(&mut self, items: usize) {
        self.rows.reserve(items);
        self.names.reserve(items, 0);
    }

    fn extend_from(&mut self, run: &LiveRun, seed: u64) {
        let names = &run.run.names;
        let live_items: Vec<u32> = run.live_items().collect();
        for &item in &live_items {
            let id = names.id(item);
            self.names.push(id, names::hash(id, seed), names.sequence(item));
        }
        self.rows.extend(&run.run.tables, &live_items);
        self.ledger = self.ledger.wrapping_add(run.ledger());
        self.is_empty &= live_items.is_empty();
    }
}

impl Run {
    /// Writes the run to its files.
    pub fn save(
        &self,
        folder: &Path,
        layout: &Layout,
        number: u64,
        end: u64,
    ) -> Result<SavedRun, IndexError> {
        let [names, indexes] = files(folder, layout, number);
        let about =
            About { kind: Kind::Names, words: 0, max_radius: 0, items: self.names.len() as u64 };
        let sections = [self.names.sections(), self.tables.sections()].concat();
        file::write(&names[0], about, &sections)?;
        let mut files = vec![file::checksum_of_header(&names[0])?];
        for (table, path) in self.tables.prints.iter().zip(&indexes) {
            files.push(table.save(path)?);
        }
        Ok(SavedRun { number, ledger: self.ledger, end, files })
    }

    /// Maps the files of a run. Every byte is checked: a file that is not the one written is an error.
    pub fn open(folder: &Path, layout: &Layout, saved: &SavedRun) -> Result<Self, IndexError> {
        let [names, indexes] = files(folder, layout, saved.number);
        let differs = |path: &Path| IndexError::Damaged {
            path: path.into(),
            what: "it is not the file that was written".to_owned(),
        };
        if saved.files.len() != 1 + indexes.len() {
            return Err(differs(&names[0]));
        }
        for (path, &checksum) in names.iter().chain(&indexes).zip(&saved.files) {
            if file::checksum_of_header(path)? != checksum {
                return Err(differs(path));
            }
        }
        let path = &names[0];
        let map = Arc::new(map_file(path)?);
        let header = file::read_header(path, &map, Kind::Names, 0)?;
        header.verify(path, &map)?;
        let file = MappedFile { path, map, header };
        let names = Names::open(&file)?;
        let tables = Tables::open(layout, &file, &indexes, names.len())?;
        Ok(Self { names, tables, ledger: saved.ledger })
    }
}

/// The file of names, and the files of the fingerprint indexes.
fn files(folder: &Path, layout: &Layout, number: u64) -> [Vec<PathBuf>; 2] {
    let file = |extension: &str| folder.join(format!("{number:06}.{extension}"));
    let indexes = layout.prints.iter().map(|print| file(print.source.name()));
    [vec![file("names")], indexes.collect()]
}

/// All files of a run.
pub fn all_files(folder: &Path, layout: &Layout, number: u64) -> Vec<PathBuf> {
    files(folder, layout, number).concat()
}

/// Opens all runs in parallel.
pub fn open_all(
    folder: &Path,
    layout: &Layout,
    saved: &[SavedRun],
) -> Result<Vec<LiveRun>, IndexError> {
    let opened = saved.par_iter().map(|saved| {
        let run = Run::open(folder, layout, saved)?;
        Ok(LiveRun { saved: Some(saved.clone()), ..LiveRun::new(run) })
    });
    opened.collect()
}
