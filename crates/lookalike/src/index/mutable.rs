//! The index that changes.
//!
//! Fingerprints by id, and [`Tables`] to search them. The tables are planned and rebuilt each time the number of
//! items has doubled.

use std::{cmp::Reverse, collections::BinaryHeap, ops::ControlFlow, path::Path};

use super::{
    IndexError, LinearIndex, Match, Search,
    batch::Batch,
    check_radius,
    file::{self, About, Content, Kind},
    live::Live,
    map::map_file,
    tables::{EqualItem, Tables},
};
use crate::{
    Fingerprint, Radius,
    hamming::{Kernel, assert_width},
};

/// Fingerprints that can be inserted and removed, with tables to search them.
///
/// [`insert`](Self::insert) gives every item an id. The ids of removed items are reused, the lowest first, so ids
/// stay dense. Inserting takes constant time on average. Memory of removed items is reused, but freed only by
/// [`clear`](Self::clear).
///
/// ```
/// use lookalike::{Fingerprint, Radius, index::{MutableIndex, Search}};
///
/// let mut index = MutableIndex::new(Radius::new(3));
/// let id = index.insert(Fingerprint([0b1010]))?;
/// assert!(index.any(&Fingerprint([0b1000]), Radius::new(1))?);
/// assert_eq!(index.remove(id), Some(Fingerprint([0b1010])));
/// assert!(index.is_empty());
/// # Ok::<(), lookalike::index::IndexError>(())
/// ```
pub struct MutableIndex<const WORDS: usize> {
    max_radius: Radius,
    kernel: Kernel,
    /// By id, including those of removed items.
    prints: Vec<Fingerprint<WORDS>>,
    live: Live,
    /// Ids to reuse.
    free: BinaryHeap<Reverse<u32>>,
    tables: Tables<WORDS>,
}

impl<const WORDS: usize> MutableIndex<WORDS> {
    /// An empty index for searches within up to `max_radius`.
    pub fn new(max_radius: Radius) -> Self {
        Self::with_capacity(0, max_radius)
    }

    /// An empty index with room for the fingerprints of `items` items.
    pub fn with_capacity(items: usize, max_radius: Radius) -> Self {
        const { assert_width::<WORDS>() };
        Self {
            max_radius,
            kernel: Kernel::detect(),
            prints: Vec::with_capacity(items),
            live: Live::default(),
            free: BinaryHeap::new(),
            tables: Tables::none(),
        }
    }

    /// Uses this kernel. The answer is the same.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Adds an item and returns its id: the lowest free one.
    ///
    /// Fails if there are too many items or too little memory, and then leaves the index unchanged.
    pub fn insert(&mut self, print: Fingerprint<WORDS>) -> Result<u32, IndexError> {
        let id = self.free.peek().map_or(self.prints.len() as u32, |Reverse(id)| *id);
        if id == u32::MAX {
            return Err(IndexError::TooMany { items: self.prints.len() });
        }
        self.place(id, print);
        if let Err(error) = self.enter(id) {
            self.live.remove(id);
            if self.free.peek() != Some(&Reverse(id)) {
                self.prints.pop();
            }
            return Err(error);
        }
        if self.free.peek() == Some(&Reverse(id)) {
            self.free.pop();
        }
        Ok(id)
    }

    /// Removes an item and returns its fingerprint; `None` if there is no item with this id.
    pub fn remove(&mut self, id: u32) -> Option<Fingerprint<WORDS>> {
        let print = self.print(id)?;
        self.tables.remove(id, &self.prints, self.kernel);
        self.live.remove(id);
        self.free.push(Reverse(id));
        Some(print)
    }

    /// Whether some item has exactly this fingerprint.
    pub fn contains(&self, print: &Fingerprint<WORDS>) -> bool {
        match self.tables.find(print, &self.prints, self.kernel) {
            EqualItem::Is(_) => true,
            EqualItem::None => false,
            EqualItem::Unknown => self.any(print, Radius::new(0)).unwrap_or(false),
        }
    }

    /// The fingerprint of an item.
    pub fn print(&self, id: u32) -> Option<Fingerprint<WORDS>> {
        self.live.contains(id).then(|| self.prints[id as usize])
    }

    /// All items, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Fingerprint<WORDS>)> {
        self.live.ids().map(|id| (id, self.prints[id as usize]))
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.live.count()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all items and frees their memory.
    pub fn clear(&mut self) {
        *self = Self::new(self.max_radius).with_kernel(self.kernel);
    }

    /// The number of bytes of fingerprints and tables.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.prints)
            + self.live.memory_bytes()
            + self.free.len() * size_of::<u32>()
            + self.tables.memory_bytes()
    }

    /// Describes how a search works, for people.
    pub fn plan(&self) -> String {
        self.tables.plan.to_string()
    }

    /// Writes the items to a file, which appears under its name when it is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), IndexError> {
        let about = About {
            kind: Kind::Mutable,
            words: WORDS as u32,
            max_radius: self.max_radius.bits(),
            items: self.prints.len() as u64,
        };
        let live = self.live.padded(self.prints.len());
        let contents = [
            (Content::Live, bytemuck::cast_slice(&live)),
            (Content::Fingerprints, bytemuck::cast_slice(&self.prints)),
        ];
        file::write(path.as_ref(), about, &contents)
    }

    /// Reads what [`save`](Self::save) wrote: the same items with the same ids. Verifies the checksum of every
    /// section, and rebuilds the tables.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        let path = path.as_ref();
        let map = map_file(path)?;
        let header = file::read_header(path, &map, Kind::Mutable, WORDS)?;
        header.verify(path, &map)?;
        let words = |content| header.section(path, content)?.of(path, &map);
        let live: Vec<u64> = numbers(words(Content::Live)?);
        let prints: Vec<u64> = numbers(words(Content::Fingerprints)?);
        let prints: &[Fingerprint<WORDS>] =
            bytemuck::cast_slice(&prints[..prints.len() / WORDS * WORDS]);
        let whole = prints.len() as u64 == header.about.items
            && live.len() == prints.len().div_ceil(64)
            && prints.len() <= u32::MAX as usize;
        if !whole {
            let what = "the sizes of the sections do not fit the number of items".to_string();
            return Err(IndexError::Damaged { path: path.into(), what });
        }
        let mut index = Self::with_capacity(prints.len(), Radius::new(header.about.max_radius));
        let lives = |id: usize| live[id / 64] >> (id % 64) & 1 == 1;
        index.restore(prints.iter().enumerate().map(|(id, print)| lives(id).then_some(*print)))?;
        Ok(index)
    }

    /// Fills an empty index; `None` is a free id.
    fn restore(
        &mut self,
        prints: impl Iterator<Item = Option<Fingerprint<WORDS>>>,
    ) -> Result<(), IndexError> {
        for (id, print) in (0..).zip(prints) {
            self.place(id, print.unwrap_or_default());
            if print.is_none() {
                self.live.remove(id);
                self.free.push(Reverse(id));
            }
        }
        if self.len() >= Tables::<WORDS>::MIN_ITEMS {
            self.rebuild()?;
        }
        Ok(())
    }

    /// Stores the fingerprint of an id, but not in the tables.
    fn place(&mut self, id: u32, print: Fingerprint<WORDS>) {
        if id as usize == self.prints.len() {
            self.prints.push(print);
        } else {
            self.prints[id as usize] = print;
        }
        self.live.insert(id);
    }

    /// Adds an item to the tables, or builds them once there are enough items.
    fn enter(&mut self, id: u32) -> Result<(), IndexError> {
        if self.tables.none_yet() {
            return if self.len() < Tables::<WORDS>::MIN_ITEMS { Ok(()) } else { self.rebuild() };
        }
        self.tables.insert(id, &self.prints, self.kernel)?;
        if self.tables.are_full() { self.rebuild() } else { Ok(()) }
    }

    /// Uses another plan until the number of items has doubled.
    #[cfg(test)]
    pub(super) fn force_plan(&mut self, plan: super::plan::Plan<WORDS>) -> Result<(), IndexError> {
        let ids: Vec<u32> = self.live.ids().collect();
        self.tables =
            Tables::with_plan(plan, None, 2 * ids.len(), &ids, &self.prints, self.kernel)?;
        Ok(())
    }

    /// Plans again and sorts all items into new tables.
    fn rebuild(&mut self) -> Result<(), IndexError> {
        // Free the old tables first: there may not be memory for both.
        let distinct = self.tables.distinct;
        self.tables = Tables::none();
        let ids: Vec<u32> = self.live.ids().collect();
        self.tables = Tables::build(&ids, &self.prints, distinct, self.max_radius, self.kernel)?;
        Ok(())
    }
}

/// The words of a section, at any alignment.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

impl<const WORDS: usize> Search<WORDS> for MutableIndex<WORDS> {
    fn max_radius(&self) -> Radius {
        self.max_radius
    }

    fn search_while(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        mut on_match: impl FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        check_radius(radius, self.max_radius)?;
        if !self.tables.plan.covers(radius.bits()) {
            let all = LinearIndex::new(&self.prints).with_kernel(self.kernel);
            return all.search_while(queries, radius, |query, found| {
                if self.live.contains(found.id) {
                    on_match(query, found)
                } else {
                    ControlFlow::Continue(())
                }
            });
        }
        let mut with_equals = |query, found: Match| {
            let equals = &self.tables.equals;
            equals.ring(found.id).try_for_each(|id| on_match(query, Match { id, ..found }))
        };
        let _ = self.kernel.run(Batch {
            plan: &self.tables.plan,
            buckets: |table: usize| &self.tables.chains[table],
            prints: &self.prints,
            queries,
            radius,
            on_match: &mut with_equals,
        });
        Ok(())
    }
}
