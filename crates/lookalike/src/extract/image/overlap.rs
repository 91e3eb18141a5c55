//! Compares two images where they overlap.
//!
//! A [`Small`] image is gray, with at most 64 pixels a side. Two of them are aligned by a [`Shift`] and
//! compared block by block, by correlation. Brightness and contrast do not matter, and a logo or caption
//! affects only the blocks it covers.

use super::local::Gray;
use crate::fragments::Shift;

/// The longer side of a small image, in pixels.
const SIDE: usize = 64;

/// The side of a block, in pixels.
const BLOCK: usize = 8;

/// Blocks whose values vary less than this are not compared.
const PLAIN: f32 = 1.5;

/// The least correlation of blocks that show the same.
const SAME: f32 = 0.6;

/// A gray image of at most 64 pixels a side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Small {
    width: u8,
    height: u8,
    /// How many pixels of the original image one of its own stands for, times 256.
    ratio: u16,
    /// The content without uniform borders: first and last column, first and last row.
    inner: [u8; 4],
    values: Vec<u8>,
}

/// The comparison of two images where they overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// The number of blocks that were compared.
    pub blocks: u32,
    /// The number of blocks that show the same.
    pub same: u32,
    /// The mean correlation of all compared blocks.
    pub correlation: f32,
    /// The share of the second image that overlaps the first.
    pub covered: f32,
}

impl Small {
    /// Reduces an image.
    pub fn of(gray: &Gray) -> Self {
        let longer = gray.width().max(gray.height());
        let ratio = (longer as f32 / SIDE as f32).max(1.0);
        let side = |length: usize| ((length as f32 / ratio) as usize).clamp(1, SIDE);
        let (width, height) = (side(gray.width()), side(gray.height()));
        let mut values = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let range = |at: usize, length: usize| {
                    let start = ((at as f32 * ratio) as usize).min(length - 1);
                    let end = (((at + 1) as f32 * ratio) as usize).clamp(start + 1, length);
                    start..end
                };
                let (columns, rows) = (range(x, gray.width()), range(y, gray.height()));
                let count = (columns.len() * rows.len()) as f32;
                let sum: f32 = rows
                    .flat_map(|row| columns.clone().map(move |column| (column, row)))
                    .map(|(column, row)| gray.at(column, row))
                    .sum();
                values.push((sum / count + 0.5) as u8);
            }
        }
        let inner = inner(gray).map(|at| (at as f32 / ratio) as usize);
        let clamped = |at: usize, length: usize| at.min(length - 1) as u8;
        let inner = [
            // A pixel that is partly border belongs to the border.
            clamped(inner[0] + usize::from(inner[0] > 0), width),
            clamped(inner[1], width),
            clamped(inner[2] + usize::from(inner[2] > 0), height),
            clamped(inner[3], height),
        ];
        let ratio = (ratio * 256.0) as u16;
        Self { width: width as u8, height: height as u8, ratio, inner, values }
    }

    /// Approximate width and height of the original image.
    pub fn size(&self) -> (f32, f32) {
        (f32::from(self.width) * self.ratio(), f32::from(self.height) * self.ratio())
    }

    /// Appends it as bytes.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.width, self.height]);
        bytes.extend(self.ratio.to_le_bytes());
        bytes.extend(self.inner);
        bytes.extend(&self.values);
    }

    /// Reads what was written as these bytes; `None` if they are something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&[width, height, low, high, inner @ ..], values) = bytes.split_first_chunk::<8>()?;
        let [left, right, top, bottom] = inner;
        let fits = values.len() == usize::from(width) * usize::from(height);
        let inside = left < width && right < width && top < height && bottom < height;
        let ratio = u16::from_le_bytes([low, high]);
        (fits && inside).then(|| Self { width, height, ratio, inner, values: values.to_vec() })
    }

    fn ratio(&self) -> f32 {
        f32::from(self.ratio) / 256.0
    }

    fn between(&self, x: f32, y: f32) -> Option<f32> {
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        let [left, right, top, bottom] = self.inner.map(f32::from);
        // Pixels reach half a pixel beyond their centres.
        if x < left - 0.5 || y < top - 0.5 || x > right + 0.5 || y > bottom + 0.5 {
            return None;
        }
        let (x, y) = (x.clamp(0.0, width as f32 - 1.0), y.clamp(0.0, height as f32 - 1.0));
        let (left, top) = (x as usize, y as usize);
        let (next, low) = ((left + 1).min(width - 1), (top + 1).min(height - 1));
        let (right, down) = (x - left as f32, y - top as f32);
        let at = |x: usize, y: usize| f32::from(self.values[y * width + x]);
        let upper = at(left, top) * (1.0 - right) + at(next, top) * right;
        let lower = at(left, low) * (1.0 - right) + at(next, low) * right;
        Some(upper * (1.0 - down) + lower * down)
    }

    /// Compares a second image, `other`, with this one where they overlap. `shift` maps places of this
    /// image to places of the other, both in pixels of the original images.
    pub fn overlap(&self, other: &Self, shift: &Shift) -> Overlap {
        let Some(back) = shift.inverse() else { return Overlap::default() };
        let (width, height) = (usize::from(other.width), usize::from(other.height));
        let [first_column, last_column, first_row, last_row] = other.inner.map(usize::from);
        let (mut overlap, mut sum, mut covered) = (Overlap::default(), 0.0, 0);
        for top in (first_row..=last_row).step_by(BLOCK) {
            for left in (first_column..=last_column).step_by(BLOCK) {
                let mut moments = Moments::default();
                for y in top..=(top + BLOCK - 1).min(last_row) {
                    for x in left..=(left + BLOCK - 1).min(last_column) {
                        let centre = |at: usize| (at as f32 + 0.5) * other.ratio() - 0.5;
                        let (from_x, from_y) = back.map(centre(x), centre(y));
                        let own = |at: f32| (at + 0.5) / self.ratio() - 0.5;
                        if let Some(value) = self.between(own(from_x), own(from_y)) {
                            moments.add(value, f32::from(other.values[y * width + x]));
                        }
                    }
                }
                covered += moments.count;
                if let Some(correlation) = moments.correlation() {
                    overlap.blocks += 1;
                    overlap.same += u32::from(correlation >= SAME);
                    sum += correlation;
                }
            }
        }
        overlap.correlation = if overlap.blocks == 0 { 0.0 } else { sum / overlap.blocks as f32 };
        overlap.covered = covered as f32 / (width * height) as f32;
        overlap
    }
}

/// The largest difference between values of a border.
const EVEN: f32 = 14.0;

/// First and last column, first and last row, without uniform borders. A border takes at most 2 / 5 of
/// the image on each side.
fn inner(gray: &Gray) -> [usize; 4] {
    let (width, height) = (gray.width(), gray.height());
    let is_even = |x: usize, y: usize, like: f32| (gray.at(x, y) - like).abs() <= EVEN;
    let row = |y: usize, like: f32| (0..width).all(|x| is_even(x, y, like));
    let column = |x: usize, like: f32| (0..height).all(|y| is_even(x, y, like));
    let (corner, opposite) = (gray.at(0, 0), gray.at(width - 1, height - 1));
    let top = (0..height * 2 / 5).take_while(|&y| row(y, corner)).count();
    let left = (0..width * 2 / 5).take_while(|&x| column(x, corner)).count();
    let bottom = (0..height * 2 / 5).take_while(|&y| row(height - 1 - y, opposite)).count();
    let right = (0..width * 2 / 5).take_while(|&x| column(width - 1 - x, opposite)).count();
    [left, width - 1 - right, top, height - 1 - bottom]
}

/// Sums of values, of their squares, and of their products.
#[derive(Default)]
struct Moments {
    count: u32,
    one: f32,
    two: f32,
    one_one: f32,
    two_two: f32,
    one_two: f32,
}

impl Moments {
    fn add(&mut self, one: f32, two: f32) {
        self.count += 1;
        self.one += one;
        self.two += two;
        self.one_one += one * one;
        self.two_two += two * two;
        self.one_two += one * two;
    }

    /// The correlation; `None` if both blocks are too flat or overlap too little.
    fn correlation(&self) -> Option<f32> {
        if self.count < (BLOCK * BLOCK / 2) as u32 {
            return None;
        }
        let count = self.count as f32;
        let vary = |square: f32, sum: f32| {
            let mean = sum / count;
            (square / count - mean * mean).max(0.0)
        };
        let (one, two) = (vary(self.one_one, self.one), vary(self.two_two, self.two));
        if one.max(two) < PLAIN * PLAIN {
            return None;
        }
        let both = self.one_two / count - self.one / count * self.two / count;
        Some(both / (one.max(0.1) * two.max(0.1)).sqrt())
    }
}
