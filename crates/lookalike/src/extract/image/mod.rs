//! Images as bits: decoding within limits, and every fingerprint of pixels.
//!
//! [`Decoder`] turns the bytes of a file into an [`Image`], within limits. Everything else is computed
//! from that one decode. Nothing here knows paths, or what fingerprints are used for.
//!
//! Bits are the same on every platform. Floats are added, multiplied, divided and square-rooted in a
//! fixed order, which IEEE 754 defines to the last bit. `cos`, `exp` and `log2` come from the pinned
//! crate `libm`, because those of the standard library depend on the system.
//!
//! | file | purpose |
//! |---|---|
//! | `decode.rs` | recognises formats and decodes them within limits |
//! | `jpeg/` | decodes JPEG at an eighth of its size |
//! | `raw.rs` | finds the preview in a RAW file |
//! | `tiff.rs` | the pages of a TIFF, and a reader for each |
//! | `container.rs` | whether a file is complete, and how many frames it has |
//! | `memory.rs` | how much memory decoding takes |
//! | `metadata.rs` | facts: when an image was taken, and whether it was edited |
//! | `tags.rs` | the tags of a TIFF structure, such as EXIF |
//! | `pixels.rs` | decoded pixels, and how they are turned |
//! | `frame.rs` | an image of any size as 64 x 64 values |
//! | `cosine.rs` | the frequencies of a frame in all orientations |
//! | `pdq.rs`, `phash.rs` | the 256-bit and 64-bit fingerprints of a whole image |
//! | `hsv.rs` | the colours of an image |
//! | `frames.rs` | what the other frames of a file show |
//! | `local.rs` | small fingerprints of the parts of an image |
//! | `overlap.rs` | compares two images where they overlap |

mod container;
mod cosine;
mod decode;
mod frame;
mod frames;
mod hsv;
mod jpeg;
mod local;
#[cfg(test)]
mod made;
mod memory;
mod metadata;
mod overlap;
mod pdq;
mod phash;
mod pixels;
mod raw;
mod tags;
#[cfg(test)]
mod tests;
mod tiff;

pub use cosine::{Cosines, Orientation};
pub use decode::{DecodeError, Decoder, ImageFormat, Limits};
pub use frame::{Frame, Part};
pub use frames::Frames;
pub use hsv::{BINS, Histogram, colour, hsv_features};
pub use local::{Gray, LOCAL_SIDE, fragments};
pub use metadata::facts;
pub use overlap::{Overlap, Small};
pub use pdq::{PDQ_SIDE, pdq, pdq_orientations, pdq_quality};
pub use phash::{phash, phash_orientations};
pub use pixels::{Image, Pixels};
