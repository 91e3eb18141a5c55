//! The 256-bit fingerprint of a whole image, as PDQ defines it.
//!
//! PDQ is "a perceptual hash by DCT, with a quality metric" (Facebook, 2019). The 16 x 16 lowest
//! frequencies of 64 x 64 values of brightness are compared with their median. For the same pixels, the
//! bits are those of the reference, except where a coefficient equals the median up to the last digits
//! of a float.

use super::{Cosines, Frame, Orientation};
use crate::Fingerprint;

/// The shortest side of an image that has a fingerprint; the reference refuses smaller images.
pub const PDQ_SIDE: usize = 5;

/// The fingerprint of a transformed frame. Bit `16 i + j` belongs to frequency `(i, j)`.
pub fn pdq(cosines: &Cosines) -> Fingerprint<4> {
    let values = cosines.values().as_flattened();
    let median = lower_median(values);
    let mut print = Fingerprint::ZERO;
    for (bit, &value) in values.iter().enumerate() {
        print.0[bit / 64] |= u64::from(value > median) << (bit % 64);
    }
    print
}

/// The fingerprints of the image in all eight orientations, in the order of
/// [`Orientation::ALL`].
pub fn pdq_orientations(cosines: &Cosines) -> [Fingerprint<4>; 8] {
    Orientation::ALL.map(|orientation| pdq(&cosines.turned(orientation)))
}

/// How much detail an image has, 0 to 100, as the reference measures it: the sum of the steps in
/// brightness between neighbouring values.
pub fn pdq_quality(frame: &Frame) -> u32 {
    // Whole percents, rounded towards zero like the reference.
    let step = |one: f32, two: f32| (((one - two) * 100.0 / 255.0) as i32).unsigned_abs();
    let rows = frame.rows();
    let down: u32 = rows
        .windows(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]).map(|(&one, &two)| step(one, two)))
        .sum();
    let across: u32 =
        rows.iter().flat_map(|row| row.windows(2).map(|pair| step(pair[0], pair[1]))).sum();
    ((down + across) / 90).min(100)
}

/// The smaller of the two middle values.
fn lower_median(values: &[f32]) -> f32 {
    let mut values: Vec<f32> = values.to_vec();
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}
