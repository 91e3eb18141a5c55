//! What do the frames or pages of a file show, besides the one that stands for it?
//!
//! Two files whose first frames look the same need not be the same: scans of documents share their
//! first pages, animations their first moments. So every further frame has a fingerprint, too.

use super::{Cosines, Frame, Pixels, pdq, pdq_quality};
use crate::{Fingerprint, hash};

/// Further frames that are described; of more, nothing but their number is known.
const MOST: u64 = 256;

/// Pixels of all further frames together that are decoded for it.
const MOST_PIXELS: u64 = 1 << 25;

/// Frames agree within this distance: that of copies of whole images.
const RADIUS: u32 = 31;

/// Frames with less to see, or of fewer pixels a side, agree only if they are equal.
const FLAT: u32 = 5;
const SMALLEST: usize = 16;

/// The frames or pages of a file besides the one that stands for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// How many there are; 0 for a single image.
    pub more: u32,
    /// One for each, if there are not too many.
    prints: Vec<FramePrint>,
}

/// What is kept of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FramePrint {
    Seen(Fingerprint<4>),
    /// A hash of its pixels.
    Exact(u64),
}

impl FramePrint {
    fn of(pixels: &Pixels) -> Self {
        let frame = Frame::of(pixels);
        let is_small = pixels.width().min(pixels.height()) < SMALLEST;
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
    /// Frames that are counted, and not described.
    pub(super) fn counted(more: u32) -> Self {
        Self { more, prints: Vec::new() }
    }

    /// Whether so many frames with so many pixels in all are few enough to describe them; `limit` is
    /// how many pixels a decoder may decode.
    pub(super) fn are_few(more: u32, pixels: u64, limit: u64) -> bool {
        u64::from(more) <= MOST && pixels <= MOST_PIXELS.min(limit)
    }

    /// Adds what the next frame shows.
    pub(super) fn describe(&mut self, pixels: &Pixels) {
        self.prints.push(FramePrint::of(pixels));
    }

    /// Whether every frame is described.
    pub(crate) fn are_described(&self) -> bool {
        self.prints.len() as u64 == u64::from(self.more)
    }

    /// How many frames are described.
    pub(super) fn described(&self) -> usize {
        self.prints.len()
    }

    /// Whether two files can be copies of each other by their further frames: as many in both, and
    /// each looks like its counterpart. Frames that are not described do not agree with any.
    pub fn agree(&self, other: &Self) -> bool {
        self.more == other.more
            && self.are_described()
            && self.prints.len() == other.prints.len()
            && self.prints.iter().zip(&other.prints).all(|(one, two)| one.agrees(two))
    }

    /// The frames as bytes, for whoever keeps them.
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

    /// The frames that start here, and what comes behind them.
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
