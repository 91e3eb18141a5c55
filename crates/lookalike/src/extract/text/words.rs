use super::character::Kind;
use super::normal::normal;

/// Calls back with the bytes of every word, in order.
///
/// A word is a run of letters and digits of the normal form (NFKC, lower case), with the marks on
/// them. A character of a script that writes no spaces (Chinese, Japanese, Thai, Lao, Khmer,
/// Burmese) is a word by itself.
pub fn words(text: &str, mut on_token: impl FnMut(&[u8])) {
    let mut word = Word::default();
    normal(text, |character| {
        match character.kind() {
            Kind::Letter => word.close_if(word.alone, &mut on_token),
            Kind::Alone => word.close_if(true, &mut on_token),
            Kind::Mark if !word.bytes.is_empty() => {}
            Kind::Mark | Kind::Ignored => return,
            Kind::Space | Kind::Other => return word.close_if(true, &mut on_token),
        }
        word.alone |= character.kind() == Kind::Alone;
        character.push_to(&mut word.bytes);
    });
    word.close_if(true, &mut on_token);
}

/// The word that is being read.
#[derive(Default)]
struct Word {
    bytes: Vec<u8>,
    alone: bool,
}

impl Word {
    #[inline]
    fn close_if(&mut self, ends: bool, on_token: &mut impl FnMut(&[u8])) {
        if ends && !self.bytes.is_empty() {
            on_token(&self.bytes);
            self.bytes.clear();
            self.alone = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn words(text: &str) -> Vec<String> {
        collect(text, |text, on_token| super::words(text, on_token))
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            words("Don't PANIC: 42nd\tStra\u{df}e!"),
            ["don", "t", "panic", "42nd", "stra\u{df}e"]
        );
    }

    #[test]
    fn punctuation_and_white_space_between_words_do_not_matter() {
        assert_eq!(words("a b  c"), ["a", "b", "c"]);
        assert_eq!(words("(A),-b\n...C."), ["a", "b", "c"]);
    }

    #[test]
    fn each_character_of_a_script_without_spaces_is_a_word() {
        assert_eq!(
            words("Rust\u{662f}\u{597d}\u{7684}3"),
            ["rust", "\u{662f}", "\u{597d}", "\u{7684}", "3"]
        );
        assert_eq!(
            words("\u{4eca}\u{65e5}\u{30fb}\u{306f}"),
            ["\u{4eca}", "\u{65e5}", "\u{306f}"]
        );
        assert_eq!(words("\u{d55c}\u{ad6d} \u{b9d0}"), ["\u{d55c}\u{ad6d}", "\u{b9d0}"]);
        // Thai: a consonant goes with the vowel and tone marks on it.
        assert_eq!(words("\u{e17}\u{e35}\u{e48}\u{e19}\u{e35}"), [
            "\u{e17}\u{e35}\u{e48}",
            "\u{e19}\u{e35}"
        ]);
    }

    #[test]
    fn marks_stay_with_their_letter_and_never_start_a_word() {
        assert_eq!(words("\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}"), [
            "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}"
        ]);
        assert!(words("\u{2764}\u{fe0f} \u{301}").is_empty());
    }

    #[test]
    fn soft_hyphens_and_joiners_are_as_if_not_there() {
        assert_eq!(words("co\u{ad}operate"), ["cooperate"]);
        assert_eq!(words("\u{645}\u{6cc}\u{200c}\u{62e}"), words("\u{645}\u{6cc}\u{62e}"));
        assert_eq!(words("zero\u{200b}width"), ["zero", "width"]);
    }

    #[test]
    fn texts_without_letters_have_no_words() {
        assert!(words("... !").is_empty());
        assert!(words("").is_empty());
    }
}
