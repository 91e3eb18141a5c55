//! Writes pairs as `{"a":1,"b":2,"distance":3,"similarity":null,"level":null}`, or as a table with
//! these columns.

use anyhow::Result;
use lookalike::search::AlikePair;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter, closeness_cells},
};
use crate::source::Ids;

const COLUMNS: &[(&str, Kind)] = &[
    ("a", Kind::Id),
    ("b", Kind::Id),
    ("distance", Kind::Optional),
    ("similarity", Kind::Share),
    ("level", Kind::Name),
];

/// Writes pairs and counts them.
pub struct PairWriter<'a> {
    table: TableWriter,
    ids: &'a Ids,
}

impl<'a> PairWriter<'a> {
    pub fn new(output: Output, file: TableFile, ids: &'a Ids) -> Result<Self> {
        Ok(Self { table: TableWriter::new(output, file, COLUMNS, ids)?, ids })
    }

    pub fn write(&mut self, pair: AlikePair) -> Result<()> {
        let [a, b] = [pair.a, pair.b].map(|item| Cell::Id(self.ids.at(item)));
        let [distance, similarity, level] = closeness_cells(pair.closeness);
        self.table.write(&[a, b, distance, similarity, level])
    }

    pub fn written(&self) -> u64 {
        self.table.written
    }

    /// Completes the output.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}
