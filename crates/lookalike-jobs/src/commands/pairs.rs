//! `lookalike pairs`: which items of these inputs are alike?

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context, Result, bail};
use lookalike::{
    Criteria, Pairs, Search,
    digest::Digests,
    kind::{Purpose, Registry},
    pairs::Plan,
    search::{AlikePairs, Equals},
    verify::Similarity,
};
use serde_json::json;

use super::{
    count,
    found::{figure, how_words, search_figures, silent},
    read::{ReadItems, Sources, left},
};
use crate::{
    args::{OutputArgs, PairsArgs, VerifyArgs},
    config::{UNWATCHED, Work, input_options},
    host::{Console, Host},
    kinds::{Choice, Chosen, usage},
    report::{Figure, Output, PairWriter, Summary, TableFile, check_places, counted, json_line},
    source::{Ids, Inputs, Skipped, guess_kind},
};

pub fn run(args: PairsArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let start = Instant::now();
    let name = args.kind.clone();
    let name = name.unwrap_or_else(|| guess_kind(&args.inputs, &args.rows, "hash").to_owned());
    let verify = match args.count {
        true => count::loosest(&args.verify, registry.named(&name).map_err(usage)?)?,
        false => VerifyArgs { ..args.verify },
    };
    let choice = Choice {
        recipe: &args.recipe,
        verify: &verify,
        images: args.images,
        distance: args.search.distance,
        blocks: args.search.blocks,
    };
    let others = [("plan", args.plan), ("cache", args.cache.cache.is_some())];
    let chosen = Chosen::new(registry, &name, choice, &others)?;
    chosen.criteria(Purpose::List)?;
    let mut skipped = listed(&args, console)?;
    let work = Work::new(args.search.work, host)?;
    let reads = chosen.registration.reads;
    let mut options = input_options(reads, &args.rows, &args.cache, &work);
    options.prints.kind = args.kind.clone();
    options.prints.bits = args.recipe.bits;
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let chosen = chosen.of_width(inputs.width())?.of_dimensions(inputs.dimensions())?;
    let by = chosen.criteria(Purpose::List)?;
    let report = match args.plan || args.count {
        true => None,
        false => Some(Report::open(args.output, args.equal.into(), console)?),
    };
    let sources = Sources {
        own: &mut inputs,
        others: None,
        collection: None,
        skipped: &mut skipped,
        console,
        on_beat: &|| {},
        make: None,
    };
    let resources = work.resources(UNWATCHED);
    let found = work.on_threads(|| {
        let read = sources.read(&chosen, &by, &resources, &work, &mut |_| Ok(()))?;
        match report {
            None if args.count => {
                let items = read.digests.len();
                let found = find(&chosen, &by, read, &work, console)?;
                let loosest = by.similarity.map_or(0.0, Similarity::get);
                console.print(&count::table(&found.pairs, items, loosest, console.json)?)?;
                Ok(None)
            }
            None => plan(&chosen, &by, &read, &work, console).map(|()| None),
            Some(report) => find(&chosen, &by, read, &work, console).map(|it| Some((it, report))),
        }
    })?;
    if let Some((found, report)) = found {
        report.write(&found, &mut skipped, start)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks where everything goes. What is skipped is listed where the user says.
fn listed(args: &PairsArgs, console: Console<'_>) -> Result<Skipped> {
    let PairsArgs { inputs, skipped, output, rows, recipe, .. } = args;
    let inputs = inputs.iter().map(PathBuf::as_path).chain(recipe.files());
    check_places([output.place()].into_iter().chain(skipped.as_deref()), inputs)?;
    Skipped::unless(rows.strict).listed_in(skipped.as_deref(), output.force, console)
}

/// Every pair, what the items are called, and what else there is to say.
struct FoundPairs {
    pairs: AlikePairs,
    ids: Ids,
    figures: Vec<Figure>,
    plan: String,
    /// When two items are alike.
    within: String,
}

fn find(
    chosen: &Chosen,
    by: &Criteria,
    read: ReadItems,
    work: &Work,
    console: Console<'_>,
) -> Result<FoundPairs> {
    let ReadItems { digests, ids, .. } = read;
    let work = left(work, &digests);
    announce(chosen, by, &digests, &work, console)?;
    let (Pairs { pairs, found, .. }, seconds) =
        super::search(&work, console, &|| {}, |resources| {
            Search::new(&*chosen.kind, by, resources).pairs(&digests)
        })?;
    let mut figures = search_figures(chosen, by, &found, seconds);
    figures.push(figure("exact", json!(found.is_exact()), how_words(chosen, &found)));
    Ok(FoundPairs { pairs, ids, figures, plan: found.plan, within: chosen.kind.words(by) })
}

/// Says how many pairs to expect, if they are many, before they are looked for.
fn announce(
    chosen: &Chosen,
    by: &Criteria,
    digests: &Digests,
    work: &Work,
    console: Console<'_>,
) -> Result<()> {
    if console.quiet {
        return Ok(());
    }
    let resources = work.resources(UNWATCHED);
    let expected = Search::new(&*chosen.kind, by, &resources).expected_pairs(digests)?;
    if let Some(pairs) = expected.filter(|&pairs| pairs >= MANY_PAIRS) {
        // Two digits: more would claim too much.
        let unit = 10u64.pow(pairs.ilog10() - 1);
        console.note(&format!("expecting about {}", counted(pairs / unit * unit, "pair")));
    }
    Ok(())
}

/// From this many pairs on, the user hears of them before they are listed.
const MANY_PAIRS: u64 = 10_000;

/// Says how pairs would be found.
fn plan(
    chosen: &Chosen,
    by: &Criteria,
    read: &ReadItems,
    work: &Work,
    console: Console<'_>,
) -> Result<()> {
    let resources = work.resources(UNWATCHED);
    let plan: Option<Plan> = Search::new(&*chosen.kind, by, &resources).plan(&read.digests)?;
    let Some(plan) = plan else {
        bail!("--plan: the fingerprints do not fit into --memory; leave it out");
    };
    let (items, bits) = (u64::from(read.digests.len()), chosen.kind.shape().width.bits());
    let radius = by.distance.context("fingerprints are compared by distance")?;
    console.print(&if console.json {
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
    })
}

/// Where and how pairs are written.
struct Report<'h> {
    output: Output,
    file: TableFile,
    equals: Equals,
    console: Console<'h>,
}

impl<'h> Report<'h> {
    fn open(args: OutputArgs, equals: Equals, console: Console<'h>) -> Result<Self> {
        let file = TableFile::of(args.file())?;
        Ok(Self { output: Output::create(&args, console)?, file, equals, console })
    }

    fn write(self, found: &FoundPairs, skipped: &mut Skipped, start: Instant) -> Result<()> {
        let FoundPairs { pairs, ids, within, .. } = found;
        let mut writer = PairWriter::new(self.output, self.file, ids)?;
        pairs.list(self.equals, |pair| writer.write(pair))?;
        let written = writer.written();
        writer.finish()?;
        skipped.finish_list()?;
        let groups = pairs.equal_groups().count() as u64;
        let words = format!("{} with {within}", counted(written, "pair"));
        let mut figures = vec![
            figure("pairs", json!(written), words),
            silent("duplicate_ids", json!(ids.repeated().0)),
            figure("equal_groups", json!(groups), counted(groups, "group") + " of equal items"),
        ];
        figures.extend(found.figures.iter().cloned());
        let summary = Summary {
            items: ids.len(),
            skipped,
            seconds: start.elapsed().as_secs_f64(),
            figures,
            plan: Some(found.plan.clone()),
        };
        summary.say(self.console);
        Ok(())
    }
}
