//! The resources of a run, and how inputs are read.

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
    host::{Folders, Host},
    source::{Budget, Cache, FileReading, InputOptions, PrintOptions, RowOptions, Vectors},
};

/// Ignores the progress of a search.
pub const NO_PROGRESS: OnProgress<'static> = &|_| ControlFlow::Continue(());

/// Called with the fraction of a search that is done; may stop it.
pub type OnProgress<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

/// What a run works with: threads, memory, folders.
#[derive(Clone)]
pub struct Work {
    pub memory: Option<u64>,
    pub temp: Option<PathBuf>,
    kernel: Option<Kernel>,
    /// Where temporary files go unless `temp` is given.
    default_temp: PathBuf,
    cache: Option<PathBuf>,
    current: PathBuf,
    pool: Arc<ThreadPool>,
}

impl Work {
    pub fn new(args: WorkArgs, host: &Host) -> Result<Self> {
        let WorkArgs { threads, memory, temp, kernel } = args;
        if let Some(folder) = &temp {
            ensure!(
                folder.is_dir(),
                "--temp {}: no such folder; create it, or choose another",
                folder.display()
            );
        }
        let Folders { cache, temp: default_temp, current, .. } = host.folders.clone();
        let pool = Arc::new(thread_pool(threads)?);
        Ok(Self { memory, temp, kernel, default_temp, cache, current, pool })
    }

    /// The same as options of the library.
    pub fn resources<'a>(&self, on_progress: OnProgress<'a>) -> Resources<'a> {
        let mut resources = Resources::new().watch(on_progress);
        if let Some(bytes) = self.memory {
            let folder = self.temp.as_ref().unwrap_or(&self.default_temp).clone();
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

/// This many threads; by default, one per core.
fn thread_pool(threads: Option<usize>) -> Result<ThreadPool> {
    ensure!(threads != Some(0), "--threads 0: use at least 1, or omit --threads to use all cores");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("cannot start the threads; use a smaller --threads")
}

/// How inputs of this form are read: which options, which cache, how much memory.
pub fn input_options(reads: Reads, rows: &RowArgs, cache: &CacheArgs, work: &Work) -> InputOptions {
    let (temp, memory) = (work.temp.clone(), work.memory);
    // Only digests of files are cached.
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

/// The cache that `--cache` names, or the default one.
fn open_cache(cache: &CacheArgs, work: &Work) -> Cache {
    let default = || Some(work.cache.as_ref()?.join("images.cache"));
    match cache.cache.clone().or_else(default) {
        Some(path) if path != Path::new("none") => Cache::open(&path, &work.current),
        _ => Cache::none(),
    }
}
