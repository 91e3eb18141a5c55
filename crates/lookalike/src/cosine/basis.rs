//! The basis that coordinates are computed in: the directions in which a sample of vectors is longest.
//!
//! Any basis gives the correct answer; this one keeps the part that the coordinates omit small. Its
//! directions are the first principal axes of the uncentred sample, so that a common mean becomes the
//! first axis. They are rounded to integers. The bound requires that the basis lengthens no vector; the
//! factor that ensures this is computed from the rounded integers.

use rayon::prelude::*;

use super::{Vector, dot};
use crate::hamming::Kernel;

/// Directions with integer coordinates.
#[derive(Clone, Debug)]
pub struct Basis {
    dimensions: usize,
    /// Direction by direction, little-endian.
    values: Vec<[u8; 2]>,
    /// The sum of the squared coordinates of a vector is at most this times its squared length.
    max_gain: f64,
}

/// The largest value of a direction.
const LARGEST: f32 = 32_000.0;

/// The number of iterations. More would cost more time than they save in the search.
const STEPS: usize = 5;

impl Basis {
    /// Approximates the first `depth` principal axes of a sample, the longest first.
    pub fn learn(sample: &[Vector<'_>], depth: usize, kernel: Kernel) -> Self {
        let dimensions = sample[0].dimensions();
        let rows: Vec<Vec<[u8; 2]>> = sample.par_iter().map(of_one_length).collect();
        // The matrix of second moments, or the Gram matrix of the vectors if that is smaller.
        let by_vectors = rows.len() < dimensions;
        let columns;
        let lists: &[Vec<[u8; 2]>] = if by_vectors {
            &rows
        } else {
            let column = |at: usize| rows.iter().map(|row| row[at]).collect();
            columns = (0..dimensions).into_par_iter().map(column).collect::<Vec<_>>();
            &columns
        };
        let side = lists.len();
        let matrix: Vec<f32> = lists
            .par_iter()
            .flat_map_iter(|one| lists.iter().map(|two| dot(one, two, kernel) as f32))
            .collect();
        let trace: f32 = (0..side).map(|at| matrix[at * side + at]).sum();
        let matrix: Vec<f32> = matrix.into_iter().map(|value| value / trace.max(1.0)).collect();
        let mut axes = first_axes(side, depth.min(side));
        for _ in 0..STEPS {
            axes = axes
                .par_iter()
                .map(|axis| matrix.chunks_exact(side).map(|row| product(row, axis)).collect())
                .collect();
            make_orthogonal(&mut axes);
        }
        if by_vectors {
            axes = axes.par_iter().map(|axis| combined(&rows, axis)).collect();
            make_orthogonal(&mut axes);
        }
        Self::of(&axes, dimensions, kernel)
    }

    fn of(axes: &[Vec<f32>], dimensions: usize, kernel: Kernel) -> Self {
        let all = || axes.iter().flatten();
        let largest = all().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let factor = LARGEST / largest.max(f32::MIN_POSITIVE);
        // NaN becomes zero.
        let values = all().map(|value| ((value * factor).round() as i16).to_le_bytes()).collect();
        let mut basis = Self { dimensions, values, max_gain: 0.0 };
        basis.max_gain = basis.max_gain(kernel);
        basis
    }

    /// The first `depth` directions.
    pub fn first(&self, depth: usize, kernel: Kernel) -> Self {
        let values = self.values[..depth.min(self.depth()) * self.dimensions].to_vec();
        let mut basis = Self { values, ..*self };
        basis.max_gain = basis.max_gain(kernel);
        basis
    }

    /// The largest eigenvalue of the Gram matrix of the directions is at most the largest sum of the
    /// absolute values in a row (Gershgorin).
    fn max_gain(&self, kernel: Kernel) -> f64 {
        let directions: Vec<_> = self.values.chunks_exact(self.dimensions).collect();
        let sum = |one: &&[[u8; 2]]| -> f64 {
            directions.iter().map(|two| dot(one, two, kernel).unsigned_abs() as f64).sum()
        };
        let max_gain = directions.par_iter().map(sum).reduce(|| 1.0, f64::max);
        // Covers the rounding of 64-bit float sums.
        max_gain * (1.0 + 1e-12)
    }

    pub fn depth(&self) -> usize {
        self.values.len() / self.dimensions
    }

    /// Appends the coordinates of the vector scaled to length 1, from exact dot products.
    pub fn write_coordinates(
        &self,
        vector: &Vector<'_>,
        kernel: Kernel,
        coordinates: &mut Vec<f64>,
    ) {
        let factor = 1.0 / (self.max_gain.sqrt() * vector.length());
        let directions = self.values.chunks_exact(self.dimensions);
        let products = directions.map(|direction| dot(direction, vector.values(), kernel));
        coordinates.extend(products.map(|product| product as f64 * factor));
    }
}

/// A vector in 16-bit integers, scaled to a common length.
fn of_one_length(vector: &Vector<'_>) -> Vec<[u8; 2]> {
    let factor = 32_767.0 / vector.length();
    let value = |bytes: &[u8; 2]| {
        let value = f64::from(i16::from_le_bytes(*bytes)) * factor;
        (value as i16).to_le_bytes()
    };
    vector.values().iter().map(value).collect()
}

/// The start of the iteration: noise from a fixed seed.
fn first_axes(side: usize, depth: usize) -> Vec<Vec<f32>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..depth).map(|_| (0..side).map(|_| noise()).collect()).collect()
}

/// The sum of the vectors, weighted by the axis.
fn combined(rows: &[Vec<[u8; 2]>], axis: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; rows[0].len()];
    for (row, factor) in rows.iter().zip(axis) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += factor * f32::from(i16::from_le_bytes(*value)) / 32_767.0;
        }
    }
    sum
}

/// The dot product. Sixteen independent sums let the compiler use vector instructions.
fn product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Gram-Schmidt: removes from each axis its components along earlier axes, and scales it to length 1.
fn make_orthogonal(axes: &mut [Vec<f32>]) {
    for at in 0..axes.len() {
        let (before, rest) = axes.split_at_mut(at);
        let [axis, ..] = rest else { return };
        // Twice: if the first pass removes most of the axis, the rest is mainly rounding errors.
        for _ in 0..2 {
            for one in before.iter() {
                let part = product(one, axis);
                axis.iter_mut().zip(one).for_each(|(value, one)| *value -= part * one);
            }
        }
        let length = product(axis, axis).sqrt();
        let factor = if length > 1e-12 { 1.0 / length } else { 0.0 };
        axis.iter_mut().for_each(|value| *value *= factor);
    }
}
