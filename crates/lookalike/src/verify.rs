//! How alike are two items really?
//!
//! A fingerprint says which items may be alike; [`Verify`] says what must be true of their features
//! for them to be taken for alike. A [`FeatureSet`] is what is kept of an item to find out. Nothing
//! here knows how candidates were found.

mod common;

use std::{fmt, str::FromStr};

use crate::{
    Kernel,
    extract::{Shingles, text::shingle_hashes},
    spelling::nearest,
};

/// What two items must have in common.
///
/// ```
/// use lookalike::Verify;
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
    /// Which features are compared.
    pub features: Shingles,
    /// How they are compared.
    pub measure: Measure,
    /// How alike two items must be, at least.
    pub similarity: Similarity,
}

impl Verify {
    /// What tells alike texts best: pairs of neighbouring words and the words themselves.
    pub const DEFAULT: Self = Self {
        features: Shingles::new(crate::Unit::Words, 2).expect("two is not zero"),
        measure: Measure::Mixed,
        similarity: Level::Similar.similarity(),
    };

    /// What is kept of a text.
    pub fn set(&self, text: &str) -> FeatureSet {
        let mut tokens = Vec::new();
        self.features.unit.token_hashes(text, &mut tokens);
        self.set_of_tokens(&tokens)
    }

    /// What is kept of a text whose tokens were hashed before.
    pub(crate) fn set_of_tokens(&self, tokens: &[u64]) -> FeatureSet {
        let size = self.features.size.get() as usize;
        let mut features = Vec::with_capacity(2 * tokens.len());
        shingle_hashes(tokens, size, |hash| features.push(short(hash)));
        if self.measure == Measure::Mixed && size > 1 {
            features.extend(tokens.iter().map(|&token| short(token) | TWICE));
        }
        FeatureSet::new(features)
    }

    /// How alike two items are, 0 to 1. Two items without features are not alike.
    pub fn compare(&self, one: &FeatureSet, two: &FeatureSet) -> f32 {
        self.share(one.as_set(), two.as_set(), Kernel::detect())
    }

    /// How alike two items are, if that is enough.
    pub fn alike(&self, one: &FeatureSet, two: &FeatureSet) -> Option<f32> {
        self.enough(one.as_set(), two.as_set(), Kernel::detect())
    }

    fn share(&self, one: Set<'_>, two: Set<'_>, kernel: Kernel) -> f32 {
        let common = common::weight(one.features, two.features, 0, kernel).unwrap_or(0);
        self.measure.share(common, one.weight.into(), two.weight.into())
    }

    /// [`alike`](Self::alike) for sets that lie anywhere; stops as soon as they cannot be.
    pub(crate) fn enough(&self, one: Set<'_>, two: Set<'_>, kernel: Kernel) -> Option<f32> {
        let [a, b] = [u64::from(one.weight), u64::from(two.weight)];
        let needed = self.measure.common_needed(self.similarity, a, b);
        let common = common::weight(one.features, two.features, needed, kernel)?;
        let share = self.measure.share(common, a, b);
        (share >= self.similarity.0).then_some(share)
    }

    /// How much the larger of two alike items can weigh if the smaller one weighs this.
    pub(crate) fn heaviest_partner(&self, weight: u32) -> u32 {
        let share = f64::from(self.similarity.0) - ROUNDING;
        match self.measure {
            // The smaller one is all they can share, and the larger one is part of what they have.
            Measure::Jaccard | Measure::Mixed if share > 0.0 => (f64::from(weight) / share) as u32,
            _ => u32::MAX,
        }
    }

    /// How far apart the 128-bit fingerprints of the runs of two alike items can be: all but one
    /// pair in a thousand at the very threshold are nearer.
    ///
    /// Two sets of equal size that share a part `j` of their union are vectors at an angle of
    /// `acos(2j / (1 + j))`; each bit of a SimHash differs with the probability `angle / pi`.
    pub(crate) fn second_radius(&self) -> u32 {
        let similarity = f64::from(self.similarity.0);
        let share = match self.measure {
            Measure::Containment => return SECOND_BITS,
            Measure::Jaccard => similarity,
            // Runs are less alike than the words they are made of.
            Measure::Mixed => 0.75 * similarity,
        };
        let differing = (2.0 * share / (1.0 + share)).acos() / std::f64::consts::PI;
        let bits = f64::from(SECOND_BITS);
        let deviation = (bits * differing * (1.0 - differing)).sqrt();
        (bits * differing + 3.0 * deviation).ceil().min(bits) as u32
    }
}

/// The width of the fingerprints that [`Verify::second_radius`] speaks of.
pub(crate) const SECOND_BITS: u32 = 128;

/// What `f32` may have cut off a similarity.
const ROUNDING: f64 = 1e-6;

/// On one line: `mixed of words:2 >= 0.46`.
impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} >= {}", self.measure.name(), self.features, self.similarity)
    }
}

/// How two sets are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// What they share, of all they have together.
    Jaccard,
    /// What they share, of the smaller one: finds parts of a whole.
    Containment,
    /// As [`Jaccard`](Self::Jaccard), but single tokens are features beside the runs of them, and
    /// count twice: scattered edits break many runs and few words.
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
            Self::Mixed => "mixed",
        }
    }

    /// The similarity of sets that weigh `a` and `b` and share `common`.
    fn share(self, common: u64, a: u64, b: u64) -> f32 {
        let of = match self {
            Self::Jaccard | Self::Mixed => a + b - common,
            Self::Containment => a.min(b),
        };
        if of == 0 { 0.0 } else { (common as f64 / of as f64) as f32 }
    }

    /// A bound from below on what sets that weigh `a` and `b` share if they are alike.
    fn common_needed(self, similarity: Similarity, a: u64, b: u64) -> u64 {
        let share = (f64::from(similarity.0) - ROUNDING).max(0.0);
        let needed = match self {
            Self::Jaccard | Self::Mixed => share / (1.0 + share) * (a + b) as f64,
            Self::Containment => share * a.min(b) as f64,
        };
        needed as u64
    }
}

/// A share: 0 is nothing in common, 1 is the same.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Similarity(f32);

impl Similarity {
    /// `None` if it is not within 0 and 1.
    pub const fn new(share: f32) -> Option<Self> {
        if share >= 0.0 && share <= 1.0 { Some(Self(share)) } else { None }
    }

    /// The share, from 0 to 1.
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

/// How alike two items are, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Most of it is the same.
    Similar,
    /// The same, edited.
    Near,
    /// The same, but for trifles.
    Copy,
}

impl Level {
    /// Every level, the strictest first.
    pub const ALL: [Self; 3] = [Self::Copy, Self::Near, Self::Similar];

    /// The level of a similarity; `None` below all of them.
    ///
    /// ```
    /// use lookalike::Level;
    ///
    /// assert_eq!(Level::of(0.93), Some(Level::Copy));
    /// assert_eq!(Level::of(0.2), None);
    /// ```
    pub fn of(similarity: f32) -> Option<Self> {
        Self::ALL.into_iter().find(|level| similarity >= level.similarity().get())
    }

    /// The least similarity that is called so.
    pub const fn similarity(self) -> Similarity {
        match self {
            Self::Copy => Similarity(0.8),
            Self::Near => Similarity(0.6),
            Self::Similar => Similarity(0.46),
        }
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Near => "near",
            Self::Similar => "similar",
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

/// Why a name says nothing about similarity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No level has that name.
    #[error("there is no level \"{name}\"; did you mean {nearest}?")]
    UnknownLevel {
        /// What was asked for.
        name: String,
        /// The valid name that looks most like it.
        nearest: &'static str,
    },
    /// No measure has that name.
    #[error("there is no measure \"{name}\"; did you mean {nearest}?")]
    UnknownMeasure {
        /// What was asked for.
        name: String,
        /// The valid name that looks most like it.
        nearest: &'static str,
    },
}

/// The different features of one item: what two items are compared by.
///
/// Features are hashes of 31 bits. Two different ones are taken for the same once in two billion
/// comparisons: for texts of ten thousand words, that changes a similarity in the sixth digit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {
    /// Ascending, each once. Those with the bit [`TWICE`] count twice.
    features: Vec<u32>,
    weight: u32,
}

/// Marks features that count twice.
pub(crate) const TWICE: u32 = 1;

/// The part of a hash that is kept.
pub(crate) const fn short(hash: u64) -> u32 {
    (hash >> 32) as u32 & !TWICE
}

impl FeatureSet {
    /// From features in any order, repeats included.
    pub(crate) fn new(mut features: Vec<u32>) -> Self {
        features.sort_unstable();
        features.dedup();
        let weight = features.iter().map(|feature| 1 + (feature & TWICE)).sum();
        Self { features, weight }
    }

    /// The number of features, those that count twice counted twice.
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

/// A [`FeatureSet`] that lies somewhere else.
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

        #[test]
        fn alike_items_are_within_the_size_bound(one in sets(), two in sets()) {
            let [a, b] = [one, two].map(FeatureSet::new);
            for verify in verifies().filter(|verify| verify.alike(&a, &b).is_some()) {
                let (light, heavy) = (a.weight().min(b.weight()), a.weight().max(b.weight()));
                prop_assert!(heavy <= verify.heaviest_partner(light));
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

    #[test]
    fn the_second_radius_shrinks_as_more_is_asked_for() {
        let radius = |similarity| {
            Verify { similarity: Similarity(similarity), ..Verify::DEFAULT }.second_radius()
        };
        assert!(radius(0.46) < 64 && radius(0.8) < radius(0.46) && radius(1.0) > 0);
        assert_eq!(radius(0.0), 81);
    }
}
