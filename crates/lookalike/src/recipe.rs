//! Which choices decide the bits of a fingerprint?
//!
//! A [`Recipe`] holds all of them; a [`Preset`] is a recipe with a name people can ask for and the
//! radius it was made for. Fingerprints of different recipes must never be compared.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::extract::{Shingles, Unit};
use crate::features::Features;
use crate::fingerprint::{Fingerprint, Radius, Width};
use crate::hash::FeatureHash;
use crate::simhash::simhash;
use crate::spelling::nearest;

/// Everything that decides the bits of a text's fingerprint. Equal recipes give equal bits, on
/// every machine and for ever.
///
/// ```
/// use lookalike::{Fingerprint, Preset, Recipe, Width};
///
/// let recipe = &Preset::named("words128").unwrap().recipe;
/// let a: Fingerprint<2> = recipe.fingerprint("The quick brown fox jumps over the lazy dog").unwrap();
/// let b: Fingerprint<2> = recipe.fingerprint("the QUICK brown fox, jumps over the lazy dog!").unwrap();
/// assert_eq!(a, b);
/// assert_eq!(recipe.fingerprint::<2>("..."), None);
///
/// let own = Recipe { name: "own".into(), features: "chars:4".parse().unwrap(), width: Width::Bits64, ..recipe.clone() };
/// assert_eq!(own.to_string(), "own: chars:4, log, xxh3, 64 bits, version 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// What people call it.
    pub name: Cow<'static, str>,
    /// What a text is made of.
    pub features: Shingles,
    /// How much a feature counts.
    pub weights: Weighting,
    /// How the bytes of a feature become bits.
    pub hash: FeatureHash,
    /// The seed of the hash.
    pub seed: u64,
    /// How many bits a fingerprint has.
    pub width: Width,
    /// Raised whenever the same choices give other bits.
    pub version: u32,
}

impl Recipe {
    /// The fingerprint of a text; `None` if it has no features.
    ///
    /// # Panics
    /// If `WORDS` is not the number of words of the recipe's width.
    pub fn fingerprint<const WORDS: usize>(&self, text: &str) -> Option<Fingerprint<WORDS>> {
        self.fingerprint_hashed(text, |bytes| self.hash.words(self.seed, bytes))
    }

    /// The fingerprint of a text, with the caller's own hash in place of the recipe's.
    ///
    /// ```
    /// use lookalike::{Preset, hash::spread};
    ///
    /// let fnv = |bytes: &[u8]| {
    ///     bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
    ///         (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    ///     })
    /// };
    /// let recipe = &Preset::named("words128").unwrap().recipe;
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
        let bits = self.width.bits();
        assert_eq!(self.width.words(), WORDS, "a fingerprint of {bits} bits in {WORDS} words");
        let mut hashes = Vec::new();
        self.features.extract(text, |bytes| hashes.push(hash(bytes)));
        let mut print = simhash(&self.weights.weigh(hashes))?;
        if self.width == Width::Bits32 {
            print.0[0] &= u64::from(u32::MAX);
        }
        Some(print)
    }

    /// The fingerprint of a text in the widest type, whatever the recipe's width: for callers that
    /// learn the width at run time. The words above the width are zero, and change no distance.
    ///
    /// ```
    /// use lookalike::Preset;
    ///
    /// let recipe = &Preset::named("chars32").unwrap().recipe;
    /// let print = recipe.fingerprint_any("hello").unwrap();
    /// assert_eq!(print.to_hex(recipe.width).len(), "0x".len() + 8);
    /// ```
    pub fn fingerprint_any(&self, text: &str) -> Option<Fingerprint<4>> {
        match self.width {
            Width::Bits32 | Width::Bits64 => self.fingerprint::<1>(text).map(widen),
            Width::Bits128 => self.fingerprint::<2>(text).map(widen),
            Width::Bits256 => self.fingerprint(text),
        }
    }
}

/// The choices on one line: `words128: words:2, log, xxh3, 128 bits, version 1`.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, features, weights, hash, seed, width, version } = self;
        write!(f, "{name}: {features}, {weights}, {hash}")?;
        if *seed != 0 {
            write!(f, " seed {seed:#x}")?;
        }
        write!(f, ", {} bits, version {version}", width.bits())
    }
}

fn widen<const WORDS: usize>(print: Fingerprint<WORDS>) -> Fingerprint<4> {
    Fingerprint(std::array::from_fn(|word| print.0.get(word).copied().unwrap_or(0)))
}

/// How much a feature counts that is there several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weighting {
    /// Once, however often it is there.
    Set,
    /// As often as it is there.
    #[default]
    Tf,
    /// The binary logarithm of one more than the times it is there, so once counts 1 and thrice 2.
    Log,
}

impl Weighting {
    /// Every weighting.
    pub const ALL: [Self; 3] = [Self::Set, Self::Tf, Self::Log];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Tf => "tf",
            Self::Log => "log",
        }
    }

    /// Weighs every occurrence of every feature, given by its hash.
    ///
    /// Features of equal hashes are one feature.
    pub fn weigh<const WORDS: usize>(self, mut hashes: Vec<[u64; WORDS]>) -> Features<WORDS> {
        if self == Self::Tf {
            return Features::from_hashes(hashes);
        }
        hashes.sort_unstable();
        let mut features = Features::new();
        for equal in hashes.chunk_by(|a, b| a == b) {
            features.push_words(equal[0], self.weight(equal.len()));
        }
        features
    }

    /// The weight of a feature that is there `count` times.
    fn weight(self, count: usize) -> i32 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match self {
            Self::Set => 1,
            Self::Tf => i32::try_from(count).unwrap_or(i32::MAX),
            Self::Log => log2(count.saturating_add(1)),
        }
    }
}

impl fmt::Display for Weighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Weighting {
    type Err = RecipeError;

    fn from_str(name: &str) -> Result<Self, RecipeError> {
        Self::ALL.into_iter().find(|weighting| weighting.name() == name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.map(Self::name)).unwrap_or_default();
            RecipeError::UnknownWeights { name: name.into(), nearest }
        })
    }
}

/// The binary logarithm of `x >= 1` in units of 1/256, rounded down: by integers alone, because
/// the last bits of a floating-point logarithm differ between machines.
fn log2(x: u32) -> i32 {
    let whole = x.ilog2();
    // A number from 1 up to 2, in units of 2^-31. Squaring it doubles its logarithm; each time it
    // gets to 2, the next binary digit is 1.
    let mut mantissa = u64::from(x) << (31 - whole);
    (0..8).fold(whole as i32, |log, _| {
        mantissa = (mantissa * mantissa) >> 31;
        let digit = mantissa >> 32;
        mantissa >>= digit;
        log << 1 | digit as i32
    })
}

/// A recipe that comes with lookalike, and the radius it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// The choices.
    pub recipe: Recipe,
    /// Texts at most this far apart are taken for alike, unless the caller says otherwise.
    pub radius: Radius,
    /// What it is good for, on one line.
    pub description: &'static str,
}

impl Preset {
    /// Every preset.
    ///
    /// ```
    /// let names: Vec<_> = lookalike::Preset::ALL.iter().map(|preset| &preset.recipe.name).collect();
    /// assert_eq!(names, ["words128", "simhash64", "chars32"]);
    /// ```
    pub const ALL: &'static [Self] = &[
        Self {
            recipe: recipe("words128", Unit::Words, 2, Weighting::Log, Width::Bits128),
            radius: Radius::new(33),
            description: "texts that share most of their phrases: the best of the unverified \
                          recipes (F1 .906 over nine labelled sets)",
        },
        Self {
            recipe: recipe("simhash64", Unit::Words, 3, Weighting::Tf, Width::Bits64),
            radius: Radius::new(3),
            description: "the classic web-crawl setting: what it finds is right (precision 1.00), \
                          but it finds little (recall .24)",
        },
        Self {
            recipe: recipe("chars32", Unit::Characters, 1, Weighting::Tf, Width::Bits32),
            radius: Radius::new(3),
            description: "short strings by the characters in them, whatever their order; small \
                          and coarse",
        },
    ];

    /// The preset of that name; the error names the nearest one there is.
    pub fn named(name: &str) -> Result<&'static Self, RecipeError> {
        Self::ALL.iter().find(|preset| preset.recipe.name == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|preset| preset.recipe.name.as_ref());
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
        features: Shingles::new(unit, size).expect("presets have a shingle size of 1 or more"),
        weights,
        hash: FeatureHash::Xxh3,
        seed: 0,
        width,
        version: 1,
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{self, hex};
    use proptest::prelude::*;

    #[test]
    fn golden_fingerprints_are_reproduced() {
        for line in vectors::read("simhash.tsv") {
            let [features, weights, hash, seed, bits, text, print] = line.as_slice() else {
                panic!("{line:?}")
            };
            let recipe = Recipe {
                name: "golden".into(),
                features: features.parse().unwrap(),
                weights: weights.parse().unwrap(),
                hash: hash.parse().unwrap(),
                seed: hex(seed),
                width: Width::from_bits(bits.parse().unwrap()).unwrap(),
                version: 1,
            };
            let found = recipe.fingerprint_any(text).map(|print| print.to_hex(recipe.width));
            assert_eq!(found.as_deref().unwrap_or("-"), print, "{recipe} of {text}");
        }
    }

    #[test]
    fn log2_is_exact_at_powers_of_two_and_rounds_down_between() {
        for x in 1..100_000u32 {
            // Nothing near a whole 256th lies in this range but the powers of two.
            let expected = if x.is_power_of_two() {
                256 * x.ilog2() as i32
            } else {
                (256.0 * f64::from(x).log2()).floor() as i32
            };
            assert_eq!(log2(x), expected, "{x}");
        }
        assert_eq!(log2(u32::MAX), 32 * 256 - 1);
    }

    #[test]
    fn weights_follow_the_number_of_occurrences() {
        let hashes = vec![[7], [5], [7], [7]];
        let weighed = |weighting: Weighting| {
            let features = weighting.weigh(hashes.clone());
            let mut features: Vec<_> =
                features.iter().map(|(hash, weight)| (hash[0], weight)).collect();
            features.sort_unstable();
            features
        };
        assert_eq!(weighed(Weighting::Set), [(5, 1), (7, 1)]);
        assert_eq!(weighed(Weighting::Tf), [(5, 1), (7, 1), (7, 1), (7, 1)]);
        assert_eq!(weighed(Weighting::Log), [(5, 256), (7, 512)]);
    }

    #[test]
    fn unknown_names_get_the_nearest_valid_one() {
        let error = Preset::named("simhash").unwrap_err();
        assert_eq!(error.to_string(), "there is no recipe \"simhash\"; did you mean simhash64?");
        let error = "logs".parse::<Weighting>().unwrap_err();
        assert_eq!(error.to_string(), "there are no weights \"logs\"; did you mean log?");
    }

    #[test]
    #[should_panic(expected = "a fingerprint of 128 bits in 1 words")]
    fn a_fingerprint_of_another_width_is_refused() {
        Preset::named("words128").unwrap().recipe.fingerprint::<1>("some words");
    }

    proptest! {
        #[test]
        fn narrower_fingerprints_are_the_low_bits_of_wider_ones(text: String) {
            for preset in Preset::ALL {
                let at = |width| Recipe { width, ..preset.recipe.clone() }.fingerprint_any(&text);
                let widest = at(Width::Bits256);
                for width in Width::ALL {
                    let hex = at(width).map(|print| print.to_hex(width));
                    prop_assert_eq!(hex, widest.map(|print| print.to_hex(width)));
                }
            }
        }

        #[test]
        fn any_text_gets_a_fingerprint_iff_it_has_features(text: String, size in 1..5u32) {
            for unit in Unit::ALL {
                let features = Shingles::new(unit, size).unwrap();
                let mut count = 0;
                features.extract(&text, |_| count += 1);
                for weights in Weighting::ALL {
                    let recipe = Recipe { features, weights, ..Preset::ALL[0].recipe.clone() };
                    prop_assert_eq!(recipe.fingerprint::<2>(&text).is_some(), count > 0);
                }
            }
        }
    }
}
