//! Runs every fuzz target on mutated seeds, and reports panics, hangs and excessive memory.
//!
//! Without arguments: a few runs of every target, for `make test`. `make fuzz` runs many more, with
//! a limit on the CPU time of each. Run N of a target is the same on every machine.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod collection;
mod memory;
mod mutate;
mod repair;
mod seeds;
mod target;
mod watch;

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;

use mutate::Random;
use target::{TARGETS, Target};
use watch::Watch;

/// Runs of each target in `make test`.
const DEFAULT_RUNS: u64 = 1_000;

/// The memory limit of a run.
const MAX_BYTES: usize = 512 << 20;

/// In a campaign, the limit on the CPU time of a run.
const MAX_TIME: Duration = Duration::from_secs(1);

/// A target stops after this many failures: most have the same cause.
const MAX_FAILURES: u64 = 20;

const USAGE: &str = "\
usage: fuzz [TARGET...] [--runs N] [--seed S] [--first N] [--campaign] [--corpus FOLDER] [--list]
  TARGET           run only targets whose names contain this
  --runs N         number of runs of each target (1000)
  --seed S         seed of the mutations (26)
  --first N        number of the first run (0); with --runs 1, repeats one run
  --campaign       also fail runs that take more than a second of CPU time
  --corpus FOLDER  write the seeds to this folder, and run nothing
  --list           list the targets";

struct Options {
    names: Vec<String>,
    runs: u64,
    seed: u64,
    first: u64,
    campaign: bool,
    corpus: Option<PathBuf>,
    list: bool,
}

impl Options {
    /// Like libtest, takes other arguments as names of targets. The options of libtest, which
    /// `cargo test` passes to every test, are ignored.
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (names, campaign, corpus, list) = (Vec::new(), false, None, false);
        let mut options =
            Self { names, runs: DEFAULT_RUNS, seed: 26, first: 0, campaign, corpus, list };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} takes a value\n{USAGE}"));
            let mut number = || {
                let number = value()?.replace('_', "").parse();
                number.map_err(|_| format!("{arg} takes a number\n{USAGE}"))
            };
            match arg.as_str() {
                "--runs" => options.runs = number()?,
                "--seed" => options.seed = number()?,
                "--first" => options.first = number()?,
                "--corpus" => options.corpus = Some(value()?.into()),
                "--campaign" => options.campaign = true,
                "--list" => options.list = true,
                "--help" | "-h" => return Err(USAGE.to_owned()),
                _ if arg.starts_with('-') => {}
                _ => options.names.push(arg),
            }
        }
        Ok(options)
    }

    fn selects(&self, target: &Target) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| target.name.contains(name.as_str()))
    }
}

/// The result of all runs of one target.
#[derive(Default)]
struct Outcome {
    runs: u64,
    failures: u64,
    elapsed: Duration,
    slowest: Duration,
    slowest_run: u64,
    largest: usize,
    largest_run: u64,
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let targets = TARGETS.iter().filter(|target| options.selects(target));
    if options.list {
        // The format of libtest.
        targets.for_each(|target| println!("{}: test", target.name));
        return ExitCode::SUCCESS;
    }
    if let Some(folder) = &options.corpus {
        targets
            .for_each(|target| write_seeds(target, folder).expect("the folder can be written to"));
        return ExitCode::SUCCESS;
    }
    // Parallel code runs on this thread, so that a run is the same each time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the global pool is not built yet");
    let watch = Watch::start(artifacts());
    println!(
        "fuzz: seed {}, first run {}, {} runs of each target",
        options.seed, options.first, options.runs
    );
    println!("{HEADER}");
    let mut failures = 0;
    for target in targets {
        let outcome = campaign(target, &options, &watch);
        println!("{}", row(target, &outcome));
        failures += outcome.failures;
    }
    watch.finish();
    match failures {
        0 => ExitCode::SUCCESS,
        _ => {
            let runs = if failures == 1 { "run" } else { "runs" };
            println!("fuzz: {failures} {runs} failed; see the inputs in {}", artifacts().display());
            ExitCode::FAILURE
        }
    }
}

/// The folder of failed inputs.
fn artifacts() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz")
}

fn write_seeds(target: &Target, folder: &Path) -> io::Result<()> {
    let folder = folder.join(target.name);
    fs::create_dir_all(&folder)?;
    let mut seeds = (target.seeds)().into_iter().enumerate();
    seeds.try_for_each(|(number, seed)| fs::write(folder.join(format!("seed-{number}")), seed))
}

const HEADER: &str =
    "target          runs     runs/s   slowest ms      run   largest MiB      run   failed";

fn row(target: &Target, outcome: &Outcome) -> String {
    let per_second = outcome.runs as f64 / outcome.elapsed.as_secs_f64().max(1e-9);
    let slowest = outcome.slowest.as_secs_f64() * 1e3;
    let largest = outcome.largest as f64 / f64::from(1 << 20);
    format!(
        "{:<10} {:>9} {per_second:>10.0} {slowest:>12.1} {:>8} {largest:>13.1} {:>8} {:>8}",
        target.name, outcome.runs, outcome.slowest_run, outcome.largest_run, outcome.failures
    )
}

fn campaign(target: &Target, options: &Options, watch: &Watch) -> Outcome {
    let seeds = (target.seeds)();
    assert!(seeds.iter().all(|seed| !seed.is_empty()), "{}: a seed is empty", target.name);
    let mut outcome = Outcome::default();
    let start = Instant::now();
    for run in options.first..options.first + options.runs {
        let mut random = Random::of_run(options.seed, target.name, run);
        let mut input = mutate::mutated(&seeds, &mut random);
        // Half of the inputs have valid checksums.
        if let (Some(repair), 0) = (target.repair, random.below(2)) {
            repair(&mut input);
        }
        watch.begin(target.name, run);
        let result = RunResult::of(target, &input);
        watch.end();
        outcome.add(run, &result);
        if let Some(what) = result.failure(options.campaign) {
            outcome.failures += 1;
            report(target, options.seed, run, &input, &what);
            if outcome.failures == MAX_FAILURES {
                break;
            }
        }
    }
    outcome.elapsed = start.elapsed();
    outcome
}

impl Outcome {
    fn add(&mut self, run: u64, result: &RunResult) {
        self.runs += 1;
        if result.time > self.slowest {
            (self.slowest, self.slowest_run) = (result.time, run);
        }
        if result.bytes > self.largest {
            (self.largest, self.largest_run) = (result.bytes, run);
        }
    }
}

/// The result of one run.
struct RunResult {
    /// The message of a panic.
    panic: Option<String>,
    time: Duration,
    bytes: usize,
}

impl RunResult {
    fn of(target: &Target, input: &[u8]) -> Self {
        watch::forget_panics();
        let before = memory::start();
        let start = ProcessTime::now();
        let escaped = catch_unwind(AssertUnwindSafe(|| (target.entry)(input))).is_err();
        let time = start.elapsed();
        let bytes = memory::peak() - before;
        // A panic may be caught in the target, or happen on another thread. Our own code must not panic
        // even there.
        let first = watch::first_panic().filter(|_| escaped || !target.is_guarded);
        let panic = watch::first_own_panic().or(first).or_else(|| escaped.then(String::new));
        Self { panic, time, bytes }
    }

    fn failure(&self, campaign: bool) -> Option<String> {
        if let Some(message) = &self.panic {
            return Some(message.replace('\n', " "));
        }
        if self.bytes > MAX_BYTES {
            return Some(format!("allocated {} MiB", self.bytes >> 20));
        }
        let slow = campaign && self.time > MAX_TIME;
        slow.then(|| format!("took {:.1} s of CPU time", self.time.as_secs_f64()))
    }
}

fn report(target: &Target, seed: u64, run: u64, input: &[u8], what: &str) {
    let name = target.name;
    let path = artifacts().join(format!("{name}-{seed}-{run}"));
    let kept = fs::create_dir_all(artifacts()).and_then(|()| fs::write(&path, input));
    let location = kept.map_or_else(|error| error.to_string(), |()| path.display().to_string());
    println!("{name}: run {run} {what}; input: {location}");
    println!("  repeat with: make fuzz TARGET={name} SEED={seed} FIRST={run} N=1");
}
