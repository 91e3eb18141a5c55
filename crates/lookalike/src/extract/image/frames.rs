//! The frames or pages of a file other than the one that represents it.
//!
//! Two files whose first frames look the same may still differ: scanned documents share their first
//! page, animations their first moments. So every other frame has a fingerprint, too.

use super::{Cosines, Frame, Pixels, pdq, pdq_quality};
use crate::{Fingerprint, hash};

/// A file with more frames than this is known by their number only.
const MAX_FRAMES: u64 = 256;

/// The number of pixels that are decoded for this, in all frames together.
const MAX_PIXELS: u64 = 1 << 25;

/// Frames agree within this distance, which is that of copies of whole images.
const RADIUS: u32 = 31;

/// Flatter or smaller frames agree only if they are equal.
const FLAT: u32 = 5;
const MIN_SIDE: usize = 16;

/// The frames or pages of a file other than the one that represents it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Their number; 0 for a single image.
    pub more: u32,
    /// One entry per frame, unless there are too many.
    prints: Vec<FramePrint>,
}

/// The stored description of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FramePrint {
    Seen(Fingerprint<4>),
    /// A hash of its pixels.
    Exact(u64),
}

impl FramePrint {
    fn of(pixels: &Pixels) -> Self {
        let frame = Frame::of(pixels);
        let is_small = pixels.width().min(pixels.height()) < MIN_SIDE;
        if is_small || pdq_quality(&frame) < FLAT {
            return Self::Exact(hash::content(&pixels.bytes)[0]);
        }
        Self::Seen(pdq(&Cosines::of(&frame)))
    }

    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Seen(one), Self::Seen(two)) => one.distance(two) <= RADIUS,
            (one, two) => one == two,
        }
    }
}

impl Frames {
    /// Frames of which only the number is known.
    pub(super) fn counted(more: u32) -> Self {
        Self { more, prints: Vec::new() }
    }

    /// Whether the number of frames and their pixels in all are small enough to describe them. `limit`
    /// is the number of pixels a decoder may decode.
    pub(super) fn are_few(more: u32, pixels: u64, limit: u64) -> bool {
        u64::from(more) <= MAX_FRAMES && pixels <= MAX_PIXELS.min(limit)
    }

    /// Adds the next frame.
    pub(super) fn describe(&mut self, pixels: &Pixels) {
        self.prints.push(FramePrint::of(pixels));
    }

    /// Whether every frame is described.
    pub(crate) fn are_described(&self) -> bool {
        self.prints.len() as u64 == u64::from(self.more)
    }

    /// The number of frames that are described.
    pub(super) fn described(&self) -> usize {
        self.prints.len()
    }

    /// Whether the other frames allow two files to be copies: there are as many in both, and each
    /// looks like its counterpart. Frames that are not described agree with none.
    pub fn agree(&self, other: &Self) -> bool {
        self.more == other.more
            && self.are_described()
            && self.prints.len() == other.prints.len()
            && self.prints.iter().zip(&other.prints).all(|(one, two)| one.agrees(two))
    }

    /// The frames as bytes.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.more.to_le_bytes());
        bytes.extend((self.prints.len() as u16).to_le_bytes());
        for print in &self.prints {
            match print {
                FramePrint::Seen(print) => {
                    bytes.push(0);
                    bytes.extend(print.to_le_bytes());
                }
                FramePrint::Exact(hash) => {
                    bytes.push(1);
                    bytes.extend(hash.to_le_bytes());
                }
            }
        }
    }

    /// Reads frames from the start of some bytes; returns them with the rest of the bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (more, rest) = bytes.split_first_chunk::<4>()?;
        let (count, mut rest) = rest.split_first_chunk::<2>()?;
        let mut prints = Vec::new();
        for _ in 0..u16::from_le_bytes(*count) {
            let (kind, after) = rest.split_first()?;
            let print;
            (print, rest) = match kind {
                0 => {
                    let (print, after) = after.split_first_chunk::<32>()?;
                    (FramePrint::Seen(Fingerprint::from_le_bytes(print)?), after)
                }
                1 => {
                    let (hash, after) = after.split_first_chunk::<8>()?;
                    (FramePrint::Exact(u64::from_le_bytes(*hash)), after)
                }
                _ => return None,
            };
            prints.push(print);
        }
        Some((Self { more: u32::from_le_bytes(*more), prints }, rest))
    }
}
