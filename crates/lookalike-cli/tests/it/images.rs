//! Images: recognised by content, found in other sizes and orientations, refused with a reason.

use std::fs;

use libm::sinf;

use crate::run::{Folder, Ran, snapshot};

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
        let wave = |wave: &[f32; 3]| sinf(6.3 * (wave[0] * x + wave[1] * y) + wave[2]) * 9.0;
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
fn images_are_recognised_by_content_and_found_in_other_sizes() {
    snapshot!(photos().run("pairs photos"), @r#"
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 4 files
    4 items; 1 pair with distance <= 52 of 256 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn mirrored_images_are_found_if_asked_for() {
    snapshot!(photos().run("pairs photos --orientations"), @r#"
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    {"a":"photos/a.bmp","b":"photos/c.bmp","distance":0,"similarity":null,"level":"copy"}
    {"a":"photos/b.jpg","b":"photos/c.bmp","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 4 files
    4 items; 3 pairs with distance <= 52 of 256 bits, in any orientation; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
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
    snapshot!(photos().session([
        "dedup photos --dry-run --quiet --json --orientations",
        "dedup photos --dry-run --quiet --json --match partial --level part",
        "pairs photos --match partial",
    ]), @r#"
    $ lookalike dedup photos --dry-run --quiet --json --orientations
    exit 0
    --- stderr
    {"items":4,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":1,"largest_group":3,"least_similarity":null,"removed":2,"duplicate_ids":0,"removed_by_level":{"copy":2,"near":0,"other":0,"part":0,"similar":0},"kept":2,"looser":null,"looser_by_level":null,"lost_words":null,"warning":null,"raw":0,"recipe":"pdq: 256 bits, version 1, orientations","alike":"distance <= 31 of 256 bits, in any orientation","bits":256,"distance":31,"similarity":null,"short":0,"empty":0,"recall":1.0,"found":"[PLAN]","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike dedup photos --dry-run --quiet --json --match partial --level part
    exit 0
    --- stderr
    {"items":4,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":1,"largest_group":3,"least_similarity":null,"removed":2,"duplicate_ids":0,"removed_by_level":{"copy":2,"near":0,"other":0,"part":0,"similar":0},"kept":2,"looser":null,"looser_by_level":null,"lost_words":null,"warning":null,"raw":0,"recipe":"pdq: 256 bits, version 1, orientations, parts 2","alike":"distance <= 52 of 256 bits, in any orientation, or shared parts","bits":256,"distance":52,"similarity":null,"short":0,"empty":0,"recall":1.0,"found":"[PLAN]","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":false,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike pairs photos --match partial
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    {"a":"photos/a.bmp","b":"photos/c.bmp","distance":0,"similarity":null,"level":"copy"}
    {"a":"photos/b.jpg","b":"photos/c.bmp","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 4 files
    4 items; 3 pairs with distance <= 52 of 256 bits, in any orientation, or shared parts; 0 groups of equal items; estimated recall 100 % of what votes on parts accept ([PLAN]); [TIME]
    plan: [PLAN]
    "#);
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
}

#[test]
fn two_images_are_compared_with_an_exit_code() {
    snapshot!(photos().session([
        "compare photos/a.bmp photos/b.jpg",
        "compare photos/a.bmp photos/d.bmp",
        "compare photos/a.bmp photos/c.bmp",
        "compare photos/a.bmp photos/c.bmp --orientations --json",
    ]), @r#"
    $ lookalike compare photos/a.bmp photos/b.jpg
    exit 0
    distance    16 of 256 bits
    level       copy
    verdict     alike; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare photos/a.bmp photos/d.bmp
    exit 1
    distance    128 of 256 bits
    verdict     different; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare photos/a.bmp photos/c.bmp
    exit 1
    distance    124 of 256 bits
    verdict     different; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare photos/a.bmp photos/c.bmp --orientations --json
    exit 0
    {"distance":0,"similarity":null,"level":"copy","verdict":"alike","bits":256,"radius":52,"verify":null,"orientation":"mirrored"}
    --- stderr
    comparing two images
    "#);
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
    snapshot!(folder.session([
        "pairs photos",
        "pairs photos --strict",
        "compare photos/a.bmp photos/page.jpg",
    ]), @r#"
    $ lookalike pairs photos
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 9 files
    note: 1 file is no image, and left out
    skipped photos/bomb.png: 100000 x 100000 pixels, more than the 268435456 allowed
    skipped photos/cut.bmp: cut off: the BMP ends too early
    skipped photos/empty.jpg: empty: it has no bytes
    5 items (3 skipped: 1 broken, 1 empty, 1 too large); 1 pair with distance <= 52 of 256 bits; 0 groups of equal items; exact; 1 image with too little to compare, compared by content; [TIME]
    plan: [PLAN]

    $ lookalike pairs photos --strict
    exit 2
    --- stderr
    reading images of 9 files
    error: photos/bomb.png: 100000 x 100000 pixels, more than the 268435456 allowed (--strict stops at the first; without it, it is skipped)

    $ lookalike compare photos/a.bmp photos/page.jpg
    exit 2
    --- stderr
    comparing two images
    error: photos/page.jpg: not an image (starts with "<html>no")
    "#);
}

#[test]
fn options_of_texts_are_refused() {
    snapshot!(photos().session([
        "pairs photos --similarity 0.8",
        "pairs photos --recipe words",
        "pairs photos --level near --distance 3",
        "pairs photos --match partial --recipe phash",
        "dedup photos --level part",
    ]), @"
    $ lookalike pairs photos --similarity 0.8
    exit 2
    --- stderr
    error: --similarity does not apply to images, which take --recipe, --level, --distance; if these are not images, set --kind

    $ lookalike pairs photos --recipe words
    exit 2
    --- stderr
    error: --recipe words is for texts; for images there is pdq, phash, colour, hsv

    $ lookalike pairs photos --level near --distance 3
    exit 2
    --- stderr
    error: --level and --distance both say how near images must be; give one

    $ lookalike pairs photos --match partial --recipe phash
    exit 2
    --- stderr
    error: --match partial goes with --recipe pdq; leave --recipe out

    $ lookalike dedup photos --level part
    exit 2
    --- stderr
    error: --level part goes with --match partial, which looks for parts
    ");
}

#[test]
fn a_model_of_common_colours_is_learned_from_a_sample() {
    let folder = photos();
    let learn = "recipes learn photos --recipe hsv --sample 1 -o common.model";
    snapshot!(folder.run(learn), @"
    exit 0
    --- stderr
    learned from 4 images: hsv:32, murmur3-128; use it with --model common.model
    ");
    let with = folder.run("hash photos --recipe hsv --model common.model");
    let without = folder.run("hash photos --recipe hsv");
    assert_eq!((with.exit, without.exit), (0, 0), "{with}");
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
    snapshot!(folder.session([
        "compare scans/a.tif scans/again.tif",
        "compare scans/a.tif scans/longer.tif",
        "compare scans/a.tif scans/other.tif",
        "compare scans/a.tif scans/page.tif",
        "dedup scans --level copy -o kept",
    ]), @"
    $ lookalike compare scans/a.tif scans/again.tif
    exit 0
    distance    0 of 256 bits
    level       copy
    verdict     alike; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare scans/a.tif scans/longer.tif
    exit 0
    distance    49 of 256 bits
    level       similar
    verdict     alike; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare scans/a.tif scans/other.tif
    exit 0
    distance    49 of 256 bits
    level       similar
    verdict     alike; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike compare scans/a.tif scans/page.tif
    exit 0
    distance    49 of 256 bits
    level       similar
    verdict     alike; alike means distance <= 52 of 256 bits
    --- stderr
    comparing two images

    $ lookalike dedup scans --level copy -o kept
    exit 0
    --- stderr
    reading images of 5 files
    items    5
    groups   1, the largest of 2 items
    removed  1 (20.0 %): 1 copy
    kept     4 to kept
    found    exact
    time     [TIME]
    ");
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
    snapshot!(folder.session([
        "pairs photos --cache none --memory 16M",
        "pairs photos --cache none --memory 25M",
        "pairs photos --cache none --memory 1M",
    ]), @r#"
    $ lookalike pairs photos --cache none --memory 16M
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 5 files
    skipped photos/large.bmp: takes 25M to decode, more than --memory 16M allows; use --memory 25M or more
    4 items (1 skipped: 1 too large); 1 pair with distance <= 52 of 256 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs photos --cache none --memory 25M
    exit 0
    {"a":"photos/a.bmp","b":"photos/b.jpg","distance":16,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 5 files
    5 items; 1 pair with distance <= 52 of 256 bits; 0 groups of equal items; exact; 1 image with too little to compare, compared by content; [TIME]
    plan: [PLAN]

    $ lookalike pairs photos --cache none --memory 1M
    exit 2
    --- stderr
    error: --memory 1M is too little to decode images; the smallest that works is 16M
    "#);
}

#[test]
fn a_truncated_image_never_replaces_an_intact_one() {
    let folder = Folder::new();
    fs::create_dir(folder.path("scans")).unwrap();
    let whole = document(&[1, 2], b"");
    // The pixels of both pages and the first directory are there, the last one is not.
    fs::write(folder.path("scans/a.tif"), &whole[..whole.len() - 20]).unwrap();
    fs::write(folder.path("scans/b.tif"), &whole).unwrap();
    snapshot!(folder.run("dedup scans --level copy -o kept"), @"
    exit 0
    --- stderr
    reading images of 2 files
    skipped scans/a.tif: cut off: the TIFF ends too early
    items    1 (1 skipped: 1 broken)
    groups   none
    removed  0 (0.0 %)
    kept     1 and 1 record that could not be read to kept
    found    exact
    time     [TIME]
    ");
    assert!(folder.path("kept/b.tif").exists());
}
