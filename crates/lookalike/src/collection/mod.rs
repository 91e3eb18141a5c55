//! A durable, searchable set of items of one kind.
//!
//! A [`Collection`] is a folder that stores the digests of items and searches them as
//! [`Search`](crate::Search) searches a batch: the same lookups, the same verdicts, the same figures.
//! The records are in a transactional store. Search tables are built from the records, held in memory
//! or mapped, and saved next to the store, so that a collection opens quickly. Only the kind knows what
//! a digest means.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lookalike::collection::{AddRule, Added};
//! use lookalike::{
//!     Collection, Digest, Fingerprint, Kind, Width, collection::NewItem,
//!     kind::{Asked, Purpose, hash::HashKind},
//! };
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("seen");
//! let kind = HashKind::new(Width::Bits64);
//! let by = kind.criteria(&Asked::default(), Purpose::List)?;
//! let collection = Collection::create(&folder, Arc::new(kind), &by)?;
//! let digest = |bits: u64| Digest::of_print(Fingerprint([bits]).resize());
//! collection.add(&[NewItem::new("a", &digest(0b1010))], AddRule::Insert)?;
//!
//! // Closest first. Distances are inclusive.
//! let found = collection.search(&[digest(0b1000)], &by, 10)?;
//! assert_eq!((found[0][0].id.as_str(), found[0][0].closeness.distance), ("a", Some(1)));
//!
//! // Stores the item only if nothing similar is stored, in one step.
//! let b = digest(0b1011);
//! let added = collection.add(&[NewItem::new("b", &b)], AddRule::UnlessAlike(by))?;
//! assert!(matches!(&added[0], Added::Near { matches } if matches[0].id == "a"));
//!
//! drop(collection);
//! let collection = Collection::open(&folder)?;
//! assert_eq!(collection.get("a")?.map(|item| item.sequence), Some(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `item.rs` | the items that go in and come out |
//! | `truth.rs`, `record.rs`, `about.rs` | the records, and the documents about the whole collection |
//! | `tables/` | candidates for a query: one table for each lookup of the kind |
//! | `run.rs`, `names.rs`, `array.rs` | immutable runs of items: ids and tables, in memory or mapped |
//! | `view.rs`, `search.rs` | one state of the collection, and how it is searched |
//! | `stage.rs` | the changes of one commit |
//! | `store.rs`, `lock.rs`, `head.rs` | how records and search tables stay consistent |
//! | `groups.rs`, `jsonl.rs` | groups; export and import |

mod about;
mod array;
mod error;
mod groups;
mod head;
mod item;
mod jsonl;
mod lock;
mod names;
mod record;
mod run;
mod search;
mod stage;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod truth;
mod view;

use std::{
    collections::hash_map::RandomState,
    ffi::OsStr,
    fmt, fs,
    hash::{BuildHasher, Hasher},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{Criteria, Digest, Kind, kind::Registry, search::Recall};
use about::About;
pub use error::CollectionError;
pub use groups::FoundGroup;
pub use item::{AddCounts, AddRule, Added, Match, NewItem, StoredItem, content_hash, content_id};
pub use jsonl::{Exported, Imported};
use lock::Lock;
use stage::{Batch, WriteRequest, WriteResult};
use store::{Store, sync_folder, truth_file};
use truth::Truth;

/// A durable, searchable set of items of one kind. All methods may be called from several threads at
/// once. A search waits for a change only if that change has just removed an item the search found.
///
/// ```
/// use std::sync::Arc;
///
/// use lookalike::{
///     Collection, Digest, Fingerprint, Kind, Width,
///     collection::{AddRule, NewItem},
///     kind::{Asked, Purpose, hash::HashKind},
/// };
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("seen");
/// let kind = HashKind::new(Width::Bits64);
/// let by = kind.criteria(&Asked::default(), Purpose::List)?;
/// let seen = Collection::create(&folder, Arc::new(kind), &by)?;
/// let digest = Digest::of_print(Fingerprint([0b1010]).resize());
/// assert!(seen.add(&[NewItem::new("a", &digest)], AddRule::Insert)?[0].is_stored());
/// assert_eq!(seen.search(&[digest], &by, 1)?[0][0].id, "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collection(Store);

/// Figures about a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The number of items.
    pub items: u64,
    /// The number of features of all items, if feature sets are compared.
    pub features: u64,
    /// The sequence number of the next item: the number of items ever inserted.
    pub next_sequence: u64,
    /// The number of runs that the search tables are split into.
    pub runs: usize,
    /// Memory used by the search tables in bytes, including mapped files.
    pub memory_bytes: u64,
    /// The size of the record file in bytes.
    pub file_bytes: u64,
    /// How the fingerprints of the largest run are searched.
    pub plan: String,
}

impl Collection {
    /// Creates an empty collection. The folder must not exist, or must be empty except for the files of
    /// a process that died while creating a collection in it. The collection can be searched by `widest`
    /// and by all narrower criteria; every search uses the background of `widest`.
    pub fn create(
        folder: impl AsRef<Path>,
        kind: Arc<dyn Kind>,
        widest: &Criteria,
    ) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let bits = kind.shape().width.bits();
        if let Some(distance) = widest.distance.map(|radius| radius.bits()).filter(|&at| at > bits)
        {
            return Err(CollectionError::TooWide { distance, bits });
        }
        let failed =
            |action| move |source| CollectionError::Io { path: folder.into(), action, source };
        fs::create_dir_all(folder).map_err(failed("creating"))?;
        let unfinished = folder.join("items.redb.new");
        // A process that died while creating a collection may have left these files.
        let is_left = |name: &OsStr| name == "lock" || Some(name) == unfinished.file_name();
        let check_empty = || {
            for entry in fs::read_dir(folder).map_err(failed("reading"))? {
                if !is_left(&entry.map_err(failed("reading"))?.file_name()) {
                    return Err(CollectionError::Exists { path: folder.into() });
                }
            }
            Ok(())
        };
        check_empty()?;
        let lock = Lock::exclusive(folder)?;
        // Another process may have created a collection before this one got the lock.
        check_empty()?;
        let about = About { recipe: kind.stored(), widest: widest.clone(), token: token() };
        let file = truth_file(folder);
        if unfinished.exists() {
            fs::remove_file(&unfinished).map_err(failed("creating"))?;
        }
        // The store gets its final name only when it is complete.
        drop(Truth::create(&unfinished, &about)?);
        fs::rename(&unfinished, &file).map_err(failed("creating"))?;
        sync_folder(folder).map_err(failed("creating"))?;
        Self::of_kind(folder, Truth::open(&file)?, kind, Some(lock), false)
    }

    /// Opens a collection to search and change it. Only one process can have it open this way; other
    /// processes get an error until it is dropped. After a crash, every acknowledged change is present.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::open_with(folder, &Registry::default())
    }

    /// Like [`open`](Self::open), for a collection of any kind in `registry`.
    pub fn open_with(
        folder: impl AsRef<Path>,
        registry: &Registry,
    ) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::exclusive(folder)?;
        Self::load(folder, Truth::open(&file)?, registry, Some(lock), false)
    }

    /// Opens a collection to search it. Several processes can do so at once, unless one has it open to
    /// change it. The folder need not be writable.
    pub fn open_read_only(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::open_read_only_with(folder, &Registry::default())
    }

    /// Like [`open_read_only`](Self::open_read_only), for a collection of any kind in `registry`.
    pub fn open_read_only_with(
        folder: impl AsRef<Path>,
        registry: &Registry,
    ) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::shared(folder)?;
        Self::load(folder, Truth::open_read_only(&file)?, registry, lock, true)
    }

    /// Whether this folder contains a collection, judging by file names only.
    pub fn is_at(folder: impl AsRef<Path>) -> bool {
        truth_file(folder.as_ref()).is_file()
    }

    fn load(
        folder: &Path,
        truth: Truth,
        registry: &Registry,
        lock: Option<Lock>,
        read_only: bool,
    ) -> Result<Self, CollectionError> {
        let recipe = truth.documents()?.about.recipe;
        let kind = registry.reopen(&recipe).ok_or_else(|| CollectionError::UnknownKind {
            path: folder.into(),
            kind: recipe.kind.clone(),
        })?;
        Self::of_kind(folder, truth, kind, lock, read_only)
    }

    fn of_kind(
        folder: &Path,
        truth: Truth,
        kind: Arc<dyn Kind>,
        lock: Option<Lock>,
        read_only: bool,
    ) -> Result<Self, CollectionError> {
        let documents = truth.documents()?;
        Ok(Self(Store::load(folder, truth, documents, kind, lock, read_only)?))
    }

    /// The kind of its items.
    pub fn kind(&self) -> &dyn Kind {
        &*self.0.kind
    }

    /// The kind of its items, as a shared pointer.
    pub fn shared_kind(&self) -> Arc<dyn Kind> {
        self.0.kind.clone()
    }

    /// The widest criteria it can be searched by; their background applies to every search.
    pub fn widest(&self) -> &Criteria {
        &self.0.about.widest
    }

    /// The folder of the collection.
    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    /// Whether it was opened read-only.
    pub fn is_read_only(&self) -> bool {
        self.0.is_read_only()
    }

    /// Notes from opening: which search tables had to be rebuilt, and why.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The number of items.
    pub fn len(&self) -> u64 {
        self.0.view().state.items
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an error if digests of this kind have another recipe than those of the collection.
    pub fn check_kind(&self, kind: &dyn Kind) -> Result<(), CollectionError> {
        if kind.stored().has_digests_of(&self.0.about.recipe) {
            return Ok(());
        }
        let (collection, given) = (self.kind().recipe(), kind.recipe());
        Err(CollectionError::Recipe { collection, given })
    }

    /// Stores items atomically: after a crash, either all of them are present or none. Once this
    /// returns, they survive a crash. Returns the outcome for each item, as if the items were added one
    /// after the other. An item that cannot be stored becomes [`Added::Unfit`]; the others are stored.
    ///
    /// No other change can come between the check and the insertion: if two threads add matching items
    /// at the same time with [`AddRule::UnlessAlike`], only one of them is stored.
    pub fn add(&self, items: &[NewItem<'_>], rule: AddRule) -> Result<Vec<Added>, CollectionError> {
        let rule = match rule {
            AddRule::UnlessAlike(by) => AddRule::UnlessAlike(self.with_background(&by)),
            rule => rule,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let Store { layout, about, .. } = &self.0;
        let batch = Batch::new(items, rule, layout.shape, now as u64, about.token);
        match self.0.change(WriteRequest::Add(batch))? {
            WriteResult::Added(added) => Ok(added),
            WriteResult::Removed(_) => Ok(Vec::new()),
        }
    }

    /// Removes items atomically. Returns for each id whether the item existed.
    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        match self.0.change(WriteRequest::Remove(ids))? {
            WriteResult::Removed(removed) => Ok(removed),
            WriteResult::Added(_) => Ok(Vec::new()),
        }
    }

    /// The item with this id.
    pub fn get(&self, id: &str) -> Result<Option<StoredItem>, CollectionError> {
        let hash = names::hash(id, self.0.about.token);
        self.0.look(|view, records| {
            let Some(place) = view.find(id, hash) else { return Ok(Some(None)) };
            let sequence = view.sequence(place);
            let item = records.look(sequence, |record| record.to_item(sequence))?;
            Ok(item.map(Some))
        })
    }

    /// Whether an item has this id.
    pub fn contains(&self, id: &str) -> bool {
        self.0.view().find(id, names::hash(id, self.0.about.token)).is_some()
    }

    /// Finds the items that match each query: closest first, then in order of insertion, at most
    /// `limit` per query. Items and figures are those of the pairs that a [`Search`](crate::Search)
    /// finds between the queries and all items of the collection. A distance wider than that of
    /// [`widest`](Self::widest) is an error.
    ///
    /// Uses all threads of the current rayon pool; many queries in one call are far faster than one call
    /// per query. All queries of a call see the same state of the collection.
    pub fn search(
        &self,
        queries: &[Digest],
        by: &Criteria,
        limit: usize,
    ) -> Result<Vec<Vec<Match>>, CollectionError> {
        let by = self.with_background(by);
        let view = self.0.view();
        let prepared = self.0.prepare_search(&by, &view)?;
        if !prepared.judges() {
            return Ok(prepared.search(&view, None, queries, limit)?.unwrap_or_default());
        }
        self.0.look(|view, records| {
            let prepared = self.0.prepare_search(&by, view)?;
            prepared.search(view, Some(records), queries, limit)
        })
    }

    /// Whether a search by these criteria finds every match, and if not, the share that it finds.
    pub fn recall(&self, by: &Criteria) -> Result<Recall, CollectionError> {
        Ok(self.0.prepare_search(by, &self.0.view())?.recall())
    }

    fn with_background(&self, by: &Criteria) -> Criteria {
        Criteria { background: self.widest().background.clone(), ..by.clone() }
    }

    /// Calls `on_item` with every item, in order of insertion, until it returns `Break`. All items are
    /// from the same state of the collection.
    pub fn for_each(
        &self,
        mut on_item: impl FnMut(StoredItem) -> ControlFlow<()>,
    ) -> Result<(), CollectionError> {
        self.0.truth.for_each(0, &mut |sequence, record| {
            let item = record
                .to_item(sequence)
                .ok_or_else(|| CollectionError::Record { sequence, id: record.id.to_owned() })?;
            Ok(on_item(item))
        })
    }

    /// Figures about the collection.
    pub fn stats(&self) -> Stats {
        let view = self.0.view();
        let largest = view.runs.iter().max_by_key(|live| live.len());
        let plan = largest.and_then(|live| Some(live.run.tables.prints.first()?.plan()));
        Stats {
            items: view.state.items,
            features: view.features(),
            next_sequence: view.state.next,
            runs: view.runs.len(),
            memory_bytes: view.memory_bytes() as u64,
            file_bytes: self.0.truth.file_bytes(),
            plan: plan.unwrap_or_default(),
        }
    }

    /// Saves the search tables, so that the next opening need not rebuild them. This happens
    /// automatically as a collection grows, and when it is dropped.
    pub fn snapshot(&self) -> Result<(), CollectionError> {
        self.0.snapshot()
    }

    /// Merges the search tables into one run, saves it, and returns free space in the record file to
    /// the system. This makes searches faster after many changes. Searches continue meanwhile;
    /// [`get`](Self::get) waits. Fails if a [`for_each`](Self::for_each) is still running.
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.0.compact()
    }

    /// Checks all files against their checksums, and the search tables against the records. Tables that
    /// were damaged when the collection was opened count as damaged until they are saved again.
    pub fn verify(&self) -> Result<(), CollectionError> {
        self.0.verify()
    }

    /// Rebuilds everything that is derived from the records, and saves it. Damaged records stay as they
    /// are; [`salvage`](Self::salvage) lists them and exports the others.
    pub fn repair(&self) -> Result<(), CollectionError> {
        self.0.repair()
    }

    /// Copies the current state of the collection to a folder that does not exist yet. The collection
    /// can be searched and changed meanwhile.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<(), CollectionError> {
        let folder = folder.as_ref();
        if folder.exists() {
            return Err(CollectionError::Exists { path: folder.into() });
        }
        let partial = Partial::beside(folder)?;
        let copy = truth_file(&partial.0);
        self.0.truth.copy_to(Truth::create(&copy, &self.0.about)?)?;
        // Opening builds the search tables and `snapshot` saves them, so that the copy opens quickly.
        let lock = Lock::exclusive(&partial.0)?;
        Self::of_kind(&partial.0, Truth::open(&copy)?, self.shared_kind(), Some(lock), false)?
            .snapshot()?;
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

/// `Continue` or `Break`, for callbacks of [`Collection::for_each`].
fn go_on(wants_more: bool) -> ControlFlow<()> {
    if wants_more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// An unpredictable number.
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
        // A finished folder was renamed and no longer has this name.
        let _ = fs::remove_dir_all(&self.0);
    }
}
