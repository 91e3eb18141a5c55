//! How are pairs written? `{"a":1,"b":2,"distance":3,"similarity":null,"level":null}`, or a table of these
//! columns.

use anyhow::Result;
use lookalike::AlikePair;

use super::{
    Levels, Output,
    table::{Cell, Kind, TableFile, TableWriter},
};
use crate::source::Ids;

const COLUMNS: &[(&str, Kind)] = &[
    ("a", Kind::Id),
    ("b", Kind::Id),
    ("distance", Kind::Number),
    ("similarity", Kind::Share),
    ("level", Kind::Name),
];

/// Writes pairs and counts them.
pub struct PairWriter<'a> {
    table: TableWriter,
    ids: &'a Ids,
    levels: Levels,
}

impl<'a> PairWriter<'a> {
    pub fn new(output: Output, file: TableFile, ids: &'a Ids, levels: Levels) -> Result<Self> {
        Ok(Self { table: TableWriter::new(output, file, COLUMNS, ids)?, ids, levels })
    }

    pub fn write(&mut self, pair: AlikePair) -> Result<()> {
        let AlikePair { a, b, distance, similarity } = pair;
        self.table.write(&[
            Cell::Id(self.ids.at(a)),
            Cell::Id(self.ids.at(b)),
            Cell::Number(distance.into()),
            Cell::Share(similarity),
            Cell::Name(self.levels.label(distance, similarity)),
        ])
    }

    pub fn written(&self) -> u64 {
        self.table.written
    }

    /// Writes what is left and gives a file its name.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}
