//! What is kept of all texts?
//!
//! Texts that cannot be told apart are one *entry*: its fingerprints, its weight and its set are
//! kept once. Entries are numbered in the order in which they first came.

use std::collections::HashMap;

use super::{
    SETS, TextSearch,
    digest::{Digest, Full, Second},
    sets::Sets,
};
use crate::{Fingerprint, pairs::PairsError};

/// What is kept of all texts.
///
/// For every text that equals an earlier one 8 bytes; for every other one 16 to 48 bytes of
/// fingerprints, about 40 in tables, and 4 for every feature.
pub(super) struct Store<const WORDS: usize> {
    /// How many texts came.
    pub items: u32,
    /// How many of them were blank, and had too few features.
    pub empty: u32,
    pub short: u32,
    /// Every text that equals an earlier one, after the first that it equals.
    pub equal: Vec<(u32, u32)>,
    /// By entry: the first text, its fingerprints, what its features weigh, and its features.
    pub firsts: Vec<u32>,
    pub prints: Vec<Fingerprint<WORDS>>,
    pub seconds: Vec<Second>,
    pub weights: Vec<u32>,
    pub sets: Sets,
    /// Entries by identity, and first texts by hash of content.
    entries: HashMap<u64, u32>,
    contents: HashMap<u64, u32>,
}

impl<const WORDS: usize> Store<WORDS> {
    pub fn new(search: &TextSearch) -> Self {
        let limit = search.share(SETS).unwrap_or(u64::MAX);
        Self {
            items: 0,
            empty: 0,
            short: 0,
            equal: Vec::new(),
            firsts: Vec::new(),
            prints: Vec::new(),
            seconds: Vec::new(),
            weights: Vec::new(),
            sets: Sets::new(limit, search.folder()),
            entries: HashMap::new(),
            contents: HashMap::new(),
        }
    }

    /// Adds a text, which takes the next number.
    pub fn push(&mut self, digest: Digest<WORDS>) -> Result<(), PairsError> {
        let item = self.items;
        self.items = item.checked_add(1).ok_or(PairsError::TooMany { items: 1 << 32 })?;
        match digest {
            Digest::Empty => self.empty += 1,
            Digest::Short(content) => {
                self.short += 1;
                let first = *self.contents.entry(content).or_insert(item);
                if first != item {
                    self.equal.push((first, item));
                }
            }
            Digest::Full(full) => return self.push_full(item, full),
        }
        Ok(())
    }

    fn push_full(&mut self, item: u32, full: Full<WORDS>) -> Result<(), PairsError> {
        let key = full.print.0.iter().fold(full.identity, |key, word| key.rotate_left(23) ^ word);
        let next = self.firsts.len() as u32;
        let entry = *self.entries.entry(key).or_insert(next);
        if entry < next && self.equals(entry, &full) {
            self.equal.push((self.firsts[entry as usize], item));
            return Ok(());
        }
        self.firsts.push(item);
        self.prints.push(full.print);
        self.seconds.push(full.second);
        self.weights.push(full.set.weight());
        self.sets.push(full.set.features())
    }

    /// Whether a text cannot be told from an entry that has the same key.
    fn equals(&self, entry: u32, full: &Full<WORDS>) -> bool {
        let entry = entry as usize;
        self.prints[entry] == full.print
            && self.seconds[entry] == full.second
            && self.weights[entry] == full.set.weight()
    }

    /// No more texts will come.
    pub fn seal(&mut self) -> Result<(), PairsError> {
        self.entries = HashMap::new();
        self.contents = HashMap::new();
        self.sets.seal()
    }
}
