//! Batch queries to a static index, against faiss.

use std::time::Instant;

use anyhow::Result;
use lookalike::{Fingerprint, Radius, StaticIndex, index::Search};
use lookalike_bench::{
    answer::Answer,
    data::{Planted, queries},
    npy,
    turn::Turn,
};
use rayon::ThreadPool;

use super::{argument, disagreement};
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, amount, count, seconds},
};

const RADIUS: u32 = 3;

/// How many queries lookalike answers at once, and how many of the same faiss can answer in time.
const QUERIES: (u64, u64) = (200_000, 4_000);

pub fn run(options: &Options) -> Result<Vec<Row>> {
    let planted = Planted { items: options.size(10_000_000), radius: RADIUS };
    let prints = planted.prints::<1>();
    let many = queries::<1>(planted, options.size(QUERIES.0));
    let few = &many[..many.len().min(QUERIES.1 as usize)];
    let (file, asked) = (npy::temporary(&prints)?, npy::temporary(few)?);
    let arguments = ["multihash", argument(&file)?, &RADIUS.to_string(), argument(&asked)?];
    let mut peer = Peer::faiss(options, &arguments)?;
    let pool = ours::threads(1)?;
    let start = Instant::now();
    let index = pool.install(|| StaticIndex::<1>::build(&prints, Radius::new(RADIUS)))?;
    let built = start.elapsed().as_secs_f64();
    let [ours, ours_few, theirs] = Rounds::WARM.run([
        &mut || search(&pool, &index, &many),
        &mut || search(&pool, &index, few),
        &mut || peer.turn(),
    ])?;
    let work = format!("batch queries, {}, 64 bit, k=3, with ids", count(planted.items));
    let our_query = ours.seconds / many.len() as f64;
    let their_query = theirs.seconds / few.len() as f64;
    let [our_bytes, their_bytes] = [index.memory_bytes() as f64, peer.ready().bytes as f64]
        .map(|bytes| bytes / planted.items as f64);
    let speed = Row {
        work: work.clone(),
        ours: seconds(our_query),
        peer: "faiss MultiHash 4x16, per query".into(),
        theirs: seconds(their_query),
        value: their_query / our_query,
        unit: "x",
        goal: Goal::AtLeast(400.0, 1000.0),
        note: format!(
            "every second query has a neighbour; ours: {} queries at once ({} each for {}), {}, \
             built in {}; faiss {}: {} queries, index built in {}; matches of these: ours {}, theirs {}",
            many.len(),
            seconds(ours_few.seconds / few.len() as f64),
            few.len(),
            index.plan(),
            seconds(built),
            peer.ready().version,
            few.len(),
            seconds(peer.ready().seconds),
            ours_few.answer.pairs,
            theirs.answer.pairs
        ),
        failure: disagreement(ours_few, theirs),
    };
    let memory = Row {
        work: format!("{work}: index bytes per item"),
        ours: amount(our_bytes, "B"),
        peer: "faiss MultiHash 4x16".into(),
        theirs: amount(their_bytes, "B"),
        value: our_bytes,
        unit: "B",
        goal: Goal::AtMost(64.0, 64.0),
        note: "ours as the index counts it, ids included; faiss as its process grew".into(),
        failure: None,
    };
    Ok(vec![speed, memory])
}

fn search(pool: &ThreadPool, index: &StaticIndex<1>, queries: &[Fingerprint<1>]) -> Result<Turn> {
    let start = Instant::now();
    let mut answer = Answer::default();
    pool.install(|| {
        index.search_batch(queries, Radius::new(RADIUS), |query, found| {
            answer.add(query as u64, found.id.into());
        })
    })?;
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}
