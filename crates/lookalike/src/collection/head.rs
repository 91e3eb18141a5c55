//! Detects the loss of acknowledged commits.
//!
//! After each commit, its number is written to the small file `head`. If its newest commit is damaged,
//! the store falls back to the one before; without this file, that would go unnoticed. The file is not
//! synced: it may be behind the truth, but never ahead of it.

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, Write},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_64;

use super::{CollectionError, about::State};

/// The file, kept open by the writer.
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

    /// Records that this state was committed. Closes the file if that fails: its content is then older,
    /// but still correct.
    pub fn advance(mut self, state: State) -> Option<Self> {
        let bytes = encode(state.commits);
        let length = bytes.len() as u64;
        let written = self.file.rewind().and_then(|()| self.file.write_all(&bytes));
        written.and_then(|()| self.file.set_len(length)).ok()?;
        Some(self)
    }

    /// Like [`check`](Self::check), but also returns an error if the file is damaged. The file may be
    /// missing or empty.
    pub fn verify(folder: &Path, truth: &Path, state: State) -> Result<(), CollectionError> {
        let path = path(folder);
        let is_written = path.metadata().is_ok_and(|file| file.len() > 0);
        if is_written && acknowledged(folder).is_none() {
            return Err(CollectionError::Head { path });
        }
        Self::check(folder, truth, state)
    }

    /// Returns an error if the truth lacks acknowledged commits.
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

/// The content of the file: the number and its checksum.
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

/// The number of acknowledged commits, if the file is intact.
fn acknowledged(folder: &Path) -> Option<u64> {
    let bytes = fs::read(path(folder)).ok()?;
    let (commits, checksum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(commits).to_le_bytes() == checksum).then(|| u64::from_le_bytes(*commits))
}
