//! Measures lookalike's public API.

use std::{sync::LazyLock, time::Instant};

use anyhow::Result;
use lookalike::{
    AllPairs, Fingerprint, Radius,
    pairs::{Pair, PairsError, Workspace},
};
use lookalike_bench::{answer::Answer, turn::Turn};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// At most this many threads.
pub fn threads(count: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(count).build()?)
}

/// The state kept from turn to turn.
static WORKSPACE: LazyLock<Workspace> = LazyLock::new(Workspace::default);

/// All pairs, each once with its two ids, as the peers return them. The workspace is kept from turn to
/// turn.
pub fn all_pairs<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
) -> Result<Turn> {
    all_pairs_as(pool, prints, radius, |answer, pair| answer.add(pair.a.into(), pair.b.into()))
}

/// Like the above, but all memory is allocated and freed in every turn.
pub fn all_pairs_afresh<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
) -> Result<Turn> {
    let enter = |answer: &mut Answer, pair: Pair| answer.add(pair.a.into(), pair.b.into());
    run(pool, prints, AllPairs::new(Radius::new(radius)), enter)
}

/// All pairs, each added to the answer in the form of the peer.
pub fn all_pairs_as<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    enter: impl Fn(&mut Answer, Pair) + Sync,
) -> Result<Turn> {
    run(pool, prints, AllPairs::new(Radius::new(radius)).workspace(&WORKSPACE), enter)
}

fn run<const WORDS: usize>(
    pool: &ThreadPool,
    prints: &[Fingerprint<WORDS>],
    search: AllPairs<'_>,
    enter: impl Fn(&mut Answer, Pair) + Sync,
) -> Result<Turn> {
    let start = Instant::now();
    let answer = pool.install(|| {
        let mut answer = Answer::default();
        search.run(prints)?.for_each(|pair| enter(&mut answer, pair));
        Ok::<_, PairsError>(answer)
    })?;
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}

/// The plan of lookalike, for the notes.
pub fn plan<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Result<String> {
    Ok(AllPairs::new(Radius::new(radius)).plan(prints)?.to_string())
}
