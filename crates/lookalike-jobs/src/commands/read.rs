//! Reads what a command searches: its inputs, and the set that they are compared with.

use anyhow::{Result, ensure};
use lookalike::{Collection, Criteria, Resources, digest::Digests, kind::Reads};

use crate::{
    config::Work,
    host::Console,
    kinds::SelectedKind,
    report::counted,
    source::{CustomDigester, Ids, Inputs, Items, Reading, Skipped},
};

/// The items that were read, and their ids.
pub struct ReadItems {
    pub digests: Digests,
    pub ids: Ids,
    /// The number of items from the inputs, which come first.
    pub own: usize,
}

/// The inputs of a command, and the set that they are compared with.
pub struct Sources<'a> {
    pub own: &'a mut Inputs,
    pub others: Option<&'a mut Inputs>,
    /// A collection instead of `others`.
    pub collection: Option<&'a Collection>,
    pub skipped: &'a mut Skipped,
    pub console: Console<'a>,
    /// Called regularly, from any thread; may unwind to stop the run.
    pub on_progress: &'a (dyn Fn() + Sync),
    /// Replaces the digester of the kind.
    pub custom_digester: Option<CustomDigester<'a>>,
}

/// Called with the items of the inputs as they are read.
pub type OnItems<'a> = &'a mut (dyn FnMut(&Items<'_>) -> Result<()> + Send);

/// Bytes of each record that stay in memory, however long it is: its fingerprint, id and location.
const PER_RECORD: u64 = 128;

/// Bytes that a run may use beyond its memory limit and does not need for itself.
const SPARE: u64 = 38 << 20;

/// The smallest memory limit for this many records, whose kind keeps `own` bytes of its own in memory.
/// They may take three quarters of it.
fn memory_needed(records: u64, own: u64) -> u64 {
    (records * PER_RECORD + own).saturating_sub(SPARE).div_ceil(3) * 4
}

fn fits(work: &Work, records: u64, own: u64) -> bool {
    work.memory.is_none_or(|memory| memory_needed(records, own) <= memory)
}

/// The resources that remain for a search once the items are in memory.
pub fn remaining(work: &Work, digests: &Digests) -> Work {
    if digests.shape().is_bare {
        return work.clone();
    }
    let taken = u64::from(digests.len()) * PER_RECORD;
    let remaining = |memory: u64| memory.saturating_sub(taken).max(memory / 4).max(1);
    let mut work = work.clone();
    work.memory = work.memory.map(remaining);
    work
}

impl Sources<'_> {
    /// Reads everything, and passes the items of the inputs to `on_items`.
    pub fn read(
        mut self,
        selected: &SelectedKind,
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
        let is_limited = matches!(selected.registration.reads, Reads::Records | Reads::Vectors);
        let mut digests = Digests::new(selected.kind.shape(), resources);
        let (mut count, mut own_bytes) = (0, 0);
        let reading = |is_other| Reading {
            kind: &*selected.kind,
            make: self.custom_digester,
            is_other,
            on_progress: self.on_progress,
            progress: &progress,
        };
        // Records beyond the limit are only counted, for the message below.
        let mut count_in = |items: &Items<'_>| {
            count += items.items.len() as u64;
            own_bytes += items.items.iter().map(|item| item.digest.extra.len() as u64).sum::<u64>();
            !is_limited || fits(work, count, own_bytes)
        };
        let mut ids = self.own.collect(
            &reading(false),
            &mut digests,
            resources,
            self.skipped,
            &mut |items| {
                let is_in = count_in(items);
                if is_in {
                    on_items(items)?;
                }
                Ok(is_in)
            },
        )?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            let more = self.skipped.of_others(|skipped| {
                let on_items = &mut |items: &Items<'_>| Ok(count_in(items));
                others.collect(&reading(true), &mut digests, resources, skipped, on_items)
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
            counted(count, selected.kind.name()),
            memory_needed(count, own_bytes).div_ceil(1 << 20)
        );
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        let repeated = self.own.width().and_then(|_| ids.repeated_note());
        let notes = selected.kind.notes(by).into_iter().chain(repeated);
        self.console.notes(&notes.collect::<Vec<_>>());
        self.console.notes(self.own.notes().iter().chain(others));
        digests.seal()?;
        Ok(ReadItems { digests, ids, own })
    }
}
