//! `lookalike index add`: adds items to a collection.

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, bail};
use lookalike::{
    Collection, Criteria, Digest, Facts,
    collection::{AddCounts, AddRule, Added, NewItem, content_id},
    digest::Identity,
    kind::{Purpose, Registry},
};
use serde_json::{Value, json};

use super::{
    NewCollection, check_any_read, count, describe, exit_code, finish, hidden, new_collection,
    open, remaining, summary,
};
use crate::{
    args::{ImageArgs, IndexAddArgs, VerifyArgs},
    config::Work,
    host::{Console, Host},
    kinds::SelectedKind,
    report::{Figure, Output, Summary, check_places, counted, grouped, id_text, json_line},
    source::{Bad, Inputs, Item, Items, Reading, Reason, Skipped},
};

/// Items per commit; fewer with `--skip-near`, where each is compared with those before it.
const COMMIT_ITEMS: usize = 1 << 14;
const COMMIT_ITEMS_SKIP_NEAR: usize = 1 << 11;

pub fn run(args: IndexAddArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let work = Work::new(args.work.clone(), host)?;
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.path()], inputs.chain([args.folder.as_path()]))?;
    let collection = open_or_create(&args, &work, console, registry)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let images = ImageArgs { orientations: args.orientations, matching: args.new.matching };
    let (level, similarity) = (args.level, args.similarity);
    let verify = VerifyArgs { level, similarity, ..VerifyArgs::default() };
    let selected =
        SelectedKind::of_collection(registry, &collection, verify, images, args.distance)?;
    let rule = match (args.skip_near, args.update) {
        (true, _) => {
            let by = selected.criteria(Purpose::Act)?;
            // Refuses what the collection cannot answer before anything is read.
            collection.recall(&by)?;
            AddRule::UnlessAlike(by)
        }
        (_, true) => AddRule::Replace,
        _ => AddRule::Insert,
    };
    let reads = selected.registration.reads;
    let mut options = new_collection::input_options(reads, &args.rows, &work);
    options.prints.bits = Some(selected.kind.shape().width);
    options.expect(&*selected.kind);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let output = BufWriter::new(Output::create(&args.output, console)?);
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let before = collection.len();
    let mut run = AddRun {
        collection: &collection,
        rule: &rule,
        output,
        read: 0,
        pending: Vec::new(),
        outcome: AddOutcome::default(),
    };
    let reading = Reading {
        kind: &*selected.kind,
        make: None,
        is_other: false,
        on_progress: &|| {},
        progress: &progress,
    };
    let added = work.on_threads(|| {
        inputs.read(&reading, &mut skipped, &mut |items| run.push(items, &selected))?;
        run.commit()
    });
    progress.clear();
    console.notes(inputs.notes());
    let AddRun { outcome, output, read, .. } = run;
    let finished = finish(output);
    outcome.list(&mut skipped);
    outcome.summary(&rule, &selected, &collection, &skipped, start).say(console);
    added.map_err(|error| outcome.stopped(error, read, collection.len() - before))?;
    finished?;
    outcome.check_unfit(args.rows.strict)?;
    if outcome.counts.conflict == 0 {
        check_any_read(outcome.items(), &skipped)?;
    }
    Ok(exit_code(outcome.counts.conflict))
}

fn open_or_create(
    args: &IndexAddArgs,
    work: &Work,
    console: Console<'_>,
    registry: &Registry,
) -> Result<Collection> {
    if Collection::is_at(&args.folder) {
        let collection = open(&args.folder, registry, console)?;
        NewCollection::check(&args.new, &collection, registry)?;
        return Ok(collection);
    }
    let inputs = Some((&args.inputs[..], &args.rows, work));
    let collection = NewCollection::select(&args.new, inputs, registry)?.create(&args.folder)?;
    let holds = describe(&collection, registry);
    console.note(&format!("{}: created a collection of {holds}", args.folder.display()));
    Ok(collection)
}

/// An item to be added.
struct PendingItem {
    /// Its name among the inputs: its id, or its location.
    name: String,
    /// Its name in the collection, if it has no id.
    content: Option<ContentName>,
    /// A hash of its content, if known.
    hash: Option<Identity>,
    /// The facts of its file, as JSON.
    facts: Option<String>,
    digest: Digest,
}

/// The id of an item that is named by its content, and its location.
struct ContentName {
    id: String,
    /// Its input, and its line or row there.
    file: String,
    line: Option<u64>,
    /// `file` and `line` as JSON.
    payload: String,
}

impl PendingItem {
    fn new(name: String, item: Item<'_>, selected: &SelectedKind) -> Self {
        let width = selected.kind.shape().width;
        let content = item.place().map(|(file, line)| ContentName {
            id: match item.row_bytes() {
                Some(bytes) => content_id(&bytes),
                None if selected.kind.shape().is_bare => {
                    item.digest.print().unwrap_or_default().to_hex(width)
                }
                None => content_id(&item.digest.to_bytes(width)),
            },
            file: file.to_owned(),
            line,
            payload: json_line(&[("file", json!(file)), ("line", json!(line))]),
        });
        let hash = item.content_hash();
        let facts = item.file_facts().map(stored_facts);
        Self { name, content, hash, facts, digest: item.digest }
    }

    fn id(&self) -> &str {
        self.content.as_ref().map_or(&self.name, |content| &content.id)
    }

    fn new_item(&self) -> NewItem<'_> {
        let location = self.content.as_ref().map(|content| content.payload.as_str());
        let payload = location.or(self.facts.as_deref());
        NewItem { payload, content: self.hash, ..NewItem::new(self.id(), &self.digest) }
    }
}

/// The facts of a file, as stored beside its digest and shown in reports.
fn stored_facts(facts: &Facts) -> String {
    let (width, height) = facts.pixels.unzip();
    let fields = [
        ("bytes", json!(facts.bytes)),
        ("width", json!(width)),
        ("height", json!(height)),
        ("format", json!(facts.format)),
        ("modified", json!(facts.modified.map(|time| time / 1_000_000_000))),
    ];
    json_line(&fields)
}

struct AddRun<'a> {
    collection: &'a Collection,
    rule: &'a AddRule,
    /// Receives one line per item.
    output: BufWriter<Output>,
    /// The number of items read.
    read: u64,
    pending: Vec<PendingItem>,
    outcome: AddOutcome,
}

/// What happened to the items.
#[derive(Default)]
struct AddOutcome {
    counts: AddCounts,
    conflict: Rejected,
    unfit: Rejected,
}

/// Items that were not stored: their number, and the first names and reasons.
#[derive(Default)]
struct Rejected {
    count: u64,
    first: Vec<(String, String)>,
}

impl Rejected {
    fn push(&mut self, name: &str, why: &str) {
        self.count += 1;
        if self.first.len() < Skipped::LISTED {
            let start: String = name.chars().take(MAX_NAME).collect();
            let dots = if start.len() < name.len() { "..." } else { "" };
            self.first.push((start + dots, why.to_owned()));
        }
    }

    fn list(&self, skipped: &mut Skipped, reason: Reason) {
        for (name, why) in &self.first {
            skipped.note(Bad::item(name, reason, why), 1);
        }
        skipped.note_more(reason, self.count - self.first.len() as u64);
    }
}

/// Names in messages are cut after this many characters.
const MAX_NAME: usize = 80;

impl AddRun<'_> {
    fn push(&mut self, items: Items<'_>, selected: &SelectedKind) -> Result<()> {
        self.read += items.items.len() as u64;
        let commit = match self.rule {
            AddRule::UnlessAlike(_) => COMMIT_ITEMS_SKIP_NEAR,
            _ => COMMIT_ITEMS,
        };
        for (number, item) in (items.first..).zip(items.items) {
            let own = items.ids.own(number);
            let name = id_text(own.unwrap_or_else(|_| items.ids.at(number))).into_owned();
            self.pending.push(PendingItem::new(name, item, selected));
            if self.pending.len() >= commit {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let new: Vec<NewItem<'_>> = pending.iter().map(PendingItem::new_item).collect();
        let added = self.add(&pending, &new)?;
        for (item, added) in pending.iter().zip(&added) {
            self.write(item, added)?;
        }
        Ok(())
    }

    fn add(&self, items: &[PendingItem], new: &[NewItem<'_>]) -> Result<Vec<Added>> {
        // An id made of content always names the same content: there is nothing to replace.
        if *self.rule != AddRule::Replace || items.iter().all(|item| item.content.is_none()) {
            return Ok(self.collection.add(new, self.rule.clone())?);
        }
        let select = |unnamed: bool| {
            let both = items.iter().zip(new);
            both.filter_map(|(item, &new)| (item.content.is_some() == unnamed).then_some(new))
                .collect::<Vec<_>>()
        };
        let mut replaced = self.collection.add(&select(false), AddRule::Replace)?.into_iter();
        let mut inserted = self.collection.add(&select(true), AddRule::Insert)?.into_iter();
        let next = |item: &PendingItem| match item.content {
            Some(_) => inserted.next(),
            None => replaced.next(),
        };
        Ok(items.iter().filter_map(next).collect())
    }

    /// Counts an item and writes its line.
    fn write(&mut self, item: &PendingItem, added: &Added) -> Result<()> {
        self.outcome.counts.count(added);
        let (mut near, mut reason) = (Value::Null, Value::Null);
        match added {
            Added::Conflict { .. } => {
                reason = json!(CONFLICT);
                self.outcome.conflict.push(&item.name, CONFLICT);
            }
            Added::Near { matches } => {
                // The one that `dedup --keep first` would keep.
                let first = matches.iter().min_by_key(|found| found.sequence);
                near = json!(first.map(|found| &found.id));
            }
            Added::Unfit { reason: why } => {
                reason = json!(why);
                self.outcome.unfit.push(&item.name, why);
            }
            _ => {}
        }
        let mut fields = vec![
            ("id", json!(item.id())),
            ("status", json!(added.status())),
            ("match", near),
            ("reason", reason),
        ];
        if let Some(ContentName { file, line, .. }) = &item.content {
            fields.extend([("file", json!(file)), ("line", json!(line))]);
        }
        Ok(writeln!(self.output, "{}", json_line(&fields))?)
    }
}

const CONFLICT: &str = "another item has this id; use --update to replace it";

impl AddOutcome {
    /// The number of items that are now stored, or match a stored item.
    fn items(&self) -> u64 {
        let AddCounts { added, replaced, present, near, .. } = self.counts;
        added + replaced + present + near
    }

    fn list(&self, skipped: &mut Skipped) {
        self.conflict.list(skipped, Reason::Taken);
        self.unfit.list(skipped, Reason::Unfit);
    }

    /// The counts add up to the records that were read.
    fn summary<'a>(
        &self,
        rule: &AddRule,
        selected: &SelectedKind,
        collection: &Collection,
        skipped: &'a Skipped,
        start: Instant,
    ) -> Summary<'a> {
        let shown = |is_shown: bool, name, value, words: String| Figure {
            words: is_shown.then_some(words),
            ..hidden(name, json!(value))
        };
        let AddCounts { added, replaced, present, conflict, near, .. } = self.counts;
        let near_words = |by: &Criteria| {
            let words = selected.kind.words(by);
            format!("{} not added, with a stored match ({words})", counted(near, "item"))
        };
        let near_words = match rule {
            AddRule::UnlessAlike(by) => near_words(by),
            _ => String::new(),
        };
        let unfit = skipped.total() - conflict;
        let is_update = *rule == AddRule::Replace;
        let figures = vec![
            count("added", added, "added"),
            shown(
                is_update,
                "replaced",
                replaced,
                format!("{} replaced", counted(replaced, "item")),
            ),
            shown(
                present > 0,
                "present",
                present,
                format!("{} already stored", counted(present, "item")),
            ),
            shown(!near_words.is_empty(), "near", near, near_words),
            shown(false, "conflict", conflict, String::new()),
            shown(false, "unfit", unfit, String::new()),
            remaining(collection),
        ];
        summary(self.items(), skipped, start, figures)
    }

    /// The error of a run that had to stop: what was stored and what was not, unless nothing was
    /// read. `grown`: the number of items by which the collection has grown.
    fn stopped(&self, error: anyhow::Error, read: u64, grown: u64) -> anyhow::Error {
        if read == 0 && grown == 0 {
            return error;
        }
        let AddCounts { added, replaced, .. } = self.counts;
        let stored = added.max(grown);
        let rest = read.saturating_sub(self.counts.total() + (stored - added));
        let also = match replaced {
            0 => String::new(),
            _ => format!(" and {} replaced", grouped(replaced)),
        };
        error.context(format!(
            "stopped: {} added{also}, {} read but not stored; add the same input again to continue",
            counted(stored, "item"),
            grouped(rest)
        ))
    }

    /// With `--strict`, an item that cannot be stored is an error.
    fn check_unfit(&self, strict: bool) -> Result<()> {
        match self.unfit.first.first().filter(|_| strict) {
            Some((name, why)) => bail!("{name}: {why}; omit --strict to skip it"),
            None => Ok(()),
        }
    }
}
