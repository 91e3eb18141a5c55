//! The commands, one file each. A command reads as the line it runs: source, search, report.

mod bench;
mod pairs;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{BenchCommand, Command};

pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Pairs(args) => pairs::run(args),
        Command::Bench(BenchCommand::Pairs(args)) => bench::run(args),
    }
}
