//! Texts, as JSON lines with ids.

use serde_json::{Value, json};

use super::{
    adapter::{Adapter, Closeness, Command, Item, Kept, Threshold, compare_lines},
    seeded::Seeded,
};
use crate::run::Folder;

pub struct Texts;

impl Adapter for Texts {
    fn arguments(&self, command: Command) -> &'static str {
        match command {
            Command::Compare | Command::Hash | Command::Add => "--kind text",
            Command::Pairs => "--kind text --equal all",
            Command::Dedup | Command::DedupAgainst => "--kind text --level similar",
            Command::AddUnlessNear => "--kind text --skip-near --level similar",
            Command::Search => "",
        }
    }

    fn thresholds(&self) -> [Threshold; 2] {
        [
            ("--similarity 0.46", |_| true),
            ("--similarity 0.75", |figures| {
                figures.similarity.as_ref().and_then(Value::as_f64) >= Some(0.75)
            }),
        ]
    }

    fn write(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> String {
        let line = |item: &&Item| match item.readable && ids {
            true => json!({"id": item.id, "text": item.text()}).to_string(),
            false => item.text().to_owned(),
        };
        let (name, format) =
            if ids { (name.to_owned() + ".jsonl", "") } else { (name.to_owned(), "--lines") };
        let lines: Vec<_> = records.iter().map(line).collect();
        std::fs::write(folder.path(&name), lines.join("\n") + "\n").unwrap();
        format!("{name} {format}")
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
            Item::unreadable("broken", "{\"id\":\"broken\",\"text\":\"half a l"),
            Item::unreadable("missing", "{\"id\":\"missing\",\"title\":\"no text at all\"}"),
            Item::unreadable("number", "{\"id\":\"number\",\"text\":17}"),
        ]
    }

    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
        compare_lines(self, pairs)
    }
}

/// Texts of made-up words.
struct Writer(Seeded);

impl Writer {
    fn word(&mut self) -> String {
        let syllables = 2 + self.0.below(3);
        let letter = |letters: &[u8], at: usize| char::from(letters[at % letters.len()]);
        (0..syllables)
            .flat_map(|_| {
                let number = self.0.below(95);
                [letter(b"bcdfghjklmnprstvwxz", number), letter(b"aeiou", number / 19)]
            })
            .collect()
    }

    fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// A copy in which this share of the words is replaced, left out, or followed by a new one.
    fn edited(&mut self, words: &[String], rate: f32) -> Vec<String> {
        let mut copy = Vec::new();
        for word in words {
            match (self.0.share() < rate, self.0.below(3)) {
                (false, _) => copy.push(word.clone()),
                (true, 0) => copy.push(self.word()),
                (true, 1) => {}
                (true, _) => copy.extend([word.clone(), self.word()]),
            }
        }
        copy
    }

    fn shuffled(&mut self, words: &[String]) -> Vec<String> {
        let mut words = words.to_vec();
        self.0.shuffle(&mut words);
        words
    }
}

fn items(texts: impl IntoIterator<Item = Vec<String>>) -> Vec<Item> {
    let numbered = texts.into_iter().enumerate();
    numbered.map(|(number, words)| Item::new(format!("t{number}"), words.join(" "))).collect()
}

/// Copies edited more and more, equal texts, and two without a word.
pub fn edited() -> Vec<Item> {
    let mut writer = Writer(Seeded(10));
    let mut texts = vec![Vec::new(), vec!["...".to_owned()]];
    for length in [25, 60, 120] {
        let first = writer.words(length);
        let rates = [0.0, 0.0, 0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.6];
        texts.extend(rates.map(|rate| writer.edited(&first, rate)));
    }
    items(texts)
}

/// Texts of the same words in another order.
pub fn shuffled() -> Vec<Item> {
    let mut writer = Writer(Seeded(11));
    items((0..12).flat_map(|_| {
        let words = writer.words(60);
        let shuffled = writer.shuffled(&words);
        [words, shuffled]
    }))
}

/// Few words, many times.
pub fn repeated() -> Vec<Item> {
    let mut writer = Writer(Seeded(12));
    let few = writer.words(4);
    let mut texts: Vec<_> = [1, 2, 3, 10, 50].map(|times| vec![few[0].clone(); times]).into();
    for length in [6, 12, 24, 48] {
        texts.extend((0..3).map(|_| {
            (0..length).map(|_| few[writer.0.below(few.len())].clone()).collect::<Vec<_>>()
        }));
    }
    texts.extend([&few[..2], &few[1..3]].map(|two| two.iter().cycle().take(40).cloned().collect()));
    items(texts)
}

/// Texts of one, two and three words.
pub fn short() -> Vec<Item> {
    let texts = [
        "sun",
        "Sun",
        "sun!",
        "moon",
        "sun moon",
        "Sun, moon",
        "moon sun",
        "sun sun",
        "sun moon sun",
        "sun moon star",
        "moon star",
        "star moon sun",
        "sun moon star sky",
        "sky",
        "sun sky",
    ];
    items(texts.map(|text| vec![text.to_owned()]))
}

/// Texts that share 70 % of their words, in one run or with gaps to fill in.
pub fn templates() -> Vec<Item> {
    let mut writer = Writer(Seeded(13));
    let template = writer.words(56);
    let mut texts = Vec::new();
    for number in 0..16 {
        let own = writer.words(24);
        texts.push(if number % 2 == 0 {
            [&template[..28], &own, &template[28..]].concat()
        } else {
            let gaps = template.chunks(7).zip(own.chunks(3));
            gaps.flat_map(|(words, own)| [words, own].concat()).collect()
        });
    }
    // Texts of no template, too, so that not all are alike.
    texts.extend((0..3).map(|_| writer.words(80)));
    items(texts)
}
