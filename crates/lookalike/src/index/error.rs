//! The errors of indexes.

use std::{io, path::PathBuf};

/// Why an index could not be searched, built, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The search is wider than the index was made for.
    #[error(
        "a search within {asked} bits, but the index was made for at most {max}; build it with a larger radius"
    )]
    Radius {
        /// The radius of the search.
        asked: u32,
        /// The largest radius of the index.
        max: u32,
    },
    /// There are more items than 32-bit ids.
    #[error("{items} items are too many for one index; the maximum is {}", u32::MAX)]
    TooMany {
        /// The number of items.
        items: usize,
    },
    /// The system provided no memory.
    #[error("reserving {bytes} bytes for the index: {source}")]
    Memory {
        /// The number of bytes requested.
        bytes: usize,
        /// The system's error.
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not an index.
    #[error("{}: not a lookalike index ({found}); name a file that `save` wrote", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// The file has another format version.
    #[error("{}: has format {found}, this program reads format {reads}; rebuild it from its source", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The supported format.
        reads: u32,
    },
    /// The file holds another kind of index.
    #[error("{}: holds a {found} index, not a {expected} one; open it with the right type", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// The file holds fingerprints of another width.
    #[error("{}: holds {found}-bit fingerprints, not {expected}", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// Its width in bits, a multiple of 64.
        found: u64,
        /// The expected width in bits.
        expected: u64,
    },
    /// The length of the file differs from its header.
    #[error("{}: has {found} bytes where its header says {expected}: the file is damaged; rebuild it from its source", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length in its header.
        expected: u64,
    },
    /// The content of the file is damaged.
    #[error("{}: {what}: the file is damaged; rebuild it from its source", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
}
