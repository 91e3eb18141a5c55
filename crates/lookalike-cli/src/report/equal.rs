//! Which pairs are listed when many fingerprints are equal?
//!
//! The library finds near pairs between first items and groups of equal ones. A group that is
//! *spread* stands for all its members; any other group is represented by its first item, to
//! which its members are tied. Pairs come in order of `(a, b)`, made one item at a time: memory
//! is for the groups and for one item's partners, never for all pairs.

use anyhow::Result;
use lookalike::{AlikePair, AlikePairs};

use super::{counted, grouped};
use crate::args::Equal;

/// Groups of more equal items than this are not spread unless asked for.
const LARGEST_SPREAD: usize = 10_000;

/// Which groups are spread.
#[derive(Clone, Copy)]
pub struct EqualPolicy {
    largest_spread: usize,
}

impl From<Equal> for EqualPolicy {
    fn from(equal: Equal) -> Self {
        let largest_spread = match equal {
            Equal::All => usize::MAX,
            Equal::First => 0,
            Equal::Auto => LARGEST_SPREAD,
        };
        Self { largest_spread }
    }
}

impl EqualPolicy {
    fn spreads(self, group: &[u32]) -> bool {
        group.len() <= self.largest_spread
    }

    /// What the user should know about pairs that are held back without being asked for.
    pub fn note(self, pairs: &AlikePairs) -> Option<String> {
        let large = pairs.equal_groups().filter(|group| !self.spreads(group));
        let (groups, items) =
            large.fold((0, 0), |(groups, items), group| (groups + 1, items + group.len() as u64));
        let unasked = self.largest_spread == LARGEST_SPREAD && groups > 0;
        unasked.then(|| {
            format!(
                "note: {} in {} of more than {} equal ones are listed only with the \
                 first of their group; --equal all lists every pair ({})",
                counted(items, "item"),
                counted(groups, "group"),
                grouped(LARGEST_SPREAD as u64),
                grouped(pairs.count()),
            )
        })
    }
}

/// Calls `on_pair` for every listed pair in order of `(a, b)`, until it fails.
pub fn for_each_pair(
    pairs: &AlikePairs,
    policy: EqualPolicy,
    on_pair: impl FnMut(AlikePair) -> Result<()>,
) -> Result<()> {
    let groups: Vec<&[u32]> = pairs.equal_groups().collect();
    let equal = (0, pairs.equal_similarity());
    Listing::new(pairs.near(), &groups, equal, policy).for_each(on_pair)
}

/// The near pairs and groups, arranged so that all partners of an item are found at once.
struct Listing<'a> {
    /// By `(a, b)`.
    near: &'a [AlikePair],
    /// Near pairs whose `a` is spread, by `(b, a)`: through them `b` has partners before *and* after it.
    reversed: Vec<AlikePair>,
    groups: &'a [&'a [u32]],
    /// The first item of each group, ascending.
    firsts: Vec<u32>,
    /// Members of spread groups with their first item, by member.
    members: Vec<(u32, u32)>,
    /// How close equal items are.
    equal: Closeness,
    policy: EqualPolicy,
}

/// Distance and similarity.
type Closeness = (u32, Option<f32>);

impl<'a> Listing<'a> {
    fn new(
        near: &'a [AlikePair],
        groups: &'a [&'a [u32]],
        equal: Closeness,
        policy: EqualPolicy,
    ) -> Self {
        let spread = groups.iter().filter(|group| policy.spreads(group));
        let mut members: Vec<_> =
            spread.flat_map(|group| group.iter().map(|&member| (member, group[0]))).collect();
        members.sort_unstable();
        let firsts = groups.iter().map(|group| group[0]).collect();
        let mut listing =
            Self { near, reversed: Vec::new(), groups, firsts, members, equal, policy };
        if !listing.members.is_empty() {
            let is_spread = |pair: &&AlikePair| listing.stands_for(&pair.a).len() > 1;
            listing.reversed = near.iter().filter(is_spread).copied().collect();
            listing.reversed.sort_unstable_by_key(|pair| (pair.b, pair.a));
        }
        listing
    }

    /// Walks items in order, each list of `Listing` by a cursor of its own.
    fn for_each(&self, mut on_pair: impl FnMut(AlikePair) -> Result<()>) -> Result<()> {
        let held_back = |group: &&&[u32]| !self.policy.spreads(group);
        let mut near = self.near;
        let mut reversed = self.reversed.as_slice();
        let mut members = self.members.iter().peekable();
        let mut tied = self.groups.iter().filter(held_back).peekable();
        let mut partners = Vec::new();
        loop {
            let next = [
                near.first().map(|pair| pair.a),
                reversed.first().map(|pair| pair.b),
                members.peek().map(|member| member.0),
                tied.peek().map(|group| group[0]),
            ];
            let Some(item) = next.into_iter().flatten().min() else { return Ok(()) };
            let after = take_while(&mut near, |pair| pair.a == item);
            let before = take_while(&mut reversed, |pair| pair.b == item);
            let first = members.next_if(|member| member.0 == item).map_or(item, |member| member.1);
            if first == item {
                self.add_near(item, after, before, &mut partners);
            } else {
                let after = run(self.near, |pair| pair.a, first);
                let before = run(&self.reversed, |pair| pair.b, first);
                self.add_near(item, after, before, &mut partners);
            }
            self.add_equals(item, first, &mut partners);
            tied.next_if(|group| group[0] == item);
            if !self.groups.is_empty() {
                partners.sort_unstable_by_key(|partner| partner.0);
            }
            for (b, (distance, similarity)) in partners.drain(..) {
                on_pair(AlikePair { a: item, b, distance, similarity })?;
            }
        }
    }

    /// Partners of `item` through the near pairs of its first item.
    fn add_near(
        &self,
        item: u32,
        after: &[AlikePair],
        before: &[AlikePair],
        partners: &mut Partners,
    ) {
        let close = |pair: &AlikePair| (pair.distance, pair.similarity);
        let neighbours = after.iter().map(|pair| (&pair.b, close(pair)));
        for (neighbour, closeness) in
            neighbours.chain(before.iter().map(|pair| (&pair.a, close(pair))))
        {
            let all = self.stands_for(neighbour);
            let later = &all[all.partition_point(|&partner| partner <= item)..];
            partners.extend(later.iter().map(|&partner| (partner, closeness)));
        }
    }

    /// Partners of `item` that equal it: later members, or for a tie all members.
    fn add_equals(&self, item: u32, first: u32, partners: &mut Partners) {
        if let Some(group) = self.group(first) {
            let later = group.partition_point(|&member| member <= item);
            partners.extend(group[later..].iter().map(|&member| (member, self.equal)));
        }
    }

    /// The items a near pair's end speaks for.
    fn stands_for<'b>(&'b self, first: &'b u32) -> &'b [u32] {
        let spread = self.group(*first).filter(|group| self.policy.spreads(group));
        spread.unwrap_or(std::slice::from_ref(first))
    }

    fn group(&self, first: u32) -> Option<&'a [u32]> {
        self.firsts.binary_search(&first).ok().map(|index| self.groups[index])
    }
}

/// Items after the one at hand, and how close they are.
type Partners = Vec<(u32, Closeness)>;

/// Cuts off the pairs at the front that fulfil a condition.
fn take_while<'a>(
    pairs: &mut &'a [AlikePair],
    holds: impl Fn(&AlikePair) -> bool,
) -> &'a [AlikePair] {
    let count = pairs.iter().position(|pair| !holds(pair)).unwrap_or(pairs.len());
    let (taken, rest) = pairs.split_at(count);
    *pairs = rest;
    taken
}

/// The pairs with this key, in a list sorted by it.
fn run(pairs: &[AlikePair], key: impl Fn(&AlikePair) -> u32, wanted: u32) -> &[AlikePair] {
    let start = pairs.partition_point(|pair| key(pair) < wanted);
    let count = pairs[start..].partition_point(|pair| key(pair) == wanted);
    &pairs[start..start + count]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items by fingerprint value; near are values that differ by one.
    fn listed(values: &[u32], policy: EqualPolicy) -> (Vec<AlikePair>, Vec<AlikePair>) {
        let first_of = |value| values.iter().position(|&other| other == value);
        let is_first = |&item: &usize| first_of(values[item]) == Some(item);
        let firsts: Vec<_> = (0..values.len()).filter(is_first).collect();
        let equals = |&first: &usize| -> Vec<u32> {
            let same = |&item: &usize| values[item] == values[first];
            (0..values.len()).filter(same).map(|item| item as u32).collect()
        };
        let groups: Vec<_> = firsts.iter().map(equals).filter(|group| group.len() > 1).collect();
        let groups: Vec<_> = groups.iter().map(Vec::as_slice).collect();
        let all = pairs_among(values, |_, _| true);
        let near: Vec<_> = pairs_among(values, |a, b| is_first(&a) && is_first(&b));

        let size = |item: usize| values.iter().filter(|&&value| value == values[item]).count();
        let spread = |item: usize| size(item) == 1 || size(item) <= policy.largest_spread;
        let speaks = |item: usize| spread(item) || is_first(&item);
        let expected = all.into_iter().filter(|pair| {
            let (a, b) = (pair.a as usize, pair.b as usize);
            if values[a] == values[b] { spread(a) || is_first(&a) } else { speaks(a) && speaks(b) }
        });
        let mut found = Vec::new();
        let listing = Listing::new(&near, &groups, (0, None), policy);
        let listed = listing.for_each(|pair| {
            found.push(pair);
            Ok(())
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
                distance: values[a].abs_diff(values[b]),
                similarity: None,
            })
            .collect()
    }

    #[test]
    fn every_policy_lists_what_its_definition_says_in_order() {
        let mut state = 7u64;
        for _ in 0..500 {
            let mut random = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u32
            };
            let (len, spread) = (random() % 25, random() % 12 + 1);
            let values: Vec<_> = (0..len).map(|_| random() % spread).collect();
            for largest_spread in [0, 2, 3, usize::MAX] {
                let (found, expected) = listed(&values, EqualPolicy { largest_spread });
                assert_eq!(found, expected, "{values:?}, spread up to {largest_spread}");
            }
        }
    }
}
