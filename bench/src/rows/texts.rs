//! Texts to fingerprints: lookalike and gaoya on the same texts.

use std::{hint::black_box, process::Command};

use anyhow::{Context, Result, ensure};
use lookalike::{
    Kind, Preset, Recipe,
    kind::{Input, text::TextKind},
};
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
    // In other scripts, words are longer and split differently.
    let (latin, others) = texts::read(&file)?.into_iter().partition(|text| is_mostly_ascii(text));
    let groups: [(&str, Vec<String>); 2] = [("mostly ASCII", latin), ("other", others)];
    let groups = groups.into_iter().filter(|(_, texts)| !texts.is_empty());
    let mut rows = Vec::new();
    for (kind, texts) in groups {
        rows.extend(compare(options, kind, &texts)?);
    }
    Ok(rows)
}

fn is_mostly_ascii(text: &str) -> bool {
    20 * text.bytes().filter(|byte| !byte.is_ascii()).count() <= text.len()
}

/// All recipes on texts of one kind.
fn compare(options: &Options, kind: &str, texts: &[String]) -> Result<Vec<Row>> {
    let file = tempfile::NamedTempFile::new()?.into_temp_path();
    texts::write(&file, texts)?;
    let file = argument(&file)?;
    let [words, classic] = ["words", "simhash64"].map(recipe);
    let bytes: usize = texts.iter().map(String::len).sum();
    let given = format!("{} {kind} texts, {} MB", texts.len(), bytes / 1_000_000);
    let signatures = ["gaoya-signatures", file, "minhash"];
    let min_hash = |ours: &mut dyn FnMut() -> u64, what: &str, goal: Goal| {
        let peer = Peer::usual_rust(options, &signatures)?;
        against(
            ours,
            &format!("{given}, to {what}"),
            peer,
            "gaoya MinHash-126, usual build",
            bytes,
            goal,
        )
    };
    let mut fingerprinter = words.fingerprinter();
    let mut default = || sum(texts.iter().map(|text| fingerprinter.text(text).map(|p| p.0[0])));
    let usual = min_hash(&mut default, "words", Goal::AtLeast(8.0, 16.0))?;
    let peer = Peer::rust(options, &signatures)?;
    let name = "gaoya MinHash-126, for this processor";
    let native =
        against(&mut default, &format!("{given}, to words"), peer, name, bytes, Goal::None)?;
    let kind = TextKind::of(Preset::named("words")?);
    let mut digester = kind.digester();
    let mut verified = || {
        sum(texts.iter().map(|text| {
            let (digest, _) = digester.digest(Input::Text(text)).ok()?;
            Some(digest.print()?.0[0] ^ u64::from(black_box(&digest).set.weight()))
        }))
    };
    let verified = min_hash(&mut verified, "words, with what verifies them", Goal::None)?;
    let mut fingerprinter = classic.fingerprinter();
    let mut classic = || sum(texts.iter().map(|text| fingerprinter.text(text).map(|p| p.0[0])));
    let peer = Peer::rust(options, &["gaoya-signatures", file, "simhash"])?;
    let (what, name) = (format!("{given}, to simhash64"), "gaoya SimHash-64, 3 words");
    let classic = against(&mut classic, &what, peer, name, bytes, Goal::AtLeast(15.0, 30.0))?;
    Ok(vec![usual, native, verified, classic])
}

fn recipe(name: &str) -> &'static Recipe {
    &Preset::named(name).expect("the preset is there").recipe
}

/// A value that depends on every fingerprint, so that none is optimised away.
fn sum(prints: impl Iterator<Item = Option<u64>>) -> u64 {
    prints.flatten().fold(0, u64::wrapping_add)
}

fn against(
    ours: &mut dyn FnMut() -> u64,
    work: &str,
    mut peer: Peer,
    name: &str,
    bytes: usize,
    goal: Goal,
) -> Result<Row> {
    let [ours, theirs] = Rounds::WARM.run([
        &mut || Ok(measure(&mut *ours, |checksum| Answer { pairs: 0, checksum })),
        &mut || peer.turn(),
    ])?;
    let speed = |turn: Turn| amount(bytes as f64 / turn.seconds / 1e6, "MB/s");
    Ok(Row {
        work: work.into(),
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
