//! The crate `gaoya`: an index is filled, then searched for every item.
//!
//! It tests `distance < radius`, so pairs at the radius itself are never found.

use std::path::Path;

use anyhow::Result;
use gaoya::simhash::SimHashIndex;
use lookalike_bench::{
    answer::Answer,
    npy,
    turn::{Ready, measure, serve},
};

pub fn serve_pairs(file: &Path, radius: u32) -> Result<()> {
    let prints: Vec<u64> = npy::read::<1>(file)?.iter().map(|print| print.0[0]).collect();
    serve(&Ready::default(), || measure(|| pairs(&prints, radius), |answer| answer));
    Ok(())
}

fn pairs(prints: &[u64], radius: u32) -> Answer {
    let radius = radius as usize;
    let mut index = SimHashIndex::<u64, u32>::new(radius + 2, radius);
    prints.iter().zip(0..).for_each(|(&print, id)| index.insert(id, print));
    let mut answer = Answer::default();
    for (print, id) in prints.iter().zip(0..) {
        let later = index.query(print).into_iter().filter(|&&found| found > id);
        later.for_each(|&found| answer.add(id.into(), found.into()));
    }
    answer
}
