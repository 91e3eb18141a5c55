//! The digest of a text.

use super::{
    super::{Digester, Input, Parts, Unfit},
    TextKind,
};
use crate::{
    Digest, Facts, Fingerprint,
    digest::{Identity, identity_of},
    extract::{Shingles, text::normal_form},
    hash::{FeatureHash, mix},
    recipe::Fingerprinter,
    verify::{FeatureSet, TWICE, short},
};

/// A text with fewer distinct features than this matches only equal content.
const MIN_FEATURES: usize = 2;

/// Makes digests; keeps its buffers from text to text.
pub(super) struct TextDigester<'a> {
    kind: &'a TextKind,
    tokens: Vec<u64>,
    fingerprinter: Fingerprinter<'a>,
}

impl Digester for TextDigester<'_> {
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        let digest = match input {
            Input::Text(text) => self.digest_text(text),
            Input::Tokens(tokens) => self.digest_cut(tokens),
            Input::Features(features) => self.digest_features(features),
            Input::Made(None, _) => Digest::default(),
            Input::Made(Some(print), parts) => self.digest_made(print, &parts),
            _ => return Err(Unfit { reason: "of another type", message: "not a text".to_owned() }),
        };
        Ok((digest, Facts::default()))
    }
}

impl<'a> TextDigester<'a> {
    pub fn new(kind: &'a TextKind) -> Self {
        Self { kind, tokens: Vec::new(), fingerprinter: kind.recipe.fingerprinter() }
    }

    fn digest_text(&mut self, text: &str) -> Digest {
        self.tokens_of(text);
        let print = self.print(text);
        match print.map(|print| self.digest_tokens(print)) {
            Some(digest) if is_full(&digest) => digest,
            _ => digest_content(text, print),
        }
    }

    /// The digest of a text that the caller split into tokens, which are its words.
    fn digest_cut(&mut self, tokens: &[&str]) -> Digest {
        self.tokens = tokens.iter().map(|token| mix(token.as_bytes())).collect();
        let print = self.fingerprinter.tokens(tokens.iter().copied());
        print.ok().flatten().map(|print| self.digest_tokens(print)).unwrap_or_default()
    }

    fn digest_features(&mut self, features: &[(String, f64)]) -> Digest {
        let weighted = features.iter().map(|(feature, weight)| (feature.as_str(), *weight));
        match self.fingerprinter.features(weighted) {
            Ok(Some(print)) => {
                self.digest_set(print, features.iter().map(|(feature, _)| mix(feature.as_bytes())))
            }
            _ => Digest::default(),
        }
    }

    fn digest_made(&mut self, print: Fingerprint<4>, parts: &Parts<'_>) -> Digest {
        match parts {
            Parts::Text(text) => {
                self.tokens_of(text);
                let digest = self.digest_tokens(print);
                if digest.key.is_some() { digest_content(text, Some(print)) } else { digest }
            }
            Parts::Tokens(tokens) => {
                self.tokens.clone_from(tokens);
                self.digest_tokens(print)
            }
            Parts::Features(hashes) => self.digest_set(print, hashes.iter().copied()),
        }
    }

    /// Hashes the tokens of a text that are compared, or if none are, those of the recipe.
    fn tokens_of(&mut self, text: &str) {
        self.features().unit.token_hashes(text, &mut self.tokens);
    }

    fn features(&self) -> Shingles {
        let TextKind { recipe, verify, .. } = self.kind;
        verify.map_or(recipe.features, |verify| verify.features)
    }

    /// The digest of the current tokens, of which runs are compared.
    fn digest_tokens(&mut self, print: Fingerprint<4>) -> Digest {
        let verify = self.kind.verify;
        if self.tokens.is_empty() {
            return Digest::default();
        }
        let set =
            verify.map_or_else(FeatureSet::default, |verify| verify.set_of_tokens(&self.tokens));
        let runs = set.features().iter().filter(|&feature| feature & TWICE == 0);
        let few = match verify {
            Some(_) => runs.take(MIN_FEATURES).count(),
            None => (self.tokens.len() + 1).saturating_sub(self.features().size.get() as usize),
        };
        if few < MIN_FEATURES {
            return short_digest(bytemuck::cast_slice(&self.tokens), Some(print));
        }
        full_digest(print, set)
    }

    /// The digest of given features. They have no order, so their set is compared whatever runs the
    /// recipe asks for.
    fn digest_set(&mut self, print: Fingerprint<4>, hashes: impl Iterator<Item = u64>) -> Digest {
        let set = FeatureSet::new(hashes.map(short).collect());
        if set.features().len() < MIN_FEATURES {
            return short_digest(bytemuck::cast_slice(set.features()), Some(print));
        }
        let is_compared = self.kind.verify.is_some();
        full_digest(print, if is_compared { set } else { FeatureSet::default() })
    }

    /// The fingerprint of the recipe, from the current tokens if it uses the same unit.
    fn print(&mut self, text: &str) -> Option<Fingerprint<4>> {
        let TextKind { recipe, verify, .. } = self.kind;
        let shared = verify.is_none_or(|verify| verify.features.unit == recipe.features.unit);
        if shared && recipe.hash == FeatureHash::Mix {
            self.fingerprinter.token_hashes(&self.tokens)
        } else {
            self.fingerprinter.text(text)
        }
    }
}

fn is_full(digest: &Digest) -> bool {
    !digest.is_empty() && digest.key.is_none()
}

fn full_digest(print: Fingerprint<4>, set: FeatureSet) -> Digest {
    Digest { set, ..Digest::of_print(print) }
}

/// The digest of a text with too few features, which matches only equal content.
fn short_digest(content: &[u8], print: Option<Fingerprint<4>>) -> Digest {
    let key: Identity = identity_of(blake3::Hasher::new().update(content));
    let prints = print.into_iter().collect();
    Digest { prints, key: Some(key), ..Digest::default() }
}

/// The digest of a text with too few features. It matches texts with the same sequence of words in
/// normal form, or nothing if it is blank. `C`, `C++` and `C#` differ.
fn digest_content(text: &str, print: Option<Fingerprint<4>>) -> Digest {
    let normal = normal_form(text);
    let words: Vec<&str> = normal.split_whitespace().collect();
    if words.is_empty() {
        return Digest::default();
    }
    short_digest(words.join(" ").as_bytes(), print)
}
