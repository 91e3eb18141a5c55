//! How is what was removed written?
//! `{"id":ID,"keep":ID,"distance":2,"similarity":0.9,"level":"copy"}`, or a table of these columns.

use anyhow::Result;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter},
};
use crate::source::Ids;

const COLUMNS: &[(&str, Kind)] = &[
    ("id", Kind::Id),
    ("keep", Kind::Id),
    ("distance", Kind::Number),
    ("similarity", Kind::Share),
    ("level", Kind::Word),
];

/// An item that is removed, and the one that is kept in its stead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemovedRow<'a> {
    pub item: u32,
    pub keep: u32,
    pub distance: u32,
    /// None if it was not verified.
    pub similarity: Option<f32>,
    /// How alike the two are: `copy`, `near`, `similar`, or `unverified`.
    pub level: &'a str,
}

/// Writes removed items.
pub struct RemovedWriter<'a> {
    table: TableWriter,
    ids: &'a Ids,
}

impl<'a> RemovedWriter<'a> {
    pub fn new(output: Output, file: TableFile, ids: &'a Ids) -> Result<Self> {
        Ok(Self { table: TableWriter::new(output, file, COLUMNS, ids)?, ids })
    }

    pub fn write(&mut self, row: RemovedRow<'_>) -> Result<()> {
        self.table.write(&[
            Cell::Id(self.ids.at(row.item)),
            Cell::Id(self.ids.at(row.keep)),
            Cell::Number(row.distance.into()),
            Cell::Share(row.similarity),
            Cell::Word(row.level),
        ])
    }

    /// Writes what is left and gives a file its name.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}
