//! Vectors, as JSON lines with ids.

use serde_json::{Value, json};

use super::{
    adapter::{Adapter, Closeness, Command, Item, Kept, Threshold, compare_lines},
    seeded::Seeded,
};
use crate::run::Folder;

pub struct Vectors;

impl Adapter for Vectors {
    fn arguments(&self, command: Command) -> &'static str {
        match command {
            Command::Compare | Command::Hash | Command::Add => "--kind vector",
            Command::Pairs => "--kind vector --equal all",
            Command::Dedup | Command::DedupAgainst => "--kind vector --level similar",
            Command::AddUnlessNear => "--kind vector --skip-near --level similar",
            Command::Search => "",
        }
    }

    fn thresholds(&self) -> [Threshold; 2] {
        [
            ("--similarity 0.7", |_| true),
            ("--similarity 0.93", |figures| {
                figures.similarity.as_ref().and_then(Value::as_f64) >= Some(0.93)
            }),
        ]
    }

    fn write(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> String {
        let line = |item: &&Item| match (item.readable, ids) {
            (false, _) => item.text().to_owned(),
            (true, true) => format!("{{\"id\":{},\"embedding\":{}}}", json!(item.id), item.text()),
            (true, false) => format!("{{\"embedding\":{}}}", item.text()),
        };
        let lines: Vec<_> = records.iter().map(line).collect();
        let name = name.to_owned() + ".jsonl";
        std::fs::write(folder.path(&name), lines.join("\n") + "\n").unwrap();
        name
    }

    fn kept_name(&self) -> &'static str {
        "kept.jsonl"
    }

    fn kept(&self, folder: &Folder) -> Kept {
        let bytes = folder.read(self.kept_name());
        let id = |line: &str| {
            let row: Value = serde_json::from_str(line).ok()?;
            row["id"].as_str().map(str::to_owned)
        };
        Kept { ids: bytes.lines().filter_map(id).collect(), records: bytes.lines().count(), bytes }
    }

    fn unreadable(&self) -> Vec<Item> {
        vec![
            Item::unreadable("broken", "{\"id\":\"broken\",\"embedding\":[0.5,"),
            Item::unreadable("null", "{\"id\":\"null\",\"embedding\":[0.5,null]}"),
            Item::unreadable("text", "{\"id\":\"text\",\"embedding\":\"0.5\"}"),
        ]
    }

    fn digest(
        &self,
        _: &[&Item],
        _: &str,
    ) -> Option<(std::collections::BTreeMap<String, Value>, super::adapter::Summary)> {
        None
    }

    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
        compare_lines(self, pairs)
    }
}

/// Families of vectors that drift away from the first one, some with the same direction; and strangers.
pub fn families() -> Vec<Item> {
    let mut seeded = Seeded(40);
    let mut vectors: Vec<Vec<f32>> = Vec::new();
    let vector =
        |seeded: &mut Seeded| -> Vec<f32> { (0..12).map(|_| seeded.share() - 0.5).collect() };
    for _ in 0..7 {
        let first = vector(&mut seeded);
        vectors.push(first.clone());
        vectors.push(first.iter().map(|value| value * 4.0).collect());
        for step in 1..6 {
            let away = vector(&mut seeded);
            let far = step as f32 / 6.0;
            vectors.push(first.iter().zip(away).map(|(value, away)| value + far * away).collect());
        }
    }
    vectors.extend((0..8).map(|_| vector(&mut seeded)));
    seeded.shuffle(&mut vectors);
    let item = |(number, vector): (usize, &Vec<f32>)| {
        let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
        Item::new(format!("v{number}"), format!("[{}]", numbers.join(",")))
    };
    vectors.iter().enumerate().map(item).collect()
}
