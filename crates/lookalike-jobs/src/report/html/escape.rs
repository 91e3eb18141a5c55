//! Escapes text for HTML and for JSON inside a page.
//!
//! The data are in a `<script>` element, which ends at the first `</script`. So the JSON must not
//! contain `<`, whatever texts and ids contain.

/// A text between tags or in a quoted attribute.
pub fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Appends a text as a JSON string.
pub fn json(line: &mut String, text: &str) {
    json_within(line, text, usize::MAX);
}

/// Appends as much of a text as fits into this many bytes as a JSON string. Returns how many bytes of
/// the text were appended.
pub fn json_within(line: &mut String, text: &str, limit: usize) -> usize {
    let end = line.len().saturating_add(limit);
    line.push('"');
    for (position, character) in text.char_indices() {
        let start = line.len();
        push_json(line, character);
        // One more byte for the closing quote.
        if line.len() >= end {
            line.truncate(start);
            line.push('"');
            return position;
        }
    }
    line.push('"');
    text.len()
}

fn push_json(line: &mut String, character: char) {
    match character {
        '"' => line.push_str("\\\""),
        '\\' => line.push_str("\\\\"),
        '\n' => line.push_str("\\n"),
        '\t' => line.push_str("\\t"),
        // U+2028 and U+2029 end a line in some JavaScript parsers.
        '<' | '>' | '&' | '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
            line.push_str(&format!("\\u{:04x}", u32::from(character)));
        }
        _ => line.push(character),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_markup() {
        assert_eq!(
            markup("<b title='x' id=\"y\">&amp;</b>"),
            "&lt;b title=&#39;x&#39; id=&quot;y&quot;&gt;&amp;amp;&lt;/b&gt;"
        );
    }

    #[test]
    fn json_cannot_end_the_script_or_open_a_comment() {
        let mut line = String::new();
        json(&mut line, "</script><!--<script>]]>&\u{2028}\u{2029}\0\r\\ud800");
        assert!(!line.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0', '\r']), "{line}");
        assert!(line.ends_with("\\ud800\""), "{line}");
    }

    proptest! {
        #[test]
        fn json_read_back_is_the_text(text in any::<String>()) {
            let mut line = String::new();
            json(&mut line, &text);
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }

        #[test]
        fn shortened_json_fits_and_is_a_prefix(text in any::<String>(), limit in 2..200usize) {
            let mut line = String::from("before");
            let taken = json_within(&mut line, &text, limit);
            let written = &line["before".len()..];
            prop_assert!(written.len() <= limit);
            prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), &text[..taken]);
        }
    }
}
