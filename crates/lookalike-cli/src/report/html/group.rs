//! What does the page know of one group? Its keeper, why it was kept, and what went for it.

use std::fmt::Write;

use super::{Closeness, Overview, View, escape};

/// One group as it is shown.
#[derive(Clone, Debug)]
pub struct ReportGroup {
    /// The position among all groups, from 0.
    pub position: usize,
    pub keep: ReportItem,
    /// Why this one stayed, as a sentence: `first in the input`.
    pub why: String,
    /// Those that [`View::members`] names.
    pub members: Vec<ReportMember>,
}

/// An item: its name and what it looks like.
#[derive(Clone, Debug)]
pub struct ReportItem {
    pub id: String,
    pub body: Body,
}

/// An item that goes.
#[derive(Clone, Debug)]
pub struct ReportMember {
    pub item: ReportItem,
    pub closeness: Closeness,
}

/// What there is to see of an item. Each kind is drawn by its own function in `bodies.js`.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing: a bare fingerprint.
    None,
    Text(Excerpt),
}

/// The beginning of a text.
#[derive(Clone, Debug)]
pub struct Excerpt {
    text: String,
    /// Characters of the whole text.
    characters: usize,
}

/// An id of more characters is cut in the middle.
const ID_CHARACTERS: usize = 240;

impl Excerpt {
    /// Keeps at most this many bytes, up to the end of a word if one is near.
    pub fn of(text: &str, bytes: usize) -> Self {
        let end = word_end(text, text.floor_char_boundary(bytes));
        Self { text: text[..end].to_owned(), characters: text.chars().count() }
    }
}

impl ReportGroup {
    /// Appends the group as one line of JSON.
    pub(super) fn json(&self, line: &mut String, overview: &Overview, view: &View) {
        let members = overview.sizes().get(self.position).copied().unwrap_or_default();
        append(line, format_args!("{{\"number\":{},\"size\":{members},", self.position + 1));
        line.push_str("\"why\":");
        escape::json(line, &self.why);
        line.push_str(",\"keep\":{");
        self.keep.json(line, view.excerpt);
        line.push_str("},\"members\":[");
        for (position, member) in self.members.iter().enumerate() {
            line.push_str(if position > 0 { ",{" } else { "{" });
            if let Some(value) = overview.value(member.closeness) {
                append(line, format_args!("\"value\":{value},"));
            }
            append(line, format_args!("\"distance\":{},", member.closeness.distance));
            member.item.json(line, view.excerpt);
            line.push('}');
        }
        line.push_str("]}");
    }
}

impl ReportItem {
    /// Appends the fields of the item.
    fn json(&self, line: &mut String, excerpt: usize) {
        line.push_str("\"id\":");
        escape::json(line, &short(&self.id));
        match &self.body {
            Body::None => {}
            Body::Text(text) => text.json(line, excerpt),
        }
    }
}

impl Excerpt {
    fn json(&self, line: &mut String, bytes: usize) {
        line.push_str(",\"text\":");
        let start = line.len();
        let fits = escape::json_within(line, &self.text, bytes);
        let end = if fits < self.text.len() { word_end(&self.text, fits) } else { fits };
        if end < fits {
            line.truncate(start);
            escape::json(line, &self.text[..end]);
        }
        let shown = self.text[..end].chars().count();
        if shown < self.characters {
            append(line, format_args!(",\"characters\":{}", self.characters));
        }
    }
}

/// Where to cut a text at or a little before this position, so that the last word stays whole.
fn word_end(text: &str, position: usize) -> usize {
    const NEAR: usize = 40;
    if position == text.len() || text[position..].starts_with(char::is_whitespace) {
        return position;
    }
    let space = text[..position].rfind(char::is_whitespace);
    space.filter(|&space| position - space <= NEAR).unwrap_or(position)
}

/// Beginnings and ends of names tell most.
fn short(id: &str) -> String {
    let characters = id.chars().count();
    if characters <= ID_CHARACTERS {
        return id.to_owned();
    }
    let half = ID_CHARACTERS / 2;
    let head = id.chars().take(half);
    let tail = id.chars().skip(characters - half + 1);
    head.chain(['…']).chain(tail).collect()
}

fn append(line: &mut String, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::Scale, *};

    fn item(id: &str, text: &str, bytes: usize) -> ReportItem {
        ReportItem { id: id.into(), body: Body::Text(Excerpt::of(text, bytes)) }
    }

    fn as_json(item: &ReportItem, excerpt: usize) -> Value {
        let mut line = String::from("{");
        item.json(&mut line, excerpt);
        line.push('}');
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        let shown = as_json(&item("a", "one two", 100), 100);
        assert_eq!(shown, json!({"id": "a", "text": "one two"}));
    }

    #[test]
    fn a_long_text_is_cut_after_a_word_and_says_how_long_it_was() {
        let shown = as_json(&item("a", "one two three", 9), 100);
        assert_eq!(shown, json!({"id": "a", "text": "one two", "characters": 13}));
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let text = "重".repeat(100);
        let shown = as_json(&item("a", &text, 151), 1_000);
        assert_eq!(shown, json!({"id": "a", "text": "重".repeat(50), "characters": 100}));
    }

    #[test]
    fn what_grows_by_escaping_is_cut_again() {
        let shown = as_json(&item("a", &"<".repeat(100), 100), 61);
        assert_eq!(shown, json!({"id": "a", "text": "<".repeat(9), "characters": 100}));
    }

    #[test]
    fn long_ids_are_cut_in_the_middle() {
        let cut = short(&format!("start{}end", "x".repeat(1_000)));
        assert_eq!(cut.chars().count(), ID_CHARACTERS);
        assert!(cut.starts_with("start") && cut.contains('…') && cut.ends_with("end"));
    }

    #[test]
    fn a_group_tells_how_many_members_it_has_though_few_are_shown() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.5, levels: vec![] });
        let closeness = Closeness { distance: 3, similarity: Some(0.75) };
        overview.add([closeness; 60]);
        let member =
            ReportMember { item: ReportItem { id: "b".into(), body: Body::None }, closeness };
        let keep = ReportItem { id: "a".into(), body: Body::None };
        let group = ReportGroup { position: 0, keep, why: "first".into(), members: vec![member] };
        let mut line = String::new();
        group.json(&mut line, &overview, &View::new(&overview, 2_000_000));
        assert_eq!(
            serde_json::from_str::<Value>(&line).unwrap(),
            json!({"number": 1, "size": 60, "why": "first", "keep": {"id": "a"},
                "members": [{"value": 0.75, "distance": 3, "id": "b"}]})
        );
    }
}
