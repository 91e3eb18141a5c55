//! The output of a run: tables, kept items, the report page and the summary.
//!
//! Nothing here depends on how pairs were found.

mod compressed;
mod groups;
pub mod html;
mod ids;
mod numbers;
mod output;
mod pairs;
mod partial;
mod removed;
mod skipped;
mod summary;
mod table;
mod visible;

use std::io;

pub use compressed::{CompressedOutput, Compression};
pub use groups::GroupWriter;
pub use ids::{id_text, id_value, json_id};
pub use numbers::{bytes, counted, grouped, rate};
pub use output::{FolderOutput, Output, check_places};
pub use pairs::PairWriter;
pub use partial::{Partial, PartialName, Partials};
pub use removed::{RemovedRow, RemovedWriter};
pub use skipped::{SkippedRow, SkippedWriter};
pub use summary::{Figure, Summary, json_line};
pub use table::{TableFile, share_value};
pub use visible::visible;

/// Whether the reader of our output closed the pipe, as `head` does. That is not an error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_pipe))
}
