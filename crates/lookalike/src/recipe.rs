//! Which choices decide the bits of a fingerprint?
//!
//! A [`Recipe`] holds all of them; a [`Preset`] is a recipe with a name people can ask for, the
//! radius it was made for and what confirms that two texts are alike. Fingerprints of different
//! recipes must never be compared.

mod counter;
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

use crate::extract::text::collect_shingles;
use crate::extract::{Runs, Shingles};
use crate::features::{Features, WeightError};
use crate::fingerprint::{Fingerprint, Width};
use crate::hash::{FeatureHash, HashError, mix, seeded, spread};
use crate::model::Model;
use crate::simhash::simhash;
use crate::stop_words::StopWords;
use counter::{Counted, Counter};

#[cfg(feature = "image")]
pub use image::{ImageMethod, ImagePreset, ImagePrints, ImageQuality, ImageRecipe};
pub use preset::{Preset, Quality};
pub use weighting::Weighting;
use weighting::log_weight;
pub(crate) use weighting::log2;

/// Everything that decides the bits of a text's fingerprint. Equal recipes give equal bits, on
/// every machine and for ever.
///
/// ```
/// use lookalike::{Fingerprint, Preset, Recipe, Width};
///
/// let recipe = &Preset::named("bare").unwrap().recipe;
/// let a: Fingerprint<2> = recipe.fingerprint("The quick brown fox jumps over the lazy dog").unwrap();
/// let b: Fingerprint<2> = recipe.fingerprint("the QUICK brown fox, jumps over the lazy dog!").unwrap();
/// assert_eq!(a, b);
/// assert_eq!(recipe.fingerprint::<2>("..."), None);
///
/// let own = Recipe { name: "own".into(), features: "chars:4".parse().unwrap(), width: Width::Bits64, ..recipe.clone() };
/// assert_eq!(own.to_string(), "own: chars:4, log, mix, 64 bits, version 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// What people call it.
    pub name: Cow<'static, str>,
    /// What a text is made of.
    pub features: Shingles,
    /// Tokens that are left out before neighbours are looked at.
    pub stop_words: StopWords,
    /// How much a feature counts.
    pub weights: Weighting,
    /// How rare features are elsewhere; needed by [`Weighting::TfIdf`] only.
    pub model: Option<Arc<Model>>,
    /// Only so many features count, those that weigh most; of equals, those of smaller hash.
    pub top: Option<NonZeroU32>,
    /// How a feature becomes bits.
    pub hash: FeatureHash,
    /// The seed of the hash.
    pub seed: u64,
    /// How many bits a fingerprint has.
    pub width: Width,
    /// Raised whenever the same choices give other bits.
    pub version: u32,
}

impl Recipe {
    /// Refuses choices that do not go together.
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

    /// The fingerprint of a text; `None` if it has no features.
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint<const WORDS: usize>(&self, text: &str) -> Option<Fingerprint<WORDS>> {
        self.fingerprint_with(text, &mut Scratch::new())
    }

    /// [`fingerprint`](Self::fingerprint) with buffers that are kept from text to text: the fast
    /// way for many texts.
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_with<const WORDS: usize>(
        &self,
        text: &str,
        scratch: &mut Scratch<WORDS>,
    ) -> Option<Fingerprint<WORDS>> {
        if self.hash != FeatureHash::Mix {
            return self.fingerprint_hashed(text, |bytes| self.hash.words(self.seed, bytes));
        }
        let mut tokens = std::mem::take(&mut scratch.tokens);
        self.features.unit.token_hashes(text, &mut tokens);
        let print = self.fingerprint_of_tokens(&tokens, scratch);
        scratch.tokens = tokens;
        print
    }

    /// The fingerprint of a text whose tokens were hashed before, by
    /// [`Unit::token_hashes`](crate::Unit::token_hashes); several recipes can share them.
    ///
    /// ```
    /// use lookalike::recipe::Scratch;
    /// use lookalike::{Preset, Unit};
    ///
    /// let (words, bare) = (Preset::named("words").unwrap(), Preset::named("bare").unwrap());
    /// let (mut tokens, mut scratch) = (Vec::new(), Scratch::<2>::new());
    /// let text = "to be or not to be";
    /// Unit::Words.token_hashes(text, &mut tokens);
    /// assert_eq!(words.recipe.fingerprint_of_tokens(&tokens, &mut scratch), words.recipe.fingerprint(text));
    /// assert_eq!(bare.recipe.fingerprint_of_tokens(&tokens, &mut scratch), bare.recipe.fingerprint(text));
    /// assert_eq!(scratch.distinct().len(), 4); // to be, be or, or not, not to
    /// ```
    ///
    /// # Panics
    /// If the recipe's hash is not [`FeatureHash::Mix`], which alone works from hashes of tokens;
    /// or if `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_of_tokens<const WORDS: usize>(
        &self,
        tokens: &[u64],
        scratch: &mut Scratch<WORDS>,
    ) -> Option<Fingerprint<WORDS>> {
        assert_eq!(self.hash, FeatureHash::Mix, "only mix makes hashes of features from tokens'");
        self.check_words::<WORDS>();
        let Scratch { kept, hashes, counter, features, .. } = scratch;
        let tokens = self.stop_words.filter(tokens, kept);
        features.clear();
        if self.weights == Weighting::Tf && self.top.is_none() {
            self.hash_shingles(tokens, spread, features.hashes_mut());
        } else if self.features.size.get() == 1 && self.seed == 0 {
            counter.count(tokens);
            self.weigh_counted(counter.counted(), features);
        } else {
            hashes.clear();
            self.hash_shingles(tokens, |hash| hash, hashes);
            counter.count(hashes);
            self.weigh_counted(counter.counted(), features);
        }
        self.vote(features)
    }

    /// Adds what `make` makes of the hash of every feature, repeats included.
    fn hash_shingles<T>(&self, tokens: &[u64], make: impl Fn(u64) -> T, made: &mut Vec<T>) {
        let (size, seed) = (self.features.size.get() as usize, self.seed);
        collect_shingles(tokens, size, |hash| make(seeded(hash, seed)), made);
    }

    /// The fingerprint of a text, with the caller's own hash of the bytes of a feature.
    ///
    /// ```
    /// use lookalike::{Preset, hash::spread};
    ///
    /// let fnv = |bytes: &[u8]| {
    ///     bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
    ///         (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    ///     })
    /// };
    /// let recipe = &Preset::named("bare").unwrap().recipe;
    /// let print = recipe.fingerprint_hashed::<2>("to be or not to be", |bytes| spread(fnv(bytes)));
    /// assert_ne!(print, recipe.fingerprint("to be or not to be"));
    /// ```
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_hashed<const WORDS: usize>(
        &self,
        text: &str,
        mut hash: impl FnMut(&[u8]) -> [u64; WORDS],
    ) -> Option<Fingerprint<WORDS>> {
        let mut hashes = Vec::new();
        let left_out = |token: &[u8]| self.stop_words.contains(mix(token));
        self.features.extract_without(text, left_out, |bytes| hashes.push(hash(bytes)));
        self.fingerprint_of_hashes(hashes)
    }

    /// The fingerprint of a text that the caller cut into tokens: stop words, runs of neighbours and
    /// weights are the recipe's. `hash` may be the recipe's own, or the caller's. (With
    /// [`FeatureHash::Mix`], [`fingerprint_of_tokens`](Self::fingerprint_of_tokens) is what a text
    /// gets: it makes the hash of a run from those of its tokens.)
    ///
    /// ```
    /// use lookalike::{FeatureHash, Preset, Recipe};
    ///
    /// let recipe = Recipe { hash: FeatureHash::Xxh3, ..Preset::named("bare").unwrap().recipe.clone() };
    /// let hash = |bytes: &[u8]| recipe.hash.words::<2>(recipe.seed, bytes);
    /// let cut = recipe.fingerprint_of_token_bytes(["to", "be", "or", "not"], hash);
    /// assert_eq!(cut, recipe.fingerprint("to be, or NOT"));
    /// ```
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_of_token_bytes<const WORDS: usize>(
        &self,
        tokens: impl IntoIterator<Item = impl AsRef<[u8]>>,
        mut hash: impl FnMut(&[u8]) -> [u64; WORDS],
    ) -> Option<Fingerprint<WORDS>> {
        let mut runs = Runs::with_capacity(self.features, 0);
        for token in tokens {
            let token = token.as_ref();
            if !self.stop_words.contains(mix(token)) {
                runs.push(token);
            }
        }
        let mut hashes = Vec::new();
        runs.each(|bytes| hashes.push(hash(bytes)));
        self.fingerprint_of_hashes(hashes)
    }

    /// The fingerprint of features by their hashes, repeats included.
    fn fingerprint_of_hashes<const WORDS: usize>(
        &self,
        mut hashes: Vec<[u64; WORDS]>,
    ) -> Option<Fingerprint<WORDS>> {
        self.check_words::<WORDS>();
        hashes.sort_unstable();
        let counted = hashes
            .chunk_by(|a, b| a == b)
            .map(|equal| (equal[0], u32::try_from(equal.len()).unwrap_or(u32::MAX)));
        let mut features = Features::new();
        self.weigh(counted, &mut features);
        self.vote(&features)
    }

    /// The fingerprint of features that are given with their weights, each by its bytes; `None` if
    /// there are none, or none that weighs anything. Only hash, seed, width and `top` matter.
    ///
    /// ```
    /// use lookalike::{Fingerprint, Preset};
    ///
    /// let recipe = &Preset::named("words").unwrap().recipe;
    /// let print: Option<Fingerprint<2>> =
    ///     recipe.fingerprint_of_features([("sweet", 5.0), ("sour", 1.5)]).unwrap();
    /// assert!(print.is_some());
    /// assert!(recipe.fingerprint_of_features::<2>([("sweet", f64::NAN)]).is_err());
    /// ```
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_of_features<const WORDS: usize>(
        &self,
        features: impl IntoIterator<Item = (impl AsRef<[u8]>, f64)>,
    ) -> Result<Option<Fingerprint<WORDS>>, WeightError> {
        let hashed = features
            .into_iter()
            .map(|(feature, weight)| (self.hash.words(self.seed, feature.as_ref()), weight));
        self.fingerprint_of_weighted_hashes(hashed)
    }

    /// [`fingerprint_of_features`](Self::fingerprint_of_features) of features that are hashed
    /// already, to as many words as a fingerprint has ([`spread`] makes them of one).
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint_of_weighted_hashes<const WORDS: usize>(
        &self,
        hashes: impl IntoIterator<Item = ([u64; WORDS], f64)>,
    ) -> Result<Option<Fingerprint<WORDS>>, WeightError> {
        self.check_words::<WORDS>();
        let mut features = Features::from_floats_words(hashes)?;
        if let Some(top) = self.top {
            features = heaviest(features.iter().map(|(&words, weight)| (words, weight)), top);
        }
        Ok(self.vote(&features))
    }

    /// The fingerprint of a text in the widest type, whatever the recipe's width: for callers that
    /// learn the width at run time. The words above the width are zero, and change no distance.
    ///
    /// ```
    /// use lookalike::Preset;
    ///
    /// let recipe = &Preset::named("simhash64").unwrap().recipe;
    /// let print = recipe.fingerprint_any("hello").unwrap();
    /// assert_eq!(print.to_hex(recipe.width).len(), "0x".len() + 16);
    /// ```
    pub fn fingerprint_any(&self, text: &str) -> Option<Fingerprint<4>> {
        match self.width {
            Width::Bits32 | Width::Bits64 => {
                self.fingerprint::<1>(text).map(|print| print.resize())
            }
            Width::Bits128 => self.fingerprint::<2>(text).map(|print| print.resize()),
            Width::Bits256 => self.fingerprint(text),
        }
    }

    /// [`fingerprint_of_features`](Self::fingerprint_of_features) in the widest type, as
    /// [`fingerprint_any`](Self::fingerprint_any) has it.
    pub fn fingerprint_any_of_features(
        &self,
        features: impl IntoIterator<Item = (impl AsRef<[u8]>, f64)>,
    ) -> Result<Option<Fingerprint<4>>, WeightError> {
        Ok(match self.width {
            Width::Bits32 | Width::Bits64 => {
                self.fingerprint_of_features::<1>(features)?.map(|print| print.resize())
            }
            Width::Bits128 => {
                self.fingerprint_of_features::<2>(features)?.map(|print| print.resize())
            }
            Width::Bits256 => self.fingerprint_of_features(features)?,
        })
    }

    /// Calls back with the first word of the hash of every feature of a text, repeats included.
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

    /// All that decides the hashes of features: `words:1, without en zh, mix`.
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

    /// Adds counted features with the weight they have in this recipe.
    fn weigh_counted<const WORDS: usize>(
        &self,
        counted: impl ExactSizeIterator<Item = Counted> + Clone,
        features: &mut Features<WORDS>,
    ) {
        let words = counted.clone().map(|feature| spread(feature.hash));
        match self.weights {
            Weighting::Set if self.top.is_none() => features.extend_once(words),
            // The usual case, and none of these weighs nothing.
            Weighting::Log if self.top.is_none() => {
                let weights = counted.map(|feature| log_weight(feature.count));
                features.extend_weighted(words, weights);
            }
            _ => self.weigh(words.zip(counted.map(|feature| feature.count)), features),
        }
    }

    /// Adds counted features with the weight they have in this recipe.
    fn weigh<const WORDS: usize>(
        &self,
        counted: impl Iterator<Item = ([u64; WORDS], u32)>,
        features: &mut Features<WORDS>,
    ) {
        let model = self.model.as_deref();
        let weighted = counted.map(|(words, count)| {
            let rarity = || model.map_or(256, |model| model.rarity(words[0]));
            (words, self.weights.weight(count, rarity))
        });
        match self.top {
            None => features.extend_words(weighted),
            Some(top) => *features = heaviest(weighted, top),
        }
    }

    fn vote<const WORDS: usize>(&self, features: &Features<WORDS>) -> Option<Fingerprint<WORDS>> {
        let mut print = simhash(features)?;
        if self.width == Width::Bits32 {
            print.0[0] &= u64::from(u32::MAX);
        }
        Some(print)
    }

    fn check_words<const WORDS: usize>(&self) {
        let bits = self.width.bits();
        assert_eq!(self.width.words(), WORDS, "a fingerprint of {bits} bits in {WORDS} words");
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

/// Buffers that are kept from text to text, for fingerprints of `WORDS` words.
#[derive(Clone, Debug, Default)]
pub struct Scratch<const WORDS: usize> {
    tokens: Vec<u64>,
    kept: Vec<u64>,
    hashes: Vec<u64>,
    counter: Counter,
    features: Features<WORDS>,
}

impl<const WORDS: usize> Scratch<WORDS> {
    /// Empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hashes of the tokens of the last text of [`Recipe::fingerprint_with`], in order, if the
    /// recipe hashes by [`FeatureHash::Mix`].
    pub fn tokens(&self) -> &[u64] {
        &self.tokens
    }

    /// The hashes of the distinct features of the last text, in no particular order, if the recipe
    /// counts them: it hashes by [`FeatureHash::Mix`], and weighs by anything but
    /// [`Weighting::Tf`].
    pub fn distinct(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.counter.counted().map(|feature| feature.hash)
    }
}

/// The features that weigh most; of equals, those of smaller hash.
fn heaviest<const WORDS: usize>(
    weighted: impl Iterator<Item = ([u64; WORDS], i32)>,
    top: NonZeroU32,
) -> Features<WORDS> {
    let mut weighted: Vec<_> = weighted.filter(|&(_, weight)| weight != 0).collect();
    let top = top.get() as usize;
    if top < weighted.len() {
        weighted.select_nth_unstable_by_key(top, |&(words, weight)| (-i64::from(weight), words));
        weighted.truncate(top);
    }
    let mut features = Features::new();
    weighted.into_iter().for_each(|(words, weight)| features.push_words(words, weight));
    features
}

/// Why there is no such recipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No preset has that name.
    #[error("there is no recipe \"{name}\"; did you mean {nearest}?")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The valid name that looks most like it.
        nearest: &'static str,
    },
    /// No weighting has that name.
    #[error("there are no weights \"{name}\"; did you mean {nearest}?")]
    UnknownWeights {
        /// What was asked for.
        name: String,
        /// The valid name that looks most like it.
        nearest: &'static str,
    },
    /// Weights by rarity need to know how rare things are.
    #[error("{name} weighs by how rare words are elsewhere (tfidf) and needs a corpus model")]
    NoModel {
        /// The recipe.
        name: String,
    },
    /// The model knows other features.
    #[error("the corpus model is of \"{model}\", but the recipe has \"{recipe}\"")]
    OtherModel {
        /// What the recipe makes.
        recipe: String,
        /// What the model knows.
        model: String,
    },
    /// The hash does not take the seed.
    #[error(transparent)]
    Hash(#[from] HashError),
}
