//! The crate `gaoya`: signatures of texts from 3-word shingles, its common use.

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
    let runs = lower.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    let mut words = Vec::new();
    runs.for_each(|run| push_words(run, &mut words));
    of_words(&words)
}

/// The words of a run of letters. As for lookalike, a character of a script without spaces is a word
/// by itself; otherwise a Chinese sentence would be one word, and most of the work left out.
fn push_words<'a>(run: &'a str, words: &mut Vec<&'a str>) {
    if run.is_ascii() {
        return words.push(run);
    }
    let mut start = 0;
    for (place, c) in run.char_indices().filter(|&(_, c)| is_alone(c)) {
        let end = place + c.len_utf8();
        words.extend([&run[start..place], &run[place..end]].into_iter().filter(|w| !w.is_empty()));
        start = end;
    }
    if start < run.len() {
        words.push(&run[start..]);
    }
}

/// Chinese and Japanese, Thai and Lao, Burmese, Khmer.
fn is_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}')
}

/// The same in every turn; no other contender computes these signatures.
fn sum(checksum: u64) -> Answer {
    Answer { pairs: 0, checksum }
}
