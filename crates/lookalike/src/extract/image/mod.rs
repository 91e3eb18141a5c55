//! What does a picture look like, in bits?
//!
//! [`Decoder`] turns the bytes of a file into a [`Picture`], within limits; everything else is
//! computed from that one decode. The modules do not know files, nor what fingerprints are used for.
//!
//! | file | question |
//! |---|---|
//! | `decode.rs` | What is in these bytes, and may we decode it? |
//! | `picture.rs` | What are pixels, and how are they turned? |
//! | `frame.rs` | How does a picture of any size become 64 x 64 numbers? |
//! | `cosine.rs` | Which waves is a square made of, and what do turning and mirroring change? |
//! | `pdq.rs` | The 256-bit fingerprint of a whole picture. |

mod cosine;
mod decode;
mod frame;
mod pdq;
mod picture;

pub use cosine::{Cosines, Orientation};
pub use decode::{DecodeError, Decoder, Limits, PictureFormat};
pub use frame::Frame;
pub use pdq::{PDQ_SIDE, pdq, pdq_orientations, pdq_quality};
pub use picture::{Picture, Pixels};
