use super::character::Kind;
use super::normal::normal;

/// Calls back with the bytes of every token of a program text, in order: names and numbers (runs
/// of letters, digits, marks and `_`, in lower case), and each other visible character by itself.
///
/// The language does not matter. With `blind`, every name is the same token, so that renaming
/// changes nothing; a name starts with a letter or `_`, and keywords are names too.
pub fn code(text: &str, blind: bool, mut on_token: impl FnMut(&[u8])) {
    let mut name = Vec::new();
    let close = |name: &mut Vec<u8>, on_token: &mut dyn FnMut(&[u8])| {
        if blind && name.first().is_some_and(|byte| !byte.is_ascii_digit()) {
            on_token(ANY_NAME);
        } else if !name.is_empty() {
            on_token(name);
        }
        name.clear();
    };
    normal(text, |character| {
        let (utf8, length) = character.utf8();
        match character.kind() {
            Kind::Letter | Kind::Alone | Kind::Mark => character.push_to(&mut name),
            Kind::Other if utf8 == *b"_\0\0\0" => character.push_to(&mut name),
            Kind::Space => close(&mut name, &mut on_token),
            Kind::Ignored => {}
            Kind::Other => {
                close(&mut name, &mut on_token);
                on_token(&utf8[..length]);
            }
        }
    });
    close(&mut name, &mut on_token);
}

/// What a name is to the blind.
const ANY_NAME: &[u8] = b"_";

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn code(text: &str, blind: bool) -> Vec<String> {
        collect(text, |text, on_token| super::code(text, blind, on_token))
    }

    #[test]
    fn punctuation_counts_and_white_space_does_not() {
        let tokens = ["if", "(", "max_size", "!", "=", "0x1f", ")", "{"];
        assert_eq!(code("if (MAX_SIZE != 0x1F) {", false), tokens);
        assert_eq!(code("if(max_size!=0x1f)\n\t{\n", false), tokens);
    }

    #[test]
    fn the_blind_cannot_tell_names_apart() {
        assert_eq!(code("let sum_2 = a[10];", true), ["_", "_", "=", "_", "[", "10", "]", ";"]);
        assert_eq!(code("let sum = a + b;", true), code("let \u{e9}t\u{e9} = _x1 + y;", true));
    }

    #[test]
    fn nothing_visible_is_no_token() {
        assert!(code(" \n\u{200b}", false).is_empty());
    }
}
