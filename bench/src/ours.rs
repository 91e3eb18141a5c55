//! Our side of the rows: lookalike's public API, timed.

use std::time::Instant;

use anyhow::Result;
use lookalike::{AllPairs, Fingerprint, PairsError, Radius};
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
    all_pairs_where(pool, prints, radius, |_| true)
}

/// All pairs, of which only those with a distance that `counts` enter the answer.
pub fn all_pairs_where<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    counts: impl Fn(u32) -> bool + Sync,
) -> Result<Turn> {
    let start = Instant::now();
    let answer = pool.install(|| {
        let mut answer = Answer::default();
        AllPairs::new(Radius::new(radius)).run(prints)?.for_each(|pair| {
            if counts(pair.distance) {
                answer.add(pair.a.into(), pair.b.into());
            }
        });
        Ok::<_, PairsError>(answer)
    })?;
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}

/// The plan ours would follow, for the notes.
pub fn plan<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Result<String> {
    Ok(AllPairs::new(Radius::new(radius)).plan(prints)?.to_string())
}
