use std::ops::Range;

use super::shingles;

/// Every run of `size` neighbouring words, with one space between; all of them if there are fewer.
///
/// A word is a run of letters and digits, brought to lower case character by character. A Chinese
/// or Japanese character is a word by itself: those scripts write no spaces.
pub fn words(text: &str, size: usize, on_feature: impl FnMut(&[u8])) {
    let Words { joined, tokens } = Words::of(text);
    shingles(&joined, &tokens, size, on_feature);
}

/// The words of a text, written one after the other with one space between.
#[derive(Default)]
struct Words {
    joined: String,
    tokens: Vec<Range<usize>>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self { joined: String::with_capacity(text.len()), tokens: Vec::new() };
        let mut inside = false;
        for character in text.chars() {
            let alone = is_word_by_itself(character);
            if !character.is_alphanumeric() {
                inside = false;
                continue;
            }
            if !inside || alone {
                words.start();
            }
            words.push(character);
            inside = !alone;
        }
        words
    }

    fn start(&mut self) {
        if !self.tokens.is_empty() {
            self.joined.push(' ');
        }
        self.tokens.push(self.joined.len()..self.joined.len());
    }

    fn push(&mut self, character: char) {
        self.joined.extend(character.to_lowercase());
        if let Some(token) = self.tokens.last_mut() {
            token.end = self.joined.len();
        }
    }
}

/// Han characters and kana.
fn is_word_by_itself(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}' // iteration mark, closing mark, zero
        | '\u{3040}'..='\u{30ff}' // hiragana, katakana
        | '\u{31f0}'..='\u{31ff}' // katakana extensions
        | '\u{3400}'..='\u{4dbf}' // Han, extension A
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}' // Han, compatibility
        | '\u{ff66}'..='\u{ff9d}' // katakana, half width
        | '\u{20000}'..='\u{3ffff}') // Han, other extensions
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn words(text: &str, size: usize) -> Vec<String> {
        collect(|text: &str, size, f| super::words(text, size, f), text, size)
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            words("Don't PANIC: 42nd\tStra\u{df}e!", 1),
            ["don", "t", "panic", "42nd", "stra\u{df}e"]
        );
    }

    #[test]
    fn punctuation_and_white_space_between_words_do_not_matter() {
        assert_eq!(words("a b  c", 2), ["a b", "b c"]);
        assert_eq!(words("a b  c", 2), words("(A),-b\n...C.", 2));
    }

    #[test]
    fn each_chinese_or_japanese_character_is_a_word() {
        assert_eq!(
            words("Rust\u{662f}\u{597d}\u{7684}3", 1),
            ["rust", "\u{662f}", "\u{597d}", "\u{7684}", "3"]
        );
        assert_eq!(
            words("\u{4eca}\u{65e5}\u{30fb}\u{306f}", 2),
            ["\u{4eca} \u{65e5}", "\u{65e5} \u{306f}"]
        );
        assert_eq!(words("\u{d55c}\u{ad6d} \u{b9d0}", 1), ["\u{d55c}\u{ad6d}", "\u{b9d0}"]);
    }

    #[test]
    fn few_words_are_one_feature_and_none_are_none() {
        assert_eq!(words("hello, world", 3), ["hello world"]);
        assert!(words("... !", 2).is_empty());
        assert!(words("", 1).is_empty());
    }
}
