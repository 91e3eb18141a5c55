//! The commands, one file each. A command reads as the line it runs: source, search, report.

mod bench;
mod compare;
pub mod dedup;
mod found;
mod hash;
mod index;
mod pairs;
mod read;
mod recipes;
mod undo;

use std::{ops::ControlFlow, process::ExitCode, time::Instant};

use anyhow::Result;
use lookalike::{PairsError, Registry, Resources};

use crate::{
    args::{BenchCommand, Command, TalkArgs},
    config::Work,
    report::Progress,
};

pub fn run(command: Command, registry: &Registry) -> Result<ExitCode> {
    match command {
        Command::Dedup(args) => dedup::run(*args, registry),
        Command::Undo(args) => undo::run(args),
        Command::Pairs(args) => pairs::run(args, registry),
        Command::Compare(args) => compare::run(args, registry),
        Command::Hash(args) => hash::run(args, registry),
        Command::Index(command) => index::run(command, registry),
        Command::Recipes(args) => recipes::run(args),
        Command::Bench(BenchCommand::Pairs(args)) => bench::run(args),
        Command::Bench(BenchCommand::Images(args)) => bench::images::run(&args),
    }
}

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
