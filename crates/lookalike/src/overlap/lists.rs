//! Which entries have this feature? Lists of postings for every slot of features.
//!
//! All lists of a slot lie side by side, so that whoever reads more than one of them waits for memory
//! once.

use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::{Pod, Zeroable};

use crate::{hamming::prefetch, pairs::RecordBuffer};

/// One of the lists of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Short,
    Long,
}

/// Which lists there are.
#[derive(Clone, Copy)]
struct Slots {
    shift: u32,
    /// Lists of each slot: the first one, or both.
    parts: usize,
}

impl Slots {
    #[inline(always)]
    fn list(self, part: Part, feature: u32) -> usize {
        (feature >> self.shift) as usize * self.parts + part as usize
    }
}

/// An entry, and what must be true of whoever meets it here.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Posting(u64);

impl Posting {
    #[inline]
    pub fn new(entry: u32, tag: u32) -> Self {
        Self(u64::from(entry) << 32 | u64::from(tag))
    }

    #[inline]
    pub fn entry(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub fn tag(self) -> u32 {
        self.0 as u32
    }
}

/// How long each list may get. Counted from any thread, before the lists are made.
pub(crate) struct ListSizes {
    slots: Slots,
    sizes: Vec<AtomicU32>,
}

const MIN_SLOTS: u64 = if cfg!(test) { 4 } else { 1 << 10 };
const POSTINGS_PER_SLOT: u64 = if cfg!(test) { 1 } else { 2 };

impl ListSizes {
    /// For about this many postings in the first list of all slots.
    pub fn new(postings: u64, parts: usize) -> Self {
        let slots = (postings / POSTINGS_PER_SLOT).clamp(MIN_SLOTS, 1 << 30).next_power_of_two();
        let lists = slots as usize * parts;
        Self {
            slots: Slots { shift: 32 - slots.trailing_zeros(), parts },
            sizes: std::iter::repeat_with(AtomicU32::default).take(lists).collect(),
        }
    }

    #[inline]
    pub fn add(&self, part: Part, feature: u32) {
        self.sizes[self.slots.list(part, feature)].fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub fn prefetch(&self, part: Part, feature: u32) {
        prefetch(self.sizes.get(self.slots.list(part, feature)));
    }
}

/// Lists of postings, each in the order of insertion.
pub(crate) struct Lists {
    slots: Slots,
    heads: RecordBuffer,
    postings: RecordBuffer,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(8))]
struct Head {
    start: u32,
    len: u32,
}

impl Lists {
    /// Empty lists with room for all that was counted: at most [`u32::MAX`] postings.
    pub fn new(ListSizes { slots, sizes }: ListSizes) -> Self {
        let mut heads = RecordBuffer::default();
        let mut end = 0u32;
        let places: &mut [Head] = bytemuck::cast_slice_mut(heads.at_least(sizes.len()));
        for (head, size) in places.iter_mut().zip(sizes) {
            *head = Head { start: end, len: 0 };
            end = end.checked_add(size.into_inner()).expect("a slab holds fewer postings");
        }
        let mut postings = RecordBuffer::default();
        postings.at_least(end as usize);
        Self { slots, heads, postings }
    }

    #[inline(always)]
    fn heads(&self) -> &[Head] {
        bytemuck::cast_slice(self.heads.all())
    }

    #[inline(always)]
    fn postings(&self) -> &[Posting] {
        bytemuck::cast_slice(self.postings.all())
    }

    /// Adds a posting; there must be room for it.
    #[inline]
    pub fn push(&mut self, part: Part, feature: u32, posting: Posting) {
        let heads: &mut [Head] = bytemuck::cast_slice_mut(self.heads.all_mut());
        let Head { start, len } = &mut heads[self.slots.list(part, feature)];
        self.postings.all_mut()[(*start + *len) as usize] = posting.0;
        *len += 1;
    }

    #[inline]
    pub fn prefetch_head(&self, part: Part, feature: u32) {
        prefetch(self.heads().get(self.slots.list(part, feature)));
    }

    /// Asks for where the next posting of a list will be.
    #[inline]
    pub fn prefetch_end(&self, part: Part, feature: u32) {
        let Head { start, len } = self.heads()[self.slots.list(part, feature)];
        prefetch(self.postings().get((start + len) as usize));
    }

    /// Asks for where the postings of entries from `first` on may begin, if there are `entries`.
    #[inline]
    pub fn prefetch_list(&self, part: Part, feature: u32, first: u32, entries: u32) {
        let Head { start, len } = self.heads()[self.slots.list(part, feature)];
        prefetch(self.postings().get(start as usize + guess(len as usize, first, entries)));
    }

    /// The postings of entries from `first` on, if there are `entries`.
    #[inline]
    pub fn of(&self, part: Part, feature: u32, first: u32, entries: u32) -> &[Posting] {
        let Head { start, len } = self.heads()[self.slots.list(part, feature)];
        let list = &self.postings()[start as usize..(start + len) as usize];
        &list[position(list, first, entries)..]
    }
}

/// Where the postings of entries from `first` on begin, if entries are spread evenly.
#[inline]
fn guess(len: usize, first: u32, entries: u32) -> usize {
    (len as u64 * u64::from(first) / u64::from(entries.max(1))) as usize
}

/// Where the postings of entries from `first` on begin. Entries mostly are spread evenly, so it looks
/// around the guess: a list may be long, and halving it again and again waits for memory each time.
#[inline]
fn position(list: &[Posting], first: u32, entries: u32) -> usize {
    if first == 0 {
        return 0;
    }
    let is_before = |at: usize| list[at].entry() < first;
    let guess = guess(list.len(), first, entries).min(list.len());
    let (mut low, mut high, mut step) = (guess, guess, 4);
    while low > 0 && !is_before(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    while high < list.len() && is_before(high) {
        low = high + 1;
        high = (high + step).min(list.len());
        step *= 2;
    }
    low + list[low..high].partition_point(|posting| posting.entry() < first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_begin_where_a_plain_search_says() {
        let mut seed = 5u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (seed >> 8) % below
        };
        for _ in 0..2000 {
            let entries = 1 + random(300);
            let skewed = 1 + random(entries);
            let mut list: Vec<u32> = (0..random(80)).map(|_| random(skewed)).collect();
            list.sort_unstable();
            list.dedup();
            let list: Vec<Posting> = list.into_iter().map(|entry| Posting::new(entry, 0)).collect();
            let first = random(entries + 1);
            let plain = list.partition_point(|posting| posting.entry() < first);
            assert_eq!(position(&list, first, entries), plain);
        }
    }
}
