//! Which fingerprints are near each other? The part that `dedup` and `pairs` share: reading and
//! searching.

use std::ops::ControlFlow;

use anyhow::Result;
use lookalike::{AlikePairs, Width};

use crate::{
    args::TalkArgs,
    config::{Search, Work},
    report::Progress,
    source::{Fingerprints, Ids, Skipped},
};

/// What was found among fingerprints, and what they are called.
pub struct SearchedPrints {
    pub pairs: AlikePairs,
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
    /// Reads everything and finds what is near.
    pub fn search(self, search: &Search, work: &Work) -> Result<SearchedPrints> {
        match search.width {
            Width::Bits32 | Width::Bits64 => self.find::<1>(search, work),
            Width::Bits128 => self.find::<2>(search, work),
            Width::Bits256 => self.find::<4>(search, work),
        }
    }

    fn find<const WORDS: usize>(self, search: &Search, work: &Work) -> Result<SearchedPrints> {
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
        let (own, mut items) = (ids.len() as usize, ids.len() as usize);
        if let Some(others) = self.others {
            let more = self.skipped.of_others(|skipped| read(others, skipped))?;
            items += more.len() as usize;
            ids = ids.followed_by(more);
        }
        let found = collector.finish()?;
        progress.clear();
        let (plan, spilled) = (found.plan().to_string(), found.spilled());
        Ok(SearchedPrints { pairs: AlikePairs::from(&found), plan, spilled, ids, own, items })
    }
}
