//! The recipes for texts that come with lookalike.

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

/// A recipe that comes with lookalike, and the definition of matching texts.
///
/// ```
/// use lookalike::{Preset, Recipe, Width};
///
/// let Preset { recipe, .. } = Preset::named("words")?;
/// let own = Recipe { name: "own".into(), width: Width::Bits64, ..recipe.clone() };
/// assert!(own.check().is_ok());
/// # Ok::<(), lookalike::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Preset {
    /// The recipe.
    pub recipe: Recipe,
    /// The radius within which fingerprints match where only fingerprints are known.
    pub radius: Radius,
    /// When the contents of two texts match; `None` if their fingerprints decide.
    pub verify: Option<Verify>,
    /// The measured quality, if any.
    pub quality: Option<Quality>,
    /// A one-line description.
    pub description: &'static str,
}

/// The quality of a preset: means over labelled sets of texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The share of found pairs that are correct.
    pub precision: f32,
    /// The share of correct pairs that are found.
    pub recall: f32,
    /// The mean over the sets of the harmonic mean of both.
    pub f1: f32,
    /// The data of the measurement.
    pub source: &'static str,
}

/// Man pages, READMEs, licences, edited texts and programs (docs/quality.md).
const EIGHT_SETS: &str = "eight labelled sets";

/// One of these sets: edited and renamed programs.
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
            description: "texts in any language, compared by their words and pairs of neighbouring \
            words",
        },
        Self {
            recipe: recipe("bare", Unit::Words, 2, Weighting::Log, Width::Bits128),
            radius: Radius::new(33),
            verify: None,
            quality: quality(0.972, 0.864, 0.906, EIGHT_SETS),
            description: "fingerprints alone, for when the texts are no longer available",
        },
        Self {
            recipe: recipe("simhash64", Unit::Words, 3, Weighting::Tf, Width::Bits64),
            radius: Radius::new(3),
            verify: None,
            quality: quality(1.0, 0.164, 0.266, EIGHT_SETS),
            description: "the classic web-crawl setting: high precision, low recall",
        },
        Self {
            recipe: recipe("code", Unit::Blind, 3, Weighting::Log, Width::Bits128),
            radius: Radius::new(32),
            verify: Some(jaccard(Unit::Blind, 3, 0.5)),
            quality: quality(0.954, 0.880, 0.915, PROGRAMS),
            description: "programs in any language; names do not matter, so renamed copies match",
        },
        Self {
            recipe: recipe("chars", Unit::Characters, 5, Weighting::Log, Width::Bits128),
            radius: Radius::new(40),
            verify: Some(jaccard(Unit::Characters, 5, 0.4)),
            quality: quality(0.941, 0.916, 0.920, EIGHT_SETS),
            description: "short strings, misspelt or truncated words, text without spaces",
        },
        #[cfg(feature = "dictionary")]
        Self {
            recipe: keywords(),
            radius: Radius::new(10),
            verify: None,
            quality: None,
            description: "texts on the same subject, by their 30 most characteristic words; needs a corpus model",
        },
    ];

    /// The preset with this name; the error suggests the nearest name.
    ///
    /// ```
    /// use lookalike::Preset;
    ///
    /// let words = Preset::named("words")?;
    /// assert_eq!((words.recipe.width.bits(), words.radius.bits()), (128, 32));
    /// let error = Preset::named("wrods").unwrap_err();
    /// assert!(error.to_string().contains("did you mean words?"));
    /// # Ok::<(), lookalike::recipe::RecipeError>(())
    /// ```
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
