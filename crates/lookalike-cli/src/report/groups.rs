//! How are groups written? `{"group":1,"keep":ID,"members":[{"id":ID,"distance":2,"similarity":0.9}]}`,
//! or a table with a row for each member.

use anyhow::Result;
use lookalike::groups::Member;

use super::{
    Output,
    table::{Cell, Kind, TableFile, TableWriter, json_cell},
};
use crate::source::Ids;

const COLUMNS: &[(&str, Kind)] = &[
    ("group", Kind::Number),
    ("keep", Kind::Id),
    ("id", Kind::Id),
    ("distance", Kind::Number),
    ("similarity", Kind::Share),
];

/// Writes groups and counts them.
pub struct GroupWriter<'a> {
    table: TableWriter,
    is_json: bool,
    ids: &'a Ids,
    pub written: u64,
}

impl<'a> GroupWriter<'a> {
    pub fn new(output: Output, file: TableFile, ids: &'a Ids) -> Result<Self> {
        let table = TableWriter::new(output, file, COLUMNS, ids)?;
        Ok(Self { table, is_json: file.is_json(), ids, written: 0 })
    }

    /// Writes the next group: the item that is kept, and all others.
    pub fn write(&mut self, keep: u32, members: &[Member]) -> Result<()> {
        self.written += 1;
        let (group, keep) = (Cell::Number(self.written), Cell::Id(self.ids.at(keep)));
        if self.is_json {
            return self.table.write_json(|line| json_group(line, group, keep, members, self.ids));
        }
        members.iter().try_for_each(|member| {
            let [id, distance, similarity] = cells(member, self.ids);
            self.table.write(&[group, keep, id, distance, similarity])
        })
    }

    /// Writes what is left and gives a file its name.
    pub fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

fn cells<'a>(member: &Member, ids: &'a Ids) -> [Cell<'a>; 3] {
    let &Member { item, distance, similarity, .. } = member;
    [Cell::Id(ids.at(item)), Cell::Number(distance.into()), Cell::Share(similarity)]
}

fn json_group(line: &mut Vec<u8>, group: Cell<'_>, keep: Cell<'_>, members: &[Member], ids: &Ids) {
    json_fields(line, b"{", &[("group", group), ("keep", keep)]);
    line.extend_from_slice(b",\"members\":[");
    for (number, member) in members.iter().enumerate() {
        let [id, distance, similarity] = cells(member, ids);
        let start: &[u8] = if number == 0 { b"{" } else { b",{" };
        json_fields(line, start, &[("id", id), ("distance", distance), ("similarity", similarity)]);
        line.push(b'}');
    }
    line.extend_from_slice(b"]}");
}

fn json_fields(line: &mut Vec<u8>, start: &[u8], fields: &[(&str, Cell<'_>)]) {
    line.extend_from_slice(start);
    for (number, &(name, cell)) in fields.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        line.extend_from_slice(format!("{comma}\"{name}\":").as_bytes());
        json_cell(line, cell);
    }
}
