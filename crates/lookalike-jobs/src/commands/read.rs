//! Reading what a command searches: its inputs, and those they are held against.

use anyhow::{Result, ensure};
use lookalike::{Collection, Criteria, Resources, digest::Digests, kind::Reads};

use crate::{
    config::Work,
    host::Console,
    kinds::Chosen,
    report::counted,
    source::{Ids, Inputs, Items, Make, Reading, Skipped},
};

/// Items that were read, and what they are called.
pub struct ReadItems {
    pub digests: Digests,
    pub ids: Ids,
    /// How many of them are of the inputs; the others follow.
    pub own: usize,
}

/// The inputs of a command, and others if there are any.
pub struct Sources<'a> {
    pub own: &'a mut Inputs,
    pub others: Option<&'a mut Inputs>,
    /// A collection, in place of others.
    pub collection: Option<&'a Collection>,
    pub skipped: &'a mut Skipped,
    pub console: Console<'a>,
    /// Called now and then, from any thread. If it unwinds, so does the reading.
    pub on_beat: &'a (dyn Fn() + Sync),
    /// Takes texts apart in the kind's stead.
    pub make: Option<Make<'a>>,
}

/// Takes items of the inputs as they are read.
pub type OnItems<'a> = &'a mut (dyn FnMut(&Items<'_>) -> Result<()> + Send);

/// What stays in memory of each record, however long it is: its fingerprint, its name, its place.
const PER_RECORD: u64 = 128;

/// What a run may take beside its memory limit, and does not need for itself.
const SPARE: u64 = 38 << 20;

/// The smallest memory limit for so many records, whose kind keeps `own` bytes of its own in memory.
/// They may take three quarters of it.
fn memory_needed(records: u64, own: u64) -> u64 {
    (records * PER_RECORD + own).saturating_sub(SPARE).div_ceil(3) * 4
}

fn fits(work: &Work, records: u64, own: u64) -> bool {
    work.memory.is_none_or(|memory| memory_needed(records, own) <= memory)
}

/// What so many items leave for a search among them.
pub fn left(work: &Work, digests: &Digests) -> Work {
    if digests.shape().is_bare {
        return work.clone();
    }
    let taken = u64::from(digests.len()) * PER_RECORD;
    let left = |memory: u64| memory.saturating_sub(taken).max(memory / 4).max(1);
    let mut work = work.clone();
    work.memory = work.memory.map(left);
    work
}

impl Sources<'_> {
    /// Reads everything, showing those of the inputs to `on_items`.
    pub fn read(
        mut self,
        chosen: &Chosen,
        by: &Criteria,
        resources: &Resources<'_>,
        work: &Work,
        on_items: OnItems<'_>,
    ) -> Result<ReadItems> {
        let others = self.others.as_ref().map(|others| others.what());
        let collection =
            self.collection.map(|it| format!("the collection {}", it.folder().display()));
        self.console.note(&format!("reading {}", self.own.what()));
        if let Some(others) = others.or(collection) {
            self.console.note(&format!("against {others}"));
        }
        let progress = self.console.progress();
        let is_limited = matches!(chosen.registration.reads, Reads::Records | Reads::Vectors);
        let mut digests = Digests::new(chosen.kind.shape(), resources);
        let (mut count, mut own_bytes) = (0, 0);
        let how = |is_other| Reading {
            kind: &*chosen.kind,
            make: self.make,
            is_other,
            on_beat: self.on_beat,
            progress: &progress,
        };
        // What does not fit is counted only, to say what it takes.
        let mut counted_in = |items: &Items<'_>| {
            count += items.items.len() as u64;
            own_bytes += items.items.iter().map(|item| item.digest.extra.len() as u64).sum::<u64>();
            !is_limited || fits(work, count, own_bytes)
        };
        let mut ids =
            self.own.collect(&how(false), &mut digests, resources, self.skipped, &mut |items| {
                let is_in = counted_in(items);
                if is_in {
                    on_items(items)?;
                }
                Ok(is_in)
            })?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            let more = self.skipped.of_others(|skipped| {
                let on_items = &mut |items: &Items<'_>| Ok(counted_in(items));
                others.collect(&how(true), &mut digests, resources, skipped, on_items)
            })?;
            ids = ids.followed_by(more);
        }
        if let Some(collection) = self.collection {
            let mut names = Ids::new(vec![collection.folder().display().to_string()]);
            let ids_of = collection.push_digests(&mut digests, resources)?;
            ids_of.iter().for_each(|(id, _)| names.push_given(id));
            ids = ids.followed_by(names);
        }
        progress.clear();
        ensure!(
            !is_limited || fits(work, count, own_bytes),
            "--memory is too small for {}; use at least --memory {}M",
            counted(count, chosen.kind.name()),
            memory_needed(count, own_bytes).div_ceil(1 << 20)
        );
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        let repeated = self.own.width().and_then(|_| ids.repeated_note());
        let notes = chosen.kind.notes(by).into_iter().chain(repeated);
        self.console.notes(&notes.collect::<Vec<_>>());
        self.console.notes(self.own.notes().iter().chain(others));
        digests.seal()?;
        Ok(ReadItems { digests, ids, own })
    }
}
