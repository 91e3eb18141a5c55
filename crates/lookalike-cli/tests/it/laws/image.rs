//! Images, each a file of its own.

use std::{collections::BTreeMap, fs, io::Cursor};

use image::{DynamicImage, GrayImage, ImageFormat, Luma, codecs::jpeg::JpegEncoder, imageops};
use serde_json::Value;

use super::{
    adapter::{Adapter, Closeness, Command, Figures, Item, Kept, Threshold, closeness},
    seeded::Seeded,
};
use crate::run::Folder;

/// How images are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Images {
    Upright,
    AnyOrientation,
    Partial,
}

impl Adapter for Images {
    fn memory_limits(&self) -> [&'static str; 2] {
        ["16M", "17M"]
    }

    fn arguments(&self, command: Command) -> &'static str {
        match (command, self) {
            (Command::Hash, _) => "--kind image --cache none",
            (Command::Compare, Self::Upright) => "--kind image",
            (Command::Compare, Self::AnyOrientation) => "--kind image --orientations",
            (Command::Compare, Self::Partial) => "--kind image --match partial",
            (Command::Pairs, Self::Upright) => "--kind image --cache none --equal all",
            (Command::Pairs, Self::AnyOrientation) => {
                "--kind image --cache none --equal all --orientations"
            }
            (Command::Pairs, Self::Partial) => {
                "--kind image --cache none --equal all --match partial"
            }
            (Command::Dedup | Command::DedupAgainst, Self::Upright) => {
                "--kind image --cache none --level similar"
            }
            (Command::Dedup | Command::DedupAgainst, Self::AnyOrientation) => {
                "--kind image --cache none --orientations --level similar"
            }
            (Command::Dedup | Command::DedupAgainst, Self::Partial) => {
                "--kind image --cache none --match partial --level part"
            }
            (Command::Add, Self::Upright | Self::AnyOrientation) => "--kind image",
            (Command::Add, Self::Partial) => "--kind image --match partial",
            (Command::AddUnlessNear, Self::Upright) => "--kind image --skip-near --level similar",
            (Command::AddUnlessNear, Self::AnyOrientation) => {
                "--kind image --skip-near --level similar --orientations"
            }
            (Command::AddUnlessNear, Self::Partial) => {
                "--kind image --match partial --skip-near --level part"
            }
            (Command::Search, Self::Upright) => "",
            (Command::Search, Self::AnyOrientation) => "--orientations",
            (Command::Search, Self::Partial) => "--match partial",
        }
    }

    fn thresholds(&self) -> [Threshold; 2] {
        let loosest = match self {
            Self::Upright | Self::AnyOrientation => "--level similar",
            Self::Partial => "--level part",
        };
        let is_copy = |figures: &Figures| distance(figures).is_some_and(|distance| distance <= 31);
        [(loosest, |_| true), ("--level copy", is_copy)]
    }

    fn write(&self, folder: &Folder, name: &str, records: &[&Item], _: bool) -> String {
        fs::create_dir(folder.path(name)).unwrap();
        let mut paths = Vec::new();
        for Item { id, content, .. } in records {
            let path = format!("{name}/{id}");
            fs::write(folder.path(&path), content).unwrap();
            paths.push(path);
        }
        paths.join(" ")
    }

    fn id(&self, printed: &str) -> String {
        printed.rsplit('/').next().unwrap_or(printed).to_owned()
    }

    fn kept_name(&self) -> &'static str {
        "kept"
    }

    fn kept(&self, folder: &Folder) -> Kept {
        let mut files = BTreeMap::new();
        let mut folders = vec![folder.path(self.kept_name())];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    files.insert(name, format!("{:x?}", fs::read(path).unwrap()));
                }
            }
        }
        let bytes = files.iter().map(|(name, bytes)| format!("{name} {bytes}\n")).collect();
        Kept { records: files.len(), ids: files.into_keys().collect(), bytes }
    }

    fn unreadable(&self) -> Vec<Item> {
        let mut cut = png(&scene(99, 64, 64));
        cut.truncate(cut.len() / 2);
        vec![Item::unreadable("empty.png", b""), Item::unreadable("cut.png", cut)]
    }

    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
        let folder = Folder::new();
        let items: BTreeMap<_, _> =
            pairs.iter().flat_map(|&(a, b)| [a, b]).map(|item| (&item.id, item)).collect();
        self.write(&folder, "items", &items.into_values().collect::<Vec<_>>(), true);
        let arguments = self.arguments(Command::Compare);
        let compare = |(a, b): &(&Item, &Item)| {
            let [a, b] = [a, b].map(|item| format!("items/{}", item.id));
            closeness(&folder.run(&format!("compare {a} {b} {arguments} --json")))
        };
        pairs.iter().map(compare).collect()
    }
}

fn distance(figures: &Figures) -> Option<u64> {
    figures.distance.as_ref().and_then(Value::as_u64)
}

fn png(image: &GrayImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

fn jpeg(image: &GrayImage, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(image).unwrap();
    bytes
}

/// Waves of many lengths and directions: every seed has a scene of its own.
fn scene(seed: u64, width: u32, height: u32) -> GrayImage {
    let mut seeded = Seeded(seed);
    let waves: Vec<[f32; 3]> = (0..60)
        .map(|_| [8.0 * seeded.share(), 16.0 * seeded.share() - 8.0, 6.3 * seeded.share()])
        .collect();
    GrayImage::from_fn(width, height, |x, y| {
        let [x, y] = [(x, width), (y, height)].map(|(at, length)| at as f32 / length as f32);
        let wave = |[a, b, c]: &[f32; 3]| (6.3 * (a * x + b * y) + c).sin() * 10.0;
        Luma([(128.0 + waves.iter().map(wave).sum::<f32>()).clamp(0.0, 255.0) as u8])
    })
}

fn noisy(image: &GrayImage, seed: u64, strength: f32) -> GrayImage {
    let (mut noisy, mut seeded) = (image.clone(), Seeded(seed));
    for Luma([value]) in noisy.pixels_mut() {
        *value = (f32::from(*value) + strength * (seeded.share() - 0.5)).clamp(0.0, 255.0) as u8;
    }
    noisy
}

/// With this share of it cut off at each side.
fn cropped(image: &GrayImage, share: f32) -> GrayImage {
    let [x, y] = [image.width(), image.height()].map(|length| (length as f32 * share) as u32);
    imageops::crop_imm(image, x, y, image.width() - 2 * x, image.height() - 2 * y).to_image()
}

fn resized(image: &GrayImage, width: u32, height: u32) -> GrayImage {
    let image = DynamicImage::ImageLuma8(image.clone());
    image.resize_exact(width, height, imageops::FilterType::Triangle).to_luma8()
}

/// Copies of one scene: rescaled, recompressed, noisy, cropped a little; equal files; strangers.
pub fn copies() -> Vec<Item> {
    let first = scene(30, 256, 192);
    let mut items = vec![
        Item::new("first.png", png(&first)),
        Item::new("equal.png", png(&first)),
        Item::new("smaller.png", png(&resized(&first, 150, 110))),
        Item::new("quality30.jpg", jpeg(&first, 30)),
        Item::new("noisy.png", png(&noisy(&first, 1, 60.0))),
    ];
    for percent in [1, 2, 3, 4, 5, 6] {
        let copy = cropped(&first, percent as f32 / 100.0);
        items.push(Item::new(format!("crop{percent}.png"), png(&copy)));
    }
    items.push(Item::new("other.png", png(&scene(31, 256, 192))));
    items.push(Item::new("another.png", png(&scene(32, 192, 256))));
    items
}

/// Scenes in other orientations, some of them edited.
pub fn turned() -> Vec<Item> {
    let mut items = Vec::new();
    for seed in 40..44 {
        let first = scene(seed, 256, 192);
        let edited = noisy(&cropped(&first, 0.02), seed, 40.0);
        items.push(Item::new(format!("first{seed}.png"), png(&first)));
        items.push(Item::new(format!("right{seed}.png"), png(&imageops::rotate90(&edited))));
        let mirrored = imageops::flip_horizontal(&edited);
        items.push(Item::new(format!("mirror{seed}.jpg"), jpeg(&mirrored, 60)));
    }
    items
}

/// Scenes and parts of them, one turned; strangers.
pub fn parts() -> Vec<Item> {
    let mut items = Vec::new();
    for seed in 50..52 {
        let first = scene(seed, 320, 240);
        items.push(Item::new(format!("first{seed}.png"), png(&first)));
        items.push(Item::new(format!("crop{seed}.png"), png(&cropped(&first, 0.15))));
        let corner = imageops::crop_imm(&first, 0, 0, 220, 170).to_image();
        items.push(Item::new(format!("corner{seed}.png"), png(&corner)));
        items.push(Item::new(format!("turned{seed}.png"), png(&imageops::rotate90(&corner))));
        let mut framed = GrayImage::from_pixel(400, 320, Luma([255]));
        imageops::overlay(&mut framed, &first, 40, 40);
        items.push(Item::new(format!("framed{seed}.png"), png(&framed)));
    }
    items.push(Item::new("other.png", png(&scene(52, 320, 240))));
    items
}

/// Images without a fingerprint: of one colour, or of a few pixels.
pub fn flat() -> Vec<Item> {
    let grey = GrayImage::from_pixel(64, 64, Luma([99]));
    let tiny = GrayImage::from_fn(3, 3, |x, y| Luma([(80 * x + 20 * y) as u8]));
    vec![
        Item::new("grey.png", png(&grey)),
        Item::new("equal.png", png(&grey)),
        Item::new("black.png", png(&GrayImage::from_pixel(64, 64, Luma([0])))),
        Item::new("tiny.png", png(&tiny)),
        Item::new("tiny-equal.png", png(&tiny)),
        Item::new("scene.png", png(&scene(60, 128, 96))),
    ]
}

/// Images of one template: a common scene with more and more of a scene of their own.
pub fn blends() -> Vec<Item> {
    let common = scene(70, 256, 192);
    let blend = |seed: u64| {
        let (own, weight) = (scene(70 + seed, 256, 192), 0.05 * seed as f32);
        GrayImage::from_fn(256, 192, |x, y| {
            let [Luma([common]), Luma([own])] = [&common, &own].map(|it| *it.get_pixel(x, y));
            Luma([(f32::from(common) * (1.0 - weight) + f32::from(own) * weight) as u8])
        })
    };
    (0..12).map(|seed| Item::new(format!("blend{seed}.png"), png(&blend(seed)))).collect()
}
