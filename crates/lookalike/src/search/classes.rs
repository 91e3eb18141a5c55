//! Equal items are searched once: from the keepers of entries to groups of items.

use std::mem::replace;

use crate::{
    Closeness,
    alike::Nearest,
    groups::{Groups, Member, around_keepers},
    pairs::PairsError,
};

/// Items that cannot be told apart as one class, named for the first of them. A class that can be
/// alike another one has an *entry*; entries are numbered by their first items.
pub(super) struct Classes<'a> {
    /// By item: its class.
    of: Vec<u32>,
    /// By entry: its class, ascending.
    entries: &'a [u32],
    /// How close equal items are.
    equals: Closeness,
}

impl<'a> Classes<'a> {
    /// `equal` pairs the first of equal items with every other one.
    pub fn new(items: u32, entries: &'a [u32], equal: &[(u32, u32)], equals: Closeness) -> Self {
        let mut of: Vec<u32> = (0..items).collect();
        equal.iter().for_each(|&(first, item)| of[item as usize] = first);
        Self { of, entries, equals }
    }

    /// Every item of `order` is a keeper or a member. `search` is given entries in keep order and
    /// returns, by entry, the one that it belongs to.
    pub fn stars<T>(
        &self,
        order: &[u32],
        search: impl FnOnce(&[u32]) -> Result<(Vec<Option<Nearest>>, T), PairsError>,
    ) -> Result<(Groups, T), PairsError> {
        let (firsts, entries) = self.ranked(order);
        let (nearest, found) = search(&entries)?;
        let star = Star { classes: self, firsts, nearest };
        let mut is_taken = vec![false; self.of.len()];
        let taken = order.iter().filter(|&&item| !replace(&mut is_taken[item as usize], true));
        let members = taken.map(|&item| star.member(item)).filter(|one| one.alike != one.item);
        Ok((around_keepers(members), found))
    }

    /// The first `own` items around the others: each belongs to the first of them that it is alike.
    /// `search` is given entries of the others and own ones, and returns, by entry, the one of the
    /// others that it belongs to.
    pub fn against<T>(
        &self,
        own: u32,
        search: impl FnOnce(&[u32], &[u32]) -> Result<(Vec<Option<Nearest>>, T), PairsError>,
    ) -> Result<(Groups, T), PairsError> {
        let items = self.of.len() as u32;
        let (firsts, keepers) = self.ranked(&(own..items).collect::<Vec<_>>());
        let (_, entries) = self.ranked(&(0..own).collect::<Vec<_>>());
        let (mut nearest, found) = search(&keepers, &entries)?;
        // An item that equals one of the others belongs to it, unless an earlier one is alike.
        let rank = |entry: usize| firsts[self.entries[entry] as usize];
        for (entry, nearest) in nearest.iter_mut().enumerate() {
            let joined = nearest.and_then(|near: Nearest| rank(near.keeper as usize));
            if rank(entry).is_some_and(|equal| joined.is_none_or(|joined| equal < joined)) {
                *nearest = None;
            }
        }
        let star = Star { classes: self, firsts, nearest };
        let members = (0..own).map(|item| star.member(item)).filter(|one| one.alike >= own);
        Ok((around_keepers(members), found))
    }

    /// By class, the first item of it that is taken, behind its rank; and the entries in that order.
    fn ranked(&self, order: &[u32]) -> (Vec<Option<(u32, u32)>>, Vec<u32>) {
        let mut firsts = vec![None; self.of.len()];
        let mut entries = Vec::new();
        for (rank, &item) in (0..).zip(order) {
            let class = self.of[item as usize];
            if firsts[class as usize].is_none() {
                firsts[class as usize] = Some((rank, item));
                entries.extend(self.entry_of(class));
            }
        }
        (firsts, entries)
    }

    fn entry_of(&self, class: u32) -> Option<u32> {
        self.entries.binary_search(&class).ok().map(|entry| entry as u32)
    }
}

/// Which entries belong to which, on the way to groups of items.
struct Star<'a> {
    classes: &'a Classes<'a>,
    /// By class: rank and number of the item that is taken first.
    firsts: Vec<Option<(u32, u32)>>,
    /// By entry: the entry that it belongs to, if it is not its own keeper.
    nearest: Vec<Option<Nearest>>,
}

impl Star<'_> {
    /// The item that an item belongs to, perhaps itself, and how close it is.
    fn member(&self, item: u32) -> Member {
        let Classes { of, entries, equals } = self.classes;
        let first = |class: u32| self.firsts[class as usize].map_or(class, |(_, item)| item);
        let class = of[item as usize];
        let nearest = self.classes.entry_of(class).and_then(|entry| self.nearest[entry as usize]);
        match nearest {
            None => Member { item, alike: first(class), closeness: *equals },
            Some(Nearest { keeper, closeness }) => {
                Member { item, alike: first(entries[keeper as usize]), closeness }
            }
        }
    }
}
