//! Recipes for images.
//!
//! An [`ImageRecipe`] is a method and its version. An [`ImagePreset`] is a recipe with the radius of
//! each [`Level`]. Fingerprints of different recipes must never be compared.

use std::{fmt, num::NonZeroU32, sync::Arc};

use super::{RecipeError, heaviest};
use crate::{
    extract::image::{
        Cosines, Frame, Histogram, Image, colour, hsv_features, pdq, pdq_orientations, pdq_quality,
        phash, phash_orientations,
    },
    features::Features,
    fingerprint::{Fingerprint, Radius, Width},
    hash::FeatureHash,
    model::Model,
    simhash::simhash,
    spelling::nearest,
    verify::Level,
};

/// How the bits of an image are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageMethod {
    /// The 16 x 16 lowest frequencies, each above or below their median.
    Pdq,
    /// The 8 x 8 lowest frequencies of a smaller square.
    Phash,
    /// The colours: the signs of 128 projections of their histogram.
    Colour,
    /// The 15 most characteristic colours, as features of a SimHash: the original recipe.
    Hsv,
}

/// Everything that decides the bits of the fingerprint of an image, except the decoder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageRecipe {
    /// The method.
    pub method: ImageMethod,
    /// How rare colours are in other images; for [`ImageMethod::Hsv`] only, where it is optional.
    pub model: Option<Arc<Model>>,
    /// The width of a fingerprint.
    pub width: Width,
    /// Raised whenever the same image gives different bits.
    pub version: u32,
}

/// The fingerprints of an image. The words above the width of the recipe are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePrints {
    /// The fingerprint of the image as shown.
    pub upright: Fingerprint<4>,
    /// The fingerprints in all orientations, in the order of
    /// [`Orientation::ALL`](crate::extract::image::Orientation::ALL), if they were requested and the
    /// method depends on the orientation.
    pub turned: Option<Box<[Fingerprint<4>; 8]>>,
}

impl ImageMethod {
    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdq => "pdq",
            Self::Phash => "phash",
            Self::Colour => "colour",
            Self::Hsv => "hsv",
        }
    }

    /// Whether the method uses colours; such a method does not depend on the orientation.
    pub const fn needs_colour(self) -> bool {
        matches!(self, Self::Colour | Self::Hsv)
    }
}

impl ImageRecipe {
    /// The name of the method.
    pub const fn name(&self) -> &'static str {
        self.method.name()
    }

    /// The fingerprints of an image; `None` if it is too flat or too small.
    pub fn prints(&self, image: &Image, orientations: bool) -> Option<ImagePrints> {
        let pixels = &image.pixels;
        if pixels.width().min(pixels.height()) < MIN_SIDE {
            return None;
        }
        let frame = Frame::of(pixels);
        if pdq_quality(&frame) < FLAT {
            return None;
        }
        match self.method {
            ImageMethod::Pdq => {
                let cosines = Cosines::of(&frame);
                let turned = orientations.then(|| Box::new(pdq_orientations(&cosines)));
                Some(ImagePrints { upright: pdq(&cosines), turned })
            }
            ImageMethod::Phash => {
                let turned = || Box::new(phash_orientations(&frame).map(|print| print.resize()));
                let turned = orientations.then(turned);
                Some(ImagePrints { upright: phash(&frame).resize(), turned })
            }
            ImageMethod::Colour => {
                let upright = colour(&Histogram::of(pixels)).resize();
                Some(ImagePrints { upright, turned: None })
            }
            ImageMethod::Hsv => {
                let upright = simhash(&self.hsv_features(&Histogram::of(pixels)))?.resize();
                Some(ImagePrints { upright, turned: None })
            }
        }
    }

    /// The heaviest colours as features: frequent ones that are rare in other images.
    fn hsv_features(&self, histogram: &Histogram) -> Features<2> {
        let mut weighted = Vec::new();
        hsv_features(histogram, |name, share| {
            let words: [u64; 2] = HSV_HASH.words(0, name);
            let rarity = self.model.as_deref().map_or(256, |model| model.rarity(words[0]));
            // Shares have 16 fractional bits, rarities 8.
            weighted.push((words, ((i64::from(share) * i64::from(rarity)) >> 8) as i32));
        });
        heaviest(weighted.into_iter(), HSV_TOP)
    }

    /// The smallest distance of two images that are at most similar.
    pub(crate) fn beyond_near(&self) -> u32 {
        self.preset().map_or(0, |preset| preset.levels[1].bits() + 1)
    }

    /// The level of two whole images at a distance; `None` beyond the loosest level.
    pub fn level(&self, distance: u32) -> Option<Level> {
        let levels = self.preset()?.levels;
        let place = levels.iter().position(|radius| radius.contains(distance))?;
        Some(Level::WHOLE[place])
    }

    fn preset(&self) -> Option<&'static ImagePreset> {
        ImagePreset::ALL.iter().find(|preset| preset.recipe.method == self.method)
    }

    /// The hashes of the colours of an image, from which a [`Model`] for `hsv` is learned.
    pub fn colour_hashes(&self, image: &Image) -> Vec<u64> {
        let mut hashes = Vec::new();
        hsv_features(&Histogram::of(&image.pixels), |name, share| {
            // Colours of less than one pixel in a thousand are ignored.
            if share >= 65 {
                hashes.push(HSV_HASH.hash(0, name));
            }
        });
        hashes
    }

    /// The name of the features of a model for this recipe; `None` if it takes no model.
    pub const fn model_name(&self) -> Option<&'static str> {
        match self.method {
            ImageMethod::Hsv => Some("hsv:32, murmur3-128"),
            _ => None,
        }
    }
}

/// The least detail of an image; flatter ones would match by their noise.
const FLAT: u32 = 5;

/// The least side of an image in pixels.
const MIN_SIDE: usize = 16;

/// The hash of the colours of `hsv`, and the number of colours that count.
const HSV_HASH: FeatureHash = FeatureHash::Murmur3_128;
const HSV_TOP: NonZeroU32 = NonZeroU32::new(15).expect("15 is not zero");

/// The choices on one line: `pdq: 256 bits, version 1`.
impl fmt::Display for ImageRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bits", self.name(), self.width.bits())?;
        if let Some(model) = &self.model {
            let plural = if model.texts() == 1 { "" } else { "s" };
            write!(f, ", by {} image{plural} (model {})", model.texts(), model.identity())?;
        }
        write!(f, ", version {}", self.version)
    }
}

const fn recipe(method: ImageMethod, width: Width) -> ImageRecipe {
    ImageRecipe { method, model: None, width, version: 1 }
}

/// A recipe for images that comes with lookalike, and the definition of its levels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImagePreset {
    /// The recipe.
    pub recipe: ImageRecipe,
    /// The radius of the levels copy, near, and similar.
    pub levels: [Radius; 3],
    /// The default level, at which `quality` is measured.
    pub level: Level,
    /// The measured quality.
    pub quality: ImageQuality,
    /// A one-line description.
    pub description: &'static str,
}

/// The quality of a preset, measured on 92 photographs and their copies in other formats, sizes,
/// qualities and tones (docs/recipes.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageQuality {
    /// The share of copies that match their original.
    pub recall: f32,
    /// Matching pairs per million pairs of different photographs.
    pub false_pairs: f32,
}

const fn quality(recall: f32, false_pairs: f32) -> ImageQuality {
    ImageQuality { recall, false_pairs }
}

impl ImagePreset {
    /// Every preset, the default first.
    ///
    /// ```
    /// let names: Vec<_> = lookalike::recipe::ImagePreset::ALL.iter().map(|preset| preset.recipe.name()).collect();
    /// assert_eq!(names, ["pdq", "phash", "colour", "hsv"]);
    /// ```
    pub const ALL: &'static [Self] = &[
        Self {
            recipe: recipe(ImageMethod::Pdq, Width::Bits256),
            levels: [Radius::new(31), Radius::new(48), Radius::new(52)],
            level: Level::Copy,
            quality: quality(0.994, 0.0),
            description: "copies of an image with another size, format, quality, brightness, or a watermark",
        },
        Self {
            recipe: recipe(ImageMethod::Phash, Width::Bits64),
            levels: [Radius::new(8), Radius::new(10), Radius::new(12)],
            level: Level::Copy,
            quality: quality(0.998, 0.8),
            description: "the same in 64 bits, as in other tools; for fewer than about 10,000 images",
        },
        Self {
            recipe: recipe(ImageMethod::Colour, Width::Bits128),
            levels: [Radius::new(8), Radius::new(15), Radius::new(21)],
            level: Level::Similar,
            quality: quality(0.673, 1796.0),
            description: "images with the same colours in any orientation or crop; check before acting",
        },
        Self {
            recipe: recipe(ImageMethod::Hsv, Width::Bits128),
            levels: [Radius::new(3), Radius::new(8), Radius::new(14)],
            level: Level::Near,
            quality: quality(0.434, 1268.0),
            description: "the 15 most characteristic colours as a SimHash: the original recipe, kept for study",
        },
    ];

    /// The preset with this name; the error suggests the nearest name.
    pub fn named(name: &str) -> Result<&'static Self, RecipeError> {
        Self::ALL.iter().find(|preset| preset.recipe.name() == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|preset| preset.recipe.name());
            RecipeError::Unknown { name: name.into(), nearest: nearest(name, names).unwrap_or("") }
        })
    }

    /// The default radius within which images match.
    pub const fn radius(&self) -> Radius {
        self.radius_of(self.level)
    }

    /// The radius of a level for whole images; that of similar for parts.
    pub const fn radius_of(&self, level: Level) -> Radius {
        match level {
            Level::Copy => self.levels[0],
            Level::Near => self.levels[1],
            Level::Similar | Level::Part => self.levels[2],
        }
    }
}
