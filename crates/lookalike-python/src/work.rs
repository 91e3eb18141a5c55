//! How is work run, and how is it stopped? On a pool of threads, without the interpreter's lock, and
//! with an ear for Ctrl-C.

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

/// How often signals are looked for.
const LISTEN: Duration = Duration::from_millis(50);

/// Threads of this process. A forked child has none of its parent's: it makes its own.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// So many threads; all cores if nothing is said.
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
            // Dropping the parent's pool would talk to threads that are not there.
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

/// Runs something short on the pool, while other Python threads go on.
pub fn on_pool<T: Send>(py: Python<'_>, pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool.install(work))
}

/// Whether the user wants to stop; asked by the work itself.
pub struct Stop(AtomicBool);

/// What the work unwinds with when it is stopped.
struct Stopped;

impl Stop {
    /// Comes back if the work shall go on, and unwinds otherwise.
    pub fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// The same for a search that is watched.
    pub fn watch(&self) -> ControlFlow<()> {
        self.check();
        ControlFlow::Continue(())
    }
}

/// Runs something long while other Python threads go on, and stops it when a signal says so. It must
/// look at its [`Stop`] now and then.
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
                        unreachable!("whoever works says how it ended")
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
