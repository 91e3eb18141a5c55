//! How is what was skipped written?
//! `{"file":"a.jsonl","line":7,"items":1,"reason":"broken","message":"..."}`, or a table of these
//! columns. There is no line if all of a file was skipped.

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

/// Something that was skipped.
#[derive(Clone, Copy)]
pub struct SkippedRow<'a> {
    pub file: &'a str,
    pub line: Option<u64>,
    /// How many items it cost.
    pub items: u64,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Writes what is skipped, as it is met.
pub struct SkippedWriter {
    table: TableWriter,
    /// The first failure, which is told in the end.
    failed: Result<()>,
}

impl SkippedWriter {
    /// Opens the file before work starts, so that a wrong name costs no time.
    pub fn create(file: &Path, force: bool, console: Console<'_>) -> Result<Self> {
        let place = OutputArgs { output: Some(file.to_owned()), force };
        let format = TableFile::of(place.file())?;
        let no_ids = Ids::new(Vec::new());
        let table = TableWriter::new(Output::create(&place, console)?, format, COLUMNS, &no_ids)?;
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

    /// Writes what is left and gives the file its name.
    pub fn finish(self) -> Result<()> {
        self.failed?;
        self.table.finish()
    }
}
