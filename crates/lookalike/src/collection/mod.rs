//! Have I seen this before?
//!
//! A [`Collection`] is a folder that remembers items by their fingerprints: durable, searchable,
//! exact within the radius it was made for. The truth is a store with transactions; the search
//! tables are made from it, kept in memory, and saved beside it so that opening takes a moment.
//! Nothing here knows how fingerprints are made.
//!
//! ```
//! use lookalike::{About, Added, Collection, Fingerprint, NewItem, Radius, Width};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("seen");
//! let collection = Collection::create(&folder, About::given(Width::Bits64, Radius::new(3)))?;
//! let print = |bits: u64| Fingerprint([bits]).resize();
//! collection.insert(NewItem::new("a", &[print(0b1010)]))?;
//!
//! // Nearest first. A radius is inclusive.
//! let found = collection.search(&print(0b1000), Radius::new(1), 10)?;
//! assert_eq!((found[0].id.as_str(), found[0].distance), ("a", 1));
//!
//! // In one step: is it new? Then remember it.
//! let added = collection.check_and_insert(NewItem::new("b", &[print(0b1011)]), Radius::new(3))?;
//! assert!(matches!(added, Added::Near { matches } if matches[0].id == "a"));
//!
//! drop(collection);
//! let collection = Collection::open(&folder)?;
//! assert_eq!(collection.get("a")?.map(|item| item.sequence), Some(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod error;
mod groups;
mod head;
mod item;
mod jsonl;
mod lock;
mod names;
mod record;
mod run;
mod stage;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod truth;
mod view;

use std::{
    collections::hash_map::RandomState,
    fmt, fs,
    hash::{BuildHasher, Hasher},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{Fingerprint, Radius, Width};
pub use about::{About, Maker};
pub use error::CollectionError;
pub use groups::FoundGroup;
pub use item::{Added, Found, NewItem, StoredItem, content_id};
pub use jsonl::{Exported, Imported};
use lock::Lock;
use stage::{Answer, Batch, Wish};
use store::{Store, check_radius, sync_folder, truth_file};
use truth::Truth;

/// A durable, searchable set of items with one kind of fingerprint. All methods may be called from
/// several threads at once; a search never waits for a change.
pub struct Collection(Stores);

/// One of the three sizes of fingerprints.
enum Stores {
    One(Store<1>),
    Two(Store<2>),
    Four(Store<4>),
}

/// Runs the same code for each size.
macro_rules! with_store {
    ($collection:expr, $store:ident => $work:expr) => {
        match &$collection.0 {
            Stores::One($store) => $work,
            Stores::Two($store) => $work,
            Stores::Four($store) => $work,
        }
    };
}
use with_store;

/// What there is to tell about a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Items that are there.
    pub items: u64,
    /// Their fingerprints.
    pub fingerprints: u64,
    /// The sequence number the next item gets: how many were ever inserted.
    pub next_sequence: u64,
    /// The parts the search tables are in.
    pub runs: usize,
    /// Bytes of memory the search tables take, mapped files included.
    pub memory_bytes: u64,
    /// Bytes of the file of the records.
    pub file_bytes: u64,
    /// How the largest part is searched.
    pub plan: String,
}

impl Collection {
    /// A new, empty collection in a folder that is not there, or is empty.
    pub fn create(folder: impl AsRef<Path>, about: About) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        about.check()?;
        let failed =
            |action| move |source| CollectionError::Io { path: folder.into(), action, source };
        fs::create_dir_all(folder).map_err(failed("creating"))?;
        if fs::read_dir(folder).map_err(failed("reading"))?.next().is_some() {
            return Err(CollectionError::Exists { path: folder.into() });
        }
        let lock = Lock::exclusive(folder)?;
        let truth = Truth::create(&truth_file(folder), &about, token())?;
        sync_folder(folder).map_err(failed("creating"))?;
        Self::load(folder, truth, Some(lock), false)
    }

    /// Opens a collection to search and change it. Only one process can; others are refused until
    /// it is dropped there. After a crash everything that was acknowledged is there.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::exclusive(folder)?;
        Self::load(folder, Truth::open(&file)?, Some(lock), false)
    }

    /// Opens a collection to search it. Several processes can at once, if none has it open to
    /// change it; the folder needs not be writable.
    pub fn open_read_only(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::shared(folder)?;
        Self::load(folder, Truth::open_read_only(&file)?, lock, true)
    }

    /// Whether there is a collection in this folder, as far as names tell.
    pub fn is_at(folder: impl AsRef<Path>) -> bool {
        truth_file(folder.as_ref()).is_file()
    }

    fn load(
        folder: &Path,
        truth: Truth,
        lock: Option<Lock>,
        read_only: bool,
    ) -> Result<Self, CollectionError> {
        let documents = truth.documents()?;
        documents.about.check()?;
        Ok(Self(match documents.about.width {
            Width::Bits32 | Width::Bits64 => {
                Stores::One(Store::load(folder, truth, documents, lock, read_only)?)
            }
            Width::Bits128 => Stores::Two(Store::load(folder, truth, documents, lock, read_only)?),
            Width::Bits256 => Stores::Four(Store::load(folder, truth, documents, lock, read_only)?),
        }))
    }

    /// What it is a collection of.
    pub fn about(&self) -> &About {
        with_store!(self, store => &store.about)
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        with_store!(self, store => store.folder())
    }

    /// Whether it was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        with_store!(self, store => store.is_read_only())
    }

    /// What was noticed when it was opened: search tables that had to be made anew, and why.
    pub fn notes(&self) -> &[String] {
        with_store!(self, store => &store.notes)
    }

    /// How many items there are.
    pub fn len(&self) -> u64 {
        with_store!(self, store => store.view().state.items)
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses fingerprints of another making.
    pub fn check_maker(&self, maker: &Maker, width: Width) -> Result<(), CollectionError> {
        let about = self.about();
        if *maker == about.maker && width == about.width {
            return Ok(());
        }
        let name = |maker: &Maker, width: Width| format!("{maker}, {} bits", width.bits());
        Err(CollectionError::Recipe {
            collection: name(&about.maker, about.width),
            given: name(maker, width),
        })
    }

    /// Stores an item. If one of its id is there, that one stays as it was. When this returns, the
    /// item survives whatever happens to the process. One that cannot be stored is an error.
    pub fn insert(&self, item: NewItem<'_>) -> Result<Added, CollectionError> {
        single(&item, self.insert_many(&[item])?)
    }

    /// Stores items, all in one step: after a crash all or none are there. Of items with the same
    /// id the first is stored. Says for each what became of it; one that cannot be stored is
    /// [`Added::Unfit`] and does not stop the others.
    pub fn insert_many(&self, items: &[NewItem<'_>]) -> Result<Vec<Added>, CollectionError> {
        with_store!(self, store => {
            added(store.change(Wish::Insert(batch(store, items)))?)
        })
    }

    /// Stores an item, in place of the one of its id if there is any.
    pub fn upsert(&self, item: NewItem<'_>) -> Result<Added, CollectionError> {
        single(&item, self.upsert_many(&[item])?)
    }

    /// [`upsert`](Self::upsert) for many, all in one step.
    pub fn upsert_many(&self, items: &[NewItem<'_>]) -> Result<Vec<Added>, CollectionError> {
        with_store!(self, store => {
            added(store.change(Wish::Upsert(batch(store, items)))?)
        })
    }

    /// Stores an item if nothing is within `radius` of it; says what is near otherwise. Nobody can
    /// come between: of two alike items that are checked at the same time, one is stored.
    pub fn check_and_insert(
        &self,
        item: NewItem<'_>,
        radius: Radius,
    ) -> Result<Added, CollectionError> {
        single(&item, self.check_and_insert_many(&[item], radius)?)
    }

    /// [`check_and_insert`](Self::check_and_insert) for many, one after the other, in one step.
    /// Takes time quadratic in their number where it is large: some thousand at a time are well.
    pub fn check_and_insert_many(
        &self,
        items: &[NewItem<'_>],
        radius: Radius,
    ) -> Result<Vec<Added>, CollectionError> {
        check_radius(self.about(), radius)?;
        with_store!(self, store => {
            added(store.change(Wish::InsertUnlessNear(batch(store, items), radius))?)
        })
    }

    /// Removes an item; says whether it was there.
    pub fn remove(&self, id: &str) -> Result<bool, CollectionError> {
        Ok(self.remove_many(&[id])?.contains(&true))
    }

    /// Removes items, all in one step; says of each whether it was there.
    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        let answer = with_store!(self, store => store.change(Wish::Remove(ids)))?;
        match answer {
            Answer::Removed(removed) => Ok(removed),
            Answer::Added(_) => Ok(Vec::new()),
        }
    }

    /// The item of this id.
    pub fn get(&self, id: &str) -> Result<Option<StoredItem>, CollectionError> {
        with_store!(self, store => {
            let view = store.view();
            let Some(place) = view.find(id, names::hash(id, store.token)) else { return Ok(None) };
            store.truth.item(view.sequence(place), store.about.width.words()).map(Some)
        })
    }

    /// Whether an item of this id is there.
    pub fn contains(&self, id: &str) -> bool {
        with_store!(self, store => store.view().find(id, names::hash(id, store.token)).is_some())
    }

    /// What is within `radius` of a fingerprint: nearest first, then in order of insertion, at most
    /// `limit` items. Exact: nothing within the radius is missed.
    pub fn search(
        &self,
        query: &Fingerprint<4>,
        radius: Radius,
        limit: usize,
    ) -> Result<Vec<Found>, CollectionError> {
        self.check_queries(std::slice::from_ref(query), radius)?;
        with_store!(self, store => {
            one(store.view().search(&[query.resize()], radius, limit)?)
        })
    }

    /// [`search`](Self::search) for many queries, on all threads of the current rayon pool: far
    /// faster than one by one. All are answered from one state of the collection.
    pub fn search_many(
        &self,
        queries: &[Fingerprint<4>],
        radius: Radius,
        limit: usize,
    ) -> Result<Vec<Vec<Found>>, CollectionError> {
        self.check_queries(queries, radius)?;
        with_store!(self, store => {
            let queries: Vec<_> = queries.iter().map(|query| query.resize()).collect();
            Ok(store.view().par_search(&queries, radius, limit)?)
        })
    }

    fn check_queries(
        &self,
        queries: &[Fingerprint<4>],
        radius: Radius,
    ) -> Result<(), CollectionError> {
        let about = self.about();
        check_radius(about, radius)?;
        let bits = about.width.bits();
        if queries.iter().any(|query| record::is_wider(query, bits)) {
            let what = format!("a fingerprint has more than {bits} bits");
            return Err(CollectionError::Item { id: "query".to_owned(), what });
        }
        Ok(())
    }

    /// Calls `on_item` with every item, in order of insertion, until it breaks off. All are of one
    /// state of the collection.
    pub fn for_each(
        &self,
        mut on_item: impl FnMut(StoredItem) -> ControlFlow<()>,
    ) -> Result<(), CollectionError> {
        with_store!(self, store => {
            let words = store.about.width.words();
            store.truth.for_each(.., words, &mut |sequence, record| {
                Ok(on_item(record.to_item(sequence)))
            })
        })
    }

    /// What there is to tell.
    pub fn stats(&self) -> Stats {
        with_store!(self, store => {
            let view = store.view();
            let largest = view.runs.iter().max_by_key(|run| run.len());
            Stats {
                items: view.state.items,
                fingerprints: view.count_prints(),
                next_sequence: view.state.next,
                runs: view.runs.len(),
                memory_bytes: view.memory_bytes() as u64,
                file_bytes: store.truth.file_bytes(),
                plan: largest.map_or_else(String::new, |run| run.run.index.plan()),
            }
        })
    }

    /// Saves the search tables, so that the next opening needs not make them. Happens by itself as
    /// a collection grows, and when it is dropped.
    pub fn snapshot(&self) -> Result<(), CollectionError> {
        with_store!(self, store => store.snapshot())
    }

    /// Merges the search tables into one part, which makes searches faster after many changes, saves
    /// it, and gives free space of the file back to the system. Searches go on meanwhile;
    /// [`get`](Self::get) waits, and a [`for_each`](Self::for_each) under way makes it fail.
    pub fn compact(&self) -> Result<(), CollectionError> {
        with_store!(self, store => store.compact())
    }

    /// Compares everything with its checksum, and the search tables with the records.
    pub fn verify(&self) -> Result<(), CollectionError> {
        with_store!(self, store => store.verify())
    }

    /// Copies the collection, as it is at this moment, to a folder that is not there. It can be
    /// searched and changed meanwhile.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<(), CollectionError> {
        let folder = folder.as_ref();
        if folder.exists() {
            return Err(CollectionError::Exists { path: folder.into() });
        }
        let partial = Partial::beside(folder)?;
        with_store!(self, store => {
            let copy = truth_file(&partial.0);
            store.truth.copy_to(Truth::create(&copy, &store.about, store.token)?)?;
        });
        // Opening makes the search tables; a copy is searched as soon as its original.
        Self::open(&partial.0)?.snapshot()?;
        partial.finish(folder)
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection").field("folder", &self.folder()).finish_non_exhaustive()
    }
}

fn existing(folder: &Path) -> Result<PathBuf, CollectionError> {
    let file = truth_file(folder);
    if file.is_file() {
        return Ok(file);
    }
    let what = if folder.is_dir() { "there is no items.redb in it" } else { "no such folder" };
    Err(CollectionError::Missing { path: folder.into(), what: what.to_owned() })
}

fn batch<const WORDS: usize>(store: &Store<WORDS>, items: &[NewItem<'_>]) -> Batch<WORDS> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Batch::new(items, store.about.width, now as u64, store.token)
}

fn added(answer: Answer) -> Result<Vec<Added>, CollectionError> {
    match answer {
        Answer::Added(added) => Ok(added),
        Answer::Removed(_) => Ok(Vec::new()),
    }
}

/// What became of the only item.
fn single(item: &NewItem<'_>, added: Vec<Added>) -> Result<Added, CollectionError> {
    match one(added)? {
        Added::Unfit { why: what } => {
            let id = item.id.chars().take(80).collect();
            Err(CollectionError::Item { id, what })
        }
        added => Ok(added),
    }
}

fn one<T>(mut answers: Vec<T>) -> Result<T, CollectionError> {
    Ok(answers.pop().expect("one question has one answer"))
}

/// A number nobody can guess.
fn token() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A folder that is removed unless it is finished.
struct Partial(PathBuf);

impl Partial {
    fn beside(folder: &Path) -> Result<Self, CollectionError> {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{:x}", token()));
        let partial = folder.with_file_name(name);
        let failed =
            |source| CollectionError::Io { path: partial.clone(), action: "creating", source };
        fs::create_dir_all(&partial).map_err(failed)?;
        Ok(Self(partial))
    }

    fn finish(self, folder: &Path) -> Result<(), CollectionError> {
        let failed = |source| CollectionError::Io { path: folder.into(), action: "naming", source };
        sync_folder(&self.0).map_err(failed)?;
        fs::rename(&self.0, folder).map_err(failed)?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_folder(parent.unwrap_or(Path::new("."))).map_err(failed)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already if it was finished.
        let _ = fs::remove_dir_all(&self.0);
    }
}
