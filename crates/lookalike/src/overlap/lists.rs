//! Which entries have this feature? One list of postings for every slot of features.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::hamming::prefetch;

/// An entry, and what must be true of whoever meets it here.
#[derive(Clone, Copy)]
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
    shift: u32,
    sizes: Vec<AtomicU32>,
}

const MIN_SLOTS: u64 = if cfg!(test) { 4 } else { 1 << 10 };
const POSTINGS_PER_SLOT: u64 = if cfg!(test) { 1 } else { 2 };

impl ListSizes {
    /// For about this many postings.
    pub fn new(postings: u64) -> Self {
        let slots = (postings / POSTINGS_PER_SLOT).clamp(MIN_SLOTS, 1 << 30).next_power_of_two();
        let sizes = std::iter::repeat_with(AtomicU32::default).take(slots as usize).collect();
        Self { shift: 32 - slots.trailing_zeros(), sizes }
    }

    #[inline]
    pub fn add(&self, feature: u32) {
        self.sizes[(feature >> self.shift) as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Lists of postings, each in the order of insertion.
pub(crate) struct Lists {
    shift: u32,
    heads: Vec<Head>,
    postings: Vec<Posting>,
}

#[derive(Clone, Copy)]
struct Head {
    start: u32,
    len: u32,
}

impl Lists {
    /// Empty lists with room for all that was counted: at most [`u32::MAX`] postings.
    pub fn new(sizes: ListSizes) -> Self {
        let mut end = 0u32;
        let head = |size: AtomicU32| {
            let start = end;
            end = end.checked_add(size.into_inner()).expect("a slab holds fewer postings");
            Head { start, len: 0 }
        };
        let heads = sizes.sizes.into_iter().map(head).collect();
        Self { shift: sizes.shift, heads, postings: vec![Posting(0); end as usize] }
    }

    /// Adds a posting; there must be room for it.
    #[inline]
    pub fn push(&mut self, feature: u32, posting: Posting) {
        let head = &mut self.heads[(feature >> self.shift) as usize];
        self.postings[(head.start + head.len) as usize] = posting;
        head.len += 1;
    }

    /// Takes out the last posting of a list.
    #[inline]
    pub fn pop(&mut self, feature: u32) {
        self.heads[(feature >> self.shift) as usize].len -= 1;
    }

    #[inline]
    pub fn prefetch_head(&self, feature: u32) {
        prefetch(self.heads.get((feature >> self.shift) as usize));
    }

    /// Asks for where the postings of entries from `first` on may begin, if there are `entries`.
    #[inline]
    pub fn prefetch_list(&self, feature: u32, first: u32, entries: u32) {
        let Head { start, len } = self.heads[(feature >> self.shift) as usize];
        prefetch(self.postings.get(start as usize + guess(len as usize, first, entries)));
    }

    /// The postings of entries from `first` on, if there are `entries`.
    #[inline]
    pub fn of(&self, feature: u32, first: u32, entries: u32) -> &[Posting] {
        let Head { start, len } = self.heads[(feature >> self.shift) as usize];
        let list = &self.postings[start as usize..(start + len) as usize];
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
