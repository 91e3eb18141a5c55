//! The weights of features.

use std::fmt;
use std::str::FromStr;

use super::RecipeError;
use crate::spelling::nearest;

/// How the weight of a feature depends on its count in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weighting {
    /// 1, whatever the count.
    Set,
    /// The count.
    #[default]
    Tf,
    /// The binary logarithm of the count plus one: a count of 1 weighs 1, a count of 3 weighs 2.
    Log,
    /// The same, multiplied by the rarity of the feature in other texts ([`Model`](crate::model::Model)).
    TfIdf,
}

impl Weighting {
    /// Every weighting.
    pub const ALL: [Self; 4] = [Self::Set, Self::Tf, Self::Log, Self::TfIdf];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Tf => "tf",
            Self::Log => "log",
            Self::TfIdf => "tfidf",
        }
    }

    /// The weight of a feature with this count; `rarity` is in units of 1/256.
    #[inline]
    pub(super) fn weight(self, count: u32, rarity: impl FnOnce() -> i32) -> i32 {
        match self {
            Self::Set => 1,
            Self::Tf => i32::try_from(count).unwrap_or(i32::MAX),
            Self::Log => log_weight(count),
            Self::TfIdf => (log_weight(count) * rarity()) >> 8,
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

/// `log2(count + 1)`, from a table for the usual counts.
#[inline]
pub(super) fn log_weight(count: u32) -> i32 {
    const SMALL: [i32; 64] = {
        let mut weights = [0; 64];
        let mut count = 0;
        while count < 64 {
            weights[count] = log2(count as u32 + 1);
            count += 1;
        }
        weights
    };
    match SMALL.get(count as usize) {
        Some(&weight) => weight,
        None => log2(count.saturating_add(1)),
    }
}

/// The binary logarithm of `x >= 1` in units of 1/256, rounded down. Uses integers only, because the
/// last bits of a floating-point logarithm differ between machines.
pub(crate) const fn log2(x: u32) -> i32 {
    let whole = x.ilog2();
    // A number from 1 up to 2, in units of 2^-31. Squaring it doubles its logarithm. Each time it
    // reaches 2, the next binary digit is 1.
    let mut mantissa = (x as u64) << (31 - whole);
    let mut log = whole as i32;
    let mut digits = 0;
    while digits < 8 {
        mantissa = (mantissa * mantissa) >> 31;
        let digit = mantissa >> 32;
        mantissa >>= digit;
        log = log << 1 | digit as i32;
        digits += 1;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let weights = |weighting: Weighting| [1, 3, 255].map(|n| weighting.weight(n, || 512));
        assert_eq!(weights(Weighting::Set), [1, 1, 1]);
        assert_eq!(weights(Weighting::Tf), [1, 3, 255]);
        assert_eq!(weights(Weighting::Log), [256, 512, 2048]);
        assert_eq!(weights(Weighting::TfIdf), [512, 1024, 4096]);
        assert_eq!(Weighting::Log.weight(u32::MAX, || 0), 32 * 256 - 1);
    }
}
