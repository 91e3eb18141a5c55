//! `lookalike bench pairs`: measures the time and memory of a search on synthetic data.

mod data;
pub mod images;

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result, ensure};
use lookalike::{
    AllPairs, Criteria, Kind, Radius, Width,
    kind::{Asked, Purpose, hash::HashKind},
    pairs::Pairs,
};
use serde_json::json;

use crate::{
    args::{BenchPairsArgs, SearchArgs},
    config::{NO_PROGRESS, Work},
    host::{Console, Host},
    kinds::usage_error,
    report::{bytes, counted, grouped, json_line, rate},
};
use data::SyntheticData;

/// With a memory limit, this many fingerprints are generated and searched at a time.
const CHUNK: usize = 1 << 20;

pub fn run(args: BenchPairsArgs, host: &Host) -> Result<ExitCode> {
    let SearchArgs { distance, blocks, .. } = args.search;
    let asked = Asked { distance, blocks, ..Asked::default() };
    let search = HashKind::new(args.bits).criteria(&asked, Purpose::List).map_err(usage_error)?;
    let work = Work::new(args.search.work, host)?;
    ensure!(
        args.random <= u64::from(u32::MAX),
        "--random {}: use at most {}",
        grouped(args.random),
        grouped(u32::MAX.into())
    );
    let data = SyntheticData {
        distribution: args.data,
        count: args.random as usize,
        seed: args.seed,
        width: args.bits,
        radius: search.distance.unwrap_or(Radius::new(0)),
    };
    let measured = work.on_threads(|| match args.bits {
        Width::Bits32 | Width::Bits64 => measure::<1>(&data, &search, &work),
        Width::Bits128 => measure::<2>(&data, &search, &work),
        Width::Bits256 => measure::<4>(&data, &search, &work),
    })?;
    let text = if args.json { measured.json(&data) } else { measured.text(&data) };
    Console::plain(host, false).print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The search as options of the library.
fn all_pairs(search: &Criteria, work: &Work) -> AllPairs<'static> {
    let radius = search.distance.unwrap_or(Radius::new(0));
    let pairs = AllPairs::new(radius).resources(work.resources(NO_PROGRESS));
    match search.blocks {
        Some(blocks) => pairs.blocks(blocks),
        None => pairs,
    }
}

/// The figures of one run.
struct Measured {
    generate_seconds: f64,
    seconds: f64,
    pairs: u64,
    groups: u64,
    plan: String,
    spilled: u64,
    threads: usize,
    peak: Option<u64>,
}

fn measure<const WORDS: usize>(
    data: &SyntheticData,
    search: &Criteria,
    work: &Work,
) -> Result<Measured> {
    if work.memory.is_some() {
        return measure_in_chunks::<WORDS>(data, search, work);
    }
    let start = Instant::now();
    let mut prints = Vec::new();
    prints.try_reserve_exact(data.count).context(
        "not enough memory for this many fingerprints; use fewer, or set --memory below the free memory",
    )?;
    data.generate::<WORDS>(0..data.count, &mut prints);
    let generate_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let pairs = all_pairs(search, work).run(&prints)?;
    Ok(Measured::new(generate_seconds, start.elapsed().as_secs_f64(), &pairs))
}

/// Never holds all fingerprints, so that the memory limit applies to the search alone.
fn measure_in_chunks<const WORDS: usize>(
    data: &SyntheticData,
    search: &Criteria,
    work: &Work,
) -> Result<Measured> {
    let start = Instant::now();
    let mut generate_seconds = 0.0;
    let mut collector = all_pairs(search, work).collector::<WORDS>();
    let mut chunk = Vec::new();
    for first in (0..data.count).step_by(CHUNK) {
        let generating = Instant::now();
        data.generate(first..data.count.min(first + CHUNK), &mut chunk);
        generate_seconds += generating.elapsed().as_secs_f64();
        collector.push(&chunk)?;
    }
    let pairs = collector.finish()?;
    Ok(Measured::new(generate_seconds, start.elapsed().as_secs_f64() - generate_seconds, &pairs))
}

impl Measured {
    fn new(generate_seconds: f64, seconds: f64, pairs: &Pairs) -> Self {
        Self {
            generate_seconds,
            seconds,
            pairs: pairs.count(),
            groups: pairs.equal_groups().count() as u64,
            plan: pairs.plan().to_string(),
            spilled: pairs.spilled(),
            threads: rayon::current_num_threads(),
            peak: peak_memory(),
        }
    }

    fn text(&self, data: &SyntheticData) -> String {
        let per_second = data.count as f64 / self.seconds.max(1e-9);
        let peak = self.peak.map_or_else(|| "unknown on this system".to_owned(), bytes);
        let mut lines = vec![
            (
                "items",
                format!(
                    "{} of {} bits, {}",
                    grouped(data.count as u64),
                    data.width.bits(),
                    data.distribution.name()
                ),
            ),
            ("distance", data.radius.to_string()),
            ("threads", self.threads.to_string()),
            (
                "seconds",
                format!(
                    "{:.3} ({}; generated in {:.3} s)",
                    self.seconds,
                    rate(per_second),
                    self.generate_seconds
                ),
            ),
            (
                "pairs",
                format!(
                    "{} and {} of equal items",
                    grouped(self.pairs),
                    counted(self.groups, "group")
                ),
            ),
            ("peak memory", peak),
            ("plan", self.plan.clone()),
        ];
        if self.spilled > 0 {
            lines.push(("spilled", bytes(self.spilled)));
        }
        lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect()
    }

    fn json(&self, data: &SyntheticData) -> String {
        let fields = [
            ("items", json!(data.count)),
            ("bits", json!(data.width.bits())),
            ("data", json!(data.distribution.name())),
            ("seed", json!(data.seed)),
            ("distance", json!(data.radius.bits())),
            ("threads", json!(self.threads)),
            ("seconds", json!(self.seconds)),
            ("make_seconds", json!(self.generate_seconds)),
            ("pairs", json!(self.pairs)),
            ("equal_groups", json!(self.groups)),
            ("peak_bytes", json!(self.peak)),
            ("spilled_bytes", json!(self.spilled)),
            ("plan", json!(self.plan)),
        ];
        json_line(&fields) + "\n"
    }
}

/// The peak memory of this process, where the system reports it (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
