//! The index that changes.
//!
//! Each table is a set of [`Chains`]. Only the first of equal fingerprints is in the tables; the
//! others hang on it in a ring, so that a million equal items cost no more than others. The plan
//! and the directories follow the number of items: they are made anew each time it has doubled,
//! from a sample of what is there by then.

use std::{cmp::Reverse, collections::BinaryHeap, ops::ControlFlow, path::Path};

use rayon::prelude::*;

use super::{
    IndexError, LinearIndex, Match, Search,
    batch::Batch,
    chains::Chains,
    check_radius,
    choose::{Sample, Storage, choose},
    file::{self, About, Content, Kind},
    map::map_file,
    plan::{Lane, MOST_DIRECTORY_BITS, Plan, Table},
    text,
};
use crate::{
    Fingerprint, Kernel, Radius,
    hamming::{
        bits::BitSet,
        lanes::{Lanes, Task},
    },
};

/// Fingerprints that come and go, with tables to search them.
///
/// An id is the number of an item, given by [`insert`](Self::insert); the ids of removed items are
/// given again, the lowest first, so ids stay dense. Inserting takes constant time on average.
/// Memory is not given back before [`clear`](Self::clear), but used again.
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
    /// By id, those of removed items included.
    prints: Vec<Fingerprint<WORDS>>,
    live: Live,
    /// Ids that may be given again.
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
        Self {
            max_radius,
            kernel: Kernel::detect(),
            prints: Vec::with_capacity(items),
            live: Live::default(),
            free: BinaryHeap::new(),
            tables: Tables::none(),
        }
    }

    /// Forces a kernel. The answer is the same.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Adds an item and says its id: the lowest that is free.
    ///
    /// Fails if there are too many items or there is no memory; the index is then as before.
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

    /// Removes an item and says what it was; `None` if there is none with this id.
    pub fn remove(&mut self, id: u32) -> Option<Fingerprint<WORDS>> {
        let print = self.print(id)?;
        self.tables.remove(id, &self.prints, self.kernel);
        self.live.remove(id);
        self.free.push(Reverse(id));
        Some(print)
    }

    /// Whether an item with exactly this fingerprint is there.
    pub fn contains(&self, print: &Fingerprint<WORDS>) -> bool {
        match self.tables.find(print, &self.prints, self.kernel) {
            Found::Item(_) => true,
            Found::Nothing => false,
            Found::NotLookedUp => self.any(print, Radius::new(0)).unwrap_or(false),
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

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.live.count
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all items and gives their memory back.
    pub fn clear(&mut self) {
        *self = Self::new(self.max_radius).with_kernel(self.kernel);
    }

    /// How many bytes the fingerprints and tables take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.prints)
            + size_of_val(&*self.live.words)
            + self.free.len() * size_of::<u32>()
            + self.tables.memory_bytes()
    }

    /// How a search is done, for people.
    pub fn plan(&self) -> String {
        if self.tables.plan.covers(self.max_radius.bits()) {
            self.tables.plan.to_string()
        } else {
            Plan::<WORDS>::scan().to_string()
        }
    }

    /// Writes the items to a file, under a temporary name until it is whole.
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

    /// Reads what [`save`](Self::save) wrote: the same items with the same ids. Every byte is
    /// compared with its checksum; the tables are made anew.
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
            let what = "the sections have not the size of the items".to_string();
            return Err(IndexError::Damaged { path: path.into(), what });
        }
        let mut index = Self::with_capacity(prints.len(), Radius::new(header.about.max_radius));
        let lives = |id: usize| live[id / 64] >> (id % 64) & 1 == 1;
        index.restore(prints.iter().enumerate().map(|(id, print)| lives(id).then_some(*print)))?;
        Ok(index)
    }

    /// Writes a line of text per item, `0x` hex, a tab and the id, in order of the ids.
    pub fn save_text(&self, path: impl AsRef<Path>) -> Result<(), IndexError> {
        text::write(path.as_ref(), self.iter())
    }

    /// Reads what [`save_text`](Self::save_text) wrote: the same items with the same ids, in any
    /// order, for searches within up to `max_radius`. The first bad line is an error.
    pub fn load_text(path: impl AsRef<Path>, max_radius: Radius) -> Result<Self, IndexError> {
        let prints = text::read(path.as_ref())?;
        let mut index = Self::with_capacity(prints.len(), max_radius);
        index.restore(prints.into_iter())?;
        Ok(index)
    }

    /// Fills an empty index: what is `None` is a free id.
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
        if self.len() >= Tables::<WORDS>::FEWEST {
            self.rebuild()?;
        }
        Ok(())
    }

    /// Puts a fingerprint where its id says, not yet into the tables.
    fn place(&mut self, id: u32, print: Fingerprint<WORDS>) {
        if id as usize == self.prints.len() {
            self.prints.push(print);
        } else {
            self.prints[id as usize] = print;
        }
        self.live.insert(id);
    }

    /// Puts a live item into the tables, or makes them once there are enough items.
    fn enter(&mut self, id: u32) -> Result<(), IndexError> {
        if self.tables.none_yet() {
            return if self.len() < Tables::<WORDS>::FEWEST { Ok(()) } else { self.rebuild() };
        }
        self.tables.insert(id, &self.prints, self.kernel)?;
        if self.tables.are_full() { self.rebuild() } else { Ok(()) }
    }

    /// Follows another plan from now on, until there are twice as many items.
    #[cfg(test)]
    pub(super) fn force_plan(&mut self, plan: Plan<WORDS>) -> Result<(), IndexError> {
        let ids: Vec<u32> = self.live.ids().collect();
        self.tables = Tables::with_plan(plan, 2 * ids.len(), &ids, &self.prints, self.kernel)?;
        Ok(())
    }

    /// Plans again and sorts all items into new tables.
    fn rebuild(&mut self) -> Result<(), IndexError> {
        // The old tables go first: there may not be memory for both.
        let distinct = self.tables.distinct;
        self.tables = Tables::none();
        let ids: Vec<u32> = self.live.ids().collect();
        self.tables = Tables::build(&ids, &self.prints, distinct, self.max_radius, self.kernel)?;
        Ok(())
    }
}

/// The words of a section, wherever it lies.
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
            buckets: self.tables.chains.as_slice(),
            prints: &self.prints,
            queries,
            radius,
            on_match: &mut with_equals,
        });
        Ok(())
    }
}

/// The tables of the items, and what hangs on them.
struct Tables<const WORDS: usize> {
    /// Covers the index's radius, or if no tables pay, the radius 0 only.
    plan: Plan<WORDS>,
    chains: Vec<Chains>,
    equals: Equals,
    /// Different fingerprints in the tables.
    distinct: usize,
    /// As many as the tables are made for.
    most: usize,
    /// Where the item at hand belongs.
    homes: Vec<Home>,
}

/// What the tables know about a fingerprint.
enum Found {
    /// The item that stands for all equal ones.
    Item(u32),
    Nothing,
    /// There are no tables yet.
    NotLookedUp,
}

impl<const WORDS: usize> Tables<WORDS> {
    /// With fewer items, looking at all of them is as fast.
    const FEWEST: usize = Self::BUCKET << 7;

    /// Items per bucket in new tables; twice as many when they are full. Lines of fifteen are then
    /// used to 70 to 90 %, and a search reads one or two of them.
    const BUCKET: usize = 12;

    fn none() -> Self {
        Self::empty(Plan::scan(), Vec::new(), 0)
    }

    fn empty(plan: Plan<WORDS>, chains: Vec<Chains>, most: usize) -> Self {
        Self { plan, chains, equals: Equals::default(), distinct: 0, most, homes: Vec::new() }
    }

    fn none_yet(&self) -> bool {
        self.chains.is_empty()
    }

    fn are_full(&self) -> bool {
        self.distinct >= self.most
    }

    fn memory_bytes(&self) -> usize {
        let chains: usize = self.chains.iter().map(Chains::memory_bytes).sum();
        chains + size_of_val(&*self.equals.links)
    }

    /// Tables of all `ids`, of which some `distinct` are known to be different.
    fn build(
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        distinct: usize,
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let items = if distinct > 0 { distinct } else { ids.len() }.max(Self::FEWEST);
        let directory_bits = (items / Self::BUCKET).ilog2();
        let sample = Sample::draw(ids.len(), |index| prints[ids[index] as usize]);
        let plan = choose(&sample, &storage(items, directory_bits), max_radius.bits());
        let plan = if plan.tables.is_empty() { Self::exact_plan(directory_bits) } else { plan };
        let most = 2 * (Self::BUCKET << directory_bits);
        Self::with_plan(plan, most, ids, prints, kernel)
    }

    fn with_plan(
        plan: Plan<WORDS>,
        most: usize,
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let chains =
            plan.tables.iter().map(|table| Chains::new(table.buckets(), table.check.len() > 0));
        let chains = chains.collect::<Result<Vec<Chains>, IndexError>>()?;
        let mut tables = Self::empty(plan, chains, most);
        tables.fill(ids, prints, kernel)?;
        Ok(tables)
    }

    /// One table on all bits: finds equal fingerprints only.
    fn exact_plan(directory_bits: u32) -> Plan<WORDS> {
        let all: BitSet<WORDS> = (0..Fingerprint::<WORDS>::BITS).collect();
        Plan::new(vec![Lane::new(vec![all], 0)], directory_bits.min(MOST_DIRECTORY_BITS))
    }

    /// The first table finds equal items, one after the other; the rest follow side by side.
    fn fill(
        &mut self,
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<(), IndexError> {
        let Some((first, others)) = self.chains.split_first_mut() else { return Ok(()) };
        let mut different = Vec::with_capacity(ids.len());
        let equals = &mut self.equals;
        let enter_first = |chains: &mut Chains, home: Home, id: u32| {
            let same = |other: u32| prints[other as usize] == prints[id as usize];
            if let Some(equal) = chains.find(home.bucket, home.check, same) {
                equals.join(id, equal, prints.len());
                return Ok(());
            }
            different.push(id);
            chains.insert(home.bucket, home.check, id)
        };
        let (table, tables) = (&self.plan.tables[0], &self.plan.tables[1..]);
        kernel.run(Fill { table, chains: first, ids, prints, enter: enter_first })?;
        self.distinct = different.len();
        others.par_iter_mut().zip(tables).try_for_each(|(chains, table)| {
            let enter =
                |chains: &mut Chains, home: Home, id| chains.insert(home.bucket, home.check, id);
            kernel.run(Fill { table, chains, ids: &different, prints, enter })
        })
    }

    /// The item that stands for all with this fingerprint.
    fn find(
        &self,
        print: &Fingerprint<WORDS>,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Found {
        let Some((first, table)) = self.chains.first().zip(self.plan.tables.first()) else {
            return Found::NotLookedUp;
        };
        let home = kernel.run(HomeIn { table, print });
        let equal = first.find(home.bucket, home.check, |id| prints[id as usize] == *print);
        equal.map_or(Found::Nothing, Found::Item)
    }

    /// Adds an item to all tables, or to the ring of those it equals.
    fn insert(
        &mut self,
        id: u32,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<(), IndexError> {
        let print = &prints[id as usize];
        self.locate(print, kernel);
        self.equals.add(id);
        if let Found::Item(equal) = self.find(print, prints, kernel) {
            self.equals.join(id, equal, prints.len());
            return Ok(());
        }
        for (table, home) in self.homes.iter().enumerate() {
            if let Err(error) = self.chains[table].insert(home.bucket, home.check, id) {
                let done = self.chains[..table].iter_mut().zip(&self.homes);
                done.for_each(|(chains, home)| chains.remove(home.bucket, id));
                return Err(error);
            }
        }
        self.distinct += 1;
        Ok(())
    }

    /// Takes an item out of all tables, or out of the ring of those it equals.
    fn remove(&mut self, id: u32, prints: &[Fingerprint<WORDS>], kernel: Kernel) {
        let print = &prints[id as usize];
        self.locate(print, kernel);
        let Found::Item(first) = self.find(print, prints, kernel) else { return };
        let heir = self.equals.leave(id);
        if first != id {
            return;
        }
        let tables = self.chains.iter_mut().zip(&self.homes);
        match heir {
            Some(heir) => tables.for_each(|(chains, home)| chains.rename(home.bucket, id, heir)),
            None => {
                tables.for_each(|(chains, home)| chains.remove(home.bucket, id));
                self.distinct -= 1;
            }
        }
    }

    /// Works out where a fingerprint belongs in every table, and asks for those places.
    fn locate(&mut self, print: &Fingerprint<WORDS>, kernel: Kernel) {
        let Self { plan, chains, homes, .. } = self;
        homes.clear();
        kernel.run(Locate { tables: &plan.tables, chains, print, homes });
    }
}

/// What tables for twice as many items may take: ten times the bytes of their fingerprints.
fn storage(items: usize, directory_bits: u32) -> Storage {
    let directory_bits = vec![directory_bits];
    // Lines are partly empty, and hold a link.
    Storage { items: 2 * items as u64, directory_bits, cells: false, slack: 1.6, most: 10.0 }
}

/// Where a fingerprint belongs in one table.
#[derive(Clone, Copy)]
struct Home {
    bucket: u32,
    check: u32,
}

/// Works out one [`Home`].
struct HomeIn<'a, const WORDS: usize> {
    table: &'a Table<WORDS>,
    print: &'a Fingerprint<WORDS>,
}

impl<const WORDS: usize> Task for HomeIn<'_, WORDS> {
    type Output = Home;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Home {
        Home {
            bucket: self.table.bucket(lanes, self.print),
            check: self.table.check.of(lanes, self.print) as u32,
        }
    }
}

/// Works out the [`Home`]s in all tables.
struct Locate<'a, const WORDS: usize> {
    tables: &'a [Table<WORDS>],
    chains: &'a [Chains],
    print: &'a Fingerprint<WORDS>,
    homes: &'a mut Vec<Home>,
}

impl<const WORDS: usize> Task for Locate<'_, WORDS> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (table, chains) in self.tables.iter().zip(self.chains) {
            let home = HomeIn { table, print: self.print }.run(lanes);
            chains.touch_line(lanes, home.bucket);
            self.homes.push(home);
        }
    }
}

/// Enters items into one table, one after the other, until that fails.
struct Fill<'a, const WORDS: usize, F> {
    table: &'a Table<WORDS>,
    chains: &'a mut Chains,
    ids: &'a [u32],
    prints: &'a [Fingerprint<WORDS>],
    enter: F,
}

/// How many items ahead of the one that is entered are located.
const AHEAD: usize = 16;

impl<const WORDS: usize, F> Task for Fill<'_, WORDS, F>
where
    F: FnMut(&mut Chains, Home, u32) -> Result<(), IndexError>,
{
    type Output = Result<(), IndexError>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Result<(), IndexError> {
        let Self { table, chains, ids, prints, mut enter } = self;
        for group in ids.chunks(AHEAD) {
            let mut homes = [Home { bucket: 0, check: 0 }; AHEAD];
            for (home, &id) in homes.iter_mut().zip(group) {
                *home = HomeIn { table, print: &prints[id as usize] }.run(lanes);
                chains.touch_line(lanes, home.bucket);
            }
            for (&home, &id) in homes.iter().zip(group) {
                enter(chains, home, id)?;
            }
        }
        Ok(())
    }
}

/// Which items are equal: each is in a ring with those it equals.
#[derive(Default)]
struct Equals {
    /// By id. Nothing as long as all items are different.
    links: Vec<Ring>,
}

/// The neighbours of an item in its ring.
#[derive(Clone, Copy)]
struct Ring {
    next: u32,
    previous: u32,
}

impl Ring {
    fn alone(id: u32) -> Self {
        Self { next: id, previous: id }
    }
}

impl Equals {
    /// A new item, different from all others so far.
    fn add(&mut self, id: u32) {
        if self.links.is_empty() {
            return;
        }
        if id as usize >= self.links.len() {
            let first = self.links.len() as u32;
            self.links.extend((first..=id).map(Ring::alone));
        }
        self.links[id as usize] = Ring::alone(id);
    }

    /// Puts an item into the ring of another, at its end. There are `ids` ids.
    fn join(&mut self, id: u32, equal: u32, ids: usize) {
        if self.links.is_empty() {
            self.links.extend((0..ids as u32).map(Ring::alone));
        }
        let last = self.links[equal as usize].previous;
        self.links[id as usize] = Ring { next: equal, previous: last };
        self.links[last as usize].next = id;
        self.links[equal as usize].previous = id;
    }

    /// Takes an item out of its ring; says which one comes after it there.
    fn leave(&mut self, id: u32) -> Option<u32> {
        let Ring { next, previous } = *self.links.get(id as usize)?;
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        self.links[id as usize] = Ring::alone(id);
        (next != id).then_some(next)
    }

    /// An item and those that equal it.
    fn ring(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = move |&id: &u32| {
            let next = self.links.get(id as usize)?.next;
            (next != first).then_some(next)
        };
        std::iter::successors(Some(first), next)
    }
}

/// Which ids are items.
#[derive(Default)]
struct Live {
    words: Vec<u64>,
    count: usize,
}

impl Live {
    fn contains(&self, id: u32) -> bool {
        self.words.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    fn insert(&mut self, id: u32) {
        let word = id as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(!self.contains(id));
        self.words[word] |= 1 << (id % 64);
    }

    fn remove(&mut self, id: u32) {
        if self.contains(id) {
            self.words[id as usize / 64] &= !(1 << (id % 64));
            self.count -= 1;
        }
    }

    /// Ascending.
    fn ids(&self) -> impl Iterator<Item = u32> {
        let words = (0u32..).zip(&self.words);
        words.flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        })
    }

    /// One bit for each of `ids` ids, in whole words.
    fn padded(&self, ids: usize) -> Vec<u64> {
        let mut words = self.words.clone();
        words.resize(ids.div_ceil(64), 0);
        words
    }
}
