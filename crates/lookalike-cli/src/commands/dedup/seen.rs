//! `dedup --against` a collection: what of the input was seen before?
//!
//! A collection keeps no items, so they are compared by fingerprints alone, made by its recipe. Of
//! each item the nearest one of the collection is named.

use std::{collections::HashMap, path::Path};

use anyhow::{Result, bail, ensure};
use lookalike::{
    AlikePair, AlikePairs, Collection, Fingerprint, Maker, PicturePreset, PictureSearch, Radius,
    Recipe, collection,
};
use rayon::prelude::*;
use serde_json::json;

use super::{
    super::{index, texts::fingerprint},
    Acting, Found, Given, Levels, Outputs, Preference, Results, Source, Told, open, options,
    picture_reading,
};
use crate::{
    args::DedupArgs,
    config::Work,
    report::{Figure, Progress, counted, html::Scale, introduce},
    source::{Ids, KeptOutput, Pictures, Skipped},
};

/// The items of a collection that are the nearest of some of ours.
struct Seen {
    /// By our number.
    pairs: Vec<(u32, u32, u32)>,
    /// What the others are called, and the number each got, by its sequence number.
    ids: Ids,
    numbers: HashMap<u64, u32>,
}

/// Looks every item up in the collection.
pub fn search(
    args: &DedupArgs,
    folder: &Path,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    ensure!(
        args.report.is_none(),
        "--report shows items side by side, and the collection {} keeps none; use --removed",
        folder.display()
    );
    ensure!(
        args.recipe.is_default() && given.make.is_none(),
        "--against {}: its recipe decides how items are compared; leave --recipe and the like out",
        folder.display()
    );
    let collection = index::open_to_read(folder, args.talk.quiet)?;
    match &collection.about().maker {
        Maker::Text(recipe) => texts(args, &collection, recipe, given, work, skipped),
        maker if *maker == Maker::GIVEN => {
            bail!("{}: holds fingerprints, but these are texts or pictures", folder.display())
        }
        maker => pictures(args, &collection, index::picture_preset(maker)?, given, work, skipped),
    }
}

fn texts(
    args: &DedupArgs,
    collection: &Collection,
    recipe: &Recipe,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    let radius = index::usual_radius(collection.about(), args.distance);
    let Given { rows: given_rows, on_beat, .. } = given;
    let is_given = given_rows.is_some();
    let mut rows = open(&args.inputs, given_rows, options(args, work), skipped)?;
    let outputs = Outputs::open(args, |output| rows.open_kept(output))?;
    let name = collection.folder().display().to_string();
    let acting = Acting::open(args, [rows.no_file(), Some(&name)])?;
    let mut preference = Preference::new(&args.keep);
    let mut numbers = Vec::new();
    introduce(args.talk, &rows.what(), Some(format!("the collection {name}")));
    let progress = Progress::new(args.talk.quiet);
    let mut seen = Seen::in_collection(&name);
    let ids = work.on_threads(|| {
        rows.read(skipped, &mut |batch| {
            on_beat();
            progress.read(batch.rows.len());
            for (row, item) in batch.rows.iter().zip(batch.first..) {
                if is_given {
                    numbers.push(row.line().saturating_sub(1) as u32);
                }
                preference.note(row, batch.ids.at(item))?;
            }
            let made: Vec<_> = batch.rows.par_iter().map(|row| fingerprint(row, recipe)).collect();
            let made = (batch.first..).zip(made).filter_map(|(item, print)| Some((item, print?)));
            seen.look_up(collection, radius, made)
        })
    })?;
    progress.clear();
    let results = seen.results(ids, told(collection, radius, Levels::Similarity));
    let source = Source::Texts { rows, others: None };
    Ok(Found { results, source, preference, outputs, acting, rows: numbers })
}

fn pictures(
    args: &DedupArgs,
    collection: &Collection,
    preset: &PicturePreset,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    let usual = args.verify.level.map(|level| preset.radius_of(level));
    let radius = index::usual_radius(collection.about(), args.distance.or(usual));
    let mut own = Pictures::open(&args.inputs, &picture_reading(&args.cache, &args.rows), skipped)?;
    let outputs =
        Outputs::open(args, |output| Ok(KeptOutput::Folder(own.open_kept(output.file())?)))?;
    let name = collection.folder().display().to_string();
    let acting = Acting::open(args, [None, Some(&name)])?;
    introduce(args.talk, &own.what(), Some(format!("the collection {name}")));
    let progress = Progress::new(args.talk.quiet);
    let search =
        PictureSearch::new(&preset.recipe, radius).orientations(args.pictures.orientations);
    let (mut items, mut prints) = (Vec::new(), Vec::new());
    let on_file = || {
        (given.on_beat)();
        progress.read(1);
    };
    let ids = work.on_threads(|| {
        own.read(&search, skipped, &on_file, &mut |item, digest| {
            let number = items.len() as u32;
            prints.extend(index::prints_of(digest).into_iter().map(|print| (number, print)));
            items.push(item);
            Ok(())
        })
    })?;
    let mut seen = Seen::in_collection(&name);
    work.on_threads(|| seen.look_up(collection, radius, prints))?;
    progress.clear();
    let mut preference = Preference::new(&args.keep);
    items.iter().try_for_each(|item| preference.note_picture(item))?;
    let results = seen.results(ids, told(collection, radius, Levels::Distance(preset.levels)));
    let source = Source::Pictures { own, others: None, items };
    Ok(Found { results, source, preference, outputs, acting, rows: Vec::new() })
}

impl Seen {
    fn in_collection(name: &str) -> Self {
        let ids = Ids::new(vec![name.to_owned()]);
        Self { pairs: Vec::new(), ids, numbers: HashMap::new() }
    }

    /// Finds the nearest one of the collection for every item that has one. An item may have several
    /// fingerprints, one after the other.
    fn look_up(
        &mut self,
        collection: &Collection,
        radius: Radius,
        prints: impl IntoIterator<Item = (u32, Fingerprint<4>)>,
    ) -> Result<()> {
        let (items, prints): (Vec<u32>, Vec<_>) = prints.into_iter().unzip();
        let found = collection.search_many(&prints, radius, 1)?;
        let found: Vec<_> = items
            .into_iter()
            .zip(found)
            .filter_map(|(item, mut found)| Some((item, found.pop()?)))
            .collect();
        for of_item in found.chunk_by(|one, two| one.0 == two.0) {
            let near = of_item.iter().min_by_key(|(_, near)| (near.distance, near.sequence));
            near.into_iter().for_each(|(item, near)| self.add(*item, near));
        }
        Ok(())
    }

    fn add(&mut self, item: u32, nearest: &collection::Found) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(nearest.sequence).or_insert(next);
        if number == next {
            self.ids.push_given(&nearest.id);
        }
        self.pairs.push((item, number, nearest.distance));
    }

    /// Pairs of our items, whose names these are, with those of the collection, which follow them.
    fn results(self, ids: Ids, told: Told) -> Results {
        let (own, others) = (ids.len() as usize, self.ids.len() as usize);
        let pair =
            |(a, b, distance)| AlikePair { a, b: own as u32 + b, distance, similarity: None };
        Results {
            pairs: AlikePairs::from_pairs(self.pairs.into_iter().map(pair).collect()),
            ids: ids.followed_by(self.ids),
            own,
            items: own + others,
            told,
        }
    }
}

fn told(collection: &Collection, radius: Radius, levels: Levels) -> Told {
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
        levels,
        scale: Scale::Distance { radius: radius.bits(), levels: Vec::new() },
        shown: false,
    }
}
