//! Durable collections: inserting, opening and searching; and the recall of graph indexes on many
//! near-identical items.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{About, Collection, Fingerprint, Radius, Width, collection::NewItem};
use lookalike_bench::{
    answer::Answer,
    data::{Crowded, Planted, queries},
    npy,
    turn::Turn,
};

use super::{argument, disagreement};
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, amount, count, seconds},
};

/// Items that one call inserts.
const BATCH: usize = 100_000;

/// How many queries lookalike answers, and how many of the same faiss can answer in time.
const QUERIES: (u64, u64) = (100_000, 2_000);

pub fn ten_million(options: &Options) -> Result<Vec<Row>> {
    let planted = Planted { items: options.size(10_000_000), radius: 3 };
    let prints = planted.prints::<1>();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collection");
    let many = queries::<1>(planted, options.size(QUERIES.0));
    let few = &many[..many.len().min(QUERIES.1 as usize)];
    let (file, asked) = (npy::temporary(&prints)?, npy::temporary(few)?);
    let arguments = ["multihash", argument(&file)?, "3", argument(&asked)?];
    let mut peer = Peer::faiss(options, &arguments)?;

    let [inserted, compacted] = fill(&path, About::given(Width::Bits64, Radius::new(3)), &prints)?;
    drop(prints);
    let resident = resident();
    let start = Instant::now();
    let collection = Collection::open(&path)?;
    let opened = start.elapsed().as_secs_f64();
    ensure!(collection.len() == planted.items, "{} items", collection.len());
    ensure!(collection.notes().is_empty(), "{:?}", collection.notes());
    let pool = ours::threads(1)?;
    let [batch, batch_few, single, theirs] = Rounds::WARM.run([
        &mut || pool.install(|| search_batch(&collection, &many, 3)),
        &mut || pool.install(|| search_batch(&collection, few, 3)),
        &mut || search_singly(&collection, few, 3),
        &mut || peer.turn(),
    ])?;
    let grown = (self::resident() - resident) as f64 / planted.items as f64;
    let stats = collection.stats();
    let tables = stats.memory_bytes as f64 / planted.items as f64;
    let their_query = theirs.seconds / few.len() as f64;
    let (batch_query, single_query) =
        (batch.seconds / many.len() as f64, single.seconds / few.len() as f64);
    let items = count(planted.items);
    let versus = |work: String, ours: f64, goal| Row {
        work,
        ours: seconds(ours),
        peer: "faiss MultiHash 4x16, per query".into(),
        theirs: seconds(their_query),
        value: their_query / ours,
        unit: "x",
        goal,
        note: format!("every second query has a neighbour; ids as strings; {}", stats.plan),
        failure: disagreement(batch_few, theirs).or_else(|| disagreement(single, theirs)),
    };
    Ok(vec![
        Row {
            work: format!(
                "collection, {items}, 64 bit, k=3: insert_many, durable, {BATCH} at a time"
            ),
            ours: seconds(inserted),
            value: planted.items as f64 / inserted,
            unit: " items/s",
            goal: Goal::AtLeast(150_000.0, 150_000.0),
            note: format!(
                "all cores; the search tables are made on the way; making one of them in the end \
                 took {} more",
                seconds(compacted)
            ),
            ..Row::default()
        },
        Row {
            work: format!("collection, {items}: open"),
            ours: seconds(opened),
            value: opened,
            unit: "s",
            goal: Goal::AtMost(1.5, 1.0),
            note: "every byte of the tables compared with its checksum".into(),
            ..Row::default()
        },
        Row {
            work: format!("collection, {items}: memory an item"),
            ours: amount(grown, "B"),
            value: grown,
            unit: "B",
            goal: Goal::AtMost(90.0, 90.0),
            note: format!("as the process grew by opening and searching; tables {tables:.1} B"),
            ..Row::default()
        },
        versus(
            format!("collection, {items}: search one by one"),
            single_query,
            Goal::AtLeast(100.0, 100.0),
        ),
        versus(
            format!("collection, {items}: search_many"),
            batch_query,
            Goal::AtLeast(300.0, 300.0),
        ),
    ])
}

pub fn wide(options: &Options) -> Result<Vec<Row>> {
    let planted = Planted { items: options.size(1_000_000), radius: 31 };
    let prints = planted.prints::<4>();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collection");
    let own = 2_000.min(prints.len());
    let file = npy::temporary(&prints)?;
    let arguments = ["flat", argument(&file)?, "31", &own.to_string()];
    let mut peer = Peer::faiss(options, &arguments)?;
    fill(&path, About::given(Width::Bits256, Radius::new(31)), &prints)?;
    let collection = Collection::open(&path)?;
    let pool = ours::threads(1)?;
    let [ours, theirs] = Rounds::WARM.run([
        &mut || {
            let mut turn = pool.install(|| search_batch(&collection, &prints[..own], 31))?;
            // Like faiss, without the item itself.
            turn.answer = without_self(&collection, &prints[..own])?;
            Ok(turn)
        },
        &mut || peer.turn(),
    ])?;
    Ok(vec![Row {
        work: format!("collection, {}, 256 bit, k=31: search", count(planted.items)),
        ours: seconds(ours.seconds / own as f64),
        peer: "faiss IndexBinaryFlat, per query".into(),
        theirs: seconds(theirs.seconds / own as f64),
        value: theirs.seconds / ours.seconds,
        unit: "x",
        goal: Goal::AtLeast(50.0, 50.0),
        note: collection.stats().plan,
        failure: disagreement(ours, theirs),
    }])
}

/// Five centres with 10,000 near-identical items each, among others, against graph indexes.
pub fn crowded(options: &Options) -> Result<Vec<Row>> {
    let crowded =
        Crowded { unrelated: options.size(195_165), centres: 5, per_centre: options.size(10_000) };
    let prints = crowded.prints();
    let asked = crowded.queries(1_000);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collection");
    fill(&path, About::given(Width::Bits64, Radius::new(3)), &prints)?;
    let collection = Collection::open(&path)?;
    let pool = ours::threads(1)?;
    let (file, queries) = (npy::temporary(&prints)?, npy::temporary(&asked)?);
    let mut rows = Vec::new();
    for kind in ["multihash", "hnsw-16", "hnsw-64", "hnsw-256", "usearch-64", "usearch-256"] {
        let mut peer = Peer::faiss(options, &[kind, argument(&file)?, "3", argument(&queries)?])?;
        let [ours, theirs] = Rounds { least: 2, ..Rounds::ONCE }
            .run([&mut || pool.install(|| search_batch(&collection, &asked, 3)), &mut || {
                peer.turn()
            }])?;
        let recall = theirs.answer.pairs as f64 / ours.answer.pairs as f64;
        rows.push(Row {
            work: format!("crowds: {} matches of 1,000 queries within 3 bits", ours.answer.pairs),
            ours: seconds(ours.seconds / asked.len() as f64),
            peer: format!("{kind}, recall {recall:.3}"),
            theirs: seconds(theirs.seconds / asked.len() as f64),
            value: theirs.seconds / ours.seconds,
            unit: "x",
            note: format!(
                "{} {}",
                peer.ready().version,
                "the number is ef, the breadth of the search"
            ),
            failure: (recall > 1.0).then(|| "found more than there is".to_owned()),
            ..Row::default()
        });
    }
    Ok(rows)
}

/// Fills a new collection and closes it; returns the time for inserting and compacting.
fn fill<const WORDS: usize>(
    path: &Path,
    about: About,
    prints: &[Fingerprint<WORDS>],
) -> Result<[f64; 2]> {
    let collection = Collection::create(path, about)?;
    let start = Instant::now();
    for (batch, prints) in prints.chunks(BATCH).enumerate() {
        let ids: Vec<String> =
            (0..prints.len()).map(|at| (batch * BATCH + at).to_string()).collect();
        let prints: Vec<[Fingerprint<4>; 1]> =
            prints.iter().map(|print| [print.resize()]).collect();
        let items: Vec<_> =
            ids.iter().zip(&prints).map(|(id, prints)| NewItem::new(id, prints)).collect();
        collection.insert_many(&items)?;
    }
    let inserted = start.elapsed().as_secs_f64();
    collection.compact()?;
    Ok([inserted, start.elapsed().as_secs_f64() - inserted])
}

fn search_batch<const WORDS: usize>(
    collection: &Collection,
    queries: &[Fingerprint<WORDS>],
    radius: u32,
) -> Result<Turn> {
    let queries: Vec<_> = queries.iter().map(|query| query.resize()).collect();
    let start = Instant::now();
    let found = collection.search_many(&queries, Radius::new(radius), usize::MAX)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut answer = Answer::default();
    for (query, found) in found.iter().enumerate() {
        for found in found {
            answer.add(query as u64, found.id.parse().context("ids are numbers")?);
        }
    }
    Ok(Turn { seconds, answer })
}

fn search_singly<const WORDS: usize>(
    collection: &Collection,
    queries: &[Fingerprint<WORDS>],
    radius: u32,
) -> Result<Turn> {
    let queries: Vec<_> = queries.iter().map(|query| query.resize()).collect();
    let mut answer = Answer::default();
    let start = Instant::now();
    for (query, print) in queries.iter().enumerate() {
        for found in collection.search(print, Radius::new(radius), usize::MAX)? {
            answer.add(query as u64, found.id.parse().context("ids are numbers")?);
        }
    }
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}

fn without_self(collection: &Collection, queries: &[Fingerprint<4>]) -> Result<Answer> {
    let mut answer = Answer::default();
    let all = collection.search_many(queries, Radius::new(31), usize::MAX)?;
    for (query, found) in all.iter().enumerate() {
        for id in found.iter().map(|found| found.id.parse::<u64>()) {
            let id = id.context("ids are numbers")?;
            if id != query as u64 {
                answer.add(query as u64, id);
            }
        }
    }
    Ok(answer)
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    1024 * kilobytes.unwrap_or(0)
}
