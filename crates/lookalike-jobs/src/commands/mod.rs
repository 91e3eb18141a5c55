//! The commands, one file each. A command reads as the line it runs: source, search, report.

mod bench;
mod compare;
mod count;
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
use lookalike::{Resources, kind::Registry, pairs::PairsError};

use crate::{
    args::{BenchCommand, Command},
    config::Work,
    host::{Console, Host},
};

pub fn run(command: Command, host: &Host, registry: &Registry) -> Result<ExitCode> {
    match command {
        Command::Dedup(args) => dedup::run(*args, host, registry),
        Command::Undo(args) => undo::run(args, host),
        Command::Pairs(args) => pairs::run(args, host, registry),
        Command::Compare(args) => compare::run(args, host, registry),
        Command::Hash(args) => hash::run(args, host, registry),
        Command::Index(command) => index::run(command, host, registry),
        Command::Recipes(args) => recipes::run(args, host),
        Command::Bench(BenchCommand::Pairs(args)) => bench::run(args, host),
        Command::Bench(BenchCommand::Images(args)) => bench::images::run(&args, host),
    }
}

/// Searches: shows how far it is, and lets `on_beat` stop it by unwinding. Also returns the seconds it
/// took.
fn search<T>(
    work: &Work,
    console: Console<'_>,
    on_beat: &(dyn Fn() + Sync),
    run: impl FnOnce(&Resources<'_>) -> Result<T, PairsError>,
) -> Result<(T, f64)> {
    let start = Instant::now();
    let progress = console.progress();
    let watch = |part| {
        on_beat();
        progress.searched(part);
        ControlFlow::Continue(())
    };
    let found = run(&work.resources(&watch))?;
    progress.clear();
    Ok((found, start.elapsed().as_secs_f64()))
}
