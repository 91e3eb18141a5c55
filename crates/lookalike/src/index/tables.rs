//! The tables of a mutable index.
//!
//! Each table of the plan is stored as [`Chains`]. They hold only the first of equal fingerprints; the others are
//! linked to it in a ring ([`Equals`]), so that a million equal items cost no more than others. The plan is made
//! from a sample of the items, for up to twice as many.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    IndexError,
    chains::Chains,
    choose::{Sample, Storage, choose},
    equals::Equals,
    plan::{MAX_DIRECTORY_BITS, Plan, TablePlan},
};
use crate::{
    Fingerprint, Radius,
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
};

/// The tables of all items, and the rings of equal ones.
pub(super) struct Tables<const WORDS: usize> {
    /// Covers the maximum radius of the index, or has no tables if none pay.
    pub plan: Plan<WORDS>,
    /// One for each table of the plan.
    pub chains: Vec<Chains>,
    pub equals: Equals,
    /// The number of different fingerprints in the tables.
    pub distinct: usize,
    /// Finds equal items if the first table would be slow.
    exact: Option<Exact>,
    /// The maximum number of different fingerprints in these tables.
    most: usize,
    /// The bucket of the current item in each table.
    homes: Vec<Home>,
}

/// Whether the tables have a fingerprint.
pub(super) enum EqualItem {
    /// Yes, this item is the first of those that have it.
    Is(u32),
    None,
    /// There are no tables yet.
    Unknown,
}

impl<const WORDS: usize> Tables<WORDS> {
    /// With fewer items, comparing all of them is as fast.
    pub const MIN_ITEMS: usize = Self::BUCKET << 7;

    /// Items per bucket in new tables, and half as many as in full ones. Lines of fifteen are then 70 to 90 % full,
    /// and a search reads one or two of them.
    const BUCKET: usize = 12;

    /// If buckets of the first table have more entries than this, equal items are found by a table of their own:
    /// otherwise inserting would be as slow as searching.
    const MAX_COMPARED: f64 = 96.0;

    pub fn none() -> Self {
        Self {
            plan: Plan::scan(),
            chains: Vec::new(),
            equals: Equals::default(),
            distinct: 0,
            exact: None,
            most: 0,
            homes: Vec::new(),
        }
    }

    pub fn none_yet(&self) -> bool {
        self.most == 0
    }

    pub fn are_full(&self) -> bool {
        self.distinct >= self.most
    }

    pub fn memory_bytes(&self) -> usize {
        let exact = self.exact.iter().map(|exact| &exact.chains);
        let chains = self.chains.iter().chain(exact).map(Chains::memory_bytes);
        chains.sum::<usize>() + self.equals.memory_bytes()
    }

    /// Tables of all `ids`; `distinct` is the number of different fingerprints if known, otherwise 0.
    pub fn build(
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        distinct: usize,
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let items = if distinct > 0 { distinct } else { ids.len() }.max(Self::MIN_ITEMS);
        let directory_bits = (items / Self::BUCKET).ilog2();
        let sample = Sample::draw(ids.len(), |index| prints[ids[index] as usize]);
        let plan = choose(&sample, &storage(items, directory_bits), max_radius.bits());
        let in_bucket =
            |table: &TablePlan<WORDS>| sample.measured_share(&table.key) * 2.0 * items as f64;
        let slow = plan.tables.first().is_none_or(|first| in_bucket(first) > Self::MAX_COMPARED);
        let exact = if slow { Some(Exact::new(directory_bits)?) } else { None };
        let most = 2 * (Self::BUCKET << directory_bits);
        Self::with_plan(plan, exact, most, ids, prints, kernel)
    }

    /// Tables of all `ids` by this plan, for up to `most` different fingerprints.
    pub fn with_plan(
        plan: Plan<WORDS>,
        exact: Option<Exact>,
        most: usize,
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let chains =
            plan.tables.iter().map(|table| Chains::new(table.buckets(), table.check.len() > 0));
        let chains = chains.collect::<Result<Vec<Chains>, IndexError>>()?;
        let mut tables = Self { plan, chains, exact, most, ..Self::none() };
        tables.fill(ids, prints, kernel)?;
        Ok(tables)
    }

    /// The table that finds equal items, and the bucket of a fingerprint there.
    fn equality(&self, print: &Fingerprint<WORDS>, kernel: Kernel) -> Option<(&Chains, Home)> {
        if let Some(exact) = &self.exact {
            return Some((&exact.chains, exact.home(print)));
        }
        let (chains, table) = self.chains.first().zip(self.plan.tables.first())?;
        Some((chains, kernel.run(HomeIn { table, print })))
    }

    /// Finds equal items one after another, then fills the tables in parallel.
    fn fill(
        &mut self,
        ids: &[u32],
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<(), IndexError> {
        let mut different = Vec::with_capacity(ids.len());
        let equals = &mut self.equals;
        let mut enter = |chains: &mut Chains, home: Home, id: u32| {
            let same = |other: u32| prints[other as usize] == prints[id as usize];
            if let Some(equal) = chains.find(home.bucket, home.check, same) {
                equals.join(id, equal, prints.len());
                return Ok(());
            }
            different.push(id);
            chains.insert(home.bucket, home.check, id)
        };
        let mut filled = 0;
        if let Some(exact) = &mut self.exact {
            for &id in ids {
                let home = exact.home(&prints[id as usize]);
                enter(&mut exact.chains, home, id)?;
            }
        } else if let Some((chains, table)) = self.chains.first_mut().zip(self.plan.tables.first())
        {
            kernel.run(Fill { table, chains, ids, prints, enter })?;
            filled = 1;
        }
        self.distinct = different.len();
        let (chains, tables) = (&mut self.chains[filled..], &self.plan.tables[filled..]);
        chains.par_iter_mut().zip(tables).try_for_each(|(chains, table)| {
            let enter =
                |chains: &mut Chains, home: Home, id| chains.insert(home.bucket, home.check, id);
            kernel.run(Fill { table, chains, ids: &different, prints, enter })
        })
    }

    /// The first of the items with this fingerprint.
    pub fn find(
        &self,
        print: &Fingerprint<WORDS>,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> EqualItem {
        let Some((chains, home)) = self.equality(print, kernel) else { return EqualItem::Unknown };
        let equal = chains.find(home.bucket, home.check, |id| prints[id as usize] == *print);
        equal.map_or(EqualItem::None, EqualItem::Is)
    }

    /// Adds an item to all tables, or to the ring of those it equals.
    pub fn insert(
        &mut self,
        id: u32,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
    ) -> Result<(), IndexError> {
        let print = &prints[id as usize];
        self.locate(print, kernel);
        self.equals.add(id);
        if let EqualItem::Is(equal) = self.find(print, prints, kernel) {
            self.equals.join(id, equal, prints.len());
            return Ok(());
        }
        let entered = self.enter(id, print);
        match entered {
            Ok(()) => self.distinct += 1,
            // Removing it from tables that do not have it does nothing.
            Err(_) => self.each_home(print, |chains, home| chains.remove(home.bucket, id)),
        }
        entered
    }

    fn enter(&mut self, id: u32, print: &Fingerprint<WORDS>) -> Result<(), IndexError> {
        let mut entered = Ok(());
        self.each_home(print, |chains, home| {
            if entered.is_ok() {
                entered = chains.insert(home.bucket, home.check, id);
            }
        });
        entered
    }

    /// Calls `with` for every table and the bucket that [`locate`](Self::locate) found.
    fn each_home(&mut self, print: &Fingerprint<WORDS>, mut with: impl FnMut(&mut Chains, Home)) {
        self.chains.iter_mut().zip(&self.homes).for_each(|(chains, &home)| with(chains, home));
        if let Some(exact) = &mut self.exact {
            let home = exact.home(print);
            with(&mut exact.chains, home);
        }
    }

    /// Removes an item from all tables, or from the ring of those it equals.
    pub fn remove(&mut self, id: u32, prints: &[Fingerprint<WORDS>], kernel: Kernel) {
        let print = &prints[id as usize];
        self.locate(print, kernel);
        let EqualItem::Is(first) = self.find(print, prints, kernel) else { return };
        let heir = self.equals.leave(id);
        if first != id {
            return;
        }
        match heir {
            Some(heir) => {
                self.each_home(print, |chains, home| chains.rename(home.bucket, id, heir))
            }
            None => {
                self.each_home(print, |chains, home| chains.remove(home.bucket, id));
                self.distinct -= 1;
            }
        }
    }

    /// Computes the bucket of a fingerprint in every table, and prefetches these buckets.
    fn locate(&mut self, print: &Fingerprint<WORDS>, kernel: Kernel) {
        let Self { plan, chains, homes, .. } = self;
        homes.clear();
        kernel.run(Locate { tables: &plan.tables, chains, print, homes });
    }
}

/// The limits of tables for twice as many items: ten times the bytes of their fingerprints.
fn storage(items: usize, directory_bits: u32) -> Storage {
    let directory_bits = vec![directory_bits];
    // Lines are partly empty, and hold a link.
    Storage { items: 2 * items as u64, directory_bits, cells: false, slack: 1.6, most: 10.0 }
}

/// A table that finds equal fingerprints, by a hash of all their bits.
pub(super) struct Exact {
    chains: Chains,
    bits: u32,
}

impl Exact {
    fn new(bits: u32) -> Result<Self, IndexError> {
        let bits = bits.clamp(1, MAX_DIRECTORY_BITS);
        Ok(Self { chains: Chains::new(1 << bits, true)?, bits })
    }

    fn home<const WORDS: usize>(&self, print: &Fingerprint<WORDS>) -> Home {
        let hash = xxh3_64(bytemuck::bytes_of(print));
        Home { bucket: (hash >> (64 - self.bits)) as u32, check: hash as u32 }
    }
}

/// The bucket of a fingerprint in one table, and its check.
#[derive(Clone, Copy)]
struct Home {
    bucket: u32,
    check: u32,
}

/// Computes one [`Home`].
struct HomeIn<'a, const WORDS: usize> {
    table: &'a TablePlan<WORDS>,
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

/// Computes the [`Home`]s in all tables.
struct Locate<'a, const WORDS: usize> {
    tables: &'a [TablePlan<WORDS>],
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
            chains.touch_line(home.bucket);
            self.homes.push(home);
        }
    }
}

/// Adds items to one table, one after another, until that fails.
struct Fill<'a, const WORDS: usize, F> {
    table: &'a TablePlan<WORDS>,
    chains: &'a mut Chains,
    ids: &'a [u32],
    prints: &'a [Fingerprint<WORDS>],
    enter: F,
}

/// The number of items that are located before they are added.
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
                chains.touch_line(home.bucket);
            }
            for (&home, &id) in homes.iter().zip(group) {
                enter(chains, home, id)?;
            }
        }
        Ok(())
    }
}
