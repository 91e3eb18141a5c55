//! Panic messages. Damaged files may make third-party decoders panic; jobs catch that and name the
//! file, so the message of the panic is not shown.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook},
    sync::{Mutex, PoisonError},
};

/// The last panic of this process, on any thread.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on, caught panics print no message.
pub fn silence_caught_panics() {
    set_hook(Box::new(|panic| {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// Runs a job. A panic that the job does not catch is shown, and ends the process as usual.
pub fn show_if_uncaught<T>(job: impl FnOnce() -> T) -> T {
    silence_caught_panics();
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| {
        if let Some(message) = LAST.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = writeln!(io::stderr().lock(), "{message}");
        }
        resume_unwind(panic)
    })
}
