//! Finds alike texts in labelled sets and writes pairs and groups for a scorer.
//!
//! `quality RECIPE TEXTS.jsonl PAIRS.jsonl GROUPS.jsonl [exact|keys] [radius=N] [MEMORY]`: rows have
//! an `id` and a `text`. One line of JSON on stdout says what it took.

use std::{
    env,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use lookalike::{Candidates, How, Preset, Radius, TextPairs, TextSearch, groups};
use serde::Deserialize;
use serde_json::{Value, json};

/// Text that is handed on at a time.
const BATCH: usize = 8 << 20;

#[derive(Deserialize)]
struct Row {
    id: Value,
    text: String,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [recipe, texts, pairs, groups, options @ ..] = &arguments[..] else {
        bail!(
            "usage: quality RECIPE TEXTS.jsonl PAIRS.jsonl GROUPS.jsonl [exact|keys] [radius=N] [MEMORY]"
        );
    };
    let mut search = search(recipe)?;
    for option in options {
        search = match *option {
            "exact" => search.candidates(Candidates::Exact),
            "keys" => search.candidates(Candidates::Keys),
            option if option.starts_with("radius=") => {
                let Preset { recipe, verify, .. } = Preset::named(recipe)?;
                TextSearch::new(recipe, Radius::new(option[7..].parse()?)).verify(*verify)
            }
            bytes => search.memory(bytes.parse().with_context(|| format!("{bytes}: no option"))?),
        };
    }
    let start = Instant::now();
    let (ids, found, read) = find(&search, texts)?;
    let seconds = start.elapsed().as_secs_f64();
    write_pairs(pairs, &ids, &found)?;
    write_groups(groups, &ids, &found)?;
    println!(
        "{}",
        json!({
            "texts": ids.len(), "pairs": found.pairs.count(), "verified": found.verified,
            "plan": found.plan, "recall": recall(&found), "short": found.short,
            "empty": found.empty, "spilled": found.spilled, "crowded": found.crowded, "read": read, "seconds": seconds,
        })
    );
    Ok(())
}

/// A preset, as users get it.
fn search(recipe: &str) -> Result<TextSearch<'static>> {
    let Preset { recipe, radius, verify, .. } = Preset::named(recipe)?;
    Ok(TextSearch::new(recipe, *radius).verify(*verify))
}

/// Reads all texts, keeping none, then finds the alike ones; also the seconds until all were read.
fn find(search: &TextSearch, path: &str) -> Result<(Vec<Value>, TextPairs, f64)> {
    let start = Instant::now();
    let file = File::open(path).with_context(|| format!("opening {path}"))?;
    let mut collector = search.collector();
    let (mut ids, mut batch, mut size) = (Vec::new(), Vec::new(), 0);
    for line in BufReader::new(file).lines() {
        let row: Row = serde_json::from_str(&line?).with_context(|| format!("reading {path}"))?;
        size += row.text.len();
        ids.push(row.id);
        batch.push(row.text);
        if size >= BATCH {
            collector.push_all(&batch)?;
            batch.clear();
            size = 0;
        }
    }
    collector.push_all(&batch)?;
    let read = start.elapsed().as_secs_f64();
    Ok((ids, collector.finish()?, read))
}

fn recall(found: &TextPairs) -> f64 {
    match found.how {
        How::Exact => 1.0,
        How::Recall(recall) => recall,
    }
}

fn write_pairs(path: &str, ids: &[Value], found: &TextPairs) -> Result<()> {
    let mut out = BufWriter::new(File::create(path).with_context(|| format!("creating {path}"))?);
    let mut failed = None;
    found.pairs.for_each(|pair| {
        let (a, b) = (&ids[pair.a as usize], &ids[pair.b as usize]);
        let line = json!({
            "a": a, "b": b, "distance": pair.distance, "similarity": pair.similarity,
        });
        if failed.is_none() {
            failed = writeln!(out, "{line}").err();
        }
    });
    failed.map_or(Ok(out.flush()?), |error| Err(error.into()))
}

fn write_groups(path: &str, ids: &[Value], found: &TextPairs) -> Result<()> {
    let mut out = BufWriter::new(File::create(path).with_context(|| format!("creating {path}"))?);
    let order: Vec<u32> = (0..ids.len() as u32).collect();
    for group in groups::star(ids.len(), &order, &found.pairs) {
        let member = |member: &groups::Member| json!({ "id": ids[member.item as usize] });
        let members: Vec<Value> = group.members.iter().map(member).collect();
        writeln!(out, "{}", json!({ "keep": ids[group.keep as usize], "members": members }))?;
    }
    Ok(out.flush()?)
}
