//! The `lookalike` command line: arguments in, one job run, an exit code out.
//!
//! A library, so that the binary and the command of the Python package share it. Jobs are in
//! `lookalike-jobs`; this crate adds what a process has: its terminal, environment and signals.
//!
//! Data goes to stdout, messages go to stderr. Exit 0: done (or alike); 1: different; 2: error.

mod folders;
mod panics;
mod signals;
mod terminal;

use std::{ffi::OsString, process::ExitCode};

use lookalike_jobs::{Host, Job, is_closed_pipe, visible};

pub use folders::folders;
pub use panics::silence_caught_panics;
use terminal::Terminal;

/// Runs the command line. The first argument is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    let host = Host::new(Terminal::new(), folders(), words.join(" "));
    let job = match Job::parse(args) {
        Ok(job) => job,
        Err(error) => {
            // Help goes to stdout, errors go to stderr. A closed stream is not an error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    signals::clean_up_when_stopped(&host.partials);
    match panics::show_if_uncaught(|| job.run(&host)) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            host.message(&visible(&format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}
