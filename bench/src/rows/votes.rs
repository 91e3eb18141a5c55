//! Features to fingerprints: the kernels and a plain loop.

use anyhow::Result;
use lookalike::simhash::{naive, simhash};
use lookalike_bench::{
    answer::Answer,
    data,
    turn::{Turn, measure},
};

use super::disagreement;
use crate::{
    options::Options,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, seconds},
};

/// The number of features in all items: few enough for the cache, too many for the branch predictor.
const FEATURES: u64 = 1 << 15;

/// Passes over all items per turn, because one pass is too short for the processor's clock to rise.
const PASSES: usize = 64;

pub fn run(options: &Options) -> Result<Vec<Row>> {
    Ok(vec![
        against_plain_loop(options, 4096, "unweighted", Goal::AtLeast(30.0, 50.0))?,
        against_plain_loop(options, 64, "unweighted", Goal::AtLeast(10.0, 20.0))?,
        against_plain_loop(options, 4096, "weighted", Goal::AtLeast(3.0, 3.0))?,
        against_plain_loop(options, 64, "weighted", Goal::AtLeast(3.0, 3.0))?,
    ])
}

fn against_plain_loop(options: &Options, each: u64, weights: &str, goal: Goal) -> Result<Row> {
    let count = FEATURES / each;
    let items = data::features(count, each, weights == "weighted");
    let arguments = ["votes", &PASSES.to_string(), &count.to_string(), &each.to_string(), weights];
    let mut native = Peer::rust(options, &arguments)?;
    let fast = || Answer::of_passes(PASSES, &items, simhash);
    let plain = || Answer::of_passes(PASSES, &items, naive);
    let [ours, plain, native] = Rounds::WARM.run([
        &mut || Ok(measure(fast, |answer| answer)),
        &mut || Ok(measure(plain, |answer| answer)),
        &mut || native.turn(),
    ])?;
    let per_feature = |turn: Turn| seconds(turn.seconds / (FEATURES * PASSES as u64) as f64);
    Ok(Row {
        work: format!("votes of {each} {weights} features, 64 bit, per feature"),
        ours: per_feature(ours),
        peer: "plain loop".into(),
        theirs: per_feature(native),
        value: native.seconds / ours.seconds,
        unit: "x",
        goal,
        note: format!(
            "the plain loop built as ours is, for any processor: {} ({:.0}x); all fingerprints equal",
            per_feature(plain),
            plain.seconds / ours.seconds
        ),
        failure: disagreement(ours, plain).or(disagreement(ours, native)),
    })
}
