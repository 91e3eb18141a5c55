//! Makes names safe to show on a terminal. Line ends, control characters and characters that change
//! the text direction are escaped.

use std::borrow::Cow;

/// The text on one line, with hidden characters escaped.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let shown = |character: char| match character {
        '\n' => "\\n".to_owned(),
        _ if is_hidden(character) => character.escape_unicode().to_string(),
        _ => character.to_string(),
    };
    text.chars().map(shown).collect()
}

fn is_hidden(character: char) -> bool {
    let is_direction = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || is_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_terminal_control_characters() {
        assert!(matches!(visible("Übung 1.txt"), Cow::Borrowed("Übung 1.txt")));
        assert_eq!(visible("a\nb\u{1b}[2Jc\u{202e}d"), "a\\nb\\u{1b}[2Jc\\u{202e}d");
    }
}
