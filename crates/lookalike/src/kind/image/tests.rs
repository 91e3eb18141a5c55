use super::*;
use crate::{
    Digest, Fingerprint, Resources, Search, Width,
    digest::Digests,
    extract::image::{Frames, Image, Orientation, Pixels, Small},
    fragments::{Background, Fragment, Fragments, Shift},
    hamming::Kernel,
    kind::Input,
    recipe::ImagePreset,
    search::{Compared, Recall},
};

/// An image of its own for every seed: a few waves.
pub(crate) fn waves(seed: u32, width: usize, height: usize) -> Pixels {
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

/// Images of one kind, and when two of them are alike.
#[derive(Clone, Debug)]
struct Alike {
    kind: ImageKind,
    by: Criteria,
}

impl Alike {
    fn within(radius: Radius) -> Self {
        let by = Criteria { distance: Some(radius), ..Criteria::default() };
        Self { kind: ImageKind::of(&ImagePreset::ALL[0]), by }
    }

    fn orientations(self, turned: bool) -> Self {
        Self { kind: self.kind.orientations(turned), by: Criteria { turned, ..self.by } }
    }

    fn partial(self, parts: bool) -> Self {
        Self { kind: self.kind.partial(parts).unwrap(), by: Criteria { parts, ..self.by } }
    }

    fn digest(&self, image: &Image) -> Digest {
        self.kind.digester().digest(Input::Image(image)).unwrap().0
    }

    fn search<'a>(&'a self, resources: &'a Resources<'a>) -> Search<'a> {
        Search::new(&self.kind, &self.by, resources)
    }

    fn compare(&self, one: &Digest, two: &Digest) -> Compared {
        self.search(&Resources::new()).compare(one, two)
    }

    fn are_alike(&self, one: &Digest, two: &Digest) -> bool {
        self.compare(one, two).alike
    }

    fn distance(&self, one: &Digest, two: &Digest) -> u32 {
        self.compare(one, two).closeness.unwrap().distance.unwrap()
    }

    fn overlap(&self, one: &Digest, two: &Digest) -> Option<f32> {
        let shape = self.kind.shape();
        let extras = [one, two].map(|digest| Extra::of(&digest.extra).unwrap());
        one.with_ref(shape, |a| two.with_ref(shape, |b| parts::overlap(&self.by, [a, b], extras)))
    }
}

fn found(search: &Alike, images: &[Pixels]) -> Vec<(u32, u32, u32)> {
    pairs_of(search, &digests(search, images).iter().collect::<Vec<_>>())
}

fn search() -> Alike {
    Alike::within(ImagePreset::ALL[0].radius())
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
        let search = Alike::within(Radius::new(60));
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
    // The same pixels in other files.
    let file = |quality: u8| {
        let mut bytes = Vec::new();
        let flat = image::GrayImage::from_pixel(64, 64, image::Luma([200]));
        let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, quality);
        flat.write_with_encoder(encoder).unwrap();
        bytes
    };
    let resources = Resources::new();
    let mut images = Digests::new(search.kind.shape(), &resources);
    for quality in [80, 90, 80] {
        let bytes = file(quality);
        let input = Input::File { bytes: &bytes, extension: None };
        images.push(&search.kind.digester().digest(input).unwrap().0).unwrap();
    }
    images.seal().unwrap();
    let found = search.search(&resources).pairs(&images).unwrap();
    let pairs = found.pairs.to_vec().unwrap();
    assert_eq!((found.found.short, pairs.len()), (3, 1));
    assert_eq!((pairs[0].a, pairs[0].b, pairs[0].closeness.distance), (0, 2, Some(0)));
    let groups = search.search(&resources).stars(&images, &[2, 1, 0]).unwrap().groups;
    assert_eq!((groups.len(), groups[0].keep, groups[0].members[0].item), (1, 2, 0));
}

pub(crate) fn scrambled(number: u64) -> u64 {
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
pub(crate) fn cut(pixels: &Pixels, x: usize, y: usize, width: usize, height: usize) -> Pixels {
    let rows = (y..y + height).flat_map(|row| pixels.row(row)[x..x + width].to_vec());
    Pixels::gray(width, height, rows.collect()).unwrap()
}

/// Blobs of many sizes: something to hold on to.
pub(crate) fn blobs(seed: u64, width: usize, height: usize) -> Pixels {
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
fn searches() -> Vec<Alike> {
    let mut searches = Vec::new();
    for radius in [31, 48, 60, 72] {
        for (orientations, partial) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let search = Alike::within(Radius::new(radius));
            searches.push(search.orientations(orientations).partial(partial));
        }
    }
    searches
}

fn digests(search: &Alike, images: &[Pixels]) -> Vec<Digest> {
    images.iter().map(|pixels| search.digest(&Image::of_pixels(pixels.clone()))).collect()
}

fn taken(search: &Alike, digests: &[&Digest]) -> Digests {
    let mut images = Digests::new(search.kind.shape(), &Resources::new());
    digests.iter().for_each(|digest| images.push(digest).unwrap());
    images.seal().unwrap();
    images
}

fn pairs_of(search: &Alike, digests: &[&Digest]) -> Vec<(u32, u32, u32)> {
    let resources = Resources::new();
    let pairs = search.search(&resources).pairs(&taken(search, digests)).unwrap().pairs;
    let figures =
        |pair: &crate::alike::AlikePair| (pair.a, pair.b, pair.closeness.distance.unwrap());
    pairs.to_vec().unwrap().iter().map(figures).collect()
}

/// Every pair that is judged alike.
fn judged(search: &Alike, digests: &[Digest]) -> Vec<(u32, u32, u32)> {
    let mut judged = Vec::new();
    for (b, two) in (0..).zip(digests) {
        for (a, one) in (0..b).zip(digests) {
            if search.are_alike(one, two) {
                judged.push((a, b, search.distance(one, two)));
            }
        }
    }
    judged.sort_unstable();
    judged
}

#[test]
fn two_images_are_as_near_whichever_is_the_first() {
    let images = all_sorts();
    let (mut alike, mut uneven) = (0, 0);
    for search in searches() {
        let digests = digests(&search, &images);
        for (a, one) in digests.iter().enumerate() {
            for (b, two) in digests.iter().enumerate().take(a) {
                let compared = search.compare(one, two);
                assert_eq!(compared, search.compare(two, one), "{a} {b}");
                if search.by.parts {
                    assert_eq!(search.overlap(one, two), search.overlap(two, one));
                }
                alike += u32::from(compared.alike);
                // Turning only one of the two would tell another distance.
                let turned = |still: &Digest, turned: &Digest| {
                    turned.prints.iter().map(|print| still.prints[0].distance(print)).min()
                };
                uneven += u32::from(turned(one, two) != turned(two, one));
            }
        }
    }
    assert!(alike > 500 && uneven > 100, "{alike} alike, {uneven} uneven");
}

#[test]
fn a_threshold_only_cuts_and_changes_no_figure() {
    let images = all_sorts();
    let mut parts = 0;
    for search in searches() {
        let digests = digests(&search, &images);
        let shape = search.kind.shape();
        for (b, two) in digests.iter().enumerate() {
            for one in &digests[..b] {
                let closeness = search.compare(one, two).closeness.unwrap();
                let judged = one.with_ref(shape, |one| {
                    two.with_ref(shape, |two| search.kind.judge(&search.by, one, two))
                });
                let is_near = closeness.distance <= search.by.distance.map(Radius::bits);
                let shares = search.by.parts && search.overlap(one, two).is_some();
                assert_eq!(judged, (is_near || shares).then_some(closeness));
                parts += u32::from(closeness.level == Some(Level::Part));
            }
        }
    }
    assert!(parts > 20, "{parts}");
}

#[test]
fn a_search_of_all_says_what_each_two_say_alone() {
    let images = all_sorts();
    for search in searches() {
        let digests = digests(&search, &images);
        let expected = judged(&search, &digests);
        assert_eq!(pairs_of(&search, &digests.iter().collect::<Vec<_>>()), expected);
    }
}

#[test]
fn other_images_and_their_order_change_no_verdict() {
    let search = search().orientations(true).partial(true);
    let digests = digests(&search, &all_sorts());
    // Two thousand times the same crop, in files that must not be taken for one: its fragments are
    // everywhere.
    let crop = &digests[0];
    let copy = |number: u64| {
        let mut copy = Digest { extra: Vec::new(), ..crop.clone() };
        let content = Some(u128::from(number).to_le_bytes());
        Extra { content, ..Extra::of(&crop.extra).unwrap() }.write(&mut copy.extra);
        copy
    };
    let copies: Vec<Digest> = (0..2100).map(copy).collect();
    let few: Vec<&Digest> = digests.iter().collect();
    let turned_about: Vec<&Digest> = digests.iter().rev().collect();
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
    let all: Vec<&Digest> = few.iter().copied().chain(&copies).collect();
    let by_fragments = |images: &[&Digest]| {
        let mut held = Fragments::new();
        for digest in images {
            held.push(digest.parts.iter().map(|fragment| fragment.print));
        }
        let judge = |a: u32, b: u32| {
            let judged = || search.overlap(images[a as usize], images[b as usize]);
            (b <= last).then(judged).flatten().map(|overlap| (a, b, overlap))
        };
        held.sharing(&parts::SEARCH, &Resources::new(), judge).unwrap()
    };
    let found = by_fragments(&few);
    assert!(found.len() > 4 && found == by_fragments(&all), "{found:?}");
    let with_seven: Vec<&Digest> = few.iter().copied().chain(&copies[..7]).collect();
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
    for search in
        searches().into_iter().filter(|search| search.by.distance != Some(Radius::new(48)))
    {
        let digests = digests(&search, &images);
        let judged = judged(&search, &digests);
        assert_eq!(pairs_of(&search, &digests.iter().collect::<Vec<_>>()), judged, "{search:?}");
    }
}

#[test]
fn stars_are_those_of_the_pairs_and_against_those_that_cross() {
    let images = dense();
    for alike in searches().into_iter().filter(|search| search.by.distance != Some(Radius::new(48)))
    {
        let digests = digests(&alike, &images);
        let taken = taken(&alike, &digests.iter().collect::<Vec<_>>());
        let pairs = alike.search(&Resources::new()).pairs(&taken).unwrap().pairs;
        let count = digests.len() as u32;
        let order: Vec<u32> = (0..count).map(|at| at * 37 % count).collect();
        assert_eq!(order.iter().collect::<std::collections::BTreeSet<_>>().len(), digests.len());
        let expected = crate::groups::star(digests.len(), &order, &pairs).unwrap();
        assert!(expected.len() > 2 && expected.iter().any(|group| group.members.len() > 6));
        for resources in [Resources::new(), Resources::new().memory(1, std::env::temp_dir())] {
            let search = alike.search(&resources);
            assert_eq!(search.stars(&taken, &order).unwrap().groups, expected, "{alike:?}");
            let own = 17;
            let order: Vec<u32> = (own as u32..count).chain(0..own as u32).collect();
            let crossing = pairs.crossing(own).unwrap();
            let expected = crate::groups::star(digests.len(), &order, &crossing).unwrap();
            assert_eq!(search.against(&taken, own).unwrap().groups, expected, "{alike:?}");
        }
    }
}

#[test]
fn common_fragments_are_left_out_only_if_they_are_named() {
    let whole = blobs(1, 320, 240);
    let mut search = search().partial(true);
    let images = [whole.clone(), cut(&whole, 70, 20, 230, 180)];
    let both = digests(&search, &images);
    assert!(search.are_alike(&both[0], &both[1]));
    let fragments = both[0].parts.iter();
    search.by.background = Arc::new(Background::new(fragments.map(|fragment| fragment.print)));
    assert!(!search.are_alike(&both[0], &both[1]));
    assert_eq!(pairs_of(&search, &both.iter().collect::<Vec<_>>()), []);
}

#[test]
fn only_searches_for_whole_images_are_exact() {
    let recall = |search: Alike| {
        let none = taken(&search, &[]);
        search.search(&Resources::new()).pairs(&none).unwrap().found.recall
    };
    assert_eq!(recall(search().orientations(true)), Recall::Exact);
    assert_eq!(recall(search().partial(true)), Recall::OfEvidence(1.0));
}

/// The fragments and the small copy of an image, and both as bytes.
fn parts_of(search: &Alike, pixels: Pixels) -> (Vec<Fragment>, Small, Vec<u8>) {
    let Digest { parts, extra, .. } = search.digest(&Image::of_pixels(pixels));
    let mut bytes = (parts.len() as u32).to_le_bytes().to_vec();
    for Fragment { print, place } in &parts {
        bytes.extend(print.to_le_bytes());
        bytes.extend([place.x, place.y, place.scale].iter().flat_map(|at| at.to_le_bytes()));
    }
    let small = Extra::of(&extra).unwrap().small.unwrap();
    small.write(&mut bytes);
    (parts, small, bytes)
}

#[test]
fn golden_vectors_of_parts() {
    let rows = crate::vectors::read("parts.tsv");
    assert!(rows.len() >= 8);
    let search = search().partial(true);
    let mut made_rows = Vec::new();
    for row in &rows {
        let [seed, width, height] = [0, 1, 2].map(|at| row[at].parse::<u64>().unwrap());
        let pixels = made(seed, width as i64, height as i64, 1);
        let (width, height) = (width as usize, height as usize);
        let crop = cut(&pixels, width / 8, height / 8, width * 3 / 4, height * 3 / 4);
        let [(one, whole, bytes), (two, crop, _)] =
            [pixels, crop].map(|one| parts_of(&search, one));
        let content = crate::hash::content(&bytes);
        let voted = parts::SEARCH.vote(&one, &two, &Background::default(), Kernel::Portable);
        let (shift, votes) = voted.unwrap_or((Shift::NONE, 0));
        let shift = [shift.cosine, shift.sine, shift.x, shift.y].map(f32::to_bits);
        let overlap = whole.overlap(&crop, &Shift::NONE);
        made_rows.push(format!(
            "{seed}\t{width}\t{height}\t{}\t{}\t{:016x} {:016x}\t{votes}\t{}\t{:08x}",
            one.len(),
            one.first().map_or("-".to_owned(), |one| one.print.to_hex(Width::Bits64)),
            content[0],
            content[1],
            shift.map(|bits| format!("{bits:08x}")).join(" "),
            overlap.correlation.to_bits(),
        ));
    }
    let rows: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
    assert_eq!(made_rows, rows, "\n{}", made_rows.join("\n"));
}

#[test]
fn what_decides_beside_fingerprints_and_parts_is_written_in_the_same_way_for_ever() {
    let mut bytes = Vec::new();
    Extra::default().write(&mut bytes);
    assert!(bytes.is_empty());
    assert_eq!(Extra::of(&[]), Some(Extra::default()));

    let small = Small::read(&[2, 1, 0x80, 1, 0, 1, 0, 0, 7, 9]).unwrap();
    let extra = Extra { content: Some([5; 16]), small: Some(small), ..Extra::default() };
    extra.write(&mut bytes);
    assert_eq!(bytes, [&[2 | 4][..], &[5; 16], &[2, 1, 0x80, 1, 0, 1, 0, 0, 7, 9]].concat());
    assert_eq!(Extra::of(&bytes), Some(extra));
}

#[test]
fn a_file_whose_frames_are_not_described_is_a_copy_of_itself_only() {
    let search = search();
    let mut digest = search.digest(&Image::of_pixels(waves(1, 100, 80)));
    let more_frames_than_are_described = [&[9, 0, 0, 0][..], &[0, 0]].concat();
    let (frames, _) = Frames::read(&more_frames_than_are_described).unwrap();
    let file = |content: u8| {
        let mut file = Digest { extra: Vec::new(), ..digest.clone() };
        let content = Some([content; 16]);
        Extra { content, frames: frames.clone(), ..Extra::default() }.write(&mut file.extra);
        file
    };
    let (one, two) = (file(1), file(2));
    let level = |a: &Digest, b: &Digest| search.compare(a, b).closeness.unwrap().level;
    assert_eq!(level(&one, &one), Some(Level::Copy));
    assert_eq!(level(&one, &two), Some(Level::Similar));
    digest.extra.clear();
    assert_eq!(level(&one, &digest), Some(Level::Similar));
}
