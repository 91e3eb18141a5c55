//! The words that are lost if some texts are removed, counted from feature sets without reading texts
//! again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{digest::Digests, pairs::PairsError, verify::TWICE};

/// The number of words of removed texts that no kept text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWords {
    /// The sum of the numbers of distinct words of all removed texts.
    pub removed: u64,
    /// The number of these words that no kept text has.
    pub lost: u64,
}

/// The features that are single words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// All features.
    Every,
    /// The features that count twice.
    Twice,
}

/// A set of words, identified by some bits of their hashes.
struct Words {
    table: Vec<AtomicU64>,
    /// The number of bits of a hash that are distinguished.
    bits: u32,
}

/// The maximum number of distinguished bits of a hash, which takes 16 MB.
const MAX_BITS: u32 = 27;
/// The binary logarithm of the places in the table per possible word.
const ROOM: u32 = 10;

impl Words {
    /// A set for at most this number of words.
    fn new(words: u64) -> Self {
        let bits = (words.max(1).ilog2() + ROOM).min(MAX_BITS);
        Self { table: (0..1 << (bits - 6)).map(|_| AtomicU64::new(0)).collect(), bits }
    }

    /// The word of the table that holds a hash, and its bit there.
    fn place(&self, hash: u32) -> (usize, u64) {
        let place = hash >> (u32::BITS - self.bits);
        ((place >> 6) as usize, 1 << (place & 63))
    }

    fn insert(&self, hash: u32) {
        let (word, bit) = self.place(hash);
        // Most words are present, and a read is cheaper than a write.
        if self.table[word].load(Relaxed) & bit == 0 {
            self.table[word].fetch_or(bit, Relaxed);
        }
    }

    fn contains(&self, hash: u32) -> bool {
        let (word, bit) = self.place(hash);
        self.table[word].load(Relaxed) & bit != 0
    }
}

/// The number of words of the removed texts that no kept text has.
///
/// Takes at most 16 MB. Words are distinguished by 27 bits of their hashes, so some lost ones are missed:
/// about three of a hundred beside four million distinct kept words.
pub(super) fn words(
    digests: &Digests,
    mark: Mark,
    is_removed: &(dyn Fn(u32) -> bool + Sync),
) -> Result<LostWords, PairsError> {
    let mark = if mark == Mark::Twice { TWICE } else { 0 };
    let is_word = |feature: &&u32| **feature & TWICE == mark;
    // The number of removed texts of each entry, and whether all are.
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

/// Calls back with every entry and its set, in any order.
fn for_each_set(digests: &Digests, look: impl Fn(usize, &[u32]) + Sync) -> Result<(), PairsError> {
    for range in digests.sets().blocks() {
        let block = digests.sets().load(range.clone())?;
        range.into_par_iter().with_min_len(64).for_each(|entry| look(entry, block.set(entry)));
    }
    Ok(())
}
