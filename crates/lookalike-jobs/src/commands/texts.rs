//! Which texts of some rows are alike? The part that `dedup` and `pairs` share: reading and searching.

use anyhow::{Result, bail, ensure};
use lookalike::{Fingerprint, How, Item, Recipe, TextFound, Texts};
use rayon::prelude::*;
use serde_json::json;

use super::{
    dedup::{Make, Unmade},
    images::recall,
};
use crate::{
    args::TalkArgs,
    config::{Alike, UNWATCHED, Work},
    report::{Figure, Progress, counted, id_text, introduce, tell_notes},
    source::{Content, Id, Ids, Reason, Row, Rows, Skipped},
};

/// What stays in memory of each text, however long it is: its fingerprint, its name, its place.
const PER_TEXT: u64 = 128;

/// What a run may take beside its memory limit, and does not need for itself.
const SPARE: u64 = 38 << 20;

/// The smallest memory limit for so many texts, which may take three quarters of it.
fn memory_needed(texts: u64) -> u64 {
    (texts * PER_TEXT).saturating_sub(SPARE).div_ceil(3) * 4
}

fn fits(work: &Work, texts: u64) -> bool {
    work.memory.is_none_or(|memory| memory_needed(texts) <= memory)
}

/// What so many texts leave for a search among them.
pub fn left(work: &Work, texts: usize) -> Work {
    let left = |memory: u64| memory.saturating_sub(texts as u64 * PER_TEXT).max(memory / 4).max(1);
    let mut work = work.clone();
    work.memory = work.memory.map(left);
    work
}

/// Texts that were read, and what they are called.
pub struct ReadTexts {
    pub texts: Texts,
    pub ids: Ids,
    /// How many of them are of the first rows; the others follow.
    pub own: usize,
    /// How many there are.
    pub items: usize,
}

/// Whether anything may be missing, in words.
pub fn how_words(found: &TextFound) -> String {
    match found.how {
        How::Exact => "exact".to_owned(),
        How::Recall(recall) => {
            format!("estimated recall {} % ({})", (1e4 * recall).round() / 100.0, found.plan)
        }
    }
}

/// What programs want to know of a search.
pub fn figures(found: &TextFound, seconds: f64) -> Vec<Figure> {
    let silent = |name, value| Figure { name, value, words: None };
    vec![
        silent("short", json!(found.short)),
        silent("empty", json!(found.empty)),
        silent("exact", json!(found.how == How::Exact)),
        silent("recall", recall(found.how)),
        silent("verified", json!(found.verified)),
        silent("search_seconds", json!((seconds * 1e3).round() / 1e3)),
    ]
}

fn item<'a>(row: &'a Row<'_>) -> Item<'a> {
    match &row.content {
        Content::Text(text) => Item::Text(text),
        Content::Features(features) => Item::Features(features),
    }
}

fn unmade<'a>(row: &'a Row<'_>, id: Id<'a>, is_other: bool) -> Result<Unmade<'a>> {
    let (name, line) = (id_text(id), row.line().saturating_sub(1) as usize);
    match &row.content {
        Content::Text(text) => Ok(Unmade { text, name, row: line, is_other }),
        Content::Features(_) => bail!("{name}: has features; functions of your own take texts"),
    }
}

/// Takes a row and its name.
pub type OnRow<'a> = &'a mut (dyn FnMut(&Row<'_>, Id<'_>) -> Result<()> + Send);

/// A search over rows, and over other rows if there are any.
pub struct TextSource<'a> {
    pub rows: &'a mut Rows,
    pub others: Option<&'a mut Rows>,
    pub skipped: &'a mut Skipped,
    pub talk: TalkArgs,
    /// Called now and then, from any thread. If it unwinds, so does the search.
    pub on_beat: &'a (dyn Fn() + Sync),
    /// Makes items of texts in the recipe's stead.
    pub make: Option<Make<'a>>,
}

impl TextSource<'_> {
    /// Reads everything, showing each of the first rows and its name to `on_row`.
    pub fn read(mut self, alike: &Alike, work: &Work, on_row: OnRow<'_>) -> Result<ReadTexts> {
        introduce(self.talk, &self.rows.what(), self.others.as_ref().map(|others| others.what()));
        let progress = Progress::new(self.talk.quiet);
        let on_beat = self.on_beat;
        let resources = work.resources(UNWATCHED);
        let mut collector = alike.search().collector(&resources);
        let mut count = 0;
        let mut read = |rows: &mut Rows, skipped: &mut Skipped, on_row: OnRow<'_>, is_other| {
            rows.read(skipped, &mut |batch| {
                on_beat();
                progress.read(batch.rows.len());
                count += batch.rows.len() as u64;
                if !fits(work, count) {
                    // The rest is counted only, to say what it takes.
                    return Ok(());
                }
                let mut items = Vec::with_capacity(batch.rows.len());
                for (number, row) in (batch.first..).zip(&batch.rows) {
                    let id = batch.ids.at(number);
                    on_row(row, id)?;
                    items.push(match self.make {
                        Some(make) => {
                            on_beat();
                            make(unmade(row, id, is_other)?)?
                        }
                        None => item(row),
                    });
                }
                Ok(collector.push_items(&items)?)
            })
        };
        let mut ids = read(self.rows, self.skipped, on_row, false)?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            let on_row: OnRow<'_> = &mut |_, _| Ok(());
            let more = self.skipped.of_others(|skipped| read(others, skipped, on_row, true))?;
            ids = ids.followed_by(more);
        }
        progress.clear();
        ensure!(
            fits(work, count),
            "--memory is too small for {}; use at least --memory {}M",
            counted(count, "text"),
            memory_needed(count).div_ceil(1 << 20)
        );
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        tell_notes(self.talk, alike.note().iter().chain(self.rows.notes()).chain(others));
        let items = collector.len();
        Ok(ReadTexts { texts: collector.finish()?, ids, own, items })
    }
}

/// An item that has a fingerprint.
pub struct Printed<'a> {
    pub id: Id<'a>,
    pub print: Fingerprint<4>,
    pub row: &'a Row<'a>,
    /// Where it stands, if it has no name of its own.
    pub place: Option<(&'a str, Option<u64>)>,
}

/// Takes some items that follow each other, those without features left out.
pub type OnPrints<'a> = &'a mut dyn FnMut(Vec<Printed<'_>>) -> Result<()>;

/// Reads every row and makes its fingerprint. What has no features is skipped, and said so.
pub fn for_each_print(
    rows: &mut Rows,
    recipe: &Recipe,
    skipped: &mut Skipped,
    progress: &Progress,
    on_prints: OnPrints<'_>,
) -> Result<Ids> {
    rows.read(skipped, &mut |mut batch| {
        progress.read(batch.rows.len());
        let made: Vec<_> = batch.rows.par_iter().map(|row| fingerprint(row, recipe)).collect();
        for (number, _) in made.iter().enumerate().filter(|(_, print)| print.is_none()) {
            let what = format!("no {} in it, so it has no fingerprint", recipe.features);
            batch.refuse(number, Reason::NoFeatures, what);
        }
        let items = (batch.first..).zip(&batch.rows).zip(made);
        let printed = items.filter_map(|((number, row), print)| {
            let (id, place) = (batch.ids.at(number), batch.place_of_unnamed(row));
            Some(Printed { id, print: print?, row, place })
        });
        on_prints(printed.collect())
    })
}

/// The fingerprint of a row; `None` if it has no features.
pub fn fingerprint(row: &Row<'_>, recipe: &Recipe) -> Option<Fingerprint<4>> {
    match &row.content {
        Content::Text(text) => recipe.fingerprint_any(text),
        Content::Features(features) => {
            let features = features.iter().map(|(feature, weight)| (feature, *weight));
            recipe.fingerprint_any_of_features(features).ok().flatten()
        }
    }
}
