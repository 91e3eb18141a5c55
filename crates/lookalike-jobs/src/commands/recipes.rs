//! `lookalike recipes`: lists the presets; `recipes learn` writes the corpus model that some of
//! them need.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, Result, bail};
use lookalike::{
    Preset,
    extract::image::Decoder,
    kind::text,
    model::{Learner, Model},
    recipe::{ImagePreset, ImageQuality},
};
use serde_json::json;

use crate::{
    args::{LearnArgs, OutputArgs, RecipesArgs, RecipesCommand},
    host::{Console, Host},
    kinds::{CompareOptions, usage_error},
    report::{Output, check_places, counted, json_line},
    source::{Cache, FileReading, Files, RowOptions, Rows, Skipped},
};

pub fn run(args: RecipesArgs, host: &Host) -> Result<ExitCode> {
    let console = Console::plain(host, false);
    match args.command {
        Some(RecipesCommand::Learn(args)) => learn(args, console)?,
        None if args.json => {
            let images = ImagePreset::ALL.iter().map(image_json);
            console.print(&Preset::ALL.iter().map(text_json).chain(images).collect::<String>())?;
        }
        None => console.print(&(text_table() + &image_table()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text_table() -> String {
    let head = ["NAME", "BITS", "DISTANCE", "FEATURES", "WEIGHTS", "VERIFIED BY", "P / R / F1"];
    let mut table = text_row(head.map(str::to_owned), "USE");
    let mut sources = Vec::new();
    for Preset { recipe, radius, verify, quality, description, .. } in Preset::ALL {
        sources.extend(quality.map(|quality| format!("{}: {}", recipe.name, quality.source)));
        let cells = [
            recipe.name.to_string(),
            recipe.width.bits().to_string(),
            radius.to_string(),
            recipe.features.to_string(),
            recipe.weights.to_string(),
            verify.map_or("-".to_owned(), |verify| {
                format!("{} >= {}", verify.measure.name(), verify.similarity)
            }),
            quality.map_or("-".to_owned(), |quality| {
                let figures = [quality.precision, quality.recall, quality.f1];
                figures.map(|figure| format!("{figure:.2}")).join(" ")
            }),
        ];
        table += &text_row(cells, description);
    }
    let sources = sources.join("; ");
    table += &format!(
        "\nP, R, F1: precision, recall and their harmonic mean on labelled texts ({sources}).\n"
    );
    table
}

fn text_row(cells: [String; 7], description: &str) -> String {
    let [name, bits, distance, features, weights, verified, quality] = cells;
    format!(
        "{name:<10} {bits:>4} {distance:>8}  {features:<12} {weights:<7} {verified:<18} \
         {quality:<15} {description}\n"
    )
}

fn image_table() -> String {
    let mut table =
        "\nIMAGES   BITS  DISTANCE: COPY, NEAR, SIMILAR  FOUND  FALSE  USE\n".to_owned();
    for ImagePreset { recipe, levels, quality, description, .. } in ImagePreset::ALL {
        let levels = levels.map(|radius| radius.to_string()).join(", ");
        let ImageQuality { recall, false_pairs } = quality;
        let (name, bits) = (recipe.name(), recipe.width.bits());
        table += &format!(
            "{name:<10} {bits:>4}  {levels:<29} {recall:>6.3} {false_pairs:>6.0}  {description}\n"
        );
    }
    table
        + "\nFOUND: fraction of copies found (other format, size, quality or tone); FALSE: false matches \
           per million unrelated pairs. Measured on 92 photographs.\n"
}

fn image_json(preset: &ImagePreset) -> String {
    let ImagePreset { recipe, levels, quality, description, .. } = preset;
    let ImageQuality { recall, false_pairs } = quality;
    let quality = json!({ "recall": recall, "false_per_million": false_pairs });
    let fields = [
        ("name", json!(recipe.name())),
        ("kind", json!("image")),
        ("bits", json!(recipe.width.bits())),
        ("radius", json!(preset.radius().bits())),
        ("levels", json!(levels.map(|radius| radius.bits()))),
        ("version", json!(recipe.version)),
        ("quality", quality),
        ("description", json!(description)),
    ];
    json_line(&fields) + "\n"
}

fn text_json(preset: &Preset) -> String {
    let Preset { recipe, radius, verify, quality, description, .. } = preset;
    let quality = quality.map(|quality| {
        json!({
            "precision": quality.precision, "recall": quality.recall, "f1": quality.f1,
            "source": quality.source,
        })
    });
    let fields = [
        ("name", json!(recipe.name)),
        ("bits", json!(recipe.width.bits())),
        ("radius", json!(radius.bits())),
        ("features", json!(recipe.features.to_string())),
        ("weights", json!(recipe.weights.name())),
        ("hash", json!(recipe.hash.name())),
        ("version", json!(recipe.version)),
        ("verify", json!(verify.map(|verify| verify.to_string()))),
        ("quality", json!(quality)),
        ("description", json!(description)),
    ];
    json_line(&fields) + "\n"
}

fn learn_images(args: &LearnArgs, preset: &ImagePreset, console: Console<'_>) -> Result<()> {
    let Some(name) = preset.recipe.model_name() else {
        bail!("--recipe {} uses no model; --recipe hsv does", preset.recipe.name())
    };
    let mut output = create_model_file(args, console)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let (cache, memory) = (Arc::new(Cache::none()), Arc::default());
    let reading = FileReading { follow_links: args.rows.follow_links, cache, memory };
    let images = Files::open(&args.inputs, &reading, &mut skipped)?;
    let decoder = Decoder { colour: true, ..Decoder::default() };
    let hashes = images.sampled(args.sample, &mut skipped, &|bytes| {
        Ok(preset.recipe.colour_hashes(&decoder.decode(bytes)?))
    })?;
    let model = Model::of_hashes(name, hashes);
    model.write(&mut output)?;
    output.finish()?;
    skipped.lines().for_each(|line| console.note(&line));
    let (images, path) = (counted(model.texts().into(), "image"), args.output.display());
    console.note(&format!("learned from {images}: {name}; use it with --model {path}"));
    Ok(())
}

/// Creates the model file, which must not be an input.
fn create_model_file(args: &LearnArgs, console: Console<'_>) -> Result<Output> {
    let inputs = args.inputs.iter().map(PathBuf::as_path).chain(args.recipe.files());
    check_places([args.output.as_path()], inputs)?;
    Output::create(&OutputArgs { output: Some(args.output.clone()), force: args.force }, console)
}

fn learn(args: LearnArgs, console: Console<'_>) -> Result<()> {
    let console = Console { quiet: args.quiet, ..console };
    let name = args.recipe.recipe.as_deref();
    if let Some(Ok(preset)) = name.map(ImagePreset::named) {
        return learn_images(&args, preset, console);
    }
    let preset = Preset::named(name.unwrap_or("words")).context("--recipe")?;
    let settings = CompareOptions::from(&args.recipe).settings()?;
    let recipe = text::recipe_of(preset, &settings).map_err(usage_error)?;
    let mut output = create_model_file(&args, console)?;
    let mut learner = Learner::new(&recipe);
    let mut skipped = Skipped::unless(args.rows.strict);
    let mut rows = Rows::open(&args.inputs, RowOptions::from(&args.rows), &mut skipped)?;
    rows.read(&mut skipped, &mut |batch| {
        batch.rows.iter().for_each(|row| learner.add(row.text()));
        Ok(())
    })?;
    let model = learner.finish();
    model.write(&mut output)?;
    output.finish()?;
    console.notes(rows.notes());
    skipped.lines().for_each(|line| console.note(&line));
    let (texts, of) = (counted(model.texts().into(), "text"), model.features_name());
    let path = args.output.display();
    console.note(&format!("learned from {texts}: {of}; use it with --model {path}"));
    Ok(())
}
