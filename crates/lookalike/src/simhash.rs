//! SimHash: weighted features become one fingerprint, in which similar items differ little.
//!
//! Every feature votes with its weight for the bits set in its hash and against the others (Charikar
//! 2002). Bit `i` of the fingerprint is 1 iff its vote is above zero; a tie is 0. Without features there
//! is *no fingerprint*, never the all-zero one. [`naive`] reads like this definition, and [`simhash`] is
//! its fast equal. Nothing here knows what features stand for.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod majority;
mod portable;
mod weighted;

use crate::features::Features;
use crate::fingerprint::Fingerprint;
use crate::hamming::Kernel;

/// The fingerprint of an item's features; `None` if there are none.
///
/// The order of the features does not matter. `WORDS` is 1, 2 or 4; another number does not compile.
///
/// ```
/// use lookalike::{simhash, features::{Feature, Features}, hash::FeatureHash};
///
/// let fingerprint = |text: &str| {
///     let words = text.split(' ').map(|word| FeatureHash::Xxh3.hash(0, word.as_bytes()));
///     simhash::<2>(&words.map(Feature::new).collect())
/// };
/// let a = fingerprint("the quick brown fox jumps over the lazy dog").unwrap();
/// let b = fingerprint("the quick brown fox jumped over the lazy dog").unwrap();
/// let c = fingerprint("an entirely different sentence about something else").unwrap();
/// assert!(a.distance(&b) < a.distance(&c));
/// assert_eq!(simhash(&Features::<1>::new()), None);
/// ```
pub fn simhash<const WORDS: usize>(features: &Features<WORDS>) -> Option<Fingerprint<WORDS>> {
    simhash_with(Kernel::detect(), features)
}

/// [`simhash`] with a chosen kernel; all give the same result.
pub fn simhash_with<const WORDS: usize>(
    kernel: Kernel,
    features: &Features<WORDS>,
) -> Option<Fingerprint<WORDS>> {
    const { assert!(WORDS == 1 || WORDS == 2 || WORDS == 4, "fingerprints have 1, 2 or 4 words") };
    if features.is_empty() {
        return None;
    }
    let hashes = features.hashes();
    let words = match features.weights() {
        None => unweighted(kernel, hashes),
        // Only the ratios of weights matter.
        Some(weights) if all_equal(weights) && weights[0] > 0 => unweighted(kernel, hashes),
        Some(weights) => weighted(kernel, hashes, weights),
    };
    Some(Fingerprint(words))
}

/// The lower 32 bits of a 64-bit fingerprint, which are a 32-bit fingerprint of the same features.
///
/// ```
/// use lookalike::{Fingerprint, simhash, features::Feature};
///
/// let print = simhash::<1>(&[Feature::new(0x1234_5678_9abc_def0)].into_iter().collect());
/// assert_eq!(print.map(lookalike::simhash::narrow), Some(Fingerprint([0x9abc_def0])));
/// ```
pub const fn narrow(print: Fingerprint<1>) -> Fingerprint<1> {
    Fingerprint([print.0[0] & 0xffff_ffff])
}

/// The definition, one vote per bit and feature: the oracle of tests and the baseline of benchmarks.
///
/// ```
/// use lookalike::{Fingerprint, simhash, features::{Feature, Features}};
///
/// let features: Features<1> =
///     [Feature::weighted(0b0011, 2), Feature::weighted(0b0110, 1), Feature::weighted(0b1100, 1)]
///         .into_iter()
///         .collect();
/// // Votes, from bit 0: 2-1-1, 2+1-1, -2+1+1, -2-1+1.
/// assert_eq!(simhash::naive(&features), Some(Fingerprint([0b0010])));
/// ```
pub fn naive<const WORDS: usize>(features: &Features<WORDS>) -> Option<Fingerprint<WORDS>> {
    if features.is_empty() {
        return None;
    }
    let mut votes = [[0i64; 64]; WORDS];
    for (hash, weight) in features.iter() {
        for (votes, word) in votes.iter_mut().zip(hash) {
            for (bit, vote) in votes.iter_mut().enumerate() {
                *vote += if word >> bit & 1 == 1 { i64::from(weight) } else { -i64::from(weight) };
            }
        }
    }
    Some(Fingerprint(
        votes.map(|votes| (0..64).fold(0, |word, bit| word | u64::from(votes[bit] > 0) << bit)),
    ))
}

/// Features of equal weight: a bit is set iff it is set in more than half of the hashes.
fn unweighted<const WORDS: usize>(kernel: Kernel, hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = kernel.avx2() {
        return avx2::unweighted(avx2, hashes);
    }
    portable::unweighted(hashes)
}

/// Features with weights: a bit is set iff the hashes that have it weigh more than half of all weights.
fn weighted<const WORDS: usize>(
    kernel: Kernel,
    hashes: &[[u64; WORDS]],
    weights: &[i32],
) -> [u64; WORDS] {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = kernel.avx2() {
        return avx2::weighted(avx2, hashes, weights);
    }
    portable::weighted(hashes, weights)
}

fn all_equal(weights: &[i32]) -> bool {
    weights.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Feature;
    use crate::fingerprint::Width;
    use crate::hash::FeatureHash;
    use crate::vectors::{self, hex};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Asks every kernel, and expects each to say what the definition says.
    fn agreed<const WORDS: usize>(features: &Features<WORDS>) -> Option<Fingerprint<WORDS>> {
        let expected = naive(features);
        for kernel in Kernel::available() {
            let found = simhash_with(kernel, features);
            assert_eq!(found, expected, "{kernel:?}, {} features", features.len());
        }
        expected
    }

    fn collect<const WORDS: usize>(features: &[(u64, i32)]) -> Features<WORDS> {
        features.iter().map(|&(hash, weight)| Feature::weighted(hash, weight)).collect()
    }

    fn agreed_at_all_widths(features: &[(u64, i32)]) {
        agreed::<1>(&collect(features));
        agreed::<2>(&collect(features));
        agreed::<4>(&collect(features));
    }

    /// Hashes in which some bits are nearly always set, or nearly never, so that counts get large.
    fn hash() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), any::<(u64, u64)>().prop_map(|(a, b)| a | b), Just(!0), Just(0)]
    }

    fn weight() -> impl Strategy<Value = i32> {
        prop_oneof![
            1..4i32,
            -300..300i32,
            any::<i32>(),
            Just(i32::MAX),
            Just(i32::MIN),
            Just(1 << 25),
            Just(1 << 26),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_kernel_agrees_on_equal_weights(hashes in vec(hash(), 0..5000)) {
            agreed_at_all_widths(&hashes.into_iter().map(|hash| (hash, 1)).collect::<Vec<_>>());
        }

        #[test]
        fn every_kernel_agrees_on_any_weights(features in vec((hash(), weight()), 0..5000)) {
            agreed_at_all_widths(&features);
        }

        #[test]
        fn every_kernel_agrees_on_weights_of_one_size(
            features in vec((hash(), any::<i32>()), 0..200),
            shift in 0..32,
        ) {
            let features: Vec<_> = features.into_iter().map(|(h, w)| (h, w >> shift)).collect();
            agreed_at_all_widths(&features);
        }

        #[test]
        fn every_kernel_agrees_on_independent_words(hashes in vec(any::<[u64; 4]>(), 0..300)) {
            agreed(&Features::from_hashes(hashes));
        }

        #[test]
        fn order_is_of_no_consequence(
            (features, shuffled) in vec((hash(), weight()), 0..300)
                .prop_flat_map(|features| (Just(features.clone()), Just(features).prop_shuffle()))
        ) {
            prop_assert_eq!(agreed::<2>(&collect(&features)), agreed::<2>(&collect(&shuffled)));
        }

        #[test]
        fn a_feature_repeated_is_a_feature_weighted(features in vec((hash(), 1..20i32), 0..100)) {
            let repeated: Vec<_> = features
                .iter()
                .flat_map(|&(hash, weight)| std::iter::repeat_n((hash, 1), weight as usize))
                .collect();
            prop_assert_eq!(agreed::<4>(&collect(&features)), agreed::<4>(&collect(&repeated)));
        }

        #[test]
        fn scaling_all_weights_changes_nothing(
            features in vec((hash(), -1000..1000i32), 0..100),
            scale in 1..1000i32,
        ) {
            let scaled: Vec<_> = features.iter().map(|&(hash, weight)| (hash, weight * scale)).collect();
            prop_assert_eq!(agreed::<1>(&collect(&features)), agreed::<1>(&collect(&scaled)));
        }

        #[test]
        fn whole_float_weights_are_integer_weights(features in vec((hash(), -(1 << 24)..1 << 24), 0..100)) {
            let floats = features.iter().map(|&(hash, weight)| (hash, f64::from(weight)));
            let floats = Features::<1>::from_floats(floats).unwrap();
            prop_assert_eq!(agreed(&floats), agreed(&collect(&features)));
        }

        #[test]
        fn one_feature_is_its_own_fingerprint(hash: u64, weight in 1..i32::MAX) {
            prop_assert_eq!(agreed(&collect(&[(hash, weight)])), Some(Fingerprint([hash])));
            prop_assert_eq!(agreed(&collect(&[(hash, -weight)])), Some(Fingerprint([!hash])));
        }

        #[test]
        fn ties_are_zero(features in vec((hash(), weight()), 1..100)) {
            let opposed: Vec<_> =
                features.iter().flat_map(|&(hash, weight)| [(hash, weight), (!hash, weight)]).collect();
            let print = agreed::<1>(&collect(&opposed));
            prop_assert!(print.is_none_or(|print| print == Fingerprint::ZERO));
        }
    }

    #[test]
    fn every_kernel_agrees_at_every_small_size() {
        for size in 0..300u64 {
            let features: Vec<_> = (0..size).map(|i| (crate::hash::spread::<2>(i)[1], 1)).collect();
            agreed_at_all_widths(&features);
            let features: Vec<_> =
                features.iter().map(|&(hash, _)| (hash, hash as i32 >> 20)).collect();
            agreed_at_all_widths(&features);
        }
    }

    #[test]
    fn every_kernel_agrees_when_counts_need_many_planes() {
        for size in [16_379, 16_380, 16_381, 70_000] {
            let mut hashes = vec![[!0, 0, 5, !5]; size];
            hashes[size / 2..].fill([!0, !0, 0, 7]);
            agreed(&Features::from_hashes(hashes));
            agreed(&Features::from_hashes(vec![[!0]; size]));
        }
    }

    #[test]
    fn golden_votes_are_reproduced() {
        for line in vectors::read("votes.tsv") {
            let [bits, features, print] = line.as_slice() else { panic!("{line:?}") };
            let found = match bits.as_str() {
                "32" => agreed::<1>(&parse(features)).map(|p| narrow(p).to_hex(Width::Bits32)),
                "64" => agreed::<1>(&parse(features)).map(|print| print.to_hex(Width::Bits64)),
                "128" => agreed::<2>(&parse(features)).map(|print| print.to_hex(Width::Bits128)),
                _ => agreed::<4>(&parse(features)).map(|print| print.to_hex(Width::Bits256)),
            };
            assert_eq!(found.as_deref().unwrap_or("-"), print, "{bits} bits of {features}");
        }
    }

    /// Reads `0x1f:2 0x2e:3`; as floats if any weight has a point or an exponent.
    fn parse<const WORDS: usize>(text: &str) -> Features<WORDS> {
        let features: Vec<_> =
            text.split(' ').filter_map(|feature| feature.split_once(':')).collect();
        if features.iter().any(|(_, weight)| weight.contains(['.', 'e'])) {
            Features::from_floats(features.iter().map(|(h, w)| (hex(h), w.parse().unwrap())))
                .unwrap()
        } else {
            features.iter().map(|(h, w)| Feature::weighted(hex(h), w.parse().unwrap())).collect()
        }
    }

    /// The values in the test suite of PyPI `simhash` 2.1, whose vote rule is the same.
    #[test]
    fn published_values_of_pypi_simhash_are_reproduced() {
        let hash = |text: &str| FeatureHash::Md5Last8.hash(0, text.as_bytes());
        let few = [(hash("aaa"), 1), (hash("bbb"), 1)];
        assert_eq!(agreed(&collect(&few)), Some(Fingerprint([57087923692560392])));
        let many: Vec<_> = (0..500).map(|i| (hash(&i.to_string()), 1)).collect();
        assert_eq!(agreed(&collect(&many)), Some(Fingerprint([7984652473404407437])));
        let weighted: Vec<_> = (0..500).map(|i| (hash(&i.to_string()), 50 * i)).collect();
        assert_eq!(agreed(&collect(&weighted)), Some(Fingerprint([3372825719632739723])));
    }

    #[test]
    fn no_features_make_no_fingerprint() {
        assert_eq!(agreed(&Features::<1>::new()), None);
        assert_eq!(agreed::<4>(&collect(&[(5, 0), (6, 0)])), None);
    }
}
