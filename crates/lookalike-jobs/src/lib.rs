//! What the front ends of lookalike share: typed options in, a job run, its outcome out.
//!
//! Jobs read inputs, call the library and write outputs. They print nothing and read no environment:
//! a front end hands them a [`Host`] for that.

mod act;
mod args;
mod commands;
mod config;
#[doc(hidden)]
pub mod fuzz;
mod host;
mod kinds;
pub mod options;
mod report;
mod source;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Parser;
use lookalike::kind::Registry;

pub use args::size;
use args::{Args, Command};
pub use clap::Error as ArgumentError;
pub use commands::dedup::{Answer, Given, Id};
pub use host::{Console, Front, Host, Places, Silent, Step};
use options::OptionValue;
pub use report::{Partials, is_closed_pipe, visible};
pub use source::{CustomDigester, RawText};

/// A job that a command line asks for.
pub struct Job(Command);

impl Job {
    /// Reads the arguments. The first one is the name of the program.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, ArgumentError> {
        Args::try_parse_from(args).map(|args| Self(args.command))
    }

    /// Runs it among the kinds there are.
    pub fn run(self, host: &Host) -> anyhow::Result<ExitCode> {
        self.run_with(host, &Registry::default())
    }

    /// The same with kinds of the caller's own.
    pub fn run_with(self, host: &Host, registry: &Registry) -> anyhow::Result<ExitCode> {
        commands::run(self.0, host, registry)
    }
}

/// Runs `lookalike dedup` with these options, and returns what it decided instead of showing it. Files
/// that are asked for are written.
///
/// Values that cannot be read are an [`ArgumentError`].
pub fn dedup(
    inputs: Vec<PathBuf>,
    options: impl IntoIterator<Item = (String, OptionValue)>,
    given: Given<'_>,
    host: &Host,
) -> anyhow::Result<Answer> {
    Answer::of(options::dedup_of(inputs, options)?, given, host, &Registry::default())
}

/// What the command line says of an error, without the `error: ` in front of it and the hints at
/// its help behind it.
pub fn message(error: &anyhow::Error) -> String {
    let Some(refused) = error.downcast_ref::<ArgumentError>() else { return format!("{error:#}") };
    let text = refused.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}
