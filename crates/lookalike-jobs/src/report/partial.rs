//! Files and folders that are not complete: [`Partials`] knows them, so that nothing is left behind when
//! a signal ends the program. Files that were put aside are put back.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

/// What a process is writing or working on at this moment, and what becomes of it if a signal comes.
/// Clones share what they know.
#[derive(Clone, Default)]
pub struct Partials(Arc<Mutex<BTreeMap<PathBuf, Stopped>>>);

/// What becomes of something if a signal comes.
enum Stopped {
    Removed,
    /// A folder goes if nothing is in it.
    Tidied,
    /// It goes to this path, if that is free.
    PutBack(PathBuf),
}

/// What outputs are called until they are complete: this, as many random letters, and this.
pub const PREFIX: &str = ".lookalike-";
pub const RANDOM: usize = 6;
pub const SUFFIX: &str = ".partial";

/// Something that is not complete, for as long as this lives.
pub struct Partial {
    partials: Partials,
    path: PathBuf,
    /// Locked while this process lives, so that others can tell what is left behind.
    _lock: Option<File>,
}

impl Partials {
    /// Makes a temporary file or folder that no signal can leave behind.
    pub fn create<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, Partial)> {
        // Held while it is made: a signal waits until it is known.
        let mut partials = self.lock();
        let made = make()?;
        let path = path(&made).to_owned();
        partials.insert(path.clone(), Stopped::Removed);
        Ok((made, self.partial(path)))
    }

    /// As [`create`](Self::create), for an output in this folder: removes what runs that were killed
    /// left there, and lets others tell that this one is alive.
    pub fn claim<T>(
        &self,
        folder: &Path,
        make: impl Fn() -> io::Result<T>,
        path: impl Fn(&T) -> &Path,
    ) -> io::Result<(T, Partial)> {
        remove_stale(folder);
        loop {
            let (made, mut partial) = self.create(&make, &path)?;
            // Where there are no locks, nothing is removed either.
            partial._lock = File::open(&partial.path).ok().filter(|file| file.lock().is_ok());
            // Another run may have taken it for stale before it was locked.
            if partial.path.exists() {
                return Ok((made, partial));
            }
        }
    }

    /// Makes a folder of which nothing is left but what is put there.
    pub fn folder<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        path: &Path,
    ) -> io::Result<(T, Partial)> {
        let mut partials = self.lock();
        let made = make()?;
        partials.insert(path.to_owned(), Stopped::Tidied);
        Ok((made, self.partial(path.to_owned())))
    }

    /// Renames a file to a path that nobody else uses; a signal puts it back.
    pub fn aside(&self, home: &Path, path: &Path) -> io::Result<Partial> {
        let mut partials = self.lock();
        fs::rename(home, path)?;
        partials.insert(path.to_owned(), Stopped::PutBack(home.to_owned()));
        Ok(self.partial(path.to_owned()))
    }

    /// Removes what is not complete, and puts back what was put aside. For a process that is about to
    /// end: whoever makes or finishes anything from now on waits for ever.
    pub fn clean_up(&self) {
        let partials = self.lock();
        // What is in a folder comes before the folder.
        for (path, stopped) in partials.iter().rev() {
            let _ = match stopped {
                Stopped::Removed => fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)),
                Stopped::Tidied => fs::remove_dir(path),
                Stopped::PutBack(home) => crate::act::put_back(path, home),
            };
        }
        std::mem::forget(partials);
    }

    fn partial(&self, path: PathBuf) -> Partial {
        Partial { partials: self.clone(), path, _lock: None }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Stopped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partial {
    /// Puts something into a folder, which no signal removes meanwhile.
    pub fn fill<T>(&self, put: impl FnOnce(&Path) -> T) -> T {
        let _held = self.partials.lock();
        put(&self.path)
    }
}

/// How a file is called until it is complete.
pub struct PartialName<'p> {
    /// Who cleans up if the process is stopped meanwhile.
    pub partials: &'p Partials,
    /// Of this file alone.
    pub name: String,
}

impl PartialName<'_> {
    /// A new file of this name.
    pub fn create_in(&self, folder: &Path) -> io::Result<(NamedTempFile, Partial)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(&self.name).rand_bytes(0);
        self.partials.create(|| builder.tempfile_in(folder), NamedTempFile::path)
    }
}

/// Removes incomplete outputs of processes that are gone.
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
