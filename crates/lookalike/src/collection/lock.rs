//! Controls which processes may use the folder.
//!
//! Either one process may write, or any number may read. The file `lock` has a lock of the operating
//! system, which ends with the process, even after a crash. The file contains the process id for people.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

use super::CollectionError;

/// Holds the folder until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    exclusive: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.exclusive {
            // The next process must not read the id of one that has ended.
            let _ = self.file.set_len(0);
        }
    }
}

impl Lock {
    /// For the one process that writes.
    pub fn exclusive(folder: &Path) -> Result<Self, CollectionError> {
        let path = folder.join("lock");
        let failed = |source| CollectionError::Io { path: path.clone(), action: "locking", source };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        lock(file.try_lock(), &path, &mut file)?;
        // Only for people: if the id cannot be written, the lock still holds.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { file, exclusive: true })
    }

    /// For a process that only reads. `None` if there is no lock file: a read-only folder needs none.
    pub fn shared(folder: &Path) -> Result<Option<Self>, CollectionError> {
        let path = folder.join("lock");
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|source| CollectionError::Io {
                path: path.clone(),
                action: "locking",
                source,
            })?,
        };
        lock(file.try_lock_shared(), &path, &mut file)?;
        Ok(Some(Self { file, exclusive: false }))
    }
}

fn lock(
    locked: Result<(), TryLockError>,
    path: &Path,
    file: &mut File,
) -> Result<(), CollectionError> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(CollectionError::Locked { path: path.into(), holder: holder(file) })
        }
        Err(TryLockError::Error(source)) => {
            Err(CollectionError::Io { path: path.into(), action: "locking", source })
        }
    }
}

/// The process whose id is in the file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
