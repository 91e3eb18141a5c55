//! What does the user get back? Data on stdout or in a file, talk on stderr.
//!
//! Nothing here knows how pairs were found.

mod groups;
pub mod html;
mod ids;
mod numbers;
mod output;
mod packed;
mod pairs;
mod panics;
mod partial;
mod progress;
mod removed;
mod skipped;
mod summary;
mod table;
mod visible;

use std::io::{self, Write};

use crate::args::TalkArgs;
pub use groups::GroupWriter;
pub use ids::{id_text, id_value, json_id};
pub use numbers::{bytes, counted, grouped, rate};
pub use output::{FolderOutput, Output, check_places};
pub use packed::{PackedOutput, Packing};
pub use pairs::PairWriter;
pub use panics::without_panic_message;
pub use partial::{Partial, remove_when_stopped};
pub use progress::Progress;
pub use removed::{RemovedRow, RemovedWriter};
pub use skipped::{SkippedRow, SkippedWriter};
pub use summary::{Figure, Summary, json_line};
pub use table::{TableFile, share_value};
pub use visible::visible;

/// One line of talk. If nobody listens any more, that is fine.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// What is read, and against what.
pub fn introduce(talk: TalkArgs, what: &str, against: Option<String>) {
    if !talk.quiet {
        say(&format!("reading {what}"));
        against.iter().for_each(|other| say(&format!("against {other}")));
    }
}

/// What was noticed while reading.
pub fn tell_notes<'a>(talk: TalkArgs, notes: impl Iterator<Item = &'a String>) {
    if !talk.quiet {
        notes.for_each(|note| say(note));
    }
}

/// Whether the reader of our output went away, as `head` does: an end, not an error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_pipe))
}
