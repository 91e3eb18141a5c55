//! Where does a picture get brighter? A second opinion on two whole pictures.
//!
//! Each of 256 bits compares two neighbouring parts of the picture, so that an overlay changes the
//! bits where it is and no others. The frequencies of [`pdq`](super::pdq()) are the other way about:
//! in a picture with little contrast, a logo decides them all.

use super::Frame;
use crate::Fingerprint;

const ROWS: usize = 16;
const COLUMNS: usize = 16;

/// Bit `16 i + j` says whether the picture gets brighter from part `j` to the next in row `i`: of 16
/// rows of 17 parts, which overlap so that they fill the frame.
pub fn gradients(frame: &Frame) -> Fingerprint<4> {
    let mut print = Fingerprint::ZERO;
    for i in 0..ROWS {
        let parts: [f32; COLUMNS + 1] = std::array::from_fn(|j| part(frame, i, j));
        for j in 0..COLUMNS {
            let bit = COLUMNS * i + j;
            print.0[bit / 64] |= u64::from(parts[j + 1] > parts[j]) << (bit % 64);
        }
    }
    print
}

/// The sum over 4 rows and 4 columns.
fn part(frame: &Frame, i: usize, j: usize) -> f32 {
    // 17 parts of 4 columns share 64: they start 60 / 16 columns apart.
    let left = j * (Frame::SIDE - 4) / COLUMNS;
    frame.rows()[4 * i..4 * i + 4].iter().flat_map(|row| &row[left..left + 4]).sum()
}
