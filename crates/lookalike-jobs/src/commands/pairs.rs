//! `lookalike pairs`: which texts or fingerprints of these inputs are alike?

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Result, ensure};
use lookalike::{AlikePairs, Equals, ImagePairs, Plan, Radius, TextFound, TextPairs, Texts, Width};
use serde_json::{Value, json};

use super::{
    fingerprints::{PrintSource, SearchedPrints, Wanted},
    images::{ImageSource, figures as image_figures, how_words},
    texts::{self, TextSource},
};
use crate::{
    args::{Kind, OutputArgs, PairsArgs, TalkArgs},
    config::{Alike, ImagesAlike, Search, UNWATCHED, Work, image_reading, refuse_blocks},
    report::{
        Figure, Levels, Output, PairWriter, Summary, TableFile, bytes, check_places, counted,
        json_line, say,
    },
    source::{Fingerprints, Ids, Images, PrintOptions, RowOptions, Rows, Skipped, guess_kind},
};

pub fn run(args: PairsArgs) -> Result<ExitCode> {
    let start = Instant::now();
    match args.kind.unwrap_or_else(|| guess_kind(&args.inputs, &args.rows, Kind::Hash)) {
        Kind::Text => texts(args, start),
        Kind::Image => images(args, start),
        Kind::Hash => fingerprints(args, start),
    }
}

fn fingerprints(args: PairsArgs, start: Instant) -> Result<ExitCode> {
    let mut skipped = listed(&args)?;
    let work = Work::new(args.search.work)?;
    let options = PrintOptions {
        kind: args.kind,
        bits: args.recipe.bits,
        memory: work.memory,
        ..PrintOptions::default()
    };
    let mut prints = Fingerprints::open(&args.inputs, &options, &mut skipped)?;
    let search = Search::new(args.search.distance, args.search.blocks, prints.width)?;
    if args.kind.is_none() && !args.talk.quiet {
        say(&format!("reading {}", prints.what()));
    }
    if args.plan {
        return plan(prints, &search, &work, &mut skipped, args.talk);
    }
    let report = Report::open(args.output, args.equal.into(), args.talk)?;
    let source = PrintSource {
        prints: &mut prints,
        others: None,
        skipped: &mut skipped,
        talk: args.talk,
        on_beat: &|| {},
    };
    let searched = work.on_threads(|| source.search(&search, &work, Wanted::Pairs))?;
    let found = Found {
        figures: figures(&searched, &search),
        pairs: searched.matches.into_pairs()?,
        plan: searched.plan,
        ids: searched.ids,
        within: format!("within {}", counted(search.radius.bits().into(), "bit")),
        levels: Levels::Similarity,
    };
    report.write(&found, &mut skipped, start)?;
    Ok(ExitCode::SUCCESS)
}

fn texts(args: PairsArgs, start: Instant) -> Result<ExitCode> {
    ensure!(
        !args.plan,
        "--plan is for fingerprints; of texts, the summary says how they were found"
    );
    refuse_blocks(args.search.blocks, "texts")?;
    let alike = Alike::new(&args.recipe, args.search.distance, &args.verify)?;
    let mut skipped = listed(&args)?;
    let work = Work::new(args.search.work)?;
    let options =
        RowOptions { temp: work.temp.clone(), memory: work.memory, ..RowOptions::from(&args.rows) };
    let mut rows = Rows::open(&args.inputs, options, &mut skipped)?;
    let report = Report::open(args.output, args.equal.into(), args.talk)?;
    let source = TextSource {
        rows: &mut rows,
        others: None,
        skipped: &mut skipped,
        talk: args.talk,
        on_beat: &|| {},
        make: None,
    };
    let ((TextPairs { pairs, found, .. }, seconds), ids) = work.on_threads(|| {
        let read = source.read(&alike, &work, &mut |_, _| Ok(()))?;
        let work = texts::left(&work, read.items);
        announce(&read.texts, &work, args.talk)?;
        let pairs =
            super::search(&work, args.talk, &|| {}, |resources| read.texts.pairs(resources))?;
        Ok((pairs, read.ids))
    })?;
    let found = Found {
        figures: text_figures(&found, seconds, &alike),
        plan: found.plan,
        pairs,
        ids,
        within: alike.words(),
        levels: Levels::Similarity,
    };
    report.write(&found, &mut skipped, start)?;
    Ok(ExitCode::SUCCESS)
}

/// Says how many pairs to expect, if they are many, before they are looked for.
fn announce(texts: &Texts, work: &Work, talk: TalkArgs) -> Result<()> {
    if talk.quiet {
        return Ok(());
    }
    let expected = texts.expected_pairs(&work.resources(UNWATCHED))?;
    if let Some(pairs) = expected.filter(|&pairs| pairs >= MANY_PAIRS) {
        // Two digits: more would claim too much.
        let unit = 10u64.pow(pairs.ilog10() - 1);
        say(&format!("expecting about {}", counted(pairs / unit * unit, "pair")));
    }
    Ok(())
}

/// From this many pairs on, the user hears of them before they are listed.
const MANY_PAIRS: u64 = 10_000;

fn images(args: PairsArgs, start: Instant) -> Result<ExitCode> {
    ensure!(!args.plan, "--plan is for fingerprints; of images, the summary says how");
    refuse_blocks(args.search.blocks, "images")?;
    let alike = ImagesAlike::new(&args.recipe, args.search.distance, &args.verify, args.images)?;
    let mut skipped = listed(&args)?;
    let work = Work::new(args.search.work)?;
    let reading = image_reading(&args.cache, &args.rows, work.memory);
    let mut images = Images::open(&args.inputs, &reading, &mut skipped)?;
    let report = Report::open(args.output, args.equal.into(), args.talk)?;
    let source = ImageSource {
        images: &mut images,
        others: None,
        skipped: &mut skipped,
        talk: args.talk,
        on_beat: &|| {},
    };
    let search = alike.search(&work);
    let (ImagePairs { pairs, found, .. }, ids) = work.on_threads(|| {
        let read = source.read(&search)?;
        let (pairs, _) = super::search(&work, args.talk, &|| {}, |resources| {
            read.images.pairs(&search, resources)
        })?;
        Ok((pairs, read.ids))
    })?;
    let mut figures = image_figures(&found, &alike);
    let how = how_words(&found);
    figures.push(Figure { name: "found", value: json!(found.plan), words: Some(how) });
    let found = Found {
        figures,
        plan: found.plan,
        pairs,
        ids,
        within: alike.words(),
        levels: Levels::Distance(alike.preset.levels),
    };
    report.write(&found, &mut skipped, start)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks where everything goes. What is skipped is listed where the user says.
fn listed(args: &PairsArgs) -> Result<Skipped> {
    let PairsArgs { inputs, skipped, output, rows, recipe, .. } = args;
    let inputs = inputs.iter().map(PathBuf::as_path).chain(recipe.files());
    check_places([output.place()].into_iter().chain(skipped.as_deref()), inputs)?;
    Skipped::unless(rows.strict).listed_in(skipped.as_deref(), output.force)
}

/// Every pair, what the items are called, and what else there is to tell.
struct Found {
    pairs: AlikePairs,
    ids: Ids,
    figures: Vec<Figure>,
    plan: String,
    /// When two items are alike, and how they are called.
    within: String,
    levels: Levels,
}

/// Reads everything, says how its pairs would be found, and stops.
fn plan(
    prints: Fingerprints,
    search: &Search,
    work: &Work,
    skipped: &mut Skipped,
    talk: TalkArgs,
) -> Result<ExitCode> {
    let (items, plan) = work.on_threads(|| match search.width {
        Width::Bits32 | Width::Bits64 => plan_of::<1>(prints, search, work, skipped),
        Width::Bits128 => plan_of::<2>(prints, search, work, skipped),
        Width::Bits256 => plan_of::<4>(prints, search, work, skipped),
    })?;
    let (bits, radius) = (search.width.bits(), search.radius);
    Output::print(&if talk.json {
        let fields = [
            ("items", json!(items)),
            ("bits", json!(bits)),
            ("distance", json!(radius.bits())),
            ("plan", json!(plan.to_string())),
            ("expected_compares", json!(plan.expected_compares())),
            ("expected_bytes", json!(plan.expected_memory())),
        ];
        json_line(&fields) + "\n"
    } else {
        let items = counted(items, "item");
        format!("items     {items} of {bits} bits\ndistance  {radius}\nplan      {plan}\n")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn plan_of<const WORDS: usize>(
    mut source: Fingerprints,
    search: &Search,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<(u64, Plan)> {
    let mut prints = Vec::new();
    let ids = source.read::<WORDS>(skipped, &mut |piece| {
        prints.extend_from_slice(piece);
        Ok(())
    })?;
    Ok((ids.len(), search.all_pairs(work, UNWATCHED).plan(&prints)?))
}

/// Where and how pairs are written.
struct Report {
    output: Output,
    file: TableFile,
    equals: Equals,
    talk: TalkArgs,
}

impl Report {
    fn open(args: OutputArgs, equals: Equals, talk: TalkArgs) -> Result<Self> {
        let file = TableFile::of(args.file())?;
        Ok(Self { output: Output::create(&args)?, file, equals, talk })
    }

    fn write(self, found: &Found, skipped: &mut Skipped, start: Instant) -> Result<()> {
        let Found { pairs, ids, within, .. } = found;
        let mut writer = PairWriter::new(self.output, self.file, ids, found.levels)?;
        pairs.list(self.equals, |pair| writer.write(pair))?;
        let written = writer.written();
        writer.finish()?;
        skipped.finish_list()?;
        let groups = pairs.equal_groups().count() as u64;
        let words = format!("{} {within}", counted(written, "pair"));
        let mut figures = vec![
            Figure { name: "pairs", value: json!(written), words: Some(words) },
            silent("duplicate_ids", json!(ids.repeated().0)),
            Figure {
                name: "equal_groups",
                value: json!(groups),
                words: Some(counted(groups, "group") + " of equal items"),
            },
        ];
        figures.extend(found.figures.iter().cloned());
        let summary = Summary {
            items: ids.len(),
            skipped,
            seconds: start.elapsed().as_secs_f64(),
            figures,
            plan: Some(found.plan.clone()),
        };
        summary.say(self.talk);
        Ok(())
    }
}

fn figures(searched: &SearchedPrints, search: &Search) -> Vec<Figure> {
    vec![
        silent("bits", json!(search.width.bits())),
        silent("distance", json!(search.radius.bits())),
        spilled(searched.spilled),
        Figure { name: "exact", value: json!(true), words: Some("exact".to_owned()) },
    ]
}

fn text_figures(found: &TextFound, seconds: f64, alike: &Alike) -> Vec<Figure> {
    let radius = alike.likeness.radius.map(Radius::bits);
    let mut figures = vec![
        silent("recipe", json!(alike.recipe.to_string())),
        silent("distance", json!(radius)),
        silent("verify", json!(alike.likeness.verify.map(|verify| verify.to_string()))),
        spilled(found.spilled),
    ];
    figures.extend(texts::figures(found, seconds).into_iter().map(|figure| match figure.name {
        "exact" => Figure { words: Some(texts::how_words(found)), ..figure },
        _ => figure,
    }));
    figures
}

fn silent(name: &'static str, value: Value) -> Figure {
    Figure { name, value, words: None }
}

fn spilled(spilled: u64) -> Figure {
    let words = (spilled > 0).then(|| format!("{} spilled", bytes(spilled)));
    Figure { words, ..silent("spilled_bytes", json!(spilled)) }
}
