//! The changes of one commit.
//!
//! A [`Batch`] holds the items that one caller adds, checked and encoded on the caller's own thread. A
//! [`CommitBuilder`] applies the requests of several callers, each on top of those before it, and
//! combines them into one commit.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
    ops::Range,
};

use super::{
    AddRule, Added, CollectionError, Match, NewItem,
    item::order,
    names,
    record::{self, Record},
    search::PreparedSearch,
    tables::{Layout, Rows, Tables},
    truth::Records,
    view::{Place, View},
};
use crate::{Closeness, Criteria, Digest, Kind, digest::Shape, index::IndexError};

/// Items to be added, ready to be written.
pub struct Batch {
    rule: AddRule,
    /// The records of all items, concatenated.
    bytes: Vec<u8>,
    /// Each item, or why it cannot be stored.
    items: Vec<Result<Prepared, String>>,
}

struct Prepared {
    record: Range<usize>,
    id: Range<usize>,
    hash: u64,
}

impl Batch {
    /// Encodes every item that can be stored.
    pub fn new(items: &[NewItem<'_>], rule: AddRule, shape: Shape, now: u64, seed: u64) -> Self {
        let mut batch = Self { rule, bytes: Vec::new(), items: Vec::with_capacity(items.len()) };
        for item in items {
            let checked = record::check(item, shape);
            let inserted = item.inserted.unwrap_or(now);
            let prepared = checked.map(|()| batch.encoded(item, shape, inserted, seed));
            batch.items.push(prepared);
        }
        batch
    }

    fn encoded(&mut self, item: &NewItem<'_>, shape: Shape, inserted: u64, seed: u64) -> Prepared {
        let start = self.bytes.len();
        record::encode(item, shape, inserted, &mut self.bytes);
        let id = start + record::ID..start + record::ID + item.id.len();
        Prepared { record: start..self.bytes.len(), id, hash: names::hash(item.id, seed) }
    }

    /// An item that was staged.
    fn fit(&self, item: u32) -> &Prepared {
        self.items[item as usize].as_ref().expect("only items that can be stored are staged")
    }

    fn id(&self, item: &Prepared) -> &str {
        str::from_utf8(&self.bytes[item.id.clone()]).unwrap_or_default()
    }

    fn record(&self, item: &Prepared) -> Record<'_> {
        Record::parse(&self.bytes[item.record.clone()]).expect("it was encoded here")
    }

    /// The digest of an item.
    fn digest(&self, item: &Prepared) -> Digest {
        let rest = &self.bytes[item.id.end..item.record.end];
        Record::digest_after_id(rest).expect("it was encoded here")
    }

    /// The digest of each item; an empty one, which matches nothing, if it cannot be stored.
    fn digests(&self) -> Vec<Digest> {
        let digest = |item: &Result<Prepared, String>| match item {
            Ok(item) => self.digest(item),
            Err(_) => Digest::default(),
        };
        self.items.iter().map(digest).collect()
    }
}

/// Builds search tables of some items, to find those that match others.
fn tables(digests: &[Digest], layout: &Layout) -> Result<Tables, IndexError> {
    let mut rows = Rows::new(layout);
    digests.iter().for_each(|digest| rows.push(digest));
    rows.finish(layout)
}

/// A change that a caller requests.
pub enum WriteRequest {
    /// New items.
    Add(Batch),
    /// Items to remove, by their ids.
    Remove(Vec<String>),
}

/// The result of a request.
pub enum WriteResult {
    Added(Vec<Added>),
    /// For each id, whether the item existed.
    Removed(Vec<bool>),
}

/// The state before a commit.
pub struct Base<'a> {
    pub kind: &'a dyn Kind,
    pub layout: &'a Layout,
    pub view: &'a View,
    pub records: &'a Records<'a>,
    /// The seed of the id hashes.
    pub seed: u64,
}

/// Collects the changes of one commit.
pub struct CommitBuilder<'a> {
    base: &'a Base<'a>,
    /// New items, in the order of requests. A later request may have removed some of them again.
    staged: Vec<Staged>,
    /// By the hash of an id: the newest staged item, which links to the one before it.
    by_hash: HashMap<u64, u32, BuildHasherDefault<PassThroughHasher>>,
    /// Items of the view to remove.
    pub removed: Vec<Place>,
    /// The sequence numbers of these items.
    removed_sequences: HashSet<u64>,
    next: u64,
}

struct Staged {
    request: u32,
    item: u32,
    sequence: u64,
    /// The staged item before this one with the same hash of the id, or [`NONE`].
    before: u32,
    is_removed: bool,
}

/// No staged item.
const NONE: u32 = u32::MAX;

/// A new item, for the commit and for the next view.
pub struct NewRecord<'a> {
    pub sequence: u64,
    pub record: &'a [u8],
    pub id: &'a str,
    pub hash: u64,
    batch: &'a Batch,
    item: &'a Prepared,
}

impl NewRecord<'_> {
    /// The digest of the item.
    pub fn digest(&self) -> Digest {
        self.batch.digest(self.item)
    }
}

/// The items that match those of a batch, by position in the batch.
struct BatchMatches {
    /// Matching items of the view.
    stored: Vec<Vec<Match>>,
    /// Matching items of this request and of earlier ones: the request, the item, and how close it is.
    new: Vec<Vec<(u32, u32, Closeness)>>,
}

impl<'a> CommitBuilder<'a> {
    pub fn new(base: &'a Base<'a>) -> Self {
        Self {
            base,
            staged: Vec::new(),
            by_hash: HashMap::default(),
            removed: Vec::new(),
            removed_sequences: HashSet::new(),
            next: base.view.state.next,
        }
    }

    /// Applies the last of `requests`; those before it have already been applied.
    pub fn apply(&mut self, requests: &[WriteRequest]) -> Result<WriteResult, CollectionError> {
        let Some(request) = requests.last() else { return Ok(WriteResult::Added(Vec::new())) };
        match request {
            WriteRequest::Add(batch) => self.add(requests, batch).map(WriteResult::Added),
            WriteRequest::Remove(ids) => {
                let removed = ids.iter().map(|id| {
                    let found = self.find(requests, id, names::hash(id, self.base.seed));
                    found.inspect(|&existing| self.remove(existing)).is_some()
                });
                Ok(WriteResult::Removed(removed.collect()))
            }
        }
    }

    fn add(
        &mut self,
        requests: &[WriteRequest],
        batch: &Batch,
    ) -> Result<Vec<Added>, CollectionError> {
        let matches = match &batch.rule {
            AddRule::UnlessAlike(by) => Some(self.match_batch(requests, batch, by)?),
            AddRule::Insert | AddRule::Replace => None,
        };
        let added = (0..).zip(&batch.items).map(|(number, item)| match item {
            Ok(item) => self.add_one(requests, batch, (number, item), matches.as_ref()),
            Err(reason) => Ok(Added::Unfit { reason: reason.clone() }),
        });
        added.collect()
    }

    fn add_one(
        &mut self,
        requests: &[WriteRequest],
        batch: &Batch,
        (number, item): (u32, &Prepared),
        matches: Option<&BatchMatches>,
    ) -> Result<Added, CollectionError> {
        let request = requests.len() - 1;
        let Some(existing) = self.find(requests, batch.id(item), item.hash) else {
            let matches = matches.map_or_else(Vec::new, |found| self.near(requests, found, number));
            if !matches.is_empty() {
                return Ok(Added::Near { matches });
            }
            return Ok(Added::Added { sequence: self.stage(request, number, item.hash) });
        };
        let sequence = self.sequence(existing);
        let new = batch.record(item);
        let is_present = match batch.rule {
            // Nothing would change.
            AddRule::Replace => self.look(requests, existing, |old| old.equals(&new))?,
            AddRule::Insert | AddRule::UnlessAlike(_) => {
                self.look(requests, existing, |old| old.has_content_of(&new))?
            }
        };
        if is_present {
            return Ok(Added::Present { sequence });
        }
        if batch.rule != AddRule::Replace {
            return Ok(Added::Conflict { sequence });
        }
        self.remove(existing);
        Ok(Added::Replaced { sequence: self.stage(request, number, item.hash) })
    }

    fn stage(&mut self, request: usize, item: u32, hash: u64) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let number = self.staged.len() as u32;
        let before = self.by_hash.insert(hash, number).unwrap_or(NONE);
        let request = request as u32;
        self.staged.push(Staged { request, item, sequence, before, is_removed: false });
        sequence
    }

    /// The item with this id, after the changes applied so far.
    fn find(&self, requests: &[WriteRequest], id: &str, hash: u64) -> Option<Existing> {
        let mut number = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        while number != NONE {
            let staged = &self.staged[number as usize];
            let (batch, prepared) = prepared(requests, staged);
            if !staged.is_removed && batch.id(prepared) == id {
                return Some(Existing::Staged(number));
            }
            number = staged.before;
        }
        let place = self.base.view.find(id, hash)?;
        let sequence = self.base.view.sequence(place);
        (!self.removed_sequences.contains(&sequence)).then_some(Existing::Stored(place))
    }

    fn sequence(&self, existing: Existing) -> u64 {
        match existing {
            Existing::Staged(number) => self.staged[number as usize].sequence,
            Existing::Stored(place) => self.base.view.sequence(place),
        }
    }

    /// Calls `look` with the record of an item.
    fn look(
        &self,
        requests: &[WriteRequest],
        existing: Existing,
        look: impl FnOnce(&Record<'_>) -> bool,
    ) -> Result<bool, CollectionError> {
        match existing {
            Existing::Staged(number) => {
                let (batch, item) = prepared(requests, &self.staged[number as usize]);
                Ok(look(&batch.record(item)))
            }
            Existing::Stored(place) => {
                let sequence = self.base.view.sequence(place);
                let looked = self.base.records.look(sequence, |record| Some(look(record)))?;
                Ok(looked.unwrap_or(false))
            }
        }
    }

    fn remove(&mut self, existing: Existing) {
        match existing {
            Existing::Staged(number) => self.staged[number as usize].is_removed = true,
            Existing::Stored(place) => {
                self.removed_sequences.insert(self.base.view.sequence(place));
                self.removed.push(place);
            }
        }
    }

    /// Finds the items that match each item of the last request, whether they end up stored or not.
    /// [`near`](Self::near) then selects those that exist when the item is added.
    fn match_batch(
        &self,
        requests: &[WriteRequest],
        batch: &Batch,
        by: &Criteria,
    ) -> Result<BatchMatches, CollectionError> {
        let Base { kind, layout, view, records, .. } = *self.base;
        let search = PreparedSearch::new(kind, by, layout, (view.state.items, view.features()))?;
        let digests = batch.digests();
        let stored = search.search(view, Some(records), &digests, usize::MAX)?;
        let stored = stored.ok_or_else(|| records.missing())?;
        let mut new = vec![Vec::new(); batch.items.len()];
        for (number, request) in (0..).zip(requests) {
            let WriteRequest::Add(earlier) = request else { continue };
            let others = earlier.digests();
            let tables = tables(&others, layout)?;
            for (item, other, closeness) in search.among(&tables, &others, &digests)? {
                new[item as usize].push((number, other, closeness));
            }
        }
        Ok(BatchMatches { stored, new })
    }

    /// The matches of an item that exist after the changes applied so far.
    fn near(&self, requests: &[WriteRequest], found: &BatchMatches, item: u32) -> Vec<Match> {
        let stored = found.stored[item as usize].iter();
        let stays = |found: &&Match| !self.removed_sequences.contains(&found.sequence);
        let mut matches: Vec<Match> = stored.filter(stays).cloned().collect();
        for &(request, other, closeness) in &found.new[item as usize] {
            let place = |staged: &Staged| (staged.request, staged.item);
            let Ok(number) = self.staged.binary_search_by_key(&(request, other), place) else {
                continue;
            };
            let staged = &self.staged[number];
            if !staged.is_removed {
                let (batch, prepared) = prepared(requests, staged);
                let id = batch.id(prepared).to_owned();
                matches.push(Match { id, sequence: staged.sequence, closeness });
            }
        }
        matches.sort_unstable_by_key(|found| order(&found.closeness, found.sequence));
        matches
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.staged.iter().all(|staged| staged.is_removed)
    }

    /// The collected changes, ready to be written.
    pub fn finish(self) -> PendingCommit {
        PendingCommit { staged: self.staged, removed: self.removed, next: self.next }
    }
}

/// The changes of a commit; new items are in order of their sequence numbers.
pub struct PendingCommit {
    staged: Vec<Staged>,
    pub removed: Vec<Place>,
    pub next: u64,
}

impl PendingCommit {
    /// The number of staged items.
    pub fn len(&self) -> usize {
        self.staged.len()
    }

    /// Fills in the checksums of all records, and returns their sum.
    pub fn seal(&self, requests: &mut [WriteRequest]) -> u64 {
        let kept = self.staged.iter().filter(|staged| !staged.is_removed);
        kept.fold(0u64, |ledger, staged| {
            let WriteRequest::Add(batch) = &mut requests[staged.request as usize] else {
                return ledger;
            };
            let record = batch.fit(staged.item).record.clone();
            ledger.wrapping_add(record::seal(&mut batch.bytes[record], staged.sequence))
        })
    }

    /// The new items.
    pub fn records<'a>(
        &'a self,
        requests: &'a [WriteRequest],
    ) -> impl Iterator<Item = NewRecord<'a>> {
        self.staged.iter().filter(|staged| !staged.is_removed).map(|staged| {
            let (batch, item) = prepared(requests, staged);
            NewRecord {
                sequence: staged.sequence,
                record: &batch.bytes[item.record.clone()],
                id: batch.id(item),
                hash: item.hash,
                batch,
                item,
            }
        })
    }
}

/// An existing item: staged for this commit, or stored in the view.
#[derive(Clone, Copy)]
enum Existing {
    Staged(u32),
    Stored(Place),
}

fn prepared<'a>(requests: &'a [WriteRequest], staged: &Staged) -> (&'a Batch, &'a Prepared) {
    match &requests[staged.request as usize] {
        WriteRequest::Add(batch) => (batch, batch.fit(staged.item)),
        WriteRequest::Remove(_) => unreachable!("only requests that add items stage any"),
    }
}

/// Passes hashes of ids through unchanged: they need no second hash.
#[derive(Default)]
struct PassThroughHasher(u64);

impl Hasher for PassThroughHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
