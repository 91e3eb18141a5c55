//! How was a file when it was looked at? Tells later whether it is still the same, and whether two
//! names are names of one file.

use std::{
    fs::Metadata,
    time::{SystemTime, UNIX_EPOCH},
};

/// What the file system says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub bytes: u64,
    /// When its content was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Which file it is, where the system tells; two names with the same are hard links.
    pub file: Option<FileId>,
}

/// A file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

impl Stamp {
    pub fn of(data: &Metadata) -> Self {
        let modified = data.modified().map_or(0, nanoseconds);
        Self { bytes: data.len(), modified, file: file_id(data) }
    }
}

/// Since 1970; a time before is negative.
fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |time| -time),
    }
}

#[cfg(unix)]
fn file_id(data: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    Some(FileId { device: data.dev(), inode: data.ino() })
}

#[cfg(not(unix))]
fn file_id(_: &Metadata) -> Option<FileId> {
    None
}
