//! What a front end provides to jobs: where messages and data go, which folders to use, and what to
//! clean up if the process is stopped.
//!
//! Jobs print nothing and read no environment. A front end creates one [`Host`] per process; each
//! job uses it through a [`Console`], which knows whether the user asked for silence.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{Context, Result};

use crate::{args::MessageOptions, report::Partials};

/// Receives the messages, data and progress of jobs.
pub trait FrontEnd: Send + Sync {
    /// Shows one line of messages.
    fn message(&self, line: &str);

    /// Where data goes that is not written to a file.
    fn stdout(&self) -> Box<dyn Write + Send>;

    /// Whether a person reads the data as it is written.
    fn is_interactive(&self) -> bool {
        false
    }

    /// Shows the progress of a run.
    fn progress(&self, _step: Step) {}
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// This many more items have been read.
    Read(usize),
    /// This fraction of the search is done.
    Searched(f64),
    /// Nothing is running: messages may follow.
    Idle,
}

/// The folders used besides those that the user names. What belongs to a missing one is not stored.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Journals, and locks of acting runs.
    pub state: Option<PathBuf>,
    /// What can be computed again: digests of files.
    pub cache: Option<PathBuf>,
    /// The user's data: the trash.
    pub data: Option<PathBuf>,
    /// Temporary files.
    pub temp: PathBuf,
    /// The base of relative paths.
    pub current: PathBuf,
}

/// The process that jobs run in.
pub struct Host {
    front_end: Box<dyn FrontEnd>,
    /// The folders that jobs use besides those that the user names.
    pub folders: Folders,
    /// Output files that are not complete yet.
    pub partials: Partials,
    /// The command line, shown to other runs.
    pub command: String,
}

impl Host {
    /// The host of a front end.
    pub fn new(front_end: impl FrontEnd + 'static, folders: Folders, command: String) -> Self {
        Self { front_end: Box::new(front_end), folders, partials: Partials::default(), command }
    }

    /// A host that shows nothing and uses no folders.
    pub fn silent() -> Self {
        Self::new(Silent, Folders::default(), "lookalike".to_owned())
    }

    /// Shows one line, even if the user asked for silence: an error.
    pub fn message(&self, line: &str) {
        self.front_end.message(line);
    }
}

/// A front end that shows nothing.
pub struct Silent;

impl FrontEnd for Silent {
    fn message(&self, _line: &str) {}

    fn stdout(&self) -> Box<dyn Write + Send> {
        Box::new(io::sink())
    }
}

/// A host as one job sees it.
#[derive(Clone, Copy)]
pub struct Console<'h> {
    /// The process that the job runs in.
    pub host: &'h Host,
    /// Whether only errors are shown.
    pub quiet: bool,
    /// Whether the summary is JSON.
    pub json: bool,
}

impl<'h> Console<'h> {
    /// For a command with a summary.
    pub fn new(host: &'h Host, options: MessageOptions) -> Self {
        let MessageOptions { quiet, json } = options;
        Self { host, quiet, json }
    }

    /// For a command without a summary.
    pub fn plain(host: &'h Host, quiet: bool) -> Self {
        Self { host, quiet, json: false }
    }

    /// Shows one line unless the user asked for silence.
    pub fn note(self, line: &str) {
        if !self.quiet {
            self.message(line);
        }
    }

    /// Shows one line, even if the user asked for silence.
    pub fn message(self, line: &str) {
        self.host.message(line);
    }

    /// Shows several lines unless the user asked for silence.
    pub fn notes<'a>(self, lines: impl IntoIterator<Item = &'a String>) {
        lines.into_iter().for_each(|line| self.note(line));
    }

    /// Writes a text to standard output.
    pub fn print(self, text: &str) -> Result<()> {
        let mut stdout = self.stdout();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        written.context("cannot write to standard output")
    }

    /// Where data goes that is not written to a file.
    pub fn stdout(self) -> Box<dyn Write + Send> {
        self.host.front_end.stdout()
    }

    /// Whether a person reads the data as it is written.
    pub fn is_interactive(self) -> bool {
        self.host.front_end.is_interactive()
    }

    /// Shows the progress of a run until it is dropped.
    pub fn progress(self) -> Progress<'h> {
        Progress { host: self.host, quiet: self.quiet }
    }
}

/// Shows reading, then searching. Cleared when dropped: a bar left on the screen would hide the
/// error that follows.
pub struct Progress<'h> {
    host: &'h Host,
    quiet: bool,
}

impl Progress<'_> {
    /// This many more items have been read.
    pub fn read(&self, items: usize) {
        self.step(Step::Read(items));
    }

    /// This fraction of the search is done.
    pub fn searched(&self, fraction: f64) {
        self.step(Step::Searched(fraction));
    }

    /// Clears the progress before messages follow.
    pub fn clear(&self) {
        self.step(Step::Idle);
    }

    fn step(&self, step: Step) {
        if !self.quiet {
            self.host.front_end.progress(step);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
