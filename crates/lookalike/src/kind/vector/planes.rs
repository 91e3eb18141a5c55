//! Fingerprints of vectors: on which side of 256 random hyperplanes the vector lies.
//!
//! Charikar, Similarity estimation techniques from rounding algorithms (2002). The probability that two
//! vectors differ in a bit is the angle between them divided by 180 degrees.

use crate::{
    Fingerprint, Radius,
    cosine::{Vector, dot},
    hamming::Kernel,
};

/// Hyperplanes whose normal vectors have the coordinates 1 and -1.
pub(super) struct Planes {
    dimensions: usize,
    /// Plane by plane, little-endian.
    signs: Vec<[u8; 2]>,
}

const BITS: usize = 256;

impl Planes {
    /// The hyperplanes for this number of dimensions. They never change.
    pub fn new(dimensions: usize) -> Self {
        let sign = |(plane, dimension): (usize, usize)| {
            let bits = mixed((dimension as u64) << 8 | plane as u64);
            if bits >> 63 == 1 { 1_i16 } else { -1 }.to_le_bytes()
        };
        let of_plane = |plane| (0..dimensions).map(move |dimension| (plane, dimension));
        Self { dimensions, signs: (0..BITS).flat_map(of_plane).map(sign).collect() }
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// A bit is 1 if the dot product with the normal of its plane is positive.
    pub fn print(&self, vector: &Vector<'_>, kernel: Kernel) -> Fingerprint<4> {
        let mut words = [0; 4];
        for (plane, signs) in self.signs.chunks_exact(self.dimensions).enumerate() {
            let is_above = dot(signs, vector.values(), kernel) > 0;
            words[plane / 64] |= u64::from(is_above) << (plane % 64);
        }
        Fingerprint(words)
    }
}

/// SplitMix64 of the number of a plane and dimension.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The share of pairs with this cosine whose fingerprints are within a radius, for independent bits.
pub(super) fn recall(cosine: f64, radius: Radius) -> f64 {
    let differing = libm::acos(cosine) / std::f64::consts::PI;
    let (mut share, mut sum) = (libm::pow(1.0 - differing, BITS as f64), 0.0);
    for bits in 0..=radius.bits().min(BITS as u32) {
        sum += share;
        share *=
            f64::from(BITS as u32 - bits) / f64::from(bits + 1) * differing / (1.0 - differing);
    }
    sum.min(1.0)
}
