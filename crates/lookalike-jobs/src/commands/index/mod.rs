//! `lookalike index`: the commands on collections.

mod add;
pub mod new_collection;
mod search;

use std::{
    io::{self, BufRead, BufWriter, Write},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use lookalike::{
    Collection,
    collection::{CollectionError, Exported, Imported, Match, Stats},
    kind::{Purpose, Registry},
};
use serde_json::{Value, json};

use super::figures::{figure, hidden};
use crate::{
    args::{
        ImageArgs, IndexBackupArgs, IndexCommand, IndexCreateArgs, IndexExportArgs,
        IndexFolderArgs, IndexGroupsArgs, IndexImportArgs, IndexRemoveArgs, IndexStatsArgs,
        Matching, VerifyArgs,
    },
    config::{NO_PROGRESS, Work},
    host::{Console, Host},
    kinds::SelectedKind,
    report::{Figure, Output, Summary, bytes, counted, grouped, json_line, share_value, visible},
    source::{Bad, Bytes, Reason, Skipped},
};
use new_collection::NewCollection;

pub fn run(command: IndexCommand, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::plain(host, false);
    match command {
        IndexCommand::Create(args) => create(&args, console, registry),
        IndexCommand::Add(args) => return add::run(args, host, registry),
        IndexCommand::Remove(args) => remove(&args, console, registry),
        IndexCommand::Search(args) => return search::run(args, host, registry),
        IndexCommand::Groups(args) => groups(&args, console, registry),
        IndexCommand::Stats(args) => stats(&args, console, registry),
        IndexCommand::Verify(args) => verify(&args, console, registry),
        IndexCommand::Repair(args) => repair(&args, console, registry),
        IndexCommand::Compact(args) => compact(&args, console, registry),
        IndexCommand::Export(args) => export(&args, console, registry),
        IndexCommand::Import(args) => return import(&args, console, registry),
        IndexCommand::Backup(args) => backup(&args, console, registry),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a collection for reading; for writing only if it needs recovery first.
pub fn open_to_read(
    folder: &Path,
    registry: &Registry,
    console: Console<'_>,
) -> Result<Collection> {
    let collection = match Collection::open_read_only_with(folder, registry) {
        Err(CollectionError::NotClosed { .. }) => Collection::open_with(folder, registry),
        opened => opened,
    }?;
    print_notes(collection.notes(), console);
    Ok(collection)
}

/// Opens a collection for writing.
fn open(folder: &Path, registry: &Registry, console: Console<'_>) -> Result<Collection> {
    let collection = Collection::open_with(folder, registry)?;
    print_notes(collection.notes(), console);
    Ok(collection)
}

/// Prints the notes of opening a collection.
fn print_notes(notes: &[String], console: Console<'_>) {
    notes.iter().for_each(|note| console.note(&format!("note: {note}")));
}

fn create(args: &IndexCreateArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let collection = NewCollection::select(&args.new, None, registry)?.create(&args.folder)?;
    let holds = describe(&collection, registry);
    console.message(&format!("{}: created a collection of {holds}", args.folder.display()));
    Ok(())
}

/// What a collection holds, in words.
fn describe(collection: &Collection, registry: &Registry) -> String {
    let (kind, widest) = (collection.kind(), collection.widest());
    let items = registry.named(kind.name()).map_or(kind.name(), |registration| registration.items);
    format!("{items} ({}), searched with {}", kind.recipe(), kind.words(widest))
}

fn remove(args: &IndexRemoveArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let console = Console::new(console.host, args.messages);
    let start = Instant::now();
    let collection = open(&args.folder, registry, console)?;
    let mut ids = args.items.clone();
    if let Some(path) = &args.ids {
        let lines: io::Result<Vec<String>> = reader(path)?.lines().collect();
        ids.extend(lines.with_context(|| format!("cannot read {}", path.display()))?);
    }
    let mut skipped = Skipped::unless(false);
    let mut removed = 0;
    for ids in ids.chunks(1 << 16) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for (id, is_removed) in ids.iter().zip(collection.remove_many(&ids)?) {
            removed += u64::from(is_removed);
            if !is_removed {
                skipped.note(Bad::item(id, Reason::NotThere, "no item has this id"), 1);
            }
        }
    }
    let figures = vec![count("removed", removed, "removed"), remaining(&collection)];
    summary(ids.len() as u64, &skipped, start, figures).say(console);
    Ok(())
}

fn groups(args: &IndexGroupsArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let collection = open_to_read(&args.folder, registry, console)?;
    let images = widest_images(&collection);
    let verify = VerifyArgs::default();
    let selected =
        SelectedKind::of_collection(registry, &collection, verify, images, args.distance)?;
    let by = selected.criteria(Purpose::Act)?;
    let mut output = BufWriter::new(Output::create(&args.output, console)?);
    let work = Work::new(args.work.clone(), console.host)?;
    let resources = work.resources(NO_PROGRESS);
    let (groups, _) = work.on_threads(|| Ok(collection.groups(&by, &resources)?))?;
    for (number, group) in (1..).zip(groups) {
        let members: Vec<_> = group.members.iter().map(member).collect();
        let (keep, members) = (json!(group.keep), members.join(","));
        writeln!(output, "{{\"group\":{number},\"keep\":{keep},\"members\":[{members}]}}")?;
    }
    finish(output)
}

fn member(member: &Match) -> String {
    let mut fields = vec![("id", json!(member.id))];
    fields.extend(closeness_fields(member));
    json_line(&fields)
}

/// The closeness of a match, as JSON fields.
fn closeness_fields(result: &Match) -> [(&'static str, Value); 3] {
    let lookalike::Closeness { distance, similarity, level } = result.closeness;
    [
        ("distance", json!(distance)),
        ("similarity", share_value(similarity)),
        ("level", json!(level.map(lookalike::Level::name))),
    ]
}

/// The widest search of images that a collection supports: turned ones, and parts if it stores
/// them.
fn widest_images(collection: &Collection) -> ImageArgs {
    let widest = collection.widest();
    let matching = if widest.parts { Matching::Partial } else { Matching::Whole };
    ImageArgs { orientations: widest.turned, matching }
}

fn stats(args: &IndexStatsArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let collection = open_to_read(&args.folder, registry, Console { quiet: args.json, ..console })?;
    let (kind, widest) = (collection.kind(), collection.widest());
    let Stats { items, features, next_sequence, runs, memory_bytes, file_bytes, plan } =
        collection.stats();
    console.print(&if args.json {
        let fields = [
            ("items", json!(items)),
            ("features", json!(features)),
            ("kind", json!(kind.name())),
            ("recipe", json!(kind.recipe())),
            ("bits", json!(kind.shape().width.bits())),
            ("max_distance", json!(widest.distance.map(lookalike::Radius::bits))),
            ("next_sequence", json!(next_sequence)),
            ("runs", json!(runs)),
            ("memory_bytes", json!(memory_bytes)),
            ("file_bytes", json!(file_bytes)),
            ("plan", json!(plan)),
        ];
        json_line(&fields) + "\n"
    } else {
        let mut lines = vec![
            ("holds", describe(&collection, registry)),
            ("items", grouped(items)),
            ("memory", format!("{} in {}", bytes(memory_bytes), counted(runs as u64, "run"))),
            ("file", bytes(file_bytes)),
        ];
        if !plan.is_empty() {
            lines.push(("search", plan));
        }
        lines.iter().map(|(name, words)| format!("{name:<8}{words}\n")).collect()
    })
}

fn verify(args: &IndexFolderArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let console = Console { quiet: args.quiet, ..console };
    let collection = match open(&args.folder, registry, console) {
        Err(refused) if is_read_only(&refused) => {
            console.note(&format!("note: {refused}; verifying read-only"));
            open_to_read(&args.folder, registry, console)?
        }
        collection => collection?,
    };
    collection.verify()?;
    let unused = match collection.is_read_only() {
        true => " (unused space in items.redb is only checked if the folder is writable)",
        false => "",
    };
    let (name, items) = (args.folder.display(), counted(collection.len(), "item"));
    console.note(&format!("{name}: {items}, all intact{unused}"));
    Ok(())
}

fn repair(args: &IndexFolderArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let console = Console { quiet: args.quiet, ..console };
    let collection = open(&args.folder, registry, console)?;
    collection.repair()?;
    let (name, items) = (args.folder.display(), counted(collection.len(), "item"));
    console.note(&format!("{name}: rebuilt the search tables of {items}"));
    Ok(())
}

/// Whether a collection cannot be opened only because its folder is read-only.
fn is_read_only(refused: &anyhow::Error) -> bool {
    let refused = refused.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    let kinds = [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied];
    refused.is_some_and(|refused| kinds.contains(&refused.kind()))
}

fn compact(args: &IndexFolderArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let console = Console { quiet: args.quiet, ..console };
    let collection = open(&args.folder, registry, console)?;
    let before = collection.stats();
    collection.compact()?;
    let after = collection.stats();
    console.note(&format!(
        "{}: {} in {} (was {}), {} (was {})",
        args.folder.display(),
        counted(after.items, "item"),
        counted(after.runs as u64, "run"),
        before.runs,
        bytes(after.file_bytes),
        bytes(before.file_bytes),
    ));
    Ok(())
}

fn export(args: &IndexExportArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let mut output = BufWriter::new(Output::create(&args.output, console)?);
    let on_damaged =
        |error: CollectionError| console.message(&visible(&format!("skipped {error}")));
    let exported = Collection::salvage(&args.folder, registry, &mut output, on_damaged)?;
    finish(output)?;
    let Exported { written, damaged, missing } = exported;
    ensure!(
        damaged + missing == 0,
        "{}: {} damaged, {} missing; exported the other {}. Restore a backup, or import the export \
         into a new collection",
        args.folder.display(),
        counted(damaged, "record"),
        grouped(missing),
        grouped(written)
    );
    Ok(())
}

fn import(args: &IndexImportArgs, console: Console<'_>, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(console.host, args.messages);
    let start = Instant::now();
    let collection = open(&args.folder, registry, console)?;
    let mut skipped = Skipped::unless(false);
    let (mut items, mut added, mut present, mut conflict) = (0, 0, 0, 0);
    for path in &args.inputs {
        let name = path.display().to_string();
        let on_refused = |error| skipped.note(Bad::item(&name, Reason::Broken, error), 1);
        let Imported { counts, .. } = collection.import(reader(path)?, on_refused)?;
        items += counts.total();
        added += counts.added;
        present += counts.present;
        conflict += counts.conflict;
    }
    let figures = vec![
        count("added", added, "added"),
        figure("present", json!(present), format!("{} already stored", counted(present, "item"))),
        hidden("conflict", json!(conflict)),
        remaining(&collection),
    ];
    summary(items, &skipped, start, figures).say(console);
    Ok(exit_code(conflict))
}

fn backup(args: &IndexBackupArgs, console: Console<'_>, registry: &Registry) -> Result<()> {
    let console = Console { quiet: args.quiet, ..console };
    let collection = open_to_read(&args.folder, registry, console)?;
    ensure!(!args.to.exists(), "{}: already exists; name a new folder", args.to.display());
    collection.backup(&args.to)?;
    console.note(&format!("{}: {}", args.to.display(), counted(collection.len(), "item")));
    Ok(())
}

/// Reads a file, decompressed, or standard input.
fn reader(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    Ok(Bytes::open(path).map_err(Bad::error)?.into_reader())
}

fn finish(output: BufWriter<Output>) -> Result<()> {
    output.into_inner().map_err(|error| error.into_error())?.finish()
}

/// A conflict is an error: an item that the user named is not stored.
fn exit_code(conflicts: u64) -> ExitCode {
    if conflicts > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Fails if nothing could be read. Items without a fingerprint count as read.
fn check_any_read(items: u64, skipped: &Skipped) -> Result<()> {
    let (read, total) = (items + skipped.count(Reason::NoFeatures), skipped.total());
    ensure!(read > 0 || total == 0, "no item could be read: {} skipped", grouped(total));
    Ok(())
}

/// The number of items in the collection.
fn remaining(collection: &Collection) -> Figure {
    count("collection", collection.len(), "in the collection")
}

/// A figure that counts items.
fn count(name: &'static str, items: u64, what: &str) -> Figure {
    figure(name, json!(items), format!("{} {what}", counted(items, "item")))
}

fn summary(items: u64, skipped: &Skipped, start: Instant, figures: Vec<Figure>) -> Summary<'_> {
    Summary { items, skipped, seconds: start.elapsed().as_secs_f64(), figures, plan: None }
}
