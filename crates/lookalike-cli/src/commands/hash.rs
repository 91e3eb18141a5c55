//! `lookalike hash`: what is the fingerprint of each of these texts?

use std::{io::Write, path::Path, process::ExitCode, time::Instant};

use anyhow::{Context, Result, bail};
use lookalike::{Fingerprint, Recipe};
use rayon::prelude::*;
use serde_json::json;

use crate::{
    args::HashArgs,
    config::{Making, on_threads},
    report::{Figure, Output, Progress, Summary, counted, json_id, say},
    source::{Each, Id, Reason, Skipped, TextItem, Texts},
};

pub fn run(args: HashArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let Making { recipe, radius } = Making::new(&args.recipe, None)?;
    check_ending(args.output.output.as_deref())?;
    let mut output = Output::create(&args.output)?;
    let texts = Texts::new(args.inputs, if args.lines { Each::Line } else { Each::Input });
    let mut skipped = Skipped::new(args.skip_bad);
    let progress = Progress::new(args.talk.quiet);
    let written = on_threads(args.threads, || {
        write_all(texts, &recipe, &mut output, &mut skipped, &progress)
    })?;
    output.finish()?;
    progress.clear();
    if written.repaired > 0 && !args.talk.quiet {
        say(&format!("note: invalid UTF-8 in {} is replaced", counted(written.repaired, "text")));
    }
    let made = Figure {
        name: "recipe",
        value: json!(recipe.to_string()),
        words: Some(recipe.to_string()),
    };
    let alike = Figure {
        name: "radius",
        value: json!(radius.bits()),
        words: Some(format!("alike within {radius} bits: use pairs --distance {radius}")),
    };
    let summary = Summary {
        items: written.items,
        skipped: &skipped,
        seconds: start.elapsed().as_secs_f64(),
        figures: vec![made, alike],
        plan: None,
    };
    summary.say(args.talk);
    Ok(ExitCode::SUCCESS)
}

/// What was written.
#[derive(Default)]
struct Written {
    items: u64,
    /// Texts with invalid UTF-8.
    repaired: u64,
}

fn write_all(
    mut texts: Texts,
    recipe: &Recipe,
    output: &mut Output,
    skipped: &mut Skipped,
    progress: &Progress,
) -> Result<Written> {
    let mut written = Written::default();
    let mut lines = Vec::new();
    loop {
        let piece = texts.next_piece();
        if piece.is_empty() {
            return Ok(written);
        }
        progress.read(piece.len());
        let prints: Vec<_> = piece.par_iter().map(|item| fingerprint(item, recipe)).collect();
        for (TextItem { place, text }, print) in piece.into_iter().zip(prints) {
            match (text, print) {
                (Err(bad), _) if texts.is_all(place) => return Err(bad.error()),
                (Err(bad), _) => skipped.add(bad)?,
                (Ok(_), None) => {
                    let what = format!("no {} in it, so it has no fingerprint", recipe.features);
                    skipped.note(texts.bad(place, Reason::NoFeatures, what), 1);
                }
                (Ok(text), Some(print)) => {
                    written.items += 1;
                    written.repaired += u64::from(!text.valid);
                    write_line(&mut lines, texts.id(place), &print.to_hex(recipe.width));
                }
            }
        }
        output.write_all(&lines).context("cannot write the fingerprints")?;
        lines.clear();
    }
}

fn fingerprint(item: &TextItem, recipe: &Recipe) -> Option<Fingerprint<4>> {
    item.text.as_ref().ok().and_then(|text| recipe.fingerprint_any(&text.text))
}

fn write_line(lines: &mut Vec<u8>, id: Id<'_>, print: &str) {
    lines.extend_from_slice(b"{\"id\":");
    json_id(lines, id);
    lines.extend_from_slice(b",\"fingerprint\":\"");
    lines.extend_from_slice(print.as_bytes());
    lines.extend_from_slice(b"\"}\n");
}

fn check_ending(file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_device = file.exists() && !file.is_file() && !file.is_dir();
    if !is_device && !matches!(ending.as_str(), "jsonl" | "ndjson" | "json") {
        bail!("{}: fingerprints are written as JSON lines; use .jsonl", file.display());
    }
    Ok(())
}
