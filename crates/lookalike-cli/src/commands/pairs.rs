//! `lookalike pairs`: which fingerprints of these inputs are within the radius?

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use lookalike::{Pairs, Plan, Width};
use serde_json::json;

use crate::{
    args::{OutputArgs, PairsArgs, TalkArgs},
    config::Search,
    report::{
        EqualPolicy, Figure, Output, PairWriter, Progress, Summary, TableFile, bytes, counted,
        for_each_pair, json_line, say,
    },
    source::{Expected, Fingerprints, Ids, Skipped},
};

pub fn run(args: PairsArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let mut skipped = Skipped::new(args.skip_bad);
    let expected = Expected { kind: args.kind, bits: args.bits };
    let source = Fingerprints::open(&args.inputs, expected, &mut skipped)?;
    let search = Search::new(args.search, source.width)?;
    if args.kind.is_none() && !args.talk.quiet {
        say(&format!("reading fingerprints of {} bits", source.width.bits()));
    }
    if args.plan {
        return plan(source, &search, &mut skipped, args.talk);
    }
    let report = Report::open(args.output, args.equal.into(), args.talk)?;
    let found = search.on_threads(|| match search.width {
        Width::Bits32 | Width::Bits64 => find::<1>(source, &search, &mut skipped, args.talk),
        Width::Bits128 => find::<2>(source, &search, &mut skipped, args.talk),
        Width::Bits256 => find::<4>(source, &search, &mut skipped, args.talk),
    })?;
    report.write(&found, &search, &skipped, start)?;
    Ok(ExitCode::SUCCESS)
}

/// Every pair, and what the items are called.
struct Found {
    pairs: Pairs,
    ids: Ids,
}

fn find<const WORDS: usize>(
    source: Fingerprints,
    search: &Search,
    skipped: &mut Skipped,
    talk: TalkArgs,
) -> Result<Found> {
    let progress = Progress::new(talk.quiet);
    let on_progress = |part| progress.searched(part);
    let mut collector = search.all_pairs(&on_progress).collector::<WORDS>();
    let ids = source.read(skipped, &mut |piece| {
        progress.read(piece.len());
        Ok(collector.push(piece)?)
    })?;
    let pairs = collector.finish()?;
    Ok(Found { pairs, ids })
}

/// Reads everything, says how its pairs would be found, and stops.
fn plan(
    source: Fingerprints,
    search: &Search,
    skipped: &mut Skipped,
    talk: TalkArgs,
) -> Result<ExitCode> {
    let (items, plan) = search.on_threads(|| match search.width {
        Width::Bits32 | Width::Bits64 => plan_of::<1>(source, search, skipped),
        Width::Bits128 => plan_of::<2>(source, search, skipped),
        Width::Bits256 => plan_of::<4>(source, search, skipped),
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
    source: Fingerprints,
    search: &Search,
    skipped: &mut Skipped,
) -> Result<(u64, Plan)> {
    let mut prints = Vec::new();
    let ids = source.read::<WORDS>(skipped, &mut |piece| {
        prints.extend_from_slice(piece);
        Ok(())
    })?;
    Ok((ids.len(), search.all_pairs(&|_| {}).plan(&prints)?))
}

/// Where and how pairs are written.
struct Report {
    output: Output,
    file: TableFile,
    equal: EqualPolicy,
    talk: TalkArgs,
}

impl Report {
    fn open(args: OutputArgs, equal: EqualPolicy, talk: TalkArgs) -> Result<Self> {
        let file = TableFile::of(args.output.as_deref())?;
        Ok(Self { output: Output::create(&args)?, file, equal, talk })
    }

    fn write(
        self,
        Found { pairs, ids }: &Found,
        search: &Search,
        skipped: &Skipped,
        start: Instant,
    ) -> Result<()> {
        let mut writer = PairWriter::new(self.output, self.file, ids)?;
        for_each_pair(pairs, self.equal, |pair| writer.write(pair))?;
        let written = writer.written();
        writer.finish()?;
        if !self.talk.quiet {
            self.equal.note(pairs).iter().for_each(|note| say(note));
        }
        let summary = Summary {
            items: ids.len(),
            skipped,
            seconds: start.elapsed().as_secs_f64(),
            figures: figures(pairs, written, search),
            plan: Some(pairs.plan().to_string()),
        };
        summary.say(self.talk);
        Ok(())
    }
}

fn figures(pairs: &Pairs, written: u64, search: &Search) -> Vec<Figure> {
    let groups = pairs.equal_groups().count() as u64;
    let spilled = pairs.spilled();
    let within = counted(search.radius.bits().into(), "bit");
    let found = format!("{} within {within}", counted(written, "pair"));
    let silent = |name, number: u64| Figure { name, value: json!(number), words: None };
    let told = |name, number: u64, words| Figure { name, value: json!(number), words: Some(words) };
    vec![
        silent("bits", search.width.bits().into()),
        silent("distance", search.radius.bits().into()),
        told("pairs", written, found),
        told("equal_groups", groups, counted(groups, "group") + " of equal items"),
        Figure {
            words: (spilled > 0).then(|| format!("{} spilled", bytes(spilled))),
            ..silent("spilled_bytes", spilled)
        },
        Figure { name: "exact", value: json!(true), words: Some("exact".to_owned()) },
    ]
}
