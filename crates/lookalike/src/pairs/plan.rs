//! How will the pairs be found, and what will it cost?

/// How pairs are found: printed for people, asked by programs.
#[derive(Clone, Debug)]
pub struct Plan {}

impl Plan {
    /// Fingerprint comparisons the plan expects to make.
    pub fn expected_compares(&self) -> f64 {
        0.0
    }

    /// Bytes of memory the plan expects to need, the fingerprints included.
    pub fn expected_memory(&self) -> u64 {
        0
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("linear")
    }
}
