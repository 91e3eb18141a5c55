use super::shingles;

/// Every run of `size` neighbouring characters, in UTF-8; all of them if there are fewer.
///
/// Characters are brought to lower case one by one. A run of white space is one space; at the ends
/// of the text it is nothing.
pub fn characters(text: &str, size: usize, on_feature: impl FnMut(&[u8])) {
    let normal = normalise(text);
    let tokens: Vec<_> = normal
        .char_indices()
        .map(|(start, character)| start..start + character.len_utf8())
        .collect();
    shingles(&normal, &tokens, size, on_feature);
}

fn normalise(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.extend(word.chars().flat_map(char::to_lowercase));
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn characters(text: &str, size: usize) -> Vec<String> {
        collect(|text: &str, size, f| super::characters(text, size, f), text, size)
    }

    #[test]
    fn case_and_kind_of_white_space_do_not_matter() {
        assert_eq!(characters("  A\t\nb  ", 1), ["a", " ", "b"]);
        assert_eq!(characters("A b", 2), characters("a \r\n B", 2));
    }

    #[test]
    fn characters_are_not_bytes() {
        assert_eq!(characters("Caf\u{c9}", 2), ["ca", "af", "f\u{e9}"]);
    }

    #[test]
    fn few_characters_are_one_feature_and_none_are_none() {
        assert_eq!(characters("ab", 5), ["ab"]);
        assert!(characters(" \n", 1).is_empty());
        assert!(characters("", 3).is_empty());
    }
}
