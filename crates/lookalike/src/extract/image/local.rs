//! Small fingerprints of the parts of an image, with their positions.
//!
//! Salient blobs are found again in a copy that was cropped, scaled or framed: they are extrema of the
//! difference of Gaussians (Lowe, "Distinctive image features from scale-invariant keypoints", 2004,
//! section 3). A square around each, in proportion to its scale, becomes 64 bits: the signs of its lowest
//! frequencies. A small gray copy of the image is kept beside these fragments to check that two images
//! really overlap.

use std::sync::LazyLock;

use super::{Pixels, frame::Part};
use crate::{
    Fingerprint,
    fragments::{Fragment, Place},
};

/// The longer side, in pixels, of the image in which fragments are searched.
pub const LOCAL_SIDE: usize = 320;

/// The maximum number of fragments of an image.
const MAX_FRAGMENTS: usize = 160;

/// Scales per octave.
const STEPS: usize = 3;

/// The blur of the first level of an octave, in its pixels.
const BLUR: f32 = 1.6;

/// The least contrast of an extremum, of 255.
const CONTRAST: f32 = 1.2;

/// The maximum ratio of the curvatures of an extremum. Edges curve in one direction only, and are found
/// anywhere along their length.
const EDGE: f32 = 10.0;

/// Half the side of the square of a fragment, in units of its blur.
const REACH: f32 = 6.0;

/// Samples along a side of the square of a fragment, and frequencies that are kept.
const SAMPLES: usize = 16;
const WAVES: usize = 8;

/// Gray values as floats, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Gray {
    width: usize,
    height: usize,
    values: Vec<f32>,
}

impl Gray {
    /// A part of an image, reduced so that its longer side has at most `side` pixels. Each pixel is
    /// the average of those it covers.
    pub fn shrunk(pixels: &Pixels, part: Part, side: usize) -> Self {
        let longer = part.width.max(part.height);
        let small = |length: usize| {
            if longer <= side { length } else { (length * side).div_ceil(longer).max(1) }
        };
        let (width, height) = (small(part.width), small(part.height));
        let (mut values, mut luma) = (vec![0.0; width * height], vec![0.0; pixels.width()]);
        let columns = shares(part.width, width);
        let rows = shares(part.height, height);
        let mut small_row = vec![0.0; width];
        for (y, reached) in rows.iter().enumerate() {
            pixels.luma_row(part.y + y, &mut luma);
            small_row.fill(0.0);
            for (x, reached) in columns.iter().enumerate() {
                for &(place, share) in reached {
                    small_row[place] += share * luma[part.x + x];
                }
            }
            for &(place, share) in reached {
                let row = &mut values[place * width..][..width];
                row.iter_mut().zip(&small_row).for_each(|(sum, value)| *sum += share * value);
            }
        }
        Self { width, height, values }
    }

    /// The width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The value of a pixel.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.values[y * self.width + x]
    }

    /// The interpolated value at a place; `None` outside the image.
    fn between(&self, x: f32, y: f32) -> Option<f32> {
        if !(x >= 0.0 && y >= 0.0) {
            return None;
        }
        let (left, top) = (x as usize, y as usize);
        if left + 1 >= self.width || top + 1 >= self.height {
            return None;
        }
        let (right, down) = (x - left as f32, y - top as f32);
        let upper = self.at(left, top) * (1.0 - right) + self.at(left + 1, top) * right;
        let lower = self.at(left, top + 1) * (1.0 - right) + self.at(left + 1, top + 1) * right;
        Some(upper * (1.0 - down) + lower * down)
    }

    fn blurred(&self, sigma: f32) -> Self {
        let kernel = bell(sigma);
        let reach = kernel.len() / 2;
        let (width, height) = (self.width, self.height);
        let mut across = vec![0.0; self.values.len()];
        let mut padded = vec![0.0; width + 2 * reach];
        for (row, target) in self.values.chunks(width).zip(across.chunks_mut(width)) {
            padded[..reach].fill(row[0]);
            padded[reach..reach + width].copy_from_slice(row);
            padded[reach + width..].fill(row[width - 1]);
            for (offset, &weight) in kernel.iter().enumerate() {
                let shifted = &padded[offset..offset + width];
                target.iter_mut().zip(shifted).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        let mut values = vec![0.0; self.values.len()];
        for (y, target) in values.chunks_mut(width).enumerate() {
            for (offset, &weight) in kernel.iter().enumerate() {
                let from = (y + offset).saturating_sub(reach).min(height - 1);
                let row = &across[from * width..][..width];
                target.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        Self { width, height, values }
    }

    fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let values =
            (0..width * height).map(|at| self.at(at % width * 2, at / width * 2)).collect();
        Self { width, height, values }
    }

    fn minus(&self, other: &Self) -> Self {
        let values = self.values.iter().zip(&other.values).map(|(one, two)| one - two).collect();
        Self { values, ..*self }
    }
}

/// For each of `from` pixels, the places among `to` that it covers, with its share of each place.
fn shares(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let ratio = to as f64 / from as f64;
    (0..from)
        .map(|at| {
            let (start, end) = (at as f64 * ratio, (at + 1) as f64 * ratio);
            let (first, last) = (start as usize, (end.ceil() as usize).min(to));
            (first..last)
                .map(|place| {
                    let part = end.min((place + 1) as f64) - start.max(place as f64);
                    (place, part as f32)
                })
                .collect()
        })
        .collect()
}

fn bell(sigma: f32) -> Vec<f32> {
    let reach = (3.0 * sigma).ceil() as i32;
    let weight = |at: i32| {
        let deviations = at as f32 / sigma;
        libm::expf(-0.5 * deviations * deviations)
    };
    let total: f32 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|at| weight(at) / total).collect()
}

/// The most salient fragments of an image, with positions in pixels of `gray`.
pub fn fragments(gray: &Gray) -> Vec<Fragment> {
    let mut found: Vec<(f32, Fragment)> = Vec::new();
    let mut base = gray.blurred((BLUR * BLUR - 0.25).sqrt());
    let mut factor = 1.0;
    while base.width.min(base.height) >= 16 {
        let levels = octave(base);
        let differences: Vec<Gray> =
            levels.windows(2).map(|pair| pair[1].minus(&pair[0])).collect();
        for (step, level) in levels.iter().enumerate().skip(1).take(STEPS) {
            extrema(&differences, step, |blob| {
                if let Some(print) = print(level, &blob) {
                    let scale = libm::log2f(factor * blob.sigma);
                    // A pixel of an octave is every second one of the previous octave.
                    let place = Place { x: blob.x * factor, y: blob.y * factor, scale };
                    found.push((blob.contrast.abs(), Fragment { print, place }));
                }
            });
        }
        base = levels[STEPS].halved();
        factor *= 2.0;
    }
    // Of equal contrast, the earlier one, so the result is the same on every machine.
    found.sort_by(|one, two| two.0.total_cmp(&one.0));
    spread(found, gray)
}

/// The strongest blobs, but not too many in any part of the image.
fn spread(found: Vec<(f32, Fragment)>, gray: &Gray) -> Vec<Fragment> {
    const CELLS: usize = 4;
    let mut full = [0_usize; CELLS * CELLS];
    let cell = |place: &Place| {
        let part = |at: f32, length: usize| (at as usize * CELLS / length).min(CELLS - 1);
        part(place.y, gray.height) * CELLS + part(place.x, gray.width)
    };
    let most = 2 * MAX_FRAGMENTS / (CELLS * CELLS);
    let mut kept = Vec::with_capacity(MAX_FRAGMENTS);
    for (_, fragment) in found {
        let count = &mut full[cell(&fragment.place)];
        if *count < most && kept.len() < MAX_FRAGMENTS {
            *count += 1;
            kept.push(fragment);
        }
    }
    kept
}

/// An octave: the same image, increasingly blurred.
fn octave(base: Gray) -> Vec<Gray> {
    let ratio = libm::exp2f(1.0 / STEPS as f32);
    let mut levels = vec![base];
    let mut sigma = BLUR;
    for _ in 0..STEPS + 2 {
        let more = sigma * (ratio * ratio - 1.0).sqrt();
        let next = levels[levels.len() - 1].blurred(more);
        levels.push(next);
        sigma *= ratio;
    }
    levels
}

/// An extremum, in pixels of its octave.
struct Blob {
    x: f32,
    y: f32,
    sigma: f32,
    contrast: f32,
}

/// Calls back for every extremum of a difference among its neighbours in place and scale.
fn extrema(differences: &[Gray], step: usize, mut on_blob: impl FnMut(Blob)) {
    let [below, here, above] = [&differences[step - 1], &differences[step], &differences[step + 1]];
    for y in 1..here.height - 1 {
        for x in 1..here.width - 1 {
            let value = here.at(x, y);
            if value.abs() < CONTRAST || !is_extremum(value, x, y, [below, here, above]) {
                continue;
            }
            if is_edge(here, x, y) {
                continue;
            }
            let peak = |before: f32, after: f32| {
                let curve = before + after - 2.0 * value;
                if curve.abs() < 1e-6 {
                    0.0
                } else {
                    (0.5 * (before - after) / curve).clamp(-0.5, 0.5)
                }
            };
            let right = peak(here.at(x - 1, y), here.at(x + 1, y));
            let down = peak(here.at(x, y - 1), here.at(x, y + 1));
            let up = peak(below.at(x, y), above.at(x, y));
            on_blob(Blob {
                x: x as f32 + right,
                y: y as f32 + down,
                sigma: BLUR * libm::exp2f((step as f32 + up) / STEPS as f32),
                contrast: value,
            });
        }
    }
}

fn is_extremum(value: f32, x: usize, y: usize, around: [&Gray; 3]) -> bool {
    let beats = |other: f32| if value > 0.0 { value > other } else { value < other };
    around.iter().enumerate().all(|(level, gray)| {
        (y - 1..=y + 1).all(|row| {
            (x - 1..=x + 1).all(|column| {
                (level == 1 && row == y && column == x) || beats(gray.at(column, row))
            })
        })
    })
}

fn is_edge(gray: &Gray, x: usize, y: usize) -> bool {
    let value = gray.at(x, y);
    let xx = gray.at(x - 1, y) + gray.at(x + 1, y) - 2.0 * value;
    let yy = gray.at(x, y - 1) + gray.at(x, y + 1) - 2.0 * value;
    let xy = 0.25
        * (gray.at(x + 1, y + 1) + gray.at(x - 1, y - 1)
            - gray.at(x + 1, y - 1)
            - gray.at(x - 1, y + 1));
    let (trace, determinant) = (xx + yy, xx * yy - xy * xy);
    determinant <= 0.0 || trace * trace * EDGE >= (EDGE + 1.0) * (EDGE + 1.0) * determinant
}

/// Half waves at the samples of a square.
static COSINES: LazyLock<[[f32; SAMPLES]; WAVES]> = LazyLock::new(|| {
    std::array::from_fn(|wave| {
        std::array::from_fn(|at| {
            let phase = std::f64::consts::PI * (wave * (2 * at + 1)) as f64 / (2 * SAMPLES) as f64;
            libm::cos(phase) as f32
        })
    })
});

/// The bits of the square around a blob; `None` if the image does not contain the square. Bit `8 i + j`
/// is the sign of frequency `(i, j)`; bit 0, which has no frequency, is set if the blob is dark.
fn print(level: &Gray, blob: &Blob) -> Option<Fingerprint<1>> {
    let spacing = 2.0 * REACH * blob.sigma / SAMPLES as f32;
    let from = -0.5 * (SAMPLES - 1) as f32 * spacing;
    let mut square = [[0.0_f32; SAMPLES]; SAMPLES];
    for (i, row) in square.iter_mut().enumerate() {
        for (j, sample) in row.iter_mut().enumerate() {
            let x = blob.x + from + j as f32 * spacing;
            let y = blob.y + from + i as f32 * spacing;
            *sample = level.between(x, y)?;
        }
    }
    let mut bits = u64::from(blob.contrast > 0.0);
    for (i, down) in COSINES.iter().enumerate() {
        let mut sums = [0.0_f32; SAMPLES];
        for (row, &factor) in square.iter().zip(down) {
            sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += factor * value);
        }
        for (j, across) in COSINES.iter().enumerate().skip(usize::from(i == 0)) {
            let value: f32 = sums.iter().zip(across).map(|(one, two)| one * two).sum();
            bits |= u64::from(value > 0.0) << (WAVES * i + j);
        }
    }
    Some(Fingerprint([bits]))
}
