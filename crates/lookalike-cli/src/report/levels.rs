//! What are two items called that are so close?

use lookalike::{Level, Radius};

use crate::config::PART;

/// What decides how alike two items are called?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The similarity of their contents.
    Similarity,
    /// The distance of their fingerprints: the radii within which they are a copy, near, similar.
    Distance([Radius; 3]),
}

impl Levels {
    pub fn of(self, distance: u32, similarity: Option<f32>) -> Option<Level> {
        match self {
            Self::Similarity => similarity.and_then(Level::of),
            Self::Distance(radii) => {
                let level = radii.iter().position(|radius| radius.contains(distance))?;
                Some(Level::ALL[level])
            }
        }
    }

    /// The name of the level of two items; `None` if they are below all levels, or not verified.
    pub fn label(self, distance: u32, similarity: Option<f32>) -> Option<&'static str> {
        match (self, self.of(distance, similarity)) {
            (_, Some(level)) => Some(level.name()),
            (Self::Similarity, None) => None,
            (Self::Distance(_), None) => Some(PART),
        }
    }

    /// What items below all levels are called. Pictures as far apart as that were found by their
    /// parts.
    pub fn rest(self) -> &'static str {
        match self {
            Self::Similarity => "other",
            Self::Distance(_) => PART,
        }
    }
}
