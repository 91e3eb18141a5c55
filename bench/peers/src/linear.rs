//! The plain loop: exhaustive comparison by xor and popcount.

use std::path::Path;

use anyhow::Result;
use lookalike::{Radius, pairs::linear};
use lookalike_bench::{
    answer::Answer,
    npy,
    turn::{Ready, measure, serve},
};

pub fn serve_pairs(file: &Path, radius: u32) -> Result<()> {
    let prints = npy::read::<2>(file)?;
    let pairs = || {
        let mut answer = Answer::default();
        linear::all_pairs(&prints, Radius::new(radius), |pair| {
            answer.add(pair.a.into(), pair.b.into());
        });
        answer
    };
    serve(&Ready::default(), || measure(pairs, |answer| answer));
    Ok(())
}
