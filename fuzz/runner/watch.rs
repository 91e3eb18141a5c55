//! Watches the runs: records panics on all threads, endless runs and crashes.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    panic::PanicHookInfo,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use cpu_time::ProcessTime;

/// A run with more CPU time than this counts as endless.
const MAX_TIME: Duration = Duration::from_secs(60);

static PANICS: Mutex<Panics> = Mutex::new(Panics { first: None, first_own: None });

struct Panics {
    first: Option<String>,
    /// The first one in code of this repository.
    first_own: Option<String>,
}

fn panics() -> MutexGuard<'static, Panics> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message of the first panic since [`forget_panics`], on any thread, including caught ones.
pub fn first_panic() -> Option<String> {
    panics().first.clone()
}

/// The same for panics in code of this repository.
pub fn first_own_panic() -> Option<String> {
    panics().first_own.clone()
}

pub fn forget_panics() {
    *panics() = Panics { first: None, first_own: None };
}

fn remember(panic: &PanicHookInfo<'_>) {
    // Code of this repository is compiled by paths in it, all other code by absolute ones.
    let is_own = panic.location().is_some_and(|place| Path::new(place.file()).is_relative());
    let mut panics = panics();
    panics.first.get_or_insert_with(|| panic.to_string());
    if is_own {
        panics.first_own.get_or_insert_with(|| panic.to_string());
    }
}

/// Records the current run in a file: a stack overflow ends the process without a message.
pub struct Watch {
    note: PathBuf,
    file: Mutex<File>,
    runs: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    guard: JoinHandle<()>,
}

impl Watch {
    pub fn start(folder: PathBuf) -> Self {
        std::panic::set_hook(Box::new(remember));
        let note = folder.join(format!("running-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the target folder can be written to");
        let file = Mutex::new(File::create(&note).expect("the target folder can be written to"));
        let (runs, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let guard = thread::spawn({
            let (runs, done, note) = (runs.clone(), done.clone(), note.clone());
            move || stop_endless_runs(&runs, &done, &note)
        });
        Self { note, file, runs, done, guard }
    }

    pub fn begin(&self, target: &str, run: u64) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Lines have a fixed length, so that each overwrites the one before.
        let line = format!("{target:<12} run {run:<20}\n");
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(line.as_bytes()));
        written.expect("the target folder can be written to");
    }

    pub fn end(&self) {
        self.runs.fetch_add(1, Relaxed);
    }

    pub fn finish(self) {
        self.done.store(true, Relaxed);
        self.guard.thread().unpark();
        let _ = self.guard.join();
        let _ = fs::remove_file(&self.note);
    }
}

/// Ends the process if a run exceeds [`MAX_TIME`]. Uses CPU time, so that a busy machine does not
/// count as an endless run.
fn stop_endless_runs(runs: &AtomicU64, done: &AtomicBool, note: &PathBuf) {
    let (mut seen, mut since) = (0, ProcessTime::now());
    while !done.load(Relaxed) {
        thread::park_timeout(Duration::from_secs(1));
        let now = runs.load(Relaxed);
        if now != seen {
            (seen, since) = (now, ProcessTime::now());
        } else if since.elapsed() > MAX_TIME {
            let running = fs::read_to_string(note).unwrap_or_default();
            println!("fuzz: {} does not end", running.trim());
            std::process::exit(1);
        }
    }
}
