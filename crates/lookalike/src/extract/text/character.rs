//! The role of a character in a text.
//!
//! [`Character`] has what extractors need: the kind, the lower case in UTF-8, and whether normalisation
//! could change it. Values come from pinned Unicode tables, not from those of the compiler. They are
//! looked up in pages, each made when its first character is seen.

use std::num::NonZeroU32;
use std::sync::OnceLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// How a character affects the words around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// White space.
    Space,
    /// Punctuation, symbols, controls, and all other characters: separates words.
    Other,
    /// A letter or digit.
    Letter,
    /// A letter or digit of a script without spaces: a word by itself.
    Alone,
    /// A combining mark: part of the word before it, if there is one.
    Mark,
    /// An invisible format character such as a soft hyphen or a joiner: ignored.
    Ignored,
}

impl Kind {
    fn of(character: char) -> Self {
        use GeneralCategory as Category;
        match character.general_category() {
            _ if is_space(character) => Self::Space,
            // ZERO WIDTH SPACE separates words in scripts without spaces.
            Category::Format if character == '\u{200b}' => Self::Space,
            Category::Format => Self::Ignored,
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => {
                Self::Mark
            }
            Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber => {
                if writes_no_spaces(character) {
                    Self::Alone
                } else {
                    Self::Letter
                }
            }
            _ => Self::Other,
        }
    }
}

/// Unicode's White_Space, which is immutable.
fn is_space(character: char) -> bool {
    matches!(character,
        '\u{9}'..='\u{d}' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Han, kana, Thai, Lao, Myanmar, Khmer.
fn writes_no_spaces(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' // iteration mark, closing mark, zero
        | '\u{3040}'..='\u{30ff}' // hiragana, katakana
        | '\u{31f0}'..='\u{31ff}' // katakana extensions
        | '\u{3400}'..='\u{4dbf}' // Han, extension A
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}' // Han, compatibility
        | '\u{20000}'..='\u{3ffff}') // Han, other extensions
}

/// A character for extractors, packed into one number:
///
/// bits 0-31 are its lower case in UTF-8, 32-34 the number of these bytes, 40-42 the kind, 48-55 the
/// combining class, 56 whether normalisation may change it, 57 whether it is not plain.
#[derive(Clone, Copy)]
pub(super) struct Character(u64);

const UNSTABLE: u64 = 1 << 56;
const NOT_PLAIN: u64 = 1 << 57;

impl Character {
    /// Looks it up.
    #[inline]
    pub(super) fn of(character: char) -> Self {
        let code = character as usize;
        let page = PAGES[code / PAGE].get_or_init(|| Self::page(code / PAGE));
        page[code % PAGE]
    }

    #[cold]
    fn page(number: usize) -> Box<[Self; PAGE]> {
        Box::new(std::array::from_fn(|place| {
            // Surrogates are not characters, so they are never looked up.
            char::from_u32((number * PAGE + place) as u32).map_or(Self(0), Self::make)
        }))
    }

    /// If normalisation replaces the character by a single other one in any context, returns that one.
    fn make(character: char) -> Self {
        let mut normal = std::iter::once(character).nfkc();
        match (normal.next(), normal.next()) {
            (Some(other), None) if is_stable(other) && canonical_combining_class(other) == 0 => {
                Self::itself(other)
            }
            _ => Self::itself(character),
        }
    }

    fn itself(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = lower_case(character).encode_utf8(&mut bytes).len();
        let (kind, class) = (Kind::of(character), canonical_combining_class(character));
        let stable = is_stable(character);
        let plain = stable && class == 0 && !matches!(kind, Kind::Mark | Kind::Ignored);
        Self(
            u64::from(u32::from_le_bytes(bytes))
                | (length as u64) << 32
                | (kind as u64) << 40
                | u64::from(class) << 48
                | if stable { 0 } else { UNSTABLE }
                | if plain { 0 } else { NOT_PLAIN },
        )
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match (self.0 >> 40) as u8 & 7 {
            0 => Kind::Space,
            1 => Kind::Other,
            2 => Kind::Letter,
            3 => Kind::Alone,
            4 => Kind::Mark,
            _ => Kind::Ignored,
        }
    }

    /// The lower case in UTF-8, padded with zeros, and its length in bytes.
    #[inline]
    pub(super) fn utf8(self) -> ([u8; 4], usize) {
        ((self.0 as u32).to_le_bytes(), (self.0 >> 32) as usize & 7)
    }

    #[inline]
    pub(super) fn push_to(self, bytes: &mut Vec<u8>) {
        let (utf8, length) = self.utf8();
        bytes.extend_from_slice(&utf8[..length]);
    }

    /// Whether it is a letter or digit of a longer word.
    #[inline]
    pub(super) fn is_letter(self) -> bool {
        self.0 >> 40 & 7 == Kind::Letter as u64
    }

    /// Whether it is a word by itself.
    #[inline]
    pub(super) fn is_alone(self) -> bool {
        self.0 >> 40 & 7 == Kind::Alone as u64
    }

    /// Whether no neighbour changes it, and it is neither a mark nor ignored.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.0 & NOT_PLAIN == 0
    }

    /// Whether normalisation may change this character or join it with the previous one.
    #[inline]
    pub(super) fn is_unstable(self) -> bool {
        self.0 & UNSTABLE != 0
    }

    /// Unicode's Canonical_Combining_Class: zero for all but marks.
    #[inline]
    pub(super) fn combining_class(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// Whether normalisation from here on never depends on previous characters.
    #[inline]
    pub(super) fn is_boundary(self) -> bool {
        self.0 & (UNSTABLE | 0xff << 48) == 0
    }
}

/// Whether normalisation never changes it or joins it with previous characters.
fn is_stable(character: char) -> bool {
    is_nfkc_quick(std::iter::once(character)) == IsNormalized::Yes
}

/// Unicode's simple case folding, which maps one character to one.
fn lower_case(character: char) -> char {
    let folded = unicode_case_mapping::case_folded(character).map_or(0, NonZeroU32::get);
    char::from_u32(folded).filter(|&folded| folded != '\0').unwrap_or(character)
}

const PAGE: usize = 256;

static PAGES: [OnceLock<Box<[Character; PAGE]>>; 0x11_0000 / PAGE] =
    [const { OnceLock::new() }; 0x11_0000 / PAGE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_a_kind_and_a_lower_case_that_is_its_own() {
        for character in '\0'..=char::MAX {
            let Character(entry) = Character::of(character);
            let (utf8, length) = Character(entry).utf8();
            let lower = str::from_utf8(&utf8[..length]).unwrap();
            let mut characters = lower.chars();
            let folded = Character::of(characters.next().unwrap());
            assert!(characters.next().is_none());
            assert_eq!(folded.utf8(), Character(entry).utf8(), "{character:?} -> {lower:?}");
            // The one mark that has a capital letter.
            let same = folded.kind() == Character(entry).kind() || character == '\u{345}';
            assert!(same, "{character:?}");
        }
    }

    #[test]
    fn kinds_are_what_readers_expect() {
        for (text, kind) in [
            ("aZ9\u{e9}\u{df}\u{2167}\u{bd}\u{d55c}\u{5d0}", Kind::Letter),
            ("\u{4e2d}\u{3042}\u{30ab}\u{3005}\u{e01}\u{1780}\u{2f800}", Kind::Alone),
            ("\u{301}\u{fe0f}\u{e48}\u{94d}\u{20e3}", Kind::Mark),
            ("\u{ad}\u{200d}\u{feff}", Kind::Ignored),
            (" \t\u{3000}\u{200b}", Kind::Space),
            ("_.\0\u{1f600}\u{30fb}\u{3002}\u{e000}", Kind::Other),
        ] {
            for character in text.chars() {
                assert_eq!(Character::of(character).kind(), kind, "{character:?}");
            }
        }
    }
}
