//! Writes skipped records as
//! `{"file":"a.jsonl","line":7,"items":1,"reason":"broken","message":"..."}`, or as a table with these
//! columns. `line` is null if a whole file was skipped.

use std::path::Path;

use anyhow::Result;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter},
};
use crate::{args::OutputArgs, host::Console, source::Ids};

const COLUMNS: &[(&str, Kind)] = &[
    ("file", Kind::Word),
    ("line", Kind::Optional),
    ("items", Kind::Number),
    ("reason", Kind::Word),
    ("message", Kind::Word),
];

/// A skipped record or file.
#[derive(Clone, Copy)]
pub struct SkippedRow<'a> {
    pub file: &'a str,
    pub line: Option<u64>,
    /// The number of skipped items.
    pub items: u64,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Writes skipped records while inputs are read.
pub struct SkippedWriter {
    table: TableWriter,
    /// The first failure, which [`finish`](Self::finish) returns.
    failed: Result<()>,
}

impl SkippedWriter {
    /// Opens the file before work starts, so that a wrong name fails early.
    pub fn create(file: &Path, force: bool, console: Console<'_>) -> Result<Self> {
        let output = OutputArgs { output: Some(file.to_owned()), force };
        let format = TableFile::of(output.file())?;
        let no_ids = Ids::new(Vec::new());
        let table = TableWriter::new(Output::create(&output, console)?, format, COLUMNS, &no_ids)?;
        Ok(Self { table, failed: Ok(()) })
    }

    pub fn write(&mut self, row: SkippedRow<'_>) {
        if self.failed.is_ok() {
            self.failed = self.table.write(&[
                Cell::Word(row.file),
                Cell::Optional(row.line),
                Cell::Number(row.items),
                Cell::Word(row.reason),
                Cell::Word(row.message),
            ]);
        }
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        self.failed?;
        self.table.finish()
    }
}
