//! `lookalike pairs`: lists the matching pairs of the inputs.

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
    figures::{completeness, figure, hidden, search_figures},
    read::{ReadItems, Sources, remaining},
};
use crate::{
    args::{OutputArgs, PairsArgs},
    config::{NO_PROGRESS, Work, input_options},
    host::{Console, Host},
    kinds::{CompareOptions, SelectedKind, usage_error},
    report::{Figure, Output, PairWriter, Summary, TableFile, check_places, counted, json_line},
    source::{Ids, Inputs, Skipped, guess_kind},
};

pub fn run(args: PairsArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let start = Instant::now();
    let name = args.kind.clone();
    let name = name.unwrap_or_else(|| guess_kind(&args.inputs, &args.rows, "hash").to_owned());
    let verify = match args.count {
        true => count::loosest(args.verify, registry.named(&name).map_err(usage_error)?)?,
        false => args.verify,
    };
    let compare = CompareOptions {
        recipe: &args.recipe,
        verify,
        images: args.images,
        distance: args.search.distance,
        blocks: args.search.blocks,
    };
    let others = [("plan", args.plan), ("cache", args.cache.cache.is_some())];
    let selected = SelectedKind::new(registry, &name, compare, &others)?;
    selected.criteria(Purpose::List)?;
    let mut skipped = open_skipped(&args, console)?;
    let work = Work::new(args.search.work, host)?;
    let reads = selected.registration.reads;
    let mut options = input_options(reads, &args.rows, &args.cache, &work);
    options.prints.kind = args.kind.clone();
    options.prints.bits = args.recipe.bits;
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let selected = selected.of_width(inputs.width())?.of_dimensions(inputs.dimensions())?;
    let by = selected.criteria(Purpose::List)?;
    let output = match args.plan || args.count {
        true => None,
        false => Some(PairOutput::open(args.output, args.equal.into(), console)?),
    };
    let sources = Sources {
        own: &mut inputs,
        others: None,
        collection: None,
        skipped: &mut skipped,
        console,
        on_progress: &|| {},
        custom_digester: None,
    };
    let resources = work.resources(NO_PROGRESS);
    let result = work.on_threads(|| {
        let read = sources.read(&selected, &by, &resources, &work, &mut |_| Ok(()))?;
        match output {
            None if args.count => {
                let items = read.digests.len();
                let found = find(&selected, &by, read, &work, console)?;
                let loosest = by.similarity.map_or(0.0, Similarity::get);
                console.print(&count::table(&found.pairs, items, loosest, console.json)?)?;
                Ok(None)
            }
            None => print_plan(&selected, &by, &read, &work, console).map(|()| None),
            Some(output) => find(&selected, &by, read, &work, console).map(|it| Some((it, output))),
        }
    })?;
    if let Some((result, output)) = result {
        output.write(&result, &mut skipped, start)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks the paths of all outputs, and opens the list of skipped records.
fn open_skipped(args: &PairsArgs, console: Console<'_>) -> Result<Skipped> {
    let PairsArgs { inputs, skipped, output, rows, recipe, .. } = args;
    let inputs = inputs.iter().map(PathBuf::as_path).chain(recipe.files());
    check_places([output.path()].into_iter().chain(skipped.as_deref()), inputs)?;
    Skipped::unless(rows.strict).listed_in(skipped.as_deref(), output.force, console)
}

struct PairsResult {
    pairs: AlikePairs,
    ids: Ids,
    figures: Vec<Figure>,
    plan: String,
    /// When two items match.
    criteria: String,
}

fn find(
    selected: &SelectedKind,
    by: &Criteria,
    read: ReadItems,
    work: &Work,
    console: Console<'_>,
) -> Result<PairsResult> {
    let ReadItems { digests, ids, .. } = read;
    let work = remaining(work, &digests);
    note_expected_pairs(selected, by, &digests, &work, console)?;
    let (Pairs { pairs, found: stats, .. }, seconds) =
        super::search(&work, console, &|| {}, |resources| {
            Search::new(&*selected.kind, by, resources).pairs(&digests)
        })?;
    let mut figures = search_figures(selected, by, &stats, seconds);
    figures.push(figure("exact", json!(stats.is_exact()), completeness(selected, &stats)));
    Ok(PairsResult { pairs, ids, figures, plan: stats.plan, criteria: selected.kind.words(by) })
}

/// Before the search, notes how many pairs to expect if they are many.
fn note_expected_pairs(
    selected: &SelectedKind,
    by: &Criteria,
    digests: &Digests,
    work: &Work,
    console: Console<'_>,
) -> Result<()> {
    if console.quiet {
        return Ok(());
    }
    let resources = work.resources(NO_PROGRESS);
    let expected = Search::new(&*selected.kind, by, &resources).expected_pairs(digests)?;
    if let Some(pairs) = expected.filter(|&pairs| pairs >= MANY_PAIRS) {
        // Two significant digits: the estimate is not more precise.
        let unit = 10u64.pow(pairs.ilog10() - 1);
        console.note(&format!("expecting about {}", counted(pairs / unit * unit, "pair")));
    }
    Ok(())
}

/// If this many pairs or more are expected, a note says so before the search.
const MANY_PAIRS: u64 = 10_000;

/// Prints how the pairs would be found.
fn print_plan(
    selected: &SelectedKind,
    by: &Criteria,
    read: &ReadItems,
    work: &Work,
    console: Console<'_>,
) -> Result<()> {
    let resources = work.resources(NO_PROGRESS);
    let plan: Option<Plan> = Search::new(&*selected.kind, by, &resources).plan(&read.digests)?;
    let Some(plan) = plan else {
        bail!("--plan: the fingerprints do not fit into --memory; omit --memory");
    };
    let (items, bits) = (u64::from(read.digests.len()), selected.kind.shape().width.bits());
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

struct PairOutput<'h> {
    output: Output,
    file: TableFile,
    equals: Equals,
    console: Console<'h>,
}

impl<'h> PairOutput<'h> {
    fn open(args: OutputArgs, equals: Equals, console: Console<'h>) -> Result<Self> {
        let file = TableFile::of(args.file())?;
        Ok(Self { output: Output::create(&args, console)?, file, equals, console })
    }

    fn write(self, result: &PairsResult, skipped: &mut Skipped, start: Instant) -> Result<()> {
        let PairsResult { pairs, ids, criteria, .. } = result;
        let mut writer = PairWriter::new(self.output, self.file, ids)?;
        pairs.list(self.equals, |pair| writer.write(pair))?;
        let written = writer.written();
        writer.finish()?;
        skipped.finish_list()?;
        let groups = pairs.equal_groups().count() as u64;
        let words = format!("{} with {criteria}", counted(written, "pair"));
        let mut figures = vec![
            figure("pairs", json!(written), words),
            hidden("duplicate_ids", json!(ids.repeated().0)),
            figure("equal_groups", json!(groups), counted(groups, "group") + " of equal items"),
        ];
        figures.extend(result.figures.iter().cloned());
        let summary = Summary {
            items: ids.len(),
            skipped,
            seconds: start.elapsed().as_secs_f64(),
            figures,
            plan: Some(result.plan.clone()),
        };
        summary.say(self.console);
        Ok(())
    }
}
