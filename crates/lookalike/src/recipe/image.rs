//! Which choices decide the bits of an image's fingerprint?
//!
//! A [`ImageRecipe`] names a method and its version; a [`ImagePreset`] is one that comes with
//! lookalike, with the radius of each [`Level`]. Fingerprints of different recipes must never be
//! compared.

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

/// How an image becomes bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageMethod {
    /// Its 16 x 16 lowest frequencies, each above or below their median.
    Pdq,
    /// The 8 x 8 lowest frequencies of a smaller square.
    Phash,
    /// Its colours: the signs of 128 projections of their histogram.
    Colour,
    /// Its 15 most telling colours, as features of a SimHash: the original recipe.
    Hsv,
}

/// Everything that decides the bits of an image's fingerprint, the decoder apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageRecipe {
    /// How bits are made.
    pub method: ImageMethod,
    /// How rare colours are elsewhere; for [`ImageMethod::Hsv`] only, which does without it, too.
    pub model: Option<Arc<Model>>,
    /// How many there are.
    pub width: Width,
    /// Raised whenever the same image gives other bits.
    pub version: u32,
}

/// What an image looks like by a recipe. The words above its width are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePrints {
    /// As it is shown.
    pub upright: Fingerprint<4>,
    /// In all orientations, in the order of
    /// [`Orientation::ALL`](crate::extract::image::Orientation::ALL), if they were asked for and the
    /// method can tell them apart.
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

    /// Whether it looks at colours; such a method cannot tell how an image lies.
    pub const fn needs_colour(self) -> bool {
        matches!(self, Self::Colour | Self::Hsv)
    }
}

impl ImageRecipe {
    /// What people call it.
    pub const fn name(&self) -> &'static str {
        self.method.name()
    }

    /// The fingerprint of an image; `None` if it is too flat or too small to have one.
    pub fn prints(&self, image: &Image, orientations: bool) -> Option<ImagePrints> {
        let pixels = &image.pixels;
        if pixels.width().min(pixels.height()) < SMALLEST {
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

    /// The colours that count, as features: those of which there is most, and that are rare elsewhere.
    fn hsv_features(&self, histogram: &Histogram) -> Features<2> {
        let mut weighted = Vec::new();
        hsv_features(histogram, |name, share| {
            let words: [u64; 2] = HSV_HASH.words(0, name);
            let rarity = self.model.as_deref().map_or(256, |model| model.rarity(words[0]));
            // Shares are 16 bits after the point, rarities 8.
            weighted.push((words, ((i64::from(share) * i64::from(rarity)) >> 8) as i32));
        });
        heaviest(weighted.into_iter(), HSV_TOP)
    }

    /// The smallest distance at which two images are no more than similar.
    pub(crate) fn beyond_near(&self) -> u32 {
        self.preset().map_or(0, |preset| preset.levels[1].bits() + 1)
    }

    /// What whole images are called that are so far apart; `None` beyond the loosest level.
    pub fn level(&self, distance: u32) -> Option<Level> {
        let levels = self.preset()?.levels;
        let place = levels.iter().position(|radius| radius.contains(distance))?;
        Some(Level::WHOLE[place])
    }

    fn preset(&self) -> Option<&'static ImagePreset> {
        ImagePreset::ALL.iter().find(|preset| preset.recipe.method == self.method)
    }

    /// The hashes of the colours an image has: what a [`Model`] for `hsv` is learned from.
    pub fn colour_hashes(&self, image: &Image) -> Vec<u64> {
        let mut hashes = Vec::new();
        hsv_features(&Histogram::of(&image.pixels), |name, share| {
            // A colour that one pixel in a thousand has is no colour of the image.
            if share >= 65 {
                hashes.push(HSV_HASH.hash(0, name));
            }
        });
        hashes
    }

    /// What a model must know for this recipe; `None` if it takes none.
    pub const fn model_name(&self) -> Option<&'static str> {
        match self.method {
            ImageMethod::Hsv => Some("hsv:32, murmur3-128"),
            _ => None,
        }
    }
}

/// Images with less to see than this are all alike in their noise.
const FLAT: u32 = 5;

/// Sides shorter than this show too little.
const SMALLEST: usize = 16;

/// How the colours of `hsv` become bits, and how many of them count.
const HSV_HASH: FeatureHash = FeatureHash::Murmur3_128;
const HSV_TOP: NonZeroU32 = NonZeroU32::new(15).expect("15 is not zero");

/// The choices on one line: `pdq: 256 bits, version 1`.
impl fmt::Display for ImageRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bits", self.name(), self.width.bits())?;
        if let Some(model) = &self.model {
            write!(f, ", by {} images (model {})", model.texts(), model.identity())?;
        }
        write!(f, ", version {}", self.version)
    }
}

const fn recipe(method: ImageMethod, width: Width) -> ImageRecipe {
    ImageRecipe { method, model: None, width, version: 1 }
}

/// A recipe for images that comes with lookalike, and how to tell alike images by it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImagePreset {
    /// The choices.
    pub recipe: ImageRecipe,
    /// Within how many bits two images are a copy, near, similar.
    pub levels: [Radius; 3],
    /// How alike images must be, unless the caller says otherwise; what `quality` is measured at.
    pub level: Level,
    /// How well it does.
    pub quality: ImageQuality,
    /// What it is good for, on one line.
    pub description: &'static str,
}

/// How well a preset tells copies, measured on 92 photographs and their copies in other formats,
/// sizes, qualities and tones (docs/recipes.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageQuality {
    /// The share of copies that are found beside their original.
    pub recall: f32,
    /// Pairs of different photographs that are taken for alike, in a million.
    pub false_pairs: f32,
}

const fn quality(recall: f32, false_pairs: f32) -> ImageQuality {
    ImageQuality { recall, false_pairs }
}

impl ImagePreset {
    /// Every preset, the default first.
    ///
    /// ```
    /// let names: Vec<_> = lookalike::ImagePreset::ALL.iter().map(|preset| preset.recipe.name()).collect();
    /// assert_eq!(names, ["pdq", "phash", "colour", "hsv"]);
    /// ```
    pub const ALL: &'static [Self] = &[
        Self {
            recipe: recipe(ImageMethod::Pdq, Width::Bits256),
            levels: [Radius::new(31), Radius::new(48), Radius::new(52)],
            level: Level::Copy,
            quality: quality(0.994, 0.0),
            description: "copies of an image: other size, format, quality, brightness, a watermark",
        },
        Self {
            recipe: recipe(ImageMethod::Phash, Width::Bits64),
            levels: [Radius::new(8), Radius::new(10), Radius::new(12)],
            level: Level::Copy,
            quality: quality(0.998, 0.8),
            description: "the same in 64 bits, as other tools have it; for fewer than some 10,000 images",
        },
        Self {
            recipe: recipe(ImageMethod::Colour, Width::Bits128),
            levels: [Radius::new(8), Radius::new(15), Radius::new(21)],
            level: Level::Similar,
            quality: quality(0.673, 1796.0),
            description: "images of the same colours, however they lie or are cropped; look before you act",
        },
        Self {
            recipe: recipe(ImageMethod::Hsv, Width::Bits128),
            levels: [Radius::new(3), Radius::new(8), Radius::new(14)],
            level: Level::Near,
            quality: quality(0.434, 1268.0),
            description: "the 15 most telling colours as a SimHash: the original recipe, kept for study",
        },
    ];

    /// The preset of that name; the error names the nearest one there is.
    pub fn named(name: &str) -> Result<&'static Self, RecipeError> {
        Self::ALL.iter().find(|preset| preset.recipe.name() == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|preset| preset.recipe.name());
            RecipeError::Unknown { name: name.into(), nearest: nearest(name, names).unwrap_or("") }
        })
    }

    /// Images at most this far apart are taken for alike, unless the caller says otherwise.
    pub const fn radius(&self) -> Radius {
        self.radius_of(self.level)
    }

    /// Within how many bits two whole images are as alike as that; of parts, similar.
    pub const fn radius_of(&self, level: Level) -> Radius {
        match level {
            Level::Copy => self.levels[0],
            Level::Near => self.levels[1],
            Level::Similar | Level::Part => self.levels[2],
        }
    }
}
