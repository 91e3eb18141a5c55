//! What happened? The closing lines of a run, for people or for programs.

use serde_json::{Value, json};

use super::{grouped, numbers::rate, say};
use crate::{args::TalkArgs, source::Skipped};

/// What a run over many items did.
pub struct Summary<'a> {
    pub items: u64,
    pub skipped: &'a Skipped,
    pub seconds: f64,
    /// Further figures: a name for programs, its value, and words for people (empty: not shown).
    pub figures: Vec<(&'static str, Value, String)>,
}

impl Summary<'_> {
    /// Says it on stderr in the form that was asked for.
    pub fn say(&self, talk: TalkArgs) {
        if !talk.quiet {
            self.skipped.lines().for_each(|line| say(&line));
        }
        if talk.json {
            say(&self.json());
        } else if !talk.quiet {
            say(&self.text());
        }
    }

    fn text(&self) -> String {
        let counts: Vec<_> = self
            .skipped
            .counts()
            .map(|(reason, count)| format!("{} {}", grouped(count), reason.name()))
            .collect();
        let skipped = match self.skipped.total() {
            0 => String::new(),
            total => format!(" ({} skipped: {})", grouped(total), counts.join(", ")),
        };
        let time = format!("{:.2} s, {}", self.seconds, rate(self.items_per_second()));
        let items = format!("{} items{skipped}", grouped(self.items));
        let figures = self.figures.iter().map(|(.., words)| words.clone());
        let words: Vec<_> = [items].into_iter().chain(figures).chain([time]).collect();
        let shown: Vec<_> = words.into_iter().filter(|words| !words.is_empty()).collect();
        shown.join("; ")
    }

    fn json(&self) -> String {
        let counts = self.skipped.counts().map(|(reason, count)| (reason.name(), json!(count)));
        let mut fields = vec![
            ("items", json!(self.items)),
            ("skipped", json!(self.skipped.total())),
            ("skipped_by_reason", counts.map(|(name, count)| (name.to_owned(), count)).collect()),
        ];
        fields.extend(self.figures.iter().map(|(name, value, _)| (*name, value.clone())));
        fields.push(("seconds", json!(self.seconds)));
        fields.push(("items_per_second", json!(self.items_per_second().round())));
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
