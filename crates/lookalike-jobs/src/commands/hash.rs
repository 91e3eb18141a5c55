//! `lookalike hash`: what is the fingerprint of each of these texts or images?

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use lookalike::{Radius, Recipe};
use serde_json::json;

use super::texts::{Printed, for_each_print};
use crate::{
    args::{HashArgs, ImageArgs, Kind, VerifyArgs, WorkArgs},
    config::{ImagesAlike, Making, Work, image_reading, on_threads},
    report::{Figure, Output, Progress, Summary, check_places, json_id, say},
    source::{Bad, Id, Images, Reason, RowOptions, Rows, Skipped, are_images, path_text},
};

pub fn run(args: HashArgs) -> Result<ExitCode> {
    let start = Instant::now();
    match args.kind {
        Some(Kind::Hash) => bail!("these are fingerprints already; pairs finds the near ones"),
        Some(Kind::Image) => images(args, start),
        None if are_images(&args.inputs) => images(args, start),
        _ => texts(args, start),
    }
}

/// Every image becomes a line.
fn images(args: HashArgs, start: Instant) -> Result<ExitCode> {
    let options = ImageArgs::default();
    let alike = ImagesAlike::new(&args.recipe, None, &VerifyArgs::default(), options)?;
    check_ending(args.output.file())?;
    let mut skipped = skipped(&args)?;
    let reading = image_reading(&args.cache, &args.rows, None);
    let mut images = Images::open(&args.inputs, &reading, &mut skipped)?;
    let mut output = Output::create(&args.output)?;
    if !args.talk.quiet {
        say(&format!("reading {}", images.what()));
    }
    let progress = Progress::new(args.talk.quiet);
    let work = Work::new(WorkArgs { threads: args.threads, ..WorkArgs::default() })?;
    let search = alike.search(&work);
    let recipe = &alike.recipe;
    let (mut lines, mut flat) = (Vec::new(), Vec::new());
    work.on_threads(|| {
        images.read(&search, &mut skipped, &|| progress.read(1), &mut |item, digest| {
            let name = path_text(&item.path);
            match digest.prints {
                Some(prints) => {
                    write_line(&mut lines, Id::Given(&name), &prints.upright.to_hex(recipe.width));
                }
                None => flat.push(name),
            }
            output.write_all(&lines).context("cannot write the fingerprints")?;
            lines.clear();
            Ok(())
        })
    })?;
    for name in &flat {
        let what = "too flat or too small, so it has no fingerprint";
        skipped.note(Bad::item(name, Reason::NoFeatures, what), 1);
    }
    output.finish()?;
    skipped.finish_list()?;
    progress.clear();
    if !args.talk.quiet {
        images.notes().iter().for_each(|note| say(note));
    }
    let made = images.len() - flat.len() as u64;
    summary(&args, recipe.to_string(), alike.radius, made, &skipped, start);
    Ok(ExitCode::SUCCESS)
}

fn texts(args: HashArgs, start: Instant) -> Result<ExitCode> {
    let Making { recipe, radius } = Making::new(&args.recipe, None)?;
    check_ending(args.output.file())?;
    let mut skipped = skipped(&args)?;
    let mut rows = Rows::open(&args.inputs, RowOptions::from(&args.rows), &mut skipped)?;
    let mut output = Output::create(&args.output)?;
    if !args.talk.quiet {
        say(&format!("reading {}", rows.what()));
    }
    let progress = Progress::new(args.talk.quiet);
    let items = on_threads(args.threads, || {
        write_all(&mut rows, &recipe, &mut output, &mut skipped, &progress)
    })?;
    skipped.check_some(items, 0)?;
    output.finish()?;
    skipped.finish_list()?;
    progress.clear();
    if !args.talk.quiet {
        rows.notes().iter().for_each(|note| say(note));
    }
    summary(&args, recipe.to_string(), radius, items, &skipped, start);
    Ok(ExitCode::SUCCESS)
}

fn skipped(args: &HashArgs) -> Result<Skipped> {
    let inputs = args.inputs.iter().map(PathBuf::as_path).chain(args.recipe.files());
    check_places([args.output.place()].into_iter().chain(args.skipped.as_deref()), inputs)?;
    Skipped::unless(args.rows.strict).listed_in(args.skipped.as_deref(), args.output.force)
}

fn summary(
    args: &HashArgs,
    recipe: String,
    radius: Radius,
    items: u64,
    skipped: &Skipped,
    start: Instant,
) {
    let made = Figure { name: "recipe", value: json!(recipe), words: Some(recipe) };
    let alike = Figure {
        name: "radius",
        value: json!(radius.bits()),
        words: Some(format!("alike within {radius} bits: use pairs --distance {radius}")),
    };
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary { items, skipped, seconds, figures: vec![made, alike], plan: None };
    summary.say(args.talk);
}

/// Writes a line for each item that has a fingerprint, and says how many.
fn write_all(
    rows: &mut Rows,
    recipe: &Recipe,
    output: &mut Output,
    skipped: &mut Skipped,
    progress: &Progress,
) -> Result<u64> {
    let mut written = 0;
    let mut lines = Vec::new();
    for_each_print(rows, recipe, skipped, progress, &mut |prints| {
        written += prints.len() as u64;
        for Printed { id, print, .. } in prints {
            write_line(&mut lines, id, &print.to_hex(recipe.width));
        }
        output.write_all(&lines).context("cannot write the fingerprints")?;
        lines.clear();
        Ok(())
    })?;
    Ok(written)
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
