//! Writes groups as
//! `{"group":1,"keep":ID,"members":[{"id":ID,"distance":2,"similarity":0.9,"level":"copy"}]}`, or as a
//! table with a row per member. In chains, `alike` is the item that the figures of a member refer to,
//! which need not be the keeper.

use anyhow::Result;
use lookalike::groups::Member;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter, closeness_cells, json_cell},
};
use crate::source::Ids;

const CHAINED: &[(&str, Kind)] = &[
    ("group", Kind::Number),
    ("keep", Kind::Id),
    ("id", Kind::Id),
    ("alike", Kind::Id),
    ("distance", Kind::Optional),
    ("similarity", Kind::Share),
    ("level", Kind::Name),
];

const COLUMNS: &[(&str, Kind)] =
    &[CHAINED[0], CHAINED[1], CHAINED[2], CHAINED[4], CHAINED[5], CHAINED[6]];

/// Writes groups and counts them.
pub struct GroupWriter<'a> {
    table: TableWriter,
    is_json: bool,
    chained: bool,
    ids: &'a Ids,
    pub written: u64,
}

impl<'a> GroupWriter<'a> {
    /// `chained`: members may have been compared with other items than the keeper.
    pub fn new(output: Output, file: TableFile, ids: &'a Ids, chained: bool) -> Result<Self> {
        let columns = if chained { CHAINED } else { COLUMNS };
        let table = TableWriter::new(output, file, columns, ids)?;
        Ok(Self { table, is_json: file.is_json(), chained, ids, written: 0 })
    }

    /// Writes the next group: the keeper, and the other members.
    pub fn write(&mut self, keep: u32, members: &[Member]) -> Result<()> {
        self.written += 1;
        let (group, keep) = (Cell::Number(self.written), Cell::Id(self.ids.at(keep)));
        let columns = if self.chained { &CHAINED[2..] } else { &COLUMNS[2..] };
        if self.is_json {
            let members = members.iter().map(|member| cells(member, columns, self.ids));
            return self.table.write_json(|line| json_group(line, group, keep, members));
        }
        members.iter().try_for_each(|member| {
            let row = cells(member, columns, self.ids).map(|(_, cell)| cell);
            self.table.write(&[group, keep].into_iter().chain(row).collect::<Vec<_>>())
        })
    }

    /// Completes the output.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

/// The name and value of each column for a member.
fn cells<'a>(
    member: &Member,
    columns: &'static [(&'static str, Kind)],
    ids: &'a Ids,
) -> impl Iterator<Item = (&'static str, Cell<'a>)> {
    let &Member { item, alike, closeness } = member;
    let [distance, similarity, level] = closeness_cells(closeness);
    columns.iter().map(move |&(name, _)| {
        let cell = match name {
            "id" => Cell::Id(ids.at(item)),
            "alike" => Cell::Id(ids.at(alike)),
            "distance" => distance,
            "similarity" => similarity,
            _ => level,
        };
        (name, cell)
    })
}

fn json_group<'a>(
    line: &mut Vec<u8>,
    group: Cell<'_>,
    keep: Cell<'_>,
    members: impl Iterator<Item = impl Iterator<Item = (&'static str, Cell<'a>)>>,
) {
    json_fields(line, b"{", [("group", group), ("keep", keep)].into_iter());
    line.extend_from_slice(b",\"members\":[");
    for (number, member) in members.enumerate() {
        let start: &[u8] = if number == 0 { b"{" } else { b",{" };
        json_fields(line, start, member);
        line.push(b'}');
    }
    line.extend_from_slice(b"]}");
}

fn json_fields<'a>(
    line: &mut Vec<u8>,
    start: &[u8],
    fields: impl Iterator<Item = (&'static str, Cell<'a>)>,
) {
    line.extend_from_slice(start);
    for (number, (name, cell)) in fields.enumerate() {
        let comma = if number == 0 { "" } else { "," };
        line.extend_from_slice(format!("{comma}\"{name}\":").as_bytes());
        json_cell(line, cell);
    }
}
