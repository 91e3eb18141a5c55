//! Every way to find pairs, compared with exhaustive comparison.

use proptest::prelude::*;

use super::{
    AllPairs, Workspace,
    find::{find, find_distinct},
    join::{FoundPairs, Join},
    linear,
    plan::{Sample, choose},
};
use crate::{
    Criteria, Fingerprint, Kind as _, Radius, Resources, Search, Width,
    cover::{BitOrder, Cover, Cut},
    digest::Digests,
    groups,
    hamming::Kernel,
    kind::hash::HashKind,
};

/// Fingerprints of which some are near, and some share keys: `spread` random bits each, the rest as
/// in one of a few `centres`, and every third a changed copy of an earlier one.
fn prints<const WORDS: usize>(
    items: usize,
    spread: u32,
    centres: u64,
    seed: u64,
) -> Vec<Fingerprint<WORDS>> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    let mut all: Vec<Fingerprint<WORDS>> = Vec::with_capacity(items);
    for item in 0..items {
        let mut print = if item > 0 && next() % 3 == 0 {
            all[(next() % item as u64) as usize]
        } else {
            let centre = next() % centres;
            Fingerprint(std::array::from_fn(|word| {
                (centre + word as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
            }))
        };
        let turned = if item % 3 == 0 { spread } else { (next() % 5) as u32 };
        for _ in 0..turned {
            let bit = next() % (64 * WORDS as u64);
            print.0[bit as usize / 64] ^= 1 << (bit % 64);
        }
        all.push(print);
    }
    all
}

/// All pairs, equal ones included, as [`FoundPairs`] lists them.
fn listed(found: FoundPairs) -> Vec<(u32, u32)> {
    let groups = crate::equal::EqualGroups::new(found.equal);
    let copies = groups.copies();
    let mut pairs: Vec<(u32, u32)> = found
        .near
        .iter()
        .map(|pair| (pair.a, pair.b))
        .filter(|(a, b)| copies.find(*a).is_none() && copies.find(*b).is_none())
        .collect();
    pairs.extend(groups.iter().flat_map(|group| group[1..].iter().map(|&copy| (group[0], copy))));
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The same by exhaustive comparison.
fn expected<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Vec<(u32, u32)> {
    let mut found = FoundPairs::default();
    linear::all_pairs(prints, Radius::new(radius), |pair| match pair.distance {
        0 => found.equal.push((pair.a, pair.b)),
        _ => found.near.push(pair),
    });
    listed(found)
}

/// Near-identical fingerprints, as many as get a plan of their own, among random ones.
fn check_near_identical<const WORDS: usize>(turned: u32, radius: u32) {
    let mut prints: Vec<Fingerprint<WORDS>> = prints(700, 64 * WORDS as u32, 9, 1);
    let mut next = turned;
    for item in 0..1_400 {
        let mut print = prints[0];
        for _ in 0..turned {
            next = next.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let bit = (next >> 8) as usize % (64 * WORDS);
            print.0[bit / 64] ^= 1 << (bit % 64);
        }
        prints.insert(item * 3 / 2, print);
    }
    let expected = expected(&prints, radius);
    let workspace = Workspace::default();
    for kernel in Kernel::available() {
        let strategy = choose(&Sample::of(&prints), radius);
        let found = find(&prints, &strategy, radius, kernel, &workspace, &|_| {});
        assert_eq!(listed(found), expected, "{kernel:?}, {turned} turned, radius {radius}");
        let distinct = without_copies(&prints);
        let near = find_distinct(&distinct, radius, kernel, 0);
        let found = listed(FoundPairs { near, ..FoundPairs::default() });
        assert_eq!(found, self::expected(&distinct, radius), "{kernel:?}, {turned} {radius}");
    }
}

fn without_copies<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Vec<Fingerprint<WORDS>> {
    let mut distinct = prints.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

#[test]
fn near_identical_fingerprints_have_the_pairs_of_exhaustive_comparison() {
    for (turned, radius) in [(2, 2), (3, 6), (4, 3), (4, 10), (9, 10)] {
        check_near_identical::<1>(turned, radius);
        check_near_identical::<2>(turned, radius);
        check_near_identical::<4>(turned, radius);
    }
}

fn check_join<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32, stretch_bits: u32) {
    let order = BitOrder::contiguous((0..64 * WORDS as u32).collect());
    let expected = expected(prints, radius);
    let workspace = Workspace::default();
    let kernels = Kernel::available().into_iter();
    let shapes = [(1, Cut::Once { picked: 2 }), (2, Cut::Once { picked: 2 }), (2, Cut::Twice)];
    for (kernel, (lanes, cut)) in kernels.flat_map(|kernel| shapes.map(|shape| (kernel, shape))) {
        let cover = Cover::new(&order, radius, lanes.min(radius + 1), cut);
        for at_once in [prints.len(), prints.len() / 5] {
            let join = Join::new(prints, &cover, radius, kernel, &workspace);
            let found = listed(Join { stretch_bits, at_once, ..join }.run());
            assert_eq!(found, expected, "{kernel:?}, {lanes} lanes, {cut:?}, {at_once} at once");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn records_of_stretches_find_the_pairs_of_exhaustive_comparison(
        items in 0usize..1500, spread in 0u32..40, centres in 1u64..40, seed: u64,
        radius in 0u32..6, stretch_bits in 0u32..7,
    ) {
        check_join::<1>(&prints(items, spread, centres, seed), radius, stretch_bits);
        check_join::<2>(&prints(items, spread, centres, seed), radius + 3, stretch_bits);
    }
}

#[test]
fn as_many_blocks_as_bits_find_the_same_pairs() {
    let prints: Vec<Fingerprint<4>> = prints(1200, 30, 5, 7);
    let order = BitOrder::contiguous((0..256).collect());
    for (radius, picked) in [(3, 253), (31, 225), (31, 9), (0, 256)] {
        let cover = &Cover::new(&order, radius, 1, Cut::Once { picked });
        let workspace = Workspace::default();
        let join = Join::new(&prints, cover, radius, Kernel::detect(), &workspace);
        assert_eq!(listed(join.run()), expected(&prints, radius), "{radius} {picked}");
    }
}

#[test]
fn copies_in_one_stretch_are_distinguished() {
    let prints: Vec<_> =
        (0..9000u64).map(|item| Fingerprint([(item / 7 % 1300) << 9, item % 2])).collect();
    check_join::<2>(&prints, 1, 4);
}

#[test]
fn large_buckets_among_very_many_records_are_finished_one_by_one() {
    // All share the bits that choose the partition of the second lane, where 400 buckets are of 167.
    let prints: Vec<_> =
        (0..66_500u64).map(|item| Fingerprint([(item / 400) | ((item % 400) << 37)])).collect();
    check_join::<1>(&prints, 1, 0);
}

proptest! {
    #[test]
    fn keepers_are_those_of_all_pairs(
        bits in proptest::collection::vec(0u64..1024, 0..80),
        radius in 0u32..4,
        own in 0usize..80,
        is_last in any::<bool>(),
    ) {
        let prints: Vec<Fingerprint<1>> = bits.into_iter().map(|bits| Fingerprint([bits])).collect();
        let kind = HashKind::new(Width::Bits64);
        let by = Criteria { distance: Some(Radius::new(radius)), ..Criteria::default() };
        let resources = Resources::new();
        let search = Search::new(&kind, &by, &resources);
        let mut digests = Digests::new(kind.shape(), &resources);
        digests.push_prints(&prints, &resources).unwrap();
        digests.seal().unwrap();
        let pairs = crate::alike::AlikePairs::from(&AllPairs::new(Radius::new(radius)).run(&prints).unwrap());
        prop_assert_eq!(&search.pairs(&digests).unwrap().pairs, &pairs);
        let mut order: Vec<u32> = (0..prints.len() as u32).collect();
        if is_last {
            order.reverse();
        }
        let expected = groups::star(prints.len(), &order, &pairs).unwrap();
        prop_assert_eq!(search.stars(&digests, &order).unwrap().groups, expected);
        let own = own.min(prints.len());
        let order: Vec<u32> = (own as u32..prints.len() as u32).chain(0..own as u32).collect();
        let crossing = pairs.crossing(own).unwrap();
        let expected = groups::star(prints.len(), &order, &crossing).unwrap();
        prop_assert_eq!(search.against(&digests, own).unwrap().groups, expected);
    }
}
