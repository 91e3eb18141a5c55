use super::*;
use crate::{
    PicturePreset,
    extract::image::{Orientation, Picture, Pixels},
};

/// A picture of its own for every seed: a few waves.
fn waves(seed: u32, width: usize, height: usize) -> Pixels {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 65_536.0
    };
    let waves: Vec<[f32; 4]> =
        (0..90).map(|_| [8.0 * next(), 16.0 * next() - 8.0, 6.3 * next(), 9.0]).collect();
    let bytes = (0..width * height).map(|at| {
        let (x, y) = ((at % width) as f32 / width as f32, (at / width) as f32 / height as f32);
        let sum: f32 =
            waves.iter().map(|w| (6.3 * (w[0] * x + w[1] * y) + w[2]).sin() * w[3]).sum();
        (128.0 + sum).clamp(0.0, 255.0) as u8
    });
    Pixels::gray(width, height, bytes.collect()).unwrap()
}

fn found(search: &PictureSearch<'_>, pictures: &[Pixels]) -> Vec<(u32, u32, u32)> {
    let mut collector = search.collector();
    for (number, pixels) in pictures.iter().enumerate() {
        let picture = Picture::of_pixels(pixels.clone());
        collector.push(search.digest_picture(&picture, &number.to_le_bytes())).unwrap();
    }
    let pairs = collector.finish().unwrap().pairs.to_vec().unwrap();
    pairs.iter().map(|pair| (pair.a, pair.b, pair.distance)).collect()
}

fn search() -> PictureSearch<'static> {
    let preset = &PicturePreset::ALL[0];
    PictureSearch::new(&preset.recipe, preset.radius())
}

#[test]
fn a_smaller_copy_is_found_and_a_stranger_is_not() {
    let pictures = [waves(1, 300, 200), waves(2, 300, 200), waves(1, 150, 100)];
    let pairs = found(&search(), &pictures);
    assert_eq!(pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(), [(0, 2)]);
}

#[test]
fn turned_copies_are_found_only_if_asked_for() {
    for orientation in &Orientation::ALL[1..] {
        let pictures =
            [waves(3, 256, 192), waves(4, 256, 192), waves(3, 256, 192).turned(*orientation)];
        assert_eq!(found(&search(), &pictures), []);
        let pairs = found(&search().orientations(true), &pictures);
        assert_eq!(
            pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(),
            [(0, 2)],
            "{}",
            orientation.name()
        );
    }
}

#[test]
fn flat_pictures_are_alike_only_the_same_bytes() {
    let search = search();
    let flat = Picture::of_pixels(Pixels::gray(64, 64, vec![200; 64 * 64]).unwrap());
    let mut collector = search.collector();
    for content in ["one", "two", "one"] {
        collector.push(search.digest_picture(&flat, content.as_bytes())).unwrap();
    }
    let found = collector.finish().unwrap();
    let pairs = found.pairs.to_vec().unwrap();
    assert_eq!((found.flat, pairs.len()), (3, 1));
    assert_eq!((pairs[0].a, pairs[0].b, pairs[0].distance), (0, 2, 0));
}
