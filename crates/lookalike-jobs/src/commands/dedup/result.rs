//! The result of `dedup` for a program: the decision, with nothing printed.

use std::{borrow::Cow, ops::ControlFlow};

use anyhow::Result;
use arrow_array::RecordBatch;
use lookalike::{Search, groups::Groups, kind::Registry, search::AlikePairs};

use super::{DedupRun, Outcome, decision::removed_flags};
use crate::{
    args::DedupArgs,
    config::Work,
    host::{Console, Host},
    report::id_text,
    source::{self, CustomDigester},
};

/// What a calling program passes besides arguments.
pub struct CallerOptions<'a> {
    /// Rows to read instead of the input files, whose name they take.
    pub rows: Option<Vec<RecordBatch>>,
    /// Rows to read instead of the file of `--against`.
    pub against: Option<Vec<RecordBatch>>,
    /// Called regularly, from any thread; may unwind to stop the run.
    pub on_progress: &'a (dyn Fn() + Sync),
    /// Replaces the features of the recipe.
    pub custom_digester: Option<CustomDigester<'a>>,
}

impl Default for CallerOptions<'_> {
    fn default() -> Self {
        Self { rows: None, against: None, on_progress: &|| {}, custom_digester: None }
    }
}

/// The result of `dedup`. Items are numbered in reading order: first those of the inputs, then
/// those of `--against`.
pub struct DedupResult {
    /// The number of items that may be removed.
    pub items: usize,
    /// The groups: kept items, and the items removed for them.
    pub groups: Groups,
    /// If rows were passed, the row of each item of the inputs, from 0: not every row is an item.
    pub rows: Vec<u32>,
    /// The closing summary, as one JSON object.
    pub summary: String,
    /// What was skipped, one line each.
    pub skipped: Vec<String>,
    /// Why the kept items were not, or would not be, written.
    pub refused: Option<anyhow::Error>,
    outcome: Outcome,
    is_against: bool,
    work: Work,
}

/// The name of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A number given by the input, or the number of a line, from 1.
    Number(u64),
    /// A text given by the input, or the path of a file.
    Text(String),
    /// The number of a row without an id, from 1.
    Row(u64),
}

impl DedupResult {
    /// Runs `dedup`.
    pub fn run(
        args: DedupArgs,
        caller: CallerOptions<'_>,
        host: &Host,
        registry: &Registry,
    ) -> Result<Self> {
        let console = Console::new(host, args.messages);
        let run = DedupRun::new(args, caller, console, registry)?;
        let summary = run.summary().json();
        let DedupRun { args, mut outcome, skipped, allowed, work, .. } = run;
        Ok(Self {
            items: outcome.own,
            groups: std::mem::take(&mut outcome.decision.groups),
            rows: std::mem::take(&mut outcome.rows),
            summary,
            skipped: skipped.lines().collect(),
            refused: allowed.err(),
            outcome,
            is_against: args.against.is_some(),
            work,
        })
    }

    /// All matching pairs; with `--against`, those of an item and one of the others. Searches for
    /// them if they were not listed. `on_progress` is called regularly, and may unwind to stop the
    /// search.
    pub fn pairs(&self, on_progress: &(dyn Fn() + Sync)) -> Result<Cow<'_, AlikePairs>> {
        let Outcome { pairs, selected, looking, digests, .. } = &self.outcome;
        if let Some(pairs) = pairs {
            return Ok(Cow::Borrowed(pairs));
        }
        let watch = |_| {
            on_progress();
            ControlFlow::Continue(())
        };
        self.work.on_threads(|| {
            let resources = self.work.resources(&watch);
            let pairs = Search::new(&*selected.kind, looking, &resources).pairs(digests)?.pairs;
            Ok(Cow::Owned(if self.is_against { pairs.crossing(self.items)? } else { pairs }))
        })
    }

    /// The name of an item.
    pub fn id(&self, item: u32) -> Id {
        match self.outcome.ids.at(item) {
            source::Id::Number(number) => Id::Number(number),
            source::Id::Given(text) | source::Id::OtherNumber(text) => Id::Text(text.to_owned()),
            source::Id::Line { number, .. } if !self.rows.is_empty() => Id::Row(number),
            line => Id::Text(id_text(line).into_owned()),
        }
    }

    /// The kept items, in order.
    pub fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        let removed = removed_flags(self.items, &self.groups);
        (0..self.items as u32).filter(move |&item| !removed[item as usize])
    }
}
