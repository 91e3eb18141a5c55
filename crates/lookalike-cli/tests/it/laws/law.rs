//! The laws. They ask an [`Adapter`] and know of no kind: what kinds there are is written in
//! [`claims`](super::claims) alone.
//!
//! A law that is broken returns what broke it. A panic means that a law could not be tried at all.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::OnceLock,
};

use lookalike::hamming::Kernel;
use serde_json::Value;

use super::{
    adapter::{Adapter, Closeness, Figures, Item, Pairs, Two, two},
    seeded::Seeded,
};

/// An error says what broke the law.
pub type Outcome = Result<(), String>;

/// Items of one kind, with the settings of its adapter.
pub struct Case {
    adapter: Box<dyn Adapter>,
    items: Vec<Item>,
    compared: OnceLock<BTreeMap<Two, [Closeness; 2]>>,
}

impl Case {
    pub fn new(adapter: impl Adapter + 'static, items: Vec<Item>) -> Self {
        Self { adapter: Box::new(adapter), items, compared: OnceLock::new() }
    }

    fn adapter(&self) -> &dyn Adapter {
        &*self.adapter
    }

    fn all(&self) -> Vec<&Item> {
        self.items.iter().collect()
    }

    /// All items in two parts, each in the order of the whole.
    fn halves(&self, seed: u64) -> [Vec<&Item>; 2] {
        let mut sides: Vec<_> = (0..self.items.len()).map(|number| number % 2 == 0).collect();
        Seeded(seed).shuffle(&mut sides);
        [true, false].map(|side| {
            let of_side = self.items.iter().zip(&sides).filter(|(_, of)| **of == side);
            of_side.map(|(item, _)| item).collect()
        })
    }

    /// The digests of some items, by id.
    fn digests(&self, items: &[&Item], resources: &str) -> BTreeMap<String, Value> {
        let own = || items.iter().map(|item| (item.id.clone(), Value::Null)).collect();
        self.adapter().digest(items, resources).map_or_else(own, |(digests, _)| digests)
    }

    /// What `compare` says of every two items, in both orders.
    fn compared(&self) -> &BTreeMap<Two, [Closeness; 2]> {
        self.compared.get_or_init(|| {
            let twos = every_two(&self.items);
            let turned: Vec<_> = twos.iter().map(|&(a, b)| (b, a)).collect();
            let answers = self.adapter().compare(&twos);
            let turned = self.adapter().compare(&turned);
            let ids = twos.iter().map(|(a, b)| two(&a.id, &b.id));
            ids.zip(answers.into_iter().zip(turned).map(|(one, two)| [one, two])).collect()
        })
    }

    fn closeness(&self, a: &str, b: &str) -> &Closeness {
        &self.compared()[&two(a, b)][0]
    }

    /// Every pair that `compare` calls alike.
    fn alike(&self) -> Pairs {
        let alike = self.compared().iter().filter(|(_, [closeness, _])| closeness.alike);
        alike.map(|(ids, [closeness, _])| (ids.clone(), closeness.figures.clone())).collect()
    }

    /// Whether `compare` calls each of these alike, with the same figures.
    fn figures_of_compare<'a>(
        &self,
        what: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str, &'a Figures)>,
    ) -> Outcome {
        for (a, b, figures) in pairs {
            let closeness = self.closeness(a, b);
            let agree = closeness.alike && closeness.figures.agree(figures);
            ensure(agree, || format!("{what}: {a}, {b}: {figures:?}, compare: {closeness:?}"))?;
        }
        Ok(())
    }
}

fn every_two(items: &[Item]) -> Vec<(&Item, &Item)> {
    let after = |number: usize| &items[number + 1..];
    let twos = items.iter().enumerate();
    twos.flat_map(|(number, a)| after(number).iter().map(move |b| (a, b))).collect()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(why()) }
}

fn same<T: PartialEq + Debug>(what: &str, one: &T, other: &T) -> Outcome {
    ensure(one == other, || format!("{what}:\n{one:?}\n{other:?}"))
}

/// The same pairs, and the same figures where both mention them.
fn same_pairs(what: &str, one: &Pairs, other: &Pairs) -> Outcome {
    let keys = |pairs: &Pairs| pairs.keys().cloned().collect::<BTreeSet<_>>();
    let (ones, others) = (keys(one), keys(other));
    let missing: Vec<_> = ones.symmetric_difference(&others).take(5).collect();
    ensure(missing.is_empty(), || {
        format!("{what}: {} pairs, {} pairs; only one has {missing:?}", ones.len(), others.len())
    })?;
    for (ids, figures) in one {
        let other = &other[ids];
        ensure(figures.agree(other), || format!("{what}: {ids:?}: {figures:?}, {other:?}"))?;
    }
    Ok(())
}

fn within(pairs: &Pairs, ids: &BTreeSet<&str>) -> Pairs {
    let inside = |(a, b): &Two| ids.contains(a.as_str()) && ids.contains(b.as_str());
    pairs.iter().filter(|(ids, _)| inside(ids)).map(|(ids, it)| (ids.clone(), it.clone())).collect()
}

/// The pairs of one of `a` with one of `b`.
fn crossing(pairs: &Pairs, a: &[&Item], b: &[&Item]) -> Pairs {
    let [inside_a, inside_b] = [a, b].map(|items| within(pairs, &ids(items)));
    let crosses = |ids: &Two| !inside_a.contains_key(ids) && !inside_b.contains_key(ids);
    pairs
        .iter()
        .filter(|(ids, _)| crosses(ids))
        .map(|(ids, it)| (ids.clone(), it.clone()))
        .collect()
}

fn ids<'a>(items: &[&'a Item]) -> BTreeSet<&'a str> {
    items.iter().map(|item| item.id.as_str()).collect()
}

/// Several seeds, so that no law holds by one lucky split.
const SEEDS: [u64; 2] = [1, 2];

/// Not a law, but what makes the laws worth trying.
pub fn some_items_are_alike_and_some_are_not(case: &Case) -> Outcome {
    let (alike, all) = (case.alike().len(), case.compared().len());
    ensure(alike > 0 && alike < all, || format!("of {all} pairs, {alike} are alike"))
}

// 1. One definition.

pub fn pairs_lists_what_compare_calls_alike_with_its_figures(case: &Case) -> Outcome {
    same_pairs("compare, pairs", &case.alike(), &case.adapter().pairs(&case.all(), "").pairs)
}

pub fn dedup_lists_the_pairs_that_pairs_lists(case: &Case) -> Outcome {
    let (pairs, dedup) =
        (case.adapter().pairs(&case.all(), ""), case.adapter().dedup(&case.all(), ""));
    same_pairs("pairs, dedup --pairs", &pairs.pairs, &dedup.pairs)
}

pub fn groups_have_the_figures_of_compare(case: &Case) -> Outcome {
    let dedup = case.adapter().dedup(&case.all(), "");
    for (what, members) in [("--groups", &dedup.grouped), ("--removed", &dedup.removed)] {
        let pairs = members.iter().map(|(id, (keeper, it))| (id.as_str(), keeper.as_str(), it));
        case.figures_of_compare(what, pairs)?;
    }
    Ok(())
}

pub fn search_finds_what_compare_calls_alike_with_its_figures(case: &Case) -> Outcome {
    let [stored, queries] = case.halves(3);
    let found = case.adapter().search(&stored, &queries, "").matches;
    same_pairs("compare, index search", &crossing(&case.alike(), &stored, &queries), &found)
}

pub fn against_removes_what_compare_calls_alike_with_its_figures(case: &Case) -> Outcome {
    let [others, items] = case.halves(4);
    let removed = case.adapter().dedup_against(&items, &others).removed;
    let pairs = removed.iter().map(|(id, (keeper, it))| (id.as_str(), keeper.as_str(), it));
    case.figures_of_compare("--against", pairs)?;
    let alike = crossing(&case.alike(), &others, &items);
    let others = ids(&others);
    let expected: BTreeSet<_> =
        alike.keys().map(|(a, b)| if others.contains(a.as_str()) { b } else { a }).collect();
    same("compare, removed by --against", &expected, &removed.keys().collect())
}

pub fn a_strict_threshold_filters_the_pairs_of_a_loose_one(case: &Case) -> Outcome {
    let [(loose, _), (strict, is_within)] = case.adapter().thresholds();
    let mut loose = case.adapter().pairs_within(loose, &case.all(), "").pairs;
    loose.retain(|_, figures| is_within(figures));
    let strict = case.adapter().pairs_within(strict, &case.all(), "").pairs;
    same_pairs("loose pairs within the strict threshold, strict pairs", &loose, &strict)
}

pub fn every_command_tells_distance_similarity_and_level(case: &Case) -> Outcome {
    let [stored, queries] = case.halves(3);
    let dedup = case.adapter().dedup(&case.all(), "");
    let members = |members: &BTreeMap<String, (String, Figures)>| {
        members.values().map(|(_, figures)| figures.clone()).collect::<Vec<_>>()
    };
    let pairs = |pairs: Pairs| pairs.into_values().collect::<Vec<_>>();
    for (what, told) in [
        ("compare", pairs(case.alike())),
        ("pairs", pairs(case.adapter().pairs(&case.all(), "").pairs)),
        ("--pairs", pairs(dedup.pairs)),
        ("--groups", members(&dedup.grouped)),
        ("--removed", members(&dedup.removed)),
        ("index search", pairs(case.adapter().search(&stored, &queries, "").matches)),
    ] {
        let incomplete = told.iter().find(|figures| !figures.are_complete());
        ensure(incomplete.is_none(), || format!("{what} tells only {incomplete:?}"))?;
    }
    Ok(())
}

// 2. Symmetry.

pub fn compare_is_symmetric(case: &Case) -> Outcome {
    for (ids, [one, turned]) in case.compared() {
        ensure(one == turned, || format!("{ids:?}: {one:?}, the other way round {turned:?}"))?;
    }
    Ok(())
}

pub fn input_order_changes_no_pair(case: &Case) -> Outcome {
    let mut items = case.all();
    let pairs = case.adapter().pairs(&items, "").pairs;
    items.reverse();
    same_pairs("in order, reversed", &pairs, &case.adapter().pairs(&items, "").pairs)?;
    for seed in SEEDS {
        Seeded(seed).shuffle(&mut items);
        same_pairs("in order, shuffled", &pairs, &case.adapter().pairs(&items, "").pairs)?;
    }
    Ok(())
}

pub fn search_finds_the_same_with_items_and_queries_exchanged(case: &Case) -> Outcome {
    let [one, other] = case.halves(5);
    let [there, back] =
        [(&one, &other), (&other, &one)].map(|(a, b)| case.adapter().search(a, b, "").matches);
    same_pairs("A searched with B, B searched with A", &there, &back)
}

// 3. Exact means exact.

pub fn an_exact_answer_holds_every_alike_pair(case: &Case) -> Outcome {
    let alike: BTreeSet<_> = case.alike().into_keys().collect();
    for options in ["", "--exact"] {
        let pairs = case.adapter().pairs(&case.all(), options);
        let dedup = case.adapter().dedup(&case.all(), options);
        for (what, summary, pairs) in
            [("pairs", pairs.summary, pairs.pairs), ("dedup", dedup.summary, dedup.pairs)]
        {
            if summary.is_exact() {
                let found: BTreeSet<_> = pairs.into_keys().collect();
                let wrong: Vec<_> = alike.symmetric_difference(&found).take(5).collect();
                ensure(wrong.is_empty(), || {
                    let (alike, found) = (alike.len(), found.len());
                    format!("{what} {options}: {alike} alike, {found} found; differ in {wrong:?}")
                })?;
            } else {
                let recall = summary.states_recall();
                ensure(recall, || format!("{what} {options}: neither exact nor with a recall"))?;
            }
        }
    }
    Ok(())
}

// 4. Subset.

pub fn pairs_of_a_part_are_those_of_the_whole_within_it(case: &Case) -> Outcome {
    let whole = case.adapter().pairs(&case.all(), "--exact").pairs;
    for seed in SEEDS {
        for part in case.halves(seed) {
            let pairs = case.adapter().pairs(&part, "--exact").pairs;
            same_pairs("whole within the part, part", &within(&whole, &ids(&part)), &pairs)?;
        }
    }
    Ok(())
}

pub fn digests_do_not_depend_on_other_items(case: &Case) -> Outcome {
    let mut whole = case.digests(&case.all(), "");
    let [part, _] = case.halves(1);
    let of_part = case.digests(&part, "");
    let ids = ids(&part);
    whole.retain(|id, _| ids.contains(id.as_str()));
    same("digests in the whole, in a part", &whole, &of_part)
}

// 5. Batch = collection.

pub fn searching_a_collection_finds_the_pairs_between_the_two_sets(case: &Case) -> Outcome {
    let pairs = case.adapter().pairs(&case.all(), "--exact").pairs;
    for seed in SEEDS {
        let [stored, queries] = case.halves(seed);
        let found = case.adapter().search(&stored, &queries, "").matches;
        same_pairs("pairs, index search", &crossing(&pairs, &stored, &queries), &found)?;
    }
    Ok(())
}

pub fn against_a_collection_is_against_its_file(case: &Case) -> Outcome {
    let [others, items] = case.halves(6);
    let file = case.adapter().dedup_against(&items, &others);
    let collection = case.adapter().dedup_against_collection(&items, &others)?;
    same("kept against the file, the collection", &file.kept.ids, &collection.kept.ids)?;
    for (id, (keeper, figures)) in &file.removed {
        let (other, told) = &collection.removed[id];
        let agree = keeper == other && figures.agree(told);
        ensure(agree, || format!("{id}: {keeper} {figures:?} by file, {other} {told:?}"))?;
    }
    Ok(())
}

pub fn what_is_added_unless_near_is_what_dedup_keeps_first(case: &Case) -> Outcome {
    let dedup = case.adapter().dedup(&case.all(), "--keep first");
    let statuses = case.adapter().add_unless_near(&case.all());
    for item in case.all() {
        let keeper = dedup.removed.get(&item.id).map(|(keeper, _)| keeper);
        let (status, near) = &statuses[&item.id];
        // An item without content is kept, but cannot be stored.
        let agree = match keeper {
            Some(_) => status == "near" && near.as_ref() == keeper,
            None => status == "added" || status == "unfit",
        };
        ensure(agree, || format!("{}: keeper {keeper:?}, status {status} {near:?}", item.id))?;
    }
    Ok(())
}

// 6. Resources change nothing.

/// All that is written with these options.
fn bytes(case: &Case, options: &str) -> [String; 2] {
    [
        case.adapter().pairs(&case.all(), options).bytes,
        case.adapter().dedup(&case.all(), options).bytes,
    ]
}

pub fn threads_change_no_byte(case: &Case) -> Outcome {
    let [stored, queries] = case.halves(7);
    let answers = |options: &str| {
        let digests = case.digests(&case.all(), options);
        let found = case.adapter().search(&stored, &queries, options).bytes;
        (bytes(case, options), found, digests)
    };
    same("with 1 thread, with 2", &answers("--threads 1"), &answers("--threads 2"))
}

pub fn memory_limits_and_temporary_folders_change_no_byte(case: &Case) -> Outcome {
    let free = bytes(case, "");
    let [least, more] = case.adapter().memory_limits();
    for options in [
        format!("--memory {least}"),
        format!("--memory {more} --temp temp"),
        format!("--memory {least} --temp temp --threads 2"),
    ] {
        same(&options, &free, &bytes(case, &options))?;
    }
    Ok(())
}

pub fn kernels_change_no_byte(case: &Case) -> Outcome {
    let usual = bytes(case, "");
    for kernel in Kernel::available() {
        let options = format!("--kernel {}", kernel.name());
        same(&options, &usual, &bytes(case, &options))?;
    }
    Ok(())
}

// 7. Nothing is lost.

pub fn every_record_is_an_item_or_skipped_and_listed(case: &Case) -> Outcome {
    let unreadable = case.adapter().unreadable();
    let mut records = case.all();
    records.extend(&unreadable);
    Seeded(8).shuffle(&mut records);
    let (pairs, dedup) = (case.adapter().pairs(&records, ""), case.adapter().dedup(&records, ""));
    let digest = case.adapter().digest(&records, "").map(|(_, summary)| summary);
    let added = case.adapter().store(&[&records], true).added.remove(0);
    for (what, summary, listed) in [
        ("pairs", Some(&pairs.summary), Some(pairs.skipped)),
        ("dedup", Some(&dedup.summary), Some(dedup.skipped)),
        ("hash", digest.as_ref(), None),
        ("index add", Some(&added), None),
    ] {
        let Some(summary) = summary else { continue };
        let (items, skipped) = (summary.count("items"), summary.count("skipped"));
        same(&format!("{what}: records, items + skipped"), &records.len(), &(items + skipped))?;
        ensure(skipped >= unreadable.len(), || format!("{what}: too few are skipped: {skipped}"))?;
        same(&format!("{what}: skipped, listed"), &skipped, &listed.unwrap_or(skipped))?;
    }
    Ok(())
}

pub fn what_is_removed_is_named_with_a_keeper_it_is_alike(case: &Case) -> Outcome {
    let dedup = case.adapter().dedup(&case.all(), "");
    same("removed, counted", &dedup.removed.len(), &dedup.summary.count("removed"))?;
    for (id, (keeper, _)) in &dedup.removed {
        ensure(dedup.kept.ids.contains(keeper), || format!("{id} goes for {keeper}, which went"))?;
        ensure(case.closeness(id, keeper).alike, || format!("{id} goes for {keeper}, unlike it"))?;
    }
    let keepers = |of: &BTreeMap<String, (String, Figures)>| {
        of.iter().map(|(id, (keeper, _))| (id.clone(), keeper.clone())).collect::<Vec<_>>()
    };
    same("--removed, --groups", &keepers(&dedup.removed), &keepers(&dedup.grouped))
}

pub fn what_is_not_removed_is_kept(case: &Case) -> Outcome {
    let unreadable = case.adapter().unreadable();
    let mut records = case.all();
    records.extend(&unreadable);
    let dedup = case.adapter().dedup(&records, "");
    let expected = records.len() - dedup.removed.len();
    same("records not removed, kept", &expected, &dedup.kept.records)?;
    let mut left = ids(&case.all());
    left.retain(|id| !dedup.removed.contains_key(*id));
    let lost: Vec<_> = left.iter().filter(|id| !dedup.kept.ids.contains(**id)).collect();
    ensure(lost.is_empty(), || format!("neither kept nor removed: {lost:?}"))
}

pub fn a_collection_holds_every_item_added(case: &Case) -> Outcome {
    let digests = case.digests(&case.all(), "");
    let collection = case.adapter().store(&[&case.all()], true);
    let added = &collection.added[0];
    // An item without a fingerprint is stored, too, unless it is empty.
    let lost: Vec<_> = digests.keys().filter(|&id| !collection.ids.contains(id)).collect();
    ensure(lost.is_empty(), || format!("have a fingerprint, but are not stored: {lost:?}"))?;
    same("stored, added", &collection.ids.len(), &added.count("added"))?;
    let all = added.count("added") + added.count("present") + added.count("unfit");
    same("items, added or present or unfit", &case.all().len(), &all)
}

pub fn batches_without_ids_are_all_stored(case: &Case) -> Outcome {
    let digests = case.digests(&case.all(), "");
    // Equal content is stored once if nobody gives it a name: leave it out.
    let mut contents = BTreeSet::new();
    let mut items = case.all();
    items.retain(|item| digests.contains_key(&item.id) && contents.insert(&item.content));
    let (monday, tuesday) = items.split_at(items.len() / 2);
    let batches = [monday, tuesday].into_iter().filter(|batch| !batch.is_empty());
    let collection = case.adapter().store(&batches.collect::<Vec<_>>(), false);
    same("items, stored", &items.len(), &collection.ids.len())
}
