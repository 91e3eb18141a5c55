use super::*;
use crate::{
    Fingerprint, ImagePreset, Resources, Width,
    extract::image::{Image, Orientation, Pixels},
    fragments::{Fragments, Shift},
};

/// An image of its own for every seed: a few waves.
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

fn found(search: &ImageSearch, images: &[Pixels]) -> Vec<(u32, u32, u32)> {
    pairs_of(search, &digests(search, images).iter().collect::<Vec<_>>())
}

fn search() -> ImageSearch {
    let preset = &ImagePreset::ALL[0];
    ImageSearch::new(&preset.recipe, preset.radius())
}

#[test]
fn a_smaller_copy_is_found_and_a_stranger_is_not() {
    let images = [waves(1, 300, 200), waves(2, 300, 200), waves(1, 150, 100)];
    let pairs = found(&search(), &images);
    assert_eq!(pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(), [(0, 2)]);
}

#[test]
fn turned_copies_are_found_only_if_asked_for() {
    for orientation in &Orientation::ALL[1..] {
        let one = waves(3, 640, 480);
        let images = [one.clone(), waves(4, 640, 480), one.turned(*orientation)];
        // The frame is not sampled symmetrically: of waves as short as these, that moves some bits.
        let search = ImageSearch::new(&ImagePreset::ALL[0].recipe, Radius::new(60));
        assert_eq!(found(&search, &images), []);
        let pairs = found(&search.orientations(true), &images);
        assert_eq!(
            pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(),
            [(0, 2)],
            "{}",
            orientation.name()
        );
    }
}

#[test]
fn flat_images_are_alike_only_the_same_bytes() {
    let search = search();
    let flat = Image::of_pixels(Pixels::gray(64, 64, vec![200; 64 * 64]).unwrap());
    let mut images = Images::new();
    for content in ["one", "two", "one"] {
        images.push(search.digest_image(&flat, content.as_bytes())).unwrap();
    }
    let found = images.pairs(&search, &Resources::new()).unwrap();
    let pairs = found.pairs.to_vec().unwrap();
    assert_eq!((found.found.flat, pairs.len()), (3, 1));
    assert_eq!((pairs[0].a, pairs[0].b, pairs[0].distance), (0, 2, 0));
    let groups = images.stars(&search, &[2, 1, 0], &Resources::new()).unwrap().groups;
    assert_eq!((groups.len(), groups[0].keep, groups[0].members[0].item), (1, 2, 0));
}

pub(super) fn scrambled(number: u64) -> u64 {
    let mut bits = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// The images of `vectors/images.tsv`, as `make_images.py` makes them.
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
fn golden_vectors_of_images() {
    let rows = crate::vectors::read("images.tsv");
    assert!(rows.len() > 40);
    for row in rows {
        let [seed, width, height, channels] =
            [0, 1, 2, 3].map(|at| row[at].parse::<u64>().unwrap());
        let pixels = made(seed, width as i64, height as i64, channels);
        let recipe = &ImagePreset::named(&row[4]).unwrap().recipe;
        let print = recipe.prints(&Image::of_pixels(pixels), false).unwrap().upright;
        let expected = Fingerprint::<4>::parse(&row[5], Width::Bits256).unwrap();
        // Oracles that compute with other floats, or make images small in another way.
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

/// A part of an image.
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
fn parts_of_an_image_are_found_only_if_asked_for() {
    let whole = blobs(1, 320, 240);
    let images = [whole.clone(), blobs(2, 320, 240), cut(&whole, 70, 20, 230, 180)];
    assert_eq!(found(&search(), &images), []);
    let pairs = found(&search().partial(true), &images);
    assert_eq!(pairs.iter().map(|pair| (pair.0, pair.1)).collect::<Vec<_>>(), [(0, 2)]);
}

/// Images of every relation: smaller, turned, mirrored and cropped ones, wallpapers, strangers.
fn all_sorts() -> Vec<Pixels> {
    let (one, two) = (blobs(21, 320, 240), blobs(22, 300, 300));
    let wallpaper = |side: usize| {
        let bytes = (0..side * side).map(|at| {
            let (x, y) = (at % side % 24, at / side % 24);
            if (x as i32 - 12).pow(2) + (y as i32 - 12).pow(2) < 40 { 220 } else { 40 }
        });
        Pixels::gray(side, side, bytes.collect()).unwrap()
    };
    let mut images = vec![
        cut(&one, 60, 30, 230, 180),
        cut(&one, 10, 40, 250, 190),
        cut(&two, 0, 0, 240, 250),
        wallpaper(240),
        wallpaper(312),
        waves(23, 200, 150),
        waves(23, 100, 75),
        waves(24, 200, 150),
    ];
    for orientation in Orientation::ALL {
        images.push(waves(25, 200, 150).turned(orientation));
        images.push(one.clone().turned(orientation));
    }
    images.extend([one, two]);
    images
}

/// Every way to search.
fn searches() -> Vec<ImageSearch> {
    let mut searches = Vec::new();
    for radius in [31, 48, 60, 72] {
        for (orientations, partial) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let preset = &ImagePreset::ALL[0];
            let search = ImageSearch::new(&preset.recipe, Radius::new(radius));
            searches.push(search.orientations(orientations).partial(partial));
        }
    }
    searches
}

fn digests(search: &ImageSearch, images: &[Pixels]) -> Vec<ImageDigest> {
    let digest = |(number, pixels): (usize, &Pixels)| {
        search.digest_image(&Image::of_pixels(pixels.clone()), &number.to_le_bytes())
    };
    images.iter().enumerate().map(digest).collect()
}

fn taken(digests: &[&ImageDigest]) -> Images {
    let mut images = Images::new();
    digests.iter().for_each(|digest| images.push((*digest).clone()).unwrap());
    images
}

fn pairs_of(search: &ImageSearch, digests: &[&ImageDigest]) -> Vec<(u32, u32, u32)> {
    let pairs = taken(digests).pairs(search, &Resources::new()).unwrap().pairs.to_vec().unwrap();
    pairs.iter().map(|pair| (pair.a, pair.b, pair.distance)).collect()
}

#[test]
fn two_images_are_as_near_whichever_is_the_first() {
    let images = all_sorts();
    let (mut alike, mut uneven) = (0, 0);
    for search in searches() {
        let digests = digests(&search, &images);
        for (a, one) in digests.iter().enumerate() {
            for (b, two) in digests.iter().enumerate().take(a) {
                let there = search.compare(one, two).unwrap();
                let back = search.compare(two, one).unwrap();
                assert_eq!(there.distance, back.distance, "{a} {b}");
                let is_alike = search.are_alike(one, two);
                assert_eq!(is_alike, search.are_alike(two, one), "{a} {b}");
                assert_eq!(
                    partial::overlap(&search, one, two),
                    partial::overlap(&search, two, one)
                );
                alike += u32::from(is_alike);
                // Turning only one of the two would tell another distance.
                let [one, two] = [one, two].map(|digest| digest.prints.as_ref().unwrap());
                let turned = |still: &Fingerprint<4>, turned: &Option<Box<[Fingerprint<4>; 8]>>| {
                    turned.as_deref()?.iter().map(|print| still.distance(print)).min()
                };
                let ways = [turned(&one.upright, &two.turned), turned(&two.upright, &one.turned)];
                uneven += u32::from(ways[0] != ways[1]);
            }
        }
    }
    assert!(alike > 500 && uneven > 100, "{alike} alike, {uneven} uneven");
}

#[test]
fn a_search_of_all_says_what_each_two_say_alone() {
    let images = all_sorts();
    for search in searches() {
        let digests = digests(&search, &images);
        let mut expected = Vec::new();
        for (b, two) in (0..).zip(&digests) {
            for (a, one) in (0..b).zip(&digests) {
                if search.are_alike(one, two) {
                    expected.push((a, b, search.compare(one, two).unwrap().distance));
                }
            }
        }
        expected.sort_unstable();
        assert_eq!(pairs_of(&search, &digests.iter().collect::<Vec<_>>()), expected);
    }
}

#[test]
fn other_images_and_their_order_change_no_verdict() {
    let search = search().orientations(true).partial(true);
    let digests = digests(&search, &all_sorts());
    // Two thousand times the same crop, in other files: its fragments are everywhere.
    let crop = &digests[0];
    let copies: Vec<ImageDigest> =
        (0..2100_u64).map(|number| ImageDigest { content: [number, 7], ..crop.clone() }).collect();
    let few: Vec<&ImageDigest> = digests.iter().collect();
    let turned_about: Vec<&ImageDigest> = digests.iter().rev().collect();
    let last = digests.len() as u32 - 1;
    let mut back: Vec<_> = pairs_of(&search, &turned_about)
        .into_iter()
        .map(|(a, b, distance)| (last - b, last - a, distance))
        .collect();
    back.sort_unstable();
    let alone = pairs_of(&search, &few);
    assert_eq!(back, alone);

    // Of more than two thousand images that share all fragments, only the pairs of the few are
    // judged: they must be found as if there were no others.
    let all: Vec<&ImageDigest> = few.iter().copied().chain(&copies).collect();
    let by_fragments = |images: &[&ImageDigest]| {
        let mut held = Fragments::new();
        for digest in images {
            let parts = digest.parts.as_ref().unwrap();
            held.push(parts.fragments.iter().map(|fragment| fragment.print));
        }
        let judge = |a: u32, b: u32| {
            let judged = || partial::overlap(&search, images[a as usize], images[b as usize]);
            (b <= last).then(judged).flatten().map(|overlap| (a, b, overlap))
        };
        held.sharing(&ImageParts::SEARCH, &Resources::new(), judge).unwrap()
    };
    let found = by_fragments(&few);
    assert!(found.len() > 4 && found == by_fragments(&all), "{found:?}");
    let with_seven: Vec<&ImageDigest> = few.iter().copied().chain(&copies[..7]).collect();
    let among = pairs_of(&search, &with_seven);
    assert_eq!(among.into_iter().filter(|pair| pair.1 <= last).collect::<Vec<_>>(), alone);
}

/// Images of all sorts, some of them several times with other noise, so that many are near each
/// other; taken in an order of their own.
fn dense() -> Vec<Pixels> {
    let mut images = all_sorts();
    for seed in 0..2 {
        let one = waves(seed, 160, 120);
        for number in 0..9_u8 {
            let bytes = (0..120).flat_map(|y| one.row(y).to_vec()).enumerate();
            let moved = bytes.map(|(at, byte)| byte ^ (at % 97 == usize::from(number)) as u8);
            images.push(Pixels::gray(160, 120, moved.collect()).unwrap());
        }
    }
    images
}

#[test]
fn no_pair_that_is_judged_alike_is_missing() {
    let images = dense();
    for search in searches().into_iter().filter(|search| search.radius.bits() != 48) {
        let digests = digests(&search, &images);
        let mut judged = Vec::new();
        for (b, two) in digests.iter().enumerate() {
            for (a, one) in digests[..b].iter().enumerate() {
                if search.are_alike(one, two) {
                    let distance = search.compare(one, two).unwrap().distance;
                    judged.push((a as u32, b as u32, distance));
                }
            }
        }
        judged.sort_unstable();
        assert_eq!(pairs_of(&search, &digests.iter().collect::<Vec<_>>()), judged, "{search:?}");
    }
}

#[test]
fn stars_are_those_of_the_pairs_and_against_those_that_cross() {
    let images = dense();
    for search in searches().into_iter().filter(|search| search.radius.bits() != 48) {
        let digests = digests(&search, &images);
        let taken = taken(&digests.iter().collect::<Vec<_>>());
        let pairs = taken.pairs(&search, &Resources::new()).unwrap().pairs;
        let count = digests.len() as u32;
        let order: Vec<u32> = (0..count).map(|at| at * 37 % count).collect();
        assert_eq!(order.iter().collect::<std::collections::BTreeSet<_>>().len(), digests.len());
        let expected = crate::groups::star(digests.len(), &order, &pairs).unwrap();
        assert!(expected.len() > 2 && expected.iter().any(|group| group.members.len() > 6));
        for resources in [Resources::new(), Resources::new().memory(1, std::env::temp_dir())] {
            let stars = taken.stars(&search, &order, &resources).unwrap();
            assert_eq!(stars.groups, expected, "{search:?}");
            let own = 17;
            let order: Vec<u32> = (own as u32..count).chain(0..own as u32).collect();
            let crossing = pairs.crossing(own).unwrap();
            let expected = crate::groups::star(digests.len(), &order, &crossing).unwrap();
            let found = taken.against(&search, own, &resources).unwrap();
            assert_eq!(found.groups, expected, "{search:?}");
        }
    }
}

#[test]
fn common_fragments_are_left_out_only_if_they_are_named() {
    let whole = blobs(1, 320, 240);
    let plain = search().partial(true);
    let images = [whole.clone(), cut(&whole, 70, 20, 230, 180)];
    let both = digests(&plain, &images);
    assert!(plain.are_alike(&both[0], &both[1]));
    let fragments = both[0].parts.iter().flat_map(|parts| &parts.fragments);
    let background = Background::new(fragments.map(|fragment| fragment.print));
    let search = plain.background(background);
    assert!(!search.are_alike(&both[0], &both[1]));
    assert_eq!(pairs_of(&search, &both.iter().collect::<Vec<_>>()), []);
}

#[test]
fn only_searches_for_whole_images_are_exact() {
    let how =
        |search: ImageSearch| Images::new().pairs(&search, &Resources::new()).unwrap().found.how;
    assert_eq!(how(search().orientations(true)), How::Exact);
    assert_eq!(how(search().partial(true)), How::Recall(PARTS_RECALL));
}

#[test]
fn golden_vectors_of_parts() {
    let rows = crate::vectors::read("parts.tsv");
    assert!(rows.len() >= 8);
    let mut made_rows = Vec::new();
    for row in &rows {
        let [seed, width, height] = [0, 1, 2].map(|at| row[at].parse::<u64>().unwrap());
        let pixels = made(seed, width as i64, height as i64, 1);
        let (width, height) = (width as usize, height as usize);
        let crop = cut(&pixels, width / 8, height / 8, width * 3 / 4, height * 3 / 4);
        let [whole, crop] = [pixels, crop].map(|one| ImageParts::of(&Image::of_pixels(one)));
        let mut bytes = Vec::new();
        whole.write(&mut bytes);
        let content = crate::hash::content(&bytes);
        let none = Background::default();
        let (one, two) = (&whole.fragments, &crop.fragments);
        let voted = ImageParts::SEARCH.vote(one, two, &none, Kernel::Portable);
        let (shift, votes) = voted.unwrap_or((Shift::NONE, 0));
        let shift = [shift.cosine, shift.sine, shift.x, shift.y].map(f32::to_bits);
        let small = whole.small.overlap(&crop.small, &Shift::NONE);
        made_rows.push(format!(
            "{seed}\t{width}\t{height}\t{}\t{}\t{:016x} {:016x}\t{votes}\t{}\t{:08x}",
            one.len(),
            one.first().map_or("-".to_owned(), |one| one.print.to_hex(Width::Bits64)),
            content[0],
            content[1],
            shift.map(|bits| format!("{bits:08x}")).join(" "),
            small.correlation.to_bits(),
        ));
    }
    let rows: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
    assert_eq!(made_rows, rows, "\n{}", made_rows.join("\n"));
}
