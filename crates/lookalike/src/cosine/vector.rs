//! A vector as stored in a digest, and the cosine of two vectors.

use super::dot;
use crate::hamming::Kernel;

/// The largest number of dimensions. The square of a dot product times 10^12 must fit into 128 bits; it
/// needs 2 * (14 + 30) + 40.
pub const MAX_DIMENSIONS: usize = 1 << 14;

/// The cosine of equal directions. Cosines are integers in millionths, rounded down.
pub const ONE: u32 = 1_000_000;

/// The integer that represents the largest absolute value of a vector.
const LARGEST: f64 = i16::MAX as f64;

/// The size in bytes of the squared length, which precedes the values.
const HEAD: usize = 8;

/// A direction in integers from -32,767 to 32,767. The largest absolute value is always 32,767.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    /// The sum of the squares of all values.
    norm: u64,
    /// Little-endian.
    values: &'a [[u8; 2]],
}

/// Why numbers do not define a direction that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Fewer than two numbers: all of them would have the same direction, or the opposite one.
    TooFew(usize),
    /// More than [`MAX_DIMENSIONS`].
    TooMany(usize),
    /// The number at this position is infinite or NaN.
    NotFinite(usize),
    /// All numbers are zero.
    Zero,
}

impl<'a> Vector<'a> {
    /// Appends the byte form of the direction of these numbers: the squared length in 64 bits, then each
    /// value in 16 bits, little-endian.
    ///
    /// With the largest absolute value `m`, a number `x` becomes `floor(|x| * 32767 / m + 1/2)` with the
    /// sign of `x`. The three IEEE 754 operations in this order give the same bits on every machine.
    pub fn write(numbers: &[f64], bytes: &mut Vec<u8>) -> Result<(), Flaw> {
        let largest = Self::check(numbers)?;
        // Scaling by a power of two is exact, except for subnormal results, which round to 0 anyway.
        let factor = match largest {
            huge if huge > 1e290 => 2f64.powi(-500),
            tiny if tiny < 1e-290 => 2f64.powi(500),
            _ => 1.0,
        };
        let largest = largest * factor;
        let start = bytes.len();
        bytes.extend([0; HEAD]);
        let mut norm = 0;
        for number in numbers {
            let size = ((number * factor).abs() * LARGEST / largest + 0.5) as i32;
            norm += (i64::from(size) * i64::from(size)) as u64;
            let value = if *number < 0.0 { -size } else { size };
            bytes.extend((value as i16).to_le_bytes());
        }
        bytes[start..start + HEAD].copy_from_slice(&norm.to_le_bytes());
        Ok(())
    }

    /// The largest absolute value of the numbers; an error if they have no direction.
    pub fn check(numbers: &[f64]) -> Result<f64, Flaw> {
        match numbers.len() {
            few @ ..2 => return Err(Flaw::TooFew(few)),
            many if many > MAX_DIMENSIONS => return Err(Flaw::TooMany(many)),
            _ => {}
        }
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(Flaw::NotFinite(at));
        }
        let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
        if largest == 0.0 {
            return Err(Flaw::Zero);
        }
        Ok(largest)
    }

    /// Reads the byte form; `None` if the bytes are not one.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (norm, values) = bytes.split_first_chunk::<HEAD>()?;
        let (values, rest) = values.as_chunks();
        let norm = u64::from_le_bytes(*norm);
        (values.len() >= 2 && rest.is_empty() && norm > 0).then_some(Self { norm, values })
    }

    /// The number of values.
    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    pub fn values(&self) -> &'a [[u8; 2]] {
        self.values
    }

    /// The Euclidean length.
    pub fn length(&self) -> f64 {
        (self.norm as f64).sqrt()
    }

    /// The cosine with another vector in millionths, rounded down; 0 if it is negative. `None` if it is
    /// below `least`, or if the dimensions differ.
    pub fn cosine(&self, other: &Self, least: u32, kernel: Kernel) -> Option<u32> {
        if self.dimensions() != other.dimensions() {
            return None;
        }
        let dot = dot(self.values, other.values, kernel);
        let norms = u128::from(self.norm) * u128::from(other.norm);
        reaches(dot, norms, least).then(|| millionths(dot, norms))
    }
}

/// Whether the cosine is at least this many millionths, without rounding.
fn reaches(dot: i64, norms: u128, least: u32) -> bool {
    if least == 0 || dot <= 0 {
        return least == 0;
    }
    let (dot, least) = (dot as u128, u128::from(least));
    dot * dot * (u128::from(ONE) * u128::from(ONE)) >= least * least * norms
}

fn millionths(dot: i64, norms: u128) -> u32 {
    if dot <= 0 {
        return 0;
    }
    // The estimate may be off by one; integer arithmetic corrects it.
    let guess = dot as f64 / (norms as f64).sqrt() * f64::from(ONE);
    let mut cosine = (guess as u32).min(ONE);
    while cosine > 0 && !reaches(dot, norms, cosine) {
        cosine -= 1;
    }
    while cosine < ONE && reaches(dot, norms, cosine + 1) {
        cosine += 1;
    }
    cosine
}

/// The smallest number of millionths whose 32-bit float is at least `similarity`. Similarities are
/// compared as 32-bit floats elsewhere, so every verdict follows from the figure that is shown.
pub fn least(similarity: f32) -> u32 {
    let mut least = (f64::from(similarity) * f64::from(ONE)).round().clamp(0.0, 1e6) as u32;
    while least > 0 && shown(least - 1) >= similarity {
        least -= 1;
    }
    while least < ONE && shown(least) < similarity {
        least += 1;
    }
    least
}

/// A cosine in millionths as it is shown. Different cosines give different 32-bit floats.
pub fn shown(cosine: u32) -> f32 {
    (f64::from(cosine) / f64::from(ONE)) as f32
}
