use std::sync::OnceLock;

use jieba_rs::Jieba;

use super::{normal_form, words};

/// Calls back with the bytes of every word, in order. Unlike [`words`], splits runs of Chinese
/// characters into the words of a dictionary.
///
/// The dictionary, and the model for words that it lacks, are those of jieba (by jieba-rs, pinned).
/// They are unpacked on first use, which takes a fraction of a second.
pub fn dictionary_words(text: &str, mut on_token: impl FnMut(&[u8])) {
    let normal = normal_form(text);
    let mut rest = normal.as_str();
    while let Some(first) = rest.chars().next() {
        let chinese = is_chinese(first);
        let end = rest.find(|character| is_chinese(character) != chinese).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if chinese {
            jieba().cut(run, true).iter().for_each(|word| on_token(word.word.as_bytes()));
        } else {
            words(run, &mut on_token);
        }
        rest = after;
    }
}

fn jieba() -> &'static Jieba {
    static JIEBA: OnceLock<Jieba> = OnceLock::new();
    JIEBA.get_or_init(Jieba::new)
}

fn is_chinese(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn dictionary_words(text: &str) -> Vec<String> {
        collect(text, |text, on_token| super::dictionary_words(text, on_token))
    }

    #[test]
    fn chinese_words_have_several_characters() {
        assert_eq!(
            dictionary_words(
                "\u{6211}\u{6765}\u{5230}\u{5317}\u{4eac}\u{6e05}\u{534e}\u{5927}\u{5b66}, 2026 Hello"
            ),
            [
                "\u{6211}",
                "\u{6765}\u{5230}",
                "\u{5317}\u{4eac}",
                "\u{6e05}\u{534e}\u{5927}\u{5b66}",
                "2026",
                "hello"
            ]
        );
    }

    #[test]
    fn other_text_is_cut_as_without_dictionary() {
        let text = "Stra\u{df}e \u{3042}\u{3044} caf\u{e9}-99";
        assert_eq!(dictionary_words(text), collect(text, |text, f| super::words(text, f)));
        assert!(dictionary_words(" ... ").is_empty());
    }
}
