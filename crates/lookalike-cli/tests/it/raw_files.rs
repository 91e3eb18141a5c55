//! RAW files, originals and their copies: which one stays, and what never goes.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use image::{DynamicImage, Rgb, RgbImage, codecs::jpeg::JpegEncoder, imageops::FilterType};
use libm::sinf;

use crate::run::{Folder, Ran, snapshot};

/// A scene, the same in any size; another `seed` makes another.
fn scene(width: u32, height: u32, seed: u32) -> RgbImage {
    let waves: Vec<[f32; 3]> = (0..40)
        .map(|wave: u32| {
            [1, 2, 3].map(|part: u32| {
                let mixed = (wave * 31 + part * 7 + seed * 1009).wrapping_mul(2_654_435_761);
                ((mixed ^ mixed >> 15).wrapping_mul(2_246_822_519) >> 16) as f32 / 65_536.0
            })
        })
        .collect();
    RgbImage::from_fn(width, height, |x, y| {
        let [x, y] = [(x, width), (y, height)].map(|(at, of)| at as f32 / of as f32);
        let wave =
            |[a, b, c]: &[f32; 3]| sinf(6.3 * (8.0 * a * x + (16.0 * b - 8.0) * y + c)) * 12.0;
        let light = 128.0 + waves.iter().map(wave).sum::<f32>();
        Rgb([light, 0.9 * light, 250.0 - 0.9 * light].map(|value| value.clamp(0.0, 255.0) as u8))
    })
}

fn jpeg(image: &RgbImage, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(image).unwrap();
    bytes
}

/// A value of a tag: a number, where some bytes are, or text.
enum Value<'a> {
    Long(u32),
    At(&'a [u8]),
    Text(&'a str),
}

/// Appends a directory behind what it needs; tells where it is.
fn directory(bytes: &mut Vec<u8>, tags: &[(u16, Value<'_>)]) -> u32 {
    let put = |bytes: &mut Vec<u8>, content: &[u8]| {
        let place = bytes.len() as u32;
        bytes.extend(content);
        place
    };
    let mut entries = (tags.len() as u16).to_le_bytes().to_vec();
    for (tag, value) in tags {
        let (kind, count, value) = match value {
            Value::Long(value) => (4_u16, 1, *value),
            Value::At(content) => (4, 1, put(bytes, content)),
            Value::Text(text) => {
                (2, text.len() as u32 + 1, put(bytes, &[text.as_bytes(), &[0; 4]].concat()))
            }
        };
        entries.extend(tag.to_le_bytes());
        entries.extend(kind.to_le_bytes());
        entries.extend([count, value].map(u32::to_le_bytes).concat());
    }
    put(bytes, &[&entries[..], &[0; 4]].concat())
}

/// A RAW file: a thumbnail of something else first; then a preview, and sensor data of 1200 x 900.
fn raw(preview: &[u8], taken: &str) -> Vec<u8> {
    use Value::{At, Long, Text};
    let mut bytes = b"II*\0\0\0\0\0".to_vec();
    let below = [
        directory(
            &mut bytes,
            &[(0x103, Long(6)), (0x201, At(preview)), (0x202, Long(preview.len() as u32))],
        ),
        directory(
            &mut bytes,
            &[
                (0x100, Long(1200)),
                (0x101, Long(900)),
                (0x103, Long(34_713)),
                (0x106, Long(32_803)),
                (0x111, At(&[9; 5_000])),
                (0x117, Long(5_000)),
            ],
        ),
    ];
    let exif = directory(&mut bytes, &[(0x9003, Text(taken))]);
    // The offsets of both, as two numbers of one tag.
    let list = bytes.len() as u32;
    bytes.extend(below.map(u32::to_le_bytes).concat());
    let thumbnail = scene(160, 120, 77).into_raw();
    let first = directory(
        &mut bytes,
        &[
            (0x100, Long(160)),
            (0x101, Long(120)),
            (0x106, Long(2)),
            (0x10F, Text("NIKON CORPORATION")),
            (0x111, At(&thumbnail)),
            (0x117, Long(thumbnail.len() as u32)),
            (0x14A, Long(list)),
            (0x8769, Long(exif)),
        ],
    );
    bytes[4..8].copy_from_slice(&first.to_le_bytes());
    // Two sub-directories: the count of that tag.
    let tag = first as usize + 2 + 6 * 12;
    bytes[tag + 4..tag + 8].copy_from_slice(&2_u32.to_le_bytes());
    bytes
}

/// A JPEG with EXIF: what made it, when it was taken, and when it was changed.
fn with_exif(jpeg: &[u8], software: &str, taken: &str, changed: &str) -> Vec<u8> {
    use Value::{Long, Text};
    let mut block = b"II*\0\0\0\0\0".to_vec();
    let exif = directory(&mut block, &[(0x9003, Text(taken))]);
    let first = directory(
        &mut block,
        &[
            (0x10F, Text("NIKON CORPORATION")),
            (0x131, Text(software)),
            (0x132, Text(changed)),
            (0x8769, Long(exif)),
        ],
    );
    block[4..8].copy_from_slice(&first.to_le_bytes());
    let length = (block.len() + 8) as u16;
    [&jpeg[..2], b"\xFF\xE1", &length.to_be_bytes(), b"Exif\0\0", &block, &jpeg[2..]].concat()
}

const TAKEN: &str = "2021:05:01 10:00:00";

/// A folder of files with these contents.
fn files(files: &[(&str, &[u8])]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        let path = folder.path("in").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

#[track_caller]
fn done(ran: Ran) -> Ran {
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran
}

/// What `dedup` removes, and for what: `removed < kept`, line by line.
#[track_caller]
fn removed(folder: &Folder, options: &str) -> Vec<String> {
    done(folder.run(&format!("dedup in --max-remove 1 --removed gone.jsonl --force {options}")));
    let name = |value: &serde_json::Value| value.as_str().unwrap().replacen("in/", "", 1);
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} < {}", name(&line["id"]), name(&line["keep"]))
    };
    folder.read("gone.jsonl").lines().map(line).collect()
}

/// A RAW file, and what a program made of it: of more pixels than its preview, and of more bytes.
fn raw_and_export() -> Folder {
    let preview = jpeg(&scene(640, 480, 1), 80);
    let export = jpeg(&scene(1200, 900, 1), 99);
    files(&[("a/export.jpg", &export), ("b/P1.NEF", &raw(&preview, TAKEN))])
}

#[test]
fn a_raw_file_is_kept_before_what_was_made_of_it() {
    let folder = raw_and_export();
    assert_eq!(removed(&folder, ""), ["a/export.jpg < b/P1.NEF"]);
    snapshot!(folder.run("pairs in"), @r#"
    exit 0
    {"a":"in/a/export.jpg","b":"in/b/P1.NEF","distance":2,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 2 files
    2 items; 1 pair with distance <= 52 of 256 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn a_raw_file_is_never_removed_for_another_format_whatever_the_rule() {
    let folder = raw_and_export();
    let rules = ["first", "largest", "newest", "path:a", "path:a,best"];
    for rule in rules {
        for group in ["star", "connected"] {
            let options = format!("--keep {rule} --group {group}");
            assert_eq!(removed(&folder, &options), [""; 0], "{options}");
        }
    }
    snapshot!(folder.run("dedup in --keep first --delete"), @"
    exit 0
    --- stderr
    reading images of 2 files
    items    2
    groups   none
    removed  0 (0.0 %)
    kept     2
    raw      1 RAW file, though alike a kept image that is not RAW stay
    found    exact
    acted    0 files, 0 B, deleted
    time     [TIME]
    ");
    assert!(folder.path("in/b/P1.NEF").exists() && folder.path("in/a/export.jpg").exists());
    // Nor for one of another set; another RAW file is as good.
    fs::create_dir(folder.path("other")).unwrap();
    fs::copy(folder.path("in/a/export.jpg"), folder.path("other/x.jpg")).unwrap();
    assert_eq!(removed(&folder, "--against other"), ["a/export.jpg < other/x.jpg"]);
    done(folder.run("index add seen other"));
    assert_eq!(removed(&folder, "--against seen"), ["a/export.jpg < other/x.jpg"]);
    fs::copy(folder.path("in/b/P1.NEF"), folder.path("other/y.nef")).unwrap();
    assert_eq!(removed(&folder, "--against other").len(), 2);
}

#[test]
fn a_raw_file_and_the_jpeg_beside_it_are_listed_but_never_grouped() {
    let large = scene(640, 480, 1);
    let camera = jpeg(&large, 90);
    let small =
        jpeg(&DynamicImage::ImageRgb8(large).resize(320, 240, FilterType::Triangle).to_rgb8(), 85);
    let folder = files(&[
        ("P1.JPG", &camera),
        ("P1.nef", &raw(&camera, TAKEN)),
        ("copies/P1 copy.JPG", &camera),
        ("small.jpg", &small),
    ]);
    snapshot!(folder.session(["pairs in", "dedup in"]), @r#"
    $ lookalike pairs in
    exit 0
    {"a":"in/P1.JPG","b":"in/P1.nef","distance":0,"similarity":null,"level":"copy"}
    {"a":"in/P1.JPG","b":"in/copies/P1 copy.JPG","distance":0,"similarity":null,"level":"copy"}
    {"a":"in/P1.JPG","b":"in/small.jpg","distance":2,"similarity":null,"level":"copy"}
    {"a":"in/P1.nef","b":"in/copies/P1 copy.JPG","distance":0,"similarity":null,"level":"copy"}
    {"a":"in/P1.nef","b":"in/small.jpg","distance":2,"similarity":null,"level":"copy"}
    {"a":"in/copies/P1 copy.JPG","b":"in/small.jpg","distance":2,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 4 files
    4 items; 6 pairs with distance <= 52 of 256 bits; 1 group of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike dedup in
    exit 0
    --- stderr
    reading images of 4 files
    items    4
    groups   2, the largest of 2 items
    removed  would remove 2 (50.0 %): 2 copy
    kept     2
    raw      1 RAW file and the image of the same name beside it stay
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups
    "#);
    let stays = |gone: &[String]| gone.iter().all(|line| !line.starts_with("P1."));
    for options in ["", "--keep first", "--keep last", "--group connected", "--keep path:small.jpg"]
    {
        let gone = removed(&folder, options);
        let twins = gone.iter().filter(|line| line.contains("P1.JPG") && line.contains("P1.nef"));
        assert_eq!(twins.count(), 0, "{options}: {gone:?}");
        assert!(!gone.iter().any(|line| line.starts_with("P1.nef")), "{options}: {gone:?}");
        assert!(!options.is_empty() || stays(&gone) && gone.len() == 2, "{gone:?}");
    }
}

#[test]
fn a_raw_file_without_a_usable_preview_is_skipped_and_named() {
    let photo = jpeg(&scene(640, 480, 1), 90);
    let cut = raw(&photo, TAKEN);
    let folder = files(&[
        ("bare.nef", &raw(&jpeg(&scene(160, 120, 1), 80), TAKEN)),
        ("cut.nef", &cut[..3 * cut.len() / 4]),
        ("photo.jpg", &photo),
    ]);
    snapshot!(folder.run("pairs in"), @"
    exit 0
    --- stderr
    reading images of 3 files
    skipped in/bare.nef: NEF without a preview large enough to compare; convert it to DNG with a preview
    skipped in/cut.nef: cut off: the NEF ends too early
    1 item (2 skipped: 2 broken); 0 pairs with distance <= 52 of 256 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    ");
}

#[test]
fn an_original_stays_before_its_edited_and_saved_again_copies() {
    let photo = scene(480, 360, 1);
    let original = with_exif(&jpeg(&photo, 80), "Ver.1.10", TAKEN, TAKEN);
    let edited = with_exif(&jpeg(&photo, 99), "Adobe Photoshop 25.0", TAKEN, TAKEN);
    let later = with_exif(&jpeg(&photo, 97), "Ver.1.10", TAKEN, "2021:05:02 09:00:00");
    // Larger, without a word of where it comes from.
    let bare = jpeg(&scene(960, 720, 1), 95);
    let folder = files(&[
        ("1 edited.jpg", &edited),
        ("2 later.jpg", &later),
        ("3 bare.jpg", &bare),
        ("4 original.jpg", &original),
    ]);
    let expected =
        ["1 edited", "2 later", "3 bare"].map(|name| format!("{name}.jpg < 4 original.jpg"));
    assert_eq!(removed(&folder, ""), expected);
    let expected =
        ["1 edited", "2 later", "4 original"].map(|name| format!("{name}.jpg < 3 bare.jpg"));
    assert_eq!(removed(&folder, "--keep path:*bare*"), expected);
}

#[test]
fn of_equal_files_the_plainer_name_stays_and_lossless_before_lossy() {
    let photo = jpeg(&scene(480, 360, 1), 80);
    let folder = files(&[("P1000007 copy.jpg", &photo), ("P1000007.JPG", &photo)]);
    assert_eq!(removed(&folder, ""), ["P1000007 copy.jpg < P1000007.JPG"]);
    // A large JPEG, a smaller PNG of the same pixels, and a thumbnail without loss.
    let folder = files(&[("a.jpg", &photo)]);
    let flat = image::load_from_memory(&photo).unwrap();
    flat.save(folder.path("in/b.png")).unwrap();
    flat.resize(240, 180, FilterType::Triangle).save(folder.path("in/c.png")).unwrap();
    assert_eq!(removed(&folder, ""), ["a.jpg < b.png", "c.png < b.png"]);
    fs::remove_file(folder.path("in/b.png")).unwrap();
    assert_eq!(removed(&folder, ""), ["c.png < a.jpg"]);
}

#[test]
fn dates_of_exif_decide_before_those_of_files_with_and_without_a_cache() {
    let photo = scene(480, 360, 1);
    let dated = |quality, taken| with_exif(&jpeg(&photo, quality), "Ver.1.10", taken, taken);
    let folder = files(&[
        ("new.jpg", &dated(90, "2022:01:01 00:00:00")),
        ("old.jpg", &dated(80, "2001:01:01 00:00:00")),
        ("none.jpg", &jpeg(&photo, 70)),
        ("raw.nef", &raw(&jpeg(&photo, 60), "2023:01:01 00:00:00")),
    ]);
    for (name, hours) in [("new.jpg", 3), ("old.jpg", 1), ("none.jpg", 200_000), ("raw.nef", 4)] {
        let time = SystemTime::now() - Duration::from_secs(3_600 * hours);
        let file = File::options().write(true).open(folder.path("in").join(name)).unwrap();
        file.set_modified(time).unwrap();
    }
    for cache in ["none", "c", "c"] {
        let gone = |rule: &str| removed(&folder, &format!("--keep {rule} --cache {cache}"));
        let kept_for = |keep: &str, gone: [&str; 3]| gone.map(|name| format!("{name} < {keep}"));
        assert_eq!(gone("newest"), kept_for("raw.nef", ["new.jpg", "none.jpg", "old.jpg"]));
        assert_eq!(gone("best"), kept_for("raw.nef", ["new.jpg", "none.jpg", "old.jpg"]));
        // The RAW file stays, too.
        assert_eq!(gone("oldest"), ["new.jpg < old.jpg", "none.jpg < old.jpg"]);
        assert_eq!(gone("path:*.jpg,newest"), ["none.jpg < new.jpg", "old.jpg < new.jpg"]);
    }
    assert!(Path::new(&folder.path("c")).exists());
}

#[test]
fn sidecars_follow_their_image_and_come_back_with_it() {
    let (photo, small) = (jpeg(&scene(640, 480, 1), 90), jpeg(&scene(320, 240, 1), 90));
    let all: [(&str, &[u8]); 8] = [
        ("large.jpg", &photo),
        ("large.xmp", b"of the large one"),
        ("sub/small.jpg", &small),
        ("sub/small.xmp", b"of the small one"),
        ("sub/small.jpg.xmp", b"of the small one, too"),
        ("sub/twin.jpg", &small),
        ("sub/twin.mov", b"stays, and uses it"),
        ("sub/twin.xmp", b"of both"),
    ];
    let folder = files(&all);
    let there = || all.map(|(name, _)| folder.path("in").join(name).exists());
    let after = [true, true, false, false, false, false, true, true];
    for act in ["--move gone", "--trash"] {
        done(folder.run(&format!("dedup in --max-remove 1 {act} --journal j")));
        assert_eq!(there(), after, "{act}");
        assert!(act == "--trash" || folder.read("gone/sub/small.xmp") == "of the small one");
        done(folder.run("undo j"));
        assert_eq!(there(), [true; 8], "{act}");
        fs::remove_file(folder.path("j")).unwrap();
    }
    done(folder.run("dedup in --max-remove 1 -o kept"));
    let kept = all.map(|(name, _)| folder.path("kept").join(name).exists());
    assert_eq!(kept, after);
    // A file that is named brings its sidecar along.
    done(folder.run("dedup in/large.jpg in/sub/small.jpg --max-remove 1 -o named"));
    assert_eq!(folder.read("named/large.xmp"), "of the large one");
    assert!(!folder.path("named/small.xmp").exists());
    snapshot!(folder.run("dedup in --max-remove 1 --delete"), @"
    exit 0
    --- stderr
    reading images of 8 files
    note: 5 files are no images, and left out
    items    3
    groups   1, the largest of 3 items
    removed  2 (66.7 %): 2 copy
    kept     1
    found    exact
    acted    4 files, 43.3 KiB, deleted
    journal  [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl
    time     [TIME]
    ");
    assert_eq!(there(), after);
}
