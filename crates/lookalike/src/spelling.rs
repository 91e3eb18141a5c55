//! Suggests the valid name nearest to a misspelt one.

/// The candidate with the fewest single-character edits from `name`, ignoring case.
///
/// Of several, the first one. `None` only if there are no candidates.
///
/// ```
/// use lookalike::spelling::nearest;
///
/// assert_eq!(nearest("simlarity", ["distance", "similarity"]), Some("similarity"));
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| edits(&name.to_lowercase(), candidate))
}

/// Levenshtein distance, one row of the table at a time.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_counts_insertions_removals_and_replacements() {
        for (from, to, expected) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edits(from, to), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn nearest_ignores_case_and_prefers_the_first_of_equals() {
        assert_eq!(nearest("XXH", ["murmur3-64", "xxh3"]), Some("xxh3"));
        assert_eq!(nearest("b", ["a", "c"]), Some("a"));
        assert_eq!(nearest("a", []), None);
    }
}
