//! `lookalike index add`: remember these.

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, bail};
use lookalike::{Added, Collection, NewItem, Radius, images::NewImage};
use serde_json::json;

use super::{
    Held, content::place_of, exit_code, figure, finish, left, nothing_read, prints, prints::Named,
    summary, usual_radius, what,
};
use crate::{
    args::{ImageArgs, IndexAddArgs, Matching},
    config::on_threads,
    report::{Figure, Output, Progress, Summary, check_places, counted, grouped, json_line, say},
    source::{Bad, Reason, Skipped},
};

/// Items that are stored by one commit; fewer where each is compared with those before it, or is
/// large.
const COMMIT: usize = 1 << 16;
const COMMIT_FEW: usize = 1 << 11;

pub fn run(args: IndexAddArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.place()], inputs.chain([args.folder.as_path()]))?;
    let held = open_or_create(&args)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let about = held.whole().about();
    let matching = if about.keeps_parts() { Matching::Partial } else { Matching::Whole };
    let images = ImageArgs { matching, orientations: true };
    let source = prints::Source::open(&args.inputs, &args.rows, about, images, &mut skipped)?;
    let output = BufWriter::new(Output::create(&args.output)?);
    if !args.talk.quiet {
        say(&format!("reading {}", source.what()));
    }
    let progress = Progress::new(args.talk.quiet);
    let how = match (args.skip_near, args.update) {
        (true, _) => How::UnlessNear(usual_radius(about, args.distance)),
        (_, true) => How::Update,
        _ => How::Insert,
    };
    let before = held.whole().len();
    let mut adding =
        Adding { held: &held, how, output, read: 0, waiting: Vec::new(), done: Done::default() };
    let added = on_threads(args.threads, || {
        source.read(&mut skipped, &progress, &mut |items| adding.take(items))?;
        adding.store()
    });
    progress.clear();
    let Adding { done, output, read, .. } = adding;
    let finished = finish(output);
    done.list(&mut skipped);
    done.summary(how, &held, &skipped, start).say(args.talk);
    added.map_err(|error| done.stopped(error, read, held.whole().len() - before))?;
    finished?;
    done.refuse_unfit(args.rows.strict)?;
    if done.taken.count == 0 {
        nothing_read(done.items(), &skipped)?;
    }
    Ok(exit_code(done.taken.count))
}

fn open_or_create(args: &IndexAddArgs) -> Result<Held> {
    if Collection::is_at(&args.folder) {
        let held = Held::open(&args.folder, args.talk.quiet)?;
        prints::check(&args.make, held.whole().about())?;
        return Ok(held);
    }
    let about = prints::about(&args.make, Some((&args.inputs, &args.rows)))?;
    let held = Held::of(Collection::create(&args.folder, about)?)?;
    if !args.talk.quiet {
        let what = what(held.whole().about());
        say(&format!("{}: a new collection of {what}", args.folder.display()));
    }
    Ok(held)
}

fn new_item(item: &Named) -> NewItem<'_> {
    let payload = item.content.as_ref().map(|content| content.payload.as_str());
    NewItem { payload, ..NewItem::new(item.id(), std::slice::from_ref(&item.print)) }
}

fn new_image(item: &Named) -> NewImage<'_> {
    (item.id(), item.image.as_deref().expect("inputs of a collection of images are images"))
}

/// What becomes of an item that is like one that is there.
#[derive(Clone, Copy)]
enum How {
    Insert,
    Update,
    UnlessNear(Radius),
}

/// Items on their way into the collection.
struct Adding<'a> {
    held: &'a Held,
    how: How,
    /// Takes those that are near something.
    output: BufWriter<Output>,
    /// How many came.
    read: u64,
    waiting: Vec<Named>,
    done: Done,
}

/// What became of them.
#[derive(Default)]
struct Done {
    added: u64,
    replaced: u64,
    present: u64,
    near: u64,
    taken: Listed,
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
    fn take(&mut self, items: Vec<Named>) -> Result<()> {
        self.read += items.len() as u64;
        let few = matches!((self.how, self.held), (How::UnlessNear(_), _) | (_, Held::Images(_)));
        let commit = if few { COMMIT_FEW } else { COMMIT };
        for item in items {
            self.waiting.push(item);
            if self.waiting.len() >= commit {
                self.store()?;
            }
        }
        Ok(())
    }

    fn store(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let added = self.add(&waiting)?;
        for (item, added) in waiting.iter().zip(&added) {
            self.note(item, added)?;
        }
        Ok(())
    }

    fn add(&self, items: &[Named]) -> Result<Vec<Added>> {
        Ok(match self.held {
            Held::Whole(collection) => {
                let new: Vec<_> = items.iter().map(new_item).collect();
                match self.how {
                    // Content is never another one: there is nothing to replace.
                    How::Update if items.iter().all(|item| item.content.is_none()) => {
                        collection.upsert_many(&new)
                    }
                    How::Update => return self.update(collection, items, &new),
                    How::Insert => collection.insert_many(&new),
                    How::UnlessNear(radius) => collection.check_and_insert_many(&new, radius),
                }
            }
            Held::Images(collection) => {
                let images: Vec<_> = items.iter().map(new_image).collect();
                match self.how {
                    How::Insert => collection.insert_many(&images),
                    How::Update => collection.upsert_many(&images),
                    How::UnlessNear(radius) => collection.check_and_insert_many(&images, radius),
                }
            }
        }?)
    }

    /// Replaces items that have a name; those that go by their content are there, or are not.
    fn update(
        &self,
        collection: &Collection,
        items: &[Named],
        new: &[NewItem<'_>],
    ) -> Result<Vec<Added>> {
        let those = |unnamed: bool| {
            let both = items.iter().zip(new);
            both.filter_map(|(item, &new)| (item.content.is_some() == unnamed).then_some(new))
                .collect::<Vec<_>>()
        };
        let mut replaced = collection.upsert_many(&those(false))?.into_iter();
        let mut inserted = collection.insert_many(&those(true))?.into_iter();
        let next = |item: &Named| match item.content {
            Some(_) => inserted.next(),
            None => replaced.next(),
        };
        Ok(items.iter().filter_map(next).collect())
    }

    fn note(&mut self, item: &Named, added: &Added) -> Result<()> {
        match added {
            Added::New { .. } => self.done.added += 1,
            Added::Replaced { .. } => self.done.replaced += 1,
            Added::Present { .. } => {
                self.done.present += 1;
                if let How::UnlessNear(_) = self.how {
                    self.list(item, item.id(), 0)?;
                }
            }
            Added::Taken { .. } => self.done.taken.push(&item.name, TAKEN),
            Added::Near { matches } => {
                self.done.near += 1;
                self.list(item, &matches[0].id, matches[0].distance)?;
            }
            Added::Unfit { why } => self.done.unfit.push(&item.name, why),
            other => bail!("{}: {other:?}", item.name),
        }
        Ok(())
    }

    /// Lists an item with what it is near to.
    fn list(&mut self, item: &Named, near: &str, distance: u32) -> Result<()> {
        let mut fields =
            vec![("id", json!(item.name)), ("match", json!(near)), ("distance", json!(distance))];
        fields.extend(place_of(self.held.whole(), near));
        Ok(writeln!(self.output, "{}", json_line(&fields))?)
    }
}

const TAKEN: &str = "this id is taken by an item with another fingerprint; --update replaces it";

impl Done {
    /// Items that are in the collection now, or have something near there.
    fn items(&self) -> u64 {
        self.added + self.replaced + self.present + self.near
    }

    fn list(&self, skipped: &mut Skipped) {
        self.taken.note(skipped, Reason::Taken);
        self.unfit.note(skipped, Reason::Unfit);
    }

    /// The counts add up to the records that were read.
    fn summary<'a>(
        &self,
        how: How,
        held: &Held,
        skipped: &'a Skipped,
        start: Instant,
    ) -> Summary<'a> {
        let shown = |is_shown: bool, name, value, words: String| Figure {
            words: is_shown.then_some(words),
            ..figure(name, value, String::new())
        };
        let near = match how {
            How::UnlessNear(radius) => {
                let items = counted(self.near, "item");
                format!("{items} within {radius} bits of something, left out")
            }
            _ => String::new(),
        };
        let (replaced, present) = (self.replaced, self.present);
        let unfit = skipped.total() - self.taken.count;
        let figures = vec![
            figure("added", self.added, counted(self.added, "item") + " added"),
            shown(
                matches!(how, How::Update),
                "replaced",
                replaced,
                format!("{} replaced", grouped(replaced)),
            ),
            shown(present > 0, "present", present, format!("{} there already", grouped(present))),
            shown(!near.is_empty(), "near", self.near, near),
            shown(false, "taken", self.taken.count, String::new()),
            shown(false, "unfit", unfit, String::new()),
            left(held.whole()),
        ];
        summary(self.items(), skipped, start, figures)
    }

    /// What to say where the run had to stop: what is stored, and what is not; the error alone if
    /// nothing was read. `grown`: by how many items the collection has grown.
    fn stopped(&self, error: anyhow::Error, read: u64, grown: u64) -> anyhow::Error {
        if read == 0 && grown == 0 {
            return error;
        }
        let settled = self.items() + self.taken.count + self.unfit.count;
        let stored = self.added.max(grown);
        let rest = read.saturating_sub(settled + (stored - self.added));
        let mut replaced = String::new();
        if self.replaced > 0 {
            replaced = format!(" and {} replaced", grouped(self.replaced));
        }
        error.context(format!(
            "stopped: {} added{replaced}, {} read but not stored, and nothing after them; add the \
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
