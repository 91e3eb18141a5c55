//! Decodes JPEG at no larger a size than is needed, and without colours that nobody asked for.
//!
//! A JPEG consists of blocks of 8 x 8 frequencies. The lowest N x N of them are the block at N/8 of its
//! size (ITU-T T.81 has the format). For N = 1 that is one number per block: all others are read, but
//! not kept. What remains is the walk through the Huffman codes, several at a step.
//!
//! Files of 8 bits with Huffman codes, gray or YCbCr, are decoded. For small images in colour and for
//! progressive ones in full size, [`decode`] returns [`Scaled::Other`]: they need a complete decoder.
//! That decoder shows gray where something is missing, so every scan is walked through here first: an
//! image is intact if the bits of all its blocks are there and make sense.
//!
//! | file | purpose |
//! |---|---|
//! | `decoder.rs` | reads the segments of a file: tables, frame, scans |
//! | `frame.rs` | the frame and its components, with their coefficients |
//! | `scan.rs` | reads the blocks of a scan |
//! | `bits.rs` | Huffman codes and the numbers behind them |
//! | `inverse.rs` | turns the frequencies of blocks into the values of pixels |
//! | `pixels.rs` | turns the components of a frame into pixels |

mod bits;
mod decoder;
mod frame;
mod inverse;
mod pixels;
mod scan;
#[cfg(test)]
mod tests;

use self::{bits::Fault, decoder::Decoder};
use super::{DecodeError, ImageFormat, Orientation, Pixels};

/// Scaling keeps at least this many pixels on the shorter side.
const MIN_SIDE: usize = 256;

/// A decoded file.
pub(super) enum Scaled {
    /// Pixels before they are turned, and width and height of the image in the file.
    Decoded { pixels: Pixels, width: u32, height: u32, orientation: Orientation },
    /// Intact, but not for this decoder.
    Other,
}

/// Decodes a file at the smallest scale at which its shorter side keeps [`MIN_SIDE`] pixels, or at full
/// size.
pub(super) fn decode(bytes: &[u8], pixels: u64, colour: bool) -> Result<Scaled, DecodeError> {
    let read = |purpose| {
        let mut decoder = Decoder::new(bytes, purpose);
        decoder.run(pixels).map(|()| decoder)
    };
    let decoded = match read(Purpose::Pixels { colour }) {
        Err(Stop::Other) => match read(Purpose::Check) {
            Ok(checked) if checked.has_separate_scans() => read(Purpose::Separate),
            Ok(_) => return Ok(Scaled::Other),
            Err(stop) => Err(stop),
        },
        read => read,
    };
    match decoded {
        Ok(decoder) => Ok(decoder.finish()),
        Err(Stop::Other) => Ok(Scaled::Other),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// An upper bound on the bytes that decoding takes, from the header of the frame.
pub(super) fn memory(
    header: &[u8],
    progressive: bool,
    colour: bool,
    is_rgb: bool,
    file: u64,
) -> Option<u64> {
    let [_, h1, h2, w1, w2, count, rest @ ..] = header else { return None };
    let (width, height) = (number(&[*w1, *w2]), number(&[*h1, *h2]));
    let parts = rest.as_chunks::<3>().0;
    let is_finest = |part: &[u8; 3]| {
        parts.iter().all(|other| part[1] >> 4 >= other[1] >> 4 && part[1] & 15 >= other[1] & 15)
    };
    let side = scale(width, height);
    let is_other = is_rgb
        || parts.first().is_none_or(|part| part[0] == b'R' || !is_finest(part))
        || *count == 4
        || progressive && side > 1
        || colour && side == 8;
    let pixels = (width.next_multiple_of(32) * height.next_multiple_of(32)) as u64;
    let count = u64::from(*count);
    // A progressive file: which coefficients of each block are set.
    let set = if progressive { pixels / 64 * 8 * count } else { 0 };
    let decoded = if is_other {
        // Coefficients and planes, or those of the complete decoder and its copy of the file; then red,
        // green and blue twice, because turning the image copies it.
        pixels * (3 * count + 6) + file
    } else {
        let kept = if colour { count } else { 1 };
        pixels / 64 * (side * side) as u64 * (3 + 2) * kept
    };
    Some(set + decoded)
}

/// The side of a block after scaling.
fn scale(width: usize, height: usize) -> usize {
    let scaled = |side: usize| (width.min(height) * side).div_ceil(8);
    [1, 2, 4].into_iter().find(|&side| scaled(side) >= MIN_SIDE).unwrap_or(8)
}

/// Why a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Pixels, in colour if it is wanted; [`Stop::Other`] where another decoder makes better ones.
    Pixels { colour: bool },
    /// Pixels of a sequential file with one scan per component, in full colour: the complete decoder
    /// confuses these.
    Separate,
    /// To check that nothing is missing.
    Check,
}

/// Why decoding ends early.
enum Stop {
    Other,
    Failed(DecodeError),
}

fn broken(what: &str) -> Stop {
    Stop::Failed(DecodeError::Broken { format: ImageFormat::Jpeg, what: what.to_owned() })
}

fn unsupported(what: &str) -> Stop {
    Stop::Failed(DecodeError::Unsupported { format: ImageFormat::Jpeg, what: what.to_owned() })
}

fn cut_off() -> Stop {
    Stop::Failed(DecodeError::CutOff { format: ImageFormat::Jpeg })
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        broken(match fault {
            Fault::UnknownCode => "an unknown code",
            Fault::RunsOver => "a block runs over",
            Fault::Difference => "an impossible difference",
        })
    }
}

/// Two bytes as a number.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}
