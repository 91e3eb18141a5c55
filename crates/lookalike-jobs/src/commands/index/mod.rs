//! `lookalike index`: what was seen before? A collection, and all that can be done with it.

mod add;
mod content;
mod held;
mod prints;
mod search;

use std::{
    io::{self, BufRead, BufWriter, Write},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use lookalike::{
    About, Collection, CollectionError, Level, Maker, Preset, Radius,
    collection::{Exported, Stats},
};
use serde_json::json;

use crate::{
    args::{
        IndexBackupArgs, IndexCommand, IndexCreateArgs, IndexExportArgs, IndexFolderArgs,
        IndexGroupsArgs, IndexImportArgs, IndexRemoveArgs, IndexStatsArgs,
    },
    report::{Figure, Output, Summary, bytes, counted, grouped, json_line, say, visible},
    source::{Bad, Bytes, Reason, Skipped},
};

pub use held::Held;
pub use prints::image_preset;

pub fn run(command: IndexCommand) -> Result<ExitCode> {
    match command {
        IndexCommand::Create(args) => create(&args),
        IndexCommand::Add(args) => return add::run(args),
        IndexCommand::Remove(args) => remove(&args),
        IndexCommand::Search(args) => return search::run(args),
        IndexCommand::Groups(args) => groups(&args),
        IndexCommand::Stats(args) => stats(&args),
        IndexCommand::Verify(args) => verify(&args),
        IndexCommand::Compact(args) => compact(&args),
        IndexCommand::Export(args) => export(&args),
        IndexCommand::Import(args) => return import(&args),
        IndexCommand::Backup(args) => backup(&args),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a collection to search its items without their parts; for writing only if it must be set
/// right first.
pub fn open_to_read(folder: &Path, quiet: bool) -> Result<Collection> {
    let collection = match Collection::open_read_only(folder) {
        Err(CollectionError::NotClosed { .. }) => Collection::open(folder),
        opened => opened,
    }?;
    tell(collection.notes(), quiet);
    Ok(collection)
}

/// Says what was noticed when a collection was opened.
fn tell(notes: &[String], quiet: bool) {
    if !quiet {
        notes.iter().for_each(|note| say(&format!("note: {note}")));
    }
}

/// Within how many bits items are near enough to act on: what was asked for, else the recipe's, of
/// images that of copies, else the widest.
pub fn usual_radius(about: &About, asked: Option<Radius>) -> Radius {
    radius_at(about, asked, Level::Copy)
}

/// Within how many bits items are listed: as [`usual_radius`], but of images down to the level similar.
pub fn looking_radius(about: &About, asked: Option<Radius>) -> Radius {
    radius_at(about, asked, Level::Similar)
}

fn radius_at(about: &About, asked: Option<Radius>, level: Level) -> Radius {
    let of_recipe = match &about.maker {
        Maker::Text(recipe) => {
            Preset::ALL.iter().find(|preset| preset.recipe == *recipe).map(|preset| preset.radius)
        }
        maker => image_preset(maker).ok().map(|preset| preset.radius_of(level)),
    };
    asked.unwrap_or_else(|| of_recipe.unwrap_or(about.max_radius).min(about.max_radius))
}

fn create(args: &IndexCreateArgs) -> Result<()> {
    let about = prints::about(&args.make, None)?;
    let held = Held::of(Collection::create(&args.folder, about)?)?;
    let what = what(held.whole().about());
    say(&format!("{}: a new collection of {what}", args.folder.display()));
    Ok(())
}

/// What a collection is of, in words.
fn what(about: &About) -> String {
    let (bits, radius) = (about.width.bits(), about.max_radius);
    match &about.maker {
        Maker::Text(recipe) => format!("texts ({recipe}), to be searched within {radius} bits"),
        maker if *maker == Maker::GIVEN => {
            format!("fingerprints of {bits} bits, to be searched within {radius}")
        }
        maker => {
            let items = if image_preset(maker).is_ok() { "images" } else { "items" };
            format!("{items} ({maker}), to be searched within {radius} bits")
        }
    }
}

fn remove(args: &IndexRemoveArgs) -> Result<()> {
    let start = Instant::now();
    let held = Held::open(&args.folder, args.talk.quiet)?;
    let mut ids = args.items.clone();
    if let Some(path) = &args.ids {
        let lines: io::Result<Vec<String>> = reader(path)?.lines().collect();
        ids.extend(lines.with_context(|| format!("{}: cannot be read", path.display()))?);
    }
    let mut skipped = Skipped::unless(false);
    let mut removed = 0;
    for ids in ids.chunks(1 << 16) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for (id, was_there) in ids.iter().zip(held.remove_many(&ids)?) {
            removed += u64::from(was_there);
            if !was_there {
                skipped.note(Bad::item(id, Reason::NotThere, "no such item"), 1);
            }
        }
    }
    summary(
        ids.len() as u64,
        &skipped,
        start,
        vec![figure("removed", removed, counted(removed, "item") + " removed"), left(held.whole())],
    )
    .say(args.talk);
    Ok(())
}

fn groups(args: &IndexGroupsArgs) -> Result<()> {
    let collection = open_to_read(&args.folder, false)?;
    let radius = usual_radius(collection.about(), args.distance);
    let mut output = BufWriter::new(Output::create(&args.output)?);
    for (number, group) in (1..).zip(collection.groups(radius)?) {
        let members: Vec<_> = group
            .members
            .iter()
            .map(|found| json_line(&[("id", json!(found.id)), ("distance", json!(found.distance))]))
            .collect();
        let (keep, members) = (json!(group.keep), members.join(","));
        writeln!(output, "{{\"group\":{number},\"keep\":{keep},\"members\":[{members}]}}")?;
    }
    finish(output)
}

fn stats(args: &IndexStatsArgs) -> Result<()> {
    let collection = open_to_read(&args.folder, args.json)?;
    let about = collection.about();
    let Stats { items, fingerprints, next_sequence, runs, memory_bytes, file_bytes, plan } =
        collection.stats();
    Output::print(&if args.json {
        let fields = [
            ("items", json!(items)),
            ("fingerprints", json!(fingerprints)),
            ("recipe", json!(about.maker.to_string())),
            ("bits", json!(about.width.bits())),
            ("max_distance", json!(about.max_radius.bits())),
            ("next_sequence", json!(next_sequence)),
            ("runs", json!(runs)),
            ("memory_bytes", json!(memory_bytes)),
            ("file_bytes", json!(file_bytes)),
            ("plan", json!(plan)),
        ];
        json_line(&fields) + "\n"
    } else {
        let lines = [
            ("holds", what(about)),
            ("items", grouped(items)),
            ("prints", grouped(fingerprints)),
            ("memory", format!("{} in {}", bytes(memory_bytes), counted(runs as u64, "run"))),
            ("file", bytes(file_bytes)),
            ("search", plan),
        ];
        lines.iter().map(|(name, words)| format!("{name:<8}{words}\n")).collect()
    })
}

fn verify(args: &IndexFolderArgs) -> Result<()> {
    let held = match Held::open(&args.folder, args.quiet) {
        Err(refused) if cannot_be_written(&refused) => {
            if !args.quiet {
                say(&format!("note: {refused}; verified without writing"));
            }
            Held::open_to_read(&args.folder, args.quiet)?
        }
        held => held?,
    };
    held.verify()?;
    if !args.quiet {
        let unused = match held.whole().is_read_only() {
            true => " (unused space in items.redb is checked only where it can be written)",
            false => "",
        };
        let (name, items) = (args.folder.display(), counted(held.whole().len(), "item"));
        say(&format!("{name}: {items}, all as written{unused}"));
    }
    Ok(())
}

/// Whether a collection cannot be opened for the only reason that its folder cannot be written.
fn cannot_be_written(refused: &anyhow::Error) -> bool {
    let refused = refused.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    let kinds = [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied];
    refused.is_some_and(|refused| kinds.contains(&refused.kind()))
}

fn compact(args: &IndexFolderArgs) -> Result<()> {
    let held = Held::open(&args.folder, args.quiet)?;
    let before = held.whole().stats();
    held.compact()?;
    let after = held.whole().stats();
    if !args.quiet {
        say(&format!(
            "{}: {} in {} instead of {}, {} instead of {}",
            args.folder.display(),
            counted(after.items, "item"),
            counted(after.runs as u64, "run"),
            before.runs,
            bytes(after.file_bytes),
            bytes(before.file_bytes),
        ));
    }
    Ok(())
}

fn export(args: &IndexExportArgs) -> Result<()> {
    let mut output = BufWriter::new(Output::create(&args.output)?);
    let on_damaged = |error: CollectionError| say(&visible(&format!("skipped {error}")));
    let exported = Collection::salvage(&args.folder, &mut output, on_damaged)?;
    finish(output)?;
    let Exported { written, damaged, missing } = exported;
    ensure!(
        damaged + missing == 0,
        "{}: {} damaged and {} missing; the other {} are in the export. Restore a backup, or import \
         the export into a new collection",
        args.folder.display(),
        counted(damaged, "record"),
        grouped(missing),
        grouped(written)
    );
    Ok(())
}

fn import(args: &IndexImportArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let collection = Collection::open(&args.folder)?;
    tell(collection.notes(), args.talk.quiet);
    let mut skipped = Skipped::unless(false);
    let (mut stored, mut present, mut taken) = (0, 0, 0);
    for path in &args.inputs {
        let name = path.display().to_string();
        let on_refused = |error| skipped.note(Bad::item(&name, Reason::Broken, error), 1);
        let imported = collection.import(reader(path)?, on_refused)?;
        stored += imported.stored;
        present += imported.present;
        taken += imported.taken;
    }
    // Makes the parts of what came.
    let held = Held::of(collection)?;
    summary(
        stored + present,
        &skipped,
        start,
        vec![
            figure("added", stored, counted(stored, "item") + " added"),
            figure("present", present, format!("{} there already", grouped(present))),
            Figure { words: None, ..figure("taken", taken, String::new()) },
            left(held.whole()),
        ],
    )
    .say(args.talk);
    Ok(exit_code(taken))
}

fn backup(args: &IndexBackupArgs) -> Result<()> {
    let held = Held::open_to_read(&args.folder, args.quiet)?;
    ensure!(!args.to.exists(), "{}: already there; name a new folder", args.to.display());
    held.backup(&args.to)?;
    if !args.quiet {
        say(&format!("{}: {}", args.to.display(), counted(held.whole().len(), "item")));
    }
    Ok(())
}

/// A file, unpacked, or standard input.
fn reader(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    Ok(Bytes::open(path).map_err(Bad::error)?.into_reader())
}

fn finish(output: BufWriter<Output>) -> Result<()> {
    output.into_inner().map_err(|error| error.into_error())?.finish()
}

/// Ids that are taken are no success: something the user named is not stored.
fn exit_code(taken: u64) -> ExitCode {
    if taken > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// A run that could read nothing is an error. What has no fingerprint was read.
fn nothing_read(items: u64, skipped: &Skipped) -> Result<()> {
    let (read, total) = (items + skipped.count(Reason::NoFeatures), skipped.total());
    ensure!(
        read > 0 || total == 0,
        "there is no item in what was read: {} skipped",
        grouped(total)
    );
    Ok(())
}

/// How many items there are now.
fn left(collection: &Collection) -> Figure {
    let items = collection.len();
    figure("collection", items, counted(items, "item") + " in the collection")
}

fn figure(name: &'static str, value: u64, words: String) -> Figure {
    Figure { name, value: json!(value), words: Some(words) }
}

fn summary(items: u64, skipped: &Skipped, start: Instant, figures: Vec<Figure>) -> Summary<'_> {
    Summary { items, skipped, seconds: start.elapsed().as_secs_f64(), figures, plan: None }
}
