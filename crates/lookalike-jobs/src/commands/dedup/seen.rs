//! `dedup --against` a collection: what of the input was seen before?
//!
//! A collection keeps no items, so they are compared by fingerprints alone, made by its recipe. Of
//! each item the first one of the collection that is near is named, as with a file.

use std::{collections::HashMap, path::Path};

use anyhow::{Result, bail, ensure};
use lookalike::{
    AlikePair, AlikePairs, Collection, Fingerprint, ImageDigest, ImagePreset, ImageSearch, Maker,
    Radius, Recipe, collection,
};
use rayon::prelude::*;
use serde_json::json;

use super::{
    super::{
        index::{self, Held},
        texts::fingerprint,
    },
    Acting, Found, Given, Levels, Matches, Originals, Outputs, Preference, Results, Source, Told,
    image_reading, open, options,
};
use crate::{
    args::{DedupArgs, Kind},
    config::Work,
    report::{Figure, Progress, counted, html::Scale, id_text, introduce},
    source::{Ids, Images, KeptOutput, Skipped},
};

/// The items of a collection that are the first near some of ours.
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
            bail!("{}: holds fingerprints, but these are texts or images", folder.display())
        }
        maker => {
            let preset = index::image_preset(maker)?;
            let held = if args.images.orientations {
                drop(collection);
                Held::open_to_read(folder, args.talk.quiet)?
            } else {
                Held::Whole(collection)
            };
            images(args, &held, preset, given, work, skipped)
        }
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
    let mut preference = Preference::new(args, Kind::Text);
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

fn images(
    args: &DedupArgs,
    held: &Held,
    preset: &ImagePreset,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    let collection = held.whole();
    let usual = args.verify.level.map(|level| preset.radius_of(level));
    let radius = index::usual_radius(collection.about(), args.distance.or(usual));
    let reading = image_reading(&args.cache, &args.rows, work.memory);
    let mut own = Images::open(&args.inputs, &reading, skipped)?;
    let outputs =
        Outputs::open(args, |output| Ok(KeptOutput::Folder(own.open_kept(output.file())?)))?;
    let name = collection.folder().display().to_string();
    let acting = Acting::open(args, [None, Some(&name)])?;
    introduce(args.talk, &own.what(), Some(format!("the collection {name}")));
    let progress = Progress::new(args.talk.quiet);
    let search = ImageSearch::new(&preset.recipe, radius).orientations(args.images.orientations);
    let (mut items, mut digests) = (Vec::new(), Vec::new());
    let on_file = || {
        (given.on_beat)();
        progress.read(1);
    };
    let ids = work.on_threads(|| {
        own.read(&search, skipped, &on_file, &mut |item, digest| {
            items.push(item);
            digests.push(digest);
            Ok(())
        })
    })?;
    let mut seen = Seen::in_collection(&name);
    work.on_threads(|| match held {
        Held::Images(images) => {
            let first = |digest: &ImageDigest| match &digest.prints {
                Some(_) => images.search(&search, digest, usize::MAX).map(first_of),
                None => Ok(None),
            };
            let found: Vec<_> = digests.par_iter().map(first).collect();
            for (item, found) in (0..).zip(found) {
                found?.iter().for_each(|first| seen.add(item, first));
            }
            Ok(())
        }
        Held::Whole(collection) => {
            let print = |digest: &ImageDigest| Some(digest.prints.as_ref()?.upright);
            let prints = (0..).zip(&digests).filter_map(|(item, one)| Some((item, print(one)?)));
            seen.look_up(collection, radius, prints)
        }
    })?;
    progress.clear();
    let mut preference = Preference::new(args, Kind::Image);
    items.iter().try_for_each(|item| preference.note_image(item))?;
    let names: Vec<_> = (0..seen.ids.len())
        .map(|number| id_text(seen.ids.at(number as u32)).into_owned())
        .collect();
    let originals = Originals::of(&items).followed_by(names.iter().map(String::as_str));
    let results = seen.results(ids, told(collection, radius, Levels::Distance(preset.levels)));
    let results = Results { originals: Some(originals), ..results };
    let source = Source::Images { own, others: None, items };
    Ok(Found { results, source, preference, outputs, acting, rows: Vec::new() })
}

/// Queries that are asked together.
const AT_ONCE: usize = 64;

/// The one that was stored first.
fn first_of(found: Vec<collection::Found>) -> Option<collection::Found> {
    found.into_iter().min_by_key(|found| found.sequence)
}

impl Seen {
    fn in_collection(name: &str) -> Self {
        let ids = Ids::new(vec![name.to_owned()]);
        Self { pairs: Vec::new(), ids, numbers: HashMap::new() }
    }

    /// Finds the first one of the collection that is near, for every item that has one.
    fn look_up(
        &mut self,
        collection: &Collection,
        radius: Radius,
        prints: impl IntoIterator<Item = (u32, Fingerprint<4>)>,
    ) -> Result<()> {
        let (items, prints): (Vec<u32>, Vec<_>) = prints.into_iter().unzip();
        // Few at a time: each may be near very many.
        for (items, prints) in items.chunks(AT_ONCE).zip(prints.chunks(AT_ONCE)) {
            let found = collection.search_many(prints, radius, usize::MAX)?;
            for (&item, found) in items.iter().zip(found) {
                first_of(found).iter().for_each(|first| self.add(item, first));
            }
        }
        Ok(())
    }

    fn add(&mut self, item: u32, first: &collection::Found) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(first.sequence).or_insert(next);
        if number == next {
            self.ids.push_given(&first.id);
        }
        self.pairs.push((item, number, first.distance));
    }

    /// Pairs of our items, whose names these are, with those of the collection, which follow them.
    fn results(self, ids: Ids, told: Told) -> Results {
        let (own, others) = (ids.len() as usize, self.ids.len() as usize);
        let pair =
            |(a, b, distance)| AlikePair { a, b: own as u32 + b, distance, similarity: None };
        Results {
            matches: Matches::Pairs(AlikePairs::from_pairs(
                self.pairs.into_iter().map(pair).collect(),
            )),
            ids: ids.followed_by(self.ids),
            own,
            items: own + others,
            originals: None,
            told,
        }
    }
}

fn told(collection: &Collection, radius: Radius, levels: Levels) -> Told {
    let about = collection.about();
    // Texts are alike by their features, which a collection does not keep.
    let is_exact = levels != Levels::Similarity;
    let method = if is_exact { "exact" } else { "by fingerprints alone, not verified" };
    let how = format!("{method}, in a collection of {}", counted(collection.len(), "item"));
    let silent = |name, value| Figure { name, value, words: None };
    Told {
        recipe: about.maker.to_string(),
        alike: format!("within {radius} of {} bits", about.width.bits()),
        figures: vec![
            silent("recipe", json!(about.maker.to_string())),
            silent("distance", json!(radius.bits())),
            Figure { name: "found", value: json!(how), words: Some(how.clone()) },
            silent("exact", json!(is_exact)),
            silent("recall", json!(is_exact.then_some(1.0))),
        ],
        how,
        levels,
        scale: Scale::Distance { radius: radius.bits(), levels: Vec::new() },
        shown: false,
    }
}
