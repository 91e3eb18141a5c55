//! Which recipes come with lookalike, and what is each good for?

use std::borrow::Cow;
#[cfg(feature = "dictionary")]
use std::num::NonZeroU32;

use super::{Recipe, RecipeError, Weighting};
use crate::extract::{Shingles, Unit};
use crate::fingerprint::{Radius, Width};
use crate::hash::FeatureHash;
use crate::spelling::nearest;
use crate::stop_words::StopWords;
use crate::verify::{Measure, Similarity, Verify};

/// A recipe that comes with lookalike, and how to tell alike texts by it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Preset {
    /// The choices.
    pub recipe: Recipe,
    /// Fingerprints at most this far apart are taken for alike where nothing but them is known.
    pub radius: Radius,
    /// When two texts are alike; `None` if their fingerprints decide.
    pub verify: Option<Verify>,
    /// How well it does, where that was measured.
    pub quality: Option<Quality>,
    /// What it is good for, on one line.
    pub description: &'static str,
}

/// How well a preset tells alike texts: means over labelled sets of texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The share of found pairs that are right.
    pub precision: f32,
    /// The share of right pairs that are found.
    pub recall: f32,
    /// The mean of each set's harmonic mean of both.
    pub f1: f32,
    /// Where the figures come from.
    pub source: &'static str,
}

/// Eight sets: man pages, READMEs, licences, and edited texts and programs (docs/quality.md).
const EIGHT_SETS: &str = "eight labelled sets";

/// One of them: programs, edited and renamed.
const PROGRAMS: &str = "one labelled set of programs";

impl Preset {
    /// Every preset, the default first.
    ///
    /// ```
    /// let names: Vec<_> = lookalike::Preset::ALL.iter().map(|preset| &preset.recipe.name).collect();
    /// assert_eq!(names[..5], ["words", "bare", "simhash64", "code", "chars"]);
    /// ```
    pub const ALL: &'static [Self] = &[
        Self {
            recipe: recipe("words", Unit::Words, 1, Weighting::Log, Width::Bits128),
            radius: Radius::new(32),
            verify: Some(Verify::DEFAULT),
            quality: quality(0.980, 0.921, 0.945, EIGHT_SETS),
            description: "texts in any language: what shares most of its words and pairs of \
                          neighbouring words is alike",
        },
        Self {
            recipe: recipe("bare", Unit::Words, 2, Weighting::Log, Width::Bits128),
            radius: Radius::new(33),
            verify: None,
            quality: quality(0.972, 0.864, 0.906, EIGHT_SETS),
            description: "fingerprints alone, when texts are not at hand any more",
        },
        Self {
            recipe: recipe("simhash64", Unit::Words, 3, Weighting::Tf, Width::Bits64),
            radius: Radius::new(3),
            verify: None,
            quality: quality(1.0, 0.164, 0.266, EIGHT_SETS),
            description: "the classic web-crawl setting: what it finds is right, but it finds little",
        },
        Self {
            recipe: recipe("code", Unit::Blind, 3, Weighting::Log, Width::Bits128),
            radius: Radius::new(32),
            verify: Some(jaccard(Unit::Blind, 3, 0.5)),
            quality: quality(0.954, 0.880, 0.915, PROGRAMS),
            description: "programs in any language, blind to names: renamed copies are alike",
        },
        Self {
            recipe: recipe("chars", Unit::Characters, 5, Weighting::Log, Width::Bits128),
            radius: Radius::new(40),
            verify: Some(jaccard(Unit::Characters, 5, 0.4)),
            quality: quality(0.941, 0.916, 0.920, EIGHT_SETS),
            description: "short strings, misspelt or cut words, text without spaces",
        },
        #[cfg(feature = "dictionary")]
        Self {
            recipe: keywords(),
            radius: Radius::new(10),
            verify: None,
            quality: None,
            description: "texts on one subject by their 30 most telling words; needs a corpus model",
        },
    ];

    /// The preset of that name; the error names the nearest one there is.
    pub fn named(name: &str) -> Result<&'static Self, RecipeError> {
        Self::ALL.iter().find(|preset| preset.recipe.name == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|preset| preset.recipe.name.as_ref());
            #[cfg(feature = "image")]
            let names = names.chain(super::ImagePreset::ALL.iter().map(|one| one.recipe.name()));
            RecipeError::Unknown { name: name.into(), nearest: nearest(name, names).unwrap_or("") }
        })
    }
}

const fn recipe(
    name: &'static str,
    unit: Unit,
    size: u32,
    weights: Weighting,
    width: Width,
) -> Recipe {
    Recipe {
        name: Cow::Borrowed(name),
        features: shingles(unit, size),
        stop_words: StopWords::NONE,
        weights,
        model: None,
        top: None,
        hash: FeatureHash::Mix,
        seed: 0,
        width,
        version: 1,
    }
}

#[cfg(feature = "dictionary")]
const fn keywords() -> Recipe {
    Recipe {
        name: Cow::Borrowed("keywords"),
        features: shingles(Unit::Dictionary, 1),
        stop_words: StopWords::COMMON,
        weights: Weighting::TfIdf,
        model: None,
        top: NonZeroU32::new(30),
        hash: FeatureHash::Mix,
        seed: 0,
        width: Width::Bits64,
        version: 1,
    }
}

const fn jaccard(unit: Unit, size: u32, similarity: f32) -> Verify {
    Verify {
        features: shingles(unit, size),
        measure: Measure::Jaccard,
        similarity: Similarity::new(similarity).expect("presets ask for a share"),
    }
}

const fn shingles(unit: Unit, size: u32) -> Shingles {
    Shingles::new(unit, size).expect("presets have a shingle size of 1 or more")
}

const fn quality(precision: f32, recall: f32, f1: f32, source: &'static str) -> Option<Quality> {
    Some(Quality { precision, recall, f1, source })
}
