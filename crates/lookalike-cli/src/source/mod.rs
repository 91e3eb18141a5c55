//! What does the user give us? Opens inputs, says what is in them, reads their items.
//!
//! [`Fingerprints`] or [`Rows`] are all inputs of one command; [`Ids`] remembers what items are
//! called, [`Skipped`] what could not be read. Nothing here knows what items are read for.

mod bytes;
mod charset;
mod csv;
mod field;
mod fingerprints;
mod folder;
mod format;
mod hashes;
mod html;
mod http;
mod ids;
mod input;
mod jsonl;
mod kept;
mod lines;
mod npy;
mod origin;
mod pack;
mod parquet;
mod pictures;
mod reader;
mod records;
mod rows;
mod skipped;
#[cfg(test)]
mod tests;
mod warc;

pub use bytes::Bytes;
pub use field::{Content, Key};
pub use fingerprints::{Expected, Fingerprints, guess_kind};
use fingerprints::{OnPiece, PIECE};
pub use hashes::{Refusal, is_number, parse_within};
pub use ids::{Id, Ids};
pub use input::read_text;
pub use kept::{Kept, KeptOutput};
pub use lines::{LineText, LineTexts};
pub use pictures::{PictureItem, Pictures, are_pictures, read_picture};
pub use rows::{Row, RowOptions, Rows};
pub use skipped::{Bad, Reason, Skipped};
