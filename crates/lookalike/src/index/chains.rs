//! Buckets that grow and shrink.
//!
//! A bucket is a chain of [`Line`]s of up to fifteen entries. The first line of bucket `b` is line `b`; others come
//! from one pool for the whole table. Only the first line is ever partly filled: when it is full, it is copied to
//! the pool and emptied; when it becomes empty, the next one is copied back. So an insertion touches one line, and
//! nothing is allocated per bucket.

use std::ops::ControlFlow;

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;

use super::{
    IndexError,
    batch::{Buckets, Test},
    map::map_memory,
};
use crate::hamming::{
    lanes::{LANES, Lanes},
    prefetch,
};

/// The buckets of one table.
pub(super) struct Chains {
    /// Checks if the table has them, otherwise ids. The last number of a line is its [`Link`].
    front: Lines,
    /// The ids of the checks in `front`; `None` if `front` holds ids.
    behind: Option<Lines>,
    /// The first free line of the pool; 0 if there is none.
    free: u32,
}

/// One cache line: up to [`FULL`] entries and a link.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u32; 16]);

/// The maximum number of entries of a line.
const FULL: u32 = 15;

/// The number of entries of a line, and the next line: its number times 16 plus the count. Line 0 is a first line
/// and never a next one, so 0 means none.
#[derive(Clone, Copy)]
struct Link(u32);

impl Link {
    fn new(next: u32, count: u32) -> Self {
        Self(next << 4 | count)
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.0 & 15
    }

    #[inline(always)]
    fn next(self) -> Option<u32> {
        (self.0 >> 4 > 0).then_some(self.0 >> 4)
    }
}

/// The position of an entry: line times 16, plus position in the line.
type Position = u32;

/// Line numbers have 28 bits.
const MAX_LINES: usize = 1 << 28;

impl Chains {
    /// `buckets` empty buckets, with or without checks.
    pub fn new(buckets: usize, checked: bool) -> Result<Self, IndexError> {
        let behind = if checked { Some(Lines::new(buckets)?) } else { None };
        Ok(Self { front: Lines::new(buckets)?, behind, free: 0 })
    }

    /// Bytes in use.
    pub fn memory_bytes(&self) -> usize {
        let lines = self.front.len + self.behind.as_ref().map_or(0, |lines| lines.len);
        lines * size_of::<Line>()
    }

    /// Prefetches the line that an insertion into `bucket` writes.
    #[inline(always)]
    pub fn touch_line(&self, bucket: u32) {
        prefetch(self.front.lines().get(bucket as usize));
        if let Some(behind) = &self.behind {
            prefetch(behind.lines().get(bucket as usize));
        }
    }

    /// Adds an entry to a bucket.
    pub fn insert(&mut self, bucket: u32, check: u32, id: u32) -> Result<(), IndexError> {
        if self.link(bucket).count() == FULL {
            let spare = self.spare_line()?;
            self.copy(bucket, spare);
            self.set_link(bucket, Link::new(spare, 0));
        }
        let link = self.link(bucket);
        self.write(bucket, link.count(), check, id);
        self.set_link(bucket, Link(link.0 + 1));
        Ok(())
    }

    /// Removes the entry with this id from a bucket, if it is there.
    pub fn remove(&mut self, bucket: u32, id: u32) {
        let Some(hole) = self.position(bucket, id) else { return };
        let link = self.link(bucket);
        // The last entry of the first line fills the hole.
        let last = bucket << 4 | (link.count() - 1);
        let (check, id) = (self.check(last), self.id(last));
        self.write(hole >> 4, hole & 15, check, id);
        self.set_link(bucket, Link(link.0 - 1));
        if link.count() == 1
            && let Some(next) = link.next()
        {
            self.copy(next, bucket);
            self.set_link(next, Link::new(self.free, 0));
            self.free = next;
        }
    }

    /// Replaces the id of an entry.
    pub fn rename(&mut self, bucket: u32, from: u32, to: u32) {
        if let Some(position) = self.position(bucket, from) {
            self.write(position >> 4, position & 15, self.check(position), to);
        }
    }

    /// The first id in a bucket that has this check and that `accept` accepts.
    pub fn find(&self, bucket: u32, check: u32, accept: impl Fn(u32) -> bool) -> Option<u32> {
        let checked = self.behind.is_some();
        self.positions(bucket)
            .filter(|&position| !checked || self.check(position) == check)
            .map(|position| self.id(position))
            .find(|&id| accept(id))
    }

    fn position(&self, bucket: u32, id: u32) -> Option<Position> {
        self.positions(bucket).find(|&position| self.id(position) == id)
    }

    /// All entries of a bucket.
    fn positions(&self, bucket: u32) -> impl Iterator<Item = Position> {
        let lines = std::iter::successors(Some(bucket), |&line| self.link(line).next());
        lines.flat_map(|line| (0..self.link(line).count()).map(move |place| line << 4 | place))
    }

    #[inline(always)]
    fn link(&self, line: u32) -> Link {
        Link(self.front.lines()[line as usize].0[15])
    }

    fn set_link(&mut self, line: u32, link: Link) {
        self.front.lines_mut()[line as usize].0[15] = link.0;
    }

    /// The check at a position, or the id again if there are no checks.
    fn check(&self, position: Position) -> u32 {
        self.front.lines()[(position >> 4) as usize].0[position as usize & 15]
    }

    #[inline(always)]
    fn id(&self, position: Position) -> u32 {
        let ids = self.behind.as_ref().unwrap_or(&self.front);
        ids.lines()[(position >> 4) as usize].0[position as usize & 15]
    }

    fn write(&mut self, line: u32, place: u32, check: u32, id: u32) {
        let (line, place) = (line as usize, place as usize);
        match &mut self.behind {
            None => self.front.lines_mut()[line].0[place] = id,
            Some(behind) => {
                self.front.lines_mut()[line].0[place] = check;
                behind.lines_mut()[line].0[place] = id;
            }
        }
    }

    /// Copies a whole line, link included.
    fn copy(&mut self, from: u32, to: u32) {
        for lines in std::iter::once(&mut self.front).chain(&mut self.behind) {
            lines.lines_mut().copy_within(from as usize..from as usize + 1, to as usize);
        }
    }

    /// A line of the pool that is not in use.
    fn spare_line(&mut self) -> Result<u32, IndexError> {
        if self.free > 0 {
            let line = self.free;
            self.free = self.link(line).next().unwrap_or(0);
            return Ok(line);
        }
        for lines in std::iter::once(&mut self.front).chain(&mut self.behind) {
            lines.push()?;
        }
        Ok(self.front.len as u32 - 1)
    }
}

/// A growing array of lines in huge pages.
struct Lines {
    map: MmapMut,
    len: usize,
}

impl Lines {
    fn new(len: usize) -> Result<Self, IndexError> {
        // Reserve a pool twice as long as the first lines: untouched pages take no memory.
        Ok(Self { map: map_memory(3 * len.max(1) * size_of::<Line>())?, len })
    }

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        bytemuck::cast_slice(&self.map[..self.len * size_of::<Line>()])
    }

    fn lines_mut(&mut self) -> &mut [Line] {
        bytemuck::cast_slice_mut(&mut self.map[..self.len * size_of::<Line>()])
    }

    fn push(&mut self) -> Result<(), IndexError> {
        let used = self.len * size_of::<Line>();
        if self.len >= MAX_LINES {
            return Err(IndexError::TooMany { items: self.len * FULL as usize });
        }
        if used == self.map.len() / size_of::<Line>() * size_of::<Line>() {
            let mut larger = map_memory(2 * used)?;
            larger[..used].copy_from_slice(&self.map[..used]);
            self.map = larger;
        }
        self.len += 1;
        Ok(())
    }
}

impl Buckets for &Chains {
    /// The first line.
    type Location = u32;

    #[inline(always)]
    fn touch(self, bucket: u32) {
        prefetch(self.front.lines().get(bucket as usize));
    }

    #[inline(always)]
    fn locate(self, bucket: u32) -> u32 {
        if let Some(next) = self.link(bucket).next() {
            prefetch(self.front.lines().get(next as usize));
        }
        bucket
    }

    #[inline(always)]
    fn scan<L: Lanes, E>(
        self,
        lanes: L,
        bucket: u32,
        test: Option<Test>,
        mut hit: impl FnMut(u32) -> ControlFlow<E>,
    ) -> ControlFlow<E> {
        let lines = self.front.lines();
        let mut at = Some(bucket);
        while let Some(line) = at {
            let entries = &lines[line as usize].0;
            let link = Link(entries[15]);
            at = link.next();
            if let Some(next) = at {
                prefetch(lines.get(next as usize));
            }
            let mut near = (1 << link.count()) - 1;
            if let (Some(test), ([low, high], _)) = (test, entries.as_chunks::<LANES>()) {
                near &= test.near(lanes, low) | test.near(lanes, high) << LANES;
            }
            while near != 0 {
                let place = near.trailing_zeros();
                if let Some(behind) = &self.behind {
                    prefetch(behind.lines().get(line as usize));
                }
                hit(line << 4 | place)?;
                near &= near - 1;
            }
        }
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn id(self, position: u32) -> u32 {
        Chains::id(self, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_hold_what_was_inserted_and_not_removed(
            steps in proptest::collection::vec((0u32..4, 0u32..200, any::<bool>()), 0..600),
            checked: bool,
        ) {
            let mut chains = Chains::new(4, checked).expect("memory for four lines");
            let mut model: Vec<Vec<u32>> = vec![Vec::new(); 4];
            for (bucket, id, insert) in steps {
                let known = model[bucket as usize].iter().position(|&other| other == id);
                match (insert, known) {
                    (true, None) => {
                        chains.insert(bucket, id * 7, id).expect("memory for some lines");
                        model[bucket as usize].push(id);
                    }
                    (false, Some(at)) => {
                        chains.remove(bucket, id);
                        model[bucket as usize].swap_remove(at);
                    }
                    _ => chains.remove(bucket, 1000),
                }
                for (bucket, model) in (0..).zip(&model) {
                    let mut ids: Vec<u32> = chains.positions(bucket).map(|at| chains.id(at)).collect();
                    let checks: Vec<u32> = chains.positions(bucket).map(|at| chains.check(at)).collect();
                    prop_assert!(!checked || ids.iter().map(|id| id * 7).eq(checks));
                    let mut model = model.clone();
                    ids.sort_unstable();
                    model.sort_unstable();
                    prop_assert_eq!(ids, model);
                }
            }
        }
    }

    #[test]
    fn lines_of_emptied_buckets_are_used_again() {
        let mut chains = Chains::new(2, true).expect("memory for two lines");
        let mut longest = 0;
        for round in 0..10 {
            (0..1000)
                .for_each(|id| chains.insert(round % 2, id, id).expect("memory for some lines"));
            (0..1000).for_each(|id| chains.remove(round % 2, id));
            longest = longest.max(chains.front.len);
        }
        assert_eq!(longest, 2 + 1000 / FULL as usize);
    }
}
