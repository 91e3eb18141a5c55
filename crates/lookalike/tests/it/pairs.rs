//! All pairs: every fast way equals the linear one.

use std::sync::OnceLock;

use lookalike::{
    AllPairs, Fingerprint, Radius, Resources,
    hamming::Kernel,
    pairs::{Pair, PairsError, Workspace, all_pairs, linear},
};
use rayon::ThreadPool;

use crate::data::{Rng, Shape};

fn expected<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Vec<Pair> {
    let mut pairs = Vec::new();
    linear::all_pairs(prints, Radius::new(radius), |pair| pairs.push(pair));
    pairs
}

fn found<const WORDS: usize>(options: &AllPairs, prints: &[Fingerprint<WORDS>]) -> Vec<Pair> {
    let answer = options.run(prints).unwrap();
    let mut pairs = Vec::new();
    answer.for_each(|pair| pairs.push(pair));
    assert_eq!(pairs.len() as u64, answer.count());
    pairs
}

#[track_caller]
fn assert_same(found: &[Pair], expected: &[Pair], what: &dyn std::fmt::Debug) {
    if found != expected {
        let missing: Vec<_> =
            expected.iter().filter(|pair| !found.contains(pair)).take(3).collect();
        let extra: Vec<_> = found.iter().filter(|pair| !expected.contains(pair)).take(3).collect();
        let counts = (found.len(), expected.len());
        panic!("{counts:?} found and expected, missing {missing:?}, extra {extra:?}: {what:?}");
    }
}

/// Pools of one and of three threads.
fn pools() -> &'static [ThreadPool; 2] {
    static POOLS: OnceLock<[ThreadPool; 2]> = OnceLock::new();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    POOLS.get_or_init(|| [1, 3].map(pool))
}

/// Memory with whatever the searches before have left in it.
fn workspace() -> &'static Workspace {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    WORKSPACE.get_or_init(Workspace::default)
}

/// Compares the planner's choice and some forced blocks with the oracle: every kernel, one thread
/// and several, in memory and spilled.
fn check<const WORDS: usize>(bits: u32, radius: u32, count: usize, shape: Shape, seed: u64) {
    let prints = shape.make::<WORDS>(count, bits, radius, &mut Rng(seed));
    let expected = expected(&prints, radius);
    let planned = AllPairs::new(Radius::new(radius)).workspace(workspace());
    let blocks = [radius + 1, radius + 2, radius + 4];
    let blocks =
        blocks.iter().take(if radius < 8 { 3 } else { 1 }).filter(|&&blocks| blocks <= bits);
    let forced = blocks.map(|&blocks| planned.clone().blocks(blocks));
    let ways: Vec<AllPairs> = std::iter::once(planned.clone()).chain(forced).collect();
    for (number, way) in ways.iter().enumerate() {
        for kernel in Kernel::available() {
            for pool in pools() {
                let what =
                    (bits, radius, count, shape, seed, kernel, pool.current_num_threads(), number);
                let way = way.clone().resources(Resources::new().kernel(kernel));
                assert_same(&pool.install(|| found(&way, &prints)), &expected, &what);
            }
        }
    }
    let memory = 8 * count as u64;
    let spilled = planned.resources(Resources::new().memory(memory, std::env::temp_dir()));
    assert_same(
        &found(&spilled, &prints),
        &expected,
        &(bits, radius, count, shape, seed, "spilled"),
    );
}

fn check_every_width(radii: &[u32], count: usize, shape: Shape, seed: u64) {
    for &radius in radii {
        if radius <= 32 {
            check::<1>(32, radius, count, shape, seed);
        }
        if radius <= 64 {
            check::<1>(64, radius, count, shape, seed);
        }
        if radius <= 128 {
            check::<2>(128, radius, count, shape, seed);
        }
        check::<4>(256, radius, count, shape, seed);
    }
}

#[test]
fn every_radius_at_small_size_equals_linear_for_every_width_and_shape() {
    let mut radii: Vec<u32> = (0..=32).collect();
    radii.extend([33, 40, 48, 63, 64, 72, 100, 127, 128, 200, 255, 256]);
    for (seed, shape) in (1..).zip(Shape::ALL) {
        check_every_width(&radii, 60, shape, seed);
    }
}

#[test]
fn the_smallest_inputs_equal_linear() {
    for (seed, shape) in (1..).zip(Shape::ALL) {
        for count in [0, 1, 2, 3, 9] {
            check_every_width(&[0, 1, 3, 10, 32], count, shape, seed);
        }
    }
}

#[test]
fn inputs_that_need_splitting_equal_linear_for_every_width_and_shape() {
    for (seed, shape) in (1..).zip(Shape::ALL) {
        let count = if matches!(shape, Shape::AllEqual | Shape::FewBitsVary) { 700 } else { 3_000 };
        check_every_width(&[0, 1, 2, 3, 6], count, shape, 100 + seed);
        check::<4>(256, 31, count, shape, 200 + seed);
    }
}

#[test]
fn large_inputs_equal_linear() {
    for seed in 1..=2 {
        check::<1>(64, 3, 30_000, Shape::Random, seed);
        check::<1>(32, 2, 20_000, Shape::Random, seed);
        check::<2>(128, 10, 20_000, Shape::Clustered, seed);
        check::<1>(64, 3, 20_000, Shape::Biased, seed);
    }
}

#[test]
fn a_wide_radius_over_many_items_is_scanned_and_equals_linear() {
    check::<2>(128, 32, 3_000, Shape::Clustered, 1);
    check::<1>(64, 20, 3_000, Shape::Random, 2);
    let prints = Shape::Random.make::<2>(5_000, 128, 32, &mut Rng(3));
    let plan = AllPairs::new(Radius::new(32)).plan(&prints).unwrap();
    assert_eq!(plan.to_string().split(';').next(), Some("exhaustive scan"));
}

mod laws {
    use super::*;

    fn pairs<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Vec<Pair> {
        let mut pairs = Vec::new();
        all_pairs(prints, Radius::new(radius), |pair| pairs.push(pair)).unwrap();
        pairs
    }

    fn made(seed: u64) -> Vec<Fingerprint<1>> {
        let mut rng = Rng(seed);
        let mut prints = Shape::Random.make(6_000, 64, 4, &mut rng);
        prints.extend(Shape::Clustered.make::<1>(1_000, 64, 4, &mut rng));
        prints
    }

    #[test]
    fn xoring_a_mask_changes_no_answer() {
        for seed in 1..=4 {
            let prints = made(seed);
            let masked: Vec<_> = prints
                .iter()
                .map(|print| print.xor(&Fingerprint([0xdead_beef_0bad_f00d])))
                .collect();
            assert_eq!(pairs(&prints, 4), pairs(&masked, 4));
        }
    }

    #[test]
    fn permuting_bits_changes_no_answer() {
        for seed in 1..=4 {
            let mut rng = Rng(seed);
            let mut to: Vec<u32> = (0..64).collect();
            (1..64).rev().for_each(|last| to.swap(last, rng.below(last + 1)));
            let permute = |print: &Fingerprint<1>| {
                let moved =
                    (0..64).filter(|&bit| print.bit(bit)).map(|bit| 1u64 << to[bit as usize]);
                Fingerprint([moved.fold(0, |word, bit| word | bit)])
            };
            let prints = made(seed);
            let permuted: Vec<_> = prints.iter().map(permute).collect();
            assert_eq!(pairs(&prints, 4), pairs(&permuted, 4));
        }
    }

    #[test]
    fn reversing_the_input_only_renames_items() {
        for seed in 1..=4 {
            let prints = made(seed);
            let reversed: Vec<_> = prints.iter().rev().copied().collect();
            let last = prints.len() as u32 - 1;
            let mut renamed: Vec<Pair> = pairs(&reversed, 4)
                .into_iter()
                .map(|pair| Pair { a: last - pair.b, b: last - pair.a, distance: pair.distance })
                .collect();
            renamed.sort_unstable();
            assert_eq!(pairs(&prints, 4), renamed);
        }
    }

    #[test]
    fn pairs_of_a_part_are_the_pairs_of_the_whole_that_lie_in_it() {
        for seed in 1..=4 {
            let prints = made(seed);
            let cut = prints.len() / 3;
            let whole = pairs(&prints, 4);
            let inside: Vec<Pair> =
                whole.iter().copied().filter(|pair| pair.b < cut as u32).collect();
            assert_eq!(pairs(&prints[..cut], 4), inside);
        }
    }

    #[test]
    fn a_wider_radius_keeps_all_the_pairs_of_a_narrower_one() {
        let prints = made(9);
        let wide = pairs(&prints, 8);
        for radius in 0..8 {
            let inside: Vec<Pair> =
                wide.iter().copied().filter(|pair| pair.distance <= radius).collect();
            assert_eq!(pairs(&prints, radius), inside);
        }
    }
}

mod equal {
    use super::*;

    #[test]
    fn a_million_equal_fingerprints_are_one_group_and_no_near_pair() {
        for radius in [0, 3, 40] {
            let prints = vec![Fingerprint::<1>([0x1234_5678_9abc_def0]); 1_000_000];
            let answer = AllPairs::new(Radius::new(radius)).run(&prints).unwrap();
            let groups: Vec<&[u32]> = answer.equal_groups().collect();
            assert_eq!(groups.len(), 1);
            assert!(groups[0].iter().copied().eq(0..1_000_000));
            assert!(answer.near().is_empty());
            assert_eq!(answer.count(), 1_000_000 * 999_999 / 2);
        }
    }

    #[test]
    fn near_pairs_stand_by_the_first_item_of_each_group() {
        let [x, y] = [Fingerprint([0b0111u64]), Fingerprint([0b0001])];
        let answer = AllPairs::new(Radius::new(2)).run(&[x, y, x, y, x]).unwrap();
        assert_eq!(answer.near(), [Pair { a: 0, b: 1, distance: 2 }]);
        assert_eq!(answer.equal_groups().collect::<Vec<_>>(), [&[0, 2, 4][..], &[1, 3]]);
        assert_eq!(answer.count(), 10);
    }

    #[test]
    fn large_groups_near_each_other_stay_linear_and_equal_linear_when_expanded() {
        let mut rng = Rng(5);
        let centre: Fingerprint<1> = rng.print();
        let copies = (0..4).flat_map(|bit| vec![centre.xor(&Fingerprint([1 << (9 * bit)])); 300]);
        let prints: Vec<_> = copies.chain(Shape::Random.make(2_000, 64, 3, &mut rng)).collect();
        let answer = AllPairs::new(Radius::new(3)).run(&prints).unwrap();
        assert!(answer.near().len() < 500);
        assert_same(
            &found(&AllPairs::new(Radius::new(3)), &prints),
            &expected(&prints, 3),
            &"copies",
        );
    }
}

mod refused {
    use super::*;

    fn refused(options: &AllPairs) -> String {
        options.run(&[Fingerprint([1u64])]).unwrap_err().to_string()
    }

    #[test]
    fn blocks_that_do_not_exceed_the_radius_or_exceed_the_bits() {
        let options = AllPairs::new(Radius::new(3));
        assert_eq!(
            refused(&options.clone().blocks(3)),
            "3 blocks cannot find pairs within 3 of 64 bits; use 4 to 64"
        );
        assert!(matches!(
            options.blocks(65).run(&[Fingerprint([1u64])]),
            Err(PairsError::Blocks { .. })
        ));
    }

    #[test]
    fn a_radius_wider_than_the_fingerprint() {
        assert_eq!(
            refused(&AllPairs::new(Radius::new(65))),
            "a radius of 65 is wider than the 64 bits of a fingerprint"
        );
    }

    #[test]
    fn a_spill_folder_that_is_not_there() {
        let options =
            AllPairs::new(Radius::new(3)).resources(Resources::new().memory(1, "no/such/folder"));
        let message = refused(&options);
        assert!(
            message.starts_with("making a temporary file in no/such/folder failed"),
            "{message}"
        );
    }
}
