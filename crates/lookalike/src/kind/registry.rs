//! Which kinds are there, and how is each opened?

use std::sync::Arc;

#[cfg(feature = "collection")]
use super::RecipeText;
use super::{Kind, UsageError, hash::HashKind, text::TextKind};
use crate::{
    FeatureHash, Measure, Model, Shingles, StopWords, Weighting, Width, spelling::nearest,
};

/// How a caller wants items to be taken apart. What is not said is up to the kind.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The preset to start from.
    pub recipe: Option<String>,
    /// What a text is made of.
    pub features: Option<Shingles>,
    /// Tokens that are left out.
    pub stop_words: Option<StopWords>,
    /// How much a feature counts.
    pub weights: Option<Weighting>,
    /// How rare features are elsewhere.
    pub model: Option<Arc<Model>>,
    /// How many features count, at most; 0 for all.
    pub top: Option<u32>,
    /// How a feature becomes bits.
    pub hash: Option<FeatureHash>,
    /// The seed of the hash.
    pub seed: Option<u64>,
    /// Bits of a fingerprint.
    pub bits: Option<Width>,
    /// How contents are compared.
    pub measure: Option<Measure>,
    /// Whether contents are compared at all, or fingerprints alone.
    pub verify: Option<bool>,
    /// Whether turned and mirrored items count.
    pub orientations: bool,
    /// Whether items that share parts count.
    pub partial: bool,
}

/// What an input of a kind is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Rows of tables, lines, or files of text.
    Records,
    /// Files, each of them one item.
    Files,
    /// Fingerprints.
    Prints,
}

/// All that front ends know of a kind.
#[derive(Clone, Copy)]
pub struct Registration {
    /// What it is called: `text`.
    pub name: &'static str,
    /// What its items are called: `texts`.
    pub items: &'static str,
    /// What its inputs are.
    pub reads: Reads,
    /// The options that mean something to it.
    pub options: &'static [&'static str],
    /// Which item of a group is kept, unless the caller says otherwise.
    pub keep: &'static str,
    /// Opens it.
    pub open: fn(&Settings) -> Result<Box<dyn Kind>, UsageError>,
    /// Opens it again from what a collection keeps of it; `None` if it makes nothing of that.
    #[cfg(feature = "collection")]
    pub reopen: fn(&RecipeText) -> Option<Arc<dyn Kind>>,
}

/// The kinds there are.
#[derive(Clone)]
pub struct Registry {
    kinds: Vec<Registration>,
}

impl Default for Registry {
    fn default() -> Self {
        let kinds = vec![
            TextKind::REGISTRATION,
            #[cfg(feature = "image")]
            super::image::ImageKind::REGISTRATION,
            HashKind::REGISTRATION,
        ];
        Self { kinds }
    }
}

impl Registry {
    /// Adds a kind.
    pub fn register(&mut self, kind: Registration) {
        self.kinds.push(kind);
    }

    /// The kind of that name.
    pub fn named(&self, name: &str) -> Result<&Registration, UsageError> {
        self.kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = self.kinds.iter().map(|kind| kind.name).collect();
            let near = nearest(name, names.iter().copied()).unwrap_or_default();
            let message = format!(" {name}: did you mean {near}? Kinds: {}", names.join(", "));
            UsageError::new("kind", message)
        })
    }

    /// The kind that a collection is of; `None` if it is not registered, or of a later time.
    #[cfg(feature = "collection")]
    pub fn reopen(&self, text: &RecipeText) -> Option<Arc<dyn Kind>> {
        let kind = self.kinds.iter().find(|kind| kind.name == text.kind)?;
        (kind.reopen)(text)
    }

    /// Every kind.
    pub fn iter(&self) -> impl Iterator<Item = &Registration> {
        self.kinds.iter()
    }
}
