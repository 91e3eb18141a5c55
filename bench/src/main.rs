//! Runs every row of the benchmark and prints one table.

mod machine;
mod options;
mod ours;
mod peer;
mod rounds;
mod rows;
mod table;

use std::{fs, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;

use machine::Machine;
use options::{Child, Options};
use rows::{ROWS, Work};
use table::{Row, Table};

const PREAMBLE: &str = "# The last run of `make bench`

Written by the program; do not edit.
Wall seconds, the best of several warm turns, one thread unless said. Contenders take turns in one
run on the same fingerprints (random, one in a hundred a copy changed in 0 to k bits) and must find
the same pairs. Ours is built as a user builds it; the Rust peers are built for this very processor
(`target-cpu=native`), which is in their favour, unless a row says otherwise: gaoya's MinHash has one
of either build. Loading is not counted and, for peers, neither is preparing. A result in `x` is how many times faster ours is; where the target is an upper bound, it
is how many times as long ours takes.

";

const SMALLER: &str = "**Sizes are smaller than those the targets are set for.**\n\n";

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    if let Some(Child::AllPairs { items, threads }) = options.child {
        rows::memory::child(items, threads)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.list {
        ROWS.iter().for_each(|work| println!("{:14} {}", work.name, work.about));
        return Ok(ExitCode::SUCCESS);
    }
    let machine = Machine::describe();
    let table = Table(chosen(&options).flat_map(|work| run(work, &options)).collect());
    let sizes = if options.is_full() { "" } else { SMALLER };
    let text = format!("{machine}\n{sizes}{table}");
    println!("{text}");
    if let Some(path) = &options.results {
        fs::write(path, format!("{PREAMBLE}{text}"))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(if table.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn chosen(options: &Options) -> impl Iterator<Item = &'static Work> {
    let wanted = |work: &&Work| options.only.iter().any(|part| work.name.contains(part.as_str()));
    ROWS.iter().filter(move |work| options.only.is_empty() || wanted(work))
}

/// A failing row does not stop the others.
fn run(work: &Work, options: &Options) -> Vec<Row> {
    eprintln!("{}: {}", work.name, work.about);
    (work.run)(options).unwrap_or_else(|error| vec![Row::failed(work.about, format!("{error:#}"))])
}
