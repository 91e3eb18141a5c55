//! The large rows, each in a separate process to measure its peak memory.

use std::{env, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{AllPairs, Fingerprint, Radius, pairs::Pairs};
use lookalike_bench::data::Planted;
use serde::{Deserialize, Serialize};

use crate::{
    machine,
    options::Options,
    ours,
    table::{Goal, Row, amount, count, seconds},
};

const RADIUS: u32 = 3;
const GIB: u64 = 1 << 30;

/// The report of the process.
#[derive(Serialize, Deserialize)]
struct Report {
    seconds: f64,
    /// The peak memory of the process, including its input.
    peak_bytes: u64,
    pairs: u64,
    /// Found pairs of a copy and its original; equals the number of copies if none is missed.
    planted_found: u64,
    planted: u64,
    /// Pairs reported with a wrong distance.
    wrong: u64,
    plan: String,
}

pub fn hundred_million(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(100_000_000);
    let work = format!("all pairs, {}, 64 bit, k=3, with ids: peak memory", count(items));
    if options.quick || machine::available_memory() < 4 * GIB {
        return Ok(vec![Row::skipped(&work, "quick, or less than 4 GiB free")]);
    }
    let report = spawn(items, 1)?;
    let gigabytes = report.peak_bytes as f64 / 1e9;
    Ok(vec![Row {
        work,
        ours: amount(gigabytes, "GB"),
        peer: "the input".into(),
        theirs: amount(items as f64 * 8e-9, "GB"),
        value: gigabytes,
        unit: "GB",
        goal: Goal::AtMost(1.7, 1.0),
        note: format!("cold, one run: {}; {}", seconds(report.seconds), found(&report)),
        failure: report.failure(),
    }])
}

pub fn billion(options: &Options) -> Result<Vec<Row>> {
    let items = options.size(1_000_000_000);
    let work = format!("all pairs, {}, 64 bit, k=3, with ids, two threads", count(items));
    let fits = machine::available_memory() >= 20 * GIB;
    if !options.billion.unwrap_or(fits && !options.quick) {
        return Ok(vec![Row::skipped(&work, "needs 20 GiB free (or `make bench BILLION=1`)")]);
    }
    let report = spawn(items, 2)?;
    let gibibytes = report.peak_bytes as f64 / GIB as f64;
    let time = Row {
        work: work.clone(),
        ours: seconds(report.seconds),
        value: report.seconds,
        unit: "s",
        goal: Goal::AtMost(80.0, 40.0),
        note: format!("cold, one run; {}", found(&report)),
        failure: report.failure(),
        ..Row::default()
    };
    let memory = Row {
        work: format!("{work}: peak memory"),
        ours: amount(gibibytes, "GiB"),
        peer: "the input".into(),
        theirs: amount(items as f64 * 8.0 / GIB as f64, "GiB"),
        value: gibibytes,
        unit: "GiB",
        goal: Goal::AtMost(17.0, 17.0),
        note: "the same run".into(),
        ..Row::default()
    };
    Ok(vec![time, memory])
}

impl Report {
    fn failure(&self) -> Option<String> {
        let right = self.planted_found == self.planted && self.wrong == 0;
        (!right).then(|| {
            let missed = self.planted - self.planted_found;
            format!("{missed} planted pairs missed, {} pairs wrong", self.wrong)
        })
    }
}

fn found(report: &Report) -> String {
    format!(
        "{} pairs, among them all {} planted ones, every distance true; {}",
        report.pairs, report.planted, report.plan
    )
}

/// Runs this program again for this work.
fn spawn(items: u64, threads: usize) -> Result<Report> {
    let output = Command::new(env::current_exe()?)
        .args(["all-pairs", "--items", &items.to_string(), "--threads", &threads.to_string()])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the process for {items} items ended by {}", output.status);
    serde_json::from_slice(&output.stdout).context("reading the process's report")
}

/// The process's side of it.
pub fn child(items: u64, threads: usize) -> Result<()> {
    let planted = Planted { items, radius: RADIUS };
    let pool = ours::threads(threads)?;
    let prints = pool.install(|| planted.prints::<1>());
    let start = Instant::now();
    let pairs = pool.install(|| AllPairs::new(Radius::new(RADIUS)).run(&prints))?;
    let mut sum = 0u64;
    pairs.for_each(|pair| sum = sum.wrapping_add(u64::from(pair.a ^ pair.b)));
    std::hint::black_box(sum);
    let seconds = start.elapsed().as_secs_f64();
    let peak_bytes = machine::peak_memory();
    let report = Report { seconds, peak_bytes, ..check(planted, &prints, &pairs) };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// No peer can handle this size, but the planted copies are known.
fn check(planted: Planted, prints: &[Fingerprint<1>], pairs: &Pairs) -> Report {
    let copies = (0..planted.items).filter(|&item| planted.parent(item).is_some()).count();
    let (mut planted_found, mut wrong) = (0, 0);
    pairs.for_each(|pair| {
        let (a, b) = (u64::from(pair.a), u64::from(pair.b));
        planted_found += u64::from(planted.parent(a) == Some(b) || planted.parent(b) == Some(a));
        let distance = prints[pair.a as usize].distance(&prints[pair.b as usize]);
        wrong += u64::from(distance != pair.distance || distance > RADIUS || a >= b);
    });
    Report {
        seconds: 0.0,
        peak_bytes: 0,
        pairs: pairs.count(),
        planted_found,
        planted: copies as u64,
        wrong,
        plan: pairs.plan().to_string(),
    }
}
