//! Which items go, and which stay though they are alike? Asks items that were read, first at the level
//! at which items are removed, then at that at which pairs are listed.

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
    decide::group_pairs,
    originals::{Originals, Spared},
};
use crate::{
    args::{DedupArgs, Grouping},
    config::Work,
    host::Console,
    kinds::Chosen,
};

/// Groups at the level at which items are removed, and what else is known.
pub struct Grouped {
    pub groups: Groups,
    /// What was left out of them.
    pub spared: Spared,
    /// Items that stay, around a kept one that they are less alike; if that was asked for.
    pub looser: Option<Groups>,
    /// How many words are lost, where words are compared.
    pub lost: Option<LostWords>,
    /// All pairs, with `--against` those that cross over, if they were listed.
    pub pairs: Option<AlikePairs>,
    pub found: SearchStats,
    pub seconds: f64,
}

/// What was decided, and how.
struct Decided {
    /// All pairs that count, if they were listed.
    pairs: Option<AlikePairs>,
    groups: Groups,
    spared: Spared,
    found: SearchStats,
    seconds: f64,
}

/// What is asked of items.
pub struct Matching<'a> {
    pub chosen: &'a Chosen,
    pub digests: &'a Digests,
    /// When items are alike enough to be removed, and to be listed.
    pub acting: &'a Criteria,
    pub looking: &'a Criteria,
    /// How many items can go; the others follow.
    pub own: usize,
    pub preference: &'a Preference,
    /// Which images must stay.
    pub originals: Option<&'a Originals>,
    pub args: &'a DedupArgs,
    pub console: Console<'a>,
    pub work: &'a Work,
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl Matching<'_> {
    /// Decides, then looks further if that was asked for.
    pub fn run(&self) -> Result<Grouped> {
        let Decided { mut pairs, groups, spared, mut found, mut seconds } = self.decide()?;
        let is_removed = flags(self.digests.len() as usize, &groups);
        let lost = self.chosen.kind.lost_words(self.digests, &|item| is_removed[item as usize])?;
        let mut looser = None;
        if self.looks_further() {
            pairs = None;
            if self.args.pairs.is_some() || self.args.report.is_some() {
                let (groups, more) = self.look(&is_removed)?;
                (looser, seconds) = (Some(groups), seconds + more);
            }
        }
        if self.args.pairs.is_some() && pairs.is_none() {
            let (Pairs { pairs: all, found: how, .. }, more) =
                self.search(self.looking, |search| search.pairs(self.digests))?;
            // What is said of the run holds for the loosest list of it.
            (pairs, found, seconds) = (Some(self.that_count(all)?), how, seconds + more);
        }
        Ok(Grouped { groups, spared, looser, lost, pairs, found, seconds })
    }

    /// Whether pairs are listed that are less alike than items that are removed.
    fn looks_further(&self) -> bool {
        self.acting.is_narrower(self.looking)
    }

    /// With `--against`, the pairs that cross over.
    fn that_count(&self, pairs: AlikePairs) -> Result<AlikePairs> {
        Ok(if self.args.against.is_some() { pairs.crossing(self.own)? } else { pairs })
    }

    /// Who goes, and for whom; with the pairs, if they decide: chains of them, those of RAW files, and
    /// those that are listed anyway.
    fn decide(&self) -> Result<Decided> {
        let is_against = self.args.against.is_some();
        let (own, items) = (self.own as u32, self.digests.len());
        let order: Vec<u32> = match is_against {
            true => (own..items).chain(0..own).collect(),
            false => self.preference.order()?,
        };
        let by_pairs = self.args.group == Grouping::Connected
            || self.originals.is_some_and(Originals::have_raw)
            || self.args.pairs.is_some() && !self.looks_further();
        if by_pairs {
            let (Pairs { pairs, found, .. }, seconds) =
                self.search(self.acting, |search| search.pairs(self.digests))?;
            let pairs = self.that_count(pairs)?;
            let (groups, spared) = group_pairs(&order, &pairs, self.args.group, self.originals)?;
            return Ok(Decided { pairs: Some(pairs), groups, spared, found, seconds });
        }
        let (Stars { groups, found, .. }, seconds) =
            self.search(self.acting, |search| self.stars(search, &order))?;
        Ok(Decided { pairs: None, groups, spared: Spared::default(), found, seconds })
    }

    /// What stays beside a keeper that it is less alike.
    fn look(&self, is_removed: &[bool]) -> Result<(Groups, f64)> {
        let stays = |item: &u32| !is_removed[*item as usize];
        let order: Vec<u32> = match self.args.against {
            Some(_) => Vec::new(),
            None => self.preference.order()?.into_iter().filter(stays).collect(),
        };
        let (Stars { mut groups, .. }, seconds) =
            self.search(self.looking, |search| self.stars(search, &order))?;
        groups.iter_mut().for_each(|group| group.members.retain(|member| stays(&member.item)));
        groups.retain(|group| !group.members.is_empty());
        self.originals.iter().for_each(|originals| originals.spare(&mut groups));
        Ok((groups, seconds))
    }

    /// Groups around keepers, which are taken in `order`; with `--against`, around the others.
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
        let kind = &*self.chosen.kind;
        search(self.work, self.console, self.on_beat, |resources: &Resources<'_>| {
            run(&Search::new(kind, by, resources))
        })
    }
}

/// Which items go.
fn flags(items: usize, groups: &Groups) -> Vec<bool> {
    let mut flags = vec![false; items];
    let members = groups.iter().flat_map(|group| &group.members);
    members.for_each(|member| flags[member.item as usize] = true);
    flags
}
