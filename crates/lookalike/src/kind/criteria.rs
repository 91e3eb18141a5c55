//! Criteria: how close two items must be to match.

use std::sync::Arc;

use crate::{Level, Radius, fragments::Background, hamming::Kernel, verify::Similarity};

/// What a caller asked for. The kind decides the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The loosest level of a match.
    pub level: Option<Level>,
    /// The least similarity of a match.
    pub similarity: Option<Similarity>,
    /// The largest distance of a match.
    pub distance: Option<Radius>,
    /// The share of pairs that must be found.
    pub reach: Reach,
    /// Forces the classic plan for fingerprints: this many blocks.
    pub blocks: Option<u32>,
    /// Whether turned and mirrored items count; `None` for the setting of the kind.
    pub turned: Option<bool>,
    /// Whether items match that only share parts; `None` for the setting of the kind.
    pub parts: Option<bool>,
}

/// The purpose of a search, which selects defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Listing exactly what was asked for.
    List,
    /// Removing items; the default threshold is careful.
    Act,
    /// Showing removed items and looser matches: every level.
    Look,
}

/// The share of pairs that a search must find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Reach {
    /// All pairs of up to [`EXACT_ITEMS`] items with [`EXACT_FEATURES`] features; with more, at least
    /// [`USUAL_RECALL`] of those exactly at the threshold.
    #[default]
    Declared,
    /// All pairs.
    Exact,
    /// At least this share of the pairs exactly at the threshold, and more of those above it: only
    /// items with a common key are compared. Containment has no keys and is always exact.
    Recall(f64),
}

/// The maximum number of items for an exact search by default.
pub const EXACT_ITEMS: u64 = 1_000_000;
/// The maximum number of features of all items together for an exact search by default.
pub const EXACT_FEATURES: u64 = 150_000_000;
/// The default recall at the threshold for larger inputs.
pub const USUAL_RECALL: f64 = 0.99;

/// When two items match: the complete thresholds of a kind.
///
/// ```
/// use lookalike::{Kind, Radius, Width, kind::{Asked, Purpose, hash::HashKind}};
///
/// let kind = HashKind::new(Width::Bits64);
/// let within = |bits| Asked { distance: Some(Radius::new(bits)), ..Asked::default() };
/// let criteria = kind.criteria(&within(4), Purpose::List)?;
/// assert_eq!(criteria.distance, Some(Radius::new(4)));
/// assert!(kind.criteria(&within(65), Purpose::List).is_err());
/// # Ok::<(), lookalike::kind::UsageError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The least similarity of contents; `None` for no such bound.
    pub similarity: Option<Similarity>,
    /// The largest distance of fingerprints; `None` for no such bound.
    pub distance: Option<Radius>,
    /// Whether turned and mirrored items count.
    pub turned: bool,
    /// Whether items match that only share parts.
    pub parts: bool,
    /// The share of pairs that must be found.
    pub reach: Reach,
    /// Forces the classic plan for fingerprints.
    pub blocks: Option<u32>,
    /// Parts that are no evidence that two items are related.
    pub background: Arc<Background>,
    /// The kernel of comparisons, which changes no result.
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
    /// Criteria by which any two items that can be compared match, as in `compare`.
    #[must_use]
    pub fn everything(&self) -> Self {
        let similarity = self.similarity.map(|_| Similarity::ZERO);
        Self { similarity, distance: None, ..self.clone() }
    }

    /// Whether there is no threshold, so every pair is listed.
    pub fn is_everything(&self) -> bool {
        self.distance.is_none() && self.similarity.is_none_or(|least| least == Similarity::ZERO)
    }

    /// Whether fewer items match than by other criteria of the same kind.
    pub fn is_narrower(&self, other: &Self) -> bool {
        let similarity = |by: &Self| by.similarity.map_or(0.0, Similarity::get);
        let distance = |by: &Self| by.distance.map_or(u32::MAX, Radius::bits);
        similarity(self) > similarity(other)
            || distance(self) < distance(other)
            || !self.parts && other.parts
    }
}

/// Why an option is invalid. Front ends spell the option in their own way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}{message}")]
pub struct UsageError {
    /// The name of the option: `level`.
    pub option: &'static str,
    /// The problem, as a continuation of the name of the option.
    pub message: String,
}

impl UsageError {
    /// An error about an option, with a message that follows its name.
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        Self { option, message: message.into() }
    }
}
