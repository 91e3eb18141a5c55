use super::character::{Character, Kind};
use super::normal::normal;
use super::words::{HashedWord, Word};

/// Calls back with the bytes of every token of a program text, in order: names and numbers (runs
/// of letters, digits, marks and `_`, in lower case), and each other visible character by itself.
///
/// The programming language does not matter. With `blind`, all names are the same token, so renaming
/// changes nothing. A name starts with a letter or `_`, and keywords are names too.
pub fn code(text: &str, blind: bool, mut on_token: impl FnMut(&[u8])) {
    each_token(text, blind, &mut Vec::new(), |token| {
        on_token(token);
        token.clear();
    });
}

/// Calls back with the hash of every token, in order.
pub(super) fn code_hashes(text: &str, blind: bool, mut on_hash: impl FnMut(u64)) {
    each_token(text, blind, &mut HashedWord::default(), |token| on_hash(token.take_hash()));
}

/// Reads tokens into `token`; `close` must empty it.
#[inline]
fn each_token<W: Word>(text: &str, blind: bool, token: &mut W, mut close: impl FnMut(&mut W)) {
    // The token of all names when blind.
    let any_name = Character::of('_');
    let mut unseen = false;
    for character in normal(text) {
        let (kind, utf8) = (character.kind(), character.utf8().0);
        if kind == Kind::Ignored {
            continue;
        }
        if matches!(kind, Kind::Letter | Kind::Alone | Kind::Mark) || utf8 == any_name.utf8().0 {
            if token.is_empty() && blind && !utf8[0].is_ascii_digit() {
                token.push(any_name);
                unseen = true;
            } else if !unseen {
                token.push(character);
            }
            continue;
        }
        if !token.is_empty() {
            close(token);
            unseen = false;
        }
        if kind == Kind::Other {
            token.push(character);
            close(token);
        }
    }
    if !token.is_empty() {
        close(token);
    }
}

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
