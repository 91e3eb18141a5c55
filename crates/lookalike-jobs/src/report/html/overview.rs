//! Counts how many items would be removed at each threshold, over all groups, shown or not.
//!
//! [`Overview`] sees only numbers, no ids or texts.

use serde_json::{Value, json};

/// What decides whether items match, with its threshold. Levels name ranges of the scale.
#[derive(Clone, Debug)]
pub enum Scale {
    /// A similarity from 0 to 1 of at least this threshold.
    Similarity { threshold: f32, levels: Vec<Level> },
    /// A distance of at most this radius in bits.
    Distance { radius: u32, levels: Vec<Reach> },
}

/// A level of distances up to `within`.
#[derive(Clone, Debug)]
pub struct Reach {
    pub name: &'static str,
    pub within: u32,
}

/// A level of similarities starting at `from`.
#[derive(Clone, Debug)]
pub struct Level {
    pub name: &'static str,
    pub from: f32,
}

/// How close an item is to its keeper, or in a chain to a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Closeness {
    pub distance: u32,
    /// `None` if not measured; then it counts as just meeting the threshold.
    pub similarity: Option<f32>,
}

/// The figures of all groups.
#[derive(Clone, Debug)]
pub struct Overview {
    scale: Scale,
    /// The selectable thresholds, from that of the run to the strictest. Similarities in
    /// [`PARTS`], distances in bits.
    steps: Vec<u32>,
    /// For each step, the number of items removed at this threshold but not at the next.
    removed: Vec<u64>,
    /// For each step, the number of groups whose closest member is such an item.
    groups: Vec<u64>,
    /// For each group, the number of members without the keeper.
    sizes: Vec<u32>,
    /// For each group, the number of kept items that match its keeper less closely.
    looser: Vec<u32>,
}

/// Similarities are counted in ten-thousandths, the precision of the page.
const PARTS: u32 = 10_000;
/// The slider moves by hundredths.
const SLIDER: u32 = PARTS / 100;

impl Scale {
    /// The position of a closeness on this scale; `None` if not measured.
    fn position(&self, closeness: Closeness) -> Option<u32> {
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

    /// Adds the next group: the closeness of each member, and the number of kept items that match
    /// the keeper less closely. A group may have only these.
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

    /// The strictest threshold that this closeness meets.
    fn step(&self, closeness: Closeness) -> usize {
        let Some(position) = self.scale.position(closeness) else { return 0 };
        let met = match self.scale {
            Scale::Similarity { .. } => self.steps.partition_point(|&step| step <= position),
            Scale::Distance { .. } => self.steps.partition_point(|&step| step >= position),
        };
        met.saturating_sub(1)
    }

    /// For each group, the number of members without the keeper.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// For each group, the number of kept items that match its keeper less closely.
    pub fn looser(&self) -> &[u32] {
        &self.looser
    }

    /// The number of groups from which an item is removed.
    pub fn groups(&self) -> u64 {
        self.groups.iter().sum()
    }

    /// The number of removed items.
    pub fn removed(&self) -> u64 {
        self.removed.iter().sum()
    }

    /// A closeness in the page's units.
    pub fn value(&self, closeness: Closeness) -> Option<f64> {
        self.scale.position(closeness).map(|position| self.shown(position))
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

    fn shown(&self, position: u32) -> f64 {
        match self.scale {
            Scale::Similarity { .. } => f64::from(position) / f64::from(PARTS),
            Scale::Distance { .. } => f64::from(position),
        }
    }
}

/// Rounds down, so that no similarity reaches a higher level. The added hundredth of a part corrects
/// for `f32`: 0.38 as an `f32` is slightly below 0.38.
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
    fn first_step_is_the_exact_threshold() {
        let scale = Scale::Similarity { threshold: 0.985, levels: vec![] };
        assert_eq!(scale.steps(), [9850, 9900, 10_000]);
        let scale = Scale::Similarity { threshold: 0.98, levels: vec![] };
        assert_eq!(scale.steps(), [9800, 9900, 10_000]);
        let scale = Scale::Similarity { threshold: 1.0, levels: vec![] };
        assert_eq!(scale.steps(), [10_000]);
    }

    #[test]
    fn every_value_meets_its_own_threshold() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.38, levels: vec![] });
        for hundredth in 38..=100u8 {
            overview.add([similar(f32::from(hundredth) / 100.0)], 0);
        }
        assert_eq!(overview.removed, [1; 63]);
        assert_eq!(overview.groups, [1; 63]);
    }

    #[test]
    fn group_counts_until_its_closest_member_fails() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.97, levels: vec![] });
        overview.add([similar(0.975), similar(0.9999), similar(1.0)], 0);
        overview.add([similar(0.97), far(3)], 0);
        assert_eq!(overview.removed, [3, 0, 1, 1]);
        assert_eq!(overview.groups, [1, 0, 0, 1]);
        assert_eq!((overview.sizes(), overview.removed()), (&[3, 2][..], 5));
    }

    #[test]
    fn smaller_distances_are_stricter() {
        let mut overview = Overview::new(Scale::Distance { radius: 3, levels: vec![] });
        overview.add([far(3), far(0)], 0);
        overview.add([far(2), far(2), far(9)], 0);
        assert_eq!(overview.steps, [3, 2, 1, 0]);
        assert_eq!(overview.removed, [2, 2, 0, 1]);
        assert_eq!(overview.groups, [0, 1, 0, 1]);
    }

    #[test]
    fn rounding_never_reaches_a_higher_level() {
        let overview = Overview::new(Scale::Similarity { threshold: 0.38, levels: vec![] });
        let value = |similarity| overview.value(similar(similarity));
        assert_eq!(value(0.38), Some(0.38));
        assert_eq!(value(0.799_99), Some(0.7999));
        assert_eq!((value(f32::NAN), value(7.0), value(-1.0)), (Some(0.0), Some(1.0), Some(0.0)));
        assert_eq!(overview.value(far(1)), None);
    }
}
