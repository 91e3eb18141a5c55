//! Which of two file names is plainer: `P1.jpg` is plainer than `P1 copy.jpg`, `P1 (2).jpg` and
//! `Copy of P1.jpg`, names that programs give to copies.

use std::cmp::Reverse;

/// How plain a name is, greater is plainer: fewer marks of a copy, then shorter.
pub type Plainness = Reverse<(u32, u32)>;

/// Marks of a copy before the name of its original.
const PREFIXES: [&str; 6] =
    ["copy of ", "kopie von ", "copie de ", "copia de ", "cópia de ", "kopia "];

/// Marks of a copy after the name of its original; a number may follow.
const SUFFIXES: [&str; 12] = [
    "copy",
    "kopie",
    "copie",
    "copia",
    "cópia",
    "kopia",
    "edited",
    "edit",
    "bearbeitet",
    "backup",
    "export",
    "副本",
];

/// The plainness of a path or an id.
pub fn plainness(name: &str) -> Plainness {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let length = stem.chars().count() as u32;
    let lower = stem.to_lowercase();
    let mut rest = lower.as_str();
    let mut marks = 0;
    while let Some(shorter) = without_mark(rest).filter(|shorter| !shorter.is_empty()) {
        (rest, marks) = (shorter, marks + 1);
    }
    Reverse((marks, length))
}

/// The name without its outermost mark of a copy.
fn without_mark(stem: &str) -> Option<&str> {
    if let Some(rest) = PREFIXES.iter().find_map(|mark| stem.strip_prefix(mark)) {
        return Some(rest);
    }
    let stem = stem.trim_end();
    if let Some(rest) = before_parentheses(stem) {
        return Some(rest);
    }
    let number = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    // Longer numbers count images, not copies.
    let is_short = (1..=2).contains(&(stem.len() - number.len()));
    if is_short && let Some(rest) = number.strip_suffix(['-', '_', '~']) {
        return Some(rest.trim_end());
    }
    [stem, number.trim_end()].into_iter().find_map(before_suffix)
}

/// The name before a number in parentheses, as in `P1 (2)`.
fn before_parentheses(stem: &str) -> Option<&str> {
    let (rest, number) = stem.strip_suffix(')')?.rsplit_once('(')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.trim_end())
}

/// The name before a mark of a copy, as in `P1 - Copy`.
fn before_suffix(stem: &str) -> Option<&str> {
    let rest = SUFFIXES.iter().find_map(|mark| stem.strip_suffix(mark))?;
    let bare = rest.trim_end_matches([' ', '-', '_']);
    (bare.len() < rest.len()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_original_is_plainer_than_names_of_copies() {
        for copy in [
            "P1 copy.jpg",
            "P1 copy 2.jpg",
            "P1 (2).jpg",
            "P1(1).jpg",
            "P1-1.jpg",
            "P1_2.jpg",
            "P1~3.jpg",
            "P1 - Copy.jpg",
            "P1 - Copy (3).jpg",
            "P1-edited.jpg",
            "P1 - Kopie.jpg",
            "Copy of P1.jpg",
            "Copy of Copy of P1.jpg",
            "P1 副本.jpg",
        ] {
            assert!(plainness("a long/way/P1.JPG") > plainness(copy), "{copy}");
            // Marks count more than length.
            assert!(plainness("IMG_20240101_123456.jpg") > plainness(copy), "{copy}");
        }
        assert!(plainness("P1 copy.jpg") > plainness("P1 copy copy.jpg"));
        assert!(plainness("P1 copy.jpg") > plainness("P1 copy 2.jpg"));
    }

    #[test]
    fn numbers_and_words_in_original_names_are_not_marks_of_a_copy() {
        for name in
            ["DSC_0012.jpg", "2024-01-011.jpg", "photocopy.jpg", "copy.jpg", "(2).jpg", ".x"]
        {
            assert_eq!(plainness(name).0.0, 0, "{name}");
        }
    }
}
