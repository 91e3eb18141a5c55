//! What is left behind if a run is stopped? Nothing: files and folders that are not complete are
//! known here, and are removed when a signal ends the program; files that were put aside are put back.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is being written or worked on right now, and what becomes of it if a signal comes.
static PARTIALS: Mutex<BTreeMap<PathBuf, Stopped>> = Mutex::new(BTreeMap::new());

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
    path: PathBuf,
    /// Locked while this process lives, so that others can tell what is left behind.
    _lock: Option<File>,
}

impl Partial {
    /// Makes a temporary file or folder that no signal can leave behind.
    pub fn create<T>(
        make: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, Self)> {
        // Held while it is made: a signal waits until it is known.
        let mut partials = lock();
        let made = make()?;
        let path = path(&made).to_owned();
        partials.insert(path.clone(), Stopped::Removed);
        Ok((made, Self { path, _lock: None }))
    }

    /// As [`create`](Self::create), for an output in this folder: removes what runs that were killed
    /// left there, and lets others tell that this one is alive.
    pub fn claim<T>(
        folder: &Path,
        make: impl Fn() -> io::Result<T>,
        path: impl Fn(&T) -> &Path,
    ) -> io::Result<(T, Self)> {
        remove_stale(folder);
        loop {
            let (made, mut partial) = Self::create(&make, &path)?;
            // Where there are no locks, nothing is removed either.
            partial._lock = File::open(&partial.path).ok().filter(|file| file.lock().is_ok());
            // Another run may have taken it for stale before it was locked.
            if partial.path.exists() {
                return Ok((made, partial));
            }
        }
    }

    /// Makes a folder of which nothing is left but what is put there.
    pub fn of_folder<T>(
        make: impl FnOnce() -> io::Result<T>,
        path: &Path,
    ) -> io::Result<(T, Self)> {
        let mut partials = lock();
        let made = make()?;
        partials.insert(path.to_owned(), Stopped::Tidied);
        Ok((made, Self { path: path.to_owned(), _lock: None }))
    }

    /// Renames a file to a path that nobody else uses; a signal puts it back.
    pub fn aside(home: &Path, path: &Path) -> io::Result<Self> {
        let mut partials = lock();
        fs::rename(home, path)?;
        partials.insert(path.to_owned(), Stopped::PutBack(home.to_owned()));
        Ok(Self { path: path.to_owned(), _lock: None })
    }

    /// Puts something into a folder, which no signal removes meanwhile.
    pub fn fill<T>(&self, put: impl FnOnce(&Path) -> T) -> T {
        let _held = lock();
        put(&self.path)
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
        lock().remove(&self.path);
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<PathBuf, Stopped>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, Ctrl-C and its kin remove what is not complete, and put back what was put aside,
/// before they end the program.
#[cfg(unix)]
pub fn remove_when_stopped() {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };
    let caught = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let Ok(mut signals) = Signals::new(caught) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Never released: nothing new may begin.
            let partials = lock();
            // What is in a folder comes before the folder.
            for (path, stopped) in partials.iter().rev() {
                let _ = match stopped {
                    Stopped::Removed => fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)),
                    Stopped::Tidied => fs::remove_dir(path),
                    Stopped::PutBack(home) => crate::act::put_back(path, home),
                };
            }
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Whether whoever started us wants this signal to pass by, as `nohup` does. Linux tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
pub fn remove_when_stopped() {}
