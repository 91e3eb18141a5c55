//! One state of the collection.
//!
//! A [`View`] never changes: a search of it sees one state of the collection, whatever is written
//! meanwhile. The next view shares all unchanged runs with it.

use super::{about::State, run::LiveRun};

/// One state of the collection.
#[derive(Clone)]
pub struct View {
    /// In order of their sequence numbers.
    pub runs: Vec<LiveRun>,
    pub state: State,
}

/// The position of an item in a view. Later positions have larger sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub run: u32,
    pub item: u32,
}

impl View {
    /// The item with this id, unless it is removed.
    pub fn find(&self, id: &str, hash: u64) -> Option<Place> {
        let newest_first = (0..self.runs.len()).rev();
        let found = newest_first.filter_map(|run| Some((run, self.runs[run].find(id, hash)?)));
        found.map(|(run, item)| Place { run: run as u32, item }).next()
    }

    pub fn run(&self, place: Place) -> &LiveRun {
        &self.runs[place.run as usize]
    }

    pub fn sequence(&self, place: Place) -> u64 {
        self.run(place).run.names.sequence(place.item)
    }

    /// The number of features of all items.
    pub fn features(&self) -> u64 {
        self.runs.iter().map(LiveRun::features).sum()
    }

    /// The memory in use in bytes, including mapped files.
    pub fn memory_bytes(&self) -> usize {
        self.runs.iter().map(LiveRun::memory_bytes).sum()
    }
}
