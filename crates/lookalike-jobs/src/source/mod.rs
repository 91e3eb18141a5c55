//! Opens inputs, detects their format and reads their items.
//!
//! [`Inputs`] are all inputs of one command: [`Rows`], [`Files`] or [`Fingerprints`]. [`Ids`] keeps the
//! ids of items, [`Skipped`] what could not be read. Nothing here depends on the command.

mod arrays;
mod budget;
mod bytes;
mod cache;
mod charset;
mod compression;
mod csv;
mod field;
mod files;
mod fingerprints;
mod folder;
mod format;
mod hashes;
mod html;
mod http;
mod ids;
mod input;
mod inputs;
mod jsonl;
mod kept;
mod lines;
mod npy;
mod origin;
mod parquet;
mod path;
mod reader;
mod records;
mod rows;
mod seen;
mod sidecar;
mod skipped;
mod stamp;
#[cfg(test)]
mod tests;
mod warc;

pub use arrays::{are_vectors, read_vector};
pub use budget::Budget;
pub use bytes::Bytes;
pub use cache::Cache;
pub use field::{Content, Key, Vectors};
pub use files::{FileItem, FileReading, Files, are_images, read_file};
pub use fingerprints::{Fingerprints, PrintOptions, guess_kind};
use fingerprints::{OnPiece, PIECE};
pub use hashes::{Refusal, common_binary_width, is_number, parse_within};
pub use ids::{Id, Ids};
pub use input::read_text;
pub use inputs::{CustomDigester, InputOptions, Inputs, Item, Items, RawText, Reading};
pub use kept::{Kept, KeptOutput};
pub use lines::{LineText, LineTexts};
pub use path::{looks_like_path, path_of_text, path_text};
pub use rows::{Row, RowOptions, Rows};
pub use seen::{ContentHash, SeenFile};
pub use sidecar::Sidecars;
pub use skipped::{Bad, Reason, Skipped};
pub use stamp::{FileId, Stamp};
