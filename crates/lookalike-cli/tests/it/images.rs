//! Images: told by content, found in other sizes and orientations, refused with a reason.

use std::fs;

use crate::run::{Folder, Ran};

/// A bitmap of so many pixels; `paint` says how bright each place (0 to 1, 0 to 1) is.
fn bitmap(width: usize, height: usize, paint: impl Fn(f32, f32) -> f32) -> Vec<u8> {
    let stride = (3 * width).next_multiple_of(4);
    let size = (54 + stride * height) as u32;
    let mut bytes = b"BM".to_vec();
    for number in [size, 0, 54, 40, width as u32, height as u32, 0x18_0001, 0, 0, 0, 0, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    // Rows come from the bottom up.
    for y in (0..height).rev() {
        let row = (0..width).flat_map(|x| {
            let place = |at: usize, length: usize| (at as f32 + 0.5) / length as f32;
            [paint(place(x, width), place(y, height)).clamp(0.0, 255.0) as u8; 3]
        });
        let start = bytes.len();
        bytes.extend(row);
        bytes.resize(start + stride, 0);
    }
    bytes
}

/// A scene of its own for every seed: many waves.
fn scene(seed: u32) -> impl Fn(f32, f32) -> f32 {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 65_536.0
    };
    let waves: Vec<[f32; 3]> =
        (0..90).map(|_| [8.0 * next(), 16.0 * next() - 8.0, 6.3 * next()]).collect();
    move |x, y| {
        let wave = |wave: &[f32; 3]| (6.3 * (wave[0] * x + wave[1] * y) + wave[2]).sin() * 9.0;
        128.0 + waves.iter().map(wave).sum::<f32>()
    }
}

/// A folder with an image, a smaller copy of it, a mirrored one, and a stranger.
fn photos() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("photos")).unwrap();
    let put =
        |name: &str, bytes: Vec<u8>| fs::write(folder.path("photos").join(name), bytes).unwrap();
    put("a.bmp", bitmap(320, 240, scene(1)));
    put("b.jpg", bitmap(200, 150, scene(1)));
    let one = scene(1);
    put("c.bmp", bitmap(320, 240, move |x, y| one(1.0 - x, y)));
    put("d.bmp", bitmap(320, 240, scene(2)));
    folder
}

fn named(ran: &Ran) -> Vec<(String, String)> {
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let name =
        |value: &serde_json::Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let pair = |line: &str| {
        let pair: serde_json::Value = serde_json::from_str(line).unwrap();
        (name(&pair["a"]), name(&pair["b"]))
    };
    ran.stdout.lines().map(pair).collect()
}

fn pair(a: &str, b: &str) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

#[test]
fn images_are_told_by_content_and_found_in_other_sizes() {
    let ran = photos().run("pairs photos");
    assert_eq!(named(&ran), [pair("a.bmp", "b.jpg")]);
    assert!(
        ran.stderr.starts_with("reading images of 4 files\n4 items; 1 pair with distance <= 52"),
        "{}",
        ran.stderr
    );
}

#[test]
fn mirrored_images_are_found_if_asked_for() {
    let ran = photos().run("pairs photos --orientations");
    assert_eq!(
        named(&ran),
        [pair("a.bmp", "b.jpg"), pair("a.bmp", "c.bmp"), pair("b.jpg", "c.bmp")]
    );
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let folder = photos();
    let one = folder.run("pairs photos --orientations --match partial --threads 1");
    let many = folder.run("pairs photos --orientations --match partial --threads 4");
    assert_eq!((one.exit, &one.stdout), (0, &many.stdout), "{}", one.stderr);
}

#[test]
fn what_rests_on_votes_is_never_called_exact() {
    let folder = photos();
    let summary = |arguments: &str| -> serde_json::Value {
        let ran = folder.run(&format!("dedup photos --dry-run --json {arguments}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap()
    };
    let whole = summary("--orientations");
    assert_eq!((&whole["exact"], &whole["recall"]), (&true.into(), &1.0.into()));
    let partial = summary("--match partial --level part");
    assert_eq!((&partial["exact"], &partial["recall"]), (&false.into(), &1.0.into()));
    let ran = folder.run("pairs photos --match partial");
    assert!(
        ran.stderr.contains("estimated recall 100 % of what votes on parts accept")
            && !ran.stderr.contains("exact"),
        "{}",
        ran.stderr
    );
}

#[test]
fn only_copies_go_unless_more_is_asked_for() {
    let folder = photos();
    // Some waves of another scene move more bits than a copy may differ in.
    let (one, other) = (scene(1), scene(2));
    let blend = bitmap(320, 240, move |x, y| 0.75 * one(x, y) + 0.25 * other(x, y));
    fs::write(folder.path("photos/e.bmp"), blend).unwrap();
    let pairs = folder.run("pairs photos");
    let all = named(&pairs);
    assert!(all.contains(&pair("a.bmp", "e.bmp")), "{}", pairs.stdout);
    assert!(!named(&folder.run("pairs photos --level copy")).contains(&pair("a.bmp", "e.bmp")));
    let removed = |more: &str| {
        let ran = folder.run(&format!("dedup photos --removed r.jsonl --force --json {more}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let told: serde_json::Value =
            serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
        (folder.read("r.jsonl").lines().count(), told["looser"].as_u64())
    };
    assert_eq!(removed(""), (1, None));
    assert_eq!(removed("--pairs p.jsonl"), (1, Some(1)));
    assert_eq!(folder.read("p.jsonl").lines().count(), all.len());
    assert_eq!(removed("--level similar --pairs p.jsonl"), (2, None));
    assert_eq!(removed("--distance 52"), (2, None));
    // The mirrored one is a copy; parts go only by name.
    assert_eq!(removed("--match partial").0, 2);
    folder
        .run("dedup photos --level part")
        .fails("--level part goes with --match partial, which looks for parts");
}

#[test]
fn two_images_are_compared_with_an_exit_code() {
    let folder = photos();
    let ran = folder.run("compare photos/a.bmp photos/b.jpg");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("level       copy\n"), "{}", ran.stdout);
    assert_eq!(folder.run("compare photos/a.bmp photos/d.bmp").exit, 1);
    assert_eq!(folder.run("compare photos/a.bmp photos/c.bmp").exit, 1);
    let ran = folder.run("compare photos/a.bmp photos/c.bmp --orientations --json");
    assert_eq!(ran.exit, 0);
    assert!(ran.stdout.contains("\"orientation\":\"mirrored\""), "{}", ran.stdout);
}

#[test]
fn every_recipe_has_fingerprints_of_its_width() {
    let folder = photos();
    for (recipe, digits) in [("pdq", 64), ("phash", 16), ("colour", 32), ("hsv", 32)] {
        let ran = folder.run(&format!("hash photos --recipe {recipe}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let line: serde_json::Value =
            serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
        assert_eq!(line["fingerprint"].as_str().unwrap().len(), 2 + digits, "{recipe}");
    }
}

#[test]
fn what_is_no_image_is_skipped_with_the_reason() {
    let folder = photos();
    let put =
        |name: &str, bytes: &[u8]| fs::write(folder.path("photos").join(name), bytes).unwrap();
    put("empty.jpg", b"");
    put("page.jpg", b"<html>not found</html>");
    put("cut.bmp", &bitmap(64, 64, scene(3))[..900]);
    let header =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\x02\0\0\0\x27\x30\x9c\x9f";
    let data =
        b"\0\0\0\x08IDAT\x78\x9c\x03\0\0\0\0\x01\x48\x06\x89\xd2\0\0\0\0IEND\xae\x42\x60\x82";
    put("bomb.png", &[&header[..], data].concat());
    put("flat.bmp", &bitmap(64, 64, |_, _| 99.0));
    let ran = folder.run("pairs photos");
    assert_eq!(named(&ran), [pair("a.bmp", "b.jpg")]);
    for said in [
        "skipped photos/empty.jpg: empty: it has no bytes",
        "note: 1 file is no image, and left out",
        "photos/cut.bmp: cut off: the BMP ends too early",
        "1 image with too little to compare, compared by content",
    ] {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
    assert!(ran.stderr.contains("skipped photos/bomb.png: "), "{}", ran.stderr);
    let strict = folder.run("pairs photos --strict");
    assert_eq!(strict.exit, 2);
    folder
        .run("compare photos/a.bmp photos/page.jpg")
        .fails("photos/page.jpg: not an image (starts with \"<html>no\")");
}

#[test]
fn options_of_texts_are_refused() {
    let folder = photos();
    folder.run("pairs photos --similarity 0.8").fails(
        "--similarity does not apply to images, which take --recipe, --level, --distance; if these \
             are not images, set --kind",
    );
    folder
        .run("pairs photos --recipe words")
        .fails("--recipe words is for texts; for images there is pdq, phash, colour, hsv");
    folder
        .run("pairs photos --level near --distance 3")
        .fails("--level and --distance both say how near images must be; give one");
    folder
        .run("pairs photos --match partial --recipe phash")
        .fails("--match partial goes with --recipe pdq; leave --recipe out");
}

#[test]
fn a_model_of_common_colours_is_learned_from_a_sample() {
    let folder = photos();
    let ran = folder.run("recipes learn photos --recipe hsv --sample 1 -o common.model");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("learned from 4 images: hsv:32, murmur3-128"), "{}", ran.stderr);
    let with = folder.run("hash photos --recipe hsv --model common.model");
    let without = folder.run("hash photos --recipe hsv");
    assert_eq!((with.exit, without.exit), (0, 0), "{}", with.stderr);
}

/// A document of gray pages of 64 x 64 pixels, one for each scene; `more` is behind its end.
fn document(scenes: &[u32], more: &[u8]) -> Vec<u8> {
    let mut bytes = b"II*\0\0\0\0\0".to_vec();
    // Where the place of the next page is written.
    let mut next = 4;
    for &seed in scenes {
        let (paint, pixels) = (scene(seed), bytes.len() as u32);
        let place = |at: u32| (at as f32 + 0.5) / 64.0;
        bytes.extend(
            (0..64 * 64).map(|at| paint(place(at % 64), place(at / 64)).clamp(0.0, 255.0) as u8),
        );
        let directory = (bytes.len() as u32).to_le_bytes();
        bytes[next..next + 4].copy_from_slice(&directory);
        let entries = [
            (256, 64),
            (257, 64),
            (258, 8),
            (259, 1),
            (262, 1),
            (273, pixels),
            (277, 1),
            (278, 64),
            (279, 64 * 64),
        ];
        bytes.extend((entries.len() as u16).to_le_bytes());
        for (tag, value) in entries {
            bytes.extend((tag as u16).to_le_bytes());
            bytes.extend([4, 0, 1, 0, 0, 0]);
            bytes.extend(value.to_le_bytes());
        }
        next = bytes.len();
        bytes.extend([0; 4]);
    }
    bytes.extend(more);
    bytes
}

#[test]
fn documents_that_share_their_first_page_are_no_copies() {
    let folder = Folder::new();
    fs::create_dir(folder.path("scans")).unwrap();
    let put = |name: &str, scenes: &[u32], more: &[u8]| {
        fs::write(folder.path("scans").join(name), document(scenes, more)).unwrap();
    };
    put("a.tif", &[1, 2], b"");
    put("again.tif", &[1, 2], b"saved by another program");
    put("longer.tif", &[1, 2, 3], b"");
    put("other.tif", &[1, 3], b"");
    put("page.tif", &[1], b"");
    let ran = folder.run("compare scans/a.tif scans/again.tif");
    assert_eq!(ran.exit, 0, "{}", ran.all());
    assert!(ran.stdout.contains("level       copy\n"), "{}", ran.stdout);
    for other in ["longer", "other", "page"] {
        let ran = folder.run(&format!("compare scans/a.tif scans/{other}.tif"));
        assert!(ran.stdout.contains("level       similar\n"), "{other}: {}", ran.stdout);
    }
    let ran = folder.run("dedup scans --level copy -o kept");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let mut kept: Vec<_> =
        fs::read_dir(folder.path("kept")).unwrap().map(|file| file.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(["longer.tif", "other.tif", "page.tif"].iter().all(|name| kept.contains(&name.into())));
}

#[test]
fn images_that_do_not_fit_the_memory_limit_are_skipped_and_a_limit_for_none_is_refused() {
    let folder = photos();
    let large = bitmap(2_000, 1_100, |x, y| 90.0 * x + 90.0 * y);
    fs::write(folder.path("photos/large.bmp"), large).unwrap();
    let ran = folder.run("pairs photos --cache none --memory 16M");
    assert_eq!(named(&ran), [pair("a.bmp", "b.jpg")]);
    let said = "skipped photos/large.bmp: takes 25M to decode, more than --memory 16M allows; use \
                --memory 25M or more";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let ran = folder.run("pairs photos --cache none --memory 25M");
    assert!(!ran.stderr.contains("skipped"), "{}", ran.stderr);
    folder
        .run("pairs photos --cache none --memory 1M")
        .fails("--memory 1M is too little to decode images; the smallest that works is 16M");
}

#[test]
fn a_cut_off_image_never_replaces_an_intact_one() {
    let folder = Folder::new();
    fs::create_dir(folder.path("scans")).unwrap();
    let whole = document(&[1, 2], b"");
    // The pixels of both pages and the first directory are there, the last one is not.
    fs::write(folder.path("scans/a.tif"), &whole[..whole.len() - 20]).unwrap();
    fs::write(folder.path("scans/b.tif"), &whole).unwrap();
    let ran = folder.run("dedup scans --level copy -o kept");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("skipped scans/a.tif: cut off: the TIFF ends too early"),
        "{}",
        ran.stderr
    );
    assert!(folder.path("kept/b.tif").exists());
}
