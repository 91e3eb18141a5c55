//! The crate `gaoya` on texts: MinHash signatures and its index, with its own ways to cut texts.
//!
//! Reads rows with an `id` and a `text`, writes pairs of ids, once: for the table of quality.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use gaoya::{
    minhash::{MinHashIndex, MinHasher, MinHasher32, calculate_minhash_params},
    text::{shingle_text, shingle_tokens, whitespace_split},
};
use serde_json::Value;

/// Its documentation's number of hashes.
const HASHES: usize = 128;

/// Pairs of at least this similarity, of `chars:N` or `words:N`.
pub fn write_pairs(texts: &Path, pairs: &Path, features: &str, threshold: f64) -> Result<()> {
    let rows = read(texts)?;
    let (bands, width) = calculate_minhash_params(threshold, HASHES);
    let hasher = MinHasher32::new(bands * width);
    let mut index = MinHashIndex::<u32, usize>::new(bands, width, threshold);
    let signatures: Result<Vec<_>> =
        rows.iter().map(|(_, text)| signature(&hasher, text, features)).collect();
    let signatures = signatures?;
    for (row, signature) in signatures.iter().enumerate() {
        index.insert(row, signature.clone());
    }
    let mut out = BufWriter::new(File::create(pairs)?);
    for (row, signature) in signatures.iter().enumerate() {
        let mut later: Vec<usize> = index.query(signature).into_iter().copied().collect();
        later.retain(|&other| other > row);
        later.sort_unstable();
        for other in later {
            writeln!(out, "{}", serde_json::json!({ "a": rows[row].0, "b": rows[other].0 }))?;
        }
    }
    Ok(out.flush()?)
}

fn signature(hasher: &impl MinHasher<V = u32>, text: &str, features: &str) -> Result<Vec<u32>> {
    let text = text.to_lowercase();
    Ok(match features.split_once(':') {
        Some(("chars", size)) => hasher.create_signature(shingle_text(&text, size.parse()?)),
        Some(("words", size)) => {
            let words: Vec<&str> = whitespace_split(&text).collect();
            hasher.create_signature(shingle_tokens(&words, size.parse()?))
        }
        _ => bail!("{features}: chars:N or words:N"),
    })
}

fn read(path: &Path) -> Result<Vec<(Value, String)>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    BufReader::new(file)
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(&line?)?;
            let text = row["text"].as_str().unwrap_or_default().to_owned();
            Ok((row["id"].take(), text))
        })
        .collect()
}
