//! The normal form of a text, in which different code points for the same characters are equal.
//!
//! The normal form is NFKC, then each character in lower case. Nearly all text is in NFKC already, which
//! Unicode's quick check shows character by character (UAX #15, section 9). Only sequences that may not
//! be are normalised.

use std::str::Chars;

use unicode_normalization::UnicodeNormalization;

use super::character::Character;

/// The characters of the normal form of a text, in order.
#[inline]
pub(super) fn normal(text: &str) -> Normal<'_> {
    let mut rest = text.chars();
    let next = rest.next().map(Character::of);
    Normal { text, rest, next, sequence: Vec::new() }
}

/// The iterator of [`normal`].
pub(super) struct Normal<'a> {
    /// From `next` on.
    text: &'a str,
    /// After `next`.
    rest: Chars<'a>,
    next: Option<Character>,
    /// Normalised characters, last first.
    sequence: Vec<Character>,
}

impl Iterator for Normal<'_> {
    type Item = Character;

    #[inline]
    fn next(&mut self) -> Option<Character> {
        if !self.sequence.is_empty() {
            return self.sequence.pop();
        }
        let first = self.next?;
        let after = self.rest.as_str();
        self.next = self.rest.next().map(Character::of);
        if !first.is_unstable() && self.next.is_none_or(Character::is_boundary) {
            self.text = after;
            return Some(first);
        }
        self.normalise(first, after)
    }
}

impl Normal<'_> {
    /// Normalises all characters that may be reordered or joined.
    #[cold]
    fn normalise(&mut self, first: Character, after_first: &str) -> Option<Character> {
        let (mut stable, mut class) = (!first.is_unstable(), first.combining_class());
        let mut after = after_first.len();
        while let Some(mark) = self.next.filter(|&character| !character.is_boundary()) {
            stable &= !mark.is_unstable() && class <= mark.combining_class();
            class = mark.combining_class();
            after = self.rest.as_str().len();
            self.next = self.rest.next().map(Character::of);
        }
        let (sequence, text) = self.text.split_at(self.text.len() - after);
        self.text = text;
        if stable {
            self.sequence.extend(sequence.chars().map(Character::of));
        } else {
            self.sequence.extend(sequence.nfkc().map(Character::of));
        }
        self.sequence.reverse();
        self.sequence.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalised(text: &str) -> String {
        let mut bytes = Vec::new();
        normal(text).for_each(|character| character.push_to(&mut bytes));
        String::from_utf8(bytes).unwrap()
    }

    /// The definition: all of the text to NFKC, then each character by itself.
    fn defined(text: &str) -> String {
        let mut bytes = Vec::new();
        text.nfkc().for_each(|character| Character::of(character).push_to(&mut bytes));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn spellings_of_one_text_are_one() {
        for (a, b) in [
            ("\u{ff32}\u{ff55}\u{ff53}\u{ff54}\u{3000}\u{ff11}", "rust 1"),
            ("Cafe\u{301}", "caf\u{c9}"),
            ("\u{fb01}n", "FIN"),
            ("\u{ff76}\u{ff9e}", "\u{30ac}"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}"),
            ("q\u{307}\u{323}", "q\u{323}\u{307}"),
        ] {
            assert_eq!(normalised(a), normalised(b), "{a} and {b}");
        }
    }

    /// Characters that normalisation reorders, joins, replaces or leaves alone.
    fn tricky() -> impl Strategy<Value = char> {
        let some = "aA=<> .9\u{e9}\u{301}\u{338}\u{323}\u{307}\u{345}\u{3b1}\u{ff21}\u{ff9e}\u{ff76}\u{3099}\u{304b}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{fb01}\u{4e2d}\u{e33}\u{e48}\u{e38}\u{200d}\u{ad}\u{1f600}\u{fe0f}\u{130}\u{1e9e}\u{1d15e}\u{fdfa}\u{f71}\u{f72}\u{9c7}\u{9be}";
        prop_oneof![prop::sample::select(some.chars().collect::<Vec<_>>()), any::<char>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_text_is_normalised_as_a_whole(characters in prop::collection::vec(tricky(), 0..12)) {
            let text: String = characters.into_iter().collect();
            prop_assert_eq!(normalised(&text), defined(&text));
        }
    }
}
