//! Synthetic texts, the same in every run; each is a function of its position.

use crate::data::Draws;

/// Texts of 60 to 100 words, of which one in twenty is an edited copy of another.
///
/// Few words are frequent and most are rare, as in natural language.
#[derive(Clone, Copy)]
pub struct Documents {
    /// How many texts.
    pub items: u64,
}

/// The number of different words.
const VOCABULARY: f64 = 50_000.0;

impl Documents {
    /// A text by its position.
    pub fn text(&self, item: u64) -> String {
        let draws = Draws { seed: b"doc", item };
        match draws.below(0, 20) {
            0 => edited(words(draws.below(1, self.items)), draws),
            _ => words(item).join(" "),
        }
    }

    /// The position of the text of which a query is an edited copy, if it is one.
    pub fn original(&self, query: u64) -> Option<u64> {
        let draws = Draws { seed: b"asked", item: query };
        (query % 2 == 1).then(|| draws.below(0, self.items))
    }

    /// A query: every second one is an edited copy of a text.
    pub fn query(&self, query: u64) -> String {
        match self.original(query) {
            None => words(self.items + query).join(" "),
            Some(item) => {
                let words = self.text(item).split(' ').map(String::from).collect();
                edited(words, Draws { seed: b"edit", item: query })
            }
        }
    }
}

/// The words of a text that is no copy.
fn words(item: u64) -> Vec<String> {
    let draws = Draws { seed: b"words", item };
    (0..60 + draws.below(0, 41)).map(|at| word(draws, at + 1)).collect()
}

/// A text in which up to five words are replaced.
fn edited(mut words: Vec<String>, draws: Draws) -> String {
    for edit in 0..draws.below(2, 6) {
        let at = draws.below(3 + edit, words.len() as u64);
        words[at as usize] = word(draws, 100 + edit);
    }
    words.join(" ")
}

/// A random word; the frequency of the i-th is about 1/i (Zipf).
fn word(draws: Draws, index: u64) -> String {
    let rank = VOCABULARY.powf(draws.part(index)) as u64;
    let letters = Draws { seed: b"letters", item: rank };
    let syllable = |at| {
        let consonant = b"bcdfghjklmnprstvwz"[letters.below(2 * at, 18) as usize];
        let vowel = b"aeiou"[letters.below(2 * at + 1, 5) as usize];
        [consonant, vowel].map(char::from)
    };
    (0..2 + letters.below(100, 3)).flat_map(syllable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_copies_share_all_but_a_few_words_with_their_originals() {
        let documents = Documents { items: 1000 };
        for query in (1..200).step_by(2) {
            let original = documents.text(documents.original(query).unwrap());
            let copy = documents.query(query);
            let (original, copy) = (original.split(' '), copy.split(' '));
            assert!((60..=100).contains(&copy.clone().count()));
            assert!(original.zip(copy).filter(|(one, two)| one != two).count() <= 5);
        }
    }
}
