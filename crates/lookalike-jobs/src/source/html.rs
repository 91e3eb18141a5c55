//! Extracts the main text of a web page, without scripts, navigation, link lists and footers.
//!
//! The tokens of the page become blocks of text (html5gum is the standard's tokeniser, linear on any
//! input). A block is kept if it is long and does not consist of links, or if it is short and stands
//! between such blocks. No tree is built, so a page nested a million levels deep costs no more than a
//! flat one.

use html5gum::{
    Span, Tokenizer,
    emitters::callback::{CallbackEmitter, CallbackEvent},
};

/// Elements whose content is never the page's text.
const DROPPED: [&[u8]; 17] = [
    b"script",
    b"style",
    b"noscript",
    b"template",
    b"svg",
    b"iframe",
    b"object",
    b"title",
    b"nav",
    b"header",
    b"footer",
    b"aside",
    b"button",
    b"select",
    b"textarea",
    b"menu",
    b"dialog",
];

/// Roles of elements whose content is never the page's text.
const DROPPED_ROLES: [&[u8]; 5] =
    [b"navigation", b"banner", b"contentinfo", b"complementary", b"search"];

/// Elements that can be dropped by their role, because they always have an end tag.
const WITH_ROLE: [&[u8]; 6] = [b"div", b"section", b"ul", b"ol", b"form", b"table"];

/// Inline elements, which do not end a block.
const INLINE: [&[u8]; 26] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"cite", b"code", b"data", b"del", b"dfn", b"em", b"font",
    b"i", b"ins", b"kbd", b"mark", b"q", b"s", b"samp", b"small", b"span", b"strong", b"sub",
    b"sup", b"u", b"wbr",
];

/// Elements whose text is the page's text, if they contain enough of it.
const MAIN: [&[u8]; 2] = [b"main", b"article"];

/// The minimum number of letters in main elements.
const MIN_MAIN: usize = 100;

/// The minimum number of letters in a paragraph. Letters of scripts without spaces count threefold.
const MIN_PARAGRAPH: usize = 60;

/// A block with a larger share of its letters in links is a link list.
const MAX_LINKED: f64 = 0.4;

/// The main text, one line per block. It is not empty if the page has any text.
pub fn main_text(page: &str) -> String {
    let mut blocks = Blocks::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
        blocks.add(event);
        None
    });
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(()) = token;
    }
    blocks.end_block();
    choose(&blocks.done)
}

/// Text without a block element inside.
#[derive(Default)]
struct Block {
    text: String,
    letters: usize,
    /// Letters in links.
    linked: usize,
    heading: bool,
    main: bool,
    /// Whether it is inside a dropped element, such as a footer.
    dropped: bool,
}

impl Block {
    fn is_links(&self) -> bool {
        self.linked as f64 > MAX_LINKED * self.letters as f64
    }

    fn is_paragraph(&self) -> bool {
        self.letters >= MIN_PARAGRAPH && !self.is_links()
    }
}

/// Collects blocks from tokens.
#[derive(Default)]
struct Blocks {
    done: Vec<Block>,
    block: Block,
    /// The current start tag.
    tag: Vec<u8>,
    attribute: Vec<u8>,
    role_drops: bool,
    /// The enclosing dropped element, and how many elements of its name are open.
    dropped: Option<(Vec<u8>, usize)>,
    links: usize,
    heading: bool,
    mains: usize,
}

impl Blocks {
    fn add(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag.clear();
                self.tag.extend_from_slice(name);
                self.role_drops = false;
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                self.attribute.extend_from_slice(name);
            }
            CallbackEvent::AttributeValue { value } => {
                let value = value.trim_ascii().to_ascii_lowercase();
                self.role_drops |=
                    self.attribute == b"role" && DROPPED_ROLES.contains(&value.as_slice());
            }
            CallbackEvent::CloseStartTag { self_closing } => self.start(self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    fn start(&mut self, self_closing: bool) {
        let tag = std::mem::take(&mut self.tag);
        match &mut self.dropped {
            Some((name, open)) if *name == tag => *open += usize::from(!self_closing),
            Some(_) => {}
            None => self.start_shown(&tag, self_closing),
        }
        self.tag = tag;
    }

    fn start_shown(&mut self, tag: &[u8], self_closing: bool) {
        if tag == b"br" {
            self.block.text.push(' ');
        } else if !INLINE.contains(&tag) {
            self.end_block();
        }
        let by_role = self.role_drops && WITH_ROLE.contains(&tag);
        if (DROPPED.contains(&tag) || by_role) && !self_closing {
            self.dropped = Some((tag.to_vec(), 1));
        }
        match tag {
            b"a" => self.links = 1,
            [b'h', b'1'..=b'6'] => self.heading = true,
            _ => self.mains += usize::from(MAIN.contains(&tag)),
        }
    }

    fn end(&mut self, tag: &[u8]) {
        if let Some((name, open)) = &mut self.dropped {
            *open -= usize::from(name == tag);
            if *open == 0 {
                self.end_block();
                self.dropped = None;
            }
            return;
        }
        if !INLINE.contains(&tag) {
            self.end_block();
        }
        match tag {
            b"a" => self.links = 0,
            [b'h', b'1'..=b'6'] => self.heading = false,
            _ if MAIN.contains(&tag) => self.mains = self.mains.saturating_sub(1),
            _ => {}
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        let invisible: [&[u8]; 7] =
            [b"script", b"style", b"template", b"svg", b"iframe", b"object", b"title"];
        if self.dropped.as_ref().is_some_and(|(name, _)| invisible.contains(&name.as_slice())) {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let letters = letters(&text);
        self.block.letters += letters;
        self.block.linked += letters * self.links;
        self.block.text.push_str(&text);
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        if block.letters > 0 {
            let (heading, main) = (self.heading, self.mains > 0);
            let dropped = self.dropped.is_some();
            self.done.push(Block { heading, main, dropped, ..block });
        }
    }
}

/// The amount of text in letters. A letter of a script without spaces counts as three.
fn letters(text: &str) -> usize {
    let letter = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => 1,
        '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => 3,
        _ => usize::from(character.is_alphanumeric()),
    };
    text.chars().map(letter).sum()
}

/// The blocks of the page's text, by the first rule that finds any.
fn choose(blocks: &[Block]) -> String {
    let shown: Vec<_> = blocks.iter().filter(|block| !block.dropped).collect();
    let main: Vec<_> = shown.iter().copied().filter(|block| block.main).collect();
    let is_enough = main.iter().map(|block| block.letters).sum::<usize>() >= MIN_MAIN;
    let body = if is_enough { &main } else { &shown };
    let paragraphs = paragraphs(body);
    let no_links = || shown.iter().copied().filter(|block| !block.is_links()).collect::<Vec<_>>();
    let rules = [paragraphs, no_links(), shown.clone(), blocks.iter().collect()];
    rules
        .into_iter()
        .find(|blocks| !blocks.is_empty())
        .map_or_else(String::new, |blocks| lines(&blocks))
}

/// Paragraphs, blocks without links between two paragraphs, and headings before one.
fn paragraphs<'a>(blocks: &[&'a Block]) -> Vec<&'a Block> {
    // Whether the nearest paragraph or link list before (after) a block is a paragraph.
    let near = |paragraph: &mut bool, block: &Block| {
        if block.is_paragraph() || block.is_links() {
            *paragraph = block.is_paragraph();
        }
        Some(*paragraph)
    };
    let before: Vec<_> = blocks.iter().scan(false, |state, block| near(state, block)).collect();
    let mut after: Vec<_> =
        blocks.iter().rev().scan(false, |state, block| near(state, block)).collect();
    after.reverse();
    let keep = |(number, block): (usize, &&'a Block)| {
        let short = !block.is_links() && after[number] && (before[number] || block.heading);
        (block.is_paragraph() || short).then_some(*block)
    };
    blocks.iter().enumerate().filter_map(keep).collect()
}

/// One line per block, with white space as single spaces.
fn lines(blocks: &[&Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        for (number, word) in block.text.split_whitespace().enumerate() {
            if number > 0 {
                text.push(' ');
            }
            text.push_str(word);
        }
        text.push('\n');
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const FIRST: &str = "The ferry leaves the old harbour at dawn, and by noon it has passed the \
                         lighthouse that every sailor here knows.";
    const SECOND: &str = "Nobody remembers who built it; the stones were carried over the ice in a \
                          winter that did not want to end.";

    fn page(body: &str) -> String {
        format!("<!DOCTYPE html><html><head><title>T</title><style>p{{}}</style></head>{body}")
    }

    #[test]
    fn drops_the_template_of_the_site() {
        let text = main_text(&page(&format!(
            "<body><header><h1>My Site</h1></header><nav><a href=/>Home</a></nav>
             <div role=navigation><div>Menu</div> more menu</div>
             <div class=x><h2>The ferry</h2><p>{FIRST}<p>{SECOND}</div>
             <ul><li><a href=1>Other story about something</a><li><a href=2>And another one</a></ul>
             <aside>{FIRST} An advertisement.</aside>
             <footer>Copyright, all rights reserved, imprint, terms of use, privacy, and contact</footer>
             <script>var text = '<p>{SECOND}';</script></body>"
        )));
        assert_eq!(text, format!("The ferry\n{FIRST}\n{SECOND}"));
    }

    #[test]
    fn uses_only_a_main_element_with_enough_text() {
        let text = main_text(&page(&format!(
            "<div>{SECOND} This stands outside.</div><main><article><p>{FIRST}</p>\
             <p>Short.</p><p>{SECOND}</p></article></main><p>{FIRST} Outside, too.</p>"
        )));
        assert_eq!(text, format!("{FIRST}\nShort.\n{SECOND}"));
    }

    #[test]
    fn inline_markup_does_not_split_words() {
        let text = main_text("<p>un<b>break</b>able<br>lines &amp; a&nbsp;half &lt;tag&gt;</p>");
        assert_eq!(text, "unbreakable lines & a half <tag>");
    }

    #[test]
    fn pages_without_paragraphs_keep_their_text() {
        assert_eq!(main_text("<p>Hello</p><p>world</p>"), "Hello\nworld");
        assert_eq!(main_text("<a href=x>only a link</a>"), "only a link");
        assert_eq!(main_text("<nav>only navigation"), "only navigation");
        assert_eq!(main_text("plain text, no markup"), "plain text, no markup");
        assert_eq!(main_text("<script>x</script>"), "");
        assert_eq!(main_text(""), "");
    }

    #[test]
    fn recognises_paragraphs_without_spaces() {
        let chinese = "渡船在黎明时分离开旧港口,中午时分经过每个水手都熟悉的灯塔。";
        let text = main_text(&format!("<p>{chinese}</p><ul><li><a>首页</a></ul>"));
        assert_eq!(text, chinese);
    }

    #[test]
    fn takes_linear_time_on_any_input() {
        let shapes =
            ["<div>", "<a><b>", "</p>", "<", "<a b=c ", "&amp", "<nav>", "<!--", "<p role=search>"];
        let start = Instant::now();
        for shape in shapes {
            main_text(&shape.repeat(1_000_000 / shape.len()));
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
