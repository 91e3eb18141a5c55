//! Where are the feature sets of all items, if memory may not hold them?
//!
//! Sets lie one after the other, in memory up to a limit, then in a temporary file without a name.
//! They are asked for in *blocks* of neighbours: one block in memory, as many as needed from a file.

use std::{borrow::Cow, ops::Range, path::PathBuf};

use crate::pairs::{PairsError, SpillFile};

/// The feature sets of all items, by number.
pub(crate) struct Sets {
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
    pub fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Bytes written to a file; 0 if all is in memory.
    pub fn spilled(&self) -> u64 {
        self.file.as_ref().map_or(0, SpillFile::written)
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The items cut into blocks of which two fit into memory; one block if all is there.
    pub fn blocks(&self) -> Vec<Range<usize>> {
        if self.file.is_none() {
            let all = 0..self.len();
            return vec![all];
        }
        let mut blocks = Vec::new();
        let mut start = 0;
        while start < self.len() {
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

/// Sets further apart in the file than this, in features, are read apart.
const GAP: u64 = 1 << 14;
/// Features that are read together, at most, to pick sets from.
const READ_AT_ONCE: u64 = 1 << 20;

impl Sets {
    /// The sets of some items, in this order, in memory.
    pub fn gather<'a>(&'a self, items: &'a [u32]) -> Result<Gathered<'a>, PairsError> {
        if self.file.is_none() {
            return Ok(Gathered::Held { sets: self, items });
        }
        let mut starts = vec![0u64];
        for &item in items {
            starts.push(starts[starts.len() - 1] + self.range(item).end - self.range(item).start);
        }
        let mut features = vec![0u32; starts[items.len()] as usize];
        let mut by_place: Vec<u32> = (0..items.len() as u32).collect();
        by_place.sort_unstable_by_key(|&at| items[at as usize]);
        let mut read = Vec::new();
        let mut rest = &by_place[..];
        while let Some(&first) = rest.first() {
            let mut end = self.range(items[first as usize]).end;
            let start = self.range(items[first as usize]).start;
            let fits = |at: &u32| {
                let next = self.range(items[*at as usize]);
                let is_near = next.start <= end + GAP && next.end <= start + READ_AT_ONCE;
                end = if is_near { next.end } else { end };
                is_near
            };
            let together = 1 + rest[1..].iter().copied().take_while(fits).count();
            self.read(start..end, &mut read)?;
            for &at in &rest[..together] {
                let from = self.range(items[at as usize]);
                let to = starts[at as usize] as usize..starts[at as usize + 1] as usize;
                let from = (from.start - start) as usize..(from.end - start) as usize;
                features[to].copy_from_slice(&read[from]);
            }
            rest = &rest[together..];
        }
        Ok(Gathered::Read { starts, features })
    }

    fn range(&self, item: u32) -> Range<u64> {
        self.starts[item as usize]..self.starts[item as usize + 1]
    }

    /// Reads features from the file.
    fn read(&self, range: Range<u64>, features: &mut Vec<u32>) -> Result<(), PairsError> {
        features.resize((range.end - range.start) as usize, 0);
        self.file.as_ref().map_or(Ok(()), |file| file.read(range.start as usize, features))
    }

    /// How many features an item has.
    pub fn len_of(&self, item: u32) -> u64 {
        self.range(item).end - self.range(item).start
    }
}

/// The sets of some items, in memory.
pub(crate) enum Gathered<'a> {
    Held { sets: &'a Sets, items: &'a [u32] },
    Read { starts: Vec<u64>, features: Vec<u32> },
}

impl Gathered<'_> {
    /// The features of the item at a position of the list that was asked for.
    #[inline]
    pub fn features(&self, at: usize) -> &[u32] {
        let (range, features) = match self {
            Self::Held { sets, items } => (sets.range(items[at]), &sets.held),
            Self::Read { starts, features } => (starts[at]..starts[at + 1], features),
        };
        &features[range.start as usize..range.end as usize]
    }
}

/// The sets of neighbouring items, in memory.
pub(crate) struct Block<'a> {
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
