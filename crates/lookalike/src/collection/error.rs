//! What can go wrong with a collection, in words that say what to do.

use std::{io, path::PathBuf, sync::Arc};

use crate::{index::IndexError, pairs::PairsError};

/// Why a collection could not be opened, changed, searched or copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// There is no collection in this folder.
    #[error("{}: no collection here ({what}); create one first", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// There is something in this folder already.
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
        /// The process that has it, if it could be told.
        holder: Option<u32>,
    },
    /// Opened for reading only.
    #[error("{}: opened for reading only; nothing can be changed", path.display())]
    ReadOnly {
        /// The folder.
        path: PathBuf,
    },
    /// A write failed, and the file could not be opened again.
    #[error("{}: closed after a write that failed; searches go on, and the next change opens it again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// It was not closed, and setting it right takes the right to write.
    #[error("{}: was not closed properly; open it once for writing, which sets it right", path.display())]
    NotClosed {
        /// The folder.
        path: PathBuf,
    },
    /// Written by another version.
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
    /// The records are not what was written.
    #[error("{}: {what}: the collection is damaged; repair it, or restore a backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The search tables are not what was written, or not what follows from the records.
    #[error("{}: search tables: {what}; repair the collection, which rebuilds them", path.display())]
    Tables {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The records are older than what was acknowledged.
    #[error(
        "{}: holds {found} commits, but {expected} were acknowledged: the last ones are lost; \
         restore a backup, or remove the file \"head\" beside it to go on without them",
        path.display()
    )]
    RolledBack {
        /// The file of the records.
        path: PathBuf,
        /// Commits in it.
        found: u64,
        /// Commits that were acknowledged.
        expected: u64,
    },
    /// The file that notes what was acknowledged is not what was written.
    #[error(
        "{}: differs from its checksum, so nobody would notice if the last commits were lost; repair \
         the collection, which writes it again", path.display()
    )]
    Head {
        /// The file.
        path: PathBuf,
    },
    /// The system refused to read or write.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The store of the records refused; nothing was changed.
    #[error("{}: {action}: {source}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What it said.
        source: Box<redb::Error>,
    },
    /// The store of the records failed, and could not be opened again to see what it holds.
    #[error(
        "{source}; whether the last items were stored shows when the collection can be opened again"
    )]
    Unsure {
        /// What went wrong first.
        source: Box<CollectionError>,
    },
    /// The items are of another kind or recipe.
    #[error(
        "the collection holds \"{collection}\", these are \"{given}\"; they cannot be compared"
    )]
    Recipe {
        /// What the collection holds.
        collection: String,
        /// What was given.
        given: String,
    },
    /// Nobody here knows its kind.
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
        /// What was asked for.
        distance: u32,
        /// Bits of a fingerprint.
        bits: u32,
    },
    /// An item that cannot be stored.
    #[error("item \"{id}\": {what}")]
    Item {
        /// Its id, shortened.
        id: String,
        /// What is wrong with it.
        what: String,
    },
    /// A record that is not what was written.
    #[error("item \"{id}\": its record, number {sequence}, differs from its checksum")]
    Record {
        /// Its number in the order of insertion.
        sequence: u64,
        /// Its id, shortened, as far as it can be read.
        id: String,
    },
    /// A line of an export that cannot be read.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The search tables.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The pairs for groups.
    #[error("making groups: {source}")]
    Groups {
        /// What went wrong.
        source: Box<PairsError>,
    },
    /// Several changes were to be made at once, and all of them failed for this.
    #[error("{0}")]
    Shared(Arc<CollectionError>),
}
