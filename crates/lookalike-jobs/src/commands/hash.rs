//! `lookalike hash`: what is the fingerprint of each of these items?

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use lookalike::kind::{Purpose, Reads, Registry};
use serde_json::json;

use super::found::figure;
use crate::{
    args::{HashArgs, ImageArgs, VerifyArgs},
    config::{Work, input_options},
    host::{Console, Host},
    kinds::{Choice, Chosen},
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
    let choice = Choice {
        recipe: &args.recipe,
        verify: &VerifyArgs::default(),
        images: ImageArgs::default(),
        distance: None,
        blocks: None,
    };
    let chosen = Chosen::new(registry, &name, choice, &[("cache", args.cache.cache.is_some())])?;
    ensure!(
        chosen.registration.reads != Reads::Prints,
        "these are fingerprints already; pairs finds the near ones"
    );
    check_extension(args.output.file())?;
    let mut skipped = skipped(&args, console)?;
    let work = Work::new(args.work.clone(), host)?;
    let reads = chosen.registration.reads;
    let options = input_options(reads, &args.rows, &args.cache, &work);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let chosen = chosen.of_dimensions(inputs.dimensions())?;
    let mut output = Output::create(&args.output, console)?;
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let mut writing = Writing { chosen: &chosen, output: &mut output, written: 0, without: vec![] };
    let how = Reading {
        kind: &*chosen.kind,
        make: None,
        is_other: false,
        on_beat: &|| {},
        progress: &progress,
    };
    work.on_threads(|| inputs.read(&how, &mut skipped, &mut |items| writing.take(&items)))?;
    let Writing { written, without, .. } = writing;
    for name in &without {
        let what = format!("an {} without anything to see in it", chosen.kind.name());
        let what = match reads {
            Reads::Records => "no features in it, so it has no fingerprint".to_owned(),
            Reads::Vectors => {
                "kept as it is, so it has no fingerprint; --recipe hyperplanes makes bits"
                    .to_owned()
            }
            _ => what + ", so it has no fingerprint",
        };
        skipped.note(Bad::item(name, Reason::NoFeatures, what), 1);
    }
    output.finish()?;
    skipped.finish_list()?;
    progress.clear();
    console.notes(inputs.notes());
    summary(&chosen, written, &skipped, start, console)?;
    Ok(ExitCode::SUCCESS)
}

fn skipped(args: &HashArgs, console: Console<'_>) -> Result<Skipped> {
    let inputs = args.inputs.iter().map(PathBuf::as_path).chain(args.recipe.files());
    check_places([args.output.place()].into_iter().chain(args.skipped.as_deref()), inputs)?;
    Skipped::unless(args.rows.strict).listed_in(args.skipped.as_deref(), args.output.force, console)
}

fn summary(
    chosen: &Chosen,
    items: u64,
    skipped: &Skipped,
    start: Instant,
    console: Console<'_>,
) -> Result<()> {
    let recipe = chosen.kind.recipe();
    let made = figure("recipe", json!(recipe), recipe.clone());
    let radius = chosen.kind.usual_distance();
    let alike = figure(
        "radius",
        json!(radius.bits()),
        format!("alike within {radius} bits: use pairs --distance {radius}"),
    );
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary { items, skipped, seconds, figures: vec![made, alike], plan: None };
    chosen.criteria(Purpose::List)?;
    summary.say(console);
    Ok(())
}

/// Fingerprints on their way out.
struct Writing<'a> {
    chosen: &'a Chosen,
    output: &'a mut Output,
    written: u64,
    /// Items that have none.
    without: Vec<String>,
}

impl Writing<'_> {
    /// Writes a line for each item that has a fingerprint.
    fn take(&mut self, items: &Items<'_>) -> Result<()> {
        let width = self.chosen.kind.shape().width;
        let mut lines = Vec::new();
        for (number, item) in (items.first..).zip(&items.items) {
            let id = items.ids.at(number);
            match item.digest.print() {
                Some(print) => {
                    self.written += 1;
                    write_line(&mut lines, id, &print.to_hex(width));
                }
                None => self.without.push(items.name(number, item)),
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
        bail!("{}: fingerprints are written as JSON lines; use .jsonl", file.display());
    }
    Ok(())
}
