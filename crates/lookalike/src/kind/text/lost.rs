//! How much is lost if some texts are removed? The words that no kept text has, counted from feature
//! sets, without reading a text again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{Digests, PairsError, verify::TWICE};

/// How many words of removed texts no kept text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWords {
    /// The different words of every removed text, added up.
    pub removed: u64,
    /// Those of them that no kept text has.
    pub lost: u64,
}

/// Which features are single words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// All of them.
    Every,
    /// Those that count twice.
    Twice,
}

/// Words, each known by some bits of its hash.
struct Words {
    table: Vec<AtomicU64>,
    /// How many bits of a hash are told apart.
    bits: u32,
}

/// The most bits of a hash that are told apart: 16 MB of them.
const MOST_BITS: u32 = 27;
/// Places in the table for every word there may be, as a power of two.
const ROOM: u32 = 10;

impl Words {
    /// For at most so many words.
    fn new(words: u64) -> Self {
        let bits = (words.max(1).ilog2() + ROOM).min(MOST_BITS);
        Self { table: (0..1 << (bits - 6)).map(|_| AtomicU64::new(0)).collect(), bits }
    }

    /// The word of the table that holds a hash, and its bit there.
    fn place(&self, hash: u32) -> (usize, u64) {
        let place = hash >> (u32::BITS - self.bits);
        ((place >> 6) as usize, 1 << (place & 63))
    }

    fn insert(&self, hash: u32) {
        let (word, bit) = self.place(hash);
        // Most are there: a look is cheaper than a write.
        if self.table[word].load(Relaxed) & bit == 0 {
            self.table[word].fetch_or(bit, Relaxed);
        }
    }

    fn contains(&self, hash: u32) -> bool {
        let (word, bit) = self.place(hash);
        self.table[word].load(Relaxed) & bit != 0
    }
}

/// How many words of the removed texts no kept text has.
///
/// Takes at most 16 MB. Words are told apart by 27 bits of their hashes, so some lost ones are missed:
/// of a hundred, about three beside four million different kept words.
pub(super) fn words(
    digests: &Digests,
    mark: Mark,
    is_removed: &(dyn Fn(u32) -> bool + Sync),
) -> Result<LostWords, PairsError> {
    let mark = if mark == Mark::Twice { TWICE } else { 0 };
    let is_word = |feature: &&u32| **feature & TWICE == mark;
    // By entry: how many of its texts are removed, and whether all are.
    let mut removed: Vec<u32> =
        digests.firsts().iter().map(|&one| is_removed(one).into()).collect();
    let mut is_lost: Vec<bool> = removed.iter().map(|&count| count > 0).collect();
    for &(first, item) in digests.equal() {
        if let Ok(entry) = digests.firsts().binary_search(&first) {
            removed[entry] += u32::from(is_removed(item));
            is_lost[entry] &= is_removed(item);
        }
    }
    let kept = Words::new(digests.sets().total());
    for_each_set(digests, |entry, set| {
        if !is_lost[entry] {
            set.iter().filter(is_word).for_each(|&word| kept.insert(word));
        }
    })?;
    let [all, lost] = [AtomicU64::new(0), AtomicU64::new(0)];
    for_each_set(digests, |entry, set| {
        if removed[entry] > 0 {
            let words = set.iter().filter(is_word);
            let count = words.clone().count() as u64;
            all.fetch_add(count * u64::from(removed[entry]), Relaxed);
            let missing = words.filter(|&&word| is_lost[entry] && !kept.contains(word)).count();
            lost.fetch_add(missing as u64 * u64::from(removed[entry]), Relaxed);
        }
    })?;
    Ok(LostWords { removed: all.into_inner(), lost: lost.into_inner() })
}

/// Shows every entry and its set, in no order.
fn for_each_set(digests: &Digests, look: impl Fn(usize, &[u32]) + Sync) -> Result<(), PairsError> {
    for range in digests.sets().blocks() {
        let block = digests.sets().load(range.clone())?;
        range.into_par_iter().with_min_len(64).for_each(|entry| look(entry, block.set(entry)));
    }
    Ok(())
}
