//! Reads the golden vectors of this repository, for tests.

/// The lines of a golden-vector file, cut at the tabs.
pub(crate) fn read(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(String::from).collect())
        .collect()
}

/// A number in hex, with or without `0x`.
pub(crate) fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
