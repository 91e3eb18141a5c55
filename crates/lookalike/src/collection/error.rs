//! Errors of collections. Their messages say what to do.

use std::{io, path::PathBuf, sync::Arc};

use crate::{index::IndexError, pairs::PairsError};

/// Why a collection could not be opened, changed, searched or copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// This folder does not contain a collection.
    #[error("{}: no collection here ({what}); create one first", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// This folder already contains something.
    #[error("{}: already there; name a folder that does not exist or is empty", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Another process has it open.
    #[error(
        "{}: the collection is open in {}; close it there first (the lock is on this file)",
        path.display(),
        holder.map_or("another process".to_owned(), |id| format!("process {id}"))
    )]
    Locked {
        /// The file that is locked.
        path: PathBuf,
        /// The process that has it open, if known.
        holder: Option<u32>,
    },
    /// The collection was opened read-only.
    #[error("{}: opened for reading only; nothing can be changed", path.display())]
    ReadOnly {
        /// The folder.
        path: PathBuf,
    },
    /// A write failed, and the file could not be reopened.
    #[error("{}: closed after a write that failed; searches go on, and the next change opens it again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// The collection was not closed properly, and repairing it needs write access.
    #[error("{}: was not closed properly; open it once for writing, which sets it right", path.display())]
    NotClosed {
        /// The folder.
        path: PathBuf,
    },
    /// The collection was written in another format.
    #[error(
        "{}: written in format {found}, this program reads {reads} only; {}", path.display(),
        if found > reads { "use a newer lookalike" } else { "build the collection again from its items" }
    )]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The format that can be read.
        reads: u64,
    },
    /// The records are damaged.
    #[error("{}: {what}: the collection is damaged; repair it, or restore a backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The search tables are damaged, or do not match the records.
    #[error("{}: search tables: {what}; repair the collection, which rebuilds them", path.display())]
    Tables {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Acknowledged commits are missing from the records.
    #[error(
        "{}: holds {found} commits, but {expected} were acknowledged: the last ones are lost; \
         restore a backup, or remove the file \"head\" beside it to go on without them",
        path.display()
    )]
    RolledBack {
        /// The record file.
        path: PathBuf,
        /// Commits in it.
        found: u64,
        /// Commits that were acknowledged.
        expected: u64,
    },
    /// The file that records the last acknowledged commit is damaged.
    #[error(
        "{}: differs from its checksum, so nobody would notice if the last commits were lost; repair \
         the collection, which writes it again", path.display()
    )]
    Head {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The store of the records returned an error; nothing was changed.
    #[error("{}: {action}: {source}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The error of the store.
        source: Box<redb::Error>,
    },
    /// A write failed, and the store could not be reopened to see whether it was stored.
    #[error(
        "{source}; whether the last items were stored shows when the collection can be opened again"
    )]
    Unsure {
        /// The first error.
        source: Box<CollectionError>,
    },
    /// The items are of another kind or recipe.
    #[error(
        "the collection holds \"{collection}\", these are \"{given}\"; they cannot be compared"
    )]
    Recipe {
        /// The recipe of the collection.
        collection: String,
        /// The recipe of the given items.
        given: String,
    },
    /// No registered kind can open this collection.
    #[error("{}: holds items of the kind \"{kind}\", by a recipe this program cannot open", path.display())]
    UnknownKind {
        /// The folder.
        path: PathBuf,
        /// The name of the kind.
        kind: String,
    },
    /// The distance is wider than a fingerprint.
    #[error("a distance of {distance} bits is more than the {bits} of a fingerprint")]
    TooWide {
        /// The requested distance.
        distance: u32,
        /// The width of a fingerprint in bits.
        bits: u32,
    },
    /// An item cannot be stored or searched for.
    #[error("item \"{id}\": {what}")]
    Item {
        /// Its id, shortened.
        id: String,
        /// Why.
        what: String,
    },
    /// The record of an item is damaged.
    #[error("item \"{id}\": its record, number {sequence}, differs from its checksum")]
    Record {
        /// Its position in the order of insertion.
        sequence: u64,
        /// Its id, shortened, as far as it can be read.
        id: String,
    },
    /// A line of an import cannot be read or stored.
    #[error("line {line}: {what}")]
    Line {
        /// The line number, starting at 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// An error of the search tables.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Finding the pairs for groups failed.
    #[error("making groups: {source}")]
    Groups {
        /// The cause.
        source: Box<PairsError>,
    },
    /// A commit of several changes failed; each of them returns this error.
    #[error("{0}")]
    Shared(Arc<CollectionError>),
}
