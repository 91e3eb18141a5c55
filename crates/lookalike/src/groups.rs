//! Groups of matching items, each with the item to keep.
//!
//! [`star`] groups are safe: every member matches *its keeper*, so a chain of pairs cannot join unrelated
//! items. [`connected`] groups are the connected components of all pairs. Both take items in the order in
//! which the caller prefers to keep them, and know item numbers only.

use std::{collections::BTreeMap, iter::Peekable};

use crate::{
    Closeness,
    alike::{AlikePairs, PackedPair},
    pairs::PairsError,
    sorted::{InOrder, SortedIter},
};

/// Groups of at least two items, in order of their keepers' numbers.
pub type Groups = Vec<Group>;

/// A group of items, and the one to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The item to keep.
    pub keep: u32,
    /// The others, ascending.
    pub members: Vec<Member>,
}

/// An item to remove, and the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its number.
    pub item: u32,
    /// The item of its group that it matches: the keeper, unless only a chain of pairs leads there.
    pub alike: u32,
    /// How close the two are.
    pub closeness: Closeness,
}

/// Groups around keepers. Items are taken in `order`: one that is paired with an earlier keeper belongs to
/// the first such keeper; any other becomes a keeper itself.
///
/// `items` is the number of items. An item that is not in `order` is in no group. Takes time linear in
/// items and pairs, and memory for items only; equal items share the pairs of the first of them. Fails
/// only if a temporary file with pairs cannot be read or written.
///
/// ```
/// use lookalike::{Closeness, groups, search::{AlikePair, AlikePairs}};
///
/// // A chain: 0 matches 1, and 1 matches 2. Both 0 and 2 are kept, because they do not match.
/// let pair = |a, b, similarity| AlikePair { a, b, closeness: Closeness::similar(9, similarity) };
/// let pairs = AlikePairs::from_pairs(vec![pair(0, 1, 0.6), pair(1, 2, 0.7)]);
/// let groups = groups::star(3, &[0, 1, 2], &pairs)?;
/// assert_eq!((groups.len(), groups[0].keep, groups[0].members[0].item), (1, 0, 1));
///
/// // If item 1 is preferred, both others are removed.
/// let groups = groups::star(3, &[1, 0, 2], &pairs)?;
/// assert_eq!((groups[0].keep, groups[0].members.len()), (1, 2));
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
pub fn star(items: usize, order: &[u32], pairs: &AlikePairs) -> Result<Groups, PairsError> {
    let classes = Classes::new(items, order, pairs);
    let mut links = classes.links(pairs)?;
    let mut groups: Groups = Vec::new();
    // The keeper of each class: the first one that is linked with it.
    let mut first: Vec<Option<First>> = vec![None; items];
    for (rank, item) in classes.ranked(order) {
        let class = classes.of[item as usize] as usize;
        if let Some(First { group, closeness }) = first[class] {
            let group = &mut groups[group as usize];
            group.members.push(Member { item, alike: group.keep, closeness });
            continue;
        }
        let group = groups.len() as u32;
        groups.push(Group { keep: item, members: Vec::new() });
        first[class] = Some(First { group, closeness: pairs.equal_closeness() });
        while let Some(link) = links.next_up_to(rank)? {
            let (to, closeness) = (&mut first[link.b as usize], link.closeness());
            if link.a == rank && to.is_none() {
                *to = Some(First { group, closeness });
            }
        }
    }
    Ok(in_order(groups))
}

/// The keeper that an item joins, and how close it is.
#[derive(Clone, Copy)]
struct First {
    group: u32,
    closeness: Closeness,
}

/// Connected components of pairs; the first item of each in `order` is kept.
///
/// Two members may be unrelated, joined only by a chain of pairs. `items`, the cost and the errors are
/// those of [`star`]. An item that is not in `order` is in no group and links no others.
///
/// ```
/// use lookalike::{Closeness, groups, search::{AlikePair, AlikePairs}};
///
/// let pair = |a, b| AlikePair { a, b, closeness: Closeness::within(1) };
/// let pairs = AlikePairs::from_pairs(vec![pair(0, 1), pair(1, 2)]);
/// let groups = groups::connected(3, &[0, 1, 2], &pairs)?;
/// assert_eq!(groups[0].keep, 0);
/// assert_eq!((groups[0].members[1].item, groups[0].members[1].alike), (2, 1));
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
pub fn connected(items: usize, order: &[u32], pairs: &AlikePairs) -> Result<Groups, PairsError> {
    let classes = Classes::new(items, order, pairs);
    let components = Components::new(&classes, pairs)?;
    let partners = components.partners(&classes, order, pairs)?;
    let mut groups: Groups = Vec::new();
    let mut group_of: Vec<Option<u32>> = vec![None; items];
    for (_, item) in classes.ranked(order) {
        let class = classes.of[item as usize];
        let group = &mut group_of[components.of(class) as usize];
        let Some(group) = *group else {
            *group = Some(groups.len() as u32);
            groups.push(Group { keep: item, members: Vec::new() });
            continue;
        };
        let group = &mut groups[group as usize];
        // An equal item is the closest possible partner, and the one to name if it is the keeper.
        let first = order[classes.rank[class as usize] as usize];
        let equal = Partner {
            item: first,
            is_keeper: first == group.keep,
            closeness: pairs.equal_closeness(),
        };
        let partner = match partners[class as usize] {
            Some(partner) if first == item || partner.is_better(equal) => partner,
            _ => equal,
        };
        let Partner { item: alike, closeness, .. } = partner;
        group.members.push(Member { item, alike, closeness });
    }
    Ok(in_order(groups))
}

/// Members with the keepers that they match.
pub(crate) fn around_keepers(members: impl Iterator<Item = Member>) -> Groups {
    let mut of: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
    members.for_each(|member| of.entry(member.alike).or_default().push(member));
    in_order(of.into_iter().map(|(keep, members)| Group { keep, members }).collect())
}

/// Drops groups without members, and sorts the others.
fn in_order(mut groups: Groups) -> Groups {
    groups.retain(|group| !group.members.is_empty());
    groups.sort_unstable_by_key(|group| group.keep);
    groups.iter_mut().for_each(|group| group.members.sort_unstable_by_key(|member| member.item));
    groups
}

/// Equal items as one *class*, which is named for the first of them.
struct Classes {
    /// The class of each item.
    of: Vec<u32>,
    /// The rank of the first item taken of each class; [`NEVER`] if none is.
    rank: Vec<u32>,
    /// The rank of the last item taken of each class.
    last: Vec<u32>,
    /// Whether classes are taken in the order of their names.
    is_natural: bool,
}

/// The rank of items that are not taken.
const NEVER: u32 = u32::MAX;

impl Classes {
    fn new(items: usize, order: &[u32], pairs: &AlikePairs) -> Self {
        let mut of: Vec<u32> = (0..items as u32).collect();
        for group in pairs.equal_groups() {
            group.iter().for_each(|&item| of[item as usize] = group[0]);
        }
        let (mut rank, mut last) = (vec![NEVER; items], vec![NEVER; items]);
        for (now, &item) in (0..).zip(order) {
            let class = of[item as usize] as usize;
            rank[class] = rank[class].min(now);
            last[class] = now;
        }
        let is_natural = order.iter().zip(0..).all(|(&item, now)| item == now);
        Self { of, rank, last, is_natural }
    }

    /// The order of items without repeats.
    fn ranked(&self, order: &[u32]) -> impl Iterator<Item = (u32, u32)> {
        let mut taken = vec![false; self.of.len()];
        let all = (0..).zip(order.iter().copied());
        all.filter(move |&(_, item)| !std::mem::replace(&mut taken[item as usize], true))
    }

    /// Whether any item of a class is taken.
    fn is_taken(&self, class: u32) -> bool {
        self.rank[class as usize] != NEVER
    }

    /// Links from the rank of a class to every class of which an item is taken later.
    fn links<'a>(&self, pairs: &'a AlikePairs) -> Result<Links<'a>, PairsError> {
        let later = |from: u32, to: u32| {
            let (rank, last) = (self.rank[from as usize], self.last[to as usize]);
            (rank != NEVER && last != NEVER && last > rank).then_some(rank)
        };
        let link = |from, to, pair: PackedPair| later(from, to).map(|a| pair.between(a, to));
        let (near, sorted) = if self.is_natural {
            (Some(pairs.near_packed()), pairs.sorted_links(|pair| link(pair.b, pair.a, pair))?)
        } else {
            let both = |pair: PackedPair| {
                [link(pair.a, pair.b, pair), link(pair.b, pair.a, pair)].into_iter().flatten()
            };
            (None, pairs.sorted_links(both)?)
        };
        Ok(Links { near: near.map(Iterator::peekable), sorted: sorted.peekable() })
    }
}

/// Links, ordered by the ranks they start from.
struct Links<'a> {
    /// All links to a later class, if classes are taken in the order of their names.
    near: Option<Peekable<SortedIter<'a, PackedPair>>>,
    /// All others.
    sorted: Peekable<InOrder<PackedPair>>,
}

impl Links<'_> {
    /// The next link that starts from this rank or an earlier one.
    fn next_up_to(&mut self, rank: u32) -> Result<Option<PackedPair>, PairsError> {
        let is_up_to =
            |link: &Result<PackedPair, _>| link.as_ref().map_or(true, |link| link.a <= rank);
        let near = self.near.as_mut().and_then(|near| near.next_if(is_up_to));
        near.or_else(|| self.sorted.next_if(is_up_to)).transpose()
    }
}

/// Connected classes: a forest in which a class points to one that is taken earlier.
struct Components {
    above: Vec<u32>,
}

/// The item that a member of a connected group matches.
#[derive(Clone, Copy)]
struct Partner {
    item: u32,
    is_keeper: bool,
    closeness: Closeness,
}

impl Partner {
    /// The keeper is preferred, then the closest item, then the earliest in the input.
    fn is_better(self, other: Self) -> bool {
        if self.is_keeper != other.is_keeper {
            return self.is_keeper;
        }
        self.closeness.is_closer(&other.closeness)
            || !other.closeness.is_closer(&self.closeness) && self.item < other.item
    }
}

impl Components {
    fn new(classes: &Classes, pairs: &AlikePairs) -> Result<Self, PairsError> {
        let mut components = Self { above: (0..classes.of.len() as u32).collect() };
        for pair in pairs.near_packed() {
            let PackedPair { a, b, .. } = pair?;
            if classes.is_taken(a) && classes.is_taken(b) {
                components.join(a, b, &classes.rank);
            }
        }
        (0..classes.of.len() as u32).for_each(|class| {
            components.above[class as usize] = components.root(class);
        });
        Ok(components)
    }

    fn join(&mut self, one: u32, two: u32, rank: &[u32]) {
        let [one, two] = [self.root(one), self.root(two)];
        let [early, late] =
            if rank[one as usize] < rank[two as usize] { [one, two] } else { [two, one] };
        self.above[late as usize] = early;
    }

    /// The root of a class, with path halving.
    fn root(&mut self, mut class: u32) -> u32 {
        while self.above[class as usize] != class {
            let above = self.above[class as usize];
            self.above[class as usize] = self.above[above as usize];
            class = above;
        }
        class
    }

    /// The class of the keeper.
    fn of(&self, class: u32) -> u32 {
        self.above[class as usize]
    }

    /// The best partner of each class in another class, among those taken first in theirs.
    fn partners(
        &self,
        classes: &Classes,
        order: &[u32],
        pairs: &AlikePairs,
    ) -> Result<Vec<Option<Partner>>, PairsError> {
        let mut partners: Vec<Option<Partner>> = vec![None; classes.of.len()];
        for pair in pairs.near_packed() {
            let pair = pair?;
            if !(classes.is_taken(pair.a) && classes.is_taken(pair.b)) {
                continue;
            }
            for (class, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
                let partner = Partner {
                    item: order[classes.rank[other as usize] as usize],
                    is_keeper: self.of(other) == other,
                    closeness: pair.closeness(),
                };
                let best = &mut partners[class as usize];
                if best.is_none_or(|best| partner.is_better(best)) {
                    *best = Some(partner);
                }
            }
        }
        Ok(partners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        alike::AlikePair,
        sorted::{MemoryBudget, Sorter},
    };
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    /// Pairs of different items and of equal ones, the order to take them in, and all pairs.
    #[derive(Debug, Clone)]
    struct Case {
        items: usize,
        order: Vec<u32>,
        pairs: AlikePairs,
    }

    fn cases() -> impl Strategy<Value = Case> {
        (1usize..24).prop_flat_map(|items| {
            let class = prop::collection::vec(0..items as u32, items);
            let near = prop::collection::vec((0..items as u32, 0..items as u32, 0u8..5), 0..40);
            let order = Just((0..items as u32).collect::<Vec<_>>()).prop_shuffle();
            (class, near, order, any::<bool>()).prop_map(move |(class, near, order, verified)| {
                case(items, &class, &near, order, verified)
            })
        })
    }

    fn case(
        items: usize,
        class: &[u32],
        near: &[(u32, u32, u8)],
        order: Vec<u32>,
        verified: bool,
    ) -> Case {
        let mut first: HashMap<u32, u32> = HashMap::new();
        let mut equal = Vec::new();
        for (item, class) in class.iter().enumerate() {
            // Half of the items are alone.
            let class = if class % 2 == 0 { *class } else { 100 + item as u32 };
            let first = *first.entry(class).or_insert(item as u32);
            if first != item as u32 {
                equal.push((first, item as u32));
            }
        }
        let copies: HashSet<u32> = equal.iter().map(|pair| pair.1).collect();
        let mut pairs: Vec<AlikePair> = near
            .iter()
            .filter(|(a, b, _)| a != b && !copies.contains(a) && !copies.contains(b))
            .map(|&(a, b, how)| AlikePair {
                a: a.min(b),
                b: a.max(b),
                closeness: match verified {
                    true => Closeness::similar(u32::from(how), 1.0 - f32::from(how) / 10.0),
                    false => Closeness::within(how.into()),
                },
            })
            .collect();
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        Case {
            items,
            order,
            pairs: in_room(
                pairs,
                equal,
                if verified { Closeness::similar(0, 1.0) } else { Closeness::within(0) },
                &MemoryBudget::unlimited(),
            ),
        }
    }

    fn in_room(
        pairs: Vec<AlikePair>,
        equal: Vec<(u32, u32)>,
        equals: Closeness,
        budget: &MemoryBudget,
    ) -> AlikePairs {
        let sorter = Sorter::new(budget);
        sorter.append(&mut pairs.into_iter().map(PackedPair::from).collect()).unwrap();
        let near = sorter.finish().unwrap().into_sorted(budget, Some).unwrap();
        AlikePairs::new(near, equal, equals, budget.clone())
    }

    /// The same pairs, in temporary files.
    fn spilled(pairs: &AlikePairs) -> AlikePairs {
        let copies =
            |group: &[u32]| group[1..].iter().map(|&copy| (group[0], copy)).collect::<Vec<_>>();
        let equal = pairs.equal_groups().flat_map(copies).collect();
        let near: Result<_, _> = pairs.near().collect();
        let budget = MemoryBudget::new(0, std::env::temp_dir());
        in_room(near.unwrap(), equal, pairs.equal_closeness(), &budget)
    }

    fn lookup(pairs: &AlikePairs) -> HashMap<(u32, u32), AlikePair> {
        pairs.to_vec().unwrap().into_iter().map(|pair| ((pair.a, pair.b), pair)).collect()
    }

    fn pair_of(pairs: &HashMap<(u32, u32), AlikePair>, one: u32, two: u32) -> Option<AlikePair> {
        pairs.get(&(one.min(two), one.max(two))).copied()
    }

    /// The definition of star groups, word by word, on all pairs.
    fn naive_star(case: &Case) -> Groups {
        let pairs = lookup(&case.pairs);
        let mut groups: Groups = Vec::new();
        for &item in &case.order {
            let keepers = groups.iter().enumerate();
            let first = keepers.filter_map(|(group, Group { keep, .. })| {
                Some((group, pair_of(&pairs, item, *keep)?))
            });
            let first = first.min_by_key(|&(group, _)| group);
            match first {
                Some((group, AlikePair { closeness, .. })) => {
                    let alike = groups[group].keep;
                    groups[group].members.push(Member { item, alike, closeness });
                }
                None => groups.push(Group { keep: item, members: Vec::new() }),
            }
        }
        in_order(groups)
    }

    fn everyone(groups: &Groups) -> Vec<u32> {
        let mut items: Vec<u32> = groups
            .iter()
            .flat_map(|group| group.members.iter().map(|member| member.item).chain([group.keep]))
            .collect();
        items.sort_unstable();
        items
    }

    proptest! {
        #[test]
        fn star_equals_its_definition(case in cases()) {
            prop_assert_eq!(star(case.items, &case.order, &case.pairs).unwrap(), naive_star(&case));
        }

        #[test]
        fn pairs_on_disk_make_the_same_groups_and_lists(case in cases()) {
            let Case { items, order, pairs } = &case;
            let spilled = spilled(pairs);
            prop_assert_eq!(&spilled, pairs);
            prop_assert_eq!(spilled.count().unwrap(), pairs.count().unwrap());
            prop_assert_eq!(spilled.to_vec().unwrap(), pairs.to_vec().unwrap());
            prop_assert_eq!(star(*items, order, &spilled).unwrap(), star(*items, order, pairs).unwrap());
            prop_assert_eq!(
                connected(*items, order, &spilled).unwrap(),
                connected(*items, order, pairs).unwrap()
            );
            prop_assert_eq!(
                spilled.crossing(items / 2).unwrap().to_vec().unwrap(),
                pairs.crossing(items / 2).unwrap().to_vec().unwrap()
            );
        }

        #[test]
        fn every_member_is_paired_with_whom_it_is_said_to_be_alike(case in cases()) {
            let pairs = lookup(&case.pairs);
            for (groups, is_star) in [
                (star(case.items, &case.order, &case.pairs).unwrap(), true),
                (connected(case.items, &case.order, &case.pairs).unwrap(), false),
            ] {
                for group in &groups {
                    for member in &group.members {
                        let pair = pair_of(&pairs, member.item, member.alike).unwrap();
                        prop_assert_eq!(pair.closeness, member.closeness);
                        let with_keeper = pair_of(&pairs, member.item, group.keep).is_some();
                        prop_assert_eq!(member.alike == group.keep, with_keeper || is_star);
                    }
                }
            }
        }

        #[test]
        fn nobody_is_in_two_groups_and_keepers_come_first_in_order(case in cases()) {
            let rank: HashMap<u32, usize> = case.order.iter().copied().zip(0..).collect();
            for groups in [star(case.items, &case.order, &case.pairs).unwrap(), connected(case.items, &case.order, &case.pairs).unwrap()] {
                let items = everyone(&groups);
                prop_assert!(items.windows(2).all(|two| two[0] < two[1]));
                for group in &groups {
                    prop_assert!(group.members.iter().all(|member| rank[&group.keep] < rank[&member.item]));
                }
            }
        }

        #[test]
        fn two_keepers_of_star_groups_are_never_a_pair(case in cases()) {
            let groups = star(case.items, &case.order, &case.pairs).unwrap();
            let gone: HashSet<u32> =
                groups.iter().flat_map(|group| group.members.iter().map(|member| member.item)).collect();
            for pair in case.pairs.to_vec().unwrap() {
                prop_assert!(gone.contains(&pair.a) || gone.contains(&pair.b));
            }
        }

        #[test]
        fn connected_groups_are_the_components(case in cases()) {
            let mut component: Vec<usize> = (0..case.items).collect();
            for _ in 0..case.items {
                for pair in case.pairs.to_vec().unwrap() {
                    let least = component[pair.a as usize].min(component[pair.b as usize]);
                    component[pair.a as usize] = least;
                    component[pair.b as usize] = least;
                }
            }
            let groups = connected(case.items, &case.order, &case.pairs).unwrap();
            let mut found: Vec<usize> = (0..case.items).collect();
            for group in &groups {
                let least = group.members.iter().map(|member| member.item).chain([group.keep]).min();
                for item in group.members.iter().map(|member| member.item).chain([group.keep]) {
                    found[item as usize] = least.unwrap() as usize;
                }
            }
            prop_assert_eq!(found, component);
        }
    }

    #[test]
    fn a_million_equal_items_are_one_group_at_once() {
        let items = 1_000_000;
        let equal = (1..items).map(|copy| (0, copy)).collect();
        let pairs =
            in_room(Vec::new(), equal, Closeness::similar(0, 1.0), &MemoryBudget::unlimited());
        let order: Vec<u32> = (0..items).rev().collect();
        for groups in [
            star(items as usize, &order, &pairs).unwrap(),
            connected(items as usize, &order, &pairs).unwrap(),
        ] {
            assert_eq!((groups.len(), groups[0].keep), (1, items - 1));
            assert_eq!(groups[0].members.len(), items as usize - 1);
        }
    }

    #[test]
    fn items_left_out_of_the_order_are_in_no_group() {
        let pair = |a, b| AlikePair { a, b, closeness: Closeness::within(1) };
        let pairs = AlikePairs::from_pairs(vec![pair(0, 1), pair(1, 2)]);
        assert!(star(3, &[0, 2], &pairs).unwrap().is_empty());
        assert!(connected(3, &[2, 0], &pairs).unwrap().is_empty());
        assert_eq!(everyone(&star(3, &[2, 1], &pairs).unwrap()), [1, 2]);
    }
}
