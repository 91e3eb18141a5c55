//! Makes fingerprints by a recipe.
//!
//! [`Fingerprinter`] counts the features of one item after another, weighs them, and lets them vote.
//! Widths are chosen once, when it is created; every fingerprint comes in the widest type.

use std::num::NonZeroU32;

use super::{
    Recipe, RecipeError, Weighting,
    counter::{Counted, Counter},
    weighting::log_weight,
};
use crate::{
    extract::{Runs, text::collect_shingles},
    features::{Features, WeightError},
    fingerprint::{Fingerprint, Width},
    hash::{FeatureHash, mix, seeded, spread},
    simhash::simhash,
};

/// Makes fingerprints by a [`Recipe`], and keeps its buffers from item to item.
///
/// Every method returns the fingerprint in the widest type. The words above the recipe's width are
/// zero, which changes no distance; [`Fingerprint::resize`] cuts them off. `None` means that the item
/// has no features, and so no fingerprint.
///
/// ```
/// use lookalike::{Preset, Recipe};
///
/// let recipe = &Preset::named("bare")?.recipe;
/// let mut fingerprinter = recipe.fingerprinter();
/// let print = fingerprinter.text("To be, or NOT to be").unwrap();
/// assert_eq!(fingerprinter.tokens(["to", "be", "or", "not", "to", "be"])?, Some(print));
/// assert_eq!(print.resize::<2>().resize(), print); // 128 bits
/// assert_eq!(fingerprinter.text("..."), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fingerprinter<'a> {
    recipe: &'a Recipe,
    own_hash: Option<Box<OwnHash<'a>>>,
    tokens: Vec<u64>,
    buffers: Buffers,
    features: FeaturesOfWidth,
}

type OwnHash<'a> = dyn FnMut(&[u8]) -> [u64; 4] + 'a;

/// A token or a feature that the caller supplies: its bytes, or a hash of them.
///
/// Made from `&str`, `&[u8]`, `&Vec<u8>` and `u64` by `into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes, which the recipe hashes.
    Bytes(&'a [u8]),
    /// A hash that the caller made. All of its bits should depend on all bytes.
    Hash(u64),
}

impl<'a> Fingerprinter<'a> {
    pub(super) fn new(recipe: &'a Recipe) -> Self {
        let features = match recipe.width {
            Width::Bits32 | Width::Bits64 => FeaturesOfWidth::One(Features::new()),
            Width::Bits128 => FeaturesOfWidth::Two(Features::new()),
            Width::Bits256 => FeaturesOfWidth::Four(Features::new()),
        };
        let (tokens, buffers) = (Vec::new(), Buffers::default());
        Self { recipe, own_hash: None, tokens, buffers, features }
    }

    /// Hashes the bytes of features by the caller's function in place of the recipe's. A narrower
    /// fingerprint takes the first words; [`spread`] makes four words of one.
    ///
    /// ```
    /// use lookalike::{Preset, hash::spread};
    ///
    /// let fnv = |bytes: &[u8]| {
    ///     bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
    ///         (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    ///     })
    /// };
    /// let recipe = &Preset::named("bare")?.recipe;
    /// let mut fingerprinter = recipe.fingerprinter().with_hash(|bytes| spread(fnv(bytes)));
    /// assert_ne!(fingerprinter.text("to be or not to be"), recipe.fingerprint("to be or not to be"));
    /// # Ok::<(), lookalike::recipe::RecipeError>(())
    /// ```
    #[must_use]
    pub fn with_hash(mut self, hash: impl FnMut(&[u8]) -> [u64; 4] + 'a) -> Self {
        self.own_hash = Some(Box::new(hash));
        self
    }

    /// The fingerprint of a text.
    pub fn text(&mut self, text: &str) -> Option<Fingerprint<4>> {
        let Recipe { features, stop_words, .. } = self.recipe;
        if self.combines_tokens() {
            let mut tokens = std::mem::take(&mut self.tokens);
            features.unit.token_hashes(text, &mut tokens);
            let print = self.token_hashes(&tokens);
            self.tokens = tokens;
            return print;
        }
        let mut runs = Runs::with_capacity(*features, text.len());
        features.unit.tokens(text, |token| {
            if !stop_words.contains(mix(token)) {
                runs.push(token);
            }
        });
        self.runs(&runs)
    }

    /// The fingerprint of a text that the caller split into tokens. Stop words, runs of neighbours
    /// and weights are the recipe's.
    ///
    /// Tokens may be hashes if the recipe hashes by [`FeatureHash::Mix`], from
    /// [`Unit::token_hashes`](crate::extract::Unit::token_hashes) or of the caller's own; several
    /// recipes can share them. Other hashes, and [`with_hash`](Self::with_hash), need the bytes of
    /// neighbouring tokens, and hashes are an error.
    ///
    /// ```
    /// use lookalike::{Preset, extract::Unit};
    ///
    /// let mut hashes = Vec::new();
    /// Unit::Words.token_hashes("to be or not to be", &mut hashes);
    /// for name in ["words", "bare"] {
    ///     let recipe = &Preset::named(name)?.recipe;
    ///     let print = recipe.fingerprinter().tokens(hashes.iter().copied())?;
    ///     assert_eq!(print, recipe.fingerprint("to be or not to be"));
    /// }
    /// # Ok::<(), lookalike::recipe::RecipeError>(())
    /// ```
    pub fn tokens<'t>(
        &mut self,
        tokens: impl IntoIterator<Item = impl Into<Piece<'t>>>,
    ) -> Result<Option<Fingerprint<4>>, RecipeError> {
        let tokens = tokens.into_iter().map(Into::into);
        if self.combines_tokens() {
            let hashes: Vec<u64> = tokens
                .map(|token| match token {
                    Piece::Bytes(bytes) => mix(bytes),
                    Piece::Hash(hash) => hash,
                })
                .collect();
            return Ok(self.token_hashes(&hashes));
        }
        let mut runs = Runs::with_capacity(self.recipe.features, 0);
        for token in tokens {
            match token {
                Piece::Bytes(bytes) if self.recipe.stop_words.contains(mix(bytes)) => {}
                Piece::Bytes(bytes) => runs.push(bytes),
                Piece::Hash(_) => return Err(RecipeError::HashedTokens),
            }
        }
        Ok(self.runs(&runs))
    }

    /// The fingerprint of features that are given with their weights. Only hash, seed, width and
    /// `top` of the recipe matter. A weight that is not a finite number is an error; features of
    /// weight zero are left out.
    ///
    /// ```
    /// use lookalike::Preset;
    ///
    /// let mut fingerprinter = Preset::named("words")?.recipe.fingerprinter();
    /// let print = fingerprinter.features([("sweet", 5.0), ("sour", 1.5)])?;
    /// assert!(print.is_some());
    /// assert!(fingerprinter.features([("sweet", f64::NAN)]).is_err());
    /// assert!(fingerprinter.features([(0x9e37_79b9_7f4a_7c15, 2.0)])?.is_some()); // a hash
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn features<'t>(
        &mut self,
        features: impl IntoIterator<Item = (impl Into<Piece<'t>>, f64)>,
    ) -> Result<Option<Fingerprint<4>>, WeightError> {
        let Self { recipe, own_hash, features: votes, .. } = self;
        let pieces = features.into_iter().map(|(piece, weight)| (piece.into(), weight));
        each_width!(votes, votes => {
            let mut hash = |piece| match piece {
                Piece::Bytes(bytes) => hash_of(recipe, own_hash, bytes),
                Piece::Hash(hash) => spread(hash),
            };
            *votes = Features::from_floats_words(
                pieces.map(|(piece, weight)| (hash(piece), weight))
            )?;
            if let Some(top) = recipe.top {
                *votes = heaviest(votes.iter().map(|(&words, weight)| (words, weight)), top);
            }
            Ok(recipe.vote(votes))
        })
    }

    /// Whether the hash of a feature is made of those of its tokens.
    fn combines_tokens(&self) -> bool {
        self.recipe.hash == FeatureHash::Mix && self.own_hash.is_none()
    }

    /// The fingerprint of a text by the hashes of its tokens, for [`FeatureHash::Mix`].
    pub(crate) fn token_hashes(&mut self, tokens: &[u64]) -> Option<Fingerprint<4>> {
        debug_assert!(self.combines_tokens());
        let Self { recipe, buffers: Buffers { kept, hashes, counter }, features, .. } = self;
        let tokens = recipe.stop_words.filter(tokens, kept);
        each_width!(features, features => {
            features.clear();
            if recipe.weights == Weighting::Tf && recipe.top.is_none() {
                recipe.hash_shingles(tokens, spread, features.hashes_mut());
            } else if recipe.features.size.get() == 1 && recipe.seed == 0 {
                counter.count(tokens);
                recipe.weigh_counted(counter.counted(), features);
            } else {
                hashes.clear();
                recipe.hash_shingles(tokens, |hash| hash, hashes);
                counter.count(hashes);
                recipe.weigh_counted(counter.counted(), features);
            }
            recipe.vote(features)
        })
    }

    /// The fingerprint of a text by the bytes of each run of neighbouring tokens.
    fn runs(&mut self, runs: &Runs) -> Option<Fingerprint<4>> {
        let Self { recipe, own_hash, features, .. } = self;
        each_width!(features, features => {
            let mut hashes = Vec::new();
            runs.each(|bytes| hashes.push(hash_of(recipe, own_hash, bytes)));
            hashes.sort_unstable();
            let counted = hashes
                .chunk_by(|a, b| a == b)
                .map(|equal| (equal[0], u32::try_from(equal.len()).unwrap_or(u32::MAX)));
            features.clear();
            recipe.weigh(counted, features);
            recipe.vote(features)
        })
    }
}

impl<'a> From<&'a [u8]> for Piece<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Piece<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for Piece<'a> {
    fn from(text: &'a str) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl From<u64> for Piece<'_> {
    fn from(hash: u64) -> Self {
        Self::Hash(hash)
    }
}

/// The features of one item, as wide as the recipe's fingerprints.
enum FeaturesOfWidth {
    One(Features<1>),
    Two(Features<2>),
    Four(Features<4>),
}

/// Evaluates `$body` with the features of whatever width as `$name`.
macro_rules! each_width {
    ($features:expr, $name:ident => $body:expr) => {
        match $features {
            FeaturesOfWidth::One($name) => $body,
            FeaturesOfWidth::Two($name) => $body,
            FeaturesOfWidth::Four($name) => $body,
        }
    };
}
use each_width;

#[derive(Default)]
struct Buffers {
    kept: Vec<u64>,
    hashes: Vec<u64>,
    counter: Counter,
}

/// The hash of a feature, by the caller's function or the recipe's.
fn hash_of<const WORDS: usize>(
    recipe: &Recipe,
    own_hash: &mut Option<Box<OwnHash<'_>>>,
    bytes: &[u8],
) -> [u64; WORDS] {
    match own_hash {
        Some(hash) => Fingerprint(hash(bytes)).resize().0,
        None => recipe.hash.words(recipe.seed, bytes),
    }
}

/// What a recipe does with features, at any width.
impl Recipe {
    /// Adds what `make` makes of the hash of every feature, repeats included.
    pub(super) fn hash_shingles<T>(
        &self,
        tokens: &[u64],
        make: impl Fn(u64) -> T,
        hashes: &mut Vec<T>,
    ) {
        let (size, seed) = (self.features.size.get() as usize, self.seed);
        collect_shingles(tokens, size, |hash| make(seeded(hash, seed)), hashes);
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
            // The usual case: no weight is zero.
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

    fn vote<const WORDS: usize>(&self, features: &Features<WORDS>) -> Option<Fingerprint<4>> {
        let mut print = simhash(features)?.resize();
        if self.width == Width::Bits32 {
            print.0[0] &= u64::from(u32::MAX);
        }
        Some(print)
    }
}

/// The features that weigh most; of equals, those of smaller hash.
pub(super) fn heaviest<const WORDS: usize>(
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
