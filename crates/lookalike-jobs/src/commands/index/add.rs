//! `lookalike index add`: remember these.

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
    count, exit_code, finish, left, make, nothing_read, open, silent, summary, what, widest_images,
};
use crate::{
    args::{IndexAddArgs, VerifyArgs},
    config::Work,
    host::{Console, Host},
    kinds::Chosen,
    report::{Figure, Output, Summary, check_places, counted, grouped, id_text, json_line},
    source::{Bad, Inputs, Item, Items, Reading, Reason, Skipped},
};

/// Items that are stored by one commit; fewer where each is compared with those before it.
const COMMIT: usize = 1 << 14;
const COMMIT_FEW: usize = 1 << 11;

pub fn run(args: IndexAddArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let work = Work::new(args.work.clone(), host)?;
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.place()], inputs.chain([args.folder.as_path()]))?;
    let collection = open_or_create(&args, &work, console, registry)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let images = widest_images(&collection);
    let (level, similarity) = (args.level, args.similarity);
    let verify = VerifyArgs { level, similarity, ..VerifyArgs::default() };
    let chosen = Chosen::of_collection(registry, &collection, &verify, images, args.distance)?;
    let rule = match (args.skip_near, args.update) {
        (true, _) => AddRule::UnlessAlike(chosen.criteria(Purpose::Act)?),
        (_, true) => AddRule::Replace,
        _ => AddRule::Insert,
    };
    let reads = chosen.registration.reads;
    let mut options = make::options(reads, &args.rows, &work);
    options.prints.bits = Some(chosen.kind.shape().width);
    options.expect(&*chosen.kind);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, &mut skipped)?;
    let output = BufWriter::new(Output::create(&args.output, console)?);
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let before = collection.len();
    let mut adding = Adding {
        collection: &collection,
        rule: &rule,
        output,
        read: 0,
        waiting: Vec::new(),
        done: Done::default(),
    };
    let how = Reading {
        kind: &*chosen.kind,
        make: None,
        is_other: false,
        on_beat: &|| {},
        progress: &progress,
    };
    let added = work.on_threads(|| {
        inputs.read(&how, &mut skipped, &mut |items| adding.take(items, &chosen))?;
        adding.store()
    });
    progress.clear();
    console.notes(inputs.notes());
    let Adding { done, output, read, .. } = adding;
    let finished = finish(output);
    done.list(&mut skipped);
    done.summary(&rule, &chosen, &collection, &skipped, start).say(console);
    added.map_err(|error| done.stopped(error, read, collection.len() - before))?;
    finished?;
    done.refuse_unfit(args.rows.strict)?;
    if done.counts.conflict == 0 {
        nothing_read(done.items(), &skipped)?;
    }
    Ok(exit_code(done.counts.conflict))
}

fn open_or_create(
    args: &IndexAddArgs,
    work: &Work,
    console: Console<'_>,
    registry: &Registry,
) -> Result<Collection> {
    if Collection::is_at(&args.folder) {
        let collection = open(&args.folder, registry, console)?;
        make::Made::check(&args.make, &collection, registry)?;
        return Ok(collection);
    }
    let made = make::Made::new(&args.make, Some((&args.inputs, &args.rows, work)), registry)?;
    let collection = made.create(&args.folder)?;
    let what = what(&collection, registry);
    console.note(&format!("{}: a new collection of {what}", args.folder.display()));
    Ok(collection)
}

/// An item on its way into the collection.
struct Named {
    /// What it is called among its inputs: its id, or where it stands.
    name: String,
    /// What it is called in the collection, if it has no id: by its content.
    content: Option<ByContent>,
    /// A hash of what it says, if that is known.
    hash: Option<Identity>,
    /// What describes its file, as JSON.
    facts: Option<String>,
    digest: Digest,
}

/// How an item without a name of its own is stored.
struct ByContent {
    id: String,
    /// The input and the line or row where it stands.
    file: String,
    line: Option<u64>,
    /// The same as JSON.
    payload: String,
}

impl Named {
    fn new(name: String, item: Item<'_>, chosen: &Chosen) -> Self {
        let width = chosen.kind.shape().width;
        let content = item.place().map(|(file, line)| ByContent {
            id: match item.text() {
                Some(text) => content_id(text.as_bytes()),
                None if chosen.kind.shape().is_bare => {
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

    fn as_new(&self) -> NewItem<'_> {
        let place = self.content.as_ref().map(|content| content.payload.as_str());
        let payload = place.or(self.facts.as_deref());
        NewItem { payload, content: self.hash, ..NewItem::new(self.id(), &self.digest) }
    }
}

/// What describes a file, as it is kept beside its digest and shown in reports.
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

/// Items on their way into the collection.
struct Adding<'a> {
    collection: &'a Collection,
    rule: &'a AddRule,
    /// Takes a line for each.
    output: BufWriter<Output>,
    /// How many came.
    read: u64,
    waiting: Vec<Named>,
    done: Done,
}

/// What became of them.
#[derive(Default)]
struct Done {
    counts: AddCounts,
    conflict: Listed,
    unfit: Listed,
}

/// Items that are not stored, the first of them by name, and why.
#[derive(Default)]
struct Listed {
    count: u64,
    first: Vec<(String, String)>,
}

impl Listed {
    fn push(&mut self, name: &str, why: &str) {
        self.count += 1;
        if self.first.len() < Skipped::LISTED {
            let start: String = name.chars().take(LONGEST).collect();
            let dots = if start.len() < name.len() { "..." } else { "" };
            self.first.push((start + dots, why.to_owned()));
        }
    }

    fn note(&self, skipped: &mut Skipped, reason: Reason) {
        for (name, why) in &self.first {
            skipped.note(Bad::item(name, reason, why), 1);
        }
        skipped.note_more(reason, self.count - self.first.len() as u64);
    }
}

/// Longer names are shortened in messages.
const LONGEST: usize = 80;

impl Adding<'_> {
    fn take(&mut self, items: Items<'_>, chosen: &Chosen) -> Result<()> {
        self.read += items.items.len() as u64;
        let commit = match self.rule {
            AddRule::UnlessAlike(_) => COMMIT_FEW,
            _ => COMMIT,
        };
        for (number, item) in (items.first..).zip(items.items) {
            let own = items.ids.own(number);
            let name = id_text(own.unwrap_or_else(|_| items.ids.at(number))).into_owned();
            self.waiting.push(Named::new(name, item, chosen));
            if self.waiting.len() >= commit {
                self.store()?;
            }
        }
        Ok(())
    }

    fn store(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let new: Vec<NewItem<'_>> = waiting.iter().map(Named::as_new).collect();
        let added = self.add(&waiting, &new)?;
        for (item, added) in waiting.iter().zip(&added) {
            self.note(item, added)?;
        }
        Ok(())
    }

    fn add(&self, items: &[Named], new: &[NewItem<'_>]) -> Result<Vec<Added>> {
        // Content is never another one: there is nothing to replace.
        if *self.rule != AddRule::Replace || items.iter().all(|item| item.content.is_none()) {
            return Ok(self.collection.add(new, self.rule.clone())?);
        }
        let those = |unnamed: bool| {
            let both = items.iter().zip(new);
            both.filter_map(|(item, &new)| (item.content.is_some() == unnamed).then_some(new))
                .collect::<Vec<_>>()
        };
        let mut replaced = self.collection.add(&those(false), AddRule::Replace)?.into_iter();
        let mut inserted = self.collection.add(&those(true), AddRule::Insert)?.into_iter();
        let next = |item: &Named| match item.content {
            Some(_) => inserted.next(),
            None => replaced.next(),
        };
        Ok(items.iter().filter_map(next).collect())
    }

    /// Counts an item and writes its line.
    fn note(&mut self, item: &Named, added: &Added) -> Result<()> {
        self.done.counts.count(added);
        let (mut near, mut reason) = (Value::Null, Value::Null);
        match added {
            Added::Conflict { .. } => {
                reason = json!(CONFLICT);
                self.done.conflict.push(&item.name, CONFLICT);
            }
            Added::Near { matches } => {
                near = json!(matches[0].id);
            }
            Added::Unfit { reason: why } => {
                reason = json!(why);
                self.done.unfit.push(&item.name, why);
            }
            _ => {}
        }
        let mut fields = vec![
            ("id", json!(item.id())),
            ("status", json!(added.status())),
            ("match", near),
            ("reason", reason),
        ];
        if let Some(ByContent { file, line, .. }) = &item.content {
            fields.extend([("file", json!(file)), ("line", json!(line))]);
        }
        Ok(writeln!(self.output, "{}", json_line(&fields))?)
    }
}

const CONFLICT: &str = "this id is taken by an item of other content; --update replaces it";

impl Done {
    /// Items that are in the collection now, or have something near there.
    fn items(&self) -> u64 {
        let AddCounts { added, replaced, present, near, .. } = self.counts;
        added + replaced + present + near
    }

    fn list(&self, skipped: &mut Skipped) {
        self.conflict.note(skipped, Reason::Taken);
        self.unfit.note(skipped, Reason::Unfit);
    }

    /// The counts add up to the records that were read.
    fn summary<'a>(
        &self,
        rule: &AddRule,
        chosen: &Chosen,
        collection: &Collection,
        skipped: &'a Skipped,
        start: Instant,
    ) -> Summary<'a> {
        let shown = |is_shown: bool, name, value, words: String| Figure {
            words: is_shown.then_some(words),
            ..silent(name, json!(value))
        };
        let AddCounts { added, replaced, present, conflict, near, .. } = self.counts;
        let near_words = |by: &Criteria| {
            let words = chosen.kind.words(by);
            format!("{} near a stored one ({words}), not added", counted(near, "item"))
        };
        let near_words = match rule {
            AddRule::UnlessAlike(by) => near_words(by),
            _ => String::new(),
        };
        let unfit = skipped.total() - conflict;
        let is_update = *rule == AddRule::Replace;
        let figures = vec![
            count("added", added, "added"),
            shown(is_update, "replaced", replaced, format!("{} replaced", grouped(replaced))),
            shown(present > 0, "present", present, format!("{} already there", grouped(present))),
            shown(!near_words.is_empty(), "near", near, near_words),
            shown(false, "conflict", conflict, String::new()),
            shown(false, "unfit", unfit, String::new()),
            left(collection),
        ];
        summary(self.items(), skipped, start, figures)
    }

    /// What to say where the run had to stop: what is stored, and what is not; the error alone if
    /// nothing was read. `grown`: by how many items the collection has grown.
    fn stopped(&self, error: anyhow::Error, read: u64, grown: u64) -> anyhow::Error {
        if read == 0 && grown == 0 {
            return error;
        }
        let AddCounts { added, replaced, .. } = self.counts;
        let stored = added.max(grown);
        let rest = read.saturating_sub(self.counts.total() + (stored - added));
        let mut also = String::new();
        if replaced > 0 {
            also = format!(" and {} replaced", grouped(replaced));
        }
        error.context(format!(
            "stopped: {} added{also}, {} read but not stored, and nothing after them; add the \
             same input again to go on",
            counted(stored, "item"),
            grouped(rest)
        ))
    }

    /// With `--strict`, an item that cannot be stored is an error.
    fn refuse_unfit(&self, strict: bool) -> Result<()> {
        match self.unfit.first.first().filter(|_| strict) {
            Some((name, why)) => bail!("{name}: {why} (without --strict, it is skipped)"),
            None => Ok(()),
        }
    }
}
