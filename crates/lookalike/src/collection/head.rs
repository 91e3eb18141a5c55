//! Was anything acknowledged that is no longer there?
//!
//! After a commit its number is written to the small file `head`. The store falls back to the
//! commit before if its newest one is damaged; without this file nobody would notice. It is not
//! synced: it may be behind, but never ahead of the truth.

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, Write},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_64;

use super::{CollectionError, about::State};

/// The file, held by the one who writes.
pub struct Head {
    file: File,
}

impl Head {
    pub fn open(folder: &Path) -> Result<Self, CollectionError> {
        let path = path(folder);
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let failed = |source| CollectionError::Io { path, action: "opening", source };
        Ok(Self { file: opened.map_err(failed)? })
    }

    /// Notes that this state was committed. Gives up the file if that fails: what it says is right
    /// then, too, only older.
    pub fn advance(mut self, state: State) -> Option<Self> {
        let bytes = encode(state.commits);
        let length = bytes.len() as u64;
        let written = self.file.rewind().and_then(|()| self.file.write_all(&bytes));
        written.and_then(|()| self.file.set_len(length)).ok()?;
        Some(self)
    }

    /// Refuses a file that holds something else than a number, and what [`check`](Self::check) refuses.
    /// There may be none, or one that nothing was written to yet.
    pub fn verify(folder: &Path, truth: &Path, state: State) -> Result<(), CollectionError> {
        let path = path(folder);
        let is_written = path.metadata().is_ok_and(|file| file.len() > 0);
        if is_written && acknowledged(folder).is_none() {
            return Err(CollectionError::Head { path });
        }
        Self::check(folder, truth, state)
    }

    /// Refuses a truth that is older than what was acknowledged.
    pub fn check(folder: &Path, truth: &Path, state: State) -> Result<(), CollectionError> {
        match acknowledged(folder) {
            Some(expected) if expected > state.commits => Err(CollectionError::RolledBack {
                path: truth.into(),
                found: state.commits,
                expected,
            }),
            _ => Ok(()),
        }
    }
}

/// What the file holds: the number, and its checksum.
pub fn encode(commits: u64) -> [u8; 16] {
    let commits = commits.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&commits);
    bytes[8..].copy_from_slice(&xxh3_64(&commits).to_le_bytes());
    bytes
}

fn path(folder: &Path) -> PathBuf {
    folder.join("head")
}

/// The commits that were acknowledged, if the file tells.
fn acknowledged(folder: &Path) -> Option<u64> {
    let bytes = fs::read(path(folder)).ok()?;
    let (commits, checksum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(commits).to_le_bytes() == checksum).then(|| u64::from_le_bytes(*commits))
}
