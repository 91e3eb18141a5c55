//! What happened? The closing lines of a run, for people or for programs.

use serde_json::{Value, json};

use super::{counted, grouped, rate};
use crate::{
    host::Console,
    source::{Reason, Skipped},
};

/// What a run over many items did.
pub struct Summary<'a> {
    pub items: u64,
    pub skipped: &'a Skipped,
    pub seconds: f64,
    pub figures: Vec<Figure>,
    /// How it was done, if there is something to tell.
    pub plan: Option<String>,
}

/// A number worth telling: its name for programs, its value, and words for people (`None`: not shown).
#[derive(Clone)]
pub struct Figure {
    pub name: &'static str,
    pub value: Value,
    pub words: Option<String>,
}

impl Summary<'_> {
    /// Says it on stderr in the form that was asked for, on one line for people.
    pub fn say(&self, console: Console<'_>) {
        self.say_as(console, Self::text);
    }

    /// As [`say`](Self::say), but one line for each figure, for runs with much to tell.
    pub fn say_labelled(&self, console: Console<'_>) {
        self.say_as(console, Self::labelled);
    }

    fn say_as(&self, console: Console<'_>, words: fn(&Self) -> String) {
        self.skipped.lines().for_each(|line| console.note(&line));
        match console.json {
            true => console.message(&self.json()),
            false => console.note(&words(self)),
        }
    }

    fn labelled(&self) -> String {
        let line = |name: &str, words: &str| format!("{name:<9}{words}");
        let items = line("items", &(grouped(self.items) + &self.skipped_text()));
        let figures = self
            .figures
            .iter()
            .filter_map(|figure| figure.words.as_ref().map(|words| line(figure.name, words)));
        let lines: Vec<_> =
            [items].into_iter().chain(figures).chain([line("time", &self.time())]).collect();
        lines.join("\n")
    }

    fn text(&self) -> String {
        let items = counted(self.items, "item") + &self.skipped_text();
        let figures = self.figures.iter().filter_map(|figure| figure.words.clone());
        let plan = self.plan.as_ref().map_or_else(String::new, |plan| format!("\nplan: {plan}"));
        let words: Vec<_> = [items].into_iter().chain(figures).chain([self.time()]).collect();
        words.join("; ") + &plan
    }

    fn time(&self) -> String {
        format!("{:.2} s, {}", self.seconds, rate(self.items_per_second()))
    }

    fn skipped_text(&self) -> String {
        let words = skipped_words(self.skipped.counts());
        words.map_or_else(String::new, |words| format!(" ({words})"))
    }

    /// All of it as one JSON object, on one line.
    pub fn json(&self) -> String {
        let mut fields = vec![
            ("items", json!(self.items)),
            ("skipped", json!(self.skipped.total())),
            ("skipped_by_reason", by_reason(self.skipped.counts())),
        ];
        fields.extend(self.figures.iter().map(|figure| (figure.name, figure.value.clone())));
        fields.push(("seconds", json!(self.seconds)));
        fields.push(("items_per_second", json!(self.items_per_second().round())));
        fields.extend(self.plan.iter().map(|plan| ("plan", json!(plan))));
        json_line(&fields)
    }

    fn items_per_second(&self) -> f64 {
        self.items as f64 / self.seconds.max(1e-9)
    }
}

impl Figure {
    /// What was skipped of the set that the input is held against.
    pub fn against(skipped: &Skipped) -> Self {
        let total: u64 = skipped.counts_of_others().map(|(_, count)| count).sum();
        let reasons = by_reason(skipped.counts_of_others());
        Self {
            name: "against",
            value: json!({"skipped": total, "skipped_by_reason": reasons}),
            words: skipped_words(skipped.counts_of_others()),
        }
    }
}

/// `3 skipped: 2 broken, 1 empty`; none if there is none.
fn skipped_words(counts: impl Iterator<Item = (Reason, u64)>) -> Option<String> {
    let counts: Vec<_> = counts.collect();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let named =
        counts.iter().map(|(reason, count)| format!("{} {}", grouped(*count), reason.name()));
    let named: Vec<_> = named.collect();
    (total > 0).then(|| format!("{} skipped: {}", grouped(total), named.join(", ")))
}

fn by_reason(counts: impl Iterator<Item = (Reason, u64)>) -> Value {
    counts.map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect()
}

/// One JSON object on one line, its fields in the order given.
pub fn json_line(fields: &[(&str, Value)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
