//! What does an image look like, in bits?
//!
//! [`Decoder`] turns the bytes of a file into a [`Image`], within limits; everything else is
//! computed from that one decode. The modules do not know files, nor what fingerprints are used for.
//!
//! Bits are the same on every platform: floats are only added, multiplied, divided and rooted, in a
//! fixed order, which IEEE 754 defines to the last bit; all else (`cos`, `exp`, `log2`) is from the
//! pinned crate `libm`, as every system has its own in the standard library.
//!
//! | file | question |
//! |---|---|
//! | `decode.rs` | What is in these bytes, and may we decode it? |
//! | `jpeg.rs` | How is a JPEG decoded at an eighth of its size? |
//! | `tiff.rs` | Which pages does a TIFF have, and how is one of them read? |
//! | `container.rs` | Is a file there to its end, and how many frames does it hold? |
//! | `memory.rs` | How much memory does decoding a file take? |
//! | `frames.rs` | What do further frames show? |
//! | `image.rs` | What are pixels, and how are they turned? |
//! | `frame.rs` | How does an image of any size become 64 x 64 numbers? |
//! | `cosine.rs` | Which waves is a square made of, and what do turning and mirroring change? |
//! | `pdq.rs` | The 256-bit fingerprint of a whole image. |
//! | `phash.rs` | The 64-bit one. |
//! | `hsv.rs` | Which colours does it have? |
//! | `raw.rs` | What does a RAW file look like? |
//! | `metadata.rs` | When was it taken, and was it changed since? |
//! | `tags.rs` | Which tags does a TIFF structure hold? |
//! | `local.rs` | What is in its parts, and where? |
//! | `overlap.rs` | Do two images show the same where they overlap? |

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
