//! What is kept of all texts?
//!
//! Texts with the same fingerprint and the same set are one *entry*: they are kept once. Entries are
//! numbered in the order in which they first came.

use std::collections::HashMap;

use super::digest::{Digest, Full, Identity};
use crate::{Fingerprint, Resources, overlap::Sets, pairs::PairsError};

/// What is kept of all texts.
///
/// For every text that equals an earlier one 8 bytes; for every other one 8 to 32 bytes of
/// fingerprint, about 60 in tables, and 4 for every feature.
pub(super) struct Store<const WORDS: usize> {
    /// How many texts came.
    pub items: u32,
    /// How many of them were blank, and had too few features.
    pub empty: u32,
    pub short: u32,
    /// The features of all texts, equal ones included.
    pub features: u64,
    /// Every text that equals an earlier one, after the first that it equals.
    pub equal: Vec<(u32, u32)>,
    /// Texts with too few features, the first of each content.
    pub short_firsts: Vec<(u32, Option<Fingerprint<WORDS>>)>,
    /// By entry: the first text, its fingerprint, what its features weigh, and its features.
    pub firsts: Vec<u32>,
    pub prints: Vec<Fingerprint<WORDS>>,
    pub weights: Vec<u32>,
    pub sets: Sets,
    /// First texts by identity: entries, and those with too few features.
    entries: HashMap<Identity, u32>,
    contents: HashMap<Identity, u32>,
}

/// Eighths of the memory limit for feature sets.
const SETS: u64 = 3;

impl<const WORDS: usize> Store<WORDS> {
    pub fn new(resources: &Resources<'_>) -> Self {
        let limit = resources.share(SETS).unwrap_or(u64::MAX);
        Self {
            items: 0,
            empty: 0,
            short: 0,
            features: 0,
            equal: Vec::new(),
            short_firsts: Vec::new(),
            firsts: Vec::new(),
            prints: Vec::new(),
            weights: Vec::new(),
            sets: Sets::new(limit, resources.folder().to_owned()),
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
            Digest::Short { content, print } => {
                self.short += 1;
                let first = *self.contents.entry(content).or_insert(item);
                if first == item {
                    self.short_firsts.push((item, print));
                } else {
                    self.equal.push((first, item));
                }
            }
            Digest::Full(full) => return self.push_full(item, &full),
        }
        Ok(())
    }

    fn push_full(&mut self, item: u32, full: &Full<WORDS>) -> Result<(), PairsError> {
        self.features += full.set.features().len() as u64;
        let first = *self.entries.entry(full.identity).or_insert(item);
        if first != item {
            self.equal.push((first, item));
            return Ok(());
        }
        self.firsts.push(item);
        self.prints.push(full.print);
        self.weights.push(full.set.weight());
        self.sets.push(full.set.features())
    }

    /// No more texts will come.
    pub fn seal(&mut self) -> Result<(), PairsError> {
        self.entries = HashMap::new();
        self.contents = HashMap::new();
        self.sets.seal()
    }
}
