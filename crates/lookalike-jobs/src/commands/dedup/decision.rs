//! The decision: turns pairs into groups, and counts what is removed by level.

use anyhow::{Result, bail};
use lookalike::{
    Level,
    groups::{self, Group, Groups},
    search::AlikePairs,
};

use super::raw::{RawFiles, Spared};
use crate::{
    args::Grouping,
    report::{counted, grouped, id_text},
    source::Ids,
};

/// Which items are removed, and which are kept instead.
pub struct Decision {
    pub groups: Groups,
    pub grouping: Grouping,
    /// Whether each item of the inputs is removed.
    removed: Vec<bool>,
    pub tally: Tally,
    pub spared: Spared,
}

/// Counts of items or pairs by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub total: u64,
    /// In the order of [`Level::ALL`], then [`BELOW_LEVELS`].
    levels: [u64; 5],
}

impl Decision {
    /// Removes all members of groups, which are among the first `own` items.
    pub fn new(own: usize, groups: Groups, grouping: Grouping, spared: Spared) -> Self {
        let removed = removed_flags(own, &groups);
        let tally = Tally::of_members(&groups);
        Self { groups, grouping, removed, tally, spared }
    }

    pub fn keeps(&self, item: u32) -> bool {
        !self.removed[item as usize]
    }

    /// Fails if more than this fraction of the items would be removed. `has_report`: `--report` can
    /// show them.
    pub fn check(&self, max_fraction: f64, ids: &Ids, has_report: bool) -> Result<()> {
        let (items, removed) = (self.removed.len() as u64, self.tally.total);
        if removed as f64 <= max_fraction * items as f64 {
            return Ok(());
        }
        let largest = self.largest().map_or_else(String::new, |(_, group)| {
            let size = counted(group.members.len() as u64 + 1, "item");
            format!("; the largest group has {size} and keeps {}", id_text(ids.at(group.keep)))
        });
        let advice = match has_report {
            true => "Check with --report, then use a stricter level (--level copy)",
            false => "Check with --groups, then use a smaller --distance",
        };
        bail!(
            "{} of {} would be removed, more than --max-remove {max_fraction} allows{largest}; the \
             kept items were not written. {advice} or allow it (--max-remove 1)",
            grouped(removed),
            counted(items, "item"),
        )
    }

    /// The position of the largest group, and the group.
    pub fn largest(&self) -> Option<(usize, &Group)> {
        self.groups.iter().enumerate().max_by_key(|(_, group)| group.members.len())
    }

    /// The size of the largest group, and the least similarity of any member.
    pub fn extremes(&self) -> (u64, Option<f32>) {
        let sizes = self.groups.iter().map(|group| group.members.len() as u64 + 1);
        let members = self.groups.iter().flat_map(|group| &group.members);
        let least = members.filter_map(|member| member.closeness.similarity).min_by(f32::total_cmp);
        (sizes.max().unwrap_or(0), least)
    }
}

/// Whether each item is removed.
pub fn removed_flags(items: usize, groups: &Groups) -> Vec<bool> {
    let mut flags = vec![false; items];
    let members = groups.iter().flat_map(|group| &group.members);
    members.for_each(|member| flags[member.item as usize] = true);
    flags
}

/// Forms groups from these pairs, and counts the spared RAW files; items are kept in this order.
pub fn group_pairs(
    order: &[u32],
    pairs: &AlikePairs,
    grouping: Grouping,
    raw: Option<&RawFiles>,
) -> Result<(Groups, Spared)> {
    let groupable = raw.map(|raw| raw.groupable(pairs, order)).transpose()?;
    let (pairs, spared) = match &groupable {
        Some((groupable, spared)) => (groupable, *spared),
        None => (pairs, Spared::default()),
    };
    let mut groups = match grouping {
        Grouping::Star => groups::star(order.len(), order, pairs)?,
        Grouping::Connected => groups::connected(order.len(), order, pairs)?,
    };
    raw.iter().for_each(|raw| raw.spare(&mut groups));
    Ok((groups, spared))
}

impl Tally {
    pub fn add(&mut self, level: Option<Level>, count: u64) {
        let position =
            Level::ALL.iter().position(|&one| Some(one) == level).unwrap_or(Level::ALL.len());
        self.total += count;
        self.levels[position] += count;
    }

    /// All pairs, including those of equal items.
    pub fn of_pairs(pairs: &AlikePairs) -> Result<Self> {
        let mut tally = Self::default();
        let size = |first: u32| pairs.equals(&first).len() as u64;
        for pair in pairs.near() {
            let pair = pair?;
            tally.add(pair.closeness.level, size(pair.a) * size(pair.b));
        }
        for group in pairs.equal_groups() {
            let items = group.len() as u64;
            tally.add(pairs.equal_closeness().level, items * (items - 1) / 2);
        }
        Ok(tally)
    }

    /// All members of groups.
    pub fn of_members(groups: &Groups) -> Self {
        let mut tally = Self::default();
        for member in groups.iter().flat_map(|group| &group.members) {
            tally.add(member.closeness.level, 1);
        }
        tally
    }

    /// Each level with its count; those below all levels come last.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Level::ALL.map(Level::name).into_iter().chain([BELOW_LEVELS]);
        names.zip(self.levels)
    }

    /// `3 copy, 12 near`; empty if nothing has a level.
    pub fn words(&self) -> String {
        let named = self.levels().filter(|&(name, count)| count > 0 && name != BELOW_LEVELS);
        let named: Vec<_> =
            named.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
        named.join(", ")
    }
}

/// Below all levels, or not verified.
const BELOW_LEVELS: &str = "other";
