//! The cost of skewed data: lookalike on skewed and on even fingerprints.
//!
//! Skewed data also have more pairs, and finding them takes time. So there are two rows for each set: one against
//! random fingerprints, and one against even fingerprints with exactly the same pairs.

use std::{path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{AllPairs, Fingerprint, Radius};
use lookalike_bench::{
    data::{Planted, Skewed, block_inflation, evened},
    npy,
    turn::Turn,
};

use crate::{
    options::{Options, beside},
    ours,
    rounds::Rounds,
    table::{Goal, Row, count, seconds},
};

pub fn made(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(1_000_000);
    let rows = [
        against_even("unbalanced bits", &Skewed::bits(items).prints())?,
        against_even("skewed (like word 3-shingles)", &Skewed::shingles(items).prints())?,
        against_even("strongly skewed (like words)", &Skewed::words(items).prints())?,
    ];
    Ok(rows.into_iter().flatten().collect())
}

pub fn text(options: &Options) -> Result<Vec<Row>> {
    let Some(data) = &options.data else {
        let reason = "no folder of texts was given (`make bench DATA=folder`)";
        return Ok(vec![Row::skipped("fingerprints of real text", reason)]);
    };
    // About 200 and 1000 bytes, one beside the other; and such that overlap, so that most items are near
    // some others: words' 3-shingles, the mildest skew, and words, the worst.
    let windows = [
        Windows { words: 3, window: 32, step: 32 },
        Windows { words: 1, window: 32, step: 32 },
        Windows { words: 3, window: 160, step: 160 },
        Windows { words: 1, window: 160, step: 160 },
        Windows { words: 3, window: 32, step: 8 },
        Windows { words: 1, window: 160, step: 20 },
    ];
    let rows: Result<Vec<_>> =
        windows.into_iter().map(|windows| windows.rows(options, data)).collect();
    Ok(rows?.into_iter().flatten().collect())
}

/// What is fingerprinted of a text: windows of `window` shingles, one every `step` shingles, with `words` words per
/// shingle.
struct Windows {
    words: u32,
    window: u32,
    step: u32,
}

impl Windows {
    fn rows(&self, options: &Options, data: &Path) -> Result<[Row; 2]> {
        let mut prints = self.prints(options, data)?;
        prints.truncate(options.size(prints.len() as u64) as usize);
        let Self { words, window, step } = self;
        let every = if step < window { format!(" every {step}") } else { String::new() };
        let what = format!("real text, {window}-word windows{every}, {words}-shingles");
        against_even(&what, &prints)
    }

    fn prints(&self, options: &Options, data: &Path) -> Result<Vec<Fingerprint<1>>> {
        let file = tempfile::Builder::new().suffix(".npy").tempfile()?.into_temp_path();
        let status = Command::new(&options.python)
            .arg(beside("text_windows.py"))
            .args([data, &file])
            .args([self.words, self.window, self.step].map(|size| size.to_string()))
            .status()
            .context("running text_windows.py")?;
        ensure!(status.success(), "text_windows.py failed");
        npy::read(&file)
    }
}

fn against_even(what: &str, prints: &[Fingerprint<1>]) -> Result<[Row; 2]> {
    let items = prints.len() as u64;
    let random = Planted { items, radius: 3 }.prints::<1>();
    let even = evened(prints, 3)?;
    let pool = ours::threads(1)?;
    let [skewed, random, even] = Rounds::WARM.run([
        &mut || ours::all_pairs(&pool, prints, 3),
        &mut || ours::all_pairs(&pool, &random, 3),
        &mut || ours::all_pairs(&pool, &even, 3),
    ])?;
    let work = format!("{what}, {}, 64 bit, k=3", count(items));
    let row = |peer: &str, theirs: Turn, note, failure| Row {
        work: work.clone(),
        ours: seconds(skewed.seconds),
        peer: peer.into(),
        theirs: seconds(theirs.seconds),
        value: skewed.seconds / theirs.seconds,
        unit: "x",
        goal: Goal::AtMost(2.0, 1.5),
        note,
        failure,
    };
    let found = skewed.answer.pairs;
    let note = format!(
        "{:.1} times as many pairs agree in a 16-bit block as in random data; {found} pairs (random: {}); {}",
        block_inflation(prints),
        random.answer.pairs,
        ours::plan(prints, 3)?,
    );
    let differ = (skewed.answer != even.answer).then(|| "other pairs if evened".to_owned());
    let same = format!("the same {found} pairs; each connected group is xored with random bits");
    Ok([
        row("ours on random fingerprints", random, note, None),
        row("ours on even ones with these pairs", even, same, differ),
    ])
}

/// Equal items are found as one group, because listing every pair would take time per pair.
pub fn equal(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(1_000_000);
    let random = Planted { items, radius: 3 }.prints::<1>();
    let same = vec![random[0]; items as usize];
    let pool = ours::threads(1)?;
    let groups = |prints: &[Fingerprint<1>]| -> Result<Turn> {
        let start = Instant::now();
        let pairs = pool.install(|| AllPairs::new(Radius::new(3)).run(prints))?;
        let mut turn = Turn { seconds: start.elapsed().as_secs_f64(), answer: Default::default() };
        turn.answer.pairs = pairs.count();
        Ok(turn)
    };
    let [equal, random] = Rounds::WARM.run([&mut || groups(&same), &mut || groups(&random)])?;
    let expected = items * (items - 1) / 2;
    let found = equal.answer.pairs;
    Ok(vec![Row {
        work: format!("{} equal fingerprints, k=3, as one group", count(items)),
        ours: seconds(equal.seconds),
        peer: "ours on random fingerprints".into(),
        theirs: seconds(random.seconds),
        value: equal.seconds / random.seconds,
        unit: "x",
        goal: Goal::AtMost(2.0, 1.0),
        note: format!("{found} pairs, counted but not listed"),
        failure: (found != expected).then(|| format!("{found} pairs instead of {expected}")),
    }])
}
