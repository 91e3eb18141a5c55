//! The 64-bit fingerprint of a whole image that most tools call pHash.
//!
//! The 8 x 8 lowest frequencies of 32 x 32 values of brightness, constant included, are compared with
//! their median. The order of bits is that of PyPI `imagehash`: the first frequency is the most
//! significant bit. Values differ from it by a bit or two, because images are reduced differently.

use std::{f64::consts::PI, sync::LazyLock};

use super::{Frame, Orientation};
use crate::Fingerprint;

const SIDE: usize = 32;
const WAVES: usize = 8;

static COSINES: LazyLock<[[f32; SIDE]; WAVES]> = LazyLock::new(|| {
    std::array::from_fn(|wave| {
        std::array::from_fn(|at| {
            libm::cos(PI * (wave * (2 * at + 1)) as f64 / (2 * SIDE) as f64) as f32
        })
    })
});

/// The fingerprint of a frame.
pub fn phash(frame: &Frame) -> Fingerprint<1> {
    print(&transform(frame), Orientation::UPRIGHT)
}

/// The fingerprints of the image in all eight orientations, in the order of
/// [`Orientation::ALL`].
pub fn phash_orientations(frame: &Frame) -> [Fingerprint<1>; 8] {
    let values = transform(frame);
    Orientation::ALL.map(|orientation| print(&values, orientation))
}

fn transform(frame: &Frame) -> [[f32; WAVES]; WAVES] {
    let rows = frame.rows();
    let (cosines, mut columns) = (&*COSINES, [[0.0_f32; SIDE]; WAVES]);
    for (i, sums) in columns.iter_mut().enumerate() {
        for y in 0..SIDE {
            for (x, sum) in sums.iter_mut().enumerate() {
                // Four values of the frame make one of the smaller square.
                let upper = rows[2 * y][2 * x] + rows[2 * y][2 * x + 1];
                let lower = rows[2 * y + 1][2 * x] + rows[2 * y + 1][2 * x + 1];
                *sum += cosines[i][y] * (upper + lower);
            }
        }
    }
    columns.map(|sums| {
        std::array::from_fn(|j| sums.iter().zip(&cosines[j]).map(|(one, two)| one * two).sum())
    })
}

fn print(values: &[[f32; WAVES]; WAVES], orientation: Orientation) -> Fingerprint<1> {
    let turned: [[f32; WAVES]; WAVES] = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let value = if orientation.transposes() { values[j][i] } else { values[i][j] };
            // Mirroring negates odd waves.
            let down = orientation.mirrors_y() && i % 2 == 1;
            let across = orientation.mirrors_x() && j % 2 == 1;
            if down != across { -value } else { value }
        })
    });
    let mut sorted = turned.as_flattened().to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let median = (sorted[31] + sorted[32]) / 2.0;
    let bit = |bits: u64, &value: &f32| bits << 1 | u64::from(value > median);
    Fingerprint([turned.as_flattened().iter().fold(0, bit)])
}
