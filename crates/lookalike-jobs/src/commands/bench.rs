//! `lookalike bench pairs`: how fast is the search on made data, and how much memory does it take?

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
    config::{UNWATCHED, Work},
    host::{Console, Host},
    kinds::usage,
    report::{bytes, grouped, json_line, rate},
};
use data::Made;

/// With a memory limit, fingerprints are made and handed over in pieces of this many.
const PIECE: usize = 1 << 20;

pub fn run(args: BenchPairsArgs, host: &Host) -> Result<ExitCode> {
    let SearchArgs { distance, blocks, .. } = args.search;
    let asked = Asked { distance, blocks, ..Asked::default() };
    let search = HashKind::new(args.bits).criteria(&asked, Purpose::List).map_err(usage)?;
    let work = Work::new(args.search.work, host)?;
    ensure!(
        args.random <= u64::from(u32::MAX),
        "--random {}: the most is {}",
        grouped(args.random),
        grouped(u32::MAX.into())
    );
    let made = Made {
        data: args.data,
        count: args.random as usize,
        seed: args.seed,
        width: args.bits,
        radius: search.distance.unwrap_or(Radius::new(0)),
    };
    let measured = work.on_threads(|| match args.bits {
        Width::Bits32 | Width::Bits64 => measure::<1>(&made, &search, &work),
        Width::Bits128 => measure::<2>(&made, &search, &work),
        Width::Bits256 => measure::<4>(&made, &search, &work),
    })?;
    let text = if args.json { measured.json(&made) } else { measured.text(&made) };
    Console::plain(host, false).print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The library's options for this search.
fn all_pairs(search: &Criteria, work: &Work) -> AllPairs<'static> {
    let radius = search.distance.unwrap_or(Radius::new(0));
    let pairs = AllPairs::new(radius).resources(work.resources(UNWATCHED));
    match search.blocks {
        Some(blocks) => pairs.blocks(blocks),
        None => pairs,
    }
}

/// What one run took and gave.
struct Measured {
    make_seconds: f64,
    seconds: f64,
    pairs: u64,
    groups: u64,
    plan: String,
    spilled: u64,
    threads: usize,
    peak: Option<u64>,
}

fn measure<const WORDS: usize>(made: &Made, search: &Criteria, work: &Work) -> Result<Measured> {
    if work.memory.is_some() {
        return measure_in_pieces::<WORDS>(made, search, work);
    }
    let start = Instant::now();
    let mut prints = Vec::new();
    prints.try_reserve_exact(made.count).context(
        "not enough memory for so many fingerprints; try fewer, or --memory with less than there is",
    )?;
    made.make::<WORDS>(0..made.count, &mut prints);
    let make_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let pairs = all_pairs(search, work).run(&prints)?;
    Ok(Measured::new(make_seconds, start.elapsed().as_secs_f64(), &pairs))
}

/// Never holds all fingerprints itself, so that the memory limit is the search's to keep.
fn measure_in_pieces<const WORDS: usize>(
    made: &Made,
    search: &Criteria,
    work: &Work,
) -> Result<Measured> {
    let start = Instant::now();
    let mut make_seconds = 0.0;
    let mut collector = all_pairs(search, work).collector::<WORDS>();
    let mut piece = Vec::new();
    for first in (0..made.count).step_by(PIECE) {
        let making = Instant::now();
        made.make(first..made.count.min(first + PIECE), &mut piece);
        make_seconds += making.elapsed().as_secs_f64();
        collector.push(&piece)?;
    }
    let pairs = collector.finish()?;
    Ok(Measured::new(make_seconds, start.elapsed().as_secs_f64() - make_seconds, &pairs))
}

impl Measured {
    fn new(make_seconds: f64, seconds: f64, pairs: &Pairs) -> Self {
        Self {
            make_seconds,
            seconds,
            pairs: pairs.count(),
            groups: pairs.equal_groups().count() as u64,
            plan: pairs.plan().to_string(),
            spilled: pairs.spilled(),
            threads: rayon::current_num_threads(),
            peak: peak_memory(),
        }
    }

    fn text(&self, made: &Made) -> String {
        let per_second = made.count as f64 / self.seconds.max(1e-9);
        let peak = self.peak.map_or_else(|| "not known on this system".to_owned(), bytes);
        let mut lines = vec![
            (
                "items",
                format!(
                    "{} of {} bits, {}",
                    grouped(made.count as u64),
                    made.width.bits(),
                    made.data.name()
                ),
            ),
            ("distance", made.radius.to_string()),
            ("threads", self.threads.to_string()),
            (
                "seconds",
                format!(
                    "{:.3} ({}; {:.3} s to make them)",
                    self.seconds,
                    rate(per_second),
                    self.make_seconds
                ),
            ),
            (
                "pairs",
                format!(
                    "{} in all, {} groups of equal items",
                    grouped(self.pairs),
                    grouped(self.groups)
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

    fn json(&self, made: &Made) -> String {
        let fields = [
            ("items", json!(made.count)),
            ("bits", json!(made.width.bits())),
            ("data", json!(made.data.name())),
            ("seed", json!(made.seed)),
            ("distance", json!(made.radius.bits())),
            ("threads", json!(self.threads)),
            ("seconds", json!(self.seconds)),
            ("make_seconds", json!(self.make_seconds)),
            ("pairs", json!(self.pairs)),
            ("equal_groups", json!(self.groups)),
            ("peak_bytes", json!(self.peak)),
            ("spilled_bytes", json!(self.spilled)),
            ("plan", json!(self.plan)),
        ];
        json_line(&fields) + "\n"
    }
}

/// The most memory this process ever held, where the system tells (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
