//! The records of a collection.
//!
//! The truth of a collection is one file of redb, a transactional store. It has a table of records by
//! sequence number, one of removed items that are still in the files of runs, and one of documents about
//! the whole collection. Everything that is read is checked against its checksum. This module does not
//! know how items are searched.

use std::{
    ops::{ControlFlow, Range},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use redb::{
    Builder, Database, DatabaseError, ReadOnlyDatabase, ReadOnlyTable, ReadTransaction,
    ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    CollectionError, StoredItem,
    about::{About, FORMAT, Saved, State},
    record::{self, Record},
};

/// Records by sequence number.
const ITEMS: TableDefinition<u64, &[u8]> = TableDefinition::new("items");

/// Removed items that are still in the file of a run, and the checksums of their records.
const REMOVED: TableDefinition<u64, u64> = TableDefinition::new("removed");

/// Documents about the whole collection: `about`, `model`, `state`, `runs`; each after its checksum.
const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");

/// The memory for cached pages of the file.
const CACHE_BYTES: usize = 32 << 20;

/// The number of records copied in one commit.
const COPIED: usize = 1 << 16;

/// The store of a collection.
pub struct Truth {
    path: PathBuf,
    store: RwLock<Store>,
}

enum Store {
    Writing(Database),
    Reading(ReadOnlyDatabase),
    /// While it is being reopened, or after that failed.
    Closed,
}

impl Store {
    /// Closes the store. A panic while closing a damaged file is ignored.
    fn close(&mut self) {
        let store = std::mem::replace(self, Self::Closed);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        self.exclusive().close();
    }
}

/// The documents about the whole collection.
pub struct Documents {
    pub about: About,
    pub state: State,
    pub saved: Saved,
}

/// Receives records and their sequence numbers as they are read, until it returns `Break`.
pub type OnRecord<'a> =
    &'a mut dyn FnMut(u64, &Record<'_>) -> Result<ControlFlow<()>, CollectionError>;

/// The changes of one commit.
pub struct Changes<'a> {
    /// Sealed records, in order of their sequence numbers.
    pub records: Vec<(u64, &'a [u8])>,
    /// The sequence numbers of items to remove.
    pub removed: &'a [u64],
    /// The state before the commit; the state after it is computed from this.
    pub state: State,
    /// The sequence number of the next item.
    pub next: u64,
    /// The sum of the checksums of the new records.
    pub ledger: u64,
    /// Items with smaller sequence numbers are in files of runs.
    pub saved_end: u64,
}

impl Truth {
    /// Creates an empty store.
    pub fn create(path: &Path, about: &About) -> Result<Self, CollectionError> {
        let truth = Self { path: path.into(), store: RwLock::new(Store::Closed) };
        let database = truth.guarded("creating", || Ok(builder().create(path)?))?;
        truth.guarded("creating", || {
            let transaction = database.begin_write()?;
            transaction.open_table(ITEMS)?;
            transaction.open_table(REMOVED)?;
            write(&transaction, "about", about.to_json().to_string().as_bytes())?;
            if let Some(model) = &about.recipe.model {
                write(&transaction, "model", model)?;
            }
            write(&transaction, "state", State::default().to_json().to_string().as_bytes())?;
            write(&transaction, "runs", Saved::default().to_json().to_string().as_bytes())?;
            Ok(transaction.commit()?)
        })?;
        *truth.exclusive() = Store::Writing(database);
        Ok(truth)
    }

    /// Opens the store for the one process that writes. After a crash it is repaired first.
    pub fn open(path: &Path) -> Result<Self, CollectionError> {
        let truth = Self { path: path.into(), store: RwLock::new(Store::Closed) };
        truth.reopen()?;
        Ok(truth)
    }

    /// Opens the store for a process that only reads.
    pub fn open_read_only(path: &Path) -> Result<Self, CollectionError> {
        let truth = Self { path: path.into(), store: RwLock::new(Store::Closed) };
        let opened = truth.guarded("opening", || match builder().open_read_only(path) {
            Err(DatabaseError::RepairAborted) => Ok(None),
            other => Ok(Some(other?)),
        })?;
        let folder = || path.parent().unwrap_or(path).to_owned();
        let opened = opened.ok_or_else(|| CollectionError::NotClosed { path: folder() })?;
        *truth.exclusive() = Store::Reading(opened);
        Ok(truth)
    }

    /// Closes the store and opens it again: after a failed write, redb accepts no other.
    pub fn reopen(&self) -> Result<(), CollectionError> {
        let mut store = self.exclusive();
        store.close();
        *store = Store::Writing(self.guarded("opening", || Ok(builder().open(&self.path)?))?);
        Ok(())
    }

    /// Reads the documents about the whole collection.
    pub fn documents(&self) -> Result<Documents, CollectionError> {
        let reading = self.read("reading", |reading| {
            let about = document(reading, "about")?;
            let format = about.get("format").and_then(Value::as_u64).unwrap_or(0);
            if format != FORMAT {
                return Ok(Err(format));
            }
            let damaged = |what: &str| Failure::Damaged(format!("{what} cannot be understood"));
            let about = About::from_json(&about, read(reading, "model")?);
            let about = about.ok_or_else(|| damaged("what it is of"))?;
            let state = State::from_json(&document(reading, "state")?);
            let saved = Saved::from_json(&document(reading, "runs")?);
            Ok(Ok(Documents {
                about,
                state: state.ok_or_else(|| damaged("its state"))?,
                saved: saved.ok_or_else(|| damaged("the list of runs"))?,
            }))
        })?;
        let path = self.path.parent().unwrap_or(&self.path).to_owned();
        reading.map_err(|found| CollectionError::Version { path, found, reads: FORMAT })
    }

    /// The current records, to look up one by one.
    pub fn records(&self) -> Result<Records<'_>, CollectionError> {
        let table = self.read("reading", |reading| Ok(reading.open_table(ITEMS)?))?;
        Ok(Records { truth: self, table })
    }

    /// Calls `on_record` with every record from this sequence number on, in order. If all records from 0
    /// on are read, their number and checksums must match the state: a damaged page may hide records.
    pub fn for_each(&self, start: u64, on_record: OnRecord<'_>) -> Result<(), CollectionError> {
        let mut refused = None;
        self.read("reading", |reading| {
            let (mut items, mut ledger, mut order) = (0, 0_u64, Order::default());
            for entry in reading.open_table(ITEMS)?.range(start..)? {
                let (sequence, bytes) = entry?;
                let sequence = order.next(sequence.value())?;
                let record = whole(bytes.value(), sequence)?;
                items += 1;
                ledger = ledger.wrapping_add(record.checksum);
                match on_record(sequence, &record) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => return Ok(()),
                    Err(error) => {
                        refused = Some(error);
                        return Ok(());
                    }
                }
            }
            let state = State::from_json(&document(reading, "state")?).unwrap_or_default();
            if start == 0 && (items, ledger) != (state.items, state.ledger) {
                return Err(Failure::Damaged("records are missing, or there are too many".into()));
            }
            Ok(())
        })?;
        refused.map_or(Ok(()), Err)
    }

    /// Calls `on_item` with every readable item before a sequence number, in order, until it fails.
    /// Returns the sum of the checksums of their records. Records that differ from their checksums or
    /// cannot be reached are reported to `on_damaged` and skipped.
    pub fn for_each_readable(
        &self,
        end: u64,
        on_item: &mut dyn FnMut(StoredItem) -> Result<(), CollectionError>,
        on_damaged: &mut dyn FnMut(CollectionError),
    ) -> Result<u64, CollectionError> {
        let mut ledger = 0_u64;
        let mut unreached: Vec<Range<u64>> = Vec::new();
        let mut ranges: Vec<Range<u64>> = std::iter::once(0..end).collect();
        while let Some(mut range) = ranges.pop() {
            let mut on_item = |checksum, item| {
                ledger = ledger.wrapping_add(checksum);
                on_item(item)
            };
            self.read_range(&mut range, &mut on_item, on_damaged)?;
            // Tries both halves of the rest: one of them may be on intact pages.
            let middle = range.start + (range.end - range.start) / 2;
            match unreached.last_mut() {
                _ if range.is_empty() => {}
                _ if middle > range.start => {
                    ranges.extend([middle..range.end, range.start..middle]);
                }
                Some(last) if last.end == range.start => last.end = range.end,
                _ => unreached.push(range),
            }
        }
        for Range { start, end } in unreached {
            let what = format!("the records of items {start} to {} cannot be reached", end - 1);
            on_damaged(CollectionError::Damaged { path: self.path.clone(), what });
        }
        Ok(ledger)
    }

    /// Reads the records of a range as far as the store can, and shortens the range to the rest.
    fn read_range(
        &self,
        range: &mut Range<u64>,
        on_item: &mut dyn FnMut(u64, StoredItem) -> Result<(), CollectionError>,
        on_damaged: &mut dyn FnMut(CollectionError),
    ) -> Result<(), CollectionError> {
        let mut refused = None;
        let read = self.read("reading", |reading| {
            let mut order = Order { next: range.start };
            for entry in reading.open_table(ITEMS)?.range(range.clone())? {
                let (sequence, bytes) = entry?;
                let (sequence, bytes) = (order.next(sequence.value())?, bytes.value());
                range.start = order.next.min(range.end);
                let record = Record::read(bytes, sequence);
                let item = record.and_then(|it| Some((it.checksum, it.to_item(sequence)?)));
                let Some((checksum, item)) = item else {
                    let id = record::probable_id(bytes);
                    on_damaged(CollectionError::Record { sequence, id });
                    continue;
                };
                if let Err(error) = on_item(checksum, item) {
                    refused = Some(error);
                    return Ok(());
                }
            }
            Ok(())
        });
        if read.is_ok() {
            range.start = range.end;
        }
        refused.map_or(Ok(()), Err)
    }

    /// Copies the current records to an empty store.
    pub fn copy_to(&self, copy: Self) -> Result<(), CollectionError> {
        let mut refused = None;
        self.read("reading", |reading| {
            let state = State::from_json(&document(reading, "state")?).unwrap_or_default();
            let mut records: Vec<(u64, Vec<u8>)> = Vec::new();
            let table = reading.open_table(ITEMS)?;
            let mut entries = table.range::<u64>(..)?.peekable();
            let mut order = Order::default();
            while let Some(entry) = entries.next() {
                let (sequence, bytes) = entry?;
                let (sequence, record) = (order.next(sequence.value())?, bytes.value());
                if record::checksum(record, sequence).is_none() {
                    return Err(differs(sequence));
                }
                records.push((sequence, record.to_vec()));
                if records.len() == COPIED || entries.peek().is_none() {
                    if let Err(error) = copy.append(&records) {
                        refused = Some(error);
                        return Ok(());
                    }
                    records.clear();
                }
            }
            refused = copy.set_state(state).err();
            Ok(())
        })?;
        refused.map_or(Ok(()), Err)
    }

    fn append(&self, records: &[(u64, Vec<u8>)]) -> Result<(), CollectionError> {
        self.write("writing the copy", |writing| {
            let mut table = writing.open_table(ITEMS)?;
            for (sequence, record) in records {
                table.insert(sequence, record.as_slice())?;
            }
            Ok(())
        })
    }

    fn set_state(&self, state: State) -> Result<(), CollectionError> {
        self.write("writing the copy", |writing| {
            write(writing, "state", state.to_json().to_string().as_bytes())
        })
    }

    /// The removed items that are still in files of runs, with the checksums of their records.
    pub fn removed(&self) -> Result<Vec<(u64, u64)>, CollectionError> {
        self.read("reading", |reading| {
            let table = reading.open_table(REMOVED)?;
            let mut order = Order::default();
            let pairs = table.iter()?.map(|entry| {
                let (sequence, checksum) = entry?;
                Ok((order.next(sequence.value())?, checksum.value()))
            });
            pairs.collect()
        })
    }

    /// Makes all changes or none. Returns the state after the commit, and the checksums of the removed
    /// records.
    pub fn commit(&self, changes: &Changes<'_>) -> Result<(State, Vec<u64>), CollectionError> {
        self.write("writing", |writing| {
            let Changes { records, removed, state, next, ledger, saved_end } = changes;
            let mut state = State {
                commits: state.commits + 1,
                next: *next,
                items: state.items + records.len() as u64 - removed.len() as u64,
                ledger: state.ledger.wrapping_add(*ledger),
            };
            let mut table = writing.open_table(ITEMS)?;
            for (sequence, record) in records {
                table.insert(sequence, *record)?;
            }
            let mut tombstones = writing.open_table(REMOVED)?;
            let mut checksums = Vec::with_capacity(removed.len());
            for &sequence in *removed {
                let record = table.remove(sequence)?;
                let checksum = record.and_then(|record| record::checksum(record.value(), sequence));
                let damaged = || format!("the record of item {sequence} is missing or damaged");
                let checksum = checksum.ok_or_else(|| Failure::Damaged(damaged()))?;
                if sequence < *saved_end {
                    tombstones.insert(sequence, checksum)?;
                }
                state.ledger = state.ledger.wrapping_sub(checksum);
                checksums.push(checksum);
            }
            drop((table, tombstones));
            write(writing, "state", state.to_json().to_string().as_bytes())?;
            Ok((state, checksums))
        })
    }

    /// Stores the list of the runs that are in files, and of their removed items.
    pub fn commit_saved(
        &self,
        saved: &Saved,
        removed: impl Iterator<Item = (u64, u64)>,
    ) -> Result<(), CollectionError> {
        self.write("writing", |writing| {
            let mut tombstones = writing.open_table(REMOVED)?;
            tombstones.retain(|_, _| false)?;
            for (sequence, checksum) in removed {
                tombstones.insert(sequence, checksum)?;
            }
            drop(tombstones);
            write(writing, "runs", saved.to_json().to_string().as_bytes())
        })
    }

    /// Returns free space in the file to the system.
    pub fn compact(&self) -> Result<(), CollectionError> {
        let mut store = self.exclusive();
        let Store::Writing(database) = &mut *store else {
            return Err(CollectionError::Closed { path: self.path.clone() });
        };
        self.guarded("compacting", || {
            database.compact()?;
            Ok(())
        })
    }

    /// Whether every page of the file matches its checksum.
    pub fn is_whole(&self) -> Result<bool, CollectionError> {
        let mut store = self.exclusive();
        match &mut *store {
            Store::Writing(database) => {
                self.guarded("verifying", || Ok(database.check_integrity()?))
            }
            Store::Reading(_) => Ok(true),
            Store::Closed => Err(CollectionError::Closed { path: self.path.clone() }),
        }
    }

    /// The size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |file| file.len())
    }

    fn read<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&ReadTransaction) -> Result<T, Failure>,
    ) -> Result<T, CollectionError> {
        self.guarded(action, || {
            // No lock is held while `work` runs: it may take long, and may read again itself.
            let transaction = match &*self.shared() {
                Store::Writing(database) => database.begin_read()?,
                Store::Reading(database) => database.begin_read()?,
                Store::Closed => return Err(Failure::Closed),
            };
            work(&transaction)
        })
    }

    fn write<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&WriteTransaction) -> Result<T, Failure>,
    ) -> Result<T, CollectionError> {
        let store = self.shared();
        self.guarded(action, || {
            let Store::Writing(database) = &*store else { return Err(Failure::Closed) };
            let transaction = database.begin_write()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    /// Runs `work`; a panic of the store because of a damaged file becomes an error.
    fn guarded<T>(
        &self,
        action: &'static str,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, CollectionError> {
        let path = || self.path.clone();
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(Failure::Closed)) => Err(CollectionError::Closed { path: path() }),
            Ok(Err(Failure::Damaged(what))) => Err(CollectionError::Damaged { path: path(), what }),
            Ok(Err(Failure::Store(source))) => Err(self.explained(action, source)),
            Err(_) => {
                let what = "its structure cannot be followed".to_owned();
                Err(CollectionError::Damaged { path: path(), what })
            }
        }
    }

    fn explained(&self, action: &'static str, source: Box<redb::Error>) -> CollectionError {
        let path = self.path.clone();
        match *source {
            redb::Error::Corrupted(what) => CollectionError::Damaged { path, what },
            redb::Error::DatabaseAlreadyOpen => CollectionError::Locked { path, holder: None },
            redb::Error::Io(source) if source.kind() == std::io::ErrorKind::InvalidData => {
                CollectionError::Damaged { path, what: source.to_string() }
            }
            _ => CollectionError::Store { path, action, source },
        }
    }

    fn shared(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records of one state. Several threads can look them up at once.
pub struct Records<'t> {
    truth: &'t Truth,
    table: ReadOnlyTable<u64, &'static [u8]>,
}

impl Records<'_> {
    /// The error for a record that should exist but does not.
    pub fn missing(&self) -> CollectionError {
        let what = "a record is missing".to_owned();
        CollectionError::Damaged { path: self.truth.path.clone(), what }
    }

    /// Calls `look` with a record and returns its result; `None` if no record has this sequence number.
    /// If `look` returns `None`, the record counts as damaged.
    pub fn look<T>(
        &self,
        sequence: u64,
        look: impl FnOnce(&Record<'_>) -> Option<T>,
    ) -> Result<Option<T>, CollectionError> {
        self.truth.guarded("reading", || {
            let Some(bytes) = self.table.get(sequence)? else { return Ok(None) };
            let record = whole(bytes.value(), sequence)?;
            look(&record).map(Some).ok_or_else(|| differs(sequence))
        })
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Why an operation on the store failed.
enum Failure {
    Store(Box<redb::Error>),
    Damaged(String),
    Closed,
}

macro_rules! failures {
    ($($error:ident),*) => {
        $(impl From<redb::$error> for Failure {
            fn from(error: redb::$error) -> Self {
                Self::Store(Box::new(error.into()))
            }
        })*
    };
}

failures!(CommitError, CompactionError, DatabaseError, StorageError, TableError, TransactionError);

/// Checks that sequence numbers ascend. In a damaged file, pages may be linked wrongly, even in a cycle.
#[derive(Default)]
struct Order {
    next: u64,
}

impl Order {
    /// Returns the number if it is not below the expected one.
    fn next(&mut self, sequence: u64) -> Result<u64, Failure> {
        if sequence < self.next {
            return Err(Failure::Damaged("records are out of order".to_owned()));
        }
        self.next = sequence.saturating_add(1);
        Ok(sequence)
    }
}

fn whole(bytes: &[u8], sequence: u64) -> Result<Record<'_>, Failure> {
    Record::read(bytes, sequence).ok_or_else(|| differs(sequence))
}

fn differs(sequence: u64) -> Failure {
    Failure::Damaged(format!("the record of item {sequence} differs from its checksum"))
}

/// Writes a document after its checksum.
fn write(transaction: &WriteTransaction, name: &str, document: &[u8]) -> Result<(), Failure> {
    let bytes = [&xxh3_64(document).to_le_bytes(), document].concat();
    transaction.open_table(DOCUMENTS)?.insert(name, bytes.as_slice())?;
    Ok(())
}

/// Reads a document; `None` if it does not exist.
fn read(transaction: &ReadTransaction, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let table = transaction.open_table(DOCUMENTS)?;
    let Some(bytes) = table.get(name)? else { return Ok(None) };
    let document = bytes
        .value()
        .split_first_chunk()
        .filter(|(checksum, document)| xxh3_64(document) == u64::from_le_bytes(**checksum));
    let differs = || Failure::Damaged(format!("the document \"{name}\" differs from its checksum"));
    Ok(Some(document.ok_or_else(differs)?.1.to_vec()))
}

/// Reads a document that must exist.
fn document(transaction: &ReadTransaction, name: &str) -> Result<Value, Failure> {
    let missing = || Failure::Damaged(format!("the document \"{name}\" is missing"));
    let bytes = read(transaction, name)?.ok_or_else(missing)?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Damaged(error.to_string()))
}
