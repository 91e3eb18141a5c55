//! Images in folders: which one stays, what is done to the others, what is remembered and shown.
#![cfg(unix)]

use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use image::{Rgb, RgbImage};

use crate::run::{Folder, Ran, snapshot};

/// An image of hills, the same in any size; another `seed` makes other hills.
fn hills(width: u32, height: u32, seed: u32) -> RgbImage {
    // Heights at the crossings of a coarse net, and straight slopes between.
    let height_at = |x: u32, y: u32| {
        // Mixed twice: after one multiplication, hills of two seeds are the same up to a constant.
        let mixed = (x * 73 + y * 179 + seed * 283 + 7).wrapping_mul(2_654_435_761);
        f64::from((mixed ^ mixed >> 15).wrapping_mul(2_246_822_519) >> 24)
    };
    let slope = |at: f64| (at.floor() as u32, at.fract());
    RgbImage::from_fn(width, height, |x, y| {
        let place = |at: u32, of: u32| slope((f64::from(at) + 0.5) / f64::from(of) * 14.0);
        let ((left, right_part), (top, low_part)) = (place(x, width), place(y, height));
        let across =
            |y: u32| height_at(left, y) * (1.0 - right_part) + height_at(left + 1, y) * right_part;
        let light = across(top) * (1.0 - low_part) + across(top + 1) * low_part;
        Rgb([light as u8, (light * 0.8) as u8, (255.0 - light) as u8])
    })
}

/// Large, small and equal images of one thing, and one of another; all but the newest an hour old.
fn photos() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/copies")).unwrap();
    let path = |name: &str| folder.path("in").join(name);
    hills(160, 120, 1).save(path("a small.png")).unwrap();
    hills(480, 360, 1).save(path("copies/large.png")).unwrap();
    hills(480, 360, 1).save(path("copies/large.jpg")).unwrap();
    fs::copy(path("a small.png"), path("copies/same.png")).unwrap();
    hills(300, 200, 5).save(path("other.bmp")).unwrap();
    fs::write(path("notes.txt"), "no image").unwrap();
    age(&folder);
    folder
}

/// Makes every file an hour old, so that it is worth remembering.
fn age(folder: &Folder) {
    let old = SystemTime::now() - Duration::from_secs(3_600);
    for name in
        ["a small.png", "copies/large.png", "copies/large.jpg", "copies/same.png", "other.bmp"]
    {
        let file = File::options().write(true).open(folder.path("in").join(name)).unwrap();
        file.set_modified(old).unwrap();
    }
}

#[track_caller]
fn done(ran: Ran) -> Ran {
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran
}

fn names(folder: &Folder, below: &str) -> String {
    let mut names = Vec::new();
    let mut folders = vec![folder.path(below)];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                names.push(path.strip_prefix(folder.path(below)).unwrap().display().to_string());
            }
        }
    }
    names.sort();
    names.join(", ")
}

#[test]
fn the_best_image_stays_and_the_others_are_moved_and_brought_back() {
    let folder = photos();
    let before = names(&folder, "in");
    let large = fs::metadata(folder.path("in/copies/large.png")).unwrap().len();
    let jpeg = fs::metadata(folder.path("in/copies/large.jpg")).unwrap().len();
    let best = if large > jpeg { "large.png" } else { "large.jpg" };
    done(folder.run("dedup in --keep best --move gone --journal j"));
    assert_eq!(names(&folder, "in"), format!("copies/{best}, notes.txt, other.bmp"));
    done(folder.run("undo j"));
    assert_eq!(names(&folder, "in"), before);
    done(folder.run("dedup in --keep path:same.png,best --trash --journal k"));
    assert_eq!(names(&folder, "in"), "copies/same.png, notes.txt, other.bmp");
    done(folder.run("undo k"));
    assert_eq!(names(&folder, "in"), before);
}

#[test]
fn equal_images_are_linked_though_another_is_kept() {
    let folder = photos();
    snapshot!(folder.run("dedup in --keep best --link --journal j"), @"
    exit 0
    --- stderr
    reading images in 6 files
    note: ignored 1 file without image data
    in/a small.png: is similar to in/copies/large.png, but not equal; not linked
    in/copies/large.jpg: is similar to in/copies/large.png, but not equal; not linked
    items    5
    groups   1, the largest of 4 items
    removed  3 (60.0 %): 3 copy
    kept     2
    found    exact
    acted    1 file, 31.0 KiB, linked
    left     2 files unchanged
    journal  to undo: lookalike undo [FOLDER]/j
    time     [TIME]
    ");
    use std::os::unix::fs::MetadataExt;
    let inode = |name: &str| folder.path("in").join(name).metadata().unwrap().ino();
    assert_eq!(inode("a small.png"), inode("copies/same.png"));
    // Names of one file are one image.
    snapshot!(folder.run("dedup in"), @"
    exit 0
    --- stderr
    reading images in 5 files
    note: ignored in in: 1 hard link to files already listed
    note: ignored 1 file without image data
    items    4
    groups   1, the largest of 3 items
    removed  would remove 2 (50.0 %): 2 copy
    kept     2
    found    exact
    time     [TIME]
    nothing written; use -o KEPT to write what is kept, --report FILE.html to see the groups
    ");
}

/// The fingerprints, and what was read from the cache: files that can no longer be decoded.
fn hashes(folder: &Folder, arguments: &str) -> String {
    done(folder.run(&format!("hash in {arguments} --quiet"))).stdout
}

#[test]
fn a_second_run_decodes_nothing_that_did_not_change() {
    let folder = photos();
    let cold = hashes(&folder, "");
    assert_eq!(cold.lines().count(), 5);
    let cache = folder.home(".cache/lookalike/images.cache");
    let size = fs::metadata(&cache).unwrap().len();
    assert_eq!(hashes(&folder, ""), cold);
    // Nothing was added, so everything was found.
    assert_eq!(fs::metadata(&cache).unwrap().len(), size);
    assert_eq!(hashes(&folder, "--cache none"), cold);
    // Another image in the place of one, of the same size and age.
    let other = fs::read(folder.path("in/other.bmp")).unwrap();
    let (head, pixels) = other.split_at(54);
    let turned = [head, &pixels.iter().rev().copied().collect::<Vec<_>>()].concat();
    fs::write(folder.path("in/other.bmp"), turned).unwrap();
    age(&folder);
    let changed = hashes(&folder, "");
    assert_eq!(changed, hashes(&folder, "--cache none"));
    assert_ne!(changed, cold);
}

#[test]
fn a_file_that_was_just_written_is_decoded_again() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    hills(100, 100, 1).save(folder.path("in/a.png")).unwrap();
    hashes(&folder, "--cache c");
    hills(100, 100, 9).save(folder.path("in/a.png")).unwrap();
    assert_eq!(hashes(&folder, "--cache c"), hashes(&folder, "--cache none"));
}

#[test]
fn a_cache_that_is_broken_or_cannot_be_written_stops_nothing() {
    let folder = photos();
    let cold = hashes(&folder, "--cache none");
    hashes(&folder, "--cache c");
    let mut damaged = fs::read(folder.path("c")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(folder.path("c"), &damaged[..damaged.len() - 3]).unwrap();
    assert_eq!(hashes(&folder, "--cache c"), cold);
    assert_eq!(hashes(&folder, "--cache in/notes.txt"), cold);
    assert_eq!(folder.read("in/notes.txt"), "no image");
    snapshot!(folder.run("dedup in --cache in/notes.txt/c"), @"
    exit 0
    --- stderr
    reading images in 6 files
    note: cannot use the cache in/notes.txt/c: File exists (os error 17)
    note: ignored 1 file without image data
    items    5
    groups   1, the largest of 4 items
    removed  would remove 3 (60.0 %): 3 copy
    kept     2
    found    exact
    time     [TIME]
    nothing written; use -o KEPT to write what is kept, --report FILE.html to see the groups
    ");
}

#[test]
fn the_report_shows_the_images_it_has_read() {
    let folder = photos();
    done(folder.run("dedup in --keep best --report r.html"));
    let page = folder.read("r.html");
    assert_eq!(page.matches("\"image\":{").count(), 4);
    // A JPEG of our own making, whatever the file was.
    assert_eq!(page.matches("\"data\":\"/9j/").count(), 4);
    assert!(page.contains("\"width\":480,\"height\":360,"));
    // Why one was kept: what it has, and what the best of the others has.
    assert!(page.contains("the most pixels, then bytes: 480 × 360, "));
    assert!(page.contains(", compared with at most 480 × 360, "));
}

#[test]
fn rules_for_texts_are_refused_for_images() {
    snapshot!(photos().run("dedup in --keep longest"), @"
    exit 2
    --- stderr
    reading images in 6 files
    error: --keep longest is for texts; for images use best or largest
    ");
}

#[test]
fn a_collection_finds_images_it_has_seen() {
    let folder = Folder::new();
    fs::create_dir(folder.path("old")).unwrap();
    fs::create_dir(folder.path("new")).unwrap();
    hills(160, 120, 1).save(folder.path("old/a.png")).unwrap();
    hills(160, 120, 2).save(folder.path("old/b.png")).unwrap();
    hills(320, 240, 1).save(folder.path("new/larger.jpg")).unwrap();
    let turned = image::imageops::rotate90(&hills(160, 120, 1));
    turned.save(folder.path("new/turned.png")).unwrap();
    snapshot!(folder.session([
        "index add seen old",
        "index search seen new/larger.jpg",
        "index search seen new/turned.png",
        "index search seen new/turned.png --orientations",
        "dedup new --against seen --removed - -o kept",
        "dedup new --against seen --orientations --max-remove 1 -o upright",
    ]), @r#"
    $ lookalike index add seen old
    exit 0
    {"id":"old/a.png","status":"added","match":null,"reason":null}
    {"id":"old/b.png","status":"added","match":null,"reason":null}
    --- stderr
    seen: created a collection of images (pdq: 256 bits, version 1, orientations), searched with distance <= 52 of 256 bits, in any orientation
    reading images in 2 files
    2 items; 2 items added; 2 items in the collection; [TIME]

    $ lookalike index search seen new/larger.jpg
    exit 0
    {"query":"new/larger.jpg","match":"old/a.png","distance":24,"similarity":null,"level":"copy"}
    --- stderr
    reading the image new/larger.jpg
    1 item; 1 match with distance <= 52 of 256 bits, exact; 0 items without a match; [TIME]

    $ lookalike index search seen new/turned.png
    exit 0
    --- stderr
    reading the image new/turned.png
    1 item; 0 matches with distance <= 52 of 256 bits, exact; 1 item without a match; [TIME]

    $ lookalike index search seen new/turned.png --orientations
    exit 0
    {"query":"new/turned.png","match":"old/a.png","distance":0,"similarity":null,"level":"copy"}
    --- stderr
    reading the image new/turned.png
    1 item; 1 match with distance <= 52 of 256 bits, in any orientation, exact; 0 items without a match; [TIME]

    $ lookalike dedup new --against seen --removed - -o kept
    exit 0
    {"id":"new/larger.jpg","keep":"old/a.png","distance":24,"similarity":null,"level":"copy"}
    --- stderr
    reading images in 2 files
    against the collection seen
    items    2
    groups   1, the largest of 2 items
    removed  1 (50.0 %): 1 copy
    kept     1 to kept
    found    exact
    time     [TIME]

    $ lookalike dedup new --against seen --orientations --max-remove 1 -o upright
    exit 0
    --- stderr
    reading images in 2 files
    against the collection seen
    items    2
    groups   1, the largest of 3 items
    removed  2 (100.0 %): 2 copy
    kept     0 to upright
    found    exact
    time     [TIME]
    "#);
    assert_eq!(names(&folder, "kept"), "turned.png");
    assert_eq!(names(&folder, "upright"), "");
}

#[test]
fn every_command_tells_the_same_distance_of_turned_images() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    for seed in 1..=4 {
        use image::imageops::{flip_horizontal, rotate90, rotate270};
        let one = hills(150, 110, seed);
        let turned = [rotate90(&one), flip_horizontal(&one), rotate270(&one), one];
        for (number, image) in turned.iter().enumerate() {
            image.save(folder.path("in").join(format!("{seed}-{number}.png"))).unwrap();
        }
    }
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let ran = done(folder.run("pairs in --orientations --distance 72"));
    let pairs: std::collections::BTreeMap<_, _> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|pair| ((text(&pair["a"]), text(&pair["b"])), pair["distance"].as_u64().unwrap()))
        .collect();
    assert!(pairs.len() >= 4 * 6, "{}", ran.stdout);

    done(folder.run("index add seen in --max-distance 72"));
    let ran = done(folder.run("index search seen in --orientations --distance 72 --limit 100"));
    let mut found = 0;
    for line in ran.stdout.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (query, id) = (text(&line["query"]), text(&line["match"]));
        if query != id {
            let pair = (query.clone().min(id.clone()), query.max(id));
            assert_eq!(Some(&line["distance"].as_u64().unwrap()), pairs.get(&pair), "{pair:?}");
            found += 1;
        }
    }
    assert_eq!(found, 2 * pairs.len());

    for ((a, b), distance) in &pairs {
        for (one, two) in [(a, b), (b, a)] {
            let ran =
                folder.run(&format!("compare {one} {two} --orientations --distance 72 --json"));
            let compared: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(compared["distance"].as_u64(), Some(*distance), "{one} {two}");
            assert_eq!(ran.exit, 0, "{one} {two}");
        }
    }
}

#[test]
fn a_collection_that_keeps_parts_finds_crops() {
    let folder = Folder::new();
    fs::create_dir(folder.path("old")).unwrap();
    for seed in 1..=4 {
        hills(480, 360, seed).save(folder.path("old").join(format!("{seed}.png"))).unwrap();
    }
    let crop = image::imageops::crop_imm(&hills(480, 360, 2), 150, 60, 300, 240).to_image();
    crop.save(folder.path("crop.png")).unwrap();
    image::imageops::flip_horizontal(&hills(240, 180, 3)).save(folder.path("flip.png")).unwrap();
    hills(480, 360, 9).save(folder.path("other.png")).unwrap();

    snapshot!(folder.session([
        "index add whole old",
        "index search whole crop.png --match partial",
        "index add whole old --match partial",
    ]), @r#"
    $ lookalike index add whole old
    exit 0
    {"id":"old/1.png","status":"added","match":null,"reason":null}
    {"id":"old/2.png","status":"added","match":null,"reason":null}
    {"id":"old/3.png","status":"added","match":null,"reason":null}
    {"id":"old/4.png","status":"added","match":null,"reason":null}
    --- stderr
    whole: created a collection of images (pdq: 256 bits, version 1, orientations), searched with distance <= 52 of 256 bits, in any orientation
    reading images in 4 files
    4 items; 4 items added; 4 items in the collection; [TIME]

    $ lookalike index search whole crop.png --match partial
    exit 2
    --- stderr
    error: --match partial: these digests have no parts; create the collection with --match partial

    $ lookalike index add whole old --match partial
    exit 2
    --- stderr
    error: --match partial: the collection was created without it; create a new one
    "#);

    done(folder.run("index add seen old --match partial"));
    assert_eq!(found(&folder, "seen crop.png"), "");
    assert_eq!(found(&folder, "seen crop.png --match partial"), "old/2.png part");
    assert_eq!(found(&folder, "seen flip.png --match partial"), "old/3.png copy");
    assert_eq!(found(&folder, "seen old/1.png --match partial"), "old/1.png copy");
    assert_eq!(found(&folder, "seen other.png --match partial"), "");

    // The tables of parts follow the collection, and are made again if they are lost.
    done(folder.run("index remove seen old/2.png"));
    assert_eq!(found(&folder, "seen crop.png --match partial"), "");
    done(folder.run("index add seen old"));
    assert_eq!(found(&folder, "seen crop.png --match partial"), "old/2.png part");
    done(folder.run("index compact seen"));
    let tables = fs::read_dir(folder.path("seen/runs")).unwrap();
    tables.for_each(|table| fs::remove_file(table.unwrap().path()).unwrap());
    assert_eq!(found(&folder, "seen crop.png --match partial"), "old/2.png part");
    done(folder.run("index backup seen copy"));
    assert_eq!(found(&folder, "copy crop.png --match partial"), "old/2.png part");
    done(folder.run("index verify copy"));
    done(folder.run("index export seen -o all.jsonl"));
    done(folder.run("index create new --kind image --match partial"));
    done(folder.run("index import new all.jsonl"));
    assert_eq!(found(&folder, "new crop.png --match partial"), "old/2.png part");
}

/// What a search finds: ids and levels.
fn found(folder: &Folder, arguments: &str) -> String {
    let ran = done(folder.run(&format!("index search {arguments}")));
    let line = |line: &str| {
        let found: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {}", found["match"].as_str().unwrap(), found["level"].as_str().unwrap())
    };
    ran.stdout.lines().map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn images_of_formats_that_are_not_read_are_named() {
    let folder = photos();
    for (name, brand) in [("phone.heic", "heic"), ("web.avif", "avif")] {
        let content = [b"\0\0\0\x18ftyp", brand.as_bytes(), &[0; 64]].concat();
        fs::write(folder.path("in").join(name), content).unwrap();
    }
    snapshot!(folder.run("dedup in"), @"
    exit 0
    --- stderr
    reading images in 8 files
    note: ignored 1 file without image data
    skipped in/phone.heic: HEIC is not supported; convert it to JPEG, PNG or WebP
    skipped in/web.avif: AVIF is not supported; convert it to JPEG, PNG or WebP
    items    5 (2 skipped: 2 of a format that is not read)
    groups   1, the largest of 4 items
    removed  would remove 3 (60.0 %): 3 copy
    kept     2
    found    exact
    time     [TIME]
    nothing written; use -o KEPT to write what is kept, --report FILE.html to see the groups
    ");
}
