//! The summary of a run, as text or JSON.

use serde_json::{Value, json};

use super::{counted, grouped, rate};
use crate::{
    host::Console,
    source::{Reason, Skipped},
};

/// The result of a run over many items.
pub struct Summary<'a> {
    pub items: u64,
    pub skipped: &'a Skipped,
    pub seconds: f64,
    pub figures: Vec<Figure>,
    /// The plan of the search, if it is shown.
    pub plan: Option<String>,
}

/// A result: its name and value in JSON, and its text (`None`: not shown).
#[derive(Clone)]
pub struct Figure {
    pub name: &'static str,
    pub value: Value,
    pub words: Option<String>,
}

impl Summary<'_> {
    /// Prints the summary as JSON or as one line of text.
    pub fn say(&self, console: Console<'_>) {
        self.say_as(console, Self::text);
    }

    /// Like [`say`](Self::say), but with a line for each figure.
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

    /// The summary as one line of JSON.
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
    /// What was skipped of `--against`.
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

/// `3 skipped: 2 broken, 1 empty`; none if nothing was skipped.
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

/// A JSON object on one line, with fields in this order.
pub fn json_line(fields: &[(&str, Value)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
