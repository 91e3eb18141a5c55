//! The registry of kinds, and how each is opened.

use std::sync::Arc;

#[cfg(feature = "collection")]
use super::RecipeText;
use super::{Kind, UsageError, hash::HashKind, text::TextKind, vector::VectorKind};
use crate::{
    Width, extract::Shingles, hash::FeatureHash, model::Model, recipe::Weighting,
    spelling::nearest, stop_words::StopWords, verify::Measure,
};

/// How a caller wants digests to be made. The kind decides the rest.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The preset to start from.
    pub recipe: Option<String>,
    /// The features of a text.
    pub features: Option<Shingles>,
    /// Tokens that are left out.
    pub stop_words: Option<StopWords>,
    /// The weight of a feature.
    pub weights: Option<Weighting>,
    /// How rare features are in other items.
    pub model: Option<Arc<Model>>,
    /// The maximum number of features that count; 0 for all.
    pub top: Option<u32>,
    /// The hash of a feature.
    pub hash: Option<FeatureHash>,
    /// The seed of the hash.
    pub seed: Option<u64>,
    /// The width of a fingerprint.
    pub bits: Option<Width>,
    /// The number of dimensions of a vector.
    pub dimensions: Option<u32>,
    /// The measure of similarity.
    pub measure: Option<Measure>,
    /// Whether contents are compared, or only fingerprints.
    pub verify: Option<bool>,
    /// Whether turned and mirrored items count.
    pub orientations: bool,
    /// Whether items match that share parts.
    pub partial: bool,
}

/// What the inputs of a kind are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Rows of tables, lines, or files of text.
    Records,
    /// Files, each of them one item.
    Files,
    /// Fingerprints.
    Prints,
    /// Rows of tables or arrays, each of them a vector.
    Vectors,
}

/// Everything that front ends know about a kind.
#[derive(Clone, Copy)]
pub struct Registration {
    /// The name of the kind, such as `text`.
    pub name: &'static str,
    /// The name of its items, such as `texts`.
    pub items: &'static str,
    /// The inputs it reads.
    pub reads: Reads,
    /// The options that apply to it.
    pub options: &'static [&'static str],
    /// The default rule for which item of a group is kept.
    pub keep: &'static str,
    /// Opens the kind.
    pub open: fn(&Settings) -> Result<Box<dyn Kind>, UsageError>,
    /// Opens the kind from its stored form; `None` if that is invalid.
    #[cfg(feature = "collection")]
    pub reopen: fn(&RecipeText) -> Option<Arc<dyn Kind>>,
}

/// The registered kinds.
///
/// ```
/// use lookalike::kind::Registry;
///
/// let registry = Registry::default();
/// assert_eq!(registry.named("text")?.items, "texts");
/// assert!(registry.named("txet").is_err());
/// # Ok::<(), lookalike::kind::UsageError>(())
/// ```
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
            VectorKind::REGISTRATION,
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

    /// The kind with this name; the error suggests the nearest name.
    pub fn named(&self, name: &str) -> Result<&Registration, UsageError> {
        self.kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = self.kinds.iter().map(|kind| kind.name).collect();
            let near = nearest(name, names.iter().copied()).unwrap_or_default();
            let message = format!(" {name}: did you mean {near}? Kinds: {}", names.join(", "));
            UsageError::new("kind", message)
        })
    }

    /// The kind of a collection; `None` if it is not registered or from a later version.
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
