//! The closeness of two items: distance, similarity and level.

use bytemuck::{Pod, Zeroable};

use crate::Level;

/// How close two items are. A figure that does not apply to their kind, or to these two items, is `None`.
///
/// ```
/// use lookalike::{Closeness, Level};
///
/// let equal = Closeness::similar(0, 1.0);
/// assert_eq!((equal.distance, equal.similarity, equal.level), (Some(0), Some(1.0), Some(Level::Copy)));
/// assert_eq!(Closeness::within(3).level, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Closeness {
    /// The number of bits in which their fingerprints differ; `None` if one item has no fingerprint, or
    /// if parts decided.
    pub distance: Option<u32>,
    /// The similarity of their contents, 0 to 1; `None` if contents were not compared.
    pub similarity: Option<f32>,
    /// The level; `None` below the loosest level, and for bare fingerprints.
    pub level: Option<Level>,
}

impl Closeness {
    /// The closeness of items that are known by their fingerprints alone.
    pub const fn within(distance: u32) -> Self {
        Self { distance: Some(distance), similarity: None, level: None }
    }

    /// The closeness of items whose contents were compared.
    pub fn similar(distance: impl Into<Option<u32>>, similarity: f32) -> Self {
        let level = Level::of(similarity);
        Self { distance: distance.into(), similarity: Some(similarity), level }
    }

    /// Whether this is closer than another one: a higher similarity, then a smaller distance.
    pub(crate) fn is_closer(&self, other: &Self) -> bool {
        let similarity = |close: &Self| close.similarity.unwrap_or(0.0);
        let distance = |close: &Self| close.distance.unwrap_or(u32::MAX);
        match similarity(self).total_cmp(&similarity(other)) {
            std::cmp::Ordering::Equal => distance(self) < distance(other),
            order => order.is_gt(),
        }
    }
}

/// A [`Closeness`] in 8 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PackedCloseness {
    /// [`NO_DISTANCE`] if there is none.
    distance: u16,
    /// The place in [`Level::ALL`] counted from 1; 0 if there is none.
    level: u16,
    /// NaN if there is none.
    similarity: f32,
}

/// More bits than any fingerprint has.
const NO_DISTANCE: u16 = u16::MAX;

impl From<Closeness> for PackedCloseness {
    fn from(closeness: Closeness) -> Self {
        let Closeness { distance, similarity, level } = closeness;
        let distance = distance.and_then(|bits| bits.try_into().ok()).unwrap_or(NO_DISTANCE);
        let place = |level| Level::ALL.iter().position(|one| *one == level);
        let level = level.and_then(place).map_or(0, |place| place as u16 + 1);
        Self { distance, level, similarity: similarity.unwrap_or(f32::NAN) }
    }
}

impl From<PackedCloseness> for Closeness {
    fn from(packed: PackedCloseness) -> Self {
        let PackedCloseness { distance, level, similarity } = packed;
        let level = usize::from(level).checked_sub(1).and_then(|place| Level::ALL.get(place));
        Self {
            distance: (distance != NO_DISTANCE).then_some(distance.into()),
            similarity: (!similarity.is_nan()).then_some(similarity),
            level: level.copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_everything() {
        let levels = Level::ALL.map(Some).into_iter().chain([None]);
        for level in levels {
            for (distance, similarity) in [(None, None), (Some(0), Some(0.25)), (Some(256), None)] {
                let closeness = Closeness { distance, similarity, level };
                assert_eq!(Closeness::from(PackedCloseness::from(closeness)), closeness);
            }
        }
    }
}
