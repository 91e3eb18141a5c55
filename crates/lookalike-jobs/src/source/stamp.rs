//! The state of a file in the file system, to notice changes and hard links.

use std::{
    fs::Metadata,
    time::{SystemTime, UNIX_EPOCH},
};

/// Size, modification time and identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub bytes: u64,
    /// The modification time in nanoseconds since 1970.
    pub modified: i64,
    /// The identity of the file, where the system has one. Hard links have the same identity.
    pub file: Option<FileId>,
}

/// Identifies a file independently of its name.
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

/// Since 1970; negative before.
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
