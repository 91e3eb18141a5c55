//! What does a program get that asks, instead of a person? All that was decided, and nothing said.

use std::{borrow::Cow, ops::ControlFlow};

use anyhow::Result;
use arrow_array::RecordBatch;
use lookalike::{
    Search,
    groups::{Group, Groups},
    kind::Registry,
    search::AlikePairs,
};

use super::{DedupRun, Outcome};
use crate::{
    args::DedupArgs,
    config::Work,
    host::{Console, Host},
    report::id_text,
    source::{self, CustomDigester},
};

/// What a program hands over besides arguments, and hears while it waits.
pub struct Given<'a> {
    /// Rows instead of the input files, whose name they take.
    pub rows: Option<Vec<RecordBatch>>,
    /// Rows instead of the file of `--against`.
    pub against: Option<Vec<RecordBatch>>,
    /// Called now and then, from any thread. If it unwinds, so does the run: the way to stop it.
    pub on_beat: &'a (dyn Fn() + Sync),
    /// Makes items of texts in the recipe's stead.
    pub make: Option<CustomDigester<'a>>,
}

impl Default for Given<'_> {
    fn default() -> Self {
        Self { rows: None, against: None, on_beat: &|| {}, make: None }
    }
}

/// What `dedup` decided. Items go by number, in the order they were read: first those that could
/// go, then those of `--against`.
pub struct Answer {
    /// How many items could go.
    pub items: usize,
    /// What goes, and for what.
    pub groups: Groups,
    /// The rows of the items that could go, from 0, if rows were handed over: some rows are no items.
    pub rows: Vec<u32>,
    /// The closing summary, as one JSON object.
    pub summary: String,
    /// What was skipped, a line each.
    pub skipped: Vec<String>,
    /// Why what is kept was not, or would not be, written.
    pub refused: Option<anyhow::Error>,
    outcome: Outcome,
    is_against: bool,
    work: Work,
}

/// The name of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A number that the input gives, or of a line, from 1.
    Number(u64),
    /// A text that the input gives, or the name of a file.
    Text(String),
    /// A row without a name of its own, from 1.
    Row(u64),
}

impl Answer {
    /// Runs `dedup`.
    pub fn of(args: DedupArgs, given: Given<'_>, host: &Host, registry: &Registry) -> Result<Self> {
        let console = Console::new(host, args.messages);
        let done = DedupRun::of(args, given, console, registry)?;
        let summary = done.summary().json();
        let DedupRun { args, mut outcome, skipped, allowed, work, .. } = done;
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

    /// All alike pairs; with `--against`, those of an item and one of the others. If they were not
    /// listed, they are looked for now. `on_beat` is called now and then, and may unwind to stop it.
    pub fn pairs(&self, on_beat: &(dyn Fn() + Sync)) -> Result<Cow<'_, AlikePairs>> {
        let Outcome { pairs, chosen, looking, digests, .. } = &self.outcome;
        if let Some(pairs) = pairs {
            return Ok(Cow::Borrowed(pairs));
        }
        let watch = |_| {
            on_beat();
            ControlFlow::Continue(())
        };
        self.work.on_threads(|| {
            let resources = self.work.resources(&watch);
            let pairs = Search::new(&*chosen.kind, looking, &resources).pairs(digests)?.pairs;
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

    /// The items that stay, in order.
    pub fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        let mut removed = vec![false; self.items];
        for Group { members, .. } in &self.groups {
            members.iter().for_each(|member| removed[member.item as usize] = true);
        }
        (0..self.items as u32).filter(move |&item| !removed[item as usize])
    }
}
