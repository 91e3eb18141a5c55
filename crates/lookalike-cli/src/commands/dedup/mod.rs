//! `lookalike dedup`: what of all this can go, because something alike stays?

mod decide;
mod keep;
mod outputs;
mod page;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Result, ensure};
use lookalike::{AlikePairs, How, TextPairs};
use serde_json::{Value, json};

use super::{
    pictures::{self, PictureSource, SearchedPictures},
    texts::{Searched, TextSource},
};
use crate::{
    args::{DedupArgs, Grouping, KeepRule, Kind},
    config::{Alike, PicturesAlike, Work},
    report::{Figure, Summary, counted, grouped, html::Scale, say},
    source::{
        Ids, Kept, KeptOutput, PictureItem, Pictures, RowOptions, Rows, Skipped, are_pictures,
    },
};
use decide::{Decision, Levels, Tally, crossing};
use keep::Preference;
use outputs::Outputs;
use page::Page;

pub fn run(mut args: DedupArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let guess = || if are_pictures(&args.inputs) { Kind::Image } else { Kind::Text };
    let kind = args.kind.unwrap_or_else(guess);
    ensure!(kind != Kind::Hash, "dedup reads texts and pictures; for fingerprints use pairs");
    ensure!(
        args.against.is_none() || args.group == Grouping::Star,
        "--against removes what is alike something in OTHER; chains have no part in it: leave \
         --group out"
    );
    let work = Work::new(std::mem::take(&mut args.work))?;
    match kind {
        Kind::Image => pictures(args, &work, start),
        _ => texts(args, &work, start),
    }
}

fn texts(args: DedupArgs, work: &Work, start: Instant) -> Result<ExitCode> {
    let alike = Alike::new(&args.recipe, args.distance, &args.verify)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let mut rows = Rows::open(&args.inputs, options(&args), &mut skipped)?;
    let mut others = other(&args)
        .map(|path| Rows::open(std::slice::from_ref(path), options(&args), &mut skipped))
        .transpose()?;
    let outputs = Outputs::open(&args, |output| rows.open_kept(output))?;
    let mut preference = Preference::new(args.keep.clone());
    let source = TextSource {
        rows: &mut rows,
        others: others.as_mut(),
        skipped: &mut skipped,
        talk: args.talk,
    };
    let Searched { found, ids, own, items } =
        work.on_threads(|| source.search(&alike, work, &mut |row| preference.note(row)))?;
    let told = Told {
        recipe: alike.recipe.to_string(),
        alike: alike.words(),
        how: how_words(&found),
        figures: text_figures(&found),
        levels: Levels::Similarity,
        scale: page::scale(&alike),
    };
    let results = Results { pairs: found.pairs, ids, own, items, told };
    let outcome = Outcome::new(results, &preference, &args);
    let run = Run { args: &args, work, preference: &preference, skipped: &skipped, start };
    run.finish(&outcome, outputs, Source::Texts { rows, others })
}

fn pictures(args: DedupArgs, work: &Work, start: Instant) -> Result<ExitCode> {
    let alike = PicturesAlike::new(&args.recipe, args.distance, &args.verify, args.pictures)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let mut own = Pictures::open(&args.inputs, &mut skipped)?;
    let mut others = other(&args)
        .map(|path| Pictures::open(std::slice::from_ref(path), &mut skipped))
        .transpose()?;
    let outputs = Outputs::open(&args, |output| {
        Ok(KeptOutput::Folder(own.open_kept(output.output.as_deref())?))
    })?;
    let source = PictureSource {
        pictures: &mut own,
        others: others.as_mut(),
        skipped: &mut skipped,
        talk: args.talk,
    };
    let SearchedPictures { found, ids, items, own: count } =
        work.on_threads(|| source.search(&alike, work))?;
    let mut preference = Preference::new(args.keep.clone());
    items[..count].iter().try_for_each(|item| preference.note_picture(item))?;
    let how = pictures::how_words(&found);
    let mut figures = pictures::figures(&found, &alike);
    figures.push(Figure { name: "found", value: json!(found.plan), words: Some(how.clone()) });
    let told = Told {
        recipe: alike.preset.recipe.to_string(),
        alike: alike.words(),
        how,
        figures,
        levels: Levels::Distance(alike.preset.levels),
        scale: Scale::Distance { radius: alike.radius.bits() },
    };
    let results = Results { pairs: found.pairs, ids, own: count, items: items.len(), told };
    let outcome = Outcome::new(results, &preference, &args);
    let run = Run { args: &args, work, preference: &preference, skipped: &skipped, start };
    run.finish(&outcome, outputs, Source::Pictures { own, items })
}

fn other(args: &DedupArgs) -> Option<&PathBuf> {
    args.against.as_ref()
}

fn options(args: &DedupArgs) -> RowOptions {
    let key = match &args.keep {
        KeepRule::Field { name, .. } => Some(name.clone()),
        _ => None,
    };
    let again = !args.dry_run && (args.output.is_some() || args.report.is_some());
    RowOptions { key, again, ..RowOptions::from(&args.rows) }
}

/// Where the items came from: needed once more, to show and to copy them.
enum Source {
    Texts {
        rows: Rows,
        others: Option<Rows>,
    },
    Pictures {
        own: Pictures,
        #[expect(dead_code, reason = "the report and the keep rules for pictures read them")]
        items: Vec<PictureItem>,
    },
}

impl Source {
    fn write_page(&mut self, page: Page<'_>, output: crate::report::Output) -> Result<()> {
        match self {
            Self::Texts { rows, others } => {
                let mut all: Vec<&mut Rows> = [rows].into_iter().chain(others.as_mut()).collect();
                page.write(&mut all, output)
            }
            Self::Pictures { .. } => page.write(&mut [], output),
        }
    }

    fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        match (self, output) {
            (Self::Texts { rows, .. }, output) => rows.write_kept(keep, output),
            (Self::Pictures { own, .. }, KeptOutput::Folder(folder)) => {
                own.write_kept(keep, folder)
            }
            (Self::Pictures { .. }, _) => unreachable!("kept pictures go to a folder"),
        }
    }
}

/// What a search found, whatever the items are.
struct Results {
    pairs: AlikePairs,
    ids: Ids,
    /// How many items can go; the others follow.
    own: usize,
    items: usize,
    told: Told,
}

/// What there is to tell of a search.
struct Told {
    recipe: String,
    /// When two items are alike.
    alike: String,
    /// How pairs were found.
    how: String,
    figures: Vec<Figure>,
    levels: Levels,
    scale: Scale,
}

/// What was asked for, and what happened so far.
struct Run<'a> {
    args: &'a DedupArgs,
    work: &'a Work,
    preference: &'a Preference,
    skipped: &'a Skipped,
    start: Instant,
}

impl Run<'_> {
    /// Writes and tells everything.
    fn finish(
        &self,
        outcome: &Outcome,
        mut outputs: Outputs,
        mut source: Source,
    ) -> Result<ExitCode> {
        let Self { args, work, preference, skipped, start } = *self;
        let Results { ids, told, .. } = &outcome.results;
        let allowed = outcome.decision.check(args.max_remove, ids);
        if allowed.is_err() {
            outputs.keep_all();
        }
        if let Some(page) = outputs.page.take() {
            let content = outcome.page(args, preference, skipped);
            work.on_threads(|| source.write_page(content, page))?;
        }
        let written = !outputs.are_none() || args.report.is_some();
        let write_kept = |keep: &dyn Fn(u32) -> bool, kept| source.write_kept(keep, kept);
        let kept = work.on_threads(|| {
            outputs.write(&write_kept, &outcome.pairs, &outcome.decision, told.levels, ids)
        })?;
        outcome.tell(args, skipped, kept, written, start);
        match allowed {
            Err(error) if args.output.is_some() => Err(error),
            Err(error) if !args.talk.quiet => {
                say(&format!("note: {error}"));
                Ok(ExitCode::SUCCESS)
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }
}

/// All that is known once the search is done.
struct Outcome {
    results: Results,
    /// The pairs that decide: all, or with `--against` those that cross over.
    pairs: AlikePairs,
    /// How many pairs, by level.
    tally: Tally,
    decision: Decision,
}

impl Outcome {
    fn new(mut results: Results, preference: &Preference, args: &DedupArgs) -> Self {
        let own = results.own;
        let pairs = std::mem::take(&mut results.pairs);
        if args.against.is_none() {
            return Self::of(results, pairs, &preference.order(), args);
        }
        let order = (own as u32..results.items as u32).chain(0..own as u32);
        Self::of(results, crossing(own, &pairs), &order.collect::<Vec<_>>(), args)
    }

    fn of(results: Results, pairs: AlikePairs, order: &[u32], args: &DedupArgs) -> Self {
        let levels = results.told.levels;
        let decision = Decision::new(results.own, order, &pairs, args.group, levels);
        Self { tally: Tally::of_pairs(&pairs, levels), results, pairs, decision }
    }

    fn page(&self, args: &DedupArgs, preference: &Preference, skipped: &Skipped) -> Page<'_> {
        let Told { recipe, alike, how, scale, .. } = &self.results.told;
        let names: Vec<_> = args.inputs.iter().map(|path| path.display().to_string()).collect();
        let mut facts = vec![
            ("recipe".to_owned(), recipe.clone()),
            ("alike".to_owned(), alike.clone()),
            ("found".to_owned(), how.clone()),
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
            items: self.results.own as u64,
            facts,
            why,
            scale: scale.clone(),
            groups: &self.decision.groups,
            ids: &self.results.ids,
        }
    }

    fn tell(
        &self,
        args: &DedupArgs,
        skipped: &Skipped,
        kept: Option<Kept>,
        written: bool,
        start: Instant,
    ) {
        let Self { results: Results { told: searched, own, .. }, tally, decision, .. } = self;
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
        let target = match (&args.output, kept) {
            (Some(path), Some(_)) => format!(" to {}", path.display()),
            _ => String::new(),
        };
        let mut figures = vec![
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
        ];
        figures.extend(searched.figures.iter().cloned());
        let seconds = start.elapsed().as_secs_f64();
        let summary = Summary { items, skipped, seconds, figures, plan: None };
        summary.say_labelled(args.talk);
        if !args.talk.quiet && !args.dry_run && !written {
            say(
                "nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups",
            );
        }
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

fn text_figures(found: &TextPairs) -> Vec<Figure> {
    let silent = |name, value| Figure { name, value, words: None };
    vec![
        silent("crowded", json!(found.crowded)),
        silent("short", json!(found.short)),
        silent("empty", json!(found.empty)),
        Figure { words: Some(how_words(found)), ..silent("found", json!(found.plan)) },
        silent("exact", json!(found.how == How::Exact)),
        silent("recall", recall(found)),
        silent("verified", json!(found.verified)),
        silent("spilled_bytes", json!(found.spilled)),
    ]
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
