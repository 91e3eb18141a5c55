//! Extractors: what an item consists of.
//!
//! An extractor calls back with every feature of an item in order, repeats included: its bytes or its
//! hash. [`Shingles`] name the features of texts; `image` has the fingerprints of pixels. Nothing here
//! knows how features are weighted or used.

#[cfg(feature = "image")]
pub mod image;
pub mod text;

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::str::FromStr;

use crate::spelling::nearest;

/// The tokens that a text is split into.
///
/// ```
/// use lookalike::extract::Unit;
///
/// let mut tokens = Vec::new();
/// Unit::Words.tokens("To be, or NOT", |token| tokens.push(token.to_vec()));
/// assert_eq!(tokens, [b"to".to_vec(), b"be".to_vec(), b"or".to_vec(), b"not".to_vec()]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Runs of letters and digits; a Chinese character is a word ([`text::words`]).
    Words,
    /// Words, with Chinese ones from a dictionary ([`text::dictionary_words`]).
    #[cfg(feature = "dictionary")]
    Dictionary,
    /// Characters; a run of white space is one space ([`text::characters`]).
    Characters,
    /// Bytes, without any normalisation.
    Bytes,
    /// Names, numbers and punctuation of program text ([`text::code`]).
    Code,
    /// The same with all names equal, so renaming changes nothing ([`text::code`]).
    Blind,
}

impl Unit {
    /// Every unit.
    pub const ALL: &'static [Self] = &[
        Self::Words,
        #[cfg(feature = "dictionary")]
        Self::Dictionary,
        Self::Characters,
        Self::Bytes,
        Self::Code,
        Self::Blind,
    ];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            #[cfg(feature = "dictionary")]
            Self::Dictionary => "dictionary",
            Self::Characters => "chars",
            Self::Bytes => "bytes",
            Self::Code => "code",
            Self::Blind => "blind",
        }
    }

    /// Calls back with the bytes of every token of a text, in order.
    pub fn tokens(self, text: &str, on_token: impl FnMut(&[u8])) {
        match self {
            Self::Words => text::words(text, on_token),
            #[cfg(feature = "dictionary")]
            Self::Dictionary => text::dictionary_words(text, on_token),
            Self::Characters => text::characters(text, on_token),
            Self::Bytes => text.as_bytes().chunks(1).for_each(on_token),
            Self::Code => text::code(text, false, on_token),
            Self::Blind => text::code(text, true, on_token),
        }
    }

    /// Replaces the content of `hashes` by the hash of every token, in order.
    pub fn token_hashes(self, text: &str, hashes: &mut Vec<u64>) {
        text::unit_hashes(self, text, hashes);
    }

    /// The separator between two tokens of a feature.
    const fn gap(self) -> &'static [u8] {
        match self {
            Self::Characters | Self::Bytes => b"",
            _ => b" ",
        }
    }
}

/// Shingles: every run of `size` neighbouring tokens of a text is a feature.
///
/// A text with fewer tokens has one feature, its whole content; a text without tokens has none.
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
    /// The tokens.
    pub unit: Unit,
    /// The number of neighbouring tokens in a feature.
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

    /// Calls `on_feature` with the bytes of each feature, in the order of the text: its tokens, with
    /// one space between them unless they are characters or bytes.
    pub fn extract(self, text: &str, on_feature: impl FnMut(&[u8])) {
        self.extract_without(text, |_| false, on_feature);
    }

    /// [`extract`](Self::extract) without the tokens that are `left_out`.
    pub(crate) fn extract_without(
        self,
        text: &str,
        left_out: impl Fn(&[u8]) -> bool,
        on_feature: impl FnMut(&[u8]),
    ) {
        let mut runs = Runs::with_capacity(self, text.len());
        self.unit.tokens(text, |token| {
            if !left_out(token) {
                runs.push(token);
            }
        });
        runs.each(on_feature);
    }
}

/// Consecutive tokens, read as runs of neighbours.
pub(crate) struct Runs {
    shingles: Shingles,
    joined: Vec<u8>,
    tokens: Vec<Range<usize>>,
}

impl Runs {
    pub(crate) fn with_capacity(shingles: Shingles, bytes: usize) -> Self {
        Self { shingles, joined: Vec::with_capacity(bytes), tokens: Vec::new() }
    }

    pub(crate) fn push(&mut self, token: &[u8]) {
        if !self.tokens.is_empty() {
            self.joined.extend_from_slice(self.shingles.unit.gap());
        }
        self.tokens.push(self.joined.len()..self.joined.len() + token.len());
        self.joined.extend_from_slice(token);
    }

    /// Calls back with the bytes of each run.
    pub(crate) fn each(&self, mut on_feature: impl FnMut(&[u8])) {
        let size = self.shingles.size.get() as usize;
        for run in self.tokens.windows(size.clamp(1, self.tokens.len().max(1))) {
            on_feature(&self.joined[run[0].start..run[run.len() - 1].end]);
        }
    }
}

impl fmt::Display for Shingles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.unit.name(), self.size)
    }
}

/// Reads `words:2`, `chars:4`, `code:3`; without a size, it is 1.
impl FromStr for Shingles {
    type Err = ExtractError;

    fn from_str(text: &str) -> Result<Self, ExtractError> {
        let (name, size) = text.split_once(':').unwrap_or((text, "1"));
        let size = size.parse().map_err(|_| ExtractError::Size { text: text.into() })?;
        let unit = Unit::ALL.iter().copied().find(|unit| unit.name() == name).ok_or_else(|| {
            let unit = nearest(name, Unit::ALL.iter().map(|unit| unit.name())).unwrap_or_default();
            ExtractError::Unknown { text: text.into(), nearest: format!("{unit}:{size}") }
        })?;
        Ok(Self { unit, size })
    }
}

/// Why a text is not the name of features.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// No such unit.
    #[error("unknown features \"{text}\"; did you mean {nearest}?")]
    Unknown {
        /// What was read.
        text: String,
        /// The nearest valid name.
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
        for &unit in Unit::ALL {
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

    #[test]
    fn features_of_several_tokens_are_written_with_a_space_where_words_are() {
        let features = |shingles: &str, text: &str| {
            let mut features = Vec::new();
            shingles.parse::<Shingles>().unwrap().extract(text, |feature| {
                features.push(String::from_utf8_lossy(feature).into_owned());
            });
            features
        };
        assert_eq!(features("words:3", "hello, world"), ["hello world"]);
        assert_eq!(features("chars:2", "A bc"), ["a ", " b", "bc"]);
        assert_eq!(features("bytes:3", "aB  c"), ["aB ", "B  ", "  c"]);
        assert_eq!(features("bytes:9", "ab"), ["ab"]);
        assert_eq!(features("code:2", "f(x)"), ["f (", "( x", "x )"]);
        assert!(features("bytes:1", "").is_empty());
    }
}
