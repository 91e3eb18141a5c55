use super::character::{Character, Kind};
use super::normal::normal;
use crate::hash::{mix_block, mix_length};

/// Calls back with the bytes of every word, in order.
///
/// A word is a run of letters and digits of the normal form (NFKC, lower case), with the marks on
/// them. A character of a script that writes no spaces (Chinese, Japanese, Thai, Lao, Khmer,
/// Burmese) is a word by itself.
pub fn words(text: &str, mut on_token: impl FnMut(&[u8])) {
    each_word(text, &mut Vec::new(), |word| {
        on_token(word);
        word.clear();
    });
}

/// Calls back with the hash of every word, in order.
#[inline]
pub(super) fn word_hashes(text: &str, mut on_hash: impl FnMut(u64)) {
    each_word(text, &mut HashedWord::default(), |word| on_hash(word.take_hash()));
}

/// Reads one word after the other into `word`; `close` has to empty it.
#[inline]
fn each_word<W: Word>(text: &str, word: &mut W, mut close: impl FnMut(&mut W)) {
    let mut alone = false;
    normal(text, |character| {
        let kind = character.kind();
        let goes_on = match kind {
            Kind::Ignored => return,
            Kind::Letter => !alone,
            Kind::Mark => true,
            Kind::Alone | Kind::Space | Kind::Other => false,
        };
        if !goes_on && !word.is_empty() {
            close(word);
            alone = false;
        }
        if matches!(kind, Kind::Letter | Kind::Alone) || kind == Kind::Mark && !word.is_empty() {
            word.push(character);
            alone |= kind == Kind::Alone;
        }
    });
    if !word.is_empty() {
        close(word);
    }
}

/// A word that is being read.
pub(super) trait Word {
    fn is_empty(&self) -> bool;
    fn push(&mut self, character: Character);
}

impl Word for Vec<u8> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn push(&mut self, character: Character) {
        character.push_to(self);
    }
}

/// A word of which only the hash is wanted: what [`mix`](crate::hash::mix) does, byte by byte.
#[derive(Default)]
pub(super) struct HashedWord {
    /// Of the blocks that are complete.
    hash: u64,
    /// The bytes of the block that is not, from the lowest.
    block: u128,
    length: usize,
}

impl HashedWord {
    #[inline]
    pub(super) fn take_hash(&mut self) -> u64 {
        let Self { hash, block, length } = std::mem::take(self);
        // A word never ends with an empty block, but its last block may be full.
        mix_length(mix_block(hash, (block as u64, (block >> 64) as u64)), length)
    }
}

impl Word for HashedWord {
    #[inline]
    fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    fn push(&mut self, character: Character) {
        let (utf8, length) = character.utf8();
        let bytes = u128::from(u32::from_le_bytes(utf8));
        // From 1 to 16: a full block waits for the next byte.
        let filled = if self.length == 0 { 0 } else { (self.length - 1) % 16 + 1 };
        self.length += length;
        if filled == 16 {
            self.hash = mix_block(self.hash, (self.block as u64, (self.block >> 64) as u64));
            self.block = bytes;
            return;
        }
        self.block |= bytes << (8 * filled);
        if filled + length > 16 {
            self.hash = mix_block(self.hash, (self.block as u64, (self.block >> 64) as u64));
            self.block = bytes >> (8 * (16 - filled));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect;
    use crate::hash::mix;
    use proptest::prelude::*;

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
        assert_eq!(words("\u{4eca}\u{65e5}\u{30fb}\u{306f}"), ["\u{4eca}", "\u{65e5}", "\u{306f}"]);
        assert_eq!(words("\u{d55c}\u{ad6d} \u{b9d0}"), ["\u{d55c}\u{ad6d}", "\u{b9d0}"]);
        // Thai: a consonant goes with the vowel and tone marks on it.
        assert_eq!(
            words("\u{e17}\u{e35}\u{e48}\u{e19}\u{e35}"),
            ["\u{e17}\u{e35}\u{e48}", "\u{e19}\u{e35}"]
        );
    }

    #[test]
    fn marks_stay_with_their_letter_and_never_start_a_word() {
        assert_eq!(
            words("\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}"),
            ["\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}"]
        );
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

    proptest! {
        #[test]
        fn the_hash_of_a_word_is_that_of_its_bytes(text: String, long in "[a-z\u{e9}\u{20ac}\u{10400}]{0,60}") {
            for text in [text, long] {
                let mut hashes = Vec::new();
                super::word_hashes(&text, |hash| hashes.push(hash));
                let mut expected = Vec::new();
                super::words(&text, |word| expected.push(mix(word)));
                prop_assert_eq!(hashes, expected);
            }
        }
    }
}
