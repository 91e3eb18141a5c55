/// Every run of `size` neighbouring bytes; all the bytes if there are fewer.
///
/// Nothing is normalised: use it for text that is alike byte by byte, or for no text at all.
pub fn bytes(bytes: &[u8], size: usize, on_feature: impl FnMut(&[u8])) {
    bytes.windows(size.clamp(1, bytes.len().max(1))).for_each(on_feature);
}

#[cfg(test)]
mod tests {
    use super::super::collect;

    fn bytes(text: &[u8], size: usize) -> Vec<String> {
        collect(|text: &[u8], size, f| super::bytes(text, size, f), text, size)
    }

    #[test]
    fn bytes_are_taken_as_they_are() {
        assert_eq!(bytes(b"aB  c", 2), ["aB", "B ", "  ", " c"]);
        assert_eq!(bytes("\u{e9}".as_bytes(), 1).len(), 2);
    }

    #[test]
    fn few_bytes_are_one_feature_and_none_are_none() {
        assert_eq!(bytes(b"ab", 5), ["ab"]);
        assert!(bytes(b"", 1).is_empty());
    }
}
