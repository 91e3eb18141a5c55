//! `dedup --against` a collection: what of the input was seen before?
//!
//! A collection keeps no texts, so items are compared by fingerprints alone, made by its recipe. Of
//! each item the nearest one of the collection is named.

use std::{collections::HashMap, path::Path};

use anyhow::{Result, bail, ensure};
use lookalike::{AlikePair, AlikePairs, Collection, Maker, Radius};
use rayon::prelude::*;
use serde_json::json;

use super::{
    super::index::{self, fingerprint},
    Acting, Found, Given, Levels, Outputs, Preference, Results, Source, Told, open,
};
use crate::{
    args::DedupArgs,
    config::Work,
    report::{Figure, Progress, counted, html::Scale, say},
    source::{Id, Ids, Row, Rows, Skipped},
};

/// The items of a collection that are the nearest of some of ours.
struct Seen {
    /// By our number.
    pairs: Vec<(u32, u32, u32)>,
    /// What the others are called, and the number each got, by its sequence number.
    ids: Ids,
    numbers: HashMap<u64, u32>,
}

/// Looks every row up in the collection.
pub fn search(
    args: &DedupArgs,
    folder: &Path,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    ensure!(
        args.report.is_none(),
        "--report shows texts side by side, and the collection {} keeps none; use --removed",
        folder.display()
    );
    ensure!(
        args.recipe.is_default(),
        "--against {}: its recipe decides how items are compared; leave --recipe and the like out",
        folder.display()
    );
    let collection = index::open_to_read(folder, args.talk.quiet)?;
    let radius = index::usual_radius(collection.about(), args.distance);
    let Given { rows: given_rows, on_beat, .. } = given;
    let is_given = given_rows.is_some();
    let mut rows = open(&args.inputs, given_rows, args, skipped)?;
    let outputs = Outputs::open(args, |output| rows.open_kept(output))?;
    let name = folder.display().to_string();
    let acting = Acting::open(args, [rows.no_file(), Some(&name)])?;
    let mut preference = Preference::new(&args.keep);
    let mut numbers = Vec::new();
    if !args.talk.quiet {
        say(&format!("reading {}", rows.what()));
        say(&format!("against the collection {}", folder.display()));
    }
    let progress = Progress::new(args.talk.quiet);
    let (seen, ids) = work.on_threads(|| {
        look_up(&mut rows, &collection, radius, skipped, &mut |row, id| {
            on_beat();
            progress.read(1);
            if is_given {
                numbers.push(row.line().saturating_sub(1) as u32);
            }
            preference.note(row, id)
        })
    })?;
    progress.clear();
    let (own, items) = (ids.len() as usize, ids.len() as usize + seen.ids.len() as usize);
    let pairs = seen.pairs.iter().map(|&(a, b, distance)| AlikePair {
        a,
        b: own as u32 + b,
        distance,
        similarity: None,
    });
    let pairs = AlikePairs::from_pairs(pairs.collect());
    let told = told(&collection, radius);
    let results = Results { pairs, ids: ids.followed_by(seen.ids), own, items, told };
    let source = Source::Texts { rows, others: None };
    Ok(Found { results, source, preference, outputs, acting, rows: numbers })
}

/// The nearest item of the collection for every row that has one.
fn look_up(
    rows: &mut Rows,
    collection: &Collection,
    radius: Radius,
    skipped: &mut Skipped,
    on_row: &mut (dyn FnMut(&Row<'_>, Id<'_>) -> Result<()> + Send),
) -> Result<(Seen, Ids)> {
    let about = collection.about();
    let Maker::Text(recipe) = &about.maker else {
        bail!("the collection is of {}, not of texts; give what it was made of", about.maker);
    };
    let folder = collection.folder().display().to_string();
    let mut seen = Seen { pairs: Vec::new(), ids: Ids::new(vec![folder]), numbers: HashMap::new() };
    let ids = rows.read(skipped, &mut |batch| {
        for (number, row) in (batch.first..).zip(&batch.rows) {
            on_row(row, batch.ids.at(number))?;
        }
        let made: Vec<_> = batch.rows.par_iter().map(|row| fingerprint(row, recipe)).collect();
        let (items, prints): (Vec<u32>, Vec<_>) =
            (batch.first..).zip(made).filter_map(|(item, print)| Some((item, print?))).unzip();
        let found = collection.search_many(&prints, radius, 1)?;
        for (item, nearest) in items.into_iter().zip(found) {
            if let Some(nearest) = nearest.first() {
                seen.add(item, nearest);
            }
        }
        Ok(())
    })?;
    Ok((seen, ids))
}

impl Seen {
    fn add(&mut self, item: u32, nearest: &lookalike::collection::Found) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(nearest.sequence).or_insert(next);
        if number == next {
            self.ids.push_given(&nearest.id);
        }
        self.pairs.push((item, number, nearest.distance));
    }
}

fn told(collection: &Collection, radius: Radius) -> Told {
    let about = collection.about();
    let how = format!("exact, by a collection of {}", counted(collection.len(), "item"));
    let silent = |name, value| Figure { name, value, words: None };
    Told {
        recipe: about.maker.to_string(),
        alike: format!("within {radius} of {} bits", about.width.bits()),
        figures: vec![
            silent("recipe", json!(about.maker.to_string())),
            silent("distance", json!(radius.bits())),
            Figure { name: "found", value: json!(how), words: Some(how.clone()) },
            silent("exact", json!(true)),
            silent("recall", json!(1.0)),
        ],
        how,
        levels: Levels::Similarity,
        scale: Scale::Distance { radius: radius.bits(), levels: vec![] },
    }
}
