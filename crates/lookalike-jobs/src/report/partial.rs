//! [`Partials`] tracks incomplete files and folders, which are removed when a signal ends the program.
//! Files that are set aside are put back.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

/// The paths that a process is working on, and how to clean each up on a signal. Clones share their
/// state.
#[derive(Clone, Default)]
pub struct Partials(Arc<Mutex<BTreeMap<PathBuf, Cleanup>>>);

enum Cleanup {
    Remove,
    /// Remove a folder if it is empty.
    RemoveEmpty,
    /// Move it to this path, if that is free.
    PutBack(PathBuf),
}

/// The name of an output until it is complete: prefix, random letters and suffix.
pub const PREFIX: &str = ".lookalike-";
pub const RANDOM: usize = 6;
pub const SUFFIX: &str = ".partial";

/// An incomplete file or folder, until this is dropped.
pub struct Partial {
    partials: Partials,
    path: PathBuf,
    /// Locked while this process is alive, so that others recognise what was left behind.
    _lock: Option<File>,
}

impl Partials {
    /// Creates a temporary file or folder that is removed on a signal.
    pub fn create<T>(
        &self,
        create: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, Partial)> {
        // Locked during creation: clean-up waits until the path is known.
        let mut partials = self.lock();
        let created = create()?;
        let path = path(&created).to_owned();
        partials.insert(path.clone(), Cleanup::Remove);
        Ok((created, self.partial(path)))
    }

    /// Like [`create`](Self::create), for an output in this folder. Removes outputs of killed runs,
    /// and marks this one as alive.
    pub fn claim<T>(
        &self,
        folder: &Path,
        create: impl Fn() -> io::Result<T>,
        path: impl Fn(&T) -> &Path,
    ) -> io::Result<(T, Partial)> {
        remove_stale(folder);
        loop {
            let (created, mut partial) = self.create(&create, &path)?;
            // Where files cannot be locked, nothing is removed either.
            partial._lock = File::open(&partial.path).ok().filter(|file| file.lock().is_ok());
            // Another run may have removed it as stale before it was locked.
            if partial.path.exists() {
                return Ok((created, partial));
            }
        }
    }

    /// Creates a folder that is removed on a signal if it is empty.
    pub fn folder<T>(
        &self,
        create: impl FnOnce() -> io::Result<T>,
        path: &Path,
    ) -> io::Result<(T, Partial)> {
        let mut partials = self.lock();
        let created = create()?;
        partials.insert(path.to_owned(), Cleanup::RemoveEmpty);
        Ok((created, self.partial(path.to_owned())))
    }

    /// Renames a file to a path that only this run uses. It is put back on a signal.
    pub fn aside(&self, home: &Path, path: &Path) -> io::Result<Partial> {
        let mut partials = self.lock();
        fs::rename(home, path)?;
        partials.insert(path.to_owned(), Cleanup::PutBack(home.to_owned()));
        Ok(self.partial(path.to_owned()))
    }

    /// Removes incomplete outputs and puts back files that are set aside. Only for a process that is
    /// about to end: later calls block forever.
    pub fn clean_up(&self) {
        let partials = self.lock();
        // In reverse order, so that the content of a folder comes before the folder.
        for (path, cleanup) in partials.iter().rev() {
            let _ = match cleanup {
                Cleanup::Remove => fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)),
                Cleanup::RemoveEmpty => fs::remove_dir(path),
                Cleanup::PutBack(home) => crate::act::put_back(path, home),
            };
        }
        std::mem::forget(partials);
    }

    fn partial(&self, path: PathBuf) -> Partial {
        Partial { partials: self.clone(), path, _lock: None }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Cleanup>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partial {
    /// Writes to a folder. Clean-up waits until it is done.
    pub fn fill<T>(&self, put: impl FnOnce(&Path) -> T) -> T {
        let _held = self.partials.lock();
        put(&self.path)
    }
}

/// The name of a file until it is complete.
pub struct PartialName<'p> {
    pub partials: &'p Partials,
    /// A unique name.
    pub name: String,
}

impl PartialName<'_> {
    /// Creates a file with this name.
    pub fn create_in(&self, folder: &Path) -> io::Result<(NamedTempFile, Partial)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(&self.name).rand_bytes(0);
        self.partials.create(|| builder.tempfile_in(folder), NamedTempFile::path)
    }
}

/// Removes incomplete outputs of processes that have ended.
fn remove_stale(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten().filter(|entry| is_partial(&entry.file_name())) {
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

fn is_partial(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.partials.lock().remove(&self.path);
    }
}
