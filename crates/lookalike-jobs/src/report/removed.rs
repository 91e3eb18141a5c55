//! Writes removed items as `{"id":ID,"keep":ID,"distance":2,"similarity":0.9,"level":"copy"}`, or as a
//! table with these columns. In chains, `alike` is the item that the figures refer to, which need not
//! be the keeper.

use anyhow::Result;
use lookalike::Closeness;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter, closeness_cells},
};
use crate::source::Ids;

const CHAINED: &[(&str, Kind)] = &[
    ("id", Kind::Id),
    ("keep", Kind::Id),
    ("alike", Kind::Id),
    ("distance", Kind::Optional),
    ("similarity", Kind::Share),
    ("level", Kind::Name),
];

const COLUMNS: &[(&str, Kind)] = &[CHAINED[0], CHAINED[1], CHAINED[3], CHAINED[4], CHAINED[5]];

/// A removed item and its keeper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemovedRow {
    pub item: u32,
    pub keep: u32,
    /// The member of its group that it was compared with.
    pub alike: u32,
    pub closeness: Closeness,
}

/// Writes removed items.
pub struct RemovedWriter<'a> {
    table: TableWriter,
    chained: bool,
    ids: &'a Ids,
}

impl<'a> RemovedWriter<'a> {
    /// `chained`: items may have been compared with other items than the keeper.
    pub fn new(output: Output, file: TableFile, ids: &'a Ids, chained: bool) -> Result<Self> {
        let columns = if chained { CHAINED } else { COLUMNS };
        Ok(Self { table: TableWriter::new(output, file, columns, ids)?, chained, ids })
    }

    pub fn write(&mut self, row: RemovedRow) -> Result<()> {
        let [id, keep, alike] =
            [row.item, row.keep, row.alike].map(|item| Cell::Id(self.ids.at(item)));
        let [distance, similarity, level] = closeness_cells(row.closeness);
        if self.chained {
            self.table.write(&[id, keep, alike, distance, similarity, level])
        } else {
            self.table.write(&[id, keep, distance, similarity, level])
        }
    }

    /// Completes the output.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}
