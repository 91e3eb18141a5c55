use super::character::{Character, Kind};
use super::normal::normal;
use crate::hash::{mix_block, mix_length};

/// Calls back with the bytes of every word, in order.
///
/// A word is a run of letters and digits of the normal form (NFKC, lower case) with their marks. A
/// character of a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) is a word by
/// itself.
pub fn words(text: &str, mut on_token: impl FnMut(&[u8])) {
    each_word(text, &mut Vec::new(), |word| {
        on_token(word);
        word.clear();
    });
}

/// Adds the hash of every word to `hashes`, in order.
pub(super) fn word_hashes(text: &str, hashes: &mut Vec<u64>) {
    let before = hashes.len();
    if !plain_word_hashes(text, hashes) {
        hashes.truncate(before);
        each_word(text, &mut HashedWord::default(), |word| hashes.push(word.take_hash()));
    }
}

/// The same for text with nothing to join, reorder or leave out, which is nearly all text. Returns
/// `false`, having added some hashes, for other text.
#[inline]
fn plain_word_hashes(text: &str, hashes: &mut Vec<u64>) -> bool {
    let (mut word, mut alone) = (HashedWord::default(), false);
    for character in text.chars() {
        let character = Character::of(character);
        if !character.is_plain() {
            return false;
        }
        if !character.is_letter() || alone {
            if !word.is_empty() {
                hashes.push(word.take_hash());
            }
            alone = character.is_alone();
            if !alone && !character.is_letter() {
                continue;
            }
        }
        word.push(character);
    }
    if !word.is_empty() {
        hashes.push(word.take_hash());
    }
    true
}

/// Reads words into `word`; `close` must empty it.
#[inline]
fn each_word<W: Word>(text: &str, word: &mut W, mut close: impl FnMut(&mut W)) {
    let mut alone = false;
    for character in normal(text) {
        let kind = character.kind();
        let goes_on = match kind {
            Kind::Ignored => continue,
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
    }
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

/// The hash of a word, computed block by block as by [`mix`](crate::hash::mix).
#[derive(Default)]
pub(super) struct HashedWord {
    /// The hash of the blocks processed so far.
    hash: u64,
    /// The number of their bytes.
    hashed: usize,
    /// Up to 16 bytes after them, the first one lowest. They are a number because reading bytes that
    /// were written one by one as a whole would stall.
    block: u128,
    length: usize,
}

impl HashedWord {
    #[inline]
    pub(super) fn take_hash(&mut self) -> u64 {
        let hash = self.hash_of_blocks();
        let hash = mix_length(hash, self.hashed + self.length);
        *self = Self::default();
        hash
    }

    #[inline]
    fn hash_of_blocks(&self) -> u64 {
        mix_block(self.hash, self.block)
    }

    /// Completes the block, hashes it, and begins the next one.
    #[cold]
    fn push_over(&mut self, bytes: u128, length: usize) {
        let room = 16 - self.length;
        if room > 0 {
            self.block |= bytes << (8 * self.length);
        }
        self.hash = self.hash_of_blocks();
        self.hashed += 16;
        self.block = bytes >> (8 * room);
        self.length = length - room;
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
        if self.length + length <= 16 {
            self.block |= bytes << (8 * self.length);
            self.length += length;
        } else {
            self.push_over(bytes, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect;
    use super::HashedWord;
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
                super::word_hashes(&text, &mut hashes);
                let mut expected = Vec::new();
                super::words(&text, |word| expected.push(mix(word)));
                prop_assert_eq!(&hashes, &expected);
                hashes.clear();
                super::each_word(&text, &mut HashedWord::default(), |word| hashes.push(word.take_hash()));
                prop_assert_eq!(hashes, expected);
            }
        }
    }
}
