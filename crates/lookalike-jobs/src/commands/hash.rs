//! `lookalike hash`: prints the fingerprints of items.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use lookalike::kind::{Reads, Registry};
use serde_json::json;

use super::figures::figure;
use crate::{
    args::HashArgs,
    config::{Work, input_options},
    host::{Console, Host},
    kinds::{CompareOptions, SelectedKind},
    report::{Output, Summary, check_places, json_id},
    source::{Bad, Id, Inputs, Items, Reading, Reason, Skipped, guess_kind},
};

pub fn run(args: HashArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let start = Instant::now();
    let name = args.kind.clone();
    let name = name.unwrap_or_else(|| match guess_kind(&args.inputs, &args.rows, "text") {
        "hash" => "text".to_owned(),
        guess => guess.to_owned(),
    });
    let compare = CompareOptions::from(&args.recipe);
    let others = [("cache", args.cache.cache.is_some())];
    let selected = SelectedKind::new(registry, &name, compare, &others)?;
    ensure!(
        selected.registration.reads != Reads::Prints,
        "the input already holds fingerprints; use lookalike pairs to find the near ones"
    );
    check_extension(args.output.file())?;
    let mut skipped = open_skipped(&args, console)?;
    let work = Work::new(args.work.clone(), host)?;
    let reads = selected.registration.reads;
    let options = input_options(reads, &args.rows, &args.cache, &work);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let selected = selected.of_dimensions(inputs.dimensions())?;
    let mut output = Output::create(&args.output, console)?;
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let mut writer =
        FingerprintWriter { selected: &selected, output: &mut output, written: 0, unfit: vec![] };
    let reading = Reading {
        kind: &*selected.kind,
        make: None,
        is_other: false,
        on_progress: &|| {},
        progress: &progress,
    };
    work.on_threads(|| inputs.read(&reading, &mut skipped, &mut |items| writer.write(&items)))?;
    let FingerprintWriter { written, unfit, .. } = writer;
    let why = match reads {
        Reads::Records => "no features, so it has no fingerprint".to_owned(),
        Reads::Vectors => "no fingerprint; --recipe hyperplanes makes one".to_owned(),
        _ => format!("a featureless {}, so it has no fingerprint", selected.kind.name()),
    };
    for name in &unfit {
        skipped.note(Bad::item(name, Reason::NoFeatures, why.clone()), 1);
    }
    output.finish()?;
    skipped.finish_list()?;
    progress.clear();
    console.notes(inputs.notes());
    print_summary(&selected, written, &skipped, start, console);
    Ok(ExitCode::SUCCESS)
}

fn open_skipped(args: &HashArgs, console: Console<'_>) -> Result<Skipped> {
    let inputs = args.inputs.iter().map(PathBuf::as_path).chain(args.recipe.files());
    check_places([args.output.path()].into_iter().chain(args.skipped.as_deref()), inputs)?;
    Skipped::unless(args.rows.strict).listed_in(args.skipped.as_deref(), args.output.force, console)
}

fn print_summary(
    selected: &SelectedKind,
    items: u64,
    skipped: &Skipped,
    start: Instant,
    console: Console<'_>,
) {
    let recipe = selected.kind.recipe();
    let recipe = figure("recipe", json!(recipe), recipe.clone());
    let radius = selected.kind.usual_distance();
    let radius = figure(
        "radius",
        json!(radius.bits()),
        format!("alike within {radius} bits: search with pairs --distance {radius}"),
    );
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary { items, skipped, seconds, figures: vec![recipe, radius], plan: None };
    summary.say(console);
}

struct FingerprintWriter<'a> {
    selected: &'a SelectedKind,
    output: &'a mut Output,
    written: u64,
    /// Names of items without a fingerprint.
    unfit: Vec<String>,
}

impl FingerprintWriter<'_> {
    /// Writes a line for each item that has a fingerprint.
    fn write(&mut self, items: &Items<'_>) -> Result<()> {
        let width = self.selected.kind.shape().width;
        let mut lines = Vec::new();
        for (number, item) in (items.first..).zip(&items.items) {
            let id = items.ids.at(number);
            match item.digest.print() {
                Some(print) => {
                    self.written += 1;
                    write_line(&mut lines, id, &print.to_hex(width));
                }
                None => self.unfit.push(items.name(number, item)),
            }
        }
        self.output.write_all(&lines).context("cannot write the fingerprints")
    }
}

fn write_line(lines: &mut Vec<u8>, id: Id<'_>, print: &str) {
    lines.extend_from_slice(b"{\"id\":");
    json_id(lines, id);
    lines.extend_from_slice(b",\"fingerprint\":\"");
    lines.extend_from_slice(print.as_bytes());
    lines.extend_from_slice(b"\"}\n");
}

fn check_extension(file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let extension = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_device = file.exists() && !file.is_file() && !file.is_dir();
    if !is_device && !matches!(extension.as_str(), "jsonl" | "ndjson" | "json") {
        bail!(
            "{}: fingerprints are written as JSON lines; use the extension .jsonl",
            file.display()
        );
    }
    Ok(())
}
