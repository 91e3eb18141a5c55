//! The commands, one file each. A command reads as the line it runs: source, search, report.

mod bench;
mod compare;
pub mod dedup;
mod fingerprints;
mod hash;
mod images;
mod index;
mod pairs;
mod recipes;
mod texts;
mod undo;

use std::{ops::ControlFlow, process::ExitCode, time::Instant};

use anyhow::Result;
use lookalike::{AlikePairs, PairsError, Resources};

use crate::{
    args::{BenchCommand, Command, TalkArgs},
    config::Work,
    report::Progress,
};

pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Dedup(args) => dedup::run(*args),
        Command::Undo(args) => undo::run(args),
        Command::Pairs(args) => pairs::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Hash(args) => hash::run(args),
        Command::Index(command) => index::run(command),
        Command::Recipes(args) => recipes::run(args),
        Command::Bench(BenchCommand::Pairs(args)) => bench::run(args),
        Command::Bench(BenchCommand::Images(args)) => bench::images::run(&args),
    }
}

/// Finds all pairs.
pub type FindPairs = Box<dyn Fn(&Resources<'_>) -> Result<AlikePairs, PairsError> + Send + Sync>;

/// Searches: shows how far it is, and lets `on_beat` stop it by unwinding. Also returns the seconds it
/// took.
fn search<T>(
    work: &Work,
    talk: TalkArgs,
    on_beat: &(dyn Fn() + Sync),
    run: impl FnOnce(&Resources<'_>) -> Result<T, PairsError>,
) -> Result<(T, f64)> {
    let start = Instant::now();
    let progress = Progress::new(talk.quiet);
    let watch = |part| {
        on_beat();
        progress.searched(part);
        ControlFlow::Continue(())
    };
    let found = run(&work.resources(&watch))?;
    progress.clear();
    Ok((found, start.elapsed().as_secs_f64()))
}
