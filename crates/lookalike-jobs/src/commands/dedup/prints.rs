//! `dedup` of fingerprints: what is near what, if nothing is known but bits?

use std::slice;

use anyhow::{Result, bail, ensure};
use lookalike::{Collection, Width};
use serde_json::json;

use super::{
    super::fingerprints::{PrintMatches, PrintSource, SearchedPrints, Wanted},
    Acting, Found, Given, Grouped, Levels, Matches, Outputs, Preference, Results, Source, Told,
    reads_again,
};
use crate::{
    args::{
        CacheArgs, DedupArgs, Grouping, ImageArgs, Kind, Matching, RecipeArgs, RowArgs, VerifyArgs,
    },
    config::{Search, Work},
    report::{Figure, html::Scale, introduce},
    source::{Fingerprints, PrintOptions, Skipped, path_text},
};

/// Finds all fingerprints within the distance.
pub fn search(
    args: &DedupArgs,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    refuse_other_options(args)?;
    ensure!(
        given.rows.is_none() && given.against.is_none() && given.make.is_none(),
        "fingerprints are read from files, not from rows"
    );
    let mut preference = Preference::new(args, Kind::Hash);
    preference.note_prints(0)?;
    let options = PrintOptions {
        kind: args.kind,
        bits: args.recipe.bits,
        again: reads_again(args),
        temp: work.temp.clone(),
        memory: work.memory,
    };
    let mut own = Fingerprints::open(&args.inputs, &options, skipped)?;
    let mut others = open_others(args, own.width, skipped)?;
    let search = Search::new(args.distance, args.blocks, own.width)?;
    let outputs = Outputs::open(args, |output| own.open_kept(output))?;
    let acting =
        Acting::open(args, [args.inputs.first().map(|path| path_text(path)).as_deref(), None])?;
    introduce(args.talk, &own.what(), args.against.as_deref().map(path_text));
    let source = PrintSource {
        prints: &mut own,
        others: others.as_mut(),
        skipped,
        talk: args.talk,
        on_beat: given.on_beat,
    };
    let mut order = |own| {
        preference.note_prints(own)?;
        preference.order()
    };
    let wanted = match (&args.pairs, args.group, &args.against) {
        (Some(_), ..) | (_, Grouping::Connected, _) => Wanted::Pairs,
        (.., Some(_)) => Wanted::Against,
        (.., None) => Wanted::Stars(&mut order),
    };
    let searched = work.on_threads(|| source.search(&search, work, wanted))?;
    preference.note_prints(searched.own)?;
    let told = told(&searched, &search);
    let SearchedPrints { matches, ids, own: count, items, .. } = searched;
    let matches = match matches {
        PrintMatches::Pairs(pairs) => Matches::Pairs(pairs),
        PrintMatches::Groups(groups, find) => Matches::Grouped(Grouped::new(groups, find)),
    };
    let results = Results { matches, ids, own: count, items, originals: None, told };
    let source = Source::Prints(own);
    Ok(Found { results, source, preference, outputs, acting, rows: Vec::new() })
}

/// The fingerprints of `--against`, which must be as wide as those of the input.
fn open_others(
    args: &DedupArgs,
    width: Width,
    skipped: &mut Skipped,
) -> Result<Option<Fingerprints>> {
    let Some(path) = &args.against else { return Ok(None) };
    let name = path_text(path);
    ensure!(
        !Collection::is_at(path),
        "--against {name}: is a collection; lookalike index search {name} INPUT finds what of the \
         fingerprints it knows"
    );
    let options =
        PrintOptions { kind: args.kind, bits: args.recipe.bits, ..PrintOptions::default() };
    let paths = slice::from_ref(path);
    let others = skipped.of_others(|skipped| Fingerprints::open(paths, &options, skipped))?;
    ensure!(
        others.width == width,
        "--against {name}: holds {}, but the input such of {} bits; if lines are as wide, say --bits",
        others.what(),
        width.bits()
    );
    Ok(Some(others))
}

fn told(searched: &SearchedPrints, search: &Search) -> Told {
    let (bits, radius) = (search.width.bits(), search.radius);
    let how = format!("exact, by {}", searched.plan);
    let silent = |name, value| Figure { name, value, words: None };
    Told {
        recipe: "fingerprints".to_owned(),
        alike: format!("within {radius} of {bits} bits"),
        figures: vec![
            silent("bits", json!(bits)),
            silent("distance", json!(radius.bits())),
            Figure { words: Some(how.clone()), ..silent("found", json!(searched.plan)) },
            silent("exact", json!(true)),
            silent("recall", json!(1.0)),
            silent("spilled_bytes", json!(searched.spilled)),
        ],
        how,
        levels: Levels::Similarity,
        scale: Scale::Distance { radius: radius.bits(), levels: Vec::new() },
        shown: false,
    }
}

/// What is said of texts and images says nothing of fingerprints.
fn refuse_other_options(args: &DedupArgs) -> Result<()> {
    let RecipeArgs { recipe, features, stop_words, weights, model, top, hash, seed, bits: _ } =
        &args.recipe;
    let VerifyArgs { level, similarity, measure, no_verify: _, exact: _, recall: _ } = &args.verify;
    let ImageArgs { orientations, matching } = args.images;
    let CacheArgs { cache } = &args.cache;
    let RowArgs { field, id, lines, format, html, markup, follow_links, strict: _ } = &args.rows;
    let given = [
        ("--report", args.report.is_some()),
        ("--recipe", recipe.is_some()),
        ("--features", features.is_some()),
        ("--stop-words", stop_words.is_some()),
        ("--weights", weights.is_some()),
        ("--model", model.is_some()),
        ("--top", top.is_some()),
        ("--hash", hash.is_some()),
        ("--seed", seed.is_some()),
        ("--level", level.is_some()),
        ("--similarity", similarity.is_some()),
        ("--measure", measure.is_some()),
        ("--orientations", orientations),
        ("--match", matching != Matching::Whole),
        ("--cache", cache.is_some()),
        ("--field", field.is_some()),
        ("--id", id.is_some()),
        ("--lines", *lines),
        ("--format", format.is_some()),
        ("--html", *html),
        ("--markup", *markup),
        ("--follow-links", *follow_links),
    ];
    let Some((name, _)) = given.iter().find(|(_, given)| *given) else { return Ok(()) };
    let remedy = match (*name, args.kind) {
        ("--report", _) => "--groups and --removed list what goes",
        (_, None) => "leave it out, or say --kind text",
        _ => "fingerprints have --distance and --bits",
    };
    bail!("{name} is for texts and images, and these are fingerprints; {remedy}")
}
