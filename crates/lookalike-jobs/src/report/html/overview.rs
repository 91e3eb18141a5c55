//! How many items would go at which threshold? Counted over all groups, shown or not.
//!
//! [`Overview`] sees numbers only: no ids, no texts.

use serde_json::{Value, json};

/// By what items were found alike, and how alike they had to be.
#[derive(Clone, Debug)]
pub enum Scale {
    /// Verified: at least this similar, from 0 to 1. Levels name the stretches of the scale.
    Similarity { threshold: f32, levels: Vec<Level> },
    /// Not verified: at most this many bits apart. Levels name the stretches of the scale.
    Distance { radius: u32, levels: Vec<Reach> },
}

/// A name for distances up to this one, from the level before.
#[derive(Clone, Debug)]
pub struct Reach {
    pub name: &'static str,
    pub within: u32,
}

/// A name for similarities from here up to the next level.
#[derive(Clone, Debug)]
pub struct Level {
    pub name: &'static str,
    pub from: f32,
}

/// How near an item is to the one that was kept, or in a chain to a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Closeness {
    pub distance: u32,
    /// `None` if it was not measured: then it counts as just alike enough.
    pub similarity: Option<f32>,
}

/// The figures of all groups: how many there are, how large, how close.
#[derive(Clone, Debug)]
pub struct Overview {
    scale: Scale,
    /// The thresholds one can choose, from the one used to the strictest. Similarities in
    /// [`PARTS`], distances in bits.
    steps: Vec<u32>,
    /// For each step, the removed items that go at this threshold but not at the next.
    removed: Vec<u64>,
    /// For each step, the groups whose closest member does.
    groups: Vec<u64>,
    /// For each group, its members without the keeper.
    sizes: Vec<u32>,
    /// For each group, the items that stay beside the keeper, which they are less alike.
    looser: Vec<u32>,
}

/// Similarities are counted in ten-thousandths: as fine as they are shown.
const PARTS: u32 = 10_000;
/// The slider moves by hundredths.
const SLIDER: u32 = PARTS / 100;

impl Scale {
    /// A closeness as this scale has it; `None` stays unmeasured.
    fn place(&self, closeness: Closeness) -> Option<u32> {
        match self {
            Self::Similarity { .. } => closeness.similarity.map(parts),
            Self::Distance { .. } => Some(closeness.distance),
        }
    }

    fn steps(&self) -> Vec<u32> {
        match *self {
            Self::Similarity { threshold, .. } => {
                let first = parts(threshold);
                let rest = (0..=PARTS).step_by(SLIDER as usize).filter(|&step| step > first);
                [first].into_iter().chain(rest).collect()
            }
            Self::Distance { radius, .. } => (0..=radius).rev().collect(),
        }
    }
}

impl Overview {
    pub fn new(scale: Scale) -> Self {
        let steps = scale.steps();
        let zeros = vec![0; steps.len()];
        Self {
            scale,
            removed: zeros.clone(),
            groups: zeros,
            steps,
            sizes: Vec::new(),
            looser: vec![],
        }
    }

    /// Counts the next group: how near each member is to its keeper, and how many items stay that
    /// are less alike it. There may be nothing but these.
    pub fn add(&mut self, members: impl IntoIterator<Item = Closeness>, looser: usize) {
        let (mut size, mut best) = (0, 0);
        for member in members {
            let step = self.step(member);
            self.removed[step] += 1;
            best = best.max(step);
            size += 1;
        }
        self.groups[best] += u64::from(size > 0);
        self.sizes.push(size);
        self.looser.push(looser as u32);
    }

    /// The strictest threshold that this closeness still meets.
    fn step(&self, closeness: Closeness) -> usize {
        let Some(place) = self.scale.place(closeness) else { return 0 };
        let met = match self.scale {
            Scale::Similarity { .. } => self.steps.partition_point(|&step| step <= place),
            Scale::Distance { .. } => self.steps.partition_point(|&step| step >= place),
        };
        met.saturating_sub(1)
    }

    /// For each group in turn, its members without the keeper.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// For each group in turn, the items that stay beside its keeper, which they are less alike.
    pub fn looser(&self) -> &[u32] {
        &self.looser
    }

    /// How many groups lose an item.
    pub fn groups(&self) -> u64 {
        self.groups.iter().sum()
    }

    /// All members of all groups: what goes.
    pub fn removed(&self) -> u64 {
        self.removed.iter().sum()
    }

    /// A closeness as the page reads it.
    pub fn value(&self, closeness: Closeness) -> Option<f64> {
        self.scale.place(closeness).map(|place| self.shown(place))
    }

    pub fn json(&self) -> Value {
        let scale = match &self.scale {
            Scale::Similarity { levels, .. } => {
                let level = |level: &Level| json!({"name": level.name, "from": self.shown(parts(level.from))});
                json!({"kind": "similarity", "levels": levels.iter().map(level).collect::<Value>()})
            }
            Scale::Distance { levels, .. } => {
                let level = |level: &Reach| json!({"name": level.name, "within": level.within});
                json!({"kind": "distance", "levels": levels.iter().map(level).collect::<Value>()})
            }
        };
        json!({
            "scale": scale,
            "steps": self.steps.iter().map(|&step| self.shown(step)).collect::<Value>(),
            "removedAt": self.removed,
            "groupsAt": self.groups,
        })
    }

    fn shown(&self, place: u32) -> f64 {
        match self.scale {
            Scale::Similarity { .. } => f64::from(place) / f64::from(PARTS),
            Scale::Distance { .. } => f64::from(place),
        }
    }
}

/// Rounded down, so that nothing reaches a level it does not have; but 0.38 as an `f32` lies a
/// little below 0.38, and must not lose a part for it.
fn parts(similarity: f32) -> u32 {
    (f64::from(similarity).clamp(0.0, 1.0) * f64::from(PARTS) + 0.01) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(similarity: f32) -> Closeness {
        Closeness { distance: 0, similarity: Some(similarity) }
    }

    fn far(distance: u32) -> Closeness {
        Closeness { distance, similarity: None }
    }

    #[test]
    fn a_threshold_between_hundredths_is_the_first_step() {
        let scale = Scale::Similarity { threshold: 0.985, levels: vec![] };
        assert_eq!(scale.steps(), [9850, 9900, 10_000]);
        let scale = Scale::Similarity { threshold: 0.98, levels: vec![] };
        assert_eq!(scale.steps(), [9800, 9900, 10_000]);
        let scale = Scale::Similarity { threshold: 1.0, levels: vec![] };
        assert_eq!(scale.steps(), [10_000]);
    }

    #[test]
    fn every_threshold_is_met_by_its_own_value() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.38, levels: vec![] });
        for hundredth in 38..=100u8 {
            overview.add([similar(f32::from(hundredth) / 100.0)], 0);
        }
        assert_eq!(overview.removed, [1; 63]);
        assert_eq!(overview.groups, [1; 63]);
    }

    #[test]
    fn groups_stay_as_long_as_their_closest_member() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.97, levels: vec![] });
        overview.add([similar(0.975), similar(0.9999), similar(1.0)], 0);
        overview.add([similar(0.97), far(3)], 0);
        assert_eq!(overview.removed, [3, 0, 1, 1]);
        assert_eq!(overview.groups, [1, 0, 0, 1]);
        assert_eq!((overview.sizes(), overview.removed()), (&[3, 2][..], 5));
    }

    #[test]
    fn distances_are_stricter_the_smaller_they_are() {
        let mut overview = Overview::new(Scale::Distance { radius: 3, levels: vec![] });
        overview.add([far(3), far(0)], 0);
        overview.add([far(2), far(2), far(9)], 0);
        assert_eq!(overview.steps, [3, 2, 1, 0]);
        assert_eq!(overview.removed, [2, 2, 0, 1]);
        assert_eq!(overview.groups, [0, 1, 0, 1]);
    }

    #[test]
    fn no_similarity_reaches_a_level_it_does_not_have() {
        let overview = Overview::new(Scale::Similarity { threshold: 0.38, levels: vec![] });
        let value = |similarity| overview.value(similar(similarity));
        assert_eq!(value(0.38), Some(0.38));
        assert_eq!(value(0.799_99), Some(0.7999));
        assert_eq!((value(f32::NAN), value(7.0), value(-1.0)), (Some(0.0), Some(1.0), Some(0.0)));
        assert_eq!(overview.value(far(1)), None);
    }
}
