//! All pairs: every fast way equals the linear one.

use lookalike::{AllPairs, Fingerprint, Kernel, Pair, Radius, pairs::linear};

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

fn assert_same(found: &[Pair], expected: &[Pair], what: &dyn std::fmt::Debug) {
    if found != expected {
        let missing: Vec<_> =
            expected.iter().filter(|pair| !found.contains(pair)).take(3).collect();
        let extra: Vec<_> = found.iter().filter(|pair| !expected.contains(pair)).take(3).collect();
        panic!(
            "{} found, {} expected, missing {missing:?}, extra {extra:?}: {what:?}",
            found.len(),
            expected.len()
        );
    }
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Compares the planner's choice and some forced blocks with the oracle, on every kernel.
fn check<const WORDS: usize>(bits: u32, radius: u32, count: usize, shape: Shape, seed: u64) {
    let prints = shape.make::<WORDS>(count, bits, radius, &mut Rng(seed));
    let expected = expected(&prints, radius);
    for kernel in Kernel::available() {
        for threads in [1, 3] {
            let options = AllPairs::new(Radius::new(radius)).kernel(kernel);
            let what = (bits, radius, count, shape, seed, kernel, threads);
            assert_same(&in_pool(threads, || found(&options, &prints)), &expected, &what);
            for more in if radius < 8 { 1..4 } else { 1..2 } {
                let blocks = radius + more;
                if blocks <= bits {
                    let options = options.clone().blocks(blocks);
                    assert_same(
                        &in_pool(threads, || found(&options, &prints)),
                        &expected,
                        &(what, blocks),
                    );
                }
            }
        }
    }
}

#[test]
fn every_radius_at_small_size_equals_linear_for_every_width_and_shape() {
    let mut seed = 1;
    for shape in Shape::ALL {
        for count in [0, 1, 2, 3, 17, 130] {
            seed += 1;
            for radius in (0..=12).chain([16, 20, 31, 32, 33, 64]) {
                if radius <= 32 {
                    check::<1>(32, radius, count, shape, seed);
                }
                check::<1>(64, radius, count, shape, seed);
            }
            for radius in [0, 1, 2, 3, 7, 10, 31, 32, 33, 64, 127, 128] {
                check::<2>(128, radius, count, shape, seed);
            }
            for radius in [0, 1, 3, 8, 31, 48, 72, 255, 256] {
                check::<4>(256, radius, count, shape, seed);
            }
        }
    }
}
