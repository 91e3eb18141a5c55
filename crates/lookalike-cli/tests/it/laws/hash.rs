//! Fingerprints that the caller brings, one a line.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::Value;

use super::{
    adapter::{
        Adapter, Closeness, Command, Figures, Item, Kept, Summary, Threshold, compare_lines,
    },
    seeded::Seeded,
};
use crate::run::Folder;

/// Fingerprints of 64 bits, alike within the default of 3 bits.
pub struct Narrow;

/// Fingerprints of 256 bits, alike within 31.
pub struct Wide;

impl Adapter for Narrow {
    fn arguments(&self, command: Command) -> &'static str {
        match command {
            Command::Compare => "--kind hash",
            Command::Pairs => "--kind hash --equal all",
            Command::Dedup | Command::DedupAgainst => "--kind hash",
            Command::Hash => unreachable!("fingerprints are not hashed again"),
            Command::Add => "--kind hash",
            Command::AddUnlessNear => "--kind hash --skip-near",
            Command::Search => "",
        }
    }

    fn thresholds(&self) -> [Threshold; 2] {
        [("--distance 6", |_| true), ("--distance 2", |figures| is_within(figures, 2))]
    }

    fn write(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> String {
        let mut lines = String::new();
        for Item { id, content, .. } in records {
            let bits = str::from_utf8(content).unwrap();
            let id = if ids { format!("\t{id}") } else { String::new() };
            writeln!(lines, "{bits}{id}").unwrap();
        }
        let name = format!("{name}.txt");
        std::fs::write(folder.path(&name), lines).unwrap();
        name
    }

    fn kept_name(&self) -> &'static str {
        "kept.txt"
    }

    fn kept(&self, folder: &Folder) -> Kept {
        let bytes = folder.read(self.kept_name());
        let id = |line: &str| Some(line.split_once('\t')?.1.to_owned());
        Kept { ids: bytes.lines().filter_map(id).collect(), records: bytes.lines().count(), bytes }
    }

    fn unreadable(&self) -> Vec<Item> {
        let wide = format!("0x1{}", "0".repeat(64));
        vec![Item::unreadable("word", "seven"), Item::unreadable("wide", wide)]
    }

    fn digest(&self, _: &[&Item], _: &str) -> Option<(BTreeMap<String, Value>, Summary)> {
        None
    }

    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
        compare_lines(self, pairs)
    }
}

impl Adapter for Wide {
    fn arguments(&self, command: Command) -> &'static str {
        match command {
            Command::Compare => "--kind hash --bits 256",
            Command::Pairs => "--kind hash --bits 256 --equal all",
            Command::Dedup | Command::DedupAgainst => "--kind hash --bits 256",
            Command::Hash => unreachable!("fingerprints are not hashed again"),
            Command::Add => "--kind hash --bits 256 --max-distance 31",
            Command::AddUnlessNear => {
                "--kind hash --bits 256 --max-distance 31 --skip-near --distance 31"
            }
            Command::Search => "",
        }
    }

    fn threshold(&self) -> &'static str {
        "--distance 31"
    }

    fn thresholds(&self) -> [Threshold; 2] {
        [("--distance 40", |_| true), ("--distance 12", |figures| is_within(figures, 12))]
    }

    fn write(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> String {
        Narrow.write(folder, name, records, ids)
    }

    fn kept_name(&self) -> &'static str {
        Narrow.kept_name()
    }

    fn kept(&self, folder: &Folder) -> Kept {
        Narrow.kept(folder)
    }

    fn unreadable(&self) -> Vec<Item> {
        Narrow.unreadable()
    }

    fn digest(&self, _: &[&Item], _: &str) -> Option<(BTreeMap<String, Value>, Summary)> {
        None
    }

    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
        compare_lines(self, pairs)
    }
}

fn is_within(figures: &Figures, radius: u64) -> bool {
    figures.distance.as_ref().and_then(Value::as_u64).is_some_and(|distance| distance <= radius)
}

/// Families of fingerprints, each with up to `flips` bits flipped; equal ones, and strangers.
fn families(bits: usize, flips: usize, seed: u64) -> Vec<Item> {
    let mut seeded = Seeded(seed);
    let mut prints = Vec::new();
    for _ in 0..8 {
        let first: Vec<u64> = (0..bits / 64).map(|_| seeded.number()).collect();
        prints.extend([first.clone(), first.clone()]);
        for flips in 1..=flips {
            let mut copy = first.clone();
            for _ in 0..flips {
                let bit = seeded.below(bits);
                copy[bit / 64] ^= 1 << (bit % 64);
            }
            prints.push(copy);
        }
    }
    prints.extend((0..10).map(|_| (0..bits / 64).map(|_| seeded.number()).collect::<Vec<_>>()));
    seeded.shuffle(&mut prints);
    let hex =
        |words: &Vec<u64>| words.iter().map(|word| format!("{word:016x}")).collect::<String>();
    let item = |(number, words)| Item::new(format!("h{number}"), format!("0x{}", hex(words)));
    prints.iter().enumerate().map(item).collect()
}

pub fn of_64_bits() -> Vec<Item> {
    families(64, 8, 20)
}

pub fn of_256_bits() -> Vec<Item> {
    families(256, 36, 21).into_iter().step_by(3).collect()
}
