//! Does the shape of the data matter? Ours on uneven fingerprints against ours on even ones.

use std::{path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{AllPairs, Fingerprint, Radius};
use lookalike_bench::{
    data::{Planted, Skewed, block_inflation},
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
    Ok(vec![
        against_random("skewed (like word 3-shingles)", &Skewed::shingles(items).prints())?,
        against_random("strongly skewed (like words)", &Skewed::words(items).prints())?,
    ])
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
    windows.into_iter().map(|windows| windows.row(options, data)).collect()
}

/// What is fingerprinted of a text: windows of so many words, one every `step`, made of shingles of so many
/// words.
struct Windows {
    words: u32,
    window: u32,
    step: u32,
}

impl Windows {
    fn row(&self, options: &Options, data: &Path) -> Result<Row> {
        let mut prints = self.prints(options, data)?;
        prints.truncate(options.size(prints.len() as u64) as usize);
        let Self { words, window, step } = self;
        let every = if step < window { format!(" every {step}") } else { String::new() };
        let what = format!("real text, {window}-word windows{every}, {words}-shingles");
        against_random(&what, &prints)
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

fn against_random(what: &str, prints: &[Fingerprint<1>]) -> Result<Row> {
    let items = prints.len() as u64;
    let even = Planted { items, radius: 3 }.prints::<1>();
    let pool = ours::threads(1)?;
    let [skewed, random] = Rounds::WARM
        .run([&mut || ours::all_pairs(&pool, prints, 3), &mut || {
            ours::all_pairs(&pool, &even, 3)
        }])?;
    Ok(Row {
        work: format!("{what}, {}, 64 bit, k=3", count(items)),
        ours: seconds(skewed.seconds),
        peer: "ours on random fingerprints".into(),
        theirs: seconds(random.seconds),
        value: skewed.seconds / random.seconds,
        unit: "x",
        goal: Goal::AtMost(2.0, 1.5),
        note: format!(
            "{:.1} times as many pairs agree in a 16-bit block as in random data; {} pairs (random: {}); {}",
            block_inflation(prints),
            skewed.answer.pairs,
            random.answer.pairs,
            ours::plan(prints, 3)?,
        ),
        failure: None,
    })
}

/// Found as one group: reporting every pair of it would take as long as there are pairs.
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
        note: format!("{found} pairs, counted and not made"),
        failure: (found != expected).then(|| format!("{found} pairs instead of {expected}")),
    }])
}
