//! Which choices decide the bits of a picture's fingerprint?
//!
//! A [`PictureRecipe`] names a method and its version; a [`PicturePreset`] is one that comes with
//! lookalike, with the radius of each [`Level`]. Fingerprints of different recipes must never be
//! compared.

use std::fmt;

use super::{Quality, RecipeError};
use crate::{
    extract::image::{Cosines, Frame, PDQ_SIDE, Picture, pdq, pdq_orientations, pdq_quality},
    fingerprint::{Fingerprint, Radius, Width},
    spelling::nearest,
    verify::Level,
};

/// How a picture becomes bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PictureMethod {
    /// Its 16 x 16 lowest frequencies, each above or below their median.
    Pdq,
}

/// Everything that decides the bits of a picture's fingerprint, the decoder apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PictureRecipe {
    /// How bits are made.
    pub method: PictureMethod,
    /// How many there are.
    pub width: Width,
    /// Raised whenever the same picture gives other bits.
    pub version: u32,
}

/// What a picture looks like by a recipe. The words above its width are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PicturePrints {
    /// As it is shown.
    pub upright: Fingerprint<4>,
    /// In all orientations, in the order of
    /// [`Orientation::ALL`](crate::extract::image::Orientation::ALL), if they were asked for and the
    /// method can tell them apart.
    pub turned: Option<Box<[Fingerprint<4>; 8]>>,
}

impl PictureMethod {
    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdq => "pdq",
        }
    }

    /// Whether it looks at colours.
    pub const fn needs_colour(self) -> bool {
        match self {
            Self::Pdq => false,
        }
    }
}

impl PictureRecipe {
    /// What people call it.
    pub const fn name(&self) -> &'static str {
        self.method.name()
    }

    /// The fingerprint of a picture; `None` if it is too flat or too small to have one.
    pub fn prints(&self, picture: &Picture, orientations: bool) -> Option<PicturePrints> {
        match self.method {
            PictureMethod::Pdq => {
                let pixels = &picture.pixels;
                if pixels.width().min(pixels.height()) < PDQ_SIDE {
                    return None;
                }
                let frame = Frame::of(pixels);
                if pdq_quality(&frame) < FLAT {
                    return None;
                }
                let cosines = Cosines::of(&frame);
                let turned = orientations.then(|| Box::new(pdq_orientations(&cosines)));
                Some(PicturePrints { upright: pdq(&cosines), turned })
            }
        }
    }
}

/// Pictures with less to see than this are all alike in their noise.
const FLAT: u32 = 2;

/// The choices on one line: `pdq: 256 bits, version 1`.
impl fmt::Display for PictureRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bits, version {}", self.name(), self.width.bits(), self.version)
    }
}

/// A recipe for pictures that comes with lookalike, and how to tell alike pictures by it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PicturePreset {
    /// The choices.
    pub recipe: PictureRecipe,
    /// Within how many bits two pictures are a copy, near, similar.
    pub levels: [Radius; 3],
    /// How well it does, where that was measured.
    pub quality: Option<Quality>,
    /// What it is good for, on one line.
    pub description: &'static str,
}

impl PicturePreset {
    /// Every preset, the default first.
    pub const ALL: &'static [Self] = &[Self {
        recipe: PictureRecipe { method: PictureMethod::Pdq, width: Width::Bits256, version: 1 },
        levels: [Radius::new(31), Radius::new(48), Radius::new(72)],
        quality: None,
        description: "copies of a picture: other size, format, quality, brightness, a watermark",
    }];

    /// The preset of that name; the error names the nearest one there is.
    pub fn named(name: &str) -> Result<&'static Self, RecipeError> {
        Self::ALL.iter().find(|preset| preset.recipe.name() == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|preset| preset.recipe.name());
            RecipeError::Unknown { name: name.into(), nearest: nearest(name, names).unwrap_or("") }
        })
    }

    /// Pictures at most this far apart are taken for alike, unless the caller says otherwise.
    pub const fn radius(&self) -> Radius {
        self.levels[0]
    }

    /// Within how many bits two pictures are as alike as that.
    pub const fn radius_of(&self, level: Level) -> Radius {
        match level {
            Level::Copy => self.levels[0],
            Level::Near => self.levels[1],
            Level::Similar => self.levels[2],
        }
    }
}
