//! Searches for the groups of a run: at the level at which items are removed, then, if requested,
//! at the level at which pairs are listed.

use anyhow::Result;
use lookalike::{
    Criteria, Pairs, Resources, Search,
    digest::Digests,
    groups::Groups,
    kind::LostWords,
    pairs::PairsError,
    search::{AlikePairs, SearchStats, Stars},
};

use super::{
    super::search,
    Preference,
    decision::{group_pairs, removed_flags},
    raw::{RawFiles, Spared},
};
use crate::{
    args::{DedupArgs, Grouping},
    config::Work,
    host::Console,
    kinds::SelectedKind,
};

/// The groups at the level at which items are removed, and what else was found.
pub struct GroupSearchResult {
    pub groups: Groups,
    /// RAW files left out of groups.
    pub spared: Spared,
    /// If requested, the items that stay although they match a kept one less closely.
    pub looser: Option<Groups>,
    /// How many words are lost, where words are compared.
    pub lost: Option<LostWords>,
    /// The pairs, if listed; with `--against`, those of an item and one of the others.
    pub pairs: Option<AlikePairs>,
    pub stats: SearchStats,
    pub seconds: f64,
}

/// The groups at the level at which items are removed.
struct ActingGroups {
    /// The pairs that formed them, if listed.
    pairs: Option<AlikePairs>,
    groups: Groups,
    spared: Spared,
    stats: SearchStats,
    seconds: f64,
}

/// The search of one run.
pub struct GroupSearch<'a> {
    pub selected: &'a SelectedKind,
    pub digests: &'a Digests,
    /// When items match closely enough to be removed, and to be listed.
    pub acting: &'a Criteria,
    pub looking: &'a Criteria,
    /// The number of items that may be removed; those of `--against` follow.
    pub own: usize,
    pub preference: &'a Preference,
    pub raw: Option<&'a RawFiles>,
    pub args: &'a DedupArgs,
    pub console: Console<'a>,
    pub work: &'a Work,
    pub on_progress: &'a (dyn Fn() + Sync),
}

impl GroupSearch<'_> {
    /// Forms the groups, then searches more loosely if requested.
    pub fn run(&self) -> Result<GroupSearchResult> {
        let ActingGroups { mut pairs, groups, spared, mut stats, mut seconds } =
            self.acting_groups()?;
        let is_removed = removed_flags(self.digests.len() as usize, &groups);
        let lost =
            self.selected.kind.lost_words(self.digests, &|item| is_removed[item as usize])?;
        let mut looser = None;
        if self.lists_looser() {
            pairs = None;
            if self.args.pairs.is_some() || self.args.report.is_some() {
                let (groups, more) = self.looser_groups(&is_removed)?;
                (looser, seconds) = (Some(groups), seconds + more);
            }
        }
        if self.args.pairs.is_some() && pairs.is_none() {
            let (Pairs { pairs: all, found, .. }, more) =
                self.search(self.looking, |search| search.pairs(self.digests))?;
            // The summary describes the loosest list of the run.
            (pairs, stats, seconds) = (Some(self.relevant(all)?), found, seconds + more);
        }
        Ok(GroupSearchResult { groups, spared, looser, lost, pairs, stats, seconds })
    }

    /// Whether pairs are listed that match less closely than removed items.
    fn lists_looser(&self) -> bool {
        self.acting.is_narrower(self.looking)
    }

    /// With `--against`, only the pairs of an item and one of the others.
    fn relevant(&self, pairs: AlikePairs) -> Result<AlikePairs> {
        Ok(if self.args.against.is_some() { pairs.crossing(self.own)? } else { pairs })
    }

    /// Forms groups from pairs where pairs are needed (chains, RAW files, `--pairs`), otherwise by
    /// comparing items with kept ones only.
    fn acting_groups(&self) -> Result<ActingGroups> {
        let is_against = self.args.against.is_some();
        let (own, items) = (self.own as u32, self.digests.len());
        let order: Vec<u32> = match is_against {
            true => (own..items).chain(0..own).collect(),
            false => self.preference.order()?,
        };
        let by_pairs = self.args.group == Grouping::Connected
            || self.raw.is_some_and(RawFiles::have_raw)
            || self.args.pairs.is_some() && !self.lists_looser();
        if by_pairs {
            let (Pairs { pairs, found: stats, .. }, seconds) =
                self.search(self.acting, |search| search.pairs(self.digests))?;
            let pairs = self.relevant(pairs)?;
            let (groups, spared) = group_pairs(&order, &pairs, self.args.group, self.raw)?;
            return Ok(ActingGroups { pairs: Some(pairs), groups, spared, stats, seconds });
        }
        let (Stars { groups, found: stats, .. }, seconds) =
            self.search(self.acting, |search| self.stars(search, &order))?;
        Ok(ActingGroups { pairs: None, groups, spared: Spared::default(), stats, seconds })
    }

    /// The items that stay although they match a kept one less closely.
    fn looser_groups(&self, is_removed: &[bool]) -> Result<(Groups, f64)> {
        let stays = |item: &u32| !is_removed[*item as usize];
        let order: Vec<u32> = match self.args.against {
            Some(_) => Vec::new(),
            None => self.preference.order()?.into_iter().filter(stays).collect(),
        };
        let (Stars { mut groups, .. }, seconds) =
            self.search(self.looking, |search| self.stars(search, &order))?;
        groups.iter_mut().for_each(|group| group.members.retain(|member| stays(&member.item)));
        groups.retain(|group| !group.members.is_empty());
        self.raw.iter().for_each(|raw| raw.spare(&mut groups));
        Ok((groups, seconds))
    }

    /// Groups around kept items, taken in `order`; with `--against`, around the others.
    fn stars(&self, search: &Search<'_>, order: &[u32]) -> Result<Stars, PairsError> {
        match self.args.against {
            Some(_) => search.against(self.digests, self.own),
            None => search.stars(self.digests, order),
        }
    }

    fn search<T>(
        &self,
        by: &Criteria,
        run: impl FnOnce(&Search<'_>) -> Result<T, PairsError>,
    ) -> Result<(T, f64)> {
        let kind = &*self.selected.kind;
        search(self.work, self.console, self.on_progress, |resources: &Resources<'_>| {
            run(&Search::new(kind, by, resources))
        })
    }
}
