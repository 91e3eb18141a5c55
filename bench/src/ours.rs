//! Our side of the rows: lookalike's public API, timed.

use std::time::Instant;

use anyhow::Result;
use lookalike::{AllPairs, Fingerprint, Pair, PairsError, Radius};
use lookalike_bench::{answer::Answer, turn::Turn};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// So many threads and no more.
pub fn threads(count: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(count).build()?)
}

/// All pairs, each seen once with its two ids: what the peers deliver.
pub fn all_pairs<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
) -> Result<Turn> {
    all_pairs_as(pool, prints, radius, |answer, pair| answer.add(pair.a.into(), pair.b.into()))
}

/// All pairs, each entered into the answer as the peer at hand would tell it.
pub fn all_pairs_as<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    enter: impl Fn(&mut Answer, Pair) + Sync,
) -> Result<Turn> {
    let start = Instant::now();
    let answer = pool.install(|| {
        let mut answer = Answer::default();
        AllPairs::new(Radius::new(radius)).run(prints)?.for_each(|pair| enter(&mut answer, pair));
        Ok::<_, PairsError>(answer)
    })?;
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}

/// The plan ours would follow, for the notes.
pub fn plan<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Result<String> {
    Ok(AllPairs::new(Radius::new(radius)).plan(prints)?.to_string())
}
