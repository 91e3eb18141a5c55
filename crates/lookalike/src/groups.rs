//! Which items go together, and which of them stays?
//!
//! [`star`] groups are safe: every member is alike *its keeper*, so chains cannot glue strangers
//! together. [`connected`] groups are all that hangs together by pairs. Both take items in the order
//! in which the caller wants to keep them, and know numbers only.

use crate::{AlikePair, AlikePairs};

/// Groups of at least two items, in order of their keepers' numbers.
pub type Groups = Vec<Group>;

/// Items that go together, and the one that stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The item that stays.
    pub keep: u32,
    /// The others, ascending.
    pub members: Vec<Member>,
}

/// An item that goes, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its number.
    pub item: u32,
    /// The item of its group that it is alike to: the keeper, unless only a chain leads there.
    pub alike: u32,
    /// Bits in which the fingerprints of the two differ.
    pub distance: u32,
    /// The similarity of their contents; `None` if only fingerprints were compared.
    pub similarity: Option<f32>,
}

/// Groups around keepers: items are taken in `order`; one joins the most similar keeper it is paired
/// with (at the same similarity the nearest in bits, then the earlier one), or becomes a keeper.
///
/// `items` is how many there are. An item that is not in `order` is in no group. Takes time
/// linear in items and pairs; equal items share the pairs of the first of them.
///
/// ```
/// use lookalike::{AlikePair, AlikePairs, groups};
///
/// // 0 ~ 1 ~ 2: a chain. 0 and 2 are not alike, so both are kept.
/// let pair = |a, b, similarity| AlikePair { a, b, distance: 9, similarity: Some(similarity) };
/// let pairs = AlikePairs::from_pairs(vec![pair(0, 1, 0.6), pair(1, 2, 0.7)]);
/// let groups = groups::star(3, &[0, 1, 2], &pairs);
/// assert_eq!((groups.len(), groups[0].keep, groups[0].members[0].item), (1, 0, 1));
///
/// // If item 1 is the one to keep, both others go.
/// let groups = groups::star(3, &[1, 0, 2], &pairs);
/// assert_eq!((groups[0].keep, groups[0].members.len()), (1, 2));
/// ```
pub fn star(items: usize, order: &[u32], pairs: &AlikePairs) -> Groups {
    let links = Links::new(items, pairs);
    let mut groups: Groups = Vec::new();
    // By class: the group whose keeper is of that class. Two keepers are never equal.
    let mut kept: Vec<Option<u32>> = vec![None; items];
    let mut taken = vec![false; items];
    for &item in order {
        if std::mem::replace(&mut taken[item as usize], true) {
            continue;
        }
        let class = links.class[item as usize];
        let keepers = links.of(class).filter_map(|link| Some((kept[link.to as usize]?, link)));
        match keepers.min_by(|one, two| one.1.closer(two.1).then(one.0.cmp(&two.0))) {
            Some((group, link)) => {
                let group = &mut groups[group as usize];
                group.members.push(link.member(item, group.keep));
            }
            None => {
                kept[class as usize] = Some(groups.len() as u32);
                groups.push(Group { keep: item, members: Vec::new() });
            }
        }
    }
    in_order(groups)
}

/// Groups of all that hangs together by pairs; of each, the first in `order` stays.
///
/// Two members may be strangers: a chain of pairs leads from one to the other. `items` and the cost
/// are those of [`star`]; an item that is not in `order` is in no group and links nobody.
pub fn connected(items: usize, order: &[u32], pairs: &AlikePairs) -> Groups {
    let links = Links::new(items, pairs);
    let mut groups: Groups = Vec::new();
    let mut ordered = vec![false; items];
    order.iter().for_each(|&item| ordered[item as usize] = true);
    // By class: whether someone of it may be linked through, and who is in which group already.
    let mut living: Vec<bool> = vec![false; items];
    order.iter().for_each(|&item| living[links.class[item as usize] as usize] = true);
    let mut group_of: Vec<Option<u32>> = vec![None; items];
    for &item in order {
        let class = links.class[item as usize];
        if group_of[class as usize].is_none() {
            links.reach(class, groups.len() as u32, &living, &mut group_of);
            groups.push(Group { keep: item, members: Vec::new() });
        }
    }
    // Whoever of a class is taken first stands for it.
    let mut shown: Vec<Option<u32>> = vec![None; items];
    for &item in order {
        let class = links.class[item as usize];
        shown[class as usize].get_or_insert(item);
    }
    for &item in order {
        if !std::mem::replace(&mut ordered[item as usize], false) {
            continue;
        }
        let class = links.class[item as usize];
        let Some(group) = group_of[class as usize] else { continue };
        let group = &mut groups[group as usize];
        if item == group.keep {
            continue;
        }
        let others = links.of(class).filter_map(|link| Some((shown[link.to as usize]?, link)));
        let best = others.filter(|other| other.0 != item).min_by(|one, two| {
            let keeper = |other: u32| other != group.keep;
            keeper(one.0).cmp(&keeper(two.0)).then(one.1.closer(two.1)).then(one.0.cmp(&two.0))
        });
        let (alike, link) = best.expect("whoever is reached was reached through a link");
        group.members.push(link.member(item, alike));
    }
    in_order(groups)
}

/// Drops the lonely, and sorts.
fn in_order(mut groups: Groups) -> Groups {
    groups.retain(|group| !group.members.is_empty());
    groups.sort_unstable_by_key(|group| group.keep);
    groups.iter_mut().for_each(|group| group.members.sort_unstable_by_key(|member| member.item));
    groups
}

/// The pairs by item, equal items as one *class* that is named for the first of them.
struct Links {
    class: Vec<u32>,
    /// Where the links of each class begin, and where the last ones end.
    starts: Vec<usize>,
    links: Vec<Link>,
}

/// One side of a pair.
#[derive(Clone, Copy, Debug)]
struct Link {
    to: u32,
    distance: u32,
    similarity: Option<f32>,
}

impl Links {
    fn new(items: usize, pairs: &AlikePairs) -> Self {
        let mut class: Vec<u32> = (0..items as u32).collect();
        for group in pairs.equal_groups() {
            group.iter().for_each(|&item| class[item as usize] = group[0]);
        }
        let itself = |group: &[u32]| {
            let similarity = pairs.equal_similarity();
            (group[0], Link { to: group[0], distance: 0, similarity })
        };
        let sides = || {
            let near = pairs.near().iter().flat_map(Link::sides);
            near.chain(pairs.equal_groups().map(itself))
        };
        let mut starts = vec![0; items + 1];
        sides().for_each(|(from, _)| starts[from as usize + 1] += 1);
        (0..items).for_each(|item| starts[item + 1] += starts[item]);
        let mut next = starts.clone();
        let mut links = vec![Link { to: 0, distance: 0, similarity: None }; starts[items]];
        for (from, link) in sides() {
            links[next[from as usize]] = link;
            next[from as usize] += 1;
        }
        Self { class, starts, links }
    }

    /// All links of a class; one to itself if it has several items.
    fn of(&self, class: u32) -> impl Iterator<Item = &Link> {
        let class = class as usize;
        self.links[self.starts[class]..self.starts[class + 1]].iter()
    }

    /// Puts all classes that hang together with one into a group.
    fn reach(&self, class: u32, group: u32, living: &[bool], group_of: &mut [Option<u32>]) {
        let mut open = vec![class];
        group_of[class as usize] = Some(group);
        while let Some(class) = open.pop() {
            for link in self.of(class) {
                let to = link.to as usize;
                if living[to] && group_of[to].is_none() {
                    group_of[to] = Some(group);
                    open.push(link.to);
                }
            }
        }
    }
}

impl Link {
    fn sides(pair: &AlikePair) -> [(u32, Self); 2] {
        let AlikePair { a, b, distance, similarity } = *pair;
        [(a, Self { to: b, distance, similarity }), (b, Self { to: a, distance, similarity })]
    }

    /// Less is closer: more similar, then fewer bits.
    fn closer(&self, other: &Self) -> std::cmp::Ordering {
        let similarity = |link: &Self| link.similarity.unwrap_or(0.0);
        let similar = similarity(other).total_cmp(&similarity(self));
        similar.then(self.distance.cmp(&other.distance))
    }

    fn member(&self, item: u32, alike: u32) -> Member {
        Member { item, alike, distance: self.distance, similarity: self.similarity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                distance: u32::from(how),
                similarity: verified.then_some(1.0 - f32::from(how) / 10.0),
            })
            .collect();
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        Case { items, order, pairs: AlikePairs::new(pairs, equal, verified.then_some(1.0)) }
    }

    fn lookup(pairs: &AlikePairs) -> HashMap<(u32, u32), AlikePair> {
        pairs.to_vec().into_iter().map(|pair| ((pair.a, pair.b), pair)).collect()
    }

    fn pair_of(pairs: &HashMap<(u32, u32), AlikePair>, one: u32, two: u32) -> Option<AlikePair> {
        pairs.get(&(one.min(two), one.max(two))).copied()
    }

    /// The definition of star groups, word by word, on all pairs.
    fn naive_star(case: &Case) -> Groups {
        let pairs = lookup(&case.pairs);
        let mut groups: Groups = Vec::new();
        for &item in &case.order {
            let mut best: Option<(usize, AlikePair)> = None;
            for (group, Group { keep, .. }) in groups.iter().enumerate() {
                let Some(pair) = pair_of(&pairs, item, *keep) else { continue };
                let better = best.is_none_or(|(_, best)| {
                    (pair.similarity, std::cmp::Reverse(pair.distance))
                        > (best.similarity, std::cmp::Reverse(best.distance))
                });
                if better {
                    best = Some((group, pair));
                }
            }
            match best {
                Some((group, AlikePair { distance, similarity, .. })) => {
                    let alike = groups[group].keep;
                    groups[group].members.push(Member { item, alike, distance, similarity });
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
            prop_assert_eq!(star(case.items, &case.order, &case.pairs), naive_star(&case));
        }

        #[test]
        fn every_member_is_paired_with_whom_it_is_said_to_be_alike(case in cases()) {
            let pairs = lookup(&case.pairs);
            for (groups, is_star) in [
                (star(case.items, &case.order, &case.pairs), true),
                (connected(case.items, &case.order, &case.pairs), false),
            ] {
                for group in &groups {
                    for member in &group.members {
                        let pair = pair_of(&pairs, member.item, member.alike).unwrap();
                        prop_assert_eq!((pair.distance, pair.similarity), (member.distance, member.similarity));
                        let with_keeper = pair_of(&pairs, member.item, group.keep).is_some();
                        prop_assert_eq!(member.alike == group.keep, with_keeper || is_star);
                    }
                }
            }
        }

        #[test]
        fn nobody_is_in_two_groups_and_keepers_come_first_in_order(case in cases()) {
            let rank: HashMap<u32, usize> = case.order.iter().copied().zip(0..).collect();
            for groups in [star(case.items, &case.order, &case.pairs), connected(case.items, &case.order, &case.pairs)] {
                let items = everyone(&groups);
                prop_assert!(items.windows(2).all(|two| two[0] < two[1]));
                for group in &groups {
                    prop_assert!(group.members.iter().all(|member| rank[&group.keep] < rank[&member.item]));
                }
            }
        }

        #[test]
        fn two_keepers_of_star_groups_are_never_a_pair(case in cases()) {
            let groups = star(case.items, &case.order, &case.pairs);
            let gone: HashSet<u32> =
                groups.iter().flat_map(|group| group.members.iter().map(|member| member.item)).collect();
            for pair in case.pairs.to_vec() {
                prop_assert!(gone.contains(&pair.a) || gone.contains(&pair.b));
            }
        }

        #[test]
        fn connected_groups_are_the_components(case in cases()) {
            let mut component: Vec<usize> = (0..case.items).collect();
            for _ in 0..case.items {
                for pair in case.pairs.to_vec() {
                    let least = component[pair.a as usize].min(component[pair.b as usize]);
                    component[pair.a as usize] = least;
                    component[pair.b as usize] = least;
                }
            }
            let groups = connected(case.items, &case.order, &case.pairs);
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
        let pairs = AlikePairs::new(Vec::new(), equal, Some(1.0));
        let order: Vec<u32> = (0..items).rev().collect();
        for groups in
            [star(items as usize, &order, &pairs), connected(items as usize, &order, &pairs)]
        {
            assert_eq!((groups.len(), groups[0].keep), (1, items - 1));
            assert_eq!(groups[0].members.len(), items as usize - 1);
        }
    }

    #[test]
    fn items_left_out_of_the_order_are_in_no_group() {
        let pair = |a, b| AlikePair { a, b, distance: 1, similarity: None };
        let pairs = AlikePairs::from_pairs(vec![pair(0, 1), pair(1, 2)]);
        assert!(star(3, &[0, 2], &pairs).is_empty());
        assert!(connected(3, &[2, 0], &pairs).is_empty());
        assert_eq!(everyone(&star(3, &[2, 1], &pairs)), [1, 2]);
    }
}
