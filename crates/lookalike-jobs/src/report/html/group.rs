//! The data of one group: its keeper, why it was kept, and the removed members.

use std::fmt::Write;

use base64::prelude::*;

use super::{Closeness, Overview, View, escape};

/// One group on the page.
#[derive(Clone, Debug)]
pub struct ReportGroup {
    /// The position among all groups, from 0.
    pub position: usize,
    pub keep: ReportItem,
    /// Why the keeper was kept, such as `first in the input`.
    pub why: String,
    /// The removed members chosen by [`View::members`], then the closest kept ones.
    pub members: Vec<ReportMember>,
}

/// An item with its content.
#[derive(Clone, Debug)]
pub struct ReportItem {
    pub id: String,
    pub body: Body,
}

/// A removed item, or a kept item that matches the keeper less closely.
#[derive(Clone, Debug)]
pub struct ReportMember {
    pub item: ReportItem,
    pub stays: bool,
    pub closeness: Closeness,
    /// In chains, the item that the figures refer to, if it is not the keeper.
    pub alike: Option<String>,
}

/// The visible content of an item. `bodies.js` has a function for each variant.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing, for a fingerprint.
    None,
    Text(Excerpt),
    Image(Image),
}

/// An image and its file.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// A reduced image as JPEG; empty if it cannot be shown.
    pub jpeg: Vec<u8>,
    /// Its displayed size in pixels.
    pub width: u32,
    pub height: u32,
    /// The size of the file.
    pub bytes: u64,
    pub format: String,
    /// The modification time in seconds since 1970.
    pub modified: Option<i64>,
}

/// A text, or its beginning.
#[derive(Clone, Debug)]
pub struct Excerpt {
    text: String,
    /// The number of characters of the whole text.
    characters: usize,
}

/// A longer id is shortened in the middle.
const ID_CHARACTERS: usize = 240;
/// How many bytes of a common beginning stay before the first difference.
const LEAD: usize = 200;
/// The length of a preview in the list, in characters.
const PREVIEW: usize = 160;

impl Excerpt {
    /// Keeps at most this many bytes, up to the end of a word if one is near.
    pub fn of(text: &str, bytes: usize) -> Self {
        let end = word_end(text, character_start(text, bytes));
        Self { text: text[..end].to_owned(), characters: text.chars().count() }
    }
}

impl ReportGroup {
    /// Appends the group as one line of JSON.
    pub(super) fn json(&self, line: &mut String, overview: &Overview, view: &View) {
        let start = self.start(view.excerpt);
        let count = |counts: &[u32]| counts.get(self.position).copied().unwrap_or_default();
        let (members, looser) = (count(overview.sizes()), count(overview.looser()));
        append(line, format_args!("{{\"number\":{},\"size\":{members},", self.position + 1));
        if looser > 0 {
            append(line, format_args!("\"looser\":{looser},"));
        }
        line.push_str("\"why\":");
        escape::json(line, &self.why);
        line.push_str(",\"keep\":{");
        self.keep.json(line, start, view.excerpt);
        if let (Body::Text(text), 1..) = (&self.keep.body, start) {
            line.push_str(",\"opening\":");
            escape::json(line, &text.text.chars().take(PREVIEW).collect::<String>());
            append(line, format_args!(",\"skipped\":{}", text.text[..start].chars().count()));
        }
        line.push_str("},\"members\":[");
        for (position, member) in self.members.iter().enumerate() {
            line.push_str(if position > 0 { ",{" } else { "{" });
            if let Some(value) = overview.value(member.closeness) {
                append(line, format_args!("\"value\":{value},"));
            }
            append(line, format_args!("\"distance\":{},", member.closeness.distance));
            line.push_str(if member.stays { "\"stays\":true," } else { "" });
            if let Some(alike) = &member.alike {
                line.push_str("\"alike\":");
                escape::json(line, &short(alike));
                line.push(',');
            }
            member.item.json(line, start, view.excerpt);
            line.push('}');
        }
        line.push_str("]}");
    }

    /// Where the shown texts start: at 0 if all fit, otherwise a little before the first difference.
    /// All texts are equal before that.
    fn start(&self, excerpt: usize) -> usize {
        let Body::Text(Excerpt { text: keep, .. }) = &self.keep.body else { return 0 };
        let texts = || self.members.iter().filter_map(|member| member.item.body.text());
        if keep.len() <= excerpt && texts().all(|text| text.len() <= excerpt) {
            return 0;
        }
        let differing = texts().filter(|text| *text != keep);
        let equal = differing.map(|text| equal_bytes(keep, text)).min().unwrap_or(0);
        let end = character_start(keep, equal);
        let start = character_start(keep, end.saturating_sub(LEAD));
        let space = keep[start..end].find(char::is_whitespace);
        if start < LEAD { 0 } else { start + space.unwrap_or(0) }
    }
}

impl ReportItem {
    /// Appends the fields of the item, with its text from `start`.
    fn json(&self, line: &mut String, start: usize, excerpt: usize) {
        line.push_str("\"id\":");
        escape::json(line, &short(&self.id));
        match &self.body {
            Body::None => {}
            Body::Text(text) => text.json(line, start, excerpt),
            Body::Image(image) => image.json(line, excerpt),
        }
    }
}

impl Body {
    fn text(&self) -> Option<&String> {
        match self {
            Self::None | Self::Image(_) => None,
            Self::Text(excerpt) => Some(&excerpt.text),
        }
    }
}

impl Image {
    /// Appends the image; without its pixels if they take more than this many bytes.
    fn json(&self, line: &mut String, bytes: usize) {
        let Self { width, height, format, .. } = self;
        append(line, format_args!(",\"image\":{{\"width\":{width},\"height\":{height}"));
        append(line, format_args!(",\"bytes\":{},\"format\":\"{format}\"", self.bytes));
        if let Some(modified) = self.modified {
            append(line, format_args!(",\"modified\":{modified}"));
        }
        let data = BASE64_STANDARD.encode(&self.jpeg);
        if !data.is_empty() && data.len() <= bytes {
            append(line, format_args!(",\"data\":\"{data}\""));
        }
        line.push('}');
    }
}

impl Excerpt {
    fn json(&self, line: &mut String, start: usize, bytes: usize) {
        line.push_str(",\"text\":");
        let before = line.len();
        let text = &self.text[start..];
        let fits = escape::json_within(line, text, bytes);
        let end = if fits < text.len() { word_end(text, fits) } else { fits };
        if end < fits {
            line.truncate(before);
            escape::json(line, &text[..end]);
        }
        let shown = self.text[..start + end].chars().count();
        if shown < self.characters {
            append(line, format_args!(",\"characters\":{}", self.characters));
        }
    }
}

/// The length of the common beginning of two texts in bytes.
fn equal_bytes(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// The last position up to this one that does not split a character.
fn character_start(text: &str, position: usize) -> usize {
    let position = position.min(text.len());
    (0..=position).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The end of a word at or a little before this position.
fn word_end(text: &str, position: usize) -> usize {
    const NEAR: usize = 40;
    if position == text.len() || text[position..].starts_with(char::is_whitespace) {
        return position;
    }
    let space = text[..position].rfind(char::is_whitespace);
    space.filter(|&space| position - space <= NEAR).unwrap_or(position)
}

/// Shortens an id in the middle, because the beginning and end distinguish ids best.
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
    line.write_fmt(text).expect("writing to a string never fails");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        super::{Scale, Share},
        *,
    };

    fn item(id: &str, text: &str, bytes: usize) -> ReportItem {
        ReportItem { id: id.into(), body: Body::Text(Excerpt::of(text, bytes)) }
    }

    fn as_json(item: &ReportItem, excerpt: usize) -> Value {
        let mut line = String::from("{");
        item.json(&mut line, 0, excerpt);
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

    /// A group of three as JSON: the second is equal to the first.
    fn group_of(keep: &str, member: &str, excerpt: usize) -> Value {
        let closeness = Closeness { distance: 1, similarity: Some(0.9) };
        let mut overview = Overview::new(Scale::Distance { radius: 3, levels: vec![] });
        overview.add([closeness; 2], 0);
        let mut view = View::new(&overview, 2_000_000, Share::TEXT);
        view.excerpt = excerpt;
        let members = [keep, member].map(|text| ReportMember {
            item: item("member", text, view.fetch),
            stays: false,
            closeness,
            alike: None,
        });
        let keep = item("keep", keep, view.fetch);
        let group = ReportGroup { position: 0, keep, why: String::new(), members: members.into() };
        let mut line = String::new();
        group.json(&mut line, &overview, &view);
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn drops_a_common_beginning_before_the_difference() {
        let text = |word: &str| "é same".repeat(100) + &" and so on".repeat(50) + word;
        let group = group_of(&text(" kept"), &text(" gone"), 300);
        let shown = |item: &Value| item["text"].as_str().unwrap().to_owned();
        assert!(shown(&group["keep"]).ends_with(" so on kept"));
        assert!(shown(&group["members"][0]).ends_with(" so on kept"));
        assert!(shown(&group["members"][1]).ends_with(" so on gone"));
        assert!(group["keep"]["opening"].as_str().unwrap().starts_with("é same"));
        let skipped = group["keep"]["skipped"].as_u64().unwrap() as usize;
        assert_eq!(skipped + shown(&group["keep"]).chars().count(), text(" kept").chars().count());
        assert_eq!(group["keep"].get("characters"), None);
    }

    #[test]
    fn keeps_the_beginning_if_texts_fit_or_differ_there() {
        let long = "same ".repeat(200);
        for (keep, member, excerpt) in [
            (long.clone() + "a", long.clone() + "b", 2_000),
            ("a ".to_owned() + &long, "b ".to_owned() + &long, 100),
            (long.clone(), long.clone(), 100),
            (String::new(), long.clone(), 100),
        ] {
            let group = group_of(&keep, &member, excerpt);
            assert_eq!(group["keep"].get("skipped"), None, "{group}");
        }
    }

    #[test]
    fn shortens_long_ids_in_the_middle() {
        let cut = short(&format!("start{}end", "x".repeat(1_000)));
        assert_eq!(cut.chars().count(), ID_CHARACTERS);
        assert!(cut.starts_with("start") && cut.contains('…') && cut.ends_with("end"));
    }

    #[test]
    fn group_has_its_full_size_even_if_few_members_are_shown() {
        let mut overview = Overview::new(Scale::Similarity { threshold: 0.5, levels: vec![] });
        let closeness = Closeness { distance: 3, similarity: Some(0.75) };
        overview.add([closeness; 60], 0);
        let item = ReportItem { id: "b".into(), body: Body::None };
        let member = ReportMember { item, stays: false, closeness, alike: None };
        let keep = ReportItem { id: "a".into(), body: Body::None };
        let group = ReportGroup { position: 0, keep, why: "first".into(), members: vec![member] };
        let mut line = String::new();
        group.json(&mut line, &overview, &View::new(&overview, 2_000_000, Share::TEXT));
        assert_eq!(
            serde_json::from_str::<Value>(&line).unwrap(),
            json!({"number": 1, "size": 60, "why": "first", "keep": {"id": "a"},
                "members": [{"value": 0.75, "distance": 3, "id": "b"}]})
        );
    }
}
