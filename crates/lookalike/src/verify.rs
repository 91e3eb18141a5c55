//! How alike are two items really?
//!
//! A fingerprint says which items may be alike; [`Verify`] says what must be true of their features
//! for them to be taken for alike.

use std::fmt;

use crate::extract::Shingles;

/// What two items must have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verify {
    /// Which sets of features are compared.
    pub features: Shingles,
    /// How they are compared.
    pub measure: Measure,
    /// How alike they must be, at least.
    pub similarity: Similarity,
}

/// On one line: `jaccard of words:2 >= 0.38`.
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
    #[default]
    Jaccard,
    /// What they share, of the smaller one.
    Containment,
}

impl Measure {
    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jaccard => "jaccard",
            Self::Containment => "containment",
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_shares() {
        assert_eq!(Similarity::new(0.38).map(Similarity::get), Some(0.38));
        for share in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
            assert_eq!(Similarity::new(share), None);
        }
    }
}
