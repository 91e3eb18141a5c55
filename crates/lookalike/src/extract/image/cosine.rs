//! The lowest frequencies of a frame, in all orientations.
//!
//! [`Cosines`] are the coefficients of the lowest frequencies of the discrete cosine transform.
//! Mirroring an image negates its odd frequencies, and transposing it transposes them, so one transform
//! gives all eight [`Orientation`]s.

use std::{f64::consts::PI, sync::LazyLock};

use super::Frame;

/// One of the eight ways to turn and mirror an image: transposed (rows become columns) or not, then
/// mirrored left to right, top to bottom, both, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Orientation(u8);

impl Orientation {
    /// Unchanged.
    pub const UPRIGHT: Self = Self(0);

    /// All eight; upright is first.
    pub const ALL: [Self; 8] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// Transposed first, then mirrored.
    pub const fn new(transposed: bool, mirrored_x: bool, mirrored_y: bool) -> Self {
        Self(transposed as u8 * 4 + mirrored_y as u8 * 2 + mirrored_x as u8)
    }

    /// The transformation that the EXIF tag `Orientation` asks for to show an image upright; `None`
    /// unless the tag is 1 to 8.
    pub const fn of_exif(tag: u16) -> Option<Self> {
        Some(match tag {
            1 => Self::UPRIGHT,
            2 => Self::new(false, true, false),
            3 => Self::new(false, true, true),
            4 => Self::new(false, false, true),
            5 => Self::new(true, false, false),
            6 => Self::new(true, true, false),
            7 => Self::new(true, true, true),
            8 => Self::new(true, false, true),
            _ => return None,
        })
    }

    /// Its number, 0 to 7.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether rows become columns.
    pub const fn transposes(self) -> bool {
        self.0 & 4 != 0
    }

    /// Whether left and right are swapped, after transposing.
    pub const fn mirrors_x(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether top and bottom are swapped, after transposing.
    pub const fn mirrors_y(self) -> bool {
        self.0 & 2 != 0
    }

    /// The orientation that undoes this one.
    #[must_use]
    pub const fn inverse(self) -> Self {
        // Only quarter turns are not their own inverse: transposing swaps the two ways to mirror.
        match self.transposes() {
            true => Self::new(true, self.mirrors_y(), self.mirrors_x()),
            false => self,
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "upright",
            1 => "mirrored",
            2 => "upside down, mirrored",
            3 => "turned by 180",
            4 => "transposed",
            5 => "turned by 90",
            6 => "turned by 270",
            _ => "transposed the other way",
        }
    }
}

/// The number of frequencies kept in each direction.
const SIDE: usize = 16;

/// The coefficients of the 16 x 16 lowest frequencies without the constant: entry `(i, j)` belongs to
/// `i + 1` half waves from top to bottom and `j + 1` from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Cosines([[f32; SIDE]; SIDE]);

/// Row `i` is the wave of `i + 1` half periods, at 64 places.
static WAVES: LazyLock<[[f32; Frame::SIDE]; SIDE]> = LazyLock::new(|| {
    let scale = (2.0 / Frame::SIDE as f64).sqrt();
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let phase = PI / 2.0 / Frame::SIDE as f64 * ((i + 1) * (2 * j + 1)) as f64;
            (scale * libm::cos(phase)) as f32
        })
    })
});

impl Cosines {
    /// The transform of a frame.
    pub fn of(frame: &Frame) -> Self {
        let waves = &*WAVES;
        let mut columns = [[0.0_f32; Frame::SIDE]; SIDE];
        for (sums, wave) in columns.iter_mut().zip(waves) {
            for (row, &factor) in frame.rows().iter().zip(wave) {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += factor * value);
            }
        }
        let dot = |one: &[f32; 64], two: &[f32; 64]| {
            // Eight sums side by side, added in a fixed order, give the same bits on every machine.
            let mut sums = [0.0_f32; 8];
            for (one, two) in one.as_chunks::<8>().0.iter().zip(two.as_chunks::<8>().0) {
                (0..8).for_each(|lane| sums[lane] += one[lane] * two[lane]);
            }
            sums.iter().sum()
        };
        Self(columns.map(|sums| std::array::from_fn(|j| dot(&sums, &waves[j]))))
    }

    /// Coefficients by frequency from top to bottom, then from left to right.
    pub fn values(&self) -> &[[f32; 16]; 16] {
        &self.0
    }

    /// The transform of the image in another orientation.
    #[must_use]
    pub fn turned(&self, orientation: Orientation) -> Self {
        // Frequency index + 1 half waves: an even index is an odd wave, which mirroring negates.
        let sign = |mirrored: bool, index: usize| {
            if mirrored && index.is_multiple_of(2) { -1.0 } else { 1.0 }
        };
        Self(std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let value = if orientation.transposes() { self.0[j][i] } else { self.0[i][j] };
                value * sign(orientation.mirrors_y(), i) * sign(orientation.mirrors_x(), j)
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::image::Pixels;

    #[test]
    fn turning_the_transform_is_turning_the_image() {
        // 128 pixels are sampled symmetrically, so mirrored images agree up to rounding.
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let pixels = Pixels::gray(64, 64, (0..64 * 64).map(|_| next()).collect()).unwrap();
        let cosines = Cosines::of(&Frame::of(&pixels));
        for orientation in Orientation::ALL {
            let turned = Cosines::of(&Frame::of(&pixels.clone().turned(orientation)));
            let expected = cosines.turned(orientation);
            for (one, two) in turned.0.as_flattened().iter().zip(expected.0.as_flattened()) {
                assert!((one - two).abs() < 0.02, "{orientation:?}: {one} {two}");
            }
        }
    }

    #[test]
    fn the_inverse_undoes_an_orientation() {
        let pixels = Pixels::gray(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
        for orientation in Orientation::ALL {
            let turned = pixels.clone().turned(orientation);
            assert_eq!(turned.turned(orientation.inverse()), pixels, "{orientation:?}");
        }
    }

    #[test]
    fn every_exif_tag_names_another_orientation() {
        let mut all: Vec<_> = (1..=8).filter_map(Orientation::of_exif).collect();
        all.sort_unstable();
        assert_eq!(all, Orientation::ALL);
        assert_eq!((Orientation::of_exif(0), Orientation::of_exif(9)), (None, None));
    }
}
