//! Runs work on a pool of threads without the interpreter's lock, and stops it on Ctrl-C.

use std::{
    any::Any,
    mem,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{error::exception, number::Threads};

/// How often signals are checked.
const LISTEN: Duration = Duration::from_millis(50);

/// The threads of this process. A forked child creates its own.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// This many threads, or one per core.
pub fn pool(threads: Option<Threads>) -> PyResult<Arc<ThreadPool>> {
    if threads.is_some() {
        return build(threads);
    }
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    match &*pool {
        Some((of, threads)) if *of == process => Ok(threads.clone()),
        _ => {
            let threads = build(None)?;
            // Dropping the parent's pool would wait for threads that do not exist here.
            mem::forget(pool.replace((process, threads.clone())));
            Ok(threads)
        }
    }
}

fn build(threads: Option<Threads>) -> PyResult<Arc<ThreadPool>> {
    let count = threads.map_or(0, |threads| threads.0.get().into());
    let built = ThreadPoolBuilder::new().num_threads(count).build();
    built.map(Arc::new).map_err(|error| exception("OptionError", &format!("threads: {error}")))
}

/// Runs short work on the pool without the interpreter's lock.
pub fn on_pool<T: Send>(py: Python<'_>, pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool.install(work))
}

/// Lets work check whether the user wants to stop.
pub struct Stop(AtomicBool);

/// The payload of the unwind that stops work.
struct Stopped;

impl Stop {
    /// Returns if the work should continue, and unwinds otherwise.
    pub fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// Like [`check`](Self::check), as the watcher of a search.
    pub fn watch(&self) -> ControlFlow<()> {
        self.check();
        ControlFlow::Continue(())
    }
}

/// Runs long work without the interpreter's lock, and stops it on a signal. The work must check its
/// [`Stop`] regularly.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Stop) -> T + Send) -> PyResult<T> {
    py.detach(|| {
        let stop = Stop(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(1);
        let mut raised = None;
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(&stop)));
                let _ = sender.send(outcome);
            });
            loop {
                match receiver.recv_timeout(LISTEN) {
                    Ok(outcome) => return outcome,
                    Err(RecvTimeoutError::Disconnected) => {
                        unreachable!("the worker always sends its result")
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(signal) = Python::attach(|py| py.check_signals()) {
                            stop.0.store(true, Ordering::Relaxed);
                            raised = Some(signal);
                        }
                    }
                }
            }
        });
        match (outcome, raised) {
            (_, Some(signal)) => Err(signal),
            (Ok(done), None) => Ok(done),
            (Err(panic), None) => resume_unwind(panic as Box<dyn Any + Send>),
        }
    })
}
