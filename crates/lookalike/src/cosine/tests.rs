//! Compares the filter with all pairs in plain integers, and every kernel with the portable one.

use std::{collections::BTreeSet, convert::Infallible, sync::Mutex};

use super::{
    codes::{Bound, PANEL, PanelBounds, PanelCodes, Panels, code, codes_at, write_coordinates},
    filter::{Columns, Test, Tile},
    join::count_among,
    vector::shown,
    *,
};
use crate::hamming::Kernel;

/// Random numbers from -1 to 1; the same seed gives the same numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() + 1.0) / 2.0 * end as f64) as usize % end
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f64> {
        (0..dimensions).map(|_| self.next()).collect()
    }
}

const SHAPES: [&str; 5] = ["random", "clustered", "one-hot", "outlier", "anisotropic"];

/// Vectors of one shape. About half of them are near an earlier one, at various distances.
fn vectors(shape: &str, count: usize, dimensions: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut noise = Noise(seed | 1);
    let centres: Vec<_> = (0..5).map(|_| noise.vector(dimensions)).collect();
    let mean = noise.vector(dimensions);
    let mut all: Vec<Vec<f64>> = Vec::new();
    while all.len() < count {
        let mut one = noise.vector(dimensions);
        match shape {
            "clustered" => {
                let centre = &centres[noise.below(centres.len())];
                one.iter_mut()
                    .zip(centre)
                    .for_each(|(value, centre)| *value = 0.4 * *value + centre);
            }
            "one-hot" => {
                let hot = noise.below(dimensions);
                let rest = if noise.next() < 0.0 { 0.0 } else { 1e-3 };
                one.iter_mut().for_each(|value| *value *= rest);
                one[hot] = if noise.next() < -0.8 { -1.0 } else { 1.0 };
            }
            "outlier" => one[0] += 8.0,
            "anisotropic" => {
                one.iter_mut().zip(&mean).for_each(|(value, mean)| *value += 2.0 * mean);
            }
            _ => {}
        }
        if !all.is_empty() && noise.next() < 0.0 {
            let (near, far) = (noise.below(all.len()), noise.next().abs());
            let earlier = all[near].clone();
            one.iter_mut().zip(earlier).for_each(|(value, near)| *value = far * *value + near);
        }
        if one.iter().any(|value| *value != 0.0) {
            all.push(one);
        }
    }
    all.iter().map(|numbers| bytes_of(numbers)).collect()
}

fn bytes_of(numbers: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Vector::write(numbers, &mut bytes).unwrap();
    bytes
}

/// The pairs at each threshold, in plain integers.
fn oracles<const N: usize>(vectors: &[Vec<u8>], least: [u32; N]) -> [BTreeSet<(u32, u32)>; N] {
    let vector = |bytes: &Vec<u8>| -> Vec<i64> {
        let values = Vector::read(bytes).unwrap().values();
        values.iter().map(|bytes| i64::from(i16::from_le_bytes(*bytes))).collect()
    };
    let vectors: Vec<Vec<i64>> = vectors.iter().map(vector).collect();
    let dot =
        |a: &[i64], b: &[i64]| -> i128 { a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>().into() };
    let mut pairs = [const { BTreeSet::new() }; N];
    for b in 0..vectors.len() {
        for a in 0..b {
            let (one, two) = (&vectors[a], &vectors[b]);
            let product = dot(one, two);
            let norms = dot(one, one) * dot(two, two);
            for (least, pairs) in least.iter().map(|&least| i128::from(least)).zip(&mut pairs) {
                if product > 0 && product * product * 1_000_000_000_000 >= least * least * norms {
                    pairs.insert((a as u32, b as u32));
                }
            }
        }
    }
    pairs
}

/// All candidates of a filter, and those that are verified.
fn found(
    vectors: &[Vec<u8>],
    filter: &Filter,
    least: u32,
    kernel: Kernel,
) -> [BTreeSet<(u32, u32)>; 2] {
    let at = |number: usize| Vector::read(&vectors[number]).unwrap();
    let codes = filter.codes(vectors.len(), &at, kernel);
    let candidates = Mutex::new(Vec::new());
    let take = |some: &[(u32, u32)]| {
        candidates.lock().unwrap().extend_from_slice(some);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = among(&codes, filter.threshold(), kernel, &take, &|_| {});
    let candidates = candidates.into_inner().unwrap();
    let all: BTreeSet<_> = candidates.iter().copied().collect();
    assert_eq!(all.len(), candidates.len(), "a pair was found twice");
    let is_near =
        |&&(a, b): &&(u32, u32)| at(a as usize).cosine(&at(b as usize), least, kernel).is_some();
    let near = all.iter().filter(is_near).copied().collect();
    [all, near]
}

#[test]
fn no_kernel_and_no_number_of_coordinates_loses_a_pair() {
    let sizes = [
        (2, 150),
        (3, 90),
        (7, 90),
        (31, 90),
        (64, 130),
        (100, 90),
        (384, 90),
        (1024, 60),
        (4096, 40),
    ];
    for (dimensions, count) in sizes {
        for shape in SHAPES {
            let vectors = vectors(shape, count, dimensions, 77 + dimensions as u64);
            let at = |number: usize| Vector::read(&vectors[number]).unwrap();
            let leasts = [0.05, 0.8, 0.9, 0.99, 1.0].map(least);
            for (least, expected) in leasts.into_iter().zip(oracles(&vectors, leasts)) {
                let pairs = (count * count) as f64;
                let planned = Filter::new(count, &at, pairs, least, Kernel::Portable);
                let mut filters = vec![planned, Filter::whole(dimensions, least)];
                for depth in [4, 16].into_iter().filter(|&depth| depth * 4 <= dimensions * 3) {
                    filters.push(Filter::of_depth(&vectors_at(&vectors), depth, least));
                }
                for filter in &filters {
                    let first = found(&vectors, filter, least, Kernel::Portable);
                    let at = format!("{shape}, {dimensions}, {least}, {}", filter.plan());
                    assert_eq!(first[1], expected, "{at}");
                    for kernel in &Kernel::available()[1..] {
                        assert_eq!(
                            found(&vectors, filter, least, *kernel),
                            first,
                            "{at}, {kernel:?}"
                        );
                    }
                }
            }
        }
    }
}

fn vectors_at(vectors: &[Vec<u8>]) -> Vec<Vector<'_>> {
    vectors.iter().map(|bytes| Vector::read(bytes).unwrap()).collect()
}

#[test]
fn few_coordinates_of_vectors_with_a_structure_refuse_most_pairs() {
    let vectors = vectors("clustered", 400, 384, 5);
    let [first, near] = found(
        &vectors,
        &Filter::of_depth(&vectors_at(&vectors), 16, least(0.95)),
        least(0.95),
        Kernel::detect(),
    );
    let pairs = 400 * 399 / 2;
    assert!(first.len() < near.len() + pairs / 4, "{} of {pairs}, {}", first.len(), near.len());
}

#[test]
fn the_bound_is_never_below_the_cosine() {
    for shape in SHAPES {
        for dimensions in [2, 9, 64, 300] {
            let vectors = vectors(shape, 60, dimensions, 3);
            let at = |number: usize| Vector::read(&vectors[number]).unwrap();
            for filter in [
                Filter::whole(dimensions, 0),
                Filter::of_depth(&vectors_at(&vectors), dimensions.min(8), 0),
            ] {
                let codes = filter.codes(vectors.len(), &at, Kernel::Portable);
                for a in 0..vectors.len() {
                    for b in 0..a {
                        let ((one, of_one), (two, of_two)) = (codes.row(a), codes.row(b));
                        let sum: i32 =
                            one.iter().zip(two).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                        let product = |part: fn(&Bound) -> f32| {
                            f64::from(part(&of_one)) * f64::from(part(&of_two))
                        };
                        let bound = f64::from(sum) * product(|bound| bound.scale)
                            + product(|bound| bound.rest)
                            + f64::from(of_one.error)
                            + f64::from(of_two.error);
                        let cosine = at(a).cosine(&at(b), 0, Kernel::Portable).unwrap();
                        // Negative cosines are shown as zero.
                        let is_bounded = cosine == 0 || bound + 1e-6 >= f64::from(shown(cosine));
                        assert!(is_bounded, "{shape} {dimensions}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_pair_between_two_lists_is_found() {
    let vectors = vectors("clustered", 130, 50, 9);
    let at = |number: usize| Vector::read(&vectors[number]).unwrap();
    let least = least(0.9);
    let filter = Filter::whole(50, least);
    let (rows, columns) = (50, 80);
    for kernel in Kernel::available() {
        let codes = filter.codes(rows, &at, kernel);
        let others = Columns::of(&filter.codes(columns, &|number| at(rows + number), kernel));
        let pairs = Mutex::new(BTreeSet::new());
        let take = |some: &[(u32, u32)]| {
            for &(row, column) in some {
                let (a, b) = (row, rows as u32 + column);
                if at(a as usize).cosine(&at(b as usize), least, kernel).is_some() {
                    assert!(pairs.lock().unwrap().insert((a, b)), "a pair was found twice");
                }
            }
            Ok::<(), Infallible>(())
        };
        let Ok(()) = between(&codes, others.panels(), filter.threshold(), kernel, &take);
        let [mut expected] = oracles(&vectors, [least]);
        expected.retain(|&(a, b)| (a as usize) < rows && b as usize >= rows);
        assert_eq!(pairs.into_inner().unwrap(), expected);
        assert!(!expected.is_empty());
    }
}

#[test]
fn every_kernel_passes_what_the_portable_one_passes() {
    let mut noise = Noise(1);
    for depth in [4, 16, 20, 64, 500] {
        let numbers = |noise: &mut Noise| -> Vec<f64> { noise.vector(depth) };
        let mut codes = Vec::new();
        let mut columns = PanelCodes::new(depth);
        let mut bounds = Vec::new();
        for _ in 0..PANEL {
            let mut one = vec![0; depth];
            bounds.push(code(&numbers(&mut noise), &mut one));
            columns.push(&one);
            codes.push(one);
        }
        // The codes with the largest absolute values.
        let mut panels = columns.into_codes();
        for (at, code) in panels.iter_mut().enumerate().take(8 * depth) {
            *code = if at % 3 == 0 { 1 } else { 255 };
        }
        let bounds = PanelBounds::new(&bounds);
        let panels = Panels { depth, codes: &panels, bounds: &bounds };
        let bytes: Vec<_> = (0..13).map(|_| bytes_of(&numbers(&mut noise))).collect();
        let rows =
            Codes::of(13, &|number| Vector::read(&bytes[number]).unwrap(), None, Kernel::Portable);
        let mut tile = Tile::default();
        for first in [0, 12] {
            for least in [-0.9, 0.0, 0.1, 0.3, 2.0] {
                tile.take(&rows, first, least);
                let expected = Test::of(Kernel::Portable).passed(&tile, panels.at(0));
                for kernel in Kernel::available() {
                    let passed = Test::of(kernel).passed(&tile, panels.at(0));
                    assert_eq!(passed, expected, "{depth}, {first}, {least}, {kernel:?}");
                }
            }
        }
    }
}

#[test]
fn every_kernel_adds_the_largest_products_exactly() {
    for length in [2, 15, 16, 17, 384, MAX_DIMENSIONS] {
        let largest = vec![i16::MAX.to_le_bytes(); length];
        let smallest = vec![(-i16::MAX).to_le_bytes(); length];
        for kernel in Kernel::available() {
            let product = i64::from(i16::MAX).pow(2) * length as i64;
            assert_eq!(dot(&largest, &largest, kernel), product);
            assert_eq!(dot(&smallest, &smallest, kernel), product);
            assert_eq!(dot(&largest, &smallest, kernel), -product);
        }
    }
}

#[test]
fn cosines_are_within_4e_5_of_those_of_the_numbers() {
    let mut noise = Noise(8);
    for dimensions in [2, 16, 384, 4096] {
        for _ in 0..200 {
            let one = noise.vector(dimensions);
            let far = noise.next().abs();
            let two: Vec<f64> = one.iter().map(|value| value + far * noise.next()).collect();
            let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
            let exact = dot(&one, &two) / (dot(&one, &one) * dot(&two, &two)).sqrt();
            let (a, b) = (bytes_of(&one), bytes_of(&two));
            let (a, b) = (Vector::read(&a).unwrap(), Vector::read(&b).unwrap());
            let cosine = f64::from(a.cosine(&b, 0, Kernel::detect()).unwrap()) / 1e6;
            assert!((cosine - exact.max(0.0)).abs() < 4e-5, "{dimensions}: {cosine}, {exact}");
        }
    }
}

#[test]
fn a_verdict_follows_from_the_figure() {
    let vectors = vectors("clustered", 60, 24, 4);
    let all = vectors_at(&vectors);
    for similarity in [0.0, 0.3, 0.7123, 0.9, 0.900_000_4, 0.99, 1.0_f32] {
        let least = least(similarity);
        for (a, b) in all.iter().zip(&all[1..]) {
            let figure = shown(a.cosine(b, 0, Kernel::Portable).unwrap());
            let verdict = a.cosine(b, least, Kernel::Portable);
            assert_eq!(verdict.is_some(), figure >= similarity);
            assert!(verdict.is_none_or(|cosine| shown(cosine) == figure));
        }
    }
    assert_eq!((least(0.9), least(0.0), least(1.0)), (900_000, 0, ONE));
}

#[test]
fn scale_does_not_matter_and_extreme_numbers_are_read() {
    let numbers = [0.5, -0.25, 3e-9, -0.0, 1.0];
    let expected = bytes_of(&numbers);
    for factor in [1e-3, 2f64.powi(1000), 2f64.powi(-1022), 7.0, 1.7e308] {
        let scaled: Vec<f64> = numbers.iter().map(|number| number * factor).collect();
        let values =
            |bytes: &[u8]| -> Vec<[u8; 2]> { Vector::read(bytes).unwrap().values().to_vec() };
        assert_eq!(values(&bytes_of(&scaled)), values(&expected), "{factor}");
    }
    let tiny = f64::from_bits(1);
    assert_eq!(bytes_of(&[tiny, -tiny]), bytes_of(&[1.0, -1.0]));
    let equal = Vector::read(&expected).unwrap();
    assert_eq!(equal.cosine(&equal, ONE, Kernel::Portable), Some(ONE));
}

#[test]
fn numbers_without_a_direction_are_refused() {
    let flaw = |numbers: &[f64]| Vector::write(numbers, &mut Vec::new()).unwrap_err();
    assert_eq!(flaw(&[]), Flaw::TooFew(0));
    assert_eq!(flaw(&[1.0]), Flaw::TooFew(1));
    assert_eq!(flaw(&vec![1.0; MAX_DIMENSIONS + 1]), Flaw::TooMany(MAX_DIMENSIONS + 1));
    assert_eq!(flaw(&[0.0, -0.0]), Flaw::Zero);
    assert_eq!(flaw(&[0.0, f64::NAN, f64::INFINITY]), Flaw::NotFinite(1));
    assert_eq!(flaw(&[f64::NEG_INFINITY, 0.0]), Flaw::NotFinite(0));
}

#[test]
fn codes_are_read_back_from_panels() {
    let vectors = vectors("random", 70, 10, 2);
    let codes =
        Filter::whole(10, 0).codes(70, &|at| Vector::read(&vectors[at]).unwrap(), Kernel::detect());
    let (panels, mut one) = (codes.panels().into_codes(), Vec::new());
    for number in 0..70 {
        codes_at(&panels, codes.depth(), number, &mut one);
        assert_eq!(one, codes.row(number).0);
    }
    assert_eq!(count_among(&Codes::default(), 0.5, Kernel::detect()), 0);
    let mut coordinates = Vec::new();
    write_coordinates(
        &Vector::read(&vectors[0]).unwrap(),
        None,
        Kernel::Portable,
        &mut coordinates,
    );
    assert!((coordinates.iter().map(|at| at * at).sum::<f64>() - 1.0).abs() < 1e-12);
}
