//! What will a commit change?
//!
//! A [`Batch`] is what one caller wants to add, checked and encoded on the caller's own thread. A
//! [`Stage`] gathers what several callers want, one after the other, each seeing what those before
//! it did, and becomes one commit.

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
    search::Question,
    tables::{Layout, Rows, Tables},
    truth::Records,
    view::{Place, View},
};
use crate::{Closeness, Criteria, Digest, Kind, digest::Shape, index::IndexError};

/// Items to be added, ready to be written.
pub struct Batch {
    rule: AddRule,
    /// Records, one after the other.
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

    /// What is kept of an item.
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

/// Tables of some items, to find those that are alike others.
fn tables(digests: &[Digest], layout: &Layout) -> Result<Tables, IndexError> {
    let mut rows = Rows::new(layout);
    digests.iter().for_each(|digest| rows.push(digest));
    rows.finish(layout)
}

/// What a caller wants.
pub enum WriteRequest {
    /// New items.
    Add(Batch),
    /// Items that go, by their ids.
    Remove(Vec<String>),
}

/// What became of it.
pub enum WriteResult {
    Added(Vec<Added>),
    /// Which of the items were there.
    Removed(Vec<bool>),
}

/// What is there before a commit, and how to look at it.
pub struct Ground<'a> {
    pub kind: &'a dyn Kind,
    pub layout: &'a Layout,
    pub view: &'a View,
    pub records: &'a Records<'a>,
    /// Seeds the hashes of ids.
    pub seed: u64,
}

/// All that one commit will change.
pub struct Stage<'a> {
    ground: &'a Ground<'a>,
    /// New items, in the order of requests: where they stand, and whether they are gone again.
    staged: Vec<Staged>,
    /// The newest staged item of each hash of an id, and for each the one before it.
    by_hash: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    /// Items of the view that go.
    pub removed: Vec<Place>,
    /// Their sequence numbers.
    gone: HashSet<u64>,
    next: u64,
}

struct Staged {
    request: u32,
    item: u32,
    sequence: u64,
    before: u32,
    gone: bool,
}

/// No item.
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
    /// What is kept of the item.
    pub fn digest(&self) -> Digest {
        self.batch.digest(self.item)
    }
}

/// Items that are alike those of a batch, by the number of the item.
struct Alike {
    /// Those of the view.
    stored: Vec<Vec<Match>>,
    /// Those of this request and of earlier ones: item, request, its item, and how close they are.
    new: Vec<Vec<(u32, u32, Closeness)>>,
}

impl<'a> Stage<'a> {
    pub fn new(ground: &'a Ground<'a>) -> Self {
        Self {
            ground,
            staged: Vec::new(),
            by_hash: HashMap::default(),
            removed: Vec::new(),
            gone: HashSet::new(),
            next: ground.view.state.next,
        }
    }

    /// Does what the last of `requests` asks for; those before it are done.
    pub fn apply(&mut self, requests: &[WriteRequest]) -> Result<WriteResult, CollectionError> {
        let Some(request) = requests.last() else { return Ok(WriteResult::Added(Vec::new())) };
        match request {
            WriteRequest::Add(batch) => self.add(requests, batch).map(WriteResult::Added),
            WriteRequest::Remove(ids) => {
                let removed = ids.iter().map(|id| {
                    let found = self.find(requests, id, names::hash(id, self.ground.seed));
                    found.inspect(|&held| self.remove(held)).is_some()
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
        let alike = match &batch.rule {
            AddRule::UnlessAlike(by) => Some(self.alike(requests, batch, by)?),
            AddRule::Insert | AddRule::Replace => None,
        };
        let added = (0..).zip(&batch.items).map(|(number, item)| match item {
            Ok(item) => self.add_one(requests, batch, (number, item), alike.as_ref()),
            Err(reason) => Ok(Added::Unfit { reason: reason.clone() }),
        });
        added.collect()
    }

    fn add_one(
        &mut self,
        requests: &[WriteRequest],
        batch: &Batch,
        (number, item): (u32, &Prepared),
        alike: Option<&Alike>,
    ) -> Result<Added, CollectionError> {
        let request = requests.len() - 1;
        let Some(held) = self.find(requests, batch.id(item), item.hash) else {
            let matches = alike.map_or_else(Vec::new, |alike| self.near(requests, alike, number));
            if !matches.is_empty() {
                return Ok(Added::Near { matches });
            }
            return Ok(Added::Added { sequence: self.stage(request, number, item.hash) });
        };
        let there = self.sequence(held);
        let new = batch.record(item);
        let is_present = match batch.rule {
            // Nothing would change.
            AddRule::Replace => self.look(requests, held, |old| old.equals(&new))?,
            AddRule::Insert | AddRule::UnlessAlike(_) => {
                self.look(requests, held, |old| old.has_content_of(&new))?
            }
        };
        if is_present {
            return Ok(Added::Present { sequence: there });
        }
        if batch.rule != AddRule::Replace {
            return Ok(Added::Conflict { sequence: there });
        }
        self.remove(held);
        Ok(Added::Replaced { sequence: self.stage(request, number, item.hash) })
    }

    fn stage(&mut self, request: usize, item: u32, hash: u64) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let number = self.staged.len() as u32;
        let before = self.by_hash.insert(hash, number).unwrap_or(NONE);
        let request = request as u32;
        self.staged.push(Staged { request, item, sequence, before, gone: false });
        sequence
    }

    /// The item of this id, as things stand now.
    fn find(&self, requests: &[WriteRequest], id: &str, hash: u64) -> Option<Held> {
        let mut number = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        while number != NONE {
            let staged = &self.staged[number as usize];
            let (batch, prepared) = prepared(requests, staged);
            if !staged.gone && batch.id(prepared) == id {
                return Some(Held::Staged(number));
            }
            number = staged.before;
        }
        let place = self.ground.view.find(id, hash)?;
        let sequence = self.ground.view.sequence(place);
        (!self.gone.contains(&sequence)).then_some(Held::Stored(place))
    }

    fn sequence(&self, held: Held) -> u64 {
        match held {
            Held::Staged(number) => self.staged[number as usize].sequence,
            Held::Stored(place) => self.ground.view.sequence(place),
        }
    }

    /// What is true of the record of an item.
    fn look(
        &self,
        requests: &[WriteRequest],
        held: Held,
        look: impl FnOnce(&Record<'_>) -> bool,
    ) -> Result<bool, CollectionError> {
        match held {
            Held::Staged(number) => {
                let (batch, item) = prepared(requests, &self.staged[number as usize]);
                Ok(look(&batch.record(item)))
            }
            Held::Stored(place) => {
                let sequence = self.ground.view.sequence(place);
                let looked = self.ground.records.look(sequence, |record| Some(look(record)))?;
                Ok(looked.unwrap_or(false))
            }
        }
    }

    fn remove(&mut self, held: Held) {
        match held {
            Held::Staged(number) => self.staged[number as usize].gone = true,
            Held::Stored(place) => {
                self.gone.insert(self.ground.view.sequence(place));
                self.removed.push(place);
            }
        }
    }

    /// What is alike each item of the last request. The view does not change meanwhile, and neither do
    /// the items of requests: only which of them are there is decided one by one.
    fn alike(
        &self,
        requests: &[WriteRequest],
        batch: &Batch,
        by: &Criteria,
    ) -> Result<Alike, CollectionError> {
        let Ground { kind, layout, view, records, .. } = *self.ground;
        let question = Question::new(kind, by, layout, (view.state.items, view.features()))?;
        let digests = batch.digests();
        let stored = question.search(view, Some(records), &digests, usize::MAX)?;
        let stored = stored.ok_or_else(|| records.missing())?;
        let mut new = vec![Vec::new(); batch.items.len()];
        for (number, request) in (0..).zip(requests) {
            let WriteRequest::Add(earlier) = request else { continue };
            let others = earlier.digests();
            let tables = tables(&others, layout)?;
            for (item, other, closeness) in question.among(&tables, &others, &digests)? {
                new[item as usize].push((number, other, closeness));
            }
        }
        Ok(Alike { stored, new })
    }

    /// Those of them that are there, as things stand now.
    fn near(&self, requests: &[WriteRequest], alike: &Alike, item: u32) -> Vec<Match> {
        let stored = alike.stored[item as usize].iter();
        let stays = |found: &&Match| !self.gone.contains(&found.sequence);
        let mut matches: Vec<Match> = stored.filter(stays).cloned().collect();
        for &(request, other, closeness) in &alike.new[item as usize] {
            let place = |staged: &Staged| (staged.request, staged.item);
            let Ok(number) = self.staged.binary_search_by_key(&(request, other), place) else {
                continue;
            };
            let staged = &self.staged[number];
            if !staged.gone {
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
        self.removed.is_empty() && self.staged.iter().all(|staged| staged.gone)
    }

    /// What is staged, without the view; it can be written now.
    pub fn finish(self) -> PendingCommit {
        PendingCommit { staged: self.staged, removed: self.removed, next: self.next }
    }
}

/// What is staged, in order of the sequence numbers.
pub struct PendingCommit {
    staged: Vec<Staged>,
    pub removed: Vec<Place>,
    pub next: u64,
}

impl PendingCommit {
    /// How many items were staged.
    pub fn len(&self) -> usize {
        self.staged.len()
    }

    /// Fills in the checksums of all records, and says their sum.
    pub fn seal(&self, requests: &mut [WriteRequest]) -> u64 {
        let living = self.staged.iter().filter(|staged| !staged.gone);
        living.fold(0u64, |ledger, staged| {
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
        self.staged.iter().filter(|staged| !staged.gone).map(|staged| {
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

/// Where an item stands: in this stage, or in the view.
#[derive(Clone, Copy)]
enum Held {
    Staged(u32),
    Stored(Place),
}

fn prepared<'a>(requests: &'a [WriteRequest], staged: &Staged) -> (&'a Batch, &'a Prepared) {
    match &requests[staged.request as usize] {
        WriteRequest::Add(batch) => (batch, batch.fit(staged.item)),
        WriteRequest::Remove(_) => unreachable!("only requests with items stage any"),
    }
}

/// Hashes of ids need no second hash.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
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
