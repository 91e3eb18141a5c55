//! Messages of panics. Damaged files may make foreign decoders panic; jobs catch that and name the
//! file, so the panic itself is not shown.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook},
    sync::{Mutex, PoisonError},
};

/// The last panic of this process, on any thread.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on, a panic that is caught says nothing.
pub fn keep_panics_quiet() {
    set_hook(Box::new(|panic| {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// Runs a job; a panic that nobody in it catches is shown, and ends the process as panics do.
pub fn shown_if_they_escape<T>(job: impl FnOnce() -> T) -> T {
    keep_panics_quiet();
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        last.iter().for_each(|message| show(message));
        resume_unwind(panic)
    })
}

fn show(message: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}
