//! The digests of many items, as columns. A column that no item has costs nothing.

use std::collections::HashMap;

use super::{Digest, DigestRef, Identity, Lists, PrintColumn, Shape};
use crate::{
    Fingerprint, Resources,
    equal::EqualGroups,
    fragments::Fragment,
    overlap::Sets,
    pairs::{PairsError, StoredPrints},
    verify::Set,
};

/// The digests of many items, by number.
///
/// Items with equal digests share an *entry*. Entries are numbered in the order of their first items. For
/// bare fingerprints, every item is an entry. Feature sets beyond the memory limit go to a temporary file.
///
/// ```
/// use lookalike::{Digest, Fingerprint, Resources, Width, digest::{Digests, Shape}};
///
/// let shape = Shape { width: Width::Bits64, prints: 1, is_bare: false };
/// let mut digests = Digests::new(shape, &Resources::new());
/// for bits in [7, 8, 7] {
///     digests.push(&Digest::of_print(Fingerprint([bits, 0, 0, 0])))?;
/// }
/// assert_eq!((digests.len(), digests.entries()), (3, 2));
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
pub struct Digests {
    shape: Shape,
    items: u32,
    /// The number of items that match nothing, and of those that match only by their key.
    empty: u32,
    keyed: u32,
    /// The number of features of all items, including equal ones.
    features: u64,
    /// Every item that equals an earlier one, with the first such item before it.
    equal: Vec<(u32, u32)>,
    /// The first item of each entry; empty for bare fingerprints.
    firsts: Vec<u32>,
    prints: PrintColumn,
    /// Entries without fingerprints, ascending; the column has zeros for them.
    lacking: Vec<u32>,
    /// Keys by entry, ascending.
    keys: Vec<(u32, Identity)>,
    weights: Vec<u32>,
    sets: Sets,
    parts: Lists<Fragment>,
    extra: Lists<u8>,
    /// First items by the hash of their digests.
    seen: HashMap<Identity, u32>,
}

/// Eighths of the memory limit for feature sets.
const SETS: u64 = 3;

impl Digests {
    /// No digests.
    pub fn new(shape: Shape, resources: &Resources<'_>) -> Self {
        let limit = resources.share(SETS).unwrap_or(u64::MAX);
        Self {
            shape,
            items: 0,
            empty: 0,
            keyed: 0,
            features: 0,
            equal: Vec::new(),
            firsts: Vec::new(),
            prints: PrintColumn::new(shape.width),
            lacking: Vec::new(),
            keys: Vec::new(),
            weights: Vec::new(),
            sets: Sets::new(limit, resources.folder().to_owned()),
            parts: Lists::default(),
            extra: Lists::default(),
            seen: HashMap::new(),
        }
    }

    /// Adds an item, which takes the next number.
    pub fn push(&mut self, digest: &Digest) -> Result<(), PairsError> {
        let item = self.items;
        self.items = item.checked_add(1).ok_or(PairsError::TooMany { items: 1 << 32 })?;
        if digest.is_empty() {
            self.empty += 1;
            return Ok(());
        }
        self.features += digest.set.features().len() as u64;
        self.keyed += u32::from(digest.key.is_some());
        let first = *self.seen.entry(digest.identity()).or_insert(item);
        if first != item {
            self.equal.push((first, item));
            return Ok(());
        }
        self.push_entry(item, digest)
    }

    fn push_entry(&mut self, item: u32, digest: &Digest) -> Result<(), PairsError> {
        let entry = self.firsts.len() as u32;
        self.firsts.push(item);
        let mut prints = digest.prints.clone();
        if prints.len() != self.shape.prints {
            self.lacking.extend(prints.is_empty().then_some(entry));
            // A single fingerprint does not depend on the orientation.
            let filler = prints.first().copied().unwrap_or(Fingerprint([0; 4]));
            prints.resize(self.shape.prints, filler);
        }
        self.prints.push(&prints);
        self.keys.extend(digest.key.map(|key| (entry, key)));
        self.weights.push(digest.set.weight());
        self.parts.push(entry as usize, &digest.parts);
        self.extra.push(entry as usize, &digest.extra);
        self.sets.push(digest.set.features())
    }

    /// Adds items with only a fingerprint, for a bare shape. Those beyond the memory limit go to a
    /// temporary file.
    pub fn push_prints<const WORDS: usize>(
        &mut self,
        prints: &[Fingerprint<WORDS>],
        resources: &Resources<'_>,
    ) -> Result<(), PairsError> {
        let items = self.items as usize + prints.len();
        self.items = items.try_into().map_err(|_| PairsError::TooMany { items })?;
        self.prints.push_bare(prints, resources)
    }

    /// Ends the additions; required before a search.
    pub fn seal(&mut self) -> Result<(), PairsError> {
        self.seen = HashMap::new();
        self.sets.seal()
    }

    /// The number of items.
    pub fn len(&self) -> u32 {
        self.items
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// The number of distinct digests, without empty ones.
    pub fn entries(&self) -> u32 {
        if self.shape.is_bare { self.items } else { self.firsts.len() as u32 }
    }

    /// The number of items that match nothing.
    pub fn without_digest(&self) -> u32 {
        self.empty
    }

    /// The number of items with too little content, which match only items with the same key.
    pub fn with_key(&self) -> u32 {
        self.keyed
    }

    /// The shape of the digests.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of features of all items, including equal ones.
    pub(crate) fn features(&self) -> u64 {
        self.features
    }

    /// Every item that equals an earlier one, with the first such item before it.
    pub(crate) fn equal(&self) -> &[(u32, u32)] {
        &self.equal
    }

    pub(crate) fn equal_groups(&self) -> EqualGroups {
        EqualGroups::new(self.equal.clone())
    }

    /// The first item of each entry; empty for bare fingerprints, where entries are items.
    pub(crate) fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// The first item of an entry.
    pub(crate) fn item(&self, entry: u32) -> u32 {
        if self.shape.is_bare { entry } else { self.firsts[entry as usize] }
    }

    pub(crate) fn prints(&self) -> &PrintColumn {
        &self.prints
    }

    pub(crate) fn weights(&self) -> &[u32] {
        &self.weights
    }

    pub(crate) fn sets(&self) -> &Sets {
        &self.sets
    }

    /// The entries that are compared with others, rather than only by their key.
    pub(crate) fn comparable(&self) -> Vec<u32> {
        let is_keyed = |entry: &u32| self.key(*entry).is_some();
        (0..self.entries()).filter(|entry| !is_keyed(entry)).collect()
    }

    /// Whether every entry is comparable and has its fingerprints in memory.
    pub(crate) fn all_comparable(&self) -> bool {
        self.keys.is_empty() && self.lacking.is_empty()
    }

    fn key(&self, entry: u32) -> Option<&Identity> {
        let place = self.keys.binary_search_by_key(&entry, |(entry, _)| *entry).ok()?;
        Some(&self.keys[place].1)
    }

    /// The data of an entry that only its kind understands.
    pub(crate) fn extra(&self, entry: u32) -> &[u8] {
        self.extra.of(entry as usize)
    }

    /// An entry without its set.
    pub(crate) fn at(&self, entry: u32) -> DigestRef<'_> {
        let (words, at) = (self.prints.words(), entry as usize);
        let stride = words * self.shape.prints;
        let is_lacking = self.lacking.binary_search(&entry).is_ok();
        let all = self.prints.all_words();
        let prints = if is_lacking { &[] } else { &all[at * stride..(at + 1) * stride] };
        DigestRef {
            prints,
            words,
            set: Set { features: &[], weight: 0 },
            key: self.key(entry),
            parts: self.parts.of(at),
            extra: self.extra.of(at),
        }
    }

    /// The first fingerprints of these entries, which must have one.
    pub(crate) fn gather<const WORDS: usize>(
        &self,
        held: &StoredPrints<WORDS>,
        entries: &[u32],
        number: usize,
    ) -> Vec<Fingerprint<WORDS>> {
        let all = held.in_memory().unwrap_or_default();
        let print = |entry: &u32| all[*entry as usize * self.shape.prints + number];
        entries.iter().map(print).collect()
    }
}

impl Digest {
    /// The digest as a row of columns, to be judged; `words` is the size of each of its fingerprints.
    pub fn with_ref<T>(&self, shape: Shape, look: impl FnOnce(DigestRef<'_>) -> T) -> T {
        let mut column = PrintColumn::new(shape.width);
        column.push(&self.prints);
        look(DigestRef {
            prints: column.all_words(),
            words: column.words(),
            set: self.set.as_set(),
            key: self.key.as_ref(),
            parts: &self.parts,
            extra: &self.extra,
        })
    }
}
