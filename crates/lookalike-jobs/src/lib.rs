//! The `lookalike` command line: arguments in, one command run, an exit code out.
//!
//! A library so that other programs can carry it: the binary is one line around [`run`], and the
//! Python package another. Whoever only wants to find near-duplicates wants the crate `lookalike`.
//!
//! Data goes to stdout, talk to stderr. Exit 0: done (or alike); 1: different; 2: error.

mod act;
mod args;
mod commands;
mod config;
#[doc(hidden)]
pub mod fuzz;
mod kinds;
mod places;
mod report;
mod source;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;
use lookalike::Registry;

pub use args::size;
pub use clap::Error as ArgumentError;
pub use commands::dedup::{Answer, Given, Id};
pub use source::{Make, RawText};

/// Runs the command line. The first argument is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_with(args, &Registry::default())
}

/// The same with kinds of the caller's own.
pub fn run_with(args: impl IntoIterator<Item = OsString>, registry: &Registry) -> ExitCode {
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(refused) => {
            // Help goes to stdout, anything else to stderr; if nobody listens, that is fine.
            let _ = refused.print();
            return if refused.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    report::remove_when_stopped();
    match commands::run(args.command, registry) {
        Ok(code) => code,
        Err(error) if report::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&report::visible(&format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}

/// Runs `lookalike dedup` with these arguments (without the names of program and command), and
/// hands back what it decided instead of telling it. Files that are asked for are written.
///
/// Arguments that cannot be read are an [`ArgumentError`].
pub fn dedup(args: impl IntoIterator<Item = OsString>, given: Given<'_>) -> anyhow::Result<Answer> {
    let command = ["lookalike".into(), "dedup".into()].into_iter().chain(args);
    match args::Args::try_parse_from(command)?.command {
        args::Command::Dedup(args) => Answer::of(*args, given, &Registry::default()),
        _ => unreachable!("the command was given as dedup"),
    }
}

/// What the command line says of an error, without the `error: ` in front of it and the hints at
/// its help behind it.
pub fn message(error: &anyhow::Error) -> String {
    let Some(refused) = error.downcast_ref::<ArgumentError>() else { return format!("{error:#}") };
    let text = refused.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}
