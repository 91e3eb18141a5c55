//! The similarity of the feature sets of two items.
//!
//! Fingerprints find candidates; [`Verify`] defines when the features of two items match. A
//! [`FeatureSet`] holds the features of an item, a [`Measure`] compares two of them, and a [`Level`]
//! names a range of similarity. Nothing here knows how candidates were found.

mod common;

use std::{fmt, str::FromStr};

use crate::{
    extract::{Shingles, text::shingle_hashes},
    hamming::Kernel,
    spelling::nearest,
};

/// When two items match: which features are compared, how, and the least similarity.
///
/// ```
/// use lookalike::verify::Verify;
///
/// let verify = Verify::DEFAULT;
/// let [one, two, three] = [
///     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
///     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
///     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
/// ]
/// .map(|text| verify.set(text));
/// assert!(verify.alike(&one, &two).is_some());
/// assert!(verify.alike(&one, &three).is_none());
/// assert_eq!(verify.compare(&one, &one), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verify {
    /// The features that are compared.
    pub features: Shingles,
    /// The measure of similarity.
    pub measure: Measure,
    /// The least similarity of a match.
    pub similarity: Similarity,
}

impl Verify {
    /// The best definition for texts: pairs of neighbouring words, and the words themselves.
    pub const DEFAULT: Self = Self {
        features: Shingles::new(crate::extract::Unit::Words, 2).expect("two is not zero"),
        measure: Measure::Mixed,
        similarity: Level::Similar.similarity(),
    };

    /// The features of a text.
    pub fn set(&self, text: &str) -> FeatureSet {
        let mut tokens = Vec::new();
        self.features.unit.token_hashes(text, &mut tokens);
        self.set_of_tokens(&tokens)
    }

    /// The features of a text from the hashes of its tokens.
    pub(crate) fn set_of_tokens(&self, tokens: &[u64]) -> FeatureSet {
        let size = self.features.size.get() as usize;
        let mut features = Vec::with_capacity(2 * tokens.len());
        shingle_hashes(tokens, size, |hash| features.push(short(hash)));
        if self.measure == Measure::Mixed && size > 1 {
            features.extend(tokens.iter().map(|&token| short(token) | TWICE));
        }
        FeatureSet::new(features)
    }

    /// The similarity of two items, 0 to 1; 0 if neither has features.
    pub fn compare(&self, one: &FeatureSet, two: &FeatureSet) -> f32 {
        self.share(one.as_set(), two.as_set(), Kernel::detect())
    }

    /// The similarity of two items if they match, `None` otherwise.
    pub fn alike(&self, one: &FeatureSet, two: &FeatureSet) -> Option<f32> {
        self.enough(one.as_set(), two.as_set(), Kernel::detect())
    }

    fn share(&self, one: Set<'_>, two: Set<'_>, kernel: Kernel) -> f32 {
        let common = common::weight(one.features, two.features, 0, kernel).unwrap_or(0);
        self.measure.share(common, one.weight.into(), two.weight.into())
    }

    /// [`alike`](Self::alike) for borrowed sets; stops as soon as they cannot match.
    pub(crate) fn enough(&self, one: Set<'_>, two: Set<'_>, kernel: Kernel) -> Option<f32> {
        let [a, b] = [u64::from(one.weight), u64::from(two.weight)];
        let needed = self.measure.need(self.similarity, self.measure.size(a, b));
        let common = common::weight(one.features, two.features, needed, kernel)?;
        let share = self.measure.share(common, a, b);
        (share >= self.similarity.0).then_some(share)
    }
}

/// On one line: `similarity >= 0.47 (words and word pairs)`.
impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, features, similarity } = self;
        match (measure, features.unit, features.size.get()) {
            (Measure::Mixed, crate::extract::Unit::Words, 2) => {
                write!(f, "similarity >= {similarity} (words and word pairs)")
            }
            (Measure::Mixed, unit, _) => {
                write!(f, "similarity >= {similarity} ({} and {features})", unit.name())
            }
            (Measure::Jaccard, ..) => write!(f, "Jaccard similarity >= {similarity} ({features})"),
            (Measure::Containment, ..) => write!(f, "containment >= {similarity} ({features})"),
        }
    }
}

/// How the similarity of two sets is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// The weight they share, divided by that of their union.
    Jaccard,
    /// The weight they share, divided by that of the smaller set: finds an item within a larger one.
    Containment,
    /// Like [`Jaccard`](Self::Jaccard), with single tokens as additional features that count twice,
    /// because scattered edits change many runs but few words.
    #[default]
    Mixed,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 3] = [Self::Jaccard, Self::Containment, Self::Mixed];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jaccard => "jaccard",
            Self::Containment => "containment",
            Self::Mixed => "similarity",
        }
    }

    /// The similarity of sets of weights `a` and `b` that share the weight `common`.
    pub(crate) fn share(self, common: u64, a: u64, b: u64) -> f32 {
        let of = match self {
            Self::Jaccard | Self::Mixed => a + b - common,
            Self::Containment => a.min(b),
        };
        if of == 0 { 0.0 } else { (common as f64 / of as f64) as f32 }
    }

    /// The denominator besides the shared weight: the sum of both weights, or the smaller one.
    #[inline]
    pub(crate) fn size(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Jaccard | Self::Mixed => a + b,
            Self::Containment => a.min(b),
        }
    }

    /// The least weight that two sets of this [`size`](Self::size) must share to match. It may be more
    /// than they have.
    pub(crate) fn need(self, least: Similarity, size: u64) -> u64 {
        let enough = |common: u64| {
            // The two weights do not matter as long as they add up to the size.
            let [a, b] = match self {
                Self::Containment => [size, size],
                Self::Jaccard | Self::Mixed => [size - common, common],
            };
            self.share(common, a, b) >= least.0
        };
        let share = f64::from(least.0);
        let guess = match self {
            Self::Containment => share * size as f64,
            Self::Jaccard | Self::Mixed => share / (1.0 + share) * size as f64,
        };
        let mut need = (guess as u64).min(size);
        while need > 0 && enough(need - 1) {
            need -= 1;
        }
        while need <= size && !enough(need) {
            need += 1;
        }
        need
    }
}

/// A similarity from 0, nothing in common, to 1, equal.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Similarity(f32);

impl Similarity {
    /// `None` if it is not within 0 and 1.
    pub const fn new(share: f32) -> Option<Self> {
        if share >= 0.0 && share <= 1.0 { Some(Self(share)) } else { None }
    }

    /// No similarity.
    pub const ZERO: Self = Self(0.0);

    /// The similarity as a number from 0 to 1.
    pub const fn get(self) -> f32 {
        self.0
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Measure {
    type Err = VerifyError;

    fn from_str(name: &str) -> Result<Self, VerifyError> {
        Self::ALL.into_iter().find(|measure| measure.name() == name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.map(Self::name)).unwrap_or_default();
            VerifyError::UnknownMeasure { name: name.into(), nearest }
        })
    }
}

/// A named range of closeness.
///
/// ```
/// use lookalike::Level;
///
/// assert_eq!(Level::of(0.7), Some(Level::Near));
/// assert_eq!("copy".parse(), Ok(Level::Copy));
/// assert_eq!(Level::of(0.1), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One shows or contains a part of the other; as a whole, they may differ much.
    Part,
    /// Most of the content is the same.
    Similar,
    /// The same content, edited.
    Near,
    /// The same content except for trivial differences.
    Copy,
}

impl Level {
    /// Every level, the strictest first.
    pub const ALL: [Self; 4] = [Self::Copy, Self::Near, Self::Similar, Self::Part];

    /// The levels of whole items, the strictest first.
    pub const WHOLE: [Self; 3] = [Self::Copy, Self::Near, Self::Similar];

    /// The level of a similarity; `None` below all levels.
    ///
    /// ```
    /// use lookalike::Level;
    ///
    /// assert_eq!(Level::of(0.93), Some(Level::Copy));
    /// assert_eq!(Level::of(0.2), None);
    /// ```
    pub fn of(similarity: f32) -> Option<Self> {
        Self::WHOLE.into_iter().find(|level| similarity >= level.similarity().get())
    }

    /// The least similarity of the level; 0 for [`Level::Part`], which does not depend on the whole.
    pub const fn similarity(self) -> Similarity {
        match self {
            Self::Copy => Similarity(0.8),
            Self::Near => Similarity(0.6),
            Self::Similar => Similarity(0.47),
            Self::Part => Similarity(0.0),
        }
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Near => "near",
            Self::Similar => "similar",
            Self::Part => "part",
        }
    }
}

impl FromStr for Level {
    type Err = VerifyError;

    fn from_str(name: &str) -> Result<Self, VerifyError> {
        Self::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.map(Self::name)).unwrap_or_default();
            VerifyError::UnknownLevel { name: name.into(), nearest }
        })
    }
}

/// Why a name is not one of a level or measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No level has that name.
    #[error("there is no level \"{name}\"; did you mean {nearest}?")]
    UnknownLevel {
        /// The name.
        name: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
    /// No measure has that name.
    #[error("there is no measure \"{name}\"; did you mean {nearest}?")]
    UnknownMeasure {
        /// The name.
        name: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
}

/// The distinct features of one item.
///
/// Features are hashes of 31 bits. Two different ones are equal with a probability of one in two billion,
/// which changes the similarity of texts of ten thousand words in the sixth digit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {
    /// Ascending, without repeats. Those with the bit [`TWICE`] count twice.
    features: Vec<u32>,
    weight: u32,
}

/// Marks features that count twice.
pub(crate) const TWICE: u32 = 1;

/// The stored part of a hash.
pub(crate) const fn short(hash: u64) -> u32 {
    (hash >> 32) as u32 & !TWICE
}

impl FeatureSet {
    /// From features in any order, with repeats.
    pub(crate) fn new(mut features: Vec<u32>) -> Self {
        features.sort_unstable();
        features.dedup();
        let weight = features.iter().map(|feature| 1 + (feature & TWICE)).sum();
        Self { features, weight }
    }

    /// From ascending features; `None` if they are not ascending.
    pub(crate) fn from_sorted(features: Vec<u32>) -> Option<Self> {
        let is_sorted = features.is_sorted_by(|one, two| one < two);
        is_sorted.then(|| Self::new(features))
    }

    /// The number of features, counting those with double weight twice.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    pub(crate) fn features(&self) -> &[u32] {
        &self.features
    }

    pub(crate) fn as_set(&self) -> Set<'_> {
        Set { features: &self.features, weight: self.weight }
    }
}

/// A borrowed [`FeatureSet`].
#[derive(Clone, Copy)]
pub(crate) struct Set<'a> {
    pub features: &'a [u32],
    pub weight: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sets() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0..300u32, 0..200)
    }

    fn verifies() -> impl Iterator<Item = Verify> {
        Measure::ALL.into_iter().flat_map(|measure| {
            [0.0, 0.2, 0.38, 0.5, 0.9, 1.0].map(|similarity| Verify {
                measure,
                similarity: Similarity(similarity),
                ..Verify::DEFAULT
            })
        })
    }

    /// Jaccard and containment as in a textbook.
    fn naive(measure: Measure, one: &[u32], two: &[u32]) -> f32 {
        let weight = |set: &BTreeSet<u32>| set.iter().map(|f| 1 + (f & TWICE)).sum::<u32>() as f64;
        let [one, two] = [one, two].map(|set| set.iter().copied().collect::<BTreeSet<u32>>());
        let common = weight(&(&one & &two));
        let of = match measure {
            Measure::Containment => weight(&one).min(weight(&two)),
            _ => weight(&(&one | &two)),
        };
        if of == 0.0 { 0.0 } else { (common / of) as f32 }
    }

    proptest! {
        #[test]
        fn similarity_is_that_of_a_textbook_and_stopping_early_changes_nothing(one in sets(), two in sets()) {
            let [a, b] = [&one, &two].map(|set| FeatureSet::new(set.clone()));
            for verify in verifies() {
                let expected = naive(verify.measure, &one, &two);
                for kernel in Kernel::available() {
                    prop_assert_eq!(verify.share(a.as_set(), b.as_set(), kernel), expected);
                    let enough = (expected >= verify.similarity.0).then_some(expected);
                    prop_assert_eq!(verify.enough(a.as_set(), b.as_set(), kernel), enough);
                }
            }
        }
    }

    #[test]
    fn similarities_are_shares() {
        assert_eq!(Similarity::new(0.38).map(Similarity::get), Some(0.38));
        for share in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
            assert_eq!(Similarity::new(share), None);
        }
    }

    #[test]
    fn nothing_is_alike_nothing() {
        let none = FeatureSet::default();
        for measure in Measure::ALL {
            assert_eq!(Verify { measure, ..Verify::DEFAULT }.compare(&none, &none), 0.0);
        }
    }

    #[test]
    fn mixed_counts_words_twice_and_pairs_once() {
        // Words a b c d against a b c e: 3 of 5; pairs ab bc cd against ab bc ce: 2 of 4.
        let [one, two] = ["a b c d", "a b c e"].map(|text| Verify::DEFAULT.set(text));
        assert_eq!(Verify::DEFAULT.compare(&one, &two), (2.0 * 3.0 + 2.0) / (2.0 * 5.0 + 4.0));
        let jaccard = Verify { measure: Measure::Jaccard, ..Verify::DEFAULT };
        let [one, two] = ["a b c d", "a b c e"].map(|text| jaccard.set(text));
        assert_eq!(jaccard.compare(&one, &two), 0.5);
    }
}
