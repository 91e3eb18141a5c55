//! How close must two items be?

use std::sync::Arc;

use crate::{Kernel, Level, Radius, Similarity, fragments::Background};

/// What a caller asked for. What is not said is up to the kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The loosest level that counts.
    pub level: Option<Level>,
    /// The least similarity that counts.
    pub similarity: Option<Similarity>,
    /// The widest distance that counts.
    pub distance: Option<Radius>,
    /// Which pairs must be found.
    pub reach: Reach,
    /// Forces the classic plan for fingerprints: this many blocks.
    pub blocks: Option<u32>,
    /// Whether turned and mirrored items count; as the kind was opened, if nothing is said.
    pub turned: Option<bool>,
    /// Whether items count that only share parts; as the kind was opened, if nothing is said.
    pub parts: Option<bool>,
}

/// What the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Just what was asked for.
    List,
    /// Removing items: unless something was asked for, only what is alike beyond doubt.
    Act,
    /// Looking at what was removed, and at what is less alike: every level there is.
    Look,
}

/// Which pairs a search must find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Reach {
    /// All, up to [`EXACT_ITEMS`] items with [`EXACT_FEATURES`] features; of more, at least
    /// [`USUAL_RECALL`] of those at the very threshold.
    #[default]
    Declared,
    /// All.
    Exact,
    /// At least this share of the pairs at the very threshold, and more of those above it: only items
    /// with a common key are compared. Containment has no keys, and is always exact.
    Recall(f64),
}

/// The most items that are searched exactly unless the caller says otherwise.
pub const EXACT_ITEMS: u64 = 1_000_000;
/// The most features, of all items together.
pub const EXACT_FEATURES: u64 = 150_000_000;
/// The recall at the threshold beyond that.
pub const USUAL_RECALL: f64 = 0.99;

/// When two items are alike: the thresholds of a kind, all of them said.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The least similarity of contents; not asked for if `None`.
    pub similarity: Option<Similarity>,
    /// The widest distance of fingerprints; not asked for if `None`.
    pub distance: Option<Radius>,
    /// Whether turned and mirrored items count.
    pub turned: bool,
    /// Whether items count that only share parts.
    pub parts: bool,
    /// Which pairs must be found.
    pub reach: Reach,
    /// Forces the classic plan for fingerprints.
    pub blocks: Option<u32>,
    /// Parts that say nothing about two items that share them.
    pub background: Arc<Background>,
    /// What two items are compared with. Changes no answer.
    pub kernel: Kernel,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            similarity: None,
            distance: None,
            turned: false,
            parts: false,
            reach: Reach::Declared,
            blocks: None,
            background: Arc::default(),
            kernel: Kernel::detect(),
        }
    }
}

impl Criteria {
    /// By these, any two items that can be compared at all are alike: what `compare` shows.
    #[must_use]
    pub fn everything(&self) -> Self {
        let similarity = self.similarity.map(|_| Similarity::ZERO);
        Self { similarity, distance: None, ..self.clone() }
    }

    /// Whether they ask for nothing: every pair is to be listed.
    pub fn is_everything(&self) -> bool {
        self.distance.is_none() && self.similarity.is_none_or(|least| least == Similarity::ZERO)
    }

    /// Whether fewer items are alike than by others of the same kind.
    pub fn is_narrower(&self, other: &Self) -> bool {
        let similarity = |by: &Self| by.similarity.map_or(0.0, Similarity::get);
        let distance = |by: &Self| by.distance.map_or(u32::MAX, Radius::bits);
        similarity(self) > similarity(other)
            || distance(self) < distance(other)
            || !self.parts && other.parts
    }
}

/// Why options make no sense. Front ends spell the option in their own way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}{message}")]
pub struct UsageError {
    /// The name of the option: `level`.
    pub option: &'static str,
    /// What is wrong, to be read behind the name of the option.
    pub message: String,
}

impl UsageError {
    /// Of an option, and what is to be read behind its name.
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        Self { option, message: message.into() }
    }
}
