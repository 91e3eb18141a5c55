//! Recipes: the choices that decide the bits of a fingerprint.
//!
//! A [`Recipe`] has all of these choices, and a [`Fingerprinter`] applies them. A [`Preset`] is a recipe
//! with a name, the radius it is meant for, and the definition of a match. Fingerprints of different
//! recipes must never be compared.

mod counter;
mod fingerprinter;
#[cfg(feature = "image")]
mod image;
mod preset;
#[cfg(feature = "collection")]
pub(crate) mod stored;
#[cfg(test)]
mod tests;
mod weighting;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::extract::Shingles;
use crate::fingerprint::{Fingerprint, Width};
use crate::hash::{FeatureHash, HashError, mix};
use crate::model::Model;
use crate::stop_words::StopWords;
#[cfg(feature = "image")]
use fingerprinter::heaviest;
pub use fingerprinter::{Fingerprinter, Piece};

#[cfg(feature = "image")]
pub use image::{ImageMethod, ImagePreset, ImagePrints, ImageQuality, ImageRecipe};
pub use preset::{Preset, Quality};
pub use weighting::Weighting;
pub(crate) use weighting::log2;

/// Everything that decides the bits of the fingerprint of a text. Equal recipes give equal bits on every
/// machine, in every release.
///
/// ```
/// use lookalike::{Preset, Recipe, Width};
///
/// let recipe = &Preset::named("bare").unwrap().recipe;
/// let a = recipe.fingerprint("The quick brown fox jumps over the lazy dog").unwrap();
/// let b = recipe.fingerprint("the QUICK brown fox, jumps over the lazy dog!").unwrap();
/// assert_eq!(a, b);
/// assert_eq!(recipe.fingerprint("..."), None);
///
/// let own = Recipe { name: "own".into(), features: "chars:4".parse().unwrap(), width: Width::Bits64, ..recipe.clone() };
/// assert_eq!(own.to_string(), "own: chars:4, log, mix, 64 bits, version 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// The name shown to people.
    pub name: Cow<'static, str>,
    /// The features of a text.
    pub features: Shingles,
    /// Tokens that are left out before runs of neighbours are formed.
    pub stop_words: StopWords,
    /// The weight of a feature.
    pub weights: Weighting,
    /// How rare features are in other texts; for [`Weighting::TfIdf`] only, which needs it.
    pub model: Option<Arc<Model>>,
    /// If set, only this number of features count: the heaviest ones; of equal weight, those with the
    /// smaller hash.
    pub top: Option<NonZeroU32>,
    /// The hash of a feature.
    pub hash: FeatureHash,
    /// The seed of the hash.
    pub seed: u64,
    /// The width of a fingerprint.
    pub width: Width,
    /// Raised whenever the same choices give different bits.
    pub version: u32,
}

impl Recipe {
    /// An error if the choices do not fit together.
    pub fn check(&self) -> Result<(), RecipeError> {
        self.hash.check_seed(self.seed)?;
        match &self.model {
            None if self.weights == Weighting::TfIdf => {
                Err(RecipeError::NoModel { name: self.name.to_string() })
            }
            Some(model) if model.features_name() != self.features_name() => {
                Err(RecipeError::OtherModel {
                    recipe: self.features_name(),
                    model: model.features_name().to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// The fingerprint of a text in the widest type; `None` if the text has no features.
    ///
    /// The words above the recipe's width are zero, which changes no distance. For many texts, or for
    /// tokens and features, use a [`fingerprinter`](Self::fingerprinter).
    ///
    /// ```
    /// use lookalike::Preset;
    ///
    /// let recipe = &Preset::named("simhash64")?.recipe;
    /// let print = recipe.fingerprint("hello").unwrap();
    /// assert_eq!(print.to_hex(recipe.width).len(), "0x".len() + 16);
    /// assert_eq!(recipe.fingerprint(""), None);
    /// # Ok::<(), lookalike::recipe::RecipeError>(())
    /// ```
    pub fn fingerprint(&self, text: &str) -> Option<Fingerprint<4>> {
        self.fingerprinter().text(text)
    }

    /// Makes fingerprints of many texts, lists of tokens or lists of features, and keeps its buffers
    /// between them.
    pub fn fingerprinter(&self) -> Fingerprinter<'_> {
        Fingerprinter::new(self)
    }

    /// Calls back with the first word of the hash of every feature of a text, including repeats.
    pub(crate) fn feature_hashes(&self, text: &str, mut on_hash: impl FnMut(u64)) {
        if self.hash == FeatureHash::Mix {
            let mut tokens = Vec::new();
            self.features.unit.token_hashes(text, &mut tokens);
            let (mut kept, mut hashes) = (Vec::new(), Vec::new());
            let tokens = self.stop_words.filter(&tokens, &mut kept);
            self.hash_shingles(tokens, |hash| hash, &mut hashes);
            hashes.into_iter().for_each(on_hash);
        } else {
            let left_out = |token: &[u8]| self.stop_words.contains(mix(token));
            self.features.extract_without(text, left_out, |bytes| {
                on_hash(self.hash.hash(self.seed, bytes));
            });
        }
    }

    /// The choices that decide the hashes of features, as in `words:1, without en zh, mix`.
    pub fn features_name(&self) -> String {
        let Self { features, stop_words, hash, seed, .. } = self;
        let mut name = features.to_string();
        if !stop_words.is_empty() {
            name += &format!(", without {stop_words}");
        }
        name += &format!(", {hash}");
        if *seed != 0 {
            name += &format!(" seed {seed:#x}");
        }
        name
    }
}

/// The choices on one line: `bare: words:2, log, mix, 128 bits, version 1`.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, features, stop_words, weights, model, top, hash, seed, width, version } =
            self;
        write!(f, "{name}: {features}")?;
        if !stop_words.is_empty() {
            write!(f, " without {stop_words}")?;
        }
        write!(f, ", {weights}")?;
        if let Some(model) = model {
            write!(f, " by {} texts (model {})", model.texts(), model.identity())?;
        }
        if let Some(top) = top {
            write!(f, ", top {top}")?;
        }
        write!(f, ", {hash}")?;
        if *seed != 0 {
            write!(f, " seed {seed:#x}")?;
        }
        write!(f, ", {} bits, version {version}", width.bits())
    }
}

/// Why a recipe cannot be made or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No preset has this name.
    #[error("there is no recipe \"{name}\"; did you mean {nearest}?")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
    /// No weighting has this name.
    #[error("unknown weights \"{name}\"; did you mean {nearest}?")]
    UnknownWeights {
        /// The name.
        name: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
    /// Weights by rarity need a model.
    #[error("{name} weighs by how rare words are elsewhere (tfidf) and needs a corpus model")]
    NoModel {
        /// The name of the recipe.
        name: String,
    },
    /// The model has other features than the recipe.
    #[error("the corpus model is of \"{model}\", but the recipe has \"{recipe}\"")]
    OtherModel {
        /// The features of the recipe.
        recipe: String,
        /// The features of the model.
        model: String,
    },
    /// The hash of the recipe needs bytes of tokens, not hashes.
    #[error(
        "the hash of a feature is made of the bytes of its tokens, not of their hashes; give the \
         tokens themselves, or use the hash mix"
    )]
    HashedTokens,
    /// The hash does not take the seed.
    #[error(transparent)]
    Hash(#[from] HashError),
}
