//! The commands, one file each. A command reads as the line it runs: source, search, report.

mod bench;
mod compare;
pub mod dedup;
mod fingerprints;
mod hash;
mod index;
mod pairs;
mod pictures;
mod recipes;
mod texts;
mod undo;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{BenchCommand, Command};

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
        Command::Bench(BenchCommand::Pictures(args)) => bench::pictures::run(&args),
    }
}
