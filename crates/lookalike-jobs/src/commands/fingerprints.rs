//! Which fingerprints are near each other? The part that `dedup` and `pairs` share: reading and
//! searching.

use std::ops::ControlFlow;

use anyhow::Result;
use lookalike::{AlikePairs, AllPairs, Fingerprint, Radius, Resources, Width, groups::Groups};

use super::FindPairs;
use crate::{
    args::TalkArgs,
    config::{Search, UNWATCHED, Work},
    report::{Progress, tell_notes},
    source::{Fingerprints, Ids, Skipped},
};

/// What was found among fingerprints, and what they are called.
pub struct SearchedPrints {
    pub matches: PrintMatches,
    /// How they were found.
    pub plan: String,
    /// The bytes that did not fit into memory.
    pub spilled: u64,
    pub ids: Ids,
    /// How many of them are of the inputs; the others follow.
    pub own: usize,
    /// How many there are.
    pub items: usize,
}

/// What was found: what was asked for, or all pairs.
pub enum PrintMatches {
    Pairs(AlikePairs),
    Groups(Groups, FindPairs),
}

impl PrintMatches {
    /// All pairs, whatever was asked for.
    pub fn into_pairs(self) -> Result<AlikePairs> {
        match self {
            Self::Pairs(pairs) => Ok(pairs),
            Self::Groups(_, find) => Ok(find(&Resources::new())?),
        }
    }
}

/// What is asked for.
pub enum Wanted<'a> {
    /// All pairs.
    Pairs,
    /// Groups around keepers, of so many items in this order.
    Stars(&'a mut (dyn FnMut(usize) -> Result<Vec<u32>> + Send)),
    /// Groups around the others.
    Against,
}

/// A search over fingerprints, and over others of the same width if there are any.
pub struct PrintSource<'a> {
    pub prints: &'a mut Fingerprints,
    pub others: Option<&'a mut Fingerprints>,
    pub skipped: &'a mut Skipped,
    pub talk: TalkArgs,
    /// Called now and then, from any thread; may unwind to stop the run.
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl PrintSource<'_> {
    /// Reads everything and finds what is near. Pairs are found instead of groups if the input does
    /// not fit into memory, or if their plan is forced.
    pub fn search(
        self,
        search: &Search,
        work: &Work,
        wanted: Wanted<'_>,
    ) -> Result<SearchedPrints> {
        match search.width {
            Width::Bits32 | Width::Bits64 => self.find::<1>(search, work, wanted),
            Width::Bits128 => self.find::<2>(search, work, wanted),
            Width::Bits256 => self.find::<4>(search, work, wanted),
        }
    }

    fn find<const WORDS: usize>(
        self,
        search: &Search,
        work: &Work,
        wanted: Wanted<'_>,
    ) -> Result<SearchedPrints> {
        let progress = Progress::new(self.talk.quiet);
        let on_progress = |part| {
            (self.on_beat)();
            progress.searched(part);
            ControlFlow::Continue(())
        };
        let mut collector = search.all_pairs(work, &on_progress).collector::<WORDS>();
        let mut read = |prints: &mut Fingerprints, skipped: &mut Skipped| {
            prints.read::<WORDS>(skipped, &mut |piece| {
                (self.on_beat)();
                progress.read(piece.len());
                Ok(collector.push(piece)?)
            })
        };
        let mut ids = read(self.prints, self.skipped)?;
        tell_notes(self.talk, ids.repeated_note().iter());
        let (own, mut items) = (ids.len() as usize, ids.len() as usize);
        if let Some(others) = self.others {
            let more = self.skipped.of_others(|skipped| read(others, skipped))?;
            items += more.len() as usize;
            ids = ids.followed_by(more);
        }
        let wanted = if search.is_planned() { Wanted::Pairs } else { wanted };
        let prints = match wanted {
            Wanted::Pairs => None,
            Wanted::Stars(_) | Wanted::Against => collector.take_prints(),
        };
        let (matches, plan, spilled) = match prints {
            None => {
                let found = collector.finish()?;
                let matches = PrintMatches::Pairs(AlikePairs::from(&found));
                (matches, found.plan().to_string(), found.spilled())
            }
            Some(prints) => {
                let pairs = search.all_pairs(work, &on_progress);
                let groups = match wanted {
                    Wanted::Stars(order) => pairs.stars(&prints, &order(own)?)?,
                    _ => pairs.against(&prints, own)?,
                };
                let plan = search.all_pairs(work, UNWATCHED).plan(&prints)?.to_string();
                (PrintMatches::Groups(groups, find_pairs(prints, search.radius)), plan, 0)
            }
        };
        progress.clear();
        Ok(SearchedPrints { matches, plan, spilled, ids, own, items })
    }
}

fn find_pairs<const WORDS: usize>(prints: Vec<Fingerprint<WORDS>>, radius: Radius) -> FindPairs {
    Box::new(move |resources| {
        let found = AllPairs::new(radius).resources(resources.clone()).run(&prints)?;
        Ok(AlikePairs::from(&found))
    })
}
