//! Stop words: words too common to say anything about a text.
//!
//! lookalike has small lists for some languages; the caller's own list is read from text. Words are
//! stored as hashes of their normal form, so a lookup is fast.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use crate::extract::text::normal_form;
use crate::hash::mix;
use crate::spelling::nearest;

/// Words that are left out.
///
/// ```
/// use lookalike::stop_words::StopWords;
///
/// let words: StopWords = "en,de".parse().unwrap();
/// assert_eq!(words.to_string(), "en de");
/// let error = "en,dee".parse::<StopWords>().unwrap_err();
/// assert!(error.to_string().contains("did you mean de?"));
///
/// let own = StopWords::own("# two words of ours\nlorem\nIpsum\n");
/// assert_eq!(own.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopWords(Lists);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lists {
    BuiltIn(Cow<'static, [Language]>),
    /// The hashes of the words, ascending.
    Own(Arc<[u64]>),
}

impl StopWords {
    /// An empty list.
    pub const NONE: Self = Self::of(&[]);

    /// English and Chinese.
    pub const COMMON: Self = Self::of(&[Language::English, Language::Chinese]);

    /// The built-in lists of some languages.
    pub const fn of(languages: &'static [Language]) -> Self {
        Self(Lists::BuiltIn(Cow::Borrowed(languages)))
    }

    /// The caller's own list, one word per line; lines that start with `#` are comments.
    pub fn own(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        Self(Lists::Own(hashes(lines).into()))
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of words; a word in the lists of two languages counts twice.
    pub fn len(&self) -> usize {
        self.lists().map(<[u64]>::len).sum()
    }

    /// Whether the word with this hash is left out.
    pub(crate) fn contains(&self, token: u64) -> bool {
        self.lists().any(|list| list.binary_search(&token).is_ok())
    }

    /// The tokens without stop words; `kept` is used only if the list is not empty.
    pub(crate) fn filter<'a>(&self, tokens: &'a [u64], kept: &'a mut Vec<u64>) -> &'a [u64] {
        if self.is_empty() {
            return tokens;
        }
        kept.clear();
        kept.extend(tokens.iter().copied().filter(|&token| !self.contains(token)));
        kept
    }

    fn lists(&self) -> impl Iterator<Item = &[u64]> {
        let (languages, own): (&[Language], &[u64]) = match &self.0 {
            Lists::BuiltIn(languages) => (languages, &[]),
            Lists::Own(words) => (&[], words),
        };
        languages.iter().map(|language| language.words()).chain([own]).filter(|l| !l.is_empty())
    }
}

/// The stored form: the names of languages, or the hashes of the caller's own words.
#[cfg(feature = "collection")]
impl StopWords {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.0 {
            Lists::BuiltIn(_) => self.to_string().into(),
            Lists::Own(words) => words.to_vec().into(),
        }
    }

    pub(crate) fn from_json(value: &serde_json::Value) -> Option<Self> {
        if let Some(names) = value.as_str() {
            return if names.is_empty() {
                Some(Self::NONE)
            } else {
                names.replace(' ', ",").parse().ok()
            };
        }
        let words: Option<Vec<u64>> =
            value.as_array()?.iter().map(serde_json::Value::as_u64).collect();
        let mut words = words?;
        words.sort_unstable();
        Some(Self(Lists::Own(words.into())))
    }
}

impl Default for StopWords {
    fn default() -> Self {
        Self::NONE
    }
}

/// The languages, as in `en zh`; or `own` and a checksum for the caller's own list.
impl fmt::Display for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Lists::BuiltIn(languages) => {
                let names: Vec<_> = languages.iter().map(|language| language.name()).collect();
                f.write_str(&names.join(" "))
            }
            Lists::Own(words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                write!(f, "own words {:016x}", mix(&bytes))
            }
        }
    }
}

/// Reads `en` or `en,zh,de`.
impl FromStr for StopWords {
    type Err = StopWordsError;

    fn from_str(text: &str) -> Result<Self, StopWordsError> {
        let languages = text.split(',').map(|name| name.trim().parse());
        Ok(Self(Lists::BuiltIn(languages.collect::<Result<_, _>>()?)))
    }
}

/// A language with a list of stop words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "names of languages")]
pub enum Language {
    English,
    Chinese,
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Russian,
    Japanese,
}

impl Language {
    /// Every language with a list.
    pub const ALL: [Self; 10] = [
        Self::English,
        Self::Chinese,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Portuguese,
        Self::Italian,
        Self::Dutch,
        Self::Russian,
        Self::Japanese,
    ];

    /// The two-letter code of ISO 639-1.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Portuguese => "pt",
            Self::Italian => "it",
            Self::Dutch => "nl",
            Self::Russian => "ru",
            Self::Japanese => "ja",
        }
    }

    const fn list(self) -> &'static str {
        match self {
            Self::English => include_str!("stop_words/en.txt"),
            Self::Chinese => include_str!("stop_words/zh.txt"),
            Self::German => include_str!("stop_words/de.txt"),
            Self::French => include_str!("stop_words/fr.txt"),
            Self::Spanish => include_str!("stop_words/es.txt"),
            Self::Portuguese => include_str!("stop_words/pt.txt"),
            Self::Italian => include_str!("stop_words/it.txt"),
            Self::Dutch => include_str!("stop_words/nl.txt"),
            Self::Russian => include_str!("stop_words/ru.txt"),
            Self::Japanese => include_str!("stop_words/ja.txt"),
        }
    }

    /// The hashes of the words, ascending.
    fn words(self) -> &'static [u64] {
        static WORDS: [OnceLock<Vec<u64>>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        WORDS[self as usize].get_or_init(|| hashes(self.list().split_whitespace()))
    }
}

impl FromStr for Language {
    type Err = StopWordsError;

    fn from_str(name: &str) -> Result<Self, StopWordsError> {
        Self::ALL.into_iter().find(|language| language.name() == name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.map(Self::name)).unwrap_or_default();
            StopWordsError { name: name.into(), nearest }
        })
    }
}

/// No list has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no stop words for \"{name}\"; did you mean {nearest}?")]
pub struct StopWordsError {
    /// The name.
    pub name: String,
    /// The nearest valid name.
    pub nearest: &'static str,
}

/// The hashes of words in their normal form, ascending, without repeats.
fn hashes<'a>(words: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let mut hashes: Vec<u64> = words
        .map(normal_form)
        .filter(|word| !word.is_empty())
        .map(|word| mix(word.as_bytes()))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(words: &StopWords, word: &str) -> bool {
        words.contains(mix(word.as_bytes()))
    }

    #[test]
    fn every_language_has_words_and_reads_back() {
        for language in Language::ALL {
            let words: StopWords = language.name().parse().unwrap();
            assert!(words.len() > 40, "{}", language.name());
            assert_eq!(words.to_string(), language.name());
            let distinct: std::collections::HashSet<_> =
                language.list().split_whitespace().collect();
            assert_eq!(distinct.len(), language.list().split_whitespace().count(), "{language:?}");
            assert_eq!(distinct.len(), words.len(), "{language:?}");
        }
    }

    #[test]
    fn words_are_known_by_their_normal_form() {
        let own = StopWords::own("  Caf\u{c9}\r\n# comment\n\n\u{ff21}\n");
        assert_eq!(own.len(), 2);
        assert!(holds(&own, "caf\u{e9}") && holds(&own, "a") && !holds(&own, "comment"));
    }

    #[test]
    fn common_words_are_left_out_and_telling_ones_stay() {
        assert!(holds(&StopWords::COMMON, "the") && holds(&StopWords::COMMON, "\u{7684}"));
        assert!(!holds(&StopWords::COMMON, "volcano"));
        let (mut kept, tokens) = (Vec::new(), ["the", "volcano"].map(|word| mix(word.as_bytes())));
        assert_eq!(StopWords::COMMON.filter(&tokens, &mut kept), &tokens[1..]);
        assert_eq!(StopWords::NONE.filter(&tokens, &mut Vec::new()), &tokens);
    }
}
