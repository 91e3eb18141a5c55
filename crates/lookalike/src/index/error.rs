//! What can go wrong with an index, in words that say what to do.

use std::{io, path::PathBuf};

/// Why an index could not be searched, built, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The search is wider than the index was made for.
    #[error(
        "a search within {asked} bits, but the index was made for at most {max}; make it with a larger radius"
    )]
    Radius {
        /// The radius of the search.
        asked: u32,
        /// The largest radius of the index.
        max: u32,
    },
    /// There are more items than 32-bit ids.
    #[error("{items} items are too many for one index; the most is {}", u32::MAX)]
    TooMany {
        /// How many there were.
        items: usize,
    },
    /// The system gave no memory.
    #[error("reserving {bytes} bytes for the index: {source}")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to read or write.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{}: not a lookalike index ({found}); name a file that `save` wrote", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as can be told.
        found: String,
    },
    /// The file was written by another version.
    #[error("{}: written by format {found}, this program reads {reads}; rebuild it from its source", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that can be read.
        reads: u32,
    },
    /// The file holds another kind of index.
    #[error("{}: holds a {found} index, not a {expected} one; open it as what it is", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: &'static str,
        /// What was to be opened.
        expected: &'static str,
    },
    /// The file holds fingerprints of another width.
    #[error("{}: holds {found}-bit fingerprints, not {expected}", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// Its width in bits, a multiple of 64.
        found: u64,
        /// The width that was to be opened.
        expected: u64,
    },
    /// The file has another length than its header says.
    #[error("{}: has {found} bytes where its header says {expected}: the file is damaged; rebuild it from its source", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length it should have.
        expected: u64,
    },
    /// The file's content is not what was written.
    #[error("{}: {what}: the file is damaged; rebuild it from its source", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
}
