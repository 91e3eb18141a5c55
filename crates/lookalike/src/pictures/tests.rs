use super::*;
use crate::{
    Fingerprint, PicturePreset,
    extract::image::{Orientation, Picture, Pixels},
};

/// A picture of its own for every seed: a few waves.
pub(super) fn waves(seed: u32, width: usize, height: usize) -> Pixels {
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
        let one = waves(3, 640, 480);
        let pictures = [one.clone(), waves(4, 640, 480), one.turned(*orientation)];
        // The frame is not sampled symmetrically: of waves as short as these, that moves some bits.
        let search = PictureSearch::new(&PicturePreset::ALL[0].recipe, Radius::new(60));
        assert_eq!(found(&search, &pictures), []);
        let pairs = found(&search.orientations(true), &pictures);
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

pub(super) fn scrambled(number: u64) -> u64 {
    let mut bits = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// The pictures of `vectors/pictures.tsv`, as `make_pictures.py` makes them.
fn made(seed: u64, width: i64, height: i64, channels: u64) -> Pixels {
    let value = |x: i64, y: i64, channel: u64| {
        let wave = |wave: u64| {
            let bits = scrambled(seed * 1000 + channel * 100 + wave) as i64;
            let (across, down) = (bits & 7, (bits >> 8 & 15) - 8);
            let place = (x * across * 1024).div_euclid(width)
                + (y * down * 1024).div_euclid(height)
                + (bits >> 16 & 1023);
            (bits >> 32 & 31) * ((place.rem_euclid(1024) - 512).abs() - 256)
        };
        (128 + (0..60).map(wave).sum::<i64>().div_euclid(512)).clamp(0, 255) as u8
    };
    let bytes = (0..width * height * channels as i64).map(|at| {
        let (pixel, channel) = (at / channels as i64, at % channels as i64);
        value(pixel % width, pixel / width, channel as u64)
    });
    let (width, height) = (width as usize, height as usize);
    match channels {
        1 => Pixels::gray(width, height, bytes.collect()).unwrap(),
        _ => Pixels::rgb(width, height, bytes.collect()).unwrap(),
    }
}

#[test]
fn golden_vectors_of_pictures() {
    let rows = crate::vectors::read("pictures.tsv");
    assert!(rows.len() > 40);
    for row in rows {
        let [seed, width, height, channels] =
            [0, 1, 2, 3].map(|at| row[at].parse::<u64>().unwrap());
        let pixels = made(seed, width as i64, height as i64, channels);
        let recipe = &PicturePreset::named(&row[4]).unwrap().recipe;
        let print = recipe.prints(&Picture::of_pixels(pixels), false).unwrap().upright;
        let expected = Fingerprint::<4>::parse(&row[5], Width::Bits256).unwrap();
        // Oracles that compute with other floats, or make pictures small in another way.
        let tolerance = match row[6].as_str() {
            "pdqhash" => 2,
            "imagehash" => 6,
            _ => 0,
        };
        let distance = print.distance(&expected);
        assert!(
            distance <= tolerance,
            "{} of {row:?}: {distance} bits",
            print.to_hex(recipe.width)
        );
    }
}

#[test]
fn a_second_opinion_takes_pictures_a_little_farther_apart() {
    let recipe = &PicturePreset::ALL[0].recipe;
    let one = waves(5, 300, 200);
    // A corner painted over moves more bits than a copy may differ in.
    let mut bytes: Vec<u8> = (0..200).flat_map(|y| one.row(y).to_vec()).collect();
    for y in 150..195 {
        bytes[y * 300 + 250..y * 300 + 295].fill(255);
    }
    let pictures = [one, Pixels::gray(300, 200, bytes).unwrap()];
    let strict = PictureSearch::new(recipe, Radius::new(0));
    assert_eq!(found(&strict, &pictures), []);
    let second = SecondOpinion { radius: Radius::new(200), gradients: Radius::new(60) };
    assert_eq!(found(&strict.second_opinion(Some(second)), &pictures).len(), 1);
}

/// A part of a picture.
pub(super) fn cut(pixels: &Pixels, x: usize, y: usize, width: usize, height: usize) -> Pixels {
    let rows = (y..y + height).flat_map(|row| pixels.row(row)[x..x + width].to_vec());
    Pixels::gray(width, height, rows.collect()).unwrap()
}

/// Blobs of many sizes: something to hold on to.
pub(super) fn blobs(seed: u64, width: usize, height: usize) -> Pixels {
    let spots: Vec<[f32; 4]> = (0..160)
        .map(|spot| {
            let bits = scrambled(seed * 1000 + spot);
            let part = |shift: u32| (bits >> shift & 0xFFFF) as f32 / 65_536.0;
            [
                part(0) * width as f32,
                part(16) * height as f32,
                3.0 + 25.0 * part(32) * part(32),
                200.0 * part(48) - 100.0,
            ]
        })
        .collect();
    let bytes = (0..width * height).map(|at| {
        let (x, y) = ((at % width) as f32, (at / width) as f32);
        let light = |spot: &[f32; 4]| {
            let square = (x - spot[0]).powi(2) + (y - spot[1]).powi(2);
            spot[3] * (-square / (2.0 * spot[2] * spot[2])).exp()
        };
        (128.0 + spots.iter().map(light).sum::<f32>()).clamp(0.0, 255.0) as u8
    });
    Pixels::gray(width, height, bytes.collect()).unwrap()
}

#[test]
fn parts_of_a_picture_are_found_only_if_asked_for() {
    let whole = blobs(1, 320, 240);
    let pictures = [whole.clone(), blobs(2, 320, 240), cut(&whole, 70, 20, 230, 180)];
    assert_eq!(found(&search(), &pictures), []);
    let pairs = found(&search().partial(true), &pictures);
    assert_eq!(pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(), [(0, 2)]);
}
