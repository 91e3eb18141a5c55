//! `lookalike undo`: restores files that dedup acted on.

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    act::{Undo, Undone, list_journals},
    args::UndoArgs,
    host::{Console, Host},
    report::{counted, grouped, visible},
    source::path_text,
};

pub fn run(args: UndoArgs, host: &Host) -> Result<ExitCode> {
    let console = Console::plain(host, args.quiet);
    let Some(path) = &args.journal else { return list(console) };
    let Undone { restored, unchanged, failed } = Undo::open(path, host)?.run(args.dry_run);
    for what in &failed {
        console.message(&format!("not restored: {}", visible(what)));
    }
    if !console.quiet {
        let would = if args.dry_run { "would be " } else { "" };
        let mut words = vec![format!("{} {would}restored", counted(restored, "file"))];
        if unchanged > 0 {
            words.push(format!("{} already in place", grouped(unchanged)));
        }
        if !failed.is_empty() {
            words.push(format!("{} not restored", grouped(failed.len() as u64)));
        }
        console.message(&words.join("; "));
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Prints the journals in the default folder, one per line: path, action, number of files.
fn list(console: Console<'_>) -> Result<ExitCode> {
    let paths = list_journals(&console.host.folders);
    if paths.is_empty() {
        console.note("no journals found; dedup --move, --link, --trash and --delete write them");
    }
    let mut lines = String::new();
    for path in &paths {
        let what = match Undo::describe(path) {
            Ok((_, 0)) => "undone".to_owned(),
            Ok((act, files)) => format!("{act}\t{}", counted(files, "file")),
            Err(error) => format!("cannot be read\t{error:#}"),
        };
        lines += &format!("{}\t{what}\n", path_text(path));
    }
    console.print(&lines)?;
    Ok(ExitCode::SUCCESS)
}
