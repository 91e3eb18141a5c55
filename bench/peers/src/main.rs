//! A peer per process: prepares, then runs once for every line on stdin (see
//! `lookalike_bench::turn`), or writes the pairs of texts (`texts`) for the quality table. Built for
//! this processor, so that no peer lacks an instruction.

mod chunks;
mod gaoya_index;
mod gaoya_signatures;
mod gaoya_texts;
mod linear;
mod sort;
mod votes;

use std::{env, path::Path};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["all-pairs-hamming", file, radius, chunking] => {
            chunks::serve_pairs(Path::new(file), number(radius)?, chunking)
        }
        ["gaoya", file, radius] => gaoya_index::serve_pairs(Path::new(file), number(radius)?),
        ["texts", texts, pairs, features, threshold] => {
            let threshold = threshold.parse().with_context(|| format!("{threshold}: no share"))?;
            gaoya_texts::write_pairs(Path::new(texts), Path::new(pairs), features, threshold)
        }
        ["gaoya-signatures", file, kind] => {
            gaoya_signatures::serve_signatures(Path::new(file), kind)
        }
        ["linear", file, radius] => linear::serve_pairs(Path::new(file), number(radius)?),
        ["sort", file, how] => sort::serve_sort(Path::new(file), how),
        ["votes", passes, items, each, weights] => {
            let [passes, items, each] = [number(passes)?, number(items)?, number(each)?];
            votes::serve_votes(passes as usize, items.into(), each.into(), weights == "weighted");
            Ok(())
        }
        _ => bail!("no such peer: {arguments:?}"),
    }
}

fn number(text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("{text}: not a number"))
}
