//! From texts to fingerprints: ours against gaoya, on the same texts.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use lookalike::{Preset, Recipe, Unit, recipe::Scratch};
use lookalike_bench::{
    answer::Answer,
    texts,
    turn::{Turn, measure},
};

use super::argument;
use crate::{
    options::{Options, beside},
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, amount},
};

pub fn run(options: &Options) -> Result<Vec<Row>> {
    let Some(data) = &options.data else {
        let reason = "no folder of texts was given (`make bench DATA=folder`)";
        return Ok(vec![Row::skipped("texts to fingerprints", reason)]);
    };
    let file = tempfile::NamedTempFile::new()?.into_temp_path();
    let status = Command::new(&options.python)
        .arg(beside("texts.py"))
        .args([data.as_path(), &file])
        .status()
        .context("running texts.py")?;
    ensure!(status.success(), "texts.py failed");
    let texts = texts::read(&file)?;
    let file = argument(&file)?;
    let [words, bare, classic] = ["words", "bare", "simhash64"].map(recipe);
    let signatures = ["gaoya-signatures", file, "minhash"];
    let min_hash = |ours: &mut dyn FnMut() -> u64, what: &str, goal: Goal| {
        let peer = Peer::usual_rust(options, &signatures)?;
        against(ours, what, peer, "gaoya MinHash-126, 3 words", &texts, goal)
    };
    let mut scratch = Scratch::<2>::new();
    let mut default =
        || sum(texts.iter().map(|text| words.fingerprint_with(text, &mut scratch).map(|p| p.0[0])));
    let usual = min_hash(&mut default, "words", Goal::AtLeast(8.0, 16.0))?;
    let peer = Peer::rust(options, &signatures)?;
    let name = "gaoya MinHash-126, for this processor";
    let native = against(&mut default, "words", peer, name, &texts, Goal::None)?;
    let (mut scratch, mut tokens) = (Scratch::<2>::new(), Vec::new());
    let mut verified = || {
        sum(texts.iter().map(|text| {
            Unit::Words.token_hashes(text, &mut tokens);
            let first = words.fingerprint_of_tokens(&tokens, &mut scratch)?;
            let second = bare.fingerprint_of_tokens(&tokens, &mut scratch)?;
            Some(first.0[0] ^ second.0[0] ^ scratch.distinct().fold(0, u64::wrapping_add))
        }))
    };
    let verified = min_hash(&mut verified, "words, with what verifies them", Goal::None)?;
    let mut scratch = Scratch::<1>::new();
    let mut classic = || {
        sum(texts.iter().map(|text| classic.fingerprint_with(text, &mut scratch).map(|p| p.0[0])))
    };
    let peer = Peer::rust(options, &["gaoya-signatures", file, "simhash"])?;
    let goal = Goal::AtLeast(15.0, 30.0);
    let classic =
        against(&mut classic, "simhash64", peer, "gaoya SimHash-64, 3 words", &texts, goal)?;
    Ok(vec![usual, native, verified, classic])
}

fn recipe(name: &str) -> &'static Recipe {
    &Preset::named(name).expect("the preset is there").recipe
}

/// Something that depends on every fingerprint, so that none is left out.
fn sum(prints: impl Iterator<Item = Option<u64>>) -> u64 {
    prints.flatten().fold(0, u64::wrapping_add)
}

fn against(
    ours: &mut dyn FnMut() -> u64,
    what: &str,
    mut peer: Peer,
    name: &str,
    texts: &[String],
    goal: Goal,
) -> Result<Row> {
    let bytes: usize = texts.iter().map(String::len).sum();
    let [ours, theirs] = Rounds::WARM.run([
        &mut || Ok(measure(&mut *ours, |checksum| Answer { pairs: 0, checksum })),
        &mut || peer.turn(),
    ])?;
    let speed = |turn: Turn| amount(bytes as f64 / turn.seconds / 1e6, "MB/s");
    Ok(Row {
        work: format!("{} texts, {} MB, to {what}", texts.len(), bytes / 1_000_000),
        ours: speed(ours),
        peer: name.into(),
        theirs: speed(theirs),
        value: theirs.seconds / ours.seconds,
        unit: "x",
        goal,
        note: "from text to fingerprint or signature, in memory, of the same words; no index"
            .into(),
        failure: None,
    })
}
