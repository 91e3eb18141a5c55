//! The crate `gaoya`, from texts to signatures: 3-word shingles, as its users make them.

use std::path::Path;

use anyhow::{Result, bail};
use gaoya::{
    minhash::{MinHasher, MinHasher32},
    simhash::{SimHash, SimSipHasher64},
    text::MultiShingles,
};
use lookalike_bench::{
    answer::Answer,
    texts,
    turn::{Ready, measure, serve},
};

/// Signatures have this many hashes, for 42 bands of 3.
const HASHES: usize = 126;

pub fn serve_signatures(file: &Path, kind: &str) -> Result<()> {
    let texts = texts::read(file)?;
    let min_hasher = MinHasher32::new(HASHES);
    let sim_hash = SimHash::<SimSipHasher64, u64, 64>::new(SimSipHasher64::new(1, 2));
    let first = |words: &[&str]| -> u64 {
        let shingles = MultiShingles::new(words, 3, 3);
        match kind {
            "minhash" => min_hasher.create_signature(shingles)[0].into(),
            _ => sim_hash.create_signature(shingles),
        }
    };
    if !matches!(kind, "minhash" | "simhash") {
        bail!("no such signature: {kind}");
    }
    serve(&Ready::default(), || {
        measure(|| texts.iter().map(|text| signature(text, first)).fold(0, u64::wrapping_add), sum)
    });
    Ok(())
}

fn signature(text: &str, of_words: impl Fn(&[&str]) -> u64) -> u64 {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    of_words(&words)
}

/// The same in every turn; nobody else makes these signatures.
fn sum(checksum: u64) -> Answer {
    Answer { pairs: 0, checksum }
}
