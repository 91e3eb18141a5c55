//! A durable, searchable set of items of one kind.
//!
//! A [`Collection`] is a folder that keeps the digests of items, and searches them as
//! [`Search`](crate::Search) searches a batch: the same lookups, the same verdicts, the same figures.
//! The records are a store with transactions; search tables are made from them, kept in memory or
//! mapped, and saved beside it so that opening takes a moment. What digests mean is the business of the
//! kind.
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
//! // Closest first. A distance is inclusive.
//! let found = collection.search(&[digest(0b1000)], &by, 10)?;
//! assert_eq!((found[0][0].id.as_str(), found[0][0].closeness.distance), ("a", Some(1)));
//!
//! // In one step: is it new? Then store it.
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
//! | file | what is there |
//! |---|---|
//! | `item.rs` | what goes in and comes out |
//! | `truth.rs`, `record.rs`, `about.rs` | the records, and the documents about the whole |
//! | `tables/` | which items may be alike this one: a table for each lookup of the kind |
//! | `run.rs`, `names.rs`, `array.rs` | items that no longer change: their ids and tables, in memory or mapped |
//! | `view.rs`, `search.rs` | what is there at one moment, and what of it is alike these |
//! | `stage.rs` | what a commit will change |
//! | `store.rs`, `lock.rs`, `head.rs` | how all of it stays one collection |
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
/// once; a search never waits for a change, unless it just took something away that was found.
pub struct Collection(Store);

/// What there is to tell about a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Items that are there.
    pub items: u64,
    /// The features of all of them, where sets are compared.
    pub features: u64,
    /// The sequence number the next item gets: how many were ever inserted.
    pub next_sequence: u64,
    /// The parts the search tables are in.
    pub runs: usize,
    /// Bytes of memory the search tables take, mapped files included.
    pub memory_bytes: u64,
    /// Bytes of the file of the records.
    pub file_bytes: u64,
    /// How fingerprints of the largest part are searched.
    pub plan: String,
}

impl Collection {
    /// A new, empty collection in a folder that is not there, or is empty but for what a process left
    /// that died here. It can be searched by `widest`, and by all criteria that are narrower; its
    /// background is that of every search.
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
        // A process that died here before may have left these.
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
        // Another process may have made one before this one had the lock.
        check_empty()?;
        let about = About { recipe: kind.stored(), widest: widest.clone(), token: token() };
        let file = truth_file(folder);
        if unfinished.exists() {
            fs::remove_file(&unfinished).map_err(failed("creating"))?;
        }
        // Its name says that it is complete.
        drop(Truth::create(&unfinished, &about)?);
        fs::rename(&unfinished, &file).map_err(failed("creating"))?;
        sync_folder(folder).map_err(failed("creating"))?;
        Self::of_kind(folder, Truth::open(&file)?, kind, Some(lock), false)
    }

    /// Opens a collection to search and change it. Only one process can; others are refused until
    /// it is dropped there. After a crash everything that was acknowledged is there.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::open_with(folder, &Registry::default())
    }

    /// The same for a collection of any of these kinds.
    pub fn open_with(
        folder: impl AsRef<Path>,
        registry: &Registry,
    ) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::exclusive(folder)?;
        Self::load(folder, Truth::open(&file)?, registry, Some(lock), false)
    }

    /// Opens a collection to search it. Several processes can at once, if none has it open to
    /// change it; the folder need not be writable.
    pub fn open_read_only(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::open_read_only_with(folder, &Registry::default())
    }

    /// The same for a collection of any of these kinds.
    pub fn open_read_only_with(
        folder: impl AsRef<Path>,
        registry: &Registry,
    ) -> Result<Self, CollectionError> {
        let folder = folder.as_ref();
        let file = existing(folder)?;
        let lock = Lock::shared(folder)?;
        Self::load(folder, Truth::open_read_only(&file)?, registry, lock, true)
    }

    /// Whether there is a collection in this folder, as far as names tell.
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

    /// What its items are.
    pub fn kind(&self) -> &dyn Kind {
        &*self.0.kind
    }

    /// The same, to be kept.
    pub fn shared_kind(&self) -> Arc<dyn Kind> {
        self.0.kind.clone()
    }

    /// The widest criteria it can be searched by, and the background of every search.
    pub fn widest(&self) -> &Criteria {
        &self.0.about.widest
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    /// Whether it was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.0.is_read_only()
    }

    /// What was noticed when it was opened: search tables that had to be rebuilt, and why.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// How many items there are.
    pub fn len(&self) -> u64 {
        self.0.view().state.items
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses digests of another kind or recipe.
    pub fn check_kind(&self, kind: &dyn Kind) -> Result<(), CollectionError> {
        if kind.stored().has_digests_of(&self.0.about.recipe) {
            return Ok(());
        }
        let (collection, given) = (self.kind().recipe(), kind.recipe());
        Err(CollectionError::Recipe { collection, given })
    }

    /// Stores items, all in one step: after a crash all or none are there, and when this returns, they
    /// survive whatever happens to the process. Says for each what became of it, as if they had come
    /// one after the other; one that cannot be stored is [`Added::Unfit`] and does not stop the others.
    ///
    /// Nobody can come between: of two alike items that are added at the same time
    /// [unless there is something alike](AddRule::UnlessAlike), one is stored.
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

    /// Removes items, all in one step; says of each whether it was there.
    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        match self.0.change(WriteRequest::Remove(ids))? {
            WriteResult::Removed(removed) => Ok(removed),
            WriteResult::Added(_) => Ok(Vec::new()),
        }
    }

    /// The item of this id.
    pub fn get(&self, id: &str) -> Result<Option<StoredItem>, CollectionError> {
        let hash = names::hash(id, self.0.about.token);
        self.0.look(|view, records| {
            let Some(place) = view.find(id, hash) else { return Ok(Some(None)) };
            let sequence = view.sequence(place);
            let item = records.look(sequence, |record| record.to_item(sequence))?;
            Ok(item.map(Some))
        })
    }

    /// Whether an item of this id is there.
    pub fn contains(&self, id: &str) -> bool {
        self.0.view().find(id, names::hash(id, self.0.about.token)).is_some()
    }

    /// What is alike each of some digests: closest first, then in order of insertion, at most `limit`
    /// items. The items, and the figures, are those of the pairs that a [`Search`](crate::Search) finds
    /// between these and all items of the collection. A distance wider than the collection was made
    /// for is refused.
    ///
    /// Works on all threads of the current rayon pool; many queries at once are far faster than one by
    /// one. All are answered from one state of the collection.
    pub fn search(
        &self,
        queries: &[Digest],
        by: &Criteria,
        limit: usize,
    ) -> Result<Vec<Vec<Match>>, CollectionError> {
        let by = self.with_background(by);
        let view = self.0.view();
        let question = self.0.question(&by, &view)?;
        if !question.judges() {
            return Ok(question.search(&view, None, queries, limit)?.unwrap_or_default());
        }
        self.0.look(|view, records| {
            let question = self.0.question(&by, view)?;
            question.search(view, Some(records), queries, limit)
        })
    }

    /// Whether a search by these criteria finds everything, or what share of it.
    pub fn recall(&self, by: &Criteria) -> Result<Recall, CollectionError> {
        Ok(self.0.question(by, &self.0.view())?.recall())
    }

    fn with_background(&self, by: &Criteria) -> Criteria {
        Criteria { background: self.widest().background.clone(), ..by.clone() }
    }

    /// Calls `on_item` with every item, in order of insertion, until it breaks off. All are of one
    /// state of the collection.
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

    /// What there is to tell.
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

    /// Saves the search tables, so that the next opening need not make them. Happens by itself as
    /// a collection grows, and when it is dropped.
    pub fn snapshot(&self) -> Result<(), CollectionError> {
        self.0.snapshot()
    }

    /// Merges the search tables into one part, which makes searches faster after many changes, saves
    /// it, and gives free space of the file back to the system. Searches go on meanwhile;
    /// [`get`](Self::get) waits, and a [`for_each`](Self::for_each) under way makes it fail.
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.0.compact()
    }

    /// Compares everything with its checksum, and the search tables with the records. Tables that were
    /// damaged when the collection was opened are damaged until they are saved again.
    pub fn verify(&self) -> Result<(), CollectionError> {
        self.0.verify()
    }

    /// Rebuilds everything that follows from the records, and saves it. Damaged records stay as they
    /// are: [`salvage`](Self::salvage) names them and exports the rest.
    pub fn repair(&self) -> Result<(), CollectionError> {
        self.0.repair()
    }

    /// Copies the collection, as it is at this moment, to a folder that is not there. It can be
    /// searched and changed meanwhile.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<(), CollectionError> {
        let folder = folder.as_ref();
        if folder.exists() {
            return Err(CollectionError::Exists { path: folder.into() });
        }
        let partial = Partial::beside(folder)?;
        let copy = truth_file(&partial.0);
        self.0.truth.copy_to(Truth::create(&copy, &self.0.about)?)?;
        // Opening makes the search tables; a copy is searched as soon as its original.
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

/// Whether whoever is shown items wants to see more.
fn go_on(wanted: bool) -> ControlFlow<()> {
    if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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
