//! `lookalike dedup`: what of all this can go, because something alike stays?

mod answer;
mod decide;
mod keep;
mod outputs;
mod page;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, ensure};
use arrow_array::RecordBatch;
use lookalike::{AlikePairs, How, TextPairs};
use serde_json::{Value, json};

use super::texts::{Searched, TextSource};
use crate::{
    args::{DedupArgs, Grouping, KeepRule, Kind},
    config::{Alike, Work},
    report::{Figure, Summary, counted, grouped, say},
    source::{Kept, Row, RowOptions, Rows, Skipped},
};
pub use answer::{Answer, Given, Id};
use decide::{Decision, Tally};
use keep::Preference;
use outputs::Outputs;
use page::Page;

pub fn run(args: DedupArgs) -> Result<ExitCode> {
    let done = Done::of(args, Given::default())?;
    done.tell();
    match done.allowed {
        Err(error) if done.args.output.is_some() => Err(error),
        Err(error) if !done.args.talk.quiet => {
            say(&format!("note: {error}"));
            Ok(ExitCode::SUCCESS)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Everything `dedup` does, but for what it says in the end.
struct Done {
    args: DedupArgs,
    outcome: Outcome,
    skipped: Skipped,
    /// What was written of the input, if it was asked for.
    kept: Option<Kept>,
    /// Whether anything was written at all.
    written: bool,
    /// Whether so many may be removed.
    allowed: Result<()>,
    /// The rows of the items, from 0, if a program handed them over.
    rows: Vec<u32>,
    seconds: f64,
}

impl Done {
    fn of(mut args: DedupArgs, given: Given<'_>) -> Result<Self> {
        let start = Instant::now();
        ensure!(args.kind != Some(Kind::Hash), "dedup reads texts; for fingerprints use pairs");
        ensure!(
            args.against.is_none() || args.group == Grouping::Star,
            "--against removes what is alike something in OTHER; chains have no part in it: leave \
             --group out"
        );
        let Given { rows: given_rows, against, on_beat } = given;
        let is_given = given_rows.is_some();
        let alike = Alike::new(&args.recipe, args.distance, &args.verify)?;
        let work = Work::new(std::mem::take(&mut args.work))?;
        let mut skipped = Skipped::unless(args.rows.strict);
        let mut rows = open(&args.inputs, given_rows, options(&args, &work), &mut skipped)?;
        let mut others = match &args.against {
            Some(path) => {
                let paths = std::slice::from_ref(path);
                Some(open(paths, against, options(&args, &work), &mut skipped)?)
            }
            None => None,
        };
        let mut outputs = Outputs::open(&args, &rows)?;
        let mut preference = Preference::new(args.keep.clone());
        let mut numbers = Vec::new();
        let source = TextSource {
            rows: &mut rows,
            others: others.as_mut(),
            skipped: &mut skipped,
            talk: args.talk,
            on_beat,
        };
        let mut on_row = |row: &Row<'_>| {
            if is_given {
                numbers.push(row.line().saturating_sub(1) as u32);
            }
            preference.note(row)
        };
        let found = work.on_threads(|| source.search(&alike, &work, &mut on_row))?;
        let outcome = work.on_threads(|| Outcome::new(found, &preference, &args))?;
        let allowed = outcome.decision.check(args.max_remove, &outcome.searched.ids);
        if allowed.is_err() {
            outputs.keep_all();
        }
        if let Some(page) = outputs.page.take() {
            let mut all: Vec<&mut Rows> = [&mut rows].into_iter().chain(others.as_mut()).collect();
            work.on_threads(|| {
                outcome.page(&args, &alike, &preference, &skipped).write(&mut all, page)
            })?;
        }
        let written = !outputs.are_none() || args.report.is_some();
        let Searched { ids, .. } = &outcome.searched;
        let kept =
            work.on_threads(|| outputs.write(&rows, &outcome.pairs, &outcome.decision, ids))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self { args, outcome, skipped, kept, written, allowed, rows: numbers, seconds })
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            items: self.outcome.searched.own as u64,
            skipped: &self.skipped,
            seconds: self.seconds,
            figures: self.outcome.figures(self.args.output.as_deref(), self.kept),
            plan: None,
        }
    }

    fn tell(&self) {
        let Self { args, written, .. } = self;
        self.summary().say_labelled(args.talk);
        if !args.talk.quiet && !args.dry_run && !written {
            say(
                "nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups",
            );
        }
    }
}

/// The rows of these files; or those a program handed over, under the name of the file.
fn open(
    paths: &[PathBuf],
    given: Option<Vec<RecordBatch>>,
    options: RowOptions,
    skipped: &mut Skipped,
) -> Result<Rows> {
    match given {
        None => Rows::open(paths, options, skipped),
        Some(rows) => {
            let name = paths.first().map_or_else(String::new, |path| path.display().to_string());
            Rows::in_memory(name, rows, options)
        }
    }
}

fn options(args: &DedupArgs, work: &Work) -> RowOptions {
    let key = match &args.keep {
        KeepRule::Field { name, .. } => Some(name.clone()),
        _ => None,
    };
    let again = !args.dry_run && (args.output.is_some() || args.report.is_some());
    RowOptions { key, again, temp: work.temp.clone(), ..RowOptions::from(&args.rows) }
}

/// All that is known once the search is done.
struct Outcome {
    searched: Searched,
    /// The pairs that decide: all, or with `--against` those that cross over.
    pairs: AlikePairs,
    /// How many pairs, by level.
    tally: Tally,
    decision: Decision,
}

impl Outcome {
    fn new(mut searched: Searched, preference: &Preference, args: &DedupArgs) -> Result<Self> {
        let own = searched.own;
        let pairs = std::mem::take(&mut searched.found.pairs);
        if args.against.is_none() {
            return Self::of(searched, pairs, &preference.order(), args);
        }
        let order = (own as u32..searched.items as u32).chain(0..own as u32);
        Self::of(searched, pairs.crossing(own)?, &order.collect::<Vec<_>>(), args)
    }

    fn of(searched: Searched, pairs: AlikePairs, order: &[u32], args: &DedupArgs) -> Result<Self> {
        let decision = Decision::new(searched.own, order, &pairs, args.group)?;
        Ok(Self { searched, tally: Tally::of_pairs(&pairs)?, pairs, decision })
    }

    fn page<'a>(
        &'a self,
        args: &DedupArgs,
        alike: &'a Alike,
        preference: &Preference,
        skipped: &Skipped,
    ) -> Page<'a> {
        let names: Vec<_> = args.inputs.iter().map(|path| path.display().to_string()).collect();
        let mut facts = vec![
            ("recipe".to_owned(), alike.recipe.to_string()),
            ("alike".to_owned(), alike.words()),
            ("found".to_owned(), how_words(&self.searched.found)),
            ("pairs".to_owned(), pairs_words(&self.tally)),
        ];
        if let Some(other) = &args.against {
            facts.insert(0, ("against".to_owned(), other.display().to_string()));
        }
        if skipped.total() > 0 {
            facts.push(("skipped".to_owned(), counted(skipped.total(), "item")));
        }
        let why = match args.against {
            Some(_) => "in the other set".to_owned(),
            None => preference.why(),
        };
        Page {
            title: names.join(", "),
            items: self.searched.own as u64,
            facts,
            why,
            alike,
            groups: &self.decision.groups,
            ids: &self.searched.ids,
        }
    }

    fn figures(&self, output: Option<&Path>, kept: Option<Kept>) -> Vec<Figure> {
        let Self { searched: Searched { found, own, .. }, tally, decision, .. } = self;
        let (items, removed) = (*own as u64, decision.tally.total);
        let (largest, least) = decision.extremes();
        let part = 100.0 * removed as f64 / items.max(1) as f64;
        let would = if kept.is_some() { "" } else { "would go: " };
        let labelled = |words: String, tally: &Tally| match tally.words() {
            levels if levels.is_empty() => words,
            levels => format!("{words}: {levels}"),
        };
        let removed_words =
            labelled(format!("{would}{} ({part:.1} %)", grouped(removed)), &decision.tally);
        let groups = decision.groups.len() as u64;
        let groups_words = match largest {
            0 => "none".to_owned(),
            _ => format!("{}, the largest of {}", grouped(groups), counted(largest, "item")),
        };
        let told = |name, value, words| Figure { name, value, words: Some(words) };
        let silent = |name, value| Figure { name, value, words: None };
        let others = kept.map_or(0, |kept| kept.others);
        let also = if others == 0 {
            String::new()
        } else {
            format!(" and {} that could not be read", counted(others, "record"))
        };
        let target = match (output, kept) {
            (Some(path), Some(_)) => format!(" to {}", path.display()),
            _ => String::new(),
        };
        vec![
            told("pairs", json!(tally.total), pairs_words(tally)),
            silent("pairs_by_level", by_level(tally)),
            told("groups", json!(groups), groups_words),
            silent("largest_group", json!(largest)),
            silent("least_similarity", json!(least)),
            told("removed", json!(removed), removed_words),
            silent("removed_by_level", by_level(&decision.tally)),
            told(
                "kept",
                json!(items - removed),
                format!("{}{also}{target}", grouped(items - removed)),
            ),
            silent("crowded", json!(found.crowded)),
            silent("short", json!(found.short)),
            silent("empty", json!(found.empty)),
            told("found", json!(found.plan), how_words(found)),
            silent("exact", json!(found.how == How::Exact)),
            silent("recall", recall(found)),
            silent("verified", json!(found.verified)),
            silent("spilled_bytes", json!(found.spilled)),
        ]
    }
}

fn pairs_words(tally: &Tally) -> String {
    match tally.words() {
        levels if levels.is_empty() => grouped(tally.total),
        levels => format!("{}: {levels}", grouped(tally.total)),
    }
}

fn how_words(found: &TextPairs) -> String {
    let mut words = match found.how {
        How::Exact => format!("exact, by {}", found.plan),
        How::Recall(recall) => {
            format!("{:.1} % of all, as expected of {}", 100.0 * recall, found.plan)
        }
    };
    if found.crowded > 0 {
        let texts = counted(found.crowded.into(), "text");
        words +=
            &format!("; {texts} in crowds too large to compare whole: more pairs may be missing");
    }
    if found.short > 0 {
        words += &format!(
            "; {} too short, compared by exact content",
            counted(found.short.into(), "text")
        );
    }
    if found.empty > 0 {
        words += &format!("; {} without words, alike nothing", counted(found.empty.into(), "text"));
    }
    words
}

fn recall(found: &TextPairs) -> Value {
    match found.how {
        How::Exact => json!(1.0),
        How::Recall(recall) => json!((recall * 1e4).round() / 1e4),
    }
}

fn by_level(tally: &Tally) -> Value {
    tally.levels().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}
