//! What does the user get back? Data on stdout or in a file, talk on stderr.
//!
//! Nothing here knows how pairs were found.

mod equal;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the command that calls it comes with dedup")
)]
pub mod html;
mod ids;
mod numbers;
mod output;
mod pairs;
mod progress;
mod summary;

use std::io::{self, Write};

pub use equal::{EqualPolicy, for_each_pair};
pub use ids::json_id;
pub use numbers::{bytes, counted, grouped, rate};
pub use output::Output;
pub use pairs::{PairFormat, PairWriter};
pub use progress::Progress;
pub use summary::{Figure, Summary, json_line};

/// One line of talk. If nobody listens any more, that is fine.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether the reader of our output went away, as `head` does: an end, not an error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_pipe))
}
