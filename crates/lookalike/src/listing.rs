//! Lists the pairs of a search that kept equal items together.
//!
//! A search finds near pairs between the first items of groups, and the groups of equal items. A listing
//! either *expands* groups, so that every member has the pairs of its first item, or *ties* members to
//! their first item, so that they are listed with it alone. Pairs are produced one item at a time, in
//! order of `(a, b)`: memory holds the groups and the partners of one item, never all pairs.

use std::iter::Peekable;

use crate::{
    Closeness,
    alike::{AlikePair, Equals, PackedPair},
    equal::EqualGroups,
    pairs::PairsError,
    sorted::{MemoryBudget, Sorter},
};

/// Groups of equal items, and how their pairs are listed.
pub(crate) struct Listing<'a> {
    groups: &'a EqualGroups,
    /// How close equal items are.
    closeness: Closeness,
    equals: Equals,
}

impl<'a> Listing<'a> {
    pub fn new(groups: &'a EqualGroups, closeness: Closeness, equals: Equals) -> Self {
        Self { groups, closeness, equals }
    }

    /// Calls `on_pair` for every listed pair, until it fails. Each call of `near` starts another pass over
    /// the near pairs, in order of `(a, b)`.
    pub fn for_each<E, N>(
        &self,
        near: impl Fn() -> N,
        budget: &MemoryBudget,
        mut on_pair: impl FnMut(AlikePair) -> Result<(), E>,
    ) -> Result<(), E>
    where
        E: From<PairsError>,
        N: Iterator<Item = Result<PackedPair, PairsError>>,
    {
        if self.groups.is_empty() {
            return near().try_for_each(|pair| on_pair(AlikePair::from(pair?)));
        }
        let others = self.other_links(near(), budget)?;
        let (mut near, mut others) = (near().peekable(), others.peekable());
        let members = self.members();
        let mut members = members.iter().peekable();
        let is_tied = self.equals == Equals::First;
        let mut tied = self.groups.iter().filter(|_| is_tied).peekable();
        let mut partners = Vec::new();
        loop {
            let next = [
                first_of(&mut near)?,
                first_of(&mut others)?,
                members.peek().map(|member| member.0),
                tied.peek().map(|group| group[0]),
            ];
            let Some(item) = next.into_iter().flatten().min() else { return Ok(()) };
            while let Some(link) = next_of(&mut near, item)? {
                self.add_near(link, &mut partners);
            }
            while let Some(link) = next_of(&mut others, item)? {
                self.add_near(link, &mut partners);
            }
            let member = members.next_if(|member| member.0 == item);
            let own = member.map(|member| self.groups.group(member.1 as usize));
            if let Some(group) = own.or_else(|| tied.next_if(|group| group[0] == item)) {
                self.add_equals(item, group, &mut partners);
            }
            partners.sort_unstable_by_key(|partner| partner.b);
            partners.drain(..).try_for_each(|pair| on_pair(AlikePair::from(pair)))?;
        }
    }

    /// Links to partners that do not follow from the near pairs in order: those of members of expanded
    /// groups, and those of items between two members.
    fn other_links(
        &self,
        near: impl Iterator<Item = Result<PackedPair, PairsError>>,
        budget: &MemoryBudget,
    ) -> Result<impl Iterator<Item = Result<PackedPair, PairsError>>, PairsError> {
        let mut links = Sorter::new(budget);
        for pair in near {
            let pair = pair?;
            let [ones, others] = [self.stands_for(&pair.a), self.stands_for(&pair.b)];
            let [last_one, last_other] = [ones[ones.len() - 1], others[others.len() - 1]];
            for &a in ones[1..].iter().take_while(|&&one| one < last_other) {
                links.push(pair.between(a, pair.b))?;
            }
            for &a in others.iter().take_while(|&&other| other < last_one) {
                links.push(pair.between(a, pair.a))?;
            }
        }
        links.finish()
    }

    /// Members of expanded groups with the number of their group, in order of the members.
    fn members(&self) -> Vec<(u32, u32)> {
        let is_expanded = self.equals == Equals::All;
        let expanded = (0..).zip(self.groups.iter()).filter(|_| is_expanded);
        let mut members: Vec<_> = expanded
            .flat_map(|(number, group)| group.iter().map(move |&member| (member, number)))
            .collect();
        members.sort_unstable();
        members
    }

    /// Adds the partners of an item that a link stands for.
    fn add_near(&self, link: PackedPair, partners: &mut Vec<PackedPair>) {
        let later = after(self.stands_for(&link.b), link.a);
        partners.extend(later.iter().map(|&b| link.between(link.a, b)));
    }

    /// Adds the members of a group that come after `item`.
    fn add_equals(&self, item: u32, group: &[u32], partners: &mut Vec<PackedPair>) {
        let equals = after(group, item).iter();
        let pair = |&b: &u32| AlikePair { a: item, b, closeness: self.closeness };
        partners.extend(equals.map(pair).map(PackedPair::from));
    }

    /// The items that one end of a near pair stands for.
    fn stands_for<'b>(&'b self, first: &'b u32) -> &'b [u32] {
        let group = self.groups.of(*first).filter(|_| self.equals == Equals::All);
        group.unwrap_or(std::slice::from_ref(first))
    }
}

/// Those of ascending `items` that come after `item`.
fn after(items: &[u32], item: u32) -> &[u32] {
    &items[items.partition_point(|&other| other <= item)..]
}

type Links<N> = Peekable<N>;

/// The item that the next link belongs to.
fn first_of<N>(links: &mut Links<N>) -> Result<Option<u32>, PairsError>
where
    N: Iterator<Item = Result<PackedPair, PairsError>>,
{
    match links.peek() {
        Some(Ok(link)) => Ok(Some(link.a)),
        Some(Err(_)) => links.next().transpose().map(|_| None),
        None => Ok(None),
    }
}

/// The next link, if it belongs to `item`.
fn next_of<N>(links: &mut Links<N>, item: u32) -> Result<Option<PackedPair>, PairsError>
where
    N: Iterator<Item = Result<PackedPair, PairsError>>,
{
    // `next_if` would take the link out and put it back.
    match links.peek() {
        Some(Ok(link)) if link.a != item => Ok(None),
        _ => links.next().transpose(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{alike::AlikePairs, sorted::Sorted};

    /// Items by fingerprint value; near are values that differ by one.
    fn listed(
        values: &[u32],
        equals: Equals,
        budget: &MemoryBudget,
    ) -> (Vec<AlikePair>, Vec<AlikePair>) {
        let first_of = |value| values.iter().position(|&other| other == value);
        let is_first = |&item: &usize| first_of(values[item]) == Some(item);
        let copies = (0..values.len()).filter(|item| !is_first(item));
        let equal = copies.map(|item| (first_of(values[item]).unwrap() as u32, item as u32));
        let all = pairs_among(values, |_, _| true);
        let near = pairs_among(values, |a, b| is_first(&a) && is_first(&b));

        let size = |item: usize| values.iter().filter(|&&value| value == values[item]).count();
        let spread = |item: usize| size(item) == 1 || equals == Equals::All;
        let speaks = |item: usize| spread(item) || is_first(&item);
        let expected = all.into_iter().filter(|pair| {
            let (a, b) = (pair.a as usize, pair.b as usize);
            if values[a] == values[b] { speaks(a) } else { speaks(a) && speaks(b) }
        });
        let near =
            near.into_iter().filter(|pair| pair.closeness.distance > Some(0)).map(PackedPair::from);
        let near = Sorted::in_memory(near.collect());
        let pairs = AlikePairs::new(near, equal.collect(), Closeness::within(0), budget.clone());
        let mut found = Vec::new();
        let listed = pairs.list(equals, |pair| {
            found.push(pair);
            Ok::<_, PairsError>(())
        });
        listed.unwrap();
        (found, expected.collect())
    }

    fn pairs_among(values: &[u32], allowed: impl Fn(usize, usize) -> bool) -> Vec<AlikePair> {
        let items = 0..values.len();
        let pairs = items.clone().flat_map(|a| items.clone().map(move |b| (a, b)));
        let near = pairs.filter(|&(a, b)| a < b && values[a].abs_diff(values[b]) <= 1);
        near.filter(|&(a, b)| allowed(a, b))
            .map(|(a, b)| AlikePair {
                a: a as u32,
                b: b as u32,
                closeness: Closeness::within(values[a].abs_diff(values[b])),
            })
            .collect()
    }

    #[test]
    fn a_read_error_ends_the_list_and_no_item_is_listed_in_part() {
        let groups = EqualGroups::new(vec![(1, 4)]);
        let pair = |a, b| PackedPair::from(AlikePair { a, b, closeness: Closeness::within(1) });
        let links = [pair(0, 1), pair(2, 3), pair(2, 5)];
        let all = [(0, 1), (0, 4), (1, 4), (2, 3), (2, 5)];
        for (readable, listed_pairs) in [(0, 0), (1, 0), (2, 3), (3, 5)] {
            // Where items are equal, the links are read twice: the second time, some are lost.
            let times = std::cell::Cell::new(0);
            let near = || {
                times.set(times.get() + 1);
                let readable = if times.get() == 1 { links.len() } else { readable };
                (0..).zip(links).map(move |(at, link)| {
                    (at < readable).then_some(link).ok_or(PairsError::TooMany { items: at })
                })
            };
            let mut listed = Vec::new();
            let listing = Listing::new(&groups, Closeness::within(0), Equals::All);
            let end = listing.for_each(near, &MemoryBudget::unlimited(), |pair| {
                listed.push((pair.a, pair.b));
                Ok::<_, PairsError>(())
            });
            assert_eq!(
                (end.is_ok(), &listed[..]),
                (listed_pairs == all.len(), &all[..listed_pairs]),
                "{readable}"
            );
        }
    }

    #[test]
    fn every_listing_within_any_budget_equals_its_definition_in_order() {
        let mut state = 7u64;
        for _ in 0..500 {
            let mut random = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u32
            };
            let (len, spread) = (random() % 25, random() % 12 + 1);
            let values: Vec<_> = (0..len).map(|_| random() % spread).collect();
            for budget in [MemoryBudget::unlimited(), MemoryBudget::new(0, std::env::temp_dir())] {
                for equals in [Equals::All, Equals::First] {
                    let (found, expected) = listed(&values, equals, &budget);
                    assert_eq!(found, expected, "{values:?}, {equals:?}");
                }
            }
        }
    }
}
