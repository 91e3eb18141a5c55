//! An image of any size as 64 x 64 values of brightness.
//!
//! The PDQ reference applies a moving average twice along rows and columns, then takes one value from
//! each 64th part. Both steps are linear, so each of the 64 x 64 values is a weighted sum of a few
//! neighbouring pixels. [`Frame`] computes only those sums, in one pass over the pixels.

use super::Pixels;

/// 64 x 64 values of brightness, 0 to 255: a blurred, reduced image.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame(Box<[[f32; Frame::SIDE]; Frame::SIDE]>);

impl Frame {
    /// The number of values in a row, and of rows.
    pub const SIDE: usize = 64;

    /// Reduces an image.
    pub fn of(pixels: &Pixels) -> Self {
        Self::of_part(pixels, Part { x: 0, y: 0, width: pixels.width, height: pixels.height })
    }

    /// Reduces a part of an image, as if it were a whole one.
    pub fn of_part(pixels: &Pixels, part: Part) -> Self {
        let (columns, rows) = (Taps::along(part.width), Taps::along(part.height));
        let mut frame = Box::new([[0.0_f32; Self::SIDE]; Self::SIDE]);
        let mut luma = vec![0.0; pixels.width];
        for y in 0..part.height {
            let mut reached = rows.reaching(y).peekable();
            if reached.peek().is_none() {
                continue;
            }
            pixels.luma_row(part.y + y, &mut luma);
            let small = columns.small_row(&luma[part.x..part.x + part.width]);
            for (place, weight) in reached {
                let sums = &mut frame[place];
                sums.iter_mut().zip(&small).for_each(|(sum, &value)| *sum += weight * value);
            }
        }
        Self(frame)
    }

    /// The values, row by row.
    pub fn rows(&self) -> &[[f32; Self::SIDE]; Self::SIDE] {
        &self.0
    }
}

/// A rectangle of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its left edge.
    pub x: usize,
    /// Its upper edge.
    pub y: usize,
    /// Its width.
    pub width: usize,
    /// Its height.
    pub height: usize,
}

/// The pixels that contribute to each of 64 places along a side, and their weights.
struct Taps {
    /// The first pixel of each place, and where its weights end.
    places: [(usize, usize); Frame::SIDE],
    weights: Vec<f32>,
}

impl Taps {
    fn along(length: usize) -> Self {
        let (mut places, mut weights) = ([(0, 0); Frame::SIDE], Vec::new());
        for (place, entry) in places.iter_mut().enumerate() {
            let centre = (2 * place + 1) * length / (2 * Frame::SIDE);
            let (first, around) = twice_averaged(centre, length);
            weights.extend(around);
            *entry = (first, weights.len());
        }
        Self { places, weights }
    }

    fn of(&self, place: usize) -> (usize, &[f32]) {
        let start = place.checked_sub(1).map_or(0, |before| self.places[before].1);
        let (first, end) = self.places[place];
        (first, &self.weights[start..end])
    }

    /// The places that pixel `at` contributes to, with its weight.
    fn reaching(&self, at: usize) -> impl Iterator<Item = (usize, f32)> {
        // Places ascend and few overlap, so a search would not be faster.
        (0..Frame::SIDE).filter_map(move |place| {
            let (first, weights) = self.of(place);
            let weight = at.checked_sub(first).and_then(|offset| weights.get(offset));
            weight.map(|&weight| (place, weight))
        })
    }

    fn small_row(&self, row: &[f32]) -> [f32; Frame::SIDE] {
        let mut start = 0;
        self.places.map(|(first, end)| {
            let weights = &self.weights[start..end];
            start = end;
            weights.iter().zip(&row[first..]).map(|(weight, value)| weight * value).sum()
        })
    }
}

/// The weights of the pixels that make the value at `at` after two moving averages, and the first of
/// these pixels.
fn twice_averaged(at: usize, length: usize) -> (usize, Vec<f32>) {
    let (first, last) = window(at, length);
    let (start, end) = (window(first, length).0, window(last, length).1);
    let mut weights = vec![0.0_f64; end - start + 1];
    for middle in first..=last {
        let (from, to) = window(middle, length);
        let share = 1.0 / ((last - first + 1) * (to - from + 1)) as f64;
        weights[from - start..=to - start].iter_mut().for_each(|weight| *weight += share);
    }
    (start, weights.into_iter().map(|weight| weight as f32).collect())
}

/// The first and last pixel of the moving average at `at`: a 128th of the side, rounded up and cut off
/// at the edges.
fn window(at: usize, length: usize) -> (usize, usize) {
    let size = length.div_ceil(2 * Frame::SIDE);
    let after = size / 2;
    let before = size - after - 1;
    (at.saturating_sub(before), (at + after).min(length - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: averages every pixel twice, along rows and columns, then picks 64 x 64.
    fn naive(pixels: &Pixels) -> Vec<Vec<f64>> {
        let (width, height) = (pixels.width, pixels.height);
        let mut values: Vec<Vec<f64>> = Vec::new();
        for y in 0..height {
            let mut luma = vec![0.0; width];
            pixels.luma_row(y, &mut luma);
            values.push(luma.into_iter().map(f64::from).collect());
        }
        let average = |line: &[f64]| -> Vec<f64> {
            (0..line.len())
                .map(|at| {
                    let (first, last) = window(at, line.len());
                    line[first..=last].iter().sum::<f64>() / (last - first + 1) as f64
                })
                .collect()
        };
        let transpose = |values: &[Vec<f64>]| -> Vec<Vec<f64>> {
            (0..values[0].len()).map(|x| values.iter().map(|row| row[x]).collect()).collect()
        };
        for _ in 0..2 {
            let rows: Vec<_> = values.iter().map(|row| average(row)).collect();
            let columns: Vec<_> = transpose(&rows).iter().map(|column| average(column)).collect();
            values = transpose(&columns);
        }
        let pick =
            |place: usize, length: usize| ((place as f64 + 0.5) * length as f64 / 64.0) as usize;
        (0..64)
            .map(|i| (0..64).map(|j| values[pick(i, height)][pick(j, width)]).collect())
            .collect()
    }

    #[test]
    fn sums_of_few_pixels_are_the_averages_of_all() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for (width, height) in [(64, 64), (5, 9), (128, 127), (129, 300), (511, 1), (700, 260)] {
            let bytes = (0..width * height * 3).map(|_| next()).collect();
            let pixels = Pixels::rgb(width, height, bytes).unwrap();
            let (frame, expected) = (Frame::of(&pixels), naive(&pixels));
            for (row, expected) in frame.rows().iter().zip(&expected) {
                for (value, expected) in row.iter().zip(expected) {
                    let difference = (f64::from(*value) - expected).abs();
                    assert!(difference < 1e-3, "{width} x {height}: {value} {expected}");
                }
            }
        }
    }
}
