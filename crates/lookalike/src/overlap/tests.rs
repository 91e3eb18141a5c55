//! Everything is held against two plain loops over `BTreeSet`s: no bounds, no filters, no order.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::Ordering},
};

use proptest::prelude::*;

use super::*;
use crate::{
    alike::{AlikePair, Nearest},
    verify::{FeatureSet, Measure, Similarity, TWICE},
};

const THRESHOLDS: [f32; 9] = [0.0, 0.01, 0.1, 0.3, 0.46, 0.6, 0.8, 0.999, 1.0];

fn verifies() -> impl Iterator<Item = Verify> {
    Measure::ALL.into_iter().flat_map(|measure| THRESHOLDS.map(|least| verify(measure, least)))
}

fn verify(measure: Measure, least: f32) -> Verify {
    Verify { measure, similarity: Similarity::new(least).unwrap(), ..Verify::DEFAULT }
}

/// The definition.
fn similarity(measure: Measure, one: &FeatureSet, two: &FeatureSet) -> f32 {
    let weight = |set: &BTreeSet<u32>| set.iter().map(|f| 1 + (f & TWICE)).sum::<u32>() as f64;
    let [one, two] = [one, two].map(|set| set.features().iter().copied().collect::<BTreeSet<_>>());
    let of = match measure {
        Measure::Containment => weight(&one).min(weight(&two)),
        _ => weight(&(&one | &two)),
    };
    if of == 0.0 { 0.0 } else { (weight(&(&one & &two)) / of) as f32 }
}

fn alike(verify: Verify, one: &FeatureSet, two: &FeatureSet) -> Option<Closeness> {
    let similarity = similarity(verify.measure, one, two);
    (similarity >= verify.similarity.get()).then(|| Closeness::similar(None, similarity))
}

fn naive_pairs(verify: Verify, sets: &[FeatureSet]) -> Vec<AlikePair> {
    let mut pairs = Vec::new();
    for (a, one) in (0..).zip(sets) {
        for (b, two) in (0..).zip(sets).skip(a as usize + 1) {
            let alike = alike(verify, one, two);
            pairs.extend(alike.map(|closeness| AlikePair { a, b, closeness }));
        }
    }
    pairs
}

fn naive_stars(verify: Verify, sets: &[FeatureSet], order: &[u32]) -> Vec<Option<Nearest>> {
    let mut joined = vec![None; sets.len()];
    let mut keepers: Vec<u32> = Vec::new();
    for &item in order {
        joined[item as usize] = first(verify, sets, &keepers, item);
        if joined[item as usize].is_none() {
            keepers.push(item);
        }
    }
    joined
}

fn first(verify: Verify, sets: &[FeatureSet], keepers: &[u32], item: u32) -> Option<Nearest> {
    keepers.iter().find_map(|&keeper| {
        let closeness = alike(verify, &sets[keeper as usize], &sets[item as usize])?;
        Some(Nearest { keeper, closeness })
    })
}

/// Sets in a store, and a way to search them.
struct Case {
    stored: Sets,
    weights: Vec<u32>,
}

/// What most searches are for: sets that share enough.
fn enough(verify: Verify) -> impl Fn(u32, u32, Set<'_>, Set<'_>) -> Option<Closeness> + Sync {
    move |_, _, one, two| {
        let similarity = verify.enough(one, two, Kernel::detect())?;
        Some(Closeness::similar(None, similarity))
    }
}

impl Case {
    /// Holds up to `held` bytes in memory.
    fn new(sets: &[FeatureSet], held: u64) -> Self {
        let mut stored = Sets::new(held, std::env::temp_dir());
        sets.iter().for_each(|set| stored.push(set.features()).unwrap());
        stored.seal().unwrap();
        Self { stored, weights: sets.iter().map(FeatureSet::weight).collect() }
    }

    fn overlaps<'a>(&'a self, verify: Verify, judge: Judge<'a>) -> Overlaps<'a> {
        Overlaps {
            sets: &self.stored,
            weights: &self.weights,
            verify,
            keys: None,
            judge,
            kernel: Kernel::detect(),
            memory: None,
            progress: &|_| {},
        }
    }
}

fn pairs(overlaps: &Overlaps<'_>) -> Vec<AlikePair> {
    let found = Mutex::new(Vec::new());
    let take = |mut some| {
        found.lock().unwrap().append(&mut some);
        Ok(())
    };
    overlaps.pairs(&take).unwrap();
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|pair| (pair.a, pair.b));
    found
}

/// Sets of few and of many features, some of them edits of each other, some with features of their
/// own, some equal.
fn collections() -> impl Strategy<Value = Vec<FeatureSet>> {
    let original = prop::collection::vec(0..400u32, 1..60);
    let edit = (0..4usize, prop::collection::vec((0..60usize, 0..3000u32), 0..30), 0..60usize);
    (prop::collection::vec(original, 4), prop::collection::vec(edit, 0..40)).prop_map(
        |(originals, edits)| {
            let spread = |feature: u32| feature.wrapping_mul(0x9e37_79b1) ^ feature << 31;
            let set = |(original, changes, cut): (usize, Vec<(usize, u32)>, usize)| {
                let mut features: Vec<u32> = originals[original].clone();
                for (place, feature) in changes {
                    let place = place % features.len();
                    features[place] = feature;
                }
                // Half of them are whole.
                let cut = cut.saturating_sub(30).min(features.len() - 1);
                FeatureSet::new(features[cut..].iter().copied().map(spread).collect())
            };
            edits.into_iter().map(set).collect()
        },
    )
}

fn shuffled(items: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..items as u32).collect();
    order.sort_by_key(|&item| (u64::from(item) + 1).wrapping_mul(seed | 1).rotate_left(29));
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pairs_are_those_of_two_loops_whatever_the_memory_kernel_and_threads(
        sets in collections(), held in 0..2000u64, memory in 1..3000u64,
    ) {
        for verify in verifies() {
            let (expected, judge) = (naive_pairs(verify, &sets), enough(verify));
            let case = Case::new(&sets, u64::MAX);
            prop_assert_eq!(&pairs(&case.overlaps(verify, &judge)), &expected, "{}", verify);
            let spilled = Case::new(&sets, held);
            let small = Overlaps { memory: Some(memory), ..spilled.overlaps(verify, &judge) };
            prop_assert_eq!(&pairs(&small), &expected, "{} within {}", verify, memory);
        }
        for kernel in Kernel::available() {
            let expected = naive_pairs(Verify::DEFAULT, &sets);
            let judge = enough(Verify::DEFAULT);
            let case = Case::new(&sets, u64::MAX);
            let overlaps = Overlaps { kernel, ..case.overlaps(Verify::DEFAULT, &judge) };
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                prop_assert_eq!(&pool.install(|| pairs(&overlaps)), &expected);
            }
        }
    }

    #[test]
    fn stars_are_those_of_the_plain_loop_over_keepers(
        sets in collections(), seed: u64, held in 0..2000u64, memory in 1..3000u64,
    ) {
        let order = shuffled(sets.len(), seed);
        for verify in verifies() {
            let (expected, judge) = (naive_stars(verify, &sets, &order), enough(verify));
            let case = Case::new(&sets, u64::MAX);
            prop_assert_eq!(&case.overlaps(verify, &judge).stars(&order).unwrap().0, &expected, "{}", verify);
            let spilled = Case::new(&sets, held);
            let small = Overlaps { memory: Some(memory), ..spilled.overlaps(verify, &judge) };
            prop_assert_eq!(&small.stars(&order).unwrap().0, &expected, "{} within {}", verify, memory);
        }
    }

    #[test]
    fn every_item_finds_the_first_keeper_it_is_alike(
        sets in collections(), seed: u64, cut in 0..40usize, memory in 1..3000u64,
    ) {
        let order = shuffled(sets.len(), seed);
        let (keepers, items) = order.split_at(cut.min(order.len()));
        for verify in verifies() {
            let judge = enough(verify);
            let mut expected = vec![None; sets.len()];
            items.iter().for_each(|&item| {
                expected[item as usize] = first(verify, &sets, keepers, item);
            });
            for memory in [None, Some(memory)] {
                let case = Case::new(&sets, memory.map_or(u64::MAX, |memory| memory / 2));
                let overlaps = Overlaps { memory, ..case.overlaps(verify, &judge) };
                prop_assert_eq!(&overlaps.nearest(keepers, items).unwrap().0, &expected);
            }
        }
    }

    #[test]
    fn keys_find_exactly_the_alike_pairs_that_share_one(sets in collections(), memory in 1..3000u64) {
        let keys = Keys { bands: 6, rows: 2 };
        let of = |set: &FeatureSet| {
            let mut keys_of = vec![0; keys.bands];
            keys.some(0..keys.bands).write(set.features(), &mut keys_of, Kernel::Portable);
            keys_of.into_iter().collect::<BTreeSet<u32>>()
        };
        let shares = |pair: &AlikePair| {
            !of(&sets[pair.a as usize]).is_disjoint(&of(&sets[pair.b as usize]))
        };
        for verify in verifies().filter(|verify| verify.similarity.get() > 0.0) {
            let mut expected = naive_pairs(verify, &sets);
            expected.retain(shares);
            let judge = enough(verify);
            for memory in [None, Some(memory)] {
                let case = Case::new(&sets, memory.map_or(u64::MAX, |memory| memory / 2));
                let keys = Some(keys.clone());
                let overlaps = Overlaps { keys, memory, ..case.overlaps(verify, &judge) };
                prop_assert_eq!(&pairs(&overlaps), &expected);
            }
        }
    }

    #[test]
    fn only_what_is_accepted_counts(sets in collections()) {
        let accepts = |a: u32, b: u32| !(a + b).is_multiple_of(3);
        let enough = enough(Verify::DEFAULT);
        let judge = |a: u32, b: u32, one: Set<'_>, two: Set<'_>| {
            accepts(a, b).then(|| enough(a, b, one, two)).flatten()
        };
        let case = Case::new(&sets, u64::MAX);
        let mut expected = naive_pairs(Verify::DEFAULT, &sets);
        expected.retain(|pair| accepts(pair.a, pair.b));
        prop_assert_eq!(pairs(&case.overlaps(Verify::DEFAULT, &judge)), expected);
    }
}

/// Two sets that share `common` of features that weigh `a` and `b`, all counting once; and others,
/// so that no feature is unique.
fn at_the_boundary(a: u32, b: u32, common: u32) -> Vec<FeatureSet> {
    let features = |range: Range<u32>| {
        FeatureSet::new(range.map(|feature| feature.wrapping_mul(0x9e37_79b2) & !TWICE).collect())
    };
    let one = features(0..a);
    let two = features(a - common..a - common + b);
    let mut sets = vec![one, two];
    // Each feature once more, in sets of one feature that match nothing here.
    sets.extend((0..a + b - common).map(|feature| features(feature..feature + 1)));
    sets
}

#[test]
fn a_pair_at_the_threshold_is_found_and_one_below_it_is_not() {
    for measure in [Measure::Mixed, Measure::Containment] {
        for least in [0.3, 0.46, 0.6, 0.8, 1.0] {
            let verify = verify(measure, least);
            let (bounds, judge) = (Bounds::new(measure, verify.similarity), enough(verify));
            for size in 8..80u32 {
                for a in [size / 2, size / 3 + 1] {
                    let b = size - a;
                    let need = bounds.need(a, b) as u32;
                    for common in [need, need.saturating_sub(1)] {
                        if common > a.min(b) || common == 0 {
                            continue;
                        }
                        let sets = at_the_boundary(a, b, common);
                        let case = Case::new(&sets, u64::MAX);
                        let found = pairs(&case.overlaps(verify, &judge));
                        let is_found = found.iter().any(|pair| (pair.a, pair.b) == (0, 1));
                        assert_eq!(is_found, common == need, "{verify}: {a} {b} {common}");
                        let order: Vec<u32> = (0..sets.len() as u32).collect();
                        let stars = case.overlaps(verify, &judge).stars(&order).unwrap().0;
                        assert_eq!(stars[1].is_some_and(|one| one.keeper == 0), common == need);
                    }
                }
            }
        }
    }
}

#[test]
fn bounds_are_those_of_trying_every_number() {
    for verify in verifies() {
        let bounds = Bounds::new(verify.measure, verify.similarity);
        let enough = |common: u32, a: u32, b: u32| {
            verify.measure.share(common.into(), a.into(), b.into()) >= verify.similarity.get()
        };
        // Beyond the table, too.
        for (a, b) in (1..40).flat_map(|a| [(a, a), (a, 2 * a + 1), (a + 700, a + 431)]) {
            let tried = (0..=a.min(b)).find(|&common| enough(common, a, b));
            let need = bounds.need(a, b);
            assert_eq!(tried, (need <= a.min(b).into()).then_some(need as u32), "{verify} {a} {b}");
        }
        let possible = |a: u32, b: u32| bounds.need(a, b) <= a.min(b).into();
        for a in (1..40).chain([300]) {
            let lightest = (1..=a).find(|&b| possible(a, b));
            if verify.measure != Measure::Containment && verify.similarity.get() > 0.0 {
                assert_eq!(lightest, Some(bounds.lightest_partner(a)), "{verify} {a}");
            }
            for rest in 1..=a {
                let heaviest = (1..600).rev().find(|&b| bounds.need(a, b) <= rest.into());
                let bound = bounds.heaviest_partner(a, rest);
                assert!(heaviest.unwrap_or(0) <= bound, "{verify} {a} {rest}");
                if bound < 599 && heaviest.is_some() {
                    assert_eq!(heaviest, Some(bound), "{verify} {a} {rest}");
                }
            }
        }
    }
}

#[test]
fn every_filter_refuses_something() {
    // Texts that share half of their features with each other, and a few that share most.
    let feature = |seed: u32| seed.wrapping_mul(0x9e37_79b1) ^ seed >> 3;
    let set = |item: u32| {
        let common = (0..60).map(|at| feature((item / 2 % 7 * 1000) + at));
        let own = (0..60).map(|at| feature(1_000_000 + item / 2 * 100 + at));
        let rare = (0..8).map(|at| feature(9_000_000 + item * 8 + at));
        FeatureSet::new(common.chain(own).chain(rare).collect())
    };
    let sets: Vec<FeatureSet> = (0..300).map(set).collect();
    let case = Case::new(&sets, u64::MAX);
    let verify = verify(Measure::Mixed, 0.4);
    let judge = enough(verify);
    let overlaps = case.overlaps(verify, &judge);
    let counters = overlaps.pairs(&|_| Ok(())).unwrap();
    let [candidates, verified] =
        [&counters.candidates, &counters.verified].map(|counter| counter.load(Ordering::Relaxed));
    let alike = pairs(&overlaps).len() as u64;
    assert_eq!(pairs(&overlaps), naive_pairs(overlaps.verify, &sets));
    let all = sets.len() as u64 * (sets.len() as u64 - 1) / 2;
    assert!(candidates < all && verified < candidates && alike <= verified, "{counters:?} {alike}");
    assert!(alike > 0);
}

#[test]
fn many_texts_of_one_template_cost_one_look_up_each() {
    let sets: Vec<FeatureSet> = (0..3000u32)
        .map(|item| {
            let own = (0..3).map(|at| (item * 3 + at + 1000).wrapping_mul(0x9e37_79b1));
            FeatureSet::new((0..60u32).map(|at| at.wrapping_mul(0x85eb_ca6b)).chain(own).collect())
        })
        .collect();
    let case = Case::new(&sets, u64::MAX);
    let order: Vec<u32> = (0..sets.len() as u32).collect();
    let judge = enough(Verify::DEFAULT);
    let (stars, counters) = case.overlaps(Verify::DEFAULT, &judge).stars(&order).unwrap();
    assert!(stars[1..].iter().all(|joined| joined.is_some_and(|joined| joined.keeper == 0)));
    let verified = counters.verified.into_inner();
    assert!(verified < 2 * sets.len() as u64, "{verified}");
}
