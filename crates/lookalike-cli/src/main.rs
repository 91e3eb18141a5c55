//! The `lookalike` command line: arguments in, one command run, an exit code out.
//!
//! Data goes to stdout, talk to stderr. Exit 0: done (or alike); 1: different; 2: error.

mod act;
mod args;
mod commands;
mod config;
mod places;
mod report;
mod source;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    report::remove_when_stopped();
    match commands::run(args.command) {
        Ok(code) => code,
        Err(error) if report::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&report::visible(&format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}
