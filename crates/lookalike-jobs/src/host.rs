//! What a front end hands to a job: where messages and data go, whose folders are used, and what must be
//! cleaned up if the process is stopped.
//!
//! Jobs print nothing and read no environment. A front end makes one [`Host`] for a process; each job
//! works with a [`Console`], which knows how much of it the user wants to hear.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{Context, Result};

use crate::{args::MessageOptions, report::Partials};

/// Takes what a job has to say.
pub trait Front: Send + Sync {
    /// Shows one line of messages.
    fn say(&self, line: &str);

    /// Where data goes that goes to no file.
    fn stdout(&self) -> Box<dyn Write + Send>;

    /// Whether people read the data as it is written.
    fn is_watched(&self) -> bool {
        false
    }

    /// Hears how far a run is.
    fn progress(&self, _step: Step) {}
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// This many more items are read.
    Read(usize),
    /// This share of the search is done.
    Searched(f64),
    /// Nothing is under way: messages may follow.
    Done,
}

/// The folders that are used besides those the user names. Without one, nothing is kept there.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// For what was done: journals, and locks of acting runs.
    pub state: Option<PathBuf>,
    /// For what can be computed again: digests of files.
    pub cache: Option<PathBuf>,
    /// For the user's data: the trash.
    pub data: Option<PathBuf>,
    /// For what does not fit into memory.
    pub temp: PathBuf,
    /// What relative paths start from.
    pub current: PathBuf,
}

/// One process.
pub struct Host {
    front: Box<dyn Front>,
    /// The folders that are used.
    pub places: Places,
    /// What is not complete yet.
    pub partials: Partials,
    /// How the user called the program, to tell other runs.
    pub command: String,
}

impl Host {
    /// For a front end.
    pub fn new(front: impl Front + 'static, places: Places, command: String) -> Self {
        Self { front: Box::new(front), places, partials: Partials::default(), command }
    }

    /// For programs that show nothing, and keep nothing but what is asked for.
    pub fn silent() -> Self {
        Self::new(Silent, Places::default(), "lookalike".to_owned())
    }

    /// Shows one line whatever the user wants to hear: an error.
    pub fn say(&self, line: &str) {
        self.front.say(line);
    }
}

/// A front end that shows nothing.
pub struct Silent;

impl Front for Silent {
    fn say(&self, _line: &str) {}

    fn stdout(&self) -> Box<dyn Write + Send> {
        Box::new(io::sink())
    }
}

/// A host as one job sees it.
#[derive(Clone, Copy)]
pub struct Console<'h> {
    /// The process the job runs in.
    pub host: &'h Host,
    /// Whether only errors are shown.
    pub quiet: bool,
    /// Whether the summary is JSON.
    pub json: bool,
}

impl<'h> Console<'h> {
    /// As the user asked for.
    pub fn new(host: &'h Host, options: MessageOptions) -> Self {
        let MessageOptions { quiet, json } = options;
        Self { host, quiet, json }
    }

    /// Of a command that has no summary.
    pub fn plain(host: &'h Host, quiet: bool) -> Self {
        Self { host, quiet, json: false }
    }

    /// Shows one line unless the user wants silence.
    pub fn note(self, line: &str) {
        if !self.quiet {
            self.say(line);
        }
    }

    /// Shows one line in any case.
    pub fn say(self, line: &str) {
        self.host.front.say(line);
    }

    /// Shows several lines unless the user wants silence.
    pub fn notes<'a>(self, lines: impl IntoIterator<Item = &'a String>) {
        lines.into_iter().for_each(|line| self.note(line));
    }

    /// Writes one text where data goes.
    pub fn print(self, text: &str) -> Result<()> {
        let mut stdout = self.stdout();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        written.context("cannot write to standard output")
    }

    /// Where data goes that goes to no file.
    pub fn stdout(self) -> Box<dyn Write + Send> {
        self.host.front.stdout()
    }

    /// Whether people read the data as it is written.
    pub fn is_watched(self) -> bool {
        self.host.front.is_watched()
    }

    /// Shows how far a run is, for as long as it lives.
    pub fn progress(self) -> Progress<'h> {
        Progress { host: self.host, quiet: self.quiet }
    }
}

/// Shows reading, then searching. Cleared when it is dropped: a bar left on the screen would stand
/// between the user and an error.
pub struct Progress<'h> {
    host: &'h Host,
    quiet: bool,
}

impl Progress<'_> {
    /// This many more items are read.
    pub fn read(&self, items: usize) {
        self.step(Step::Read(items));
    }

    /// This share of the search is done.
    pub fn searched(&self, share: f64) {
        self.step(Step::Searched(share));
    }

    /// Clears what is shown before messages follow.
    pub fn clear(&self) {
        self.step(Step::Done);
    }

    fn step(&self, step: Step) {
        if !self.quiet {
            self.host.front.progress(step);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
