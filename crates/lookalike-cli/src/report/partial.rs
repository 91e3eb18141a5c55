//! What is left behind if a run is stopped? Nothing: files and folders that are not complete are
//! known here, and are removed when a signal ends the program.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is being written right now.
static PARTIALS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Something that is not complete, for as long as this lives.
pub struct Partial {
    path: PathBuf,
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
        partials.insert(path.clone());
        Ok((made, Self { path }))
    }

    /// Puts something into a folder, which no signal removes meanwhile.
    pub fn fill<T>(&self, put: impl FnOnce(&Path) -> T) -> T {
        let _held = lock();
        put(&self.path)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        lock().remove(&self.path);
    }
}

fn lock() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, Ctrl-C and its kin remove what is not complete before they end the program.
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
            for path in partials.iter() {
                let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            }
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Whether whoever started us wants this signal to pass by, as `nohup` does. Linux tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
pub fn remove_when_stopped() {}
