//! The commands, one module each: read the input, search, write the result.

mod bench;
mod compare;
mod count;
pub mod dedup;
mod figures;
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

/// Runs a search, shows its progress, and returns the seconds it took. `on_progress` may unwind to
/// stop it.
fn search<T>(
    work: &Work,
    console: Console<'_>,
    on_progress: &(dyn Fn() + Sync),
    run: impl FnOnce(&Resources<'_>) -> Result<T, PairsError>,
) -> Result<(T, f64)> {
    let start = Instant::now();
    let progress = console.progress();
    let watch = |fraction| {
        on_progress();
        progress.searched(fraction);
        ControlFlow::Continue(())
    };
    let result = run(&work.resources(&watch))?;
    progress.clear();
    Ok((result, start.elapsed().as_secs_f64()))
}
