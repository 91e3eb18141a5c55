//! Where are the feature sets of all items, if memory may not hold them?
//!
//! Sets lie one after the other, in memory up to a limit, then in a temporary file without a name.
//! They are asked for in *blocks* of neighbours: one block in memory, as many as needed from a file.

use std::{borrow::Cow, ops::Range, path::PathBuf};

use crate::pairs::{PairsError, SpillFile};

/// The feature sets of all items, by number.
pub(super) struct Sets {
    /// Where each set begins, in features, and where the last one ends.
    starts: Vec<u64>,
    /// All sets; or those that are not in the file yet.
    held: Vec<u32>,
    file: Option<SpillFile>,
    /// How many features may be held.
    limit: usize,
    folder: PathBuf,
}

/// Features that are written at a time, once there is a file.
const WRITTEN_AT_ONCE: usize = 1 << 18;

impl Sets {
    /// Holds up to `limit` bytes in memory, and the rest in `folder`.
    pub fn new(limit: u64, folder: PathBuf) -> Self {
        let limit = usize::try_from(limit / 4).unwrap_or(usize::MAX);
        Self { starts: vec![0], held: Vec::new(), file: None, limit, folder }
    }

    pub fn push(&mut self, set: &[u32]) -> Result<(), PairsError> {
        let end = self.starts.last().copied().unwrap_or(0) + set.len() as u64;
        self.starts.push(end);
        if self.file.is_none() && self.held.len() + set.len() > self.limit {
            self.file = Some(SpillFile::create(self.folder.clone())?);
            self.write()?;
            self.held = Vec::new();
        }
        self.held.extend_from_slice(set);
        if self.file.is_some() && self.held.len() >= WRITTEN_AT_ONCE {
            self.write()
        } else {
            Ok(())
        }
    }

    /// No more sets will come.
    pub fn seal(&mut self) -> Result<(), PairsError> {
        if self.file.is_some() {
            self.write()?;
            self.held = Vec::new();
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), PairsError> {
        if let Some(file) = &mut self.file {
            file.append(&self.held)?;
            self.held.clear();
        }
        Ok(())
    }

    /// The number of features of all sets.
    pub fn features(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Bytes written to a file; 0 if all is in memory.
    pub fn spilled(&self) -> u64 {
        self.file.as_ref().map_or(0, SpillFile::written)
    }

    fn items(&self) -> usize {
        self.starts.len() - 1
    }

    /// The items cut into blocks of which two fit into memory; one block if all is there.
    pub fn blocks(&self) -> Vec<Range<usize>> {
        if self.file.is_none() {
            let all = 0..self.items();
            return vec![all];
        }
        let mut blocks = Vec::new();
        let mut start = 0;
        while start < self.items() {
            let most = self.starts[start] + (self.limit / 2) as u64;
            let fitting = self.starts.partition_point(|&end| end <= most).saturating_sub(1);
            let end = fitting.max(start + 1);
            blocks.push(start..end);
            start = end;
        }
        blocks
    }

    /// Brings a block into memory.
    pub fn load(&self, items: Range<usize>) -> Result<Block<'_>, PairsError> {
        let starts = &self.starts[items.start..=items.end];
        let features = match &self.file {
            None => Cow::Borrowed(&self.held[starts[0] as usize..starts[items.len()] as usize]),
            Some(file) => {
                let mut features = vec![0u32; (starts[items.len()] - starts[0]) as usize];
                file.read(starts[0] as usize, &mut features)?;
                Cow::Owned(features)
            }
        };
        Ok(Block { first: items.start, starts, features })
    }
}

/// The sets of neighbouring items, in memory.
pub(super) struct Block<'a> {
    first: usize,
    starts: &'a [u64],
    features: Cow<'a, [u32]>,
}

impl Block<'_> {
    /// The set of an item of the block.
    pub fn set(&self, item: usize) -> &[u32] {
        let local = item - self.first;
        let [start, end] = [self.starts[local], self.starts[local + 1]];
        &self.features[(start - self.starts[0]) as usize..(end - self.starts[0]) as usize]
    }
}
