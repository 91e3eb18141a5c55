//! `lookalike index add`: remember these.

use std::{
    io::{BufWriter, Write},
    time::Instant,
};

use anyhow::Result;
use lookalike::{Added, Collection, NewItem, Radius, pictures::NewPicture};
use serde_json::json;

use super::{Held, figure, finish, left, prints, prints::Named, summary, usual_radius, what};
use crate::{
    args::{IndexAddArgs, Matching, PictureArgs},
    config::on_threads,
    report::{Output, Progress, counted, grouped, json_line, say},
    source::{Bad, Reason, Skipped},
};

/// Items that are stored by one commit; fewer where each is compared with those before it, or is
/// large.
const COMMIT: usize = 1 << 16;
const COMMIT_FEW: usize = 1 << 11;

pub fn run(args: IndexAddArgs) -> Result<()> {
    let start = Instant::now();
    let held = open_or_create(&args)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let about = held.whole().about();
    let matching = if about.keeps_parts() { Matching::Partial } else { Matching::Whole };
    let pictures = PictureArgs { matching, orientations: true };
    let source = prints::Source::open(&args.inputs, &args.rows, about, pictures, &mut skipped)?;
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
    let mut adding =
        Adding { held: &held, how, output, waiting: Vec::new(), done: Done::default() };
    on_threads(args.threads, || {
        source.read(&mut skipped, &progress, &mut |items| adding.take(items))
    })?;
    adding.store()?;
    let Adding { done, output, .. } = adding;
    finish(output)?;
    progress.clear();
    for id in &done.listed {
        skipped.note(
            Bad::item(
                id,
                Reason::ThereAlready,
                "an item of this id is there; --update replaces it",
            ),
            1,
        );
    }
    skipped.note_more(Reason::ThereAlready, done.existing - done.listed.len() as u64);
    let near = |radius: Radius| {
        format!("{} within {radius} bits of something, left out", counted(done.near, "item"))
    };
    let mut figures = vec![figure("added", done.added, counted(done.added, "item") + " added")];
    if let How::UnlessNear(radius) = how {
        figures.push(figure("near", done.near, near(radius)));
    }
    if args.update {
        let words = format!("{} replaced", grouped(done.replaced));
        figures.push(figure("replaced", done.replaced, words));
    }
    figures.push(left(held.whole()));
    let items = done.added + done.near + done.replaced;
    summary(items, &skipped, start, figures).say(args.talk);
    Ok(())
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
    NewItem::new(&item.id, std::slice::from_ref(&item.print))
}

fn new_picture(item: &Named) -> NewPicture<'_> {
    (&item.id, item.picture.as_deref().expect("inputs of a collection of pictures are pictures"))
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
    waiting: Vec<Named>,
    done: Done,
}

/// What became of them.
#[derive(Default)]
struct Done {
    added: u64,
    replaced: u64,
    near: u64,
    existing: u64,
    /// Some of those whose id was there.
    listed: Vec<String>,
}

impl Adding<'_> {
    fn take(&mut self, mut items: Vec<Named>) -> Result<()> {
        self.waiting.append(&mut items);
        let few = matches!((self.how, self.held), (How::UnlessNear(_), _) | (_, Held::Pictures(_)));
        let commit = if few { COMMIT_FEW } else { COMMIT };
        while self.waiting.len() >= commit {
            let rest = self.waiting.split_off(commit);
            self.store()?;
            self.waiting = rest;
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
                let items: Vec<_> = items.iter().map(new_item).collect();
                match self.how {
                    How::Insert => collection.insert_many(&items),
                    How::Update => collection.upsert_many(&items),
                    How::UnlessNear(radius) => collection.check_and_insert_many(&items, radius),
                }
            }
            Held::Pictures(collection) => {
                let pictures: Vec<_> = items.iter().map(new_picture).collect();
                match self.how {
                    How::Insert => collection.insert_many(&pictures),
                    How::Update => collection.upsert_many(&pictures),
                    How::UnlessNear(radius) => collection.check_and_insert_many(&pictures, radius),
                }
            }
        }?)
    }

    fn note(&mut self, item: &Named, added: &Added) -> Result<()> {
        match added {
            Added::New { .. } => self.done.added += 1,
            Added::Replaced { .. } => self.done.replaced += 1,
            Added::Exists { .. } => {
                self.done.existing += 1;
                if self.done.listed.len() < Skipped::LISTED {
                    self.done.listed.push(item.id.clone());
                }
            }
            Added::Near { matches } => {
                self.done.near += 1;
                let nearest = &matches[0];
                let line = json_line(&[
                    ("id", json!(item.id)),
                    ("match", json!(nearest.id)),
                    ("distance", json!(nearest.distance)),
                ]);
                writeln!(self.output, "{line}")?;
            }
        }
        Ok(())
    }
}
