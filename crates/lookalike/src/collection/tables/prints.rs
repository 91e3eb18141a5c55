//! Finds fingerprints within a radius, and the items they belong to.

use std::{ops::Range, path::Path};

use super::{super::array::Array, PrintLayout};
use crate::{
    Fingerprint, Radius, StaticIndex,
    index::{IndexError, Search, file},
};

/// An index of fingerprints of any width.
enum Index {
    W1(StaticIndex<1>),
    W2(StaticIndex<2>),
    W4(StaticIndex<4>),
}

/// Evaluates an expression on an index of any width.
macro_rules! with_index {
    ($index:expr, |$name:ident| $body:expr) => {
        match $index {
            Index::W1($name) => $body,
            Index::W2($name) => $body,
            Index::W4($name) => $body,
        }
    };
}

/// The fingerprints of the items of a run.
pub struct PrintTable {
    index: Index,
    /// The item of each fingerprint, in ascending order; empty if each item has exactly one, or none.
    owners: Array<u32>,
}

impl PrintTable {
    /// Calls `on_match` with the position of a query, an item, and the distance of their fingerprints;
    /// several times for an item with several matching fingerprints.
    pub fn search(
        &self,
        queries: impl Iterator<Item = Fingerprint<4>>,
        radius: Radius,
        mut on_match: impl FnMut(usize, u32, u32),
    ) -> Result<(), IndexError> {
        with_index!(&self.index, |index| {
            let queries: Vec<_> = queries.map(|query| query.resize()).collect();
            index.search_batch(&queries, radius, |query, found| {
                on_match(query, self.owner(found.id), found.distance);
            })
        })
    }

    #[inline]
    fn owner(&self, place: u32) -> u32 {
        if self.owners.is_empty() { place } else { self.owners[place as usize] }
    }

    /// The positions of the fingerprints of an item.
    fn places(&self, item: u32) -> Range<usize> {
        if self.owners.is_empty() {
            // Each item has exactly one, or none.
            let item = (item as usize).min(self.len());
            return item..self.len().min(item + 1);
        }
        let start = self.owners.partition_point(|&owner| owner < item);
        start..start + self.owners[start..].partition_point(|&owner| owner == item)
    }

    /// The fingerprints of an item.
    pub fn of_item(&self, item: u32) -> impl Iterator<Item = Fingerprint<4>> {
        let places = self.places(item);
        let print = |place: usize| with_index!(&self.index, |index| index.prints()[place].resize());
        places.map(print)
    }

    /// The number of fingerprints.
    pub fn len(&self) -> usize {
        with_index!(&self.index, |index| index.len())
    }

    /// How they are searched, in words.
    pub fn plan(&self) -> String {
        with_index!(&self.index, |index| index.plan())
    }

    pub fn index_bytes(&self) -> usize {
        with_index!(&self.index, |index| index.memory_bytes())
    }

    pub fn owners(&self) -> &[u8] {
        self.owners.bytes()
    }

    /// Writes the index to a file, and returns the checksum of its header.
    pub fn save(&self, path: &Path) -> Result<u64, IndexError> {
        with_index!(&self.index, |index| index.save(path))?;
        file::checksum_of_header(path)
    }

    pub fn open(
        path: &Path,
        layout: PrintLayout,
        owners: Array<u32>,
        items: usize,
    ) -> Result<Self, IndexError> {
        let index = match layout.words {
            1 => Index::W1(StaticIndex::open(path)?),
            2 => Index::W2(StaticIndex::open(path)?),
            _ => Index::W4(StaticIndex::open(path)?),
        };
        let prints = with_index!(&index, |index| index.len());
        let fits = if owners.is_empty() {
            prints == items || prints == 0
        } else {
            owners.len() == prints && owners.is_sorted() && owners[prints - 1] < items as u32
        };
        if !fits || with_index!(&index, |index| index.max_radius()) != layout.radius {
            let what = "it is not the file that was written".to_owned();
            return Err(IndexError::Damaged { path: path.into(), what });
        }
        Ok(Self { index, owners })
    }
}

/// Collects the fingerprints of items, in order.
pub struct PrintRows {
    words: usize,
    prints: Vec<u64>,
    owners: Vec<u32>,
    /// Whether some item does not have exactly one fingerprint.
    has_owners: bool,
}

impl PrintRows {
    pub fn new(words: usize) -> Self {
        Self { words, prints: Vec::new(), owners: Vec::new(), has_owners: false }
    }

    pub fn reserve(&mut self, items: usize) {
        self.prints.reserve(items * self.words);
    }

    pub fn push(&mut self, item: u32, prints: impl Iterator<Item = Fingerprint<4>>) {
        let before = self.prints.len();
        prints.for_each(|print| self.prints.extend(&print.0[..self.words]));
        self.own(item, before);
    }

    /// Makes an item the owner of the words from `start` on.
    fn own(&mut self, item: u32, start: usize) {
        let prints = (self.prints.len() - start) / self.words;
        // While each item has exactly one, the position of a fingerprint is that of its item.
        if prints != 1 && !self.has_owners {
            self.owners.extend(0..item);
            self.has_owners = true;
        }
        if self.has_owners {
            self.owners.extend(std::iter::repeat_n(item, prints));
        }
    }

    /// Adds items of another table; the first of them becomes item `start`.
    pub fn extend(&mut self, table: &PrintTable, kept: &[u32], start: u32) {
        self.reserve(kept.len());
        for (item, &from) in (start..).zip(kept) {
            let before = self.prints.len();
            let places = table.places(from);
            with_index!(&table.index, |index| {
                self.prints.extend(bytemuck::cast_slice::<_, u64>(&index.prints()[places]));
            });
            self.own(item, before);
        }
    }

    pub fn finish(self, radius: Radius) -> Result<PrintTable, IndexError> {
        let Self { words, prints, owners, .. } = self;
        let index = match words {
            1 => Index::W1(StaticIndex::build(bytemuck::cast_slice(&prints), radius)?),
            2 => Index::W2(StaticIndex::build(bytemuck::cast_slice(&prints), radius)?),
            _ => Index::W4(StaticIndex::build(bytemuck::cast_slice(&prints), radius)?),
        };
        Ok(PrintTable { index, owners: Array::Owned(owners) })
    }
}
