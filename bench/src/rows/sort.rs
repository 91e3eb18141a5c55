//! All pairs, compared with only sorting the same array.

use anyhow::Result;
use lookalike_bench::{data::Planted, npy, turn::Turn};

use super::argument;
use crate::{
    options::Options,
    ours,
    peer::Peer,
    rounds::Rounds,
    table::{Goal, Row, count, seconds},
};

pub fn run(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(10_000_000);
    let prints = Planted { items, radius: 3 }.prints::<1>();
    let file = npy::temporary(&prints)?;
    let start = |how| Peer::rust(options, &["sort", argument(&file)?, how]);
    let (mut warm, mut fresh, mut std) = (start("radix")?, start("radix-fresh")?, start("std")?);
    let pool = ours::threads(1)?;
    let [ours, afresh, warm, fresh, std] = Rounds::WARM.run([
        &mut || ours::all_pairs(&pool, &prints, 3),
        &mut || ours::all_pairs_afresh(&pool, &prints, 3),
        &mut || warm.turn(),
        &mut || fresh.turn(),
        &mut || std.turn(),
    ])?;
    let row = |ours: Turn, peer: &str, theirs: Turn, goal, note: &str| Row {
        work: format!("all pairs, {}, 64 bit, k=3, with ids", count(items)),
        ours: seconds(ours.seconds),
        peer: peer.into(),
        theirs: seconds(theirs.seconds),
        value: ours.seconds / theirs.seconds,
        unit: "x",
        goal,
        note: note.into(),
        failure: None,
    };
    let goal = Goal::AtMost(1.8, 1.3);
    let ready = "the memory both work in was there before";
    let own = "both allocate and first touch the memory they work in";
    Ok(vec![
        row(ours, "one LSD radix sort, 8 x 8 bit", warm, goal, ready),
        row(afresh, "one LSD radix sort, scratch allocated", fresh, Goal::None, own),
        row(ours, "sort_unstable", std, Goal::None, "in place"),
    ])
}
