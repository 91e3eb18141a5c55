use super::character::{Character, Kind};
use super::normal::normal;
use crate::hash::mix_short;

/// Calls back with the bytes of every character of the normal form (NFKC, lower case), in order.
///
/// A run of white space is one space, and none at the ends of the text. Invisible format characters
/// are left out.
pub fn characters(text: &str, mut on_token: impl FnMut(&[u8])) {
    each_character(text, |character| {
        let (utf8, length) = character.utf8();
        on_token(&utf8[..length]);
    });
}

/// Calls back with the hash of every character, in order.
pub(super) fn character_hashes(text: &str, mut on_hash: impl FnMut(u64)) {
    each_character(text, |character| {
        let (utf8, length) = character.utf8();
        on_hash(mix_short(u32::from_le_bytes(utf8).into(), length));
    });
}

#[inline]
fn each_character(text: &str, mut on_character: impl FnMut(Character)) {
    let one_space = Character::of(' ');
    let (mut started, mut space) = (false, false);
    for character in normal(text) {
        match character.kind() {
            Kind::Ignored => {}
            Kind::Space => space = started,
            _ => {
                if space {
                    on_character(one_space);
                }
                (started, space) = (true, false);
                on_character(character);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn characters(text: &str) -> Vec<String> {
        collect(text, |text, on_token| super::characters(text, on_token))
    }

    #[test]
    fn case_and_kind_of_white_space_do_not_matter() {
        assert_eq!(characters("  A\t\nb  "), ["a", " ", "b"]);
        assert_eq!(characters("A b"), characters("a \r\n B"));
    }

    #[test]
    fn characters_are_not_bytes() {
        assert_eq!(characters("Caf\u{c9}"), ["c", "a", "f", "\u{e9}"]);
        assert_eq!(characters("e\u{301}\u{1f600}"), ["\u{e9}", "\u{1f600}"]);
    }

    #[test]
    fn white_space_alone_is_nothing() {
        assert!(characters(" \n").is_empty());
        assert!(characters("").is_empty());
    }
}
