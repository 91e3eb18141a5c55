//! Exhaustive comparison, for a radius too wide for any plan.

use anyhow::Result;
use lookalike_bench::{data::Planted, npy};

use super::{argument, disagreement};
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, amount, count, seconds},
};

pub fn run(options: &Options) -> Result<Vec<Row>> {
    const RADIUS: u32 = 32;
    let items = options.size(100_000);
    let prints = Planted { items, radius: RADIUS }.prints::<2>();
    // The plain loop is slow, so it sees fewer items; both are given as a rate.
    let few = &prints[..prints.len().min(items as usize / 5)];
    let file = npy::temporary(few)?;
    let mut peer = Peer::rust(options, &["linear", argument(&file)?, &RADIUS.to_string()])?;
    let pool = ours::threads(1)?;
    let [ours, ours_few, theirs] = Rounds::WARM.run([
        &mut || ours::all_pairs(&pool, &prints, RADIUS),
        &mut || ours::all_pairs(&pool, few, RADIUS),
        &mut || peer.turn(),
    ])?;
    let rate = |items: usize, seconds: f64| pairs_of(items) / seconds / 1e9;
    let (our_rate, their_rate) =
        (rate(prints.len(), ours.seconds), rate(few.len(), theirs.seconds));
    let row = Row {
        work: format!("exhaustive scan, {}, 128 bit, k={RADIUS}, per core", count(items)),
        ours: amount(our_rate, "G pairs/s"),
        peer: "plain popcount loop".into(),
        theirs: amount(their_rate, "G pairs/s"),
        note: format!(
            "{}; {}; on {} items both find {} pairs",
            seconds(ours.seconds),
            ours::plan(&prints, RADIUS)?,
            count(few.len() as u64),
            theirs.answer.pairs
        ),
        failure: disagreement(ours_few, theirs),
        ..Row::default()
    };
    let rate = Row {
        work: row.work.clone(),
        ours: row.ours.clone(),
        value: our_rate,
        unit: "G pairs/s",
        goal: Goal::AtLeast(2.0, 3.0),
        note: "the rate itself, as above".into(),
        ..Row::default()
    };
    Ok(vec![Row { value: our_rate / their_rate, unit: "x", ..row }, rate])
}

fn pairs_of(items: usize) -> f64 {
    items as f64 * (items as f64 - 1.0) / 2.0
}
