//! What is kept of a text, once it is gone?

use super::{Item, Parts, TextSearch};
use crate::{
    FeatureHash, FeatureSet, Fingerprint, Shingles,
    extract::text::normal_form,
    hash::mix,
    recipe::Scratch,
    verify::{TWICE, short},
};

/// What is kept of a text.
pub(super) enum Digest<const WORDS: usize> {
    /// Nothing is there, or no fingerprint was made of it: alike nothing.
    Empty,
    /// Too few features to be alike anything but the same content.
    Short { content: Identity, print: Option<Fingerprint<WORDS>> },
    /// All that is asked of a text.
    Full(Full<WORDS>),
}

/// All that is asked of a text.
pub(super) struct Full<const WORDS: usize> {
    pub print: Fingerprint<WORDS>,
    /// What is verified; nothing if nothing is.
    pub set: FeatureSet,
    /// The same for the same fingerprint and the same set.
    pub identity: Identity,
}

/// 128 bits of BLAKE3: nobody can make two different things that have the same.
pub(super) type Identity = [u8; 16];

fn identity(bytes: &[&[u8]]) -> Identity {
    let mut hasher = blake3::Hasher::new();
    bytes.iter().for_each(|bytes| {
        hasher.update(bytes);
    });
    let mut identity = Identity::default();
    identity.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    identity
}

impl<const WORDS: usize> Full<WORDS> {
    fn new(print: Fingerprint<WORDS>, set: FeatureSet) -> Self {
        let bits = bytemuck::cast_slice(&print.0);
        let identity = identity(&[bits, bytemuck::cast_slice(set.features())]);
        Self { print, set, identity }
    }
}

impl<const WORDS: usize> Digest<WORDS> {
    /// The fingerprint of anything that can be alike something, if it has one.
    pub fn print(&self) -> Option<Option<Fingerprint<WORDS>>> {
        match self {
            Self::Empty => None,
            Self::Short { print, .. } => Some(*print),
            Self::Full(full) => Some(Some(full.print)),
        }
    }

    pub fn content(&self) -> Option<Identity> {
        match self {
            Self::Short { content, .. } => Some(*content),
            Self::Empty | Self::Full(_) => None,
        }
    }
}

/// A text with fewer different features than this is alike the same content only.
const MIN_FEATURES: usize = 2;

/// Makes digests; keeps its buffers from text to text.
pub(super) struct Digester<'a, const WORDS: usize> {
    search: &'a TextSearch,
    tokens: Vec<u64>,
    scratch: Scratch<WORDS>,
}

impl<'a, const WORDS: usize> Digester<'a, WORDS> {
    pub fn new(search: &'a TextSearch) -> Self {
        Self { search, tokens: Vec::new(), scratch: Scratch::new() }
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
        let print = self.print(text);
        match print.map(|print| self.digest_tokens(print)) {
            Some(Digest::Full(full)) => Digest::Full(full),
            _ => digest_content(text, print),
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
                    Digest::Short { .. } => digest_content(text, Some(print)),
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
        let TextSearch { recipe, likeness, .. } = self.search;
        likeness.verify.map_or(recipe.features, |verify| verify.features)
    }

    /// The tokens at hand, in order: runs of them are verified.
    fn digest_tokens(&mut self, print: Fingerprint<WORDS>) -> Digest<WORDS> {
        let verify = self.search.likeness.verify;
        if self.tokens.is_empty() {
            return Digest::Empty;
        }
        let set =
            verify.map_or_else(FeatureSet::default, |verify| verify.set_of_tokens(&self.tokens));
        let runs = set.features().iter().filter(|&feature| feature & TWICE == 0);
        let few = match verify {
            Some(_) => runs.take(MIN_FEATURES).count(),
            None => (self.tokens.len() + 1).saturating_sub(self.features().size.get() as usize),
        };
        if few < MIN_FEATURES {
            let content = identity(&[bytemuck::cast_slice(&self.tokens)]);
            return Digest::Short { content, print: Some(print) };
        }
        Digest::Full(Full::new(print, set))
    }

    /// Features that are given have no order: their set is verified, whatever runs the recipe asks for.
    fn digest_set(
        &mut self,
        print: Fingerprint<WORDS>,
        hashes: impl Iterator<Item = u64>,
    ) -> Digest<WORDS> {
        let set = FeatureSet::new(hashes.map(short).collect());
        if set.features().len() < MIN_FEATURES {
            let content = identity(&[bytemuck::cast_slice(set.features())]);
            return Digest::Short { content, print: Some(print) };
        }
        let is_verified = self.search.likeness.verify.is_some();
        Digest::Full(Full::new(print, if is_verified { set } else { FeatureSet::default() }))
    }

    /// The fingerprint by the recipe; from the tokens at hand, if it is made of such.
    fn print(&mut self, text: &str) -> Option<Fingerprint<WORDS>> {
        let TextSearch { recipe, likeness, .. } = self.search;
        let shared =
            likeness.verify.is_none_or(|verify| verify.features.unit == recipe.features.unit);
        if shared && recipe.hash == FeatureHash::Mix {
            recipe.fingerprint_of_tokens(&self.tokens, &mut self.scratch)
        } else {
            recipe.fingerprint_with(text, &mut self.scratch)
        }
    }
}

/// A text with too few features equals one with the same sequence of words, in normal form; if it is
/// blank, nothing. `C`, `C++` and `C#` are three.
fn digest_content<const WORDS: usize>(
    text: &str,
    print: Option<Fingerprint<WORDS>>,
) -> Digest<WORDS> {
    let normal = normal_form(text);
    let words: Vec<&str> = normal.split_whitespace().collect();
    if words.is_empty() {
        return Digest::Empty;
    }
    Digest::Short { content: identity(&[words.join(" ").as_bytes()]), print }
}
