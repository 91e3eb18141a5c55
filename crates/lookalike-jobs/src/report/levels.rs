//! What are two items called that are so close?

use lookalike::{Level, Radius};

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
                let level = radii.iter().position(|radius| radius.contains(distance));
                // Farther apart than that, they were found by their parts.
                Some(level.map_or(Level::Part, |level| Level::WHOLE[level]))
            }
        }
    }

    /// The name of the level of two items; `None` if they are below all levels, or not verified.
    pub fn label(self, distance: u32, similarity: Option<f32>) -> Option<&'static str> {
        self.of(distance, similarity).map(Level::name)
    }
}
