//! How is an index written for people and other programs?
//!
//! One line per item: the fingerprint as `0x` hex, a tab, the id in decimal.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use super::{IndexError, file::replace};
use crate::{Fingerprint, Width};

/// Writes all items, under a temporary name until the file is whole.
pub(super) fn write<const WORDS: usize>(
    path: &Path,
    mut items: impl Iterator<Item = (u32, Fingerprint<WORDS>)>,
) -> Result<(), IndexError> {
    replace(path, |file| items.try_for_each(|(id, print)| writeln!(file, "{print:x}\t{id}")))
}

/// Reads all items, by id; ids that no line has are `None`.
pub(super) fn read<const WORDS: usize>(
    path: &Path,
) -> Result<Vec<Option<Fingerprint<WORDS>>>, IndexError> {
    let failed = |source| IndexError::Io { path: path.into(), action: "reading the items", source };
    let bad = |line, what| IndexError::Line { path: path.into(), line, what };
    let file = File::open(path).map_err(failed)?;
    let mut items = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        items.push((number, parse(&line.map_err(failed)?).map_err(|what| bad(number, what))?));
    }
    let ids = items.iter().map(|(_, (id, _))| *id as usize + 1).max().unwrap_or(0);
    let mut prints = vec![None; ids.min(most_ids(items.len()))];
    for (line, (id, print)) in items {
        let Some(place) = prints.get_mut(id as usize) else {
            return Err(bad(line, format!("id {id} is too large for so few items")));
        };
        if place.replace(print).is_some() {
            return Err(bad(line, format!("id {id} was given on an earlier line already")));
        }
    }
    Ok(prints)
}

/// Memory goes with the largest id, so one wild number must not take all of it.
fn most_ids(items: usize) -> usize {
    (1 << 24) + 64 * items
}

fn parse<const WORDS: usize>(line: &str) -> Result<(u32, Fingerprint<WORDS>), String> {
    let (print, id) = line.split_once('\t').ok_or("there is no tab")?;
    let width = match WORDS {
        1 => Width::Bits64,
        2 => Width::Bits128,
        _ => Width::Bits256,
    };
    let print = Fingerprint::parse(print, width).map_err(|error| error.to_string())?;
    let id = id.trim_end().parse().ok().filter(|id| *id < u32::MAX);
    Ok((id.ok_or("the id is not a number below 4294967295")?, print))
}
