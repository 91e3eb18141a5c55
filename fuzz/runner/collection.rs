//! What becomes of a collection of which one file is damaged? It refuses and names the file, or answers
//! as its undamaged twin does; `verify` tells which, and `repair` brings back all that is derived.
//!
//! An input is a byte that says which file of which kept collection it is, and the content that file
//! shall have. The collections are those of `crates/lookalike/tests/collections`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use lookalike::{
    Collection, Criteria, Digest,
    collection::{AddRule, CollectionError, Exported, Match, NewItem, StoredItem},
    kind::Registry,
};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// A collection that is whole, and what it answers.
struct Twin {
    /// Its files, by their paths in it.
    files: Vec<(PathBuf, Vec<u8>)>,
    items: Vec<StoredItem>,
    /// Of each item, what is alike it.
    matches: Vec<Vec<Match>>,
    by: Criteria,
}

static TWINS: LazyLock<Vec<Twin>> = LazyLock::new(|| {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let kept = here.map(|folder| folder.join("crates/lookalike/tests/collections"));
    let entries = kept.filter_map(|kept| fs::read_dir(kept).ok()).next();
    let entries = entries.expect("the collections are in the repository");
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("items.redb").is_file() && !path.ends_with("format-1"));
    folders.sort();
    folders.iter().map(|folder| Twin::new(folder)).collect()
});

/// The collections and their files that can be damaged, in the order of the first byte of an input.
fn places() -> impl Iterator<Item = (&'static Twin, usize)> {
    TWINS.iter().flat_map(|twin| (0..twin.files.len()).map(move |file| (twin, file)))
}

/// Every file, undamaged.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |(place, (twin, file)): (usize, (&Twin, usize))| {
        [&[place as u8], &twin.files[file].1[..]].concat()
    };
    places().enumerate().map(seed).collect()
}

/// Does all that can be done with a collection of which one file has this content.
pub fn entry(input: &[u8]) {
    let Some((&place, content)) = input.split_first() else { return };
    let count = places().count();
    let (twin, file) = places().nth(usize::from(place) % count).expect("it is below the count");
    let (name, whole) = &twin.files[file];
    if content == whole {
        return;
    }
    let folder = twin.write();
    fs::write(folder.path().join(name), content).expect("a temporary folder can be written to");
    let damaged = Damaged {
        folder: folder.path(),
        twin,
        name: name.file_name().expect("it is a file").to_str().expect("it was named here"),
        is_derived: name != Path::new("items.redb"),
        is_harmless: name == Path::new("head") && is_head(content),
        is_changed: xxh3_64(content).is_multiple_of(8),
    };
    damaged.read();
    damaged.salvage();
    damaged.write();
}

/// Whether this may stand in the file `head`: nothing yet, or the number of a commit, perhaps an older
/// one.
fn is_head(content: &[u8]) -> bool {
    let number = content.split_first_chunk::<8>();
    content.is_empty() || number.is_some_and(|(it, sum)| xxh3_64(it).to_le_bytes() == sum)
}

impl Twin {
    fn new(folder: &Path) -> Self {
        let mut files = Vec::new();
        gather(folder, folder, &mut files);
        files.sort();
        let mut twin =
            Self { files, items: Vec::new(), matches: Vec::new(), by: Criteria::default() };
        let copy = twin.write();
        let collection = Collection::open(copy.path()).expect("it is whole");
        collection.verify().expect("it is whole");
        twin.by = collection.widest().clone();
        (twin.items, twin.matches) = all(&collection, &twin.by).expect("it is whole");
        twin
    }

    /// A copy of it.
    fn write(&self) -> TempDir {
        let folder = temporary();
        for (name, content) in &self.files {
            let path = folder.path().join(name);
            let made = fs::create_dir_all(path.parent().expect("it is in the folder"));
            made.and_then(|()| fs::write(path, content))
                .expect("a temporary folder can be written to");
        }
        folder
    }
}

/// In memory if the system has such a place, where nothing waits for a disk.
fn temporary() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.expect("a temporary folder can be made")
}

fn gather(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("it is in the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(root, &path, files);
        } else if !path.ends_with("lock") {
            let content = fs::read(&path).expect("it is in the repository");
            files.push((path.strip_prefix(root).expect("it is below").to_owned(), content));
        }
    }
}

/// All items, and what is alike each of them.
fn all(
    collection: &Collection,
    by: &Criteria,
) -> Result<(Vec<StoredItem>, Vec<Vec<Match>>), CollectionError> {
    let mut items = Vec::new();
    collection.for_each(|item| {
        items.push(item);
        std::ops::ControlFlow::Continue(())
    })?;
    let digests: Vec<Digest> = items.iter().map(|item| item.digest.clone()).collect();
    let matches = collection.search(&digests, by, usize::MAX)?;
    Ok((items, matches))
}

/// A collection of which one file is damaged.
struct Damaged<'a> {
    folder: &'a Path,
    twin: &'a Twin,
    /// The name of the file.
    name: &'a str,
    /// Whether it can be made from the others.
    is_derived: bool,
    is_harmless: bool,
    /// Whether items come and go in the end, which takes longer than all the rest.
    is_changed: bool,
}

impl Damaged<'_> {
    /// As a process that only reads sees it.
    fn read(&self) {
        match Collection::open_read_only(self.folder) {
            Ok(collection) => self.verify(&collection),
            // It was not closed, and is set right by whoever writes.
            Err(CollectionError::NotClosed { .. }) => {}
            Err(error) => self.refused(&error),
        }
    }

    /// As whoever writes sees it.
    fn write(&self) {
        let collection = match Collection::open(self.folder) {
            Ok(collection) => collection,
            Err(error) => return self.refused(&error),
        };
        self.verify(&collection);
        let repaired = collection.repair();
        assert!(repaired.is_ok() || !self.is_derived, "not repaired: {repaired:?}");
        let repaired = repaired.is_ok();
        if repaired {
            self.is_whole(&collection);
        }
        if self.is_changed {
            self.change(&collection, repaired);
        }
        drop(collection);
        match Collection::open(self.folder) {
            Ok(collection) => {
                assert!(collection.notes().is_empty() || !repaired, "{:?}", collection.notes());
                if repaired {
                    self.is_whole(&collection);
                }
            }
            Err(error) => assert!(!repaired, "repaired, and not opened: {error}"),
        }
    }

    /// An item comes and goes; what is there stays.
    fn change(&self, collection: &Collection, repaired: bool) {
        let digest = &self.twin.items[0].digest;
        let added = collection.add(&[NewItem::new("new", digest)], AddRule::Insert);
        let saved = collection.snapshot();
        let removed = collection.remove_many(&["new"]);
        let compacted = collection.compact();
        let copied = collection.backup(self.folder.join("backup"));
        if repaired {
            assert!(added.is_ok_and(|added| added[0].is_stored()), "not added");
            assert!(removed.is_ok_and(|removed| removed == [true]), "not removed");
            assert!(saved.is_ok() && compacted.is_ok(), "not saved: {saved:?} {compacted:?}");
            assert!(copied.is_ok(), "not copied: {copied:?}");
            self.is_whole(&Collection::open(self.folder.join("backup")).expect("a copy opens"));
        }
    }

    fn is_whole(&self, collection: &Collection) {
        let verified = collection.verify();
        assert!(verified.is_ok(), "not whole after a repair: {verified:?}");
        let refused = self.compare_or_refuse(collection);
        assert!(!refused, "whole, and an answer is refused");
    }

    /// Says whether an answer was refused.
    fn compare_or_refuse(&self, collection: &Collection) -> bool {
        match all(collection, &self.twin.by) {
            Ok((items, matches)) => {
                assert!(items == self.twin.items, "items differ");
                assert!(matches == self.twin.matches, "answers differ");
                false
            }
            Err(error) => {
                self.refused(&error);
                true
            }
        }
    }

    /// Answers and says whether all is whole.
    fn verify(&self, collection: &Collection) {
        let refused = self.compare_or_refuse(collection);
        match collection.verify() {
            Ok(()) => {
                assert!(!self.is_derived || self.is_harmless, "damage was not noticed");
                assert!(!refused, "verified, and an answer is refused");
            }
            Err(error) => self.refused(&error),
        }
    }

    /// An error is about the file that is damaged, or a record in it.
    fn refused(&self, error: &CollectionError) {
        let is_record = matches!(error, CollectionError::Record { .. }) && !self.is_derived;
        let message = error.to_string();
        assert!(message.contains(self.name) || is_record, "{} is not named: {message}", self.name);
    }

    /// What can be read is exported, as it was, and what cannot is counted.
    fn salvage(&self) {
        let (mut lines, mut listed) = (Vec::new(), Vec::new());
        let on_damaged = |error| listed.push(error);
        let exported =
            Collection::salvage(self.folder, &Registry::default(), &mut lines, on_damaged);
        let Exported { written, damaged, missing } = match exported {
            Ok(exported) => exported,
            Err(error) => {
                assert!(!self.is_derived, "not exported: {error}");
                return self.refused(&error);
            }
        };
        let lines = String::from_utf8(lines).expect("an export is text");
        let ids: Vec<String> = lines.lines().map(id).collect();
        let whole = self.twin.items.iter().map(|item| &item.id);
        let mut rest = whole.clone();
        assert!(ids.iter().all(|id| rest.any(|one| one == id)), "exported what is not there");
        assert!(ids.len() as u64 == written, "{} lines, said {written}", ids.len());
        let lost = damaged + missing;
        let is_told = lost > 0 || !listed.is_empty();
        assert!(is_told || whole.len() == ids.len(), "items are missing, which is not said");
        assert!(lost == 0 || !self.is_derived, "{lost} lost without any damage");
    }
}

/// The id of a line of an export.
fn id(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    value["id"].as_str().expect("it has an id").to_owned()
}
