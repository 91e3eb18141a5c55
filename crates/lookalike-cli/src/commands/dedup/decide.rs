//! What goes, and for what? Turns alike pairs into groups, and counts them.

use anyhow::{Result, bail};
use lookalike::{
    AlikePair, AlikePairs, Level, Radius,
    groups::{self, Groups, Member},
};

use crate::{
    args::Grouping,
    report::{counted, grouped, id_text},
    source::Ids,
};

/// What goes, and for what.
pub struct Decision {
    pub groups: Groups,
    /// By number, of those that could go.
    removed: Vec<bool>,
    pub tally: Tally,
}

/// What decides how alike two items are called?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The similarity of their contents.
    Similarity,
    /// The distance of their fingerprints: within so many bits they are a copy, near, similar.
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

    /// The name of the level of a member.
    pub fn name(self, member: &Member) -> &'static str {
        match (self.of(member.distance, member.similarity), member.similarity) {
            (Some(level), _) => level.name(),
            (None, None) if self == Self::Similarity => "unverified",
            (None, _) => "other",
        }
    }
}

/// How many were removed, by how alike they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub total: u64,
    /// In the order of [`Level::ALL`], then those below all levels or not verified.
    levels: [u64; 4],
}

impl Decision {
    /// Of each group of alike items, one stays: the first of them in `order`. Only the first `own`
    /// items can go.
    pub fn new(
        own: usize,
        order: &[u32],
        pairs: &AlikePairs,
        grouping: Grouping,
        levels: Levels,
    ) -> Self {
        let groups = match grouping {
            Grouping::Star => groups::star(order.len(), order, pairs),
            Grouping::Connected => groups::connected(order.len(), order, pairs),
        };
        let mut removed = vec![false; own];
        let mut tally = Tally::default();
        for member in groups.iter().flat_map(|group| &group.members) {
            removed[member.item as usize] = true;
            tally.add(levels.of(member.distance, member.similarity), 1);
        }
        Self { groups, removed, tally }
    }

    pub fn keeps(&self, item: u32) -> bool {
        !self.removed[item as usize]
    }

    /// Refuses to remove more than this part of the items.
    pub fn check(&self, most: f64, ids: &Ids) -> Result<()> {
        let (items, removed) = (self.removed.len() as u64, self.tally.total);
        if removed as f64 <= most * items as f64 {
            return Ok(());
        }
        let largest = self.groups.iter().max_by_key(|group| group.members.len());
        let blame = largest.map_or_else(String::new, |group| {
            let size = counted(group.members.len() as u64 + 1, "item");
            format!("; the largest group has {size}, kept is {}", id_text(ids.at(group.keep)))
        });
        bail!(
            "{} of {} would be removed, more than the part of {most} that --max-remove \
             allows{blame}; what is kept was not written. Look at it with --report, then ask for \
             more likeness (--level copy) or allow it (--max-remove 1)",
            grouped(removed),
            counted(items, "item"),
        )
    }

    /// The items of the largest group, and the least similarity of any member.
    pub fn extremes(&self) -> (u64, Option<f32>) {
        let sizes = self.groups.iter().map(|group| group.members.len() as u64 + 1);
        let members = self.groups.iter().flat_map(|group| &group.members);
        let least = members.filter_map(|member| member.similarity).min_by(f32::total_cmp);
        (sizes.max().unwrap_or(0), least)
    }
}

/// The pairs of one of the first `own` items and a later one.
///
/// Equal later items are alike the same: the first of them speaks for all, so that a thousand copies
/// here and a thousand there do not make a million pairs.
pub fn crossing(own: usize, pairs: &AlikePairs) -> AlikePairs {
    let is_own = |item: &u32| (*item as usize) < own;
    let groups: Vec<&[u32]> = pairs.equal_groups().collect();
    let equals = |first: u32| {
        let group = groups.binary_search_by_key(&first, |group| group[0]);
        group.map_or_else(|_| vec![first], |group| groups[group].to_vec())
    };
    let cross = |ones: &[u32], others: &[u32], like: AlikePair, found: &mut Vec<AlikePair>| {
        if let Some(&b) = others.iter().find(|item| !is_own(item)) {
            let ones = ones.iter().copied().filter(is_own);
            found.extend(ones.map(|a| AlikePair { a, b, ..like }));
        }
    };
    let mut found = Vec::new();
    for group in &groups {
        let equal = AlikePair { a: 0, b: 0, distance: 0, similarity: pairs.equal_similarity() };
        cross(group, group, equal, &mut found);
    }
    for &pair in pairs.near() {
        let [ones, others] = [equals(pair.a), equals(pair.b)];
        cross(&ones, &others, pair, &mut found);
        cross(&others, &ones, pair, &mut found);
    }
    AlikePairs::from_pairs(found)
}

impl Tally {
    pub fn add(&mut self, level: Option<Level>, count: u64) {
        let place = Level::ALL.iter().position(|&one| Some(one) == level).unwrap_or(3);
        self.total += count;
        self.levels[place] += count;
    }

    /// All alike pairs, those of equal items included.
    pub fn of_pairs(pairs: &AlikePairs, levels: Levels) -> Self {
        let mut tally = Self::default();
        let groups: Vec<&[u32]> = pairs.equal_groups().collect();
        let size = |first: u32| {
            let group = groups.binary_search_by_key(&first, |group| group[0]);
            group.map_or(1, |group| groups[group].len() as u64)
        };
        for pair in pairs.near() {
            let level = levels.of(pair.distance, pair.similarity);
            tally.add(level, size(pair.a) * size(pair.b));
        }
        for group in &groups {
            let items = group.len() as u64;
            tally.add(levels.of(0, pairs.equal_similarity()), items * (items - 1) / 2);
        }
        tally
    }

    /// Each level that has any, with its number.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Level::ALL.map(Level::name).into_iter().chain(["other"]);
        names.zip(self.levels)
    }

    /// `3 copy, 12 near`; nothing if nothing has a level.
    pub fn words(&self) -> String {
        let named = self.levels().take(Level::ALL.len()).filter(|&(_, count)| count > 0);
        let named: Vec<_> =
            named.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
        named.join(", ")
    }
}
