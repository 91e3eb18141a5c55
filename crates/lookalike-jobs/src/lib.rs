//! What the front ends of lookalike share: typed options in, a job run, its result out.
//!
//! Jobs read inputs, call the library and write outputs. They print nothing and read no
//! environment; a front end provides a [`Host`] for that.

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
pub use commands::dedup::{CallerOptions, DedupResult, Id};
pub use host::{Console, Folders, FrontEnd, Host, Silent, Step};
use options::OptionValue;
pub use report::{Partials, is_closed_pipe, visible};
pub use source::{CustomDigester, RawText};

/// The job of a command line.
pub struct Job(Command);

impl Job {
    /// Parses the arguments. The first one is the name of the program.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, ArgumentError> {
        Args::try_parse_from(args).map(|args| Self(args.command))
    }

    /// Runs the job with the built-in kinds.
    pub fn run(self, host: &Host) -> anyhow::Result<ExitCode> {
        self.run_with(host, &Registry::default())
    }

    /// The same with the kinds of a registry.
    pub fn run_with(self, host: &Host, registry: &Registry) -> anyhow::Result<ExitCode> {
        commands::run(self.0, host, registry)
    }
}

/// Runs `lookalike dedup` with these options and returns the result instead of printing it.
/// Requested output files are written.
///
/// Options with invalid values are an [`ArgumentError`].
pub fn dedup(
    inputs: Vec<PathBuf>,
    options: impl IntoIterator<Item = (String, OptionValue)>,
    caller: CallerOptions<'_>,
    host: &Host,
) -> anyhow::Result<DedupResult> {
    DedupResult::run(options::dedup_of(inputs, options)?, caller, host, &Registry::default())
}

/// The text of an error as the command line prints it, without `error: ` and the hint at `--help`.
pub fn message(error: &anyhow::Error) -> String {
    let Some(refused) = error.downcast_ref::<ArgumentError>() else { return format!("{error:#}") };
    let text = refused.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}
