//! The crate `all-pairs-hamming` (find-simdoc): multiple sorting of chunks. Exact.

use std::path::Path;

use all_pairs_hamming::{chunked_join::ChunkedJoiner, sketch::Sketch};
use anyhow::{Result, bail};
use lookalike_bench::{
    answer::Answer,
    npy,
    turn::{Ready, measure, serve},
};

pub fn serve_pairs(file: &Path, radius: u32, chunking: &str) -> Result<()> {
    let prints = npy::read::<1>(file)?.into_iter().map(|print| print.0[0]);
    match chunking {
        "1x64" => join(prints.map(|print| [print]), radius),
        "2x32" => join(prints.map(|print| [print as u32, (print >> 32) as u32]), radius),
        "4x16" => join(prints.map(|print| [0, 16, 32, 48].map(|at| (print >> at) as u16)), radius),
        _ => bail!("{chunking}: not 1x64, 2x32 or 4x16"),
    }
}

fn join<S: Sketch, const CHUNKS: usize>(
    prints: impl Iterator<Item = [S; CHUNKS]>,
    radius: u32,
) -> Result<()> {
    let mut joiner = ChunkedJoiner::<S>::new(CHUNKS);
    for print in prints {
        joiner.add(print)?;
    }
    // The radius is a part of the bits; with 64 of them the fraction is exact.
    let part = f64::from(radius) / 64.0;
    serve(&Ready::default(), || measure(|| joiner.similar_pairs(part), |pairs| answer(&pairs)));
    Ok(())
}

fn answer(pairs: &[(usize, usize, f64)]) -> Answer {
    let mut answer = Answer::default();
    pairs.iter().for_each(|&(a, b, _)| answer.add(a as u64, b as u64));
    answer
}
