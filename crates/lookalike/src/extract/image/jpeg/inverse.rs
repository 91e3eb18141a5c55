//! Turns the frequencies of blocks into the values of pixels (inverse cosine transform).

use std::sync::LazyLock;

use super::frame::Component;

/// The places of zigzag order in a block of 8 x 8.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The waves at the pixels of a scaled block, by its side: row `i` is the wave of `i` half periods.
static WAVES: LazyLock<[[[f32; 4]; 4]; 2]> = LazyLock::new(|| {
    [2, 4].map(|side: usize| {
        std::array::from_fn(|wave| {
            std::array::from_fn(|at| {
                let size = side as f64;
                let phase = std::f64::consts::PI * (wave * (2 * at + 1)) as f64 / (2.0 * size);
                let scale = if wave == 0 { 1.0 / size } else { 2.0 / size };
                // A block of 8 has 8 / side times the amplitude in each direction.
                ((scale * size / 8.0).sqrt() * libm::cos(phase)) as f32
            })
        })
    })
});

impl Component {
    /// The pixels of all blocks.
    pub fn plane(&self, side: usize, quantisers: &[u16; 64]) -> Vec<u8> {
        let stride = self.columns * side;
        let mut plane = vec![0; stride * self.rows * side];
        let mut factors = [0_i32; 64];
        for (at, &place) in ZIGZAG.iter().enumerate() {
            let (row, column) = (usize::from(place / 8), usize::from(place % 8));
            if row < side && column < side {
                factors[row * side + column] = quantisers[at].into();
            }
        }
        let weights = weighted(&factors);
        for (block, coefficients) in self.coefficients.chunks(side * side).enumerate() {
            let from = block / self.columns * side * stride + block % self.columns * side;
            let target = &mut plane[from..];
            if side == 1 || coefficients[1..].iter().all(|&value| value == 0) {
                let constant = i32::from(coefficients[0]) * factors[0];
                let value = (((constant + 4) >> 3) + 128).clamp(0, 255) as u8;
                (0..side).for_each(|row| target[row * stride..][..side].fill(value));
            } else if let Some(coefficients) = coefficients.first_chunk::<64>() {
                whole_block(coefficients, &weights, target, stride);
            } else {
                part_of_block(coefficients, &factors, side, target, stride);
            }
        }
        plane
    }
}

/// Turns the lowest `side * side` frequencies of a block into as many pixels.
fn part_of_block(
    coefficients: &[i16],
    factors: &[i32; 64],
    side: usize,
    target: &mut [u8],
    stride: usize,
) {
    let waves = &WAVES[side / 4];
    let mut columns = [[0.0_f32; 4]; 4];
    for (i, down) in waves.iter().enumerate().take(side) {
        let row = coefficients[i * side..].iter().zip(&factors[i * side..]).take(side);
        for (j, (&coefficient, factor)) in row.enumerate() {
            let value = (i32::from(coefficient) * factor) as f32;
            columns.iter_mut().zip(down).for_each(|(sums, wave)| sums[j] += wave * value);
        }
    }
    for (y, sums) in columns.iter().enumerate().take(side) {
        for x in 0..side {
            let value: f32 = (0..side).map(|j| waves[j][x] * sums[j]).sum();
            target[y * stride + x] = (value + 128.5).clamp(0.0, 255.0) as u8;
        }
    }
}

/// Eight numbers that are processed together.
type Lanes = [f32; 8];

/// Quantisers, each multiplied by the weight of its wave in both directions.
fn weighted(factors: &[i32; 64]) -> [Lanes; 8] {
    let weight = |wave: usize| if wave == 0 { 0.125_f64.sqrt() } else { 0.5 };
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (f64::from(factors[8 * i + j]) * weight(i) * weight(j)) as f32)
    })
}

/// Turns all frequencies of a block into pixels.
fn whole_block(coefficients: &[i16; 64], weights: &[Lanes; 8], target: &mut [u8], stride: usize) {
    let (rows, _) = coefficients.as_chunks::<8>();
    let waves: [Lanes; 8] =
        std::array::from_fn(|i| std::array::from_fn(|j| f32::from(rows[i][j]) * weights[i][j]));
    let down = waves_to_values(&waves);
    let across = waves_to_values(&transposed(&down));
    for (y, row) in transposed(&across).iter().enumerate() {
        target[y * stride..][..8].copy_from_slice(&row.map(pixel));
    }
}

/// The pixel, 0 to 255, nearest to a value around zero. Above 2^23, floats are whole numbers, whose last
/// bits are those of the number. Unlike a conversion, this vectorises.
fn pixel(value: f32) -> u8 {
    ((value + 128.0).clamp(0.0, 255.0) + 8_388_608.0).to_bits() as u8
}

#[inline]
fn transposed(rows: &[Lanes; 8]) -> [Lanes; 8] {
    std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
}

/// In every lane, the sum of eight waves at eight places. Even waves are equal in both halves, odd ones
/// opposite.
#[inline]
fn waves_to_values(waves: &[Lanes; 8]) -> [Lanes; 8] {
    // Cosines of k / 16 of half a circle.
    const C: [f32; 8] = [
        1.0,
        0.980_785_25,
        0.923_879_5,
        0.831_469_6,
        0.707_106_77,
        0.555_570_24,
        0.382_683_43,
        0.195_090_32,
    ];
    let mut values = [[0.0; 8]; 8];
    for lane in 0..8 {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = std::array::from_fn(|wave| waves[wave][lane]);
        let (sum, difference) = (w0 + C[4] * w4, w0 - C[4] * w4);
        let (slow, fast) = (C[2] * w2 + C[6] * w6, C[6] * w2 - C[2] * w6);
        let even = [sum + slow, difference + fast, difference - fast, sum - slow];
        let odd = [
            C[1] * w1 + C[3] * w3 + C[5] * w5 + C[7] * w7,
            C[3] * w1 - C[7] * w3 - C[1] * w5 - C[5] * w7,
            C[5] * w1 - C[1] * w3 + C[7] * w5 + C[3] * w7,
            C[7] * w1 - C[5] * w3 + C[3] * w5 - C[1] * w7,
        ];
        for at in 0..4 {
            values[at][lane] = even[at] + odd[at];
            values[7 - at][lane] = even[at] - odd[at];
        }
    }
    values
}
