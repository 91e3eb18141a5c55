//! Durable collections: adding, opening and searching fingerprints and texts; and the recall of graph
//! indexes in dense neighbourhoods.

use std::{fs, path::Path, sync::Arc, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{
    Collection, Criteria, Digest, Fingerprint, Kind, Preset, Radius, Resources, Search, Width,
    collection::{AddRule, NewItem},
    kind::{Asked, Digester, Input, Purpose, Reach, USUAL_RECALL, hash::HashKind, text::TextKind},
};
use lookalike_bench::{
    answer::Answer,
    data::{Dense, Planted, queries},
    documents::Documents,
    npy,
    turn::Turn,
};
use rayon::{ThreadPool, prelude::*};

use super::{argument, disagreement};
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, amount, count, seconds},
};

/// Items that one call adds.
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

    let by = create(&path, Width::Bits64, Radius::new(3))?;
    let [added, compacted] = fill(&path, &prints)?;
    drop(prints);
    let stored = bytes_on_disk(&path)? as f64 / planted.items as f64;
    let resident = resident();
    let start = Instant::now();
    let collection = Collection::open(&path)?;
    let opened = start.elapsed().as_secs_f64();
    ensure!(collection.len() == planted.items, "{} items", collection.len());
    ensure!(collection.notes().is_empty(), "{:?}", collection.notes());
    let pool = ours::threads(1)?;
    let [batch, batch_few, single, theirs] = Rounds::WARM.run([
        &mut || pool.install(|| search_batch(&collection, &many, &by)),
        &mut || pool.install(|| search_batch(&collection, few, &by)),
        &mut || search_singly(&collection, few, &by),
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
            work: format!("collection, {items}, 64 bit, k=3: add, durable, {BATCH} at a time"),
            ours: seconds(added),
            value: planted.items as f64 / added,
            unit: " items/s",
            goal: Goal::AtLeast(150_000.0, 150_000.0),
            note: format!(
                "all cores, search tables included; merging them at the end took {} more",
                seconds(compacted)
            ),
            ..Row::default()
        },
        Row {
            work: format!("collection, {items}: bytes on disk per item"),
            ours: amount(stored, "B"),
            value: stored,
            unit: "B",
            goal: Goal::AtMost(130.0, 125.0),
            note: "records, ids and search tables, after `compact`".into(),
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
            work: format!("collection, {items}: memory per item"),
            ours: amount(grown, "B"),
            value: grown,
            unit: "B",
            goal: Goal::AtMost(90.0, 90.0),
            note: format!("growth of the process by opening and searching; tables {tables:.1} B"),
            ..Row::default()
        },
        versus(
            format!("collection, {items}: search one by one"),
            single_query,
            Goal::AtLeast(100.0, 100.0),
        ),
        versus(
            format!("collection, {items}: search, many at once"),
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
    let by = create(&path, Width::Bits256, Radius::new(31))?;
    fill(&path, &prints)?;
    let collection = Collection::open(&path)?;
    let pool = ours::threads(1)?;
    let [ours, theirs] = Rounds::WARM.run([
        &mut || {
            let mut turn = pool.install(|| search_batch(&collection, &prints[..own], &by))?;
            // Like faiss, without the item itself.
            (0..own as u64).for_each(|item| turn.answer.remove(item, item));
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
pub fn dense(options: &Options) -> Result<Vec<Row>> {
    let dense =
        Dense { unrelated: options.size(195_165), centres: 5, per_centre: options.size(10_000) };
    let prints = dense.prints();
    let asked = dense.queries(1_000);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collection");
    let by = create(&path, Width::Bits64, Radius::new(3))?;
    fill(&path, &prints)?;
    let collection = Collection::open(&path)?;
    let pool = ours::threads(1)?;
    let (file, queries) = (npy::temporary(&prints)?, npy::temporary(&asked)?);
    let mut rows = Vec::new();
    for kind in ["multihash", "hnsw-16", "hnsw-64", "hnsw-256", "usearch-64", "usearch-256"] {
        let mut peer = Peer::faiss(options, &[kind, argument(&file)?, "3", argument(&queries)?])?;
        let [ours, theirs] = Rounds { least: 2, ..Rounds::ONCE }
            .run([&mut || pool.install(|| search_batch(&collection, &asked, &by)), &mut || {
                peer.turn()
            }])?;
        let recall = theirs.answer.pairs as f64 / ours.answer.pairs as f64;
        rows.push(Row {
            work: format!(
                "dense neighbourhoods: {} matches of 1,000 queries within 3 bits",
                ours.answer.pairs
            ),
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
            failure: (recall > 1.0).then(|| "found more matches than exist".to_owned()),
            ..Row::default()
        });
    }
    Ok(rows)
}

/// One query at a time against a million texts, by keys, as is the default for more than a million.
pub fn texts(options: &Options) -> Result<Vec<Row>> {
    const QUERIES: u64 = 200;
    const EXACT_QUERIES: usize = 20;
    let documents = Documents { items: options.size(1_000_000) };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collection");
    let kind = TextKind::of(Preset::named("words")?);
    let criteria = |reach| kind.criteria(&Asked { reach, ..Asked::default() }, Purpose::List);
    let [by_keys, exact] = [criteria(Reach::Recall(USUAL_RECALL))?, criteria(Reach::Exact)?];
    let [added, compacted] = fill_with_texts(&path, &kind, documents)?;
    let stored = bytes_on_disk(&path)? as f64 / documents.items as f64;

    let collection = Collection::open(&path)?;
    let mut digester = kind.digester();
    let mut asked = Vec::new();
    for query in 0..QUERIES {
        asked.push((documents.original(query), digest(&mut *digester, &documents.query(query))?));
    }
    let pool = ours::threads(1)?;
    timed_searches(&pool, &collection, &asked, &by_keys)?;
    let keyed = timed_searches(&pool, &collection, &asked, &by_keys)?;
    let exhaustive = timed_searches(&pool, &collection, &asked[..EXACT_QUERIES], &exact)?;

    let resources = Resources::new();
    let search = Search::new(&kind, &exact, &resources);
    let (mut expected, mut missed) = (0, 0);
    for ((original, query), found) in asked.iter().zip(&keyed.found) {
        let Some(original) = original else { continue };
        let text = digest(&mut *digester, &documents.text(*original))?;
        if search.compare(query, &text).alike {
            expected += 1;
            missed += usize::from(!found.contains(&original.to_string()));
        }
    }
    let items = count(documents.items);
    let is_short = missed as f64 > expected as f64 * (1.0 - USUAL_RECALL);
    let [median, exact_median] = [keyed.quantile(0.5), exhaustive.quantile(0.5)];
    Ok(vec![
        Row {
            work: format!("collection, {items} texts of 60 to 100 words: search by keys, median"),
            ours: seconds(median),
            peer: "ours, exact".into(),
            theirs: seconds(exact_median),
            value: median * 1e3,
            unit: "ms",
            goal: Goal::AtMost(5.0, 1.0),
            note: format!(
                "{QUERIES} queries one by one, every second one an edited copy; found {} of \
                 {expected} originals that match; 99 % of queries within {}",
                expected - missed,
                seconds(keyed.quantile(0.99)),
            ),
            failure: is_short.then(|| format!("missed {missed} of {expected} originals")),
        },
        Row {
            work: format!("collection, {items} texts: bytes on disk per item"),
            ours: amount(stored, "B"),
            value: stored,
            unit: "B",
            note: format!(
                "after `compact`, which took {}; all texts were digested and added in {}",
                seconds(compacted),
                seconds(added)
            ),
            ..Row::default()
        },
    ])
}

/// Creates an empty collection of fingerprints; returns the criteria of its radius.
fn create(path: &Path, width: Width, radius: Radius) -> Result<Criteria> {
    let kind = HashKind::new(width);
    let asked = Asked { distance: Some(radius), ..Asked::default() };
    let by = kind.criteria(&asked, Purpose::List)?;
    Collection::create(path, Arc::new(kind), &by)?;
    Ok(by)
}

/// Fills a collection with fingerprints and closes it; returns the time for adding and compacting.
fn fill<const WORDS: usize>(path: &Path, prints: &[Fingerprint<WORDS>]) -> Result<[f64; 2]> {
    let collection = Collection::open(path)?;
    let start = Instant::now();
    for (batch, prints) in prints.chunks(BATCH).enumerate() {
        let ids: Vec<String> =
            (0..prints.len()).map(|at| (batch * BATCH + at).to_string()).collect();
        let digests = digests(prints);
        let items: Vec<_> =
            ids.iter().zip(&digests).map(|(id, digest)| NewItem::new(id, digest)).collect();
        collection.add(&items, AddRule::Insert)?;
    }
    let added = start.elapsed().as_secs_f64();
    collection.compact()?;
    Ok([added, start.elapsed().as_secs_f64() - added])
}

/// Creates a collection of texts, fills it and closes it; returns the time for adding and compacting.
fn fill_with_texts(path: &Path, kind: &TextKind, documents: Documents) -> Result<[f64; 2]> {
    let widest = kind.criteria(&Asked::default(), Purpose::List)?;
    let collection = Collection::create(path, Arc::new(kind.clone()), &widest)?;
    let start = Instant::now();
    for first in (0..documents.items).step_by(BATCH) {
        let batch = first..documents.items.min(first + BATCH as u64);
        let digests: Result<Vec<(String, Digest)>> = batch
            .into_par_iter()
            .map_init(
                || kind.digester(),
                |digester, item| {
                    Ok((item.to_string(), digest(&mut **digester, &documents.text(item))?))
                },
            )
            .collect();
        let digests = digests?;
        let items: Vec<_> = digests.iter().map(|(id, digest)| NewItem::new(id, digest)).collect();
        collection.add(&items, AddRule::Insert)?;
    }
    let added = start.elapsed().as_secs_f64();
    collection.compact()?;
    Ok([added, start.elapsed().as_secs_f64() - added])
}

fn digests<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Vec<Digest> {
    prints.iter().map(|print| Digest::of_print(print.resize())).collect()
}

fn digest(digester: &mut dyn Digester, text: &str) -> Result<Digest> {
    Ok(digester.digest(Input::Text(text))?.0)
}

fn search_batch<const WORDS: usize>(
    collection: &Collection,
    queries: &[Fingerprint<WORDS>],
    by: &Criteria,
) -> Result<Turn> {
    let queries = digests(queries);
    let start = Instant::now();
    let found = collection.search(&queries, by, usize::MAX)?;
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
    by: &Criteria,
) -> Result<Turn> {
    let queries = digests(queries);
    let mut answer = Answer::default();
    let start = Instant::now();
    for (number, query) in queries.chunks(1).enumerate() {
        for found in collection.search(query, by, usize::MAX)?.iter().flatten() {
            answer.add(number as u64, found.id.parse().context("ids are numbers")?);
        }
    }
    Ok(Turn { seconds: start.elapsed().as_secs_f64(), answer })
}

/// The duration of each query, and the ids that it found.
struct Timed {
    /// Ascending.
    seconds: Vec<f64>,
    found: Vec<Vec<String>>,
}

impl Timed {
    fn quantile(&self, part: f64) -> f64 {
        self.seconds[((self.seconds.len() - 1) as f64 * part).round() as usize]
    }
}

fn timed_searches(
    pool: &ThreadPool,
    collection: &Collection,
    asked: &[(Option<u64>, Digest)],
    by: &Criteria,
) -> Result<Timed> {
    let mut timed = Timed { seconds: Vec::new(), found: Vec::new() };
    for (_, query) in asked {
        let start = Instant::now();
        let found =
            pool.install(|| collection.search(std::slice::from_ref(query), by, usize::MAX))?;
        timed.seconds.push(start.elapsed().as_secs_f64());
        timed.found.push(found.into_iter().flatten().map(|found| found.id).collect());
    }
    timed.seconds.sort_unstable_by(f64::total_cmp);
    Ok(timed)
}

/// The size of all files in a folder and in those inside it.
fn bytes_on_disk(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_on_disk(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    1024 * kilobytes.unwrap_or(0)
}
