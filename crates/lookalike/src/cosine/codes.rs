//! 8-bit codes of coordinates, and the bound that makes the filter exact.
//!
//! # The bound
//!
//! Let `u` and `v` be two vectors of length 1, and `A` a matrix that lengthens no vector. Then `I - A'A`
//! is positive semidefinite, so by the Cauchy-Schwarz inequality
//!
//! ```text
//! u.v = Au.Av + u'(I - A'A)v <= Au.Av + r(u) r(v),    r(u) = sqrt(1 - |Au|^2).
//! ```
//!
//! `A` has few rows; the coordinates `a = Au` are stored as 8-bit codes with a scale, `a = s c + e`.
//! With `|b| <= 1` and `|s c| <= 1 + |e|`,
//!
//! ```text
//! a.b <= s(a) s(b) c(a).c(b) + |e(a)| + |e(b)| + |e(a)| |e(b)|
//!     <= s(a) s(b) c(a).c(b) + E(a) + E(b),              E = |e| + |e|^2 / 2.
//! ```
//!
//! So a pair can be refused if `s(a) s(b) c(a).c(b) + r(u) r(v) + E(a) + E(b)` is below the threshold.
//! A panel of [`PANEL`] columns uses the largest `E` of its columns for all of them, and both sides are
//! divided by the scale of the row.
//!
//! # Rounding
//!
//! The coordinates are exact integers divided by the square root of an exact integer. Lengths and errors
//! are computed in 64-bit floats, whose rounding [`TINY`] covers. The test itself uses 32-bit floats. It
//! has four rounded factors, a conversion, two products, a sum, and three operations for the threshold:
//! eleven roundings, each at most 2^-24 of terms that add up to less than 3.5 before the division by the
//! scale. Together they are less than 2.3e-6, which [`SLACK`] covers.

use rayon::prelude::*;

use super::{Vector, basis::Basis};
use crate::hamming::Kernel;

/// The number of columns that are compared with a row at once.
pub const PANEL: usize = 32;

/// The number of adjacent coordinates of a column in a panel.
pub const TOGETHER: usize = 4;

/// Added to codes in panels, because kernels need unsigned numbers there.
pub const BIAS: u8 = 128;

/// The number of bytes that [`TOGETHER`] coordinates take in a panel.
pub const STEP: usize = PANEL * TOGETHER;

/// Covers the rounding of sums of squares in 64-bit floats: 16,384 terms, 2^-53 each.
const TINY: f64 = 1e-11;

/// Covers the rounding of the test in 32-bit floats.
pub const SLACK: f32 = 4e-6;

/// The largest code. Codes are symmetric, so that a sum of two products fits into 16 bits.
const LARGEST: f64 = 127.0;

/// The number of vectors that a thread codes at a time.
const AT_ONCE: usize = 256;

/// The codes of many vectors.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    /// The number of codes of a vector: a multiple of [`TOGETHER`].
    depth: usize,
    codes: Vec<i8>,
    bounds: Vec<Bound>,
}

/// What the bound needs to know about a vector besides its codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Bound {
    /// The value of a code of 1.
    pub scale: f32,
    /// The length of the part that the coordinates omit: `r`.
    pub rest: f32,
    /// The largest error of a dot product from the rounding of codes: `E`.
    pub error: f32,
}

impl Codes {
    /// The codes of `len` vectors in a basis; without one, of all their dimensions.
    pub fn of<'v>(
        len: usize,
        at: &(impl Fn(usize) -> Vector<'v> + Sync + ?Sized),
        basis: Option<&Basis>,
        kernel: Kernel,
    ) -> Self {
        let depth = match (basis, len) {
            (Some(basis), _) => basis.depth(),
            (None, 0) => 0,
            (None, _) => at(0).dimensions(),
        };
        let depth = PanelCodes::depth_of(depth);
        let (mut codes, mut bounds) = (vec![0; len * depth], vec![Bound::default(); len]);
        let pieces = codes.par_chunks_mut((depth * AT_ONCE).max(1));
        pieces.zip(bounds.par_chunks_mut(AT_ONCE)).enumerate().for_each(
            |(piece, (codes, bounds))| {
                let mut coordinates = Vec::new();
                let rows = codes.chunks_exact_mut(depth).zip(bounds);
                for (number, (codes, bound)) in (piece * AT_ONCE..).zip(rows) {
                    write_coordinates(&at(number), basis, kernel, &mut coordinates);
                    *bound = code(&coordinates, codes);
                }
            },
        );
        Self { depth, codes, bounds }
    }

    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn row(&self, number: usize) -> (&[i8], Bound) {
        (&self.codes[number * self.depth..(number + 1) * self.depth], self.bounds[number])
    }

    /// The same codes in panels.
    pub fn panels(&self) -> PanelCodes {
        let mut panels = PanelCodes::new(self.depth);
        panels.codes.reserve_exact(self.len().next_multiple_of(PANEL) * self.depth);
        (0..self.len()).for_each(|number| panels.push(self.row(number).0));
        panels
    }

    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }
}

/// Writes the coordinates of the vector scaled to length 1, in a basis or in its own dimensions.
pub fn write_coordinates(
    vector: &Vector<'_>,
    basis: Option<&Basis>,
    kernel: Kernel,
    coordinates: &mut Vec<f64>,
) {
    coordinates.clear();
    match basis {
        Some(basis) => basis.write_coordinates(vector, kernel, coordinates),
        None => {
            let length = vector.length();
            let value = |bytes: &[u8; 2]| f64::from(i16::from_le_bytes(*bytes)) / length;
            coordinates.extend(vector.values().iter().map(value));
        }
    }
}

/// Writes the codes of coordinates, and returns the bound; the remaining codes stay zero.
pub fn code(coordinates: &[f64], codes: &mut [i8]) -> Bound {
    let largest = coordinates.iter().fold(0.0, |largest: f64, at| largest.max(at.abs()));
    let scale = (largest / LARGEST).max(1e-6) as f32;
    let (unit, per_unit) = (f64::from(scale), 1.0 / f64::from(scale));
    let (mut squares, mut errors) = (0.0, 0.0);
    for (&at, code) in coordinates.iter().zip(codes) {
        let steps = at * per_unit;
        let nearest = ((steps.abs() + 0.5) as i32).min(LARGEST as i32);
        let nearest = if steps < 0.0 { -nearest } else { nearest };
        *code = nearest as i8;
        let error = at - unit * f64::from(nearest);
        squares += at * at;
        errors += error * error;
    }
    let error = (errors + TINY).sqrt();
    Bound {
        scale,
        rest: ((1.0 - squares).max(0.0) + TINY).sqrt() as f32,
        error: (error + error * error / 2.0) as f32,
    }
}

/// Codes in panels of [`PANEL`] vectors: the first [`TOGETHER`] codes of each vector, then the next.
#[derive(Clone, Debug, Default)]
pub struct PanelCodes {
    depth: usize,
    len: usize,
    codes: Vec<u8>,
}

impl PanelCodes {
    pub fn new(depth: usize) -> Self {
        Self { depth, len: 0, codes: Vec::new() }
    }

    /// The number of codes of a vector in all its dimensions.
    pub fn depth_of(dimensions: usize) -> usize {
        dimensions.next_multiple_of(TOGETHER)
    }

    /// The codes of all dimensions of a vector, and their bound.
    pub fn code(vector: &Vector<'_>) -> (Vec<i8>, Bound) {
        let mut coordinates = Vec::new();
        write_coordinates(vector, None, Kernel::Portable, &mut coordinates);
        let mut codes = vec![0; Self::depth_of(vector.dimensions())];
        let bound = code(&coordinates, &mut codes);
        (codes, bound)
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the codes of a vector.
    pub fn push(&mut self, codes: &[i8]) {
        let column = self.len % PANEL;
        if column == 0 {
            self.codes.resize(self.codes.len() + self.depth * PANEL, BIAS);
        }
        let start = self.codes.len() - self.depth * PANEL + column * TOGETHER;
        for (step, codes) in codes.chunks_exact(TOGETHER).enumerate() {
            let place = start + step * STEP;
            for (place, code) in self.codes[place..place + TOGETHER].iter_mut().zip(codes) {
                *place = (*code as u8).wrapping_add(BIAS);
            }
        }
        self.len += 1;
    }

    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    pub fn into_codes(self) -> Vec<u8> {
        self.codes
    }
}

/// Reads the codes of one vector back from panels.
pub fn codes_at(panels: &[u8], depth: usize, number: usize, codes: &mut Vec<i8>) {
    codes.clear();
    let start = number / PANEL * PANEL * depth + number % PANEL * TOGETHER;
    for step in 0..depth / TOGETHER {
        let place = start + step * STEP;
        let unbiased =
            panels[place..place + TOGETHER].iter().map(|code| code.wrapping_sub(BIAS) as i8);
        codes.extend(unbiased);
    }
}

/// The bounds of columns in the layout of the test, with the largest error of each panel.
#[derive(Clone, Debug, Default)]
pub struct PanelBounds {
    len: usize,
    scales: Vec<f32>,
    rests: Vec<f32>,
    errors: Vec<f32>,
}

impl PanelBounds {
    pub fn new(bounds: &[Bound]) -> Self {
        let padded_len = bounds.len().next_multiple_of(PANEL);
        let padded = |part: fn(&Bound) -> f32| {
            let mut parts: Vec<f32> = bounds.iter().map(part).collect();
            parts.resize(padded_len, 0.0);
            parts
        };
        let largest =
            |panel: &[Bound]| panel.iter().fold(0.0, |max: f32, bound| max.max(bound.error));
        Self {
            len: bounds.len(),
            scales: padded(|bound| bound.scale),
            rests: padded(|bound| bound.rest),
            errors: bounds.chunks(PANEL).map(largest).collect(),
        }
    }
}

/// Panels with their bounds, to compare with rows.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a> {
    pub depth: usize,
    pub codes: &'a [u8],
    pub bounds: &'a PanelBounds,
}

/// One panel.
#[derive(Clone, Copy)]
pub struct Panel<'a> {
    /// [`STEP`] bytes for each step.
    pub codes: &'a [u8],
    pub scales: &'a [f32; PANEL],
    pub rests: &'a [f32; PANEL],
    pub error: f32,
}

impl<'a> Panels<'a> {
    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.bounds.len
    }

    /// The number of panels.
    pub fn count(&self) -> usize {
        self.bounds.errors.len()
    }

    pub fn at(&self, number: usize) -> Panel<'a> {
        let bytes = self.depth * PANEL;
        let columns = |parts: &'a [f32]| &parts.as_chunks::<PANEL>().0[number];
        Panel {
            codes: &self.codes[number * bytes..(number + 1) * bytes],
            scales: columns(&self.bounds.scales),
            rests: columns(&self.bounds.rests),
            error: self.bounds.errors[number],
        }
    }
}
