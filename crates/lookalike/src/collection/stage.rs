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
    Added, Found, NewItem, names, record,
    view::{Place, View},
};
use crate::{Fingerprint, IndexError, Radius, Width};

/// Items to be added, ready to be written.
pub struct Batch<const WORDS: usize> {
    /// Records, one after the other.
    bytes: Vec<u8>,
    prints: Vec<Fingerprint<WORDS>>,
    /// Each item, or why it cannot be stored.
    items: Vec<Result<Prepared, String>>,
}

struct Prepared {
    record: Range<usize>,
    id: Range<usize>,
    hash: u64,
    prints: Range<usize>,
}

impl<const WORDS: usize> Batch<WORDS> {
    /// Encodes every item that can be stored.
    pub fn new(items: &[NewItem<'_>], width: Width, now: u64, seed: u64) -> Self {
        let mut batch =
            Self { bytes: Vec::new(), prints: Vec::new(), items: Vec::with_capacity(items.len()) };
        for item in items {
            let checked = record::check(item, width.bits());
            let prepared =
                checked.map(|()| batch.encoded(item, item.inserted.unwrap_or(now), seed));
            batch.items.push(prepared);
        }
        batch
    }

    fn encoded(&mut self, item: &NewItem<'_>, inserted: u64, seed: u64) -> Prepared {
        let (start, first) = (self.bytes.len(), self.prints.len());
        record::encode(item, WORDS, inserted, &mut self.bytes);
        self.prints.extend(item.fingerprints.iter().map(|print| print.resize()));
        let id = start + record::ID..start + record::ID + item.id.len();
        Prepared {
            record: start..self.bytes.len(),
            id,
            hash: names::hash(item.id, seed),
            prints: first..self.prints.len(),
        }
    }

    /// An item that was staged.
    fn fit(&self, item: u32) -> &Prepared {
        self.items[item as usize].as_ref().expect("only items that can be stored are staged")
    }

    fn prints(&self, item: &Prepared) -> &[Fingerprint<WORDS>] {
        &self.prints[item.prints.clone()]
    }

    fn id(&self, item: &Prepared) -> &str {
        str::from_utf8(&self.bytes[item.id.clone()]).unwrap_or_default()
    }
}

/// What a caller wants.
pub enum Wish<const WORDS: usize> {
    /// New items; one whose id is there stays out.
    Insert(Batch<WORDS>),
    /// New items, in place of those of the same id.
    Upsert(Batch<WORDS>),
    /// New items; one that has something within the radius stays out.
    InsertUnlessNear(Batch<WORDS>, Radius),
    /// Items that go, by their ids.
    Remove(Vec<String>),
}

/// What became of it.
pub enum Answer {
    Added(Vec<Added>),
    /// Which of the items were there.
    Removed(Vec<bool>),
}

/// All that one commit will change.
pub struct Stage<'a, const WORDS: usize> {
    view: &'a View<WORDS>,
    seed: u64,
    /// New items of wishes before: where they stand, and whether they are gone again.
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
    wish: u32,
    item: u32,
    sequence: u64,
    before: u32,
    gone: bool,
}

/// No item.
const NONE: u32 = u32::MAX;

/// A new item, for the commit and for the next view.
pub struct NewRecord<'a, const WORDS: usize> {
    pub sequence: u64,
    pub record: &'a [u8],
    pub id: &'a str,
    pub hash: u64,
    pub prints: &'a [Fingerprint<WORDS>],
}

impl<'a, const WORDS: usize> Stage<'a, WORDS> {
    pub fn new(view: &'a View<WORDS>, seed: u64) -> Self {
        Self {
            view,
            seed,
            staged: Vec::new(),
            by_hash: HashMap::default(),
            removed: Vec::new(),
            gone: HashSet::new(),
            next: view.state.next,
        }
    }

    /// Does what the last of `wishes` asks for; those before it are done.
    pub fn apply(&mut self, wishes: &[Wish<WORDS>]) -> Result<Answer, IndexError> {
        let Some(wish) = wishes.last() else { return Ok(Answer::Added(Vec::new())) };
        match wish {
            Wish::Insert(batch) => Ok(self.add_all(wishes, batch, |_, _, _| None)),
            Wish::Upsert(batch) => {
                let added = (0..).zip(&batch.items).map(|(number, item)| match item {
                    Ok(item) => self.replace(wishes, batch, number, item),
                    Err(why) => Added::Unfit { why: why.clone() },
                });
                Ok(Answer::Added(added.collect()))
            }
            Wish::InsertUnlessNear(batch, radius) => {
                // The view does not change meanwhile: it is asked for all of them at once.
                let stored = self.view.par_search(&batch.prints, *radius, usize::MAX)?;
                Ok(self.add_all(wishes, batch, |stage, wishes, item| {
                    let stored = stored[item.prints.clone()].iter().flatten();
                    let matches = stage.near(wishes, batch.prints(item), stored, *radius);
                    (!matches.is_empty()).then_some(Added::Near { matches })
                }))
            }
            Wish::Remove(ids) => {
                let removed = ids.iter().map(|id| {
                    let found = self.find(wishes, id, names::hash(id, self.seed));
                    found.inspect(|&held| self.remove(held)).is_some()
                });
                Ok(Answer::Removed(removed.collect()))
            }
        }
    }

    /// Stages every item whose id is new, unless `refused` says otherwise.
    fn add_all(
        &mut self,
        wishes: &[Wish<WORDS>],
        batch: &Batch<WORDS>,
        refused: impl Fn(&Self, &[Wish<WORDS>], &Prepared) -> Option<Added>,
    ) -> Answer {
        let added = (0..).zip(&batch.items).map(|(number, item)| {
            let item = match item {
                Ok(item) => item,
                Err(why) => return Added::Unfit { why: why.clone() },
            };
            if let Some(held) = self.find(wishes, batch.id(item), item.hash) {
                let sequence = self.sequence(held);
                return match self.prints(wishes, held) == batch.prints(item) {
                    true => Added::Present { sequence },
                    false => Added::Taken { sequence },
                };
            }
            refused(self, wishes, item).unwrap_or_else(|| Added::New {
                sequence: self.stage(wishes.len() - 1, number, item.hash),
            })
        });
        Answer::Added(added.collect())
    }

    fn replace(
        &mut self,
        wishes: &[Wish<WORDS>],
        batch: &Batch<WORDS>,
        number: u32,
        item: &Prepared,
    ) -> Added {
        let held = self.find(wishes, batch.id(item), item.hash);
        held.inspect(|&held| self.remove(held));
        let sequence = self.stage(wishes.len() - 1, number, item.hash);
        match held {
            Some(_) => Added::Replaced { sequence },
            None => Added::New { sequence },
        }
    }

    fn stage(&mut self, wish: usize, item: u32, hash: u64) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let number = self.staged.len() as u32;
        let before = self.by_hash.insert(hash, number).unwrap_or(NONE);
        let wish = wish as u32;
        self.staged.push(Staged { wish, item, sequence, before, gone: false });
        sequence
    }

    /// The item of this id, as things stand now.
    fn find(&self, wishes: &[Wish<WORDS>], id: &str, hash: u64) -> Option<Held> {
        let mut number = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        while number != NONE {
            let staged = &self.staged[number as usize];
            let (batch, prepared) = prepared(wishes, staged);
            if !staged.gone && batch.id(prepared) == id {
                return Some(Held::Staged(number));
            }
            number = staged.before;
        }
        let place = self.view.find(id, hash)?;
        (!self.gone.contains(&self.view.sequence(place))).then_some(Held::Stored(place))
    }

    fn sequence(&self, held: Held) -> u64 {
        match held {
            Held::Staged(number) => self.staged[number as usize].sequence,
            Held::Stored(place) => self.view.sequence(place),
        }
    }

    fn prints<'b>(&'b self, wishes: &'b [Wish<WORDS>], held: Held) -> &'b [Fingerprint<WORDS>] {
        match held {
            Held::Staged(number) => {
                let (batch, item) = prepared(wishes, &self.staged[number as usize]);
                batch.prints(item)
            }
            Held::Stored(place) => self.view.prints(place),
        }
    }

    fn remove(&mut self, held: Held) {
        match held {
            Held::Staged(number) => self.staged[number as usize].gone = true,
            Held::Stored(place) => {
                self.gone.insert(self.view.sequence(place));
                self.removed.push(place);
            }
        }
    }

    /// What is near any of these fingerprints, as things stand now; `stored` is what of the view is.
    fn near<'b>(
        &self,
        wishes: &[Wish<WORDS>],
        prints: &[Fingerprint<WORDS>],
        stored: impl Iterator<Item = &'b Found>,
        radius: Radius,
    ) -> Vec<Found> {
        let stays = |found: &&Found| !self.gone.contains(&found.sequence);
        let mut found: Vec<Found> = stored.filter(stays).cloned().collect();
        for staged in self.staged.iter().filter(|staged| !staged.gone) {
            let (batch, prepared) = prepared(wishes, staged);
            let theirs = batch.prints(prepared);
            let distances =
                prints.iter().flat_map(|own| theirs.iter().map(|its| own.distance(its)));
            if let Some(distance) = distances.min().filter(|&distance| radius.contains(distance)) {
                let id = batch.id(prepared).to_owned();
                found.push(Found { id, sequence: staged.sequence, distance });
            }
        }
        Found::sort(&mut found);
        found
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.staged.iter().all(|staged| staged.gone)
    }

    /// What is staged, without the view; it can be written now.
    pub fn finish(self) -> Staging {
        Staging { staged: self.staged, removed: self.removed, next: self.next }
    }
}

/// What is staged, in order of the sequence numbers.
pub struct Staging {
    staged: Vec<Staged>,
    pub removed: Vec<Place>,
    pub next: u64,
}

impl Staging {
    /// How many items were staged.
    pub fn len(&self) -> usize {
        self.staged.len()
    }

    /// Fills in the checksums of all records, and says their sum.
    pub fn seal<const WORDS: usize>(&self, wishes: &mut [Wish<WORDS>]) -> u64 {
        let living = self.staged.iter().filter(|staged| !staged.gone);
        living.fold(0u64, |ledger, staged| {
            let Some(batch) = wishes[staged.wish as usize].batch_mut() else { return ledger };
            let record = batch.fit(staged.item).record.clone();
            ledger.wrapping_add(record::seal(&mut batch.bytes[record], staged.sequence))
        })
    }

    /// The new items.
    pub fn records<'a, const WORDS: usize>(
        &'a self,
        wishes: &'a [Wish<WORDS>],
    ) -> impl Iterator<Item = NewRecord<'a, WORDS>> {
        self.staged.iter().filter(|staged| !staged.gone).map(|staged| {
            let (batch, item) = prepared(wishes, staged);
            NewRecord {
                sequence: staged.sequence,
                record: &batch.bytes[item.record.clone()],
                id: batch.id(item),
                hash: item.hash,
                prints: batch.prints(item),
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

fn prepared<'a, const WORDS: usize>(
    wishes: &'a [Wish<WORDS>],
    staged: &Staged,
) -> (&'a Batch<WORDS>, &'a Prepared) {
    let batch = wishes[staged.wish as usize].batch().expect("only wishes with items stage any");
    (batch, batch.fit(staged.item))
}

impl<const WORDS: usize> Wish<WORDS> {
    fn batch(&self) -> Option<&Batch<WORDS>> {
        match self {
            Self::Insert(batch) | Self::Upsert(batch) | Self::InsertUnlessNear(batch, _) => {
                Some(batch)
            }
            Self::Remove(_) => None,
        }
    }

    fn batch_mut(&mut self) -> Option<&mut Batch<WORDS>> {
        match self {
            Self::Insert(batch) | Self::Upsert(batch) | Self::InsertUnlessNear(batch, _) => {
                Some(batch)
            }
            Self::Remove(_) => None,
        }
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
