//! All pairs within a radius, compared with peers that find all or almost all of them.

use std::time::Duration;

use anyhow::{Context, Result};
use lookalike::pairs::Pair;
use lookalike_bench::{answer::Answer, data::Planted, npy, turn::Turn};

use super::{argument, disagreement};
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, count, seconds},
};

pub fn million(options: &Options) -> Result<Vec<Row>> {
    against_chunks(options, options.size(1_000_000), 3, &["2x32"], Goal::AtLeast(12.0, 20.0))
}

pub fn ten_million(options: &Options) -> Result<Vec<Row>> {
    against_chunks(options, options.size(10_000_000), 3, &["2x32"], Goal::AtLeast(12.0, 20.0))
}

pub fn radius_six(options: &Options) -> Result<Vec<Row>> {
    let chunkings = ["2x32", "1x64", "4x16"];
    against_chunks(options, options.size(1_000_000), 6, &chunkings, Goal::AtLeast(6.0, 10.0))
}

/// Against all-pairs-hamming with its best chunking.
fn against_chunks(
    options: &Options,
    items: u64,
    radius: u32,
    chunkings: &[&str],
    goal: Goal,
) -> Result<Vec<Row>> {
    let prints = Planted { items, radius }.prints::<1>();
    let file = npy::temporary(&prints)?;
    let (chunking, mut peer) = best_chunking(options, argument(&file)?, radius, chunkings)?;
    let pool = ours::threads(1)?;
    let [ours, afresh, theirs] = Rounds::WARM.run([
        &mut || ours::all_pairs(&pool, &prints, radius),
        &mut || ours::all_pairs_afresh(&pool, &prints, radius),
        &mut || peer.turn(),
    ])?;
    let tried = match chunkings {
        [_] => String::new(),
        several => format!("; its best of {}", several.join(", ")),
    };
    Ok(vec![Row {
        work: format!("all pairs, {}, 64 bit, k={radius}, with ids", count(items)),
        ours: seconds(ours.seconds),
        peer: format!("all-pairs-hamming {chunking}"),
        theirs: seconds(theirs.seconds),
        value: theirs.seconds / ours.seconds,
        unit: "x",
        goal,
        note: format!(
            "{}; ours with a reused workspace, {} if allocated each time; {}{tried}",
            both_found(ours, theirs),
            seconds(afresh.seconds),
            ours::plan(&prints, radius)?
        ),
        failure: disagreement(ours, theirs),
    }])
}

/// The first chunking is unlimited; any other may take five times as long.
fn best_chunking<'a>(
    options: &Options,
    file: &str,
    radius: u32,
    chunkings: &[&'a str],
) -> Result<(&'a str, Peer)> {
    let mut best: Option<(f64, &str, Peer)> = None;
    for &chunking in chunkings {
        let patience = best.as_ref().map_or(600.0, |(seconds, ..)| 5.0 * seconds + 1.0);
        let arguments = ["all-pairs-hamming", file, &radius.to_string(), chunking];
        let mut peer = Peer::rust(options, &arguments)?;
        let Ok(turn) = peer.turn_within(Duration::from_secs_f64(patience)) else { continue };
        if best.as_ref().is_none_or(|(seconds, ..)| turn.seconds < *seconds) {
            best = Some((turn.seconds, chunking, peer));
        }
    }
    let (_, chunking, peer) = best.context("all-pairs-hamming gave no answer")?;
    Ok((chunking, peer))
}

pub fn threads(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(10_000_000);
    let prints = Planted { items, radius: 3 }.prints::<1>();
    let (one, two) = (ours::threads(1)?, ours::threads(2)?);
    let [single, double] = Rounds::WARM
        .run([&mut || ours::all_pairs(&one, &prints, 3), &mut || {
            ours::all_pairs(&two, &prints, 3)
        }])?;
    Ok(vec![Row {
        work: format!("all pairs, {}, 64 bit, k=3, two threads", count(items)),
        ours: seconds(double.seconds),
        peer: "ours, one thread".into(),
        theirs: seconds(single.seconds),
        value: single.seconds / double.seconds,
        unit: "x",
        goal: Goal::AtLeast(1.8, 1.95),
        note: both_found(double, single),
        failure: disagreement(double, single),
    }])
}

pub fn gaoya(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(1_000_000);
    let prints = Planted { items, radius: 3 }.prints::<1>();
    let file = npy::temporary(&prints)?;
    let mut peer = Peer::rust(options, &["gaoya", argument(&file)?, "3"])?;
    let pool = ours::threads(1)?;
    let all = ours::all_pairs(&pool, &prints, 3)?;
    let [theirs] = Rounds::ONCE.run([&mut || peer.turn()])?;
    let [ours] =
        Rounds::WARM.run([&mut || ours::all_pairs_as(&pool, &prints, 3, enter_below::<3>)])?;
    Ok(vec![Row {
        work: format!("all pairs, {}, 64 bit, k=3, with ids", count(items)),
        ours: seconds(ours.seconds),
        peer: "gaoya SimHashIndex(5, 3), insert + query all, once".into(),
        theirs: seconds(theirs.seconds),
        value: theirs.seconds / ours.seconds,
        unit: "x",
        goal: Goal::None,
        note: format!(
            "gaoya drops all pairs at distance k: {} of {} found; those are the same as ours",
            theirs.answer.pairs, all.answer.pairs
        ),
        failure: disagreement(ours, theirs),
    }])
}

/// gaoya's test is "less than", so it finds distances 0 to 2 when asked for 3.
fn enter_below<const RADIUS: u32>(answer: &mut Answer, pair: Pair) {
    if pair.distance < RADIUS {
        answer.add(pair.a.into(), pair.b.into());
    }
}

/// faiss scans everything for each query. A self-join needs each pair once, so its time is halved.
pub fn wide(options: &Options) -> Result<Vec<Row>> {
    const QUERIES: u64 = 2000;
    let items = options.size(1_000_000);
    let prints = Planted { items, radius: 31 }.prints::<4>();
    let file = npy::temporary(&prints)?;
    let queries = QUERIES.min(items);
    let arguments = ["flat", argument(&file)?, "31", &queries.to_string()];
    let mut peer = Peer::faiss(options, &arguments)?;
    let pool = ours::threads(1)?;
    // All pairs are found; those of the faiss queries are compared.
    let enter = |answer: &mut Answer, pair| enter_hits(answer, pair, queries);
    let [ours, theirs] = Rounds::WARM
        .run([&mut || ours::all_pairs_as(&pool, &prints, 31, enter), &mut || peer.turn()])?;
    let full = theirs.seconds / queries as f64 * items as f64;
    Ok(vec![Row {
        work: format!("all pairs, {}, 256 bit, k=31, with ids", count(items)),
        ours: seconds(ours.seconds),
        peer: "faiss IndexBinaryFlat, extrapolated, halved".into(),
        theirs: seconds(full / 2.0),
        value: full / 2.0 / ours.seconds,
        unit: "x",
        goal: Goal::AtLeast(600.0, 1000.0),
        note: format!(
            "{}; faiss {}: {queries} queries in {}, all {} would take {} ({:.0}x); neighbours of \
             the {queries}: ours {}, theirs {}",
            ours::plan(&prints, 31)?,
            peer.ready().version,
            seconds(theirs.seconds),
            count(items),
            seconds(full),
            full / ours.seconds,
            ours.answer.pairs,
            theirs.answer.pairs,
        ),
        failure: disagreement(ours, theirs),
    }])
}

/// The results for this pair of a search for the first `queries` items.
fn enter_hits(answer: &mut Answer, pair: Pair, queries: u64) {
    let (a, b) = (pair.a.into(), pair.b.into());
    for (query, item) in [(a, b), (b, a)] {
        if query < queries {
            answer.add(query, item);
        }
    }
}

fn both_found(ours: Turn, theirs: Turn) -> String {
    format!("pairs: ours {}, theirs {}", ours.answer.pairs, theirs.answer.pairs)
}
