//! Weighted features: what an item consists of.
//!
//! [`Features`] is a buffer of feature hashes and integer weights, filled by an extractor or by the
//! caller and read by [`simhash`](crate::simhash()). It does not know what was hashed, or how.

use crate::hash::spread;

/// A feature of an item: the hash of its bytes, and its weight.
///
/// A negative weight votes against the bits of the feature. A feature of weight zero is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Any well-mixed 64-bit hash of the feature.
    pub hash: u64,
    /// The weight of the feature.
    pub weight: i32,
}

impl Feature {
    /// A feature that counts once.
    pub const fn new(hash: u64) -> Self {
        Self { hash, weight: 1 }
    }

    /// A feature that counts `weight` times.
    pub const fn weighted(hash: u64, weight: i32) -> Self {
        Self { hash, weight }
    }
}

/// The features of one item, as hashes of `WORDS` words. The buffer can be reused.
///
/// Order does not matter. Pushing a feature three times equals pushing it once with three times the
/// weight.
///
/// ```
/// use lookalike::{simhash, features::{Feature, Features}, hash::FeatureHash};
///
/// let hash = |word: &str| FeatureHash::Xxh3.hash(0, word.as_bytes());
/// let repeated: Features<1> = ["a", "b", "b", "c", "d"].map(|w| Feature::new(hash(w))).into_iter().collect();
/// let weighted: Features<1> = [("a", 1), ("b", 2), ("c", 1), ("d", 1)]
///     .map(|(word, weight)| Feature::weighted(hash(word), weight))
///     .into_iter()
///     .collect();
/// assert_eq!(simhash(&repeated), simhash(&weighted));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features<const WORDS: usize> {
    hashes: Vec<[u64; WORDS]>,
    /// One per hash, none of them zero; empty if every feature counts once.
    weights: Vec<i32>,
}

impl<const WORDS: usize> Features<WORDS> {
    /// No features yet.
    pub const fn new() -> Self {
        Self { hashes: Vec::new(), weights: Vec::new() }
    }

    /// Features that count once each, from hashes as wide as the fingerprint.
    ///
    /// ```
    /// use lookalike::{Fingerprint, simhash, features::Features};
    ///
    /// let features = Features::from_hashes(vec![[0b0011], [0b0110], [0b1010]]);
    /// assert_eq!(simhash(&features), Some(Fingerprint([0b0010])));
    /// ```
    pub const fn from_hashes(hashes: Vec<[u64; WORDS]>) -> Self {
        Self { hashes, weights: Vec::new() }
    }

    /// Features with float weights, which are converted to fixed point.
    ///
    /// A fingerprint depends only on the ratios of weights. So all weights are scaled by the power of
    /// two that takes the largest magnitude into `2^24 ..= 2^25`, then rounded to the nearest integer
    /// (halves away from zero). The result is as precise as an `f32` relative to the largest weight,
    /// and whole numbers up to `2^24` give the same fingerprint as integers. A weight below `2^-26` of
    /// the largest becomes zero, and its feature is left out. A weight that is not finite is an error.
    ///
    /// ```
    /// use lookalike::{simhash, features::{Feature, Features}};
    ///
    /// let floats = Features::<1>::from_floats([(0xff00, 0.5), (0x0ff0, 0.25), (0x1234, 1.5)]).unwrap();
    /// let integers: Features<1> = [(0xff00, 2), (0x0ff0, 1), (0x1234, 6)]
    ///     .map(|(hash, weight)| Feature::weighted(hash, weight))
    ///     .into_iter()
    ///     .collect();
    /// assert_eq!(simhash(&floats), simhash(&integers));
    /// assert!(Features::<1>::from_floats([(1, f64::NAN)]).is_err());
    /// ```
    pub fn from_floats(
        features: impl IntoIterator<Item = (u64, f64)>,
    ) -> Result<Self, WeightError> {
        Self::from_floats_words(features.into_iter().map(|(hash, weight)| (spread(hash), weight)))
    }

    /// [`from_floats`](Self::from_floats) for hashes as wide as the fingerprint.
    pub fn from_floats_words(
        features: impl IntoIterator<Item = ([u64; WORDS], f64)>,
    ) -> Result<Self, WeightError> {
        let features: Vec<_> = features.into_iter().collect();
        if let Some(index) = features.iter().position(|(_, weight)| !weight.is_finite()) {
            return Err(WeightError::NotFinite { index, weight: features[index].1 });
        }
        let largest =
            features.iter().fold(0.0, |largest: f64, (_, weight)| largest.max(weight.abs()));
        let shift = 24 - exponent(largest);
        let mut fixed = Self::new();
        for (words, weight) in features {
            fixed.push_words(words, times_power_of_two(weight, shift).round() as i32);
        }
        Ok(fixed)
    }

    /// Adds a feature; its hash is [`spread`] over the words.
    #[inline]
    pub fn push(&mut self, feature: Feature) {
        self.push_words(spread(feature.hash), feature.weight);
    }

    /// Adds a feature whose hash is as wide as the fingerprint.
    #[inline]
    pub fn push_words(&mut self, hash: [u64; WORDS], weight: i32) {
        match weight {
            0 => return,
            1 if self.weights.is_empty() => {}
            _ => {
                self.weights.resize(self.hashes.len(), 1);
                self.weights.push(weight);
            }
        }
        self.hashes.push(hash);
    }

    /// Adds features that count once, whose hashes are as wide as the fingerprint.
    pub fn extend_once(&mut self, hashes: impl IntoIterator<Item = [u64; WORDS]>) {
        self.hashes.extend(hashes);
        if !self.weights.is_empty() {
            self.weights.resize(self.hashes.len(), 1);
        }
    }

    /// Adds features whose hashes are as wide as the fingerprint.
    pub fn extend_words(&mut self, features: impl IntoIterator<Item = ([u64; WORDS], i32)>) {
        features.into_iter().for_each(|(hash, weight)| self.push_words(hash, weight));
    }

    /// The hashes, for adding to them while every feature counts once.
    pub(crate) fn hashes_mut(&mut self) -> &mut Vec<[u64; WORDS]> {
        debug_assert!(self.weights.is_empty());
        &mut self.hashes
    }

    /// Adds features with as many weights, none of them zero.
    pub(crate) fn extend_weighted(
        &mut self,
        hashes: impl ExactSizeIterator<Item = [u64; WORDS]>,
        weights: impl ExactSizeIterator<Item = i32>,
    ) {
        debug_assert_eq!(hashes.len(), weights.len());
        self.weights.resize(self.hashes.len(), 1);
        self.hashes.extend(hashes);
        self.weights.extend(weights);
    }

    /// The hashes, in the order they were added.
    pub fn hashes(&self) -> &[[u64; WORDS]] {
        &self.hashes
    }

    /// The weight of each hash, none of them zero; `None` when every feature counts once.
    pub fn weights(&self) -> Option<&[i32]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    /// Every hash with its weight.
    pub fn iter(&self) -> impl Iterator<Item = (&[u64; WORDS], i32)> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1));
        self.hashes.iter().zip(weights)
    }

    /// The number of features, including repeats.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are no features, and so no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Removes all features and keeps the memory for the next item.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.weights.clear();
    }
}

impl<const WORDS: usize> Extend<Feature> for Features<WORDS> {
    fn extend<I: IntoIterator<Item = Feature>>(&mut self, features: I) {
        features.into_iter().for_each(|feature| self.push(feature));
    }
}

impl<const WORDS: usize> FromIterator<Feature> for Features<WORDS> {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        let mut all = Self::new();
        all.extend(features);
        all
    }
}

/// Why a weight cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightError {
    /// A weight is infinite or not a number.
    #[error("feature {index} (counted from 0) has weight {weight}; weights must be finite numbers")]
    NotFinite {
        /// The number of the feature, counted from 0.
        index: usize,
        /// Its weight.
        weight: f64,
    },
}

/// The `e` with `2^e <= x < 2^(e + 1)` for a finite `x > 0`; an arbitrary number for zero.
fn exponent(x: f64) -> i32 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = x.to_bits();
    match (bits >> MANTISSA_BITS) as i32 {
        // Subnormal: the value is `bits` units of 2^-1074.
        0 => 63 - bits.leading_zeros() as i32 - 1074,
        biased => biased - 1023,
    }
}

/// `x * 2^n`, in two steps because `2^n` alone may be out of range.
fn times_power_of_two(x: f64, n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((n + 1023) as u64) << (f64::MANTISSA_DIGITS - 1));
    x * power(n / 2) * power(n - n / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(weights: &[f64]) -> Vec<i32> {
        let features = Features::<1>::from_floats(weights.iter().map(|&w| (1, w))).unwrap();
        features.iter().map(|(_, weight)| weight).collect()
    }

    #[test]
    fn weights_stay_unwritten_while_every_feature_counts_once() {
        let mut features: Features<2> = [Feature::new(7), Feature::new(8)].into_iter().collect();
        assert_eq!(features.weights(), None);
        features.push(Feature::weighted(9, -3));
        features.push(Feature::new(10));
        assert_eq!(features.weights(), Some([1, 1, -3, 1].as_slice()));
        assert_eq!(features.hashes()[3], spread(10));
    }

    #[test]
    fn features_added_together_are_features_added_one_by_one() {
        for weights in [[1, 1, 1], [1, 2, 0], [0, 0, 0], [-1, 1, 1]] {
            let mut together: Features<1> = [Feature::new(7)].into_iter().collect();
            let mut one_by_one = together.clone();
            together.extend_words(weights.map(|weight| ([8], weight)));
            weights.into_iter().for_each(|weight| one_by_one.push_words([8], weight));
            assert_eq!(together, one_by_one);
            together.extend_once([[9], [10]]);
            [9, 10].into_iter().for_each(|hash| one_by_one.push_words([hash], 1));
            assert_eq!(together, one_by_one);
        }
    }

    #[test]
    fn a_feature_of_weight_zero_is_left_out() {
        let features: Features<1> = [Feature::weighted(7, 0)].into_iter().collect();
        assert!(features.is_empty());
        assert!(Features::<1>::from_floats([(7, 0.0), (8, -0.0)]).unwrap().is_empty());
    }

    #[test]
    fn cleared_features_are_as_new() {
        let mut features: Features<1> = [Feature::weighted(7, 5)].into_iter().collect();
        features.clear();
        features.push(Feature::new(8));
        assert_eq!(features, [Feature::new(8)].into_iter().collect());
    }

    #[test]
    fn the_largest_float_weight_fills_24_bits() {
        const TOP: i32 = 1 << 24;
        assert_eq!(fixed(&[1.0, -0.5, 0.25]), [TOP, -TOP / 2, TOP / 4]);
        assert_eq!(fixed(&[f64::MAX]), [2 * TOP]);
        assert_eq!(fixed(&[f64::from_bits(1), f64::from_bits(2)]), [TOP / 2, TOP]);
        assert_eq!(fixed(&[f64::MIN_POSITIVE, f64::MIN_POSITIVE * 3.0]), [TOP / 2, TOP / 2 * 3]);
        assert_eq!(fixed(&[1e300, 1e-300]).len(), 1);
    }

    #[test]
    fn weights_that_are_no_numbers_are_refused_with_their_place() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Features::<1>::from_floats([(1, 1.0), (2, weight)]).unwrap_err();
            assert!(error.to_string().starts_with("feature 1 "), "{error}");
        }
    }

    proptest! {
        #[test]
        fn float_weights_are_rounded_by_at_most_half_a_unit(
            weights in prop::collection::vec(-1e6..1e6f64, 1..50)
        ) {
            let largest = weights.iter().fold(0.0, |a: f64, w: &f64| a.max(w.abs()));
            prop_assume!(largest > 0.0);
            let unit = 2f64.powi(exponent(largest) - 24);
            let kept = weights.iter().filter(|weight| (*weight / unit).abs() >= 0.5);
            for (weight, fixed) in kept.zip(fixed(&weights)) {
                prop_assert!((weight - f64::from(fixed) * unit).abs() <= unit / 2.0);
                prop_assert!(fixed.unsigned_abs() <= 1 << 25);
            }
        }
    }
}
