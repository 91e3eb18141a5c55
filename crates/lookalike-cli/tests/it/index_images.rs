//! Collections of images: their settings stay, and a search says what `pairs` says.

use std::{collections::BTreeSet, fs};

use image::GrayImage;

use crate::run::{Folder, Ran};

/// A scene of its own for every seed: rectangles over a slope.
fn scene(seed: u32) -> GrayImage {
    let blot = |n: u32| {
        let mixed = (seed * 97 + n).wrapping_mul(0x9e37_79b9);
        (mixed % 400, (mixed >> 9) % 300, 8 + (mixed >> 18) % 24, mixed >> 24)
    };
    let blots: Vec<_> = (0..60).map(blot).collect();
    GrayImage::from_fn(400, 300, |x, y| {
        let over = |&&(left, top, side, _): &&(u32, u32, u32, u32)| {
            x.abs_diff(left) < side && y.abs_diff(top) < side
        };
        image::Luma([blots.iter().rev().find(over).map_or((x / 3 + y / 4) as u8, |it| it.3 as u8)])
    })
}

/// Scenes, and some of them turned, mirrored and cropped.
fn photos() -> Folder {
    use image::imageops::{crop_imm, flip_horizontal, rotate90};
    let folder = Folder::new();
    fs::create_dir(folder.path("photos")).unwrap();
    let put = |name: &str, photo: GrayImage| {
        photo.save(folder.path(&format!("photos/{name}.png"))).unwrap();
    };
    for seed in 1..5 {
        put(&format!("{seed}"), scene(seed));
    }
    put("1-turned", rotate90(&scene(1)));
    put("2-mirrored", flip_horizontal(&scene(2)));
    put("3-part", crop_imm(&scene(3), 60, 40, 260, 200).to_image());
    folder
}

/// Pairs of different items and how close they are, whichever of both comes first.
fn close(ran: &Ran, [one, two]: [&str; 2]) -> BTreeSet<[String; 5]> {
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let close = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].to_string();
        let (a, b) = (text(one), text(two));
        let figures = ["distance", "similarity", "level"].map(text);
        let [distance, similarity, level] = figures;
        (a != b).then(|| [a.clone().min(b.clone()), a.max(b), distance, similarity, level])
    };
    ran.stdout.lines().filter_map(close).collect()
}

#[test]
fn a_search_finds_what_pairs_finds_in_any_orientation_after_it_was_reopened() {
    let folder = photos();
    assert_eq!(folder.run("index add seen photos --quiet").exit, 0);
    for options in ["", "--orientations"] {
        let pairs = close(&folder.run(&format!("pairs photos {options}")), ["a", "b"]);
        let found = folder.run(&format!("index search seen photos {options}"));
        assert_eq!(close(&found, ["query", "match"]), pairs, "{options}");
        let turned = pairs.iter().filter(|pair| pair[..2].concat().contains("1-turned")).count();
        assert_eq!(turned, usize::from(!options.is_empty()));
        assert!(
            found.stderr.contains("; exact") || found.stderr.contains(", exact"),
            "{}",
            found.stderr
        );
    }
}

#[test]
fn a_search_by_parts_is_never_called_exact() {
    let folder = photos();
    assert_eq!(folder.run("index add seen photos --match partial --quiet").exit, 0);
    let pairs = close(&folder.run("pairs photos --match partial"), ["a", "b"]);
    let found = folder.run("index search seen photos --match partial");
    assert_eq!(close(&found, ["query", "match"]), pairs);
    assert!(pairs.iter().any(|pair| pair[..2].concat().contains("3-part")), "{pairs:?}");
    let said = "estimated recall 100 % of what votes on parts accept";
    assert!(found.stderr.contains(said) && !found.stderr.contains("exact"), "{}", found.stderr);
    let whole = folder.run("index search seen photos");
    assert!(whole.stderr.contains("exact"), "{}", whole.stderr);
}
