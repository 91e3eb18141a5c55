//! The `lookalike` command line: arguments in, one job run, an exit code out.
//!
//! A library so that other programs can carry it: the binary is one line around [`run`], and so is the
//! command that comes with the Python package. Jobs are in `lookalike-jobs`; here is what a process has
//! of its own: its terminal, its environment, its signals.
//!
//! Data goes to stdout, messages go to stderr. Exit 0: done (or alike); 1: different; 2: error.

mod panics;
mod places;
mod signals;
mod terminal;

use std::{ffi::OsString, process::ExitCode};

use lookalike_jobs::{Host, Job, is_closed_pipe, visible};

pub use panics::keep_panics_quiet;
pub use places::places;
use terminal::Terminal;

/// Runs the command line. The first argument is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    let host = Host::new(Terminal::new(), places(), words.join(" "));
    let job = match Job::parse(args) {
        Ok(job) => job,
        Err(refused) => {
            // Help goes to stdout, anything else to stderr; if nobody listens, that is fine.
            let _ = refused.print();
            return if refused.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    signals::clean_up_when_stopped(&host.partials);
    let done = panics::shown_if_they_escape(|| job.run(&host));
    match done {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            host.say(&visible(&format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}
