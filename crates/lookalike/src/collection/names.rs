//! The ids of the items of a run.
//!
//! [`Names`] holds the ids and sequence numbers of items by their position in the run, and a hash table
//! to look up ids. It is made of flat arrays, which have the same layout in memory and in a mapped file.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::array::{Array, MappedFile};
use crate::{
    hamming::prefetch,
    index::{IndexError, file::Content},
};

/// The hash that an id is looked up by. It is seeded, so that nobody can craft ids that collide.
pub fn hash(id: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(id.as_bytes(), seed)
}

/// Ids and sequence numbers, by position.
pub struct Names {
    sequences: Array<u64>,
    /// The first sequence number if they are consecutive: the others then follow from the position.
    gapless_from: Option<u64>,
    /// Where the ids of each block of 65,536 items start, and where each id ends, counted from there.
    bases: Array<u64>,
    ends: Array<u32>,
    /// For each block, the length of its ids if all have the same length, as UUIDs do: `ends` is then
    /// not read. Otherwise 0.
    even: Vec<u32>,
    ids: Array<u8>,
    /// The hash table: a byte of the hash, or 0 in an empty slot; and the position of the item.
    tags: Array<u8>,
    places: Array<u32>,
}

const BLOCK: usize = 1 << 16;

/// Collects names, item by item.
#[derive(Default)]
pub struct NamesBuilder {
    sequences: Vec<u64>,
    bases: Vec<u64>,
    ends: Vec<u32>,
    ids: Vec<u8>,
    hashes: Vec<u64>,
}

impl NamesBuilder {
    /// Reserves memory for this number of further items and bytes of ids. Memory that grows step by
    /// step is copied, and so paid for, several times.
    pub fn reserve(&mut self, items: usize, bytes: usize) {
        self.sequences.reserve(items);
        self.ends.reserve(items);
        self.ids.reserve(bytes);
        self.hashes.reserve(items);
    }

    /// Adds an item.
    pub fn push(&mut self, id: &str, hash: u64, sequence: u64) {
        let item = self.sequences.len();
        if item.is_multiple_of(BLOCK) {
            self.bases.push(self.ids.len() as u64);
        }
        self.ids.extend(id.as_bytes());
        // Fits into 32 bits: a block has at most 65,536 ids of less than 32 KiB each.
        self.ends.push((self.ids.len() as u64 - self.bases[item / BLOCK]) as u32);
        self.sequences.push(sequence);
        self.hashes.push(hash);
    }

    pub fn finish(self) -> Names {
        let Self { sequences, bases, ends, ids, hashes } = self;
        let (tags, places) = table(&hashes);
        Names {
            gapless_from: gapless_from(&sequences),
            sequences: Array::Owned(sequences),
            bases: Array::Owned(bases),
            even: even_lengths(&ends),
            ends: Array::Owned(ends),
            ids: Array::Owned(ids),
            tags: Array::Owned(tags),
            places: Array::Owned(places),
        }
    }
}

/// The length of the ids of each block, or 0 if the lengths differ.
fn even_lengths(ends: &[u32]) -> Vec<u32> {
    let length = |block: &[u32]| {
        let length = block[0];
        let is_even = (1..).zip(block).all(|(ids, &end)| length.checked_mul(ids) == Some(end));
        if is_even { length } else { 0 }
    };
    ends.chunks(BLOCK).map(length).collect()
}

fn gapless_from(sequences: &[u64]) -> Option<u64> {
    let first = *sequences.first()?;
    let follows = |(at, sequence): (usize, &u64)| sequence.checked_sub(first) == Some(at as u64);
    sequences.iter().enumerate().all(follows).then_some(first)
}

/// Builds a hash table with three quarters of its slots in use.
fn table(hashes: &[u64]) -> (Vec<u8>, Vec<u32>) {
    let slots = hashes.len() * 4 / 3 + 1;
    let (mut tags, mut places) = (vec![0; slots], vec![0; slots]);
    for (item, &hash) in hashes.iter().enumerate() {
        let mut slot = first_slot(hash, slots);
        while tags[slot] != 0 {
            slot = next_slot(slot, slots);
        }
        tags[slot] = tag(hash);
        places[slot] = item as u32;
    }
    (tags, places)
}

/// The hash scaled to the number of slots.
#[inline]
fn first_slot(hash: u64, slots: usize) -> usize {
    ((u128::from(hash) * slots as u128) >> 64) as usize
}

#[inline]
fn next_slot(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// The lowest byte of the hash, but never 0.
#[inline]
fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

impl Names {
    /// The number of items.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    #[inline]
    pub fn sequence(&self, item: u32) -> u64 {
        match self.gapless_from {
            Some(first) => first + u64::from(item),
            None => self.sequences[item as usize],
        }
    }

    /// The item with this sequence number.
    pub fn with_sequence(&self, sequence: u64) -> Option<u32> {
        self.sequences.binary_search(&sequence).ok().map(|item| item as u32)
    }

    pub fn id(&self, item: u32) -> &str {
        self.id_at(self.id_range(item))
    }

    /// Prefetches the end of an id, or the id itself if its range is known.
    #[inline]
    pub fn touch(&self, item: u32) {
        match self.even_range(item) {
            Some(range) => self.touch_id(&range),
            None => prefetch(self.ends.get(item as usize)),
        }
    }

    /// Prefetches the id at a range returned by [`id_range`](Self::id_range).
    #[inline]
    pub fn touch_id(&self, range: &Range<usize>) {
        prefetch(self.ids.get(range.start));
    }

    /// The range of an id in the bytes of all ids. Finding the range and reading the id are two memory
    /// accesses; a caller that needs many ids prefetches all of them first.
    #[inline]
    pub fn id_range(&self, item: u32) -> Range<usize> {
        if let Some(range) = self.even_range(item) {
            return range;
        }
        let item = item as usize;
        let base = self.bases[item / BLOCK];
        let start = if item.is_multiple_of(BLOCK) { 0 } else { self.ends[item - 1] };
        (base + u64::from(start)) as usize..(base + u64::from(self.ends[item])) as usize
    }

    /// The range of an id in a block whose ids all have the same length.
    #[inline]
    fn even_range(&self, item: u32) -> Option<Range<usize>> {
        let (block, place) = (item as usize / BLOCK, item as usize % BLOCK);
        let length = self.even[block] as usize;
        let start = self.bases[block] as usize + place * length;
        (length > 0).then_some(start..start + length)
    }

    /// The id at a range returned by [`id_range`](Self::id_range).
    #[inline]
    pub fn id_at(&self, range: Range<usize>) -> &str {
        // Ids are valid UTF-8 when they are added, and a mapped file was checked against its checksum.
        self.ids.get(range).and_then(|id| str::from_utf8(id).ok()).unwrap_or_default()
    }

    /// The item with this id; `hash` is the hash of the id.
    pub fn find(&self, id: &str, hash: u64) -> Option<u32> {
        let slots = self.tags.len();
        let mut slot = first_slot(hash, slots);
        for _ in 0..slots {
            match self.tags[slot] {
                0 => return None,
                found if found == tag(hash) && self.id(self.places[slot]) == id => {
                    return Some(self.places[slot]);
                }
                _ => slot = next_slot(slot, slots),
            }
        }
        None
    }

    /// The size of all ids in bytes.
    pub fn id_bytes(&self) -> usize {
        self.ids.len()
    }

    /// The size in bytes, in memory or in the mapped file.
    pub fn memory_bytes(&self) -> usize {
        self.sections().iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// The sections written to the file of the run.
    pub fn sections(&self) -> Vec<(Content, &[u8])> {
        vec![
            (Content::Sequences, self.sequences.bytes()),
            (Content::NameBases, self.bases.bytes()),
            (Content::NameEnds, self.ends.bytes()),
            (Content::Names, self.ids.bytes()),
            (Content::Tags, self.tags.bytes()),
            (Content::Places, self.places.bytes()),
        ]
    }

    /// Reads the sections written by [`sections`](Self::sections).
    pub fn open(file: &MappedFile<'_>) -> Result<Self, IndexError> {
        let sequences: Array<u64> = file.array(Content::Sequences)?;
        let ends: Array<u32> = file.array(Content::NameEnds)?;
        let names = Self {
            gapless_from: gapless_from(&sequences),
            sequences,
            bases: file.array(Content::NameBases)?,
            even: even_lengths(&ends),
            ends,
            ids: file.array(Content::Names)?,
            tags: file.array(Content::Tags)?,
            places: file.array(Content::Places)?,
        };
        if names.fit() {
            return Ok(names);
        }
        Err(file.damaged("the sizes of the sections do not match the number of items"))
    }

    /// Whether all positions are inside the arrays. As the checksums agree, only a file from another
    /// program could have others.
    fn fit(&self) -> bool {
        let items = self.len();
        self.ends.len() == items
            && self.bases.len() == items.div_ceil(BLOCK)
            && self.bases.iter().all(|&base| base <= self.ids.len() as u64)
            && !self.tags.is_empty()
            && self.tags.len() == self.places.len()
            && (items == 0 || self.places.iter().all(|&place| (place as usize) < items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found() {
        let ids: Vec<String> = (0..70_000).map(|item| format!("item {item}")).collect();
        let mut builder = NamesBuilder::default();
        for (item, id) in ids.iter().enumerate() {
            builder.push(id, hash(id, 3), 10 + 2 * item as u64);
        }
        let names = builder.finish();
        for (item, id) in ids.iter().enumerate() {
            assert_eq!(names.find(id, hash(id, 3)), Some(item as u32));
            assert_eq!(names.id(item as u32), id);
            assert_eq!(names.with_sequence(10 + 2 * item as u64), Some(item as u32));
        }
        assert_eq!(names.find("item 70000", hash("item 70000", 3)), None);
        assert_eq!(names.with_sequence(11), None);
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let names = NamesBuilder::default().finish();
        assert_eq!((names.len(), names.find("a", 1)), (0, None));
    }
}
