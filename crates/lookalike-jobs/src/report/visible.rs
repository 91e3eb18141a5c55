//! How are names shown on a terminal, whatever is in them? Characters that would end the line, turn
//! the text around or give the terminal orders are shown by their numbers.

use std::borrow::Cow;

/// A text on one line, with nothing hidden in it.
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
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_give_orders_to_a_terminal() {
        assert!(matches!(visible("Übung 1.txt"), Cow::Borrowed("Übung 1.txt")));
        assert_eq!(visible("a\nb\u{1b}[2Jc\u{202e}d"), "a\\nb\\u{1b}[2Jc\\u{202e}d");
    }
}
