//! What is an item made of?
//!
//! An extractor takes an item apart and hands out the bytes of its features, one after the other,
//! repeats included. It does not know how they are hashed, weighed or used.

pub mod text;

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::spelling::nearest;

/// What a text is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Runs of letters and digits, in lower case; a CJK character is a word ([`text::words`]).
    Words,
    /// Characters, in lower case, white space as one space ([`text::characters`]).
    Characters,
    /// The bytes as they are ([`text::bytes`]).
    Bytes,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 3] = [Self::Words, Self::Characters, Self::Bytes];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Characters => "chars",
            Self::Bytes => "bytes",
        }
    }
}

/// Shingles: every run of `size` neighbouring units of a text is a feature.
///
/// A text with fewer units than that has one feature, all of it, and so is alike its equals only;
/// a text without any unit has none.
///
/// ```
/// use lookalike::extract::Shingles;
///
/// let shingles: Shingles = "words:2".parse().unwrap();
/// let mut features = Vec::new();
/// shingles.extract("To be, or NOT to be", |bytes| features.push(String::from_utf8_lossy(bytes).into_owned()));
/// assert_eq!(features, ["to be", "be or", "or not", "not to", "to be"]);
///
/// assert_eq!(shingles.to_string(), "words:2");
/// let error = "word:2".parse::<Shingles>().unwrap_err();
/// assert!(error.to_string().contains("did you mean words:2?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shingles {
    /// What the text is cut into.
    pub unit: Unit,
    /// How many neighbours make a feature.
    pub size: NonZeroU32,
}

impl Shingles {
    /// Shingles of `size` units; `None` if that is zero.
    pub const fn new(unit: Unit, size: u32) -> Option<Self> {
        match NonZeroU32::new(size) {
            Some(size) => Some(Self { unit, size }),
            None => None,
        }
    }

    /// Calls `on_feature` with the bytes of each feature, in the order of the text.
    pub fn extract(self, text: &str, on_feature: impl FnMut(&[u8])) {
        let size = self.size.get() as usize;
        match self.unit {
            Unit::Words => text::words(text, size, on_feature),
            Unit::Characters => text::characters(text, size, on_feature),
            Unit::Bytes => text::bytes(text.as_bytes(), size, on_feature),
        }
    }
}

impl fmt::Display for Shingles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.unit.name(), self.size)
    }
}

/// Reads `words:2`, `chars:4`, `bytes:5`; the size may be left out and is 1 then.
impl FromStr for Shingles {
    type Err = ExtractError;

    fn from_str(text: &str) -> Result<Self, ExtractError> {
        let (name, size) = text.split_once(':').unwrap_or((text, "1"));
        let size = size.parse().map_err(|_| ExtractError::Size { text: text.into() })?;
        let unit = Unit::ALL.into_iter().find(|unit| unit.name() == name).ok_or_else(|| {
            let unit = nearest(name, Unit::ALL.map(Unit::name)).unwrap_or_default();
            ExtractError::Unknown { text: text.into(), nearest: format!("{unit}:{size}") }
        })?;
        Ok(Self { unit, size })
    }
}

/// Why a text does not name any features.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// No such unit.
    #[error("there are no features \"{text}\"; did you mean {nearest}?")]
    Unknown {
        /// What was read.
        text: String,
        /// The valid name that looks most like it.
        nearest: String,
    },
    /// The size is not a positive number.
    #[error("\"{text}\" needs a shingle size of 1 or more, as in words:2")]
    Size {
        /// What was read.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_the_same_shingles() {
        for unit in Unit::ALL {
            for size in [1, 2, 1000] {
                let shingles = Shingles::new(unit, size).unwrap();
                assert_eq!(shingles.to_string().parse(), Ok(shingles));
            }
        }
        assert_eq!("chars".parse(), Ok(Shingles::new(Unit::Characters, 1).unwrap()));
    }

    #[test]
    fn sizes_that_are_no_positive_numbers_are_refused() {
        for text in ["words:0", "words:", "words:-1", "chars:two", "bytes:99999999999"] {
            let error = text.parse::<Shingles>().unwrap_err();
            assert_eq!(error, ExtractError::Size { text: text.into() });
        }
    }
}
