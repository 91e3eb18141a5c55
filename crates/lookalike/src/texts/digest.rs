//! What is kept of a text, once it is gone?

use xxhash_rust::xxh3::xxh3_64;

use super::{Item, Parts, TextSearch};
use crate::{
    Feature, FeatureHash, FeatureSet, Features, Fingerprint, Shingles,
    extract::text::normal_form,
    hash::{mix, splitmix64},
    recipe::Scratch,
    simhash,
    verify::{SECOND_BITS, TWICE, short},
};

/// What is kept of a text.
pub(super) enum Digest<const WORDS: usize> {
    /// Nothing is there, or no fingerprint was made of it: alike nothing.
    Empty,
    /// Too few features to be alike anything but its equals; a hash of its content.
    Short(u64),
    /// All that is asked of a text.
    Full(Full<WORDS>),
}

/// All that is asked of a text.
pub(super) struct Full<const WORDS: usize> {
    /// What decides who is a candidate.
    pub print: Fingerprint<WORDS>,
    /// What refuses most candidates: a fingerprint of the runs that are verified.
    pub second: Second,
    /// What is verified; nothing if nothing is.
    pub set: FeatureSet,
    /// The same for the same set.
    pub identity: u64,
}

/// The second fingerprint.
pub(super) type Second = Fingerprint<{ SECOND_BITS as usize / 64 }>;

/// A text with fewer different features than this is alike its equals only.
const FEWEST_FEATURES: usize = 2;

/// Makes digests; keeps its buffers from text to text.
pub(super) struct Digester<'a, const WORDS: usize> {
    search: &'a TextSearch<'a>,
    tokens: Vec<u64>,
    scratch: Scratch<WORDS>,
    features: Features<{ SECOND_BITS as usize / 64 }>,
}

impl<'a, const WORDS: usize> Digester<'a, WORDS> {
    pub fn new(search: &'a TextSearch<'a>) -> Self {
        Self { search, tokens: Vec::new(), scratch: Scratch::new(), features: Features::new() }
    }

    pub fn digest(&mut self, item: &Item<'_>) -> Digest<WORDS> {
        match item {
            Item::Text(text) => self.digest_text(text),
            Item::Features(features) => self.digest_features(features),
            Item::Made(None, _) => Digest::Empty,
            Item::Made(Some(print), parts) => self.digest_made(print.resize(), parts),
        }
    }

    fn digest_text(&mut self, text: &str) -> Digest<WORDS> {
        self.tokens_of(text);
        match self.print(text).map(|print| self.digest_tokens(print)) {
            Some(Digest::Full(full)) => Digest::Full(full),
            _ => digest_content(text),
        }
    }

    fn digest_features(&mut self, features: &[(String, f64)]) -> Digest<WORDS> {
        let weighted = features.iter().map(|(feature, weight)| (feature, *weight));
        match self.search.recipe.fingerprint_of_features(weighted) {
            Ok(Some(print)) => {
                self.digest_set(print, features.iter().map(|(feature, _)| mix(feature.as_bytes())))
            }
            _ => Digest::Empty,
        }
    }

    fn digest_made(&mut self, print: Fingerprint<WORDS>, parts: &Parts<'_>) -> Digest<WORDS> {
        match parts {
            Parts::Text(text) => {
                self.tokens_of(text);
                match self.digest_tokens(print) {
                    Digest::Short(_) => digest_content(text),
                    other => other,
                }
            }
            Parts::Tokens(tokens) => {
                self.tokens.clone_from(tokens);
                self.digest_tokens(print)
            }
            Parts::Features(hashes) => self.digest_set(print, hashes.iter().copied()),
        }
    }

    /// Takes the tokens of a text that are verified, or if nothing is, those of the recipe.
    fn tokens_of(&mut self, text: &str) {
        self.features().unit.token_hashes(text, &mut self.tokens);
    }

    fn features(&self) -> Shingles {
        let TextSearch { recipe, verify, .. } = self.search;
        verify.map_or(recipe.features, |verify| verify.features)
    }

    /// The tokens at hand, in order: runs of them are verified.
    fn digest_tokens(&mut self, print: Fingerprint<WORDS>) -> Digest<WORDS> {
        let verify = self.search.verify;
        if self.tokens.is_empty() {
            return Digest::Empty;
        }
        let set =
            verify.map_or_else(FeatureSet::default, |verify| verify.set_of_tokens(&self.tokens));
        let runs = set.features().iter().filter(|&feature| feature & TWICE == 0);
        let few = match verify {
            Some(_) => runs.take(FEWEST_FEATURES).count(),
            None => (self.tokens.len() + 1).saturating_sub(self.features().size.get() as usize),
        };
        if few < FEWEST_FEATURES {
            return Digest::Short(xxh3_64(bytemuck::cast_slice(&self.tokens)));
        }
        let identity = xxh3_64(bytemuck::cast_slice(set.features()));
        Digest::Full(Full { print, second: self.second(&set), set, identity })
    }

    /// Features that are given have no order: their set is verified, whatever runs the recipe asks for.
    fn digest_set(
        &mut self,
        print: Fingerprint<WORDS>,
        hashes: impl Iterator<Item = u64>,
    ) -> Digest<WORDS> {
        let distinct = FeatureSet::new(hashes.map(short).collect());
        let identity = xxh3_64(bytemuck::cast_slice(distinct.features()));
        if distinct.features().len() < FEWEST_FEATURES {
            return Digest::Short(identity);
        }
        let set = if self.search.verify.is_some() { distinct } else { FeatureSet::default() };
        Digest::Full(Full { print, second: self.second(&set), set, identity })
    }

    /// The fingerprint by the recipe; from the tokens at hand, if it is made of such.
    fn print(&mut self, text: &str) -> Option<Fingerprint<WORDS>> {
        let TextSearch { recipe, verify, .. } = self.search;
        let shared = verify.is_none_or(|verify| verify.features.unit == recipe.features.unit);
        if shared && recipe.hash == FeatureHash::Mix {
            recipe.fingerprint_of_tokens(&self.tokens, &mut self.scratch)
        } else {
            recipe.fingerprint_with(text, &mut self.scratch)
        }
    }

    /// The fingerprint of the runs of a set, each counting once.
    fn second(&mut self, set: &FeatureSet) -> Second {
        self.features.clear();
        let runs = set.features().iter().filter(|&feature| feature & TWICE == 0);
        self.features.extend(runs.map(|&run| Feature::new(mixed(run))));
        simhash(&self.features).unwrap_or_default()
    }
}

/// A text with too few features equals one of the same content, case and white space apart; if it is
/// blank, nothing. `C`, `C++` and `C#` are three.
fn digest_content<const WORDS: usize>(text: &str) -> Digest<WORDS> {
    let normal = normal_form(text);
    let words: Vec<&str> = normal.split_whitespace().collect();
    if words.is_empty() {
        return Digest::Empty;
    }
    Digest::Short(xxh3_64(words.join(" ").as_bytes()))
}

/// Every bit of a feature decides every bit of this.
fn mixed(feature: u32) -> u64 {
    splitmix64(u64::from(feature).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
