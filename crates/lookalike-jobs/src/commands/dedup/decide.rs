//! What goes, and for what? Turns alike pairs into groups, and counts them.

use anyhow::{Result, bail};
use lookalike::{
    Level,
    groups::{self, Group, Groups},
    search::AlikePairs,
};

use super::originals::{Originals, Spared};
use crate::{
    args::Grouping,
    report::{counted, grouped, id_text},
    source::Ids,
};

/// What goes, and for what.
pub struct Decision {
    pub groups: Groups,
    pub grouping: Grouping,
    /// By number, of those that could go.
    removed: Vec<bool>,
    pub tally: Tally,
    pub spared: Spared,
}

/// How many were removed, by how alike they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub total: u64,
    /// In the order of [`Level::ALL`], then those below all levels or not verified.
    levels: [u64; 5],
}

impl Decision {
    /// All members of groups go. Only the first `own` items can.
    pub fn new(own: usize, groups: Groups, grouping: Grouping, spared: Spared) -> Self {
        let mut removed = vec![false; own];
        for member in groups.iter().flat_map(|group| &group.members) {
            removed[member.item as usize] = true;
        }
        let tally = Tally::of_members(&groups);
        Self { groups, grouping, removed, tally, spared }
    }

    pub fn keeps(&self, item: u32) -> bool {
        !self.removed[item as usize]
    }

    /// Refuses to remove more than this part of the items. `shown`: a page can show them.
    pub fn check(&self, most: f64, ids: &Ids, shown: bool) -> Result<()> {
        let (items, removed) = (self.removed.len() as u64, self.tally.total);
        if removed as f64 <= most * items as f64 {
            return Ok(());
        }
        let blame = self.largest().map_or_else(String::new, |(_, group)| {
            let size = counted(group.members.len() as u64 + 1, "item");
            format!("; the largest group has {size}, kept is {}", id_text(ids.at(group.keep)))
        });
        let remedy = match shown {
            true => "Look at it with --report, then ask for more likeness (--level copy)",
            false => "Look at it with --groups, then ask for a smaller --distance",
        };
        bail!(
            "{} of {} would be removed, more than the part of {most} that --max-remove \
             allows{blame}; what is kept was not written. {remedy} or allow it (--max-remove 1)",
            grouped(removed),
            counted(items, "item"),
        )
    }

    /// The largest group, behind its position.
    pub fn largest(&self) -> Option<(usize, &Group)> {
        self.groups.iter().enumerate().max_by_key(|(_, group)| group.members.len())
    }

    /// The items of the largest group, and the least similarity of any member.
    pub fn extremes(&self) -> (u64, Option<f32>) {
        let sizes = self.groups.iter().map(|group| group.members.len() as u64 + 1);
        let members = self.groups.iter().flat_map(|group| &group.members);
        let least = members.filter_map(|member| member.closeness.similarity).min_by(f32::total_cmp);
        (sizes.max().unwrap_or(0), least)
    }
}

/// Groups by these pairs, and what was left out of them; items are kept in this order.
pub fn group_pairs(
    order: &[u32],
    pairs: &AlikePairs,
    grouping: Grouping,
    originals: Option<&Originals>,
) -> Result<(Groups, Spared)> {
    let groupable = originals.map(|originals| originals.groupable(pairs, order)).transpose()?;
    let (pairs, spared) = match &groupable {
        Some((groupable, spared)) => (groupable, *spared),
        None => (pairs, Spared::default()),
    };
    let mut groups = match grouping {
        Grouping::Star => groups::star(order.len(), order, pairs)?,
        Grouping::Connected => groups::connected(order.len(), order, pairs)?,
    };
    originals.iter().for_each(|originals| originals.spare(&mut groups));
    Ok((groups, spared))
}

impl Tally {
    pub fn add(&mut self, level: Option<Level>, count: u64) {
        let place =
            Level::ALL.iter().position(|&one| Some(one) == level).unwrap_or(Level::ALL.len());
        self.total += count;
        self.levels[place] += count;
    }

    /// All alike pairs, those of equal items included.
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

    /// Each level with its number; last, those below all of them.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Level::ALL.map(Level::name).into_iter().chain([REST]);
        names.zip(self.levels)
    }

    /// `3 copy, 12 near`; nothing if nothing has a level.
    pub fn words(&self) -> String {
        let named = self.levels().filter(|&(name, count)| count > 0 && name != REST);
        let named: Vec<_> =
            named.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
        named.join(", ")
    }
}

/// What is below all levels, or was not verified.
const REST: &str = "other";
