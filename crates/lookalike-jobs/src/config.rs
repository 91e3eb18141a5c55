//! What the work may take, and how inputs are read.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use lookalike::{Resources, hamming::Kernel, kind::Reads};
use rayon::ThreadPool;

use crate::{
    args::{CacheArgs, RowArgs, WorkArgs},
    host::{Host, Places},
    source::{Budget, Cache, FileReading, InputOptions, PrintOptions, RowOptions, Vectors},
};

/// Nobody.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());

/// Hears how far a search is, and may stop it.
pub type Watch<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

/// What the work may take.
#[derive(Clone)]
pub struct Work {
    pub memory: Option<u64>,
    pub temp: Option<PathBuf>,
    kernel: Option<Kernel>,
    /// Where temporary files go unless the user names a folder.
    usual_temp: PathBuf,
    cache: Option<PathBuf>,
    current: PathBuf,
    /// The threads of the run.
    pool: Arc<ThreadPool>,
}

impl Work {
    pub fn new(args: WorkArgs, host: &Host) -> Result<Self> {
        let WorkArgs { threads, memory, temp, kernel } = args;
        if let Some(folder) = &temp {
            ensure!(folder.is_dir(), "--temp {}: no such folder", folder.display());
        }
        let Places { cache, temp: usual_temp, current, .. } = host.places.clone();
        let pool = Arc::new(thread_pool(threads)?);
        Ok(Self { memory, temp, kernel, usual_temp, cache, current, pool })
    }

    /// The library's form of it. `progress` hears how far a search is.
    pub fn resources<'a>(&self, progress: Watch<'a>) -> Resources<'a> {
        let mut resources = Resources::new().watch(progress);
        if let Some(bytes) = self.memory {
            let folder = self.temp.as_ref().unwrap_or(&self.usual_temp).clone();
            resources = resources.memory(bytes, folder);
        }
        if let Some(kernel) = self.kernel {
            resources = resources.kernel(kernel);
        }
        resources
    }

    /// Runs `work` on the threads of the run.
    pub fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.pool.install(work)
    }
}

/// This many threads; one for each core if nothing is said.
fn thread_pool(threads: Option<usize>) -> Result<ThreadPool> {
    ensure!(threads != Some(0), "--threads 0: use at least 1, or leave it out for all cores");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("cannot start the threads; try a smaller --threads")
}

/// How inputs of this form are read.
pub fn input_options(reads: Reads, rows: &RowArgs, cache: &CacheArgs, work: &Work) -> InputOptions {
    let (temp, memory) = (work.temp.clone(), work.memory);
    // Only files are cached: nothing is created for others.
    let cache = match reads {
        Reads::Files => open_cache(cache, work),
        Reads::Records | Reads::Prints | Reads::Vectors => Cache::none(),
    };
    let (cache, budget) = (Arc::new(cache), Arc::new(Budget::new(memory)));
    InputOptions {
        rows: RowOptions {
            temp: temp.clone(),
            memory,
            vectors: (reads == Reads::Vectors).then(Vectors::default),
            ..RowOptions::from(rows)
        },
        files: FileReading { follow_links: rows.follow_links, cache, memory: budget },
        prints: PrintOptions { temp, memory, ..PrintOptions::default() },
    }
}

/// The cache that was asked for, or the usual one.
fn open_cache(cache: &CacheArgs, work: &Work) -> Cache {
    let usual = || Some(work.cache.as_ref()?.join("images.cache"));
    match cache.cache.clone().or_else(usual) {
        Some(path) if path != Path::new("none") => Cache::open(&path, &work.current),
        _ => Cache::none(),
    }
}
