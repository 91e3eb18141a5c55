//! What happened? The closing lines of a run, for people or for programs.

use serde_json::{Value, json};

use super::{counted, grouped, rate, say};
use crate::{args::TalkArgs, source::Skipped};

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
    pub fn say(&self, talk: TalkArgs) {
        self.say_as(talk, Self::text);
    }

    /// As [`say`](Self::say), but one line for each figure, for runs with much to tell.
    pub fn say_labelled(&self, talk: TalkArgs) {
        self.say_as(talk, Self::labelled);
    }

    fn say_as(&self, talk: TalkArgs, words: fn(&Self) -> String) {
        if !talk.quiet {
            self.skipped.lines().for_each(|line| say(&line));
        }
        if talk.json {
            say(&self.json());
        } else if !talk.quiet {
            say(&words(self));
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
        let counts: Vec<_> = self
            .skipped
            .counts()
            .map(|(reason, count)| format!("{} {}", grouped(count), reason.name()))
            .collect();
        match self.skipped.total() {
            0 => String::new(),
            total => format!(" ({} skipped: {})", grouped(total), counts.join(", ")),
        }
    }

    /// All of it as one JSON object, on one line.
    pub fn json(&self) -> String {
        let counts = self.skipped.counts().map(|(reason, count)| (reason.name(), json!(count)));
        let mut fields = vec![
            ("items", json!(self.items)),
            ("skipped", json!(self.skipped.total())),
            ("skipped_by_reason", counts.map(|(name, count)| (name.to_owned(), count)).collect()),
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

/// One JSON object on one line, its fields in the order given.
pub fn json_line(fields: &[(&str, Value)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
