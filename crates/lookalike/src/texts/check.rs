//! Which candidates are alike?
//!
//! Cheap tests first, at once: the second fingerprint, and sizes that rule it out. What passes waits
//! until there is enough of it to fetch sets for.

use super::{TextSearch, store::Store};
use crate::{AlikePair, Kernel, Pair, PairsError, Verify, verify::Set};

/// Takes candidates, by entry, and keeps the alike ones.
pub(super) struct Check<'a, const WORDS: usize> {
    store: &'a Store<WORDS>,
    verify: Verify,
    second_radius: u32,
    kernel: Kernel,
    waiting: Vec<Pair>,
    alike: Vec<AlikePair>,
    tested: u64,
    /// How many pairs may wait.
    most: usize,
}

impl<'a, const WORDS: usize> Check<'a, WORDS> {
    pub fn new(search: &TextSearch, verify: Verify, store: &'a Store<WORDS>) -> Self {
        // An eighth of the memory: what waits is sorted, and what is found lies beside it.
        let most = search.memory.map_or(1 << 24, |memory| memory / 8 / size_of::<Pair>() as u64);
        Self {
            store,
            verify,
            second_radius: verify.second_radius(),
            kernel: search.kernel,
            waiting: Vec::new(),
            alike: Vec::new(),
            tested: 0,
            most: (most as usize).clamp(1 << 10, 1 << 24),
        }
    }

    /// Whether two entries can be alike, by what is known without their sets.
    #[inline]
    pub fn can_be(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a as usize, b as usize];
        let distance = self.store.seconds[a].distance(&self.store.seconds[b]);
        distance <= self.second_radius && {
            let [a, b] = [self.store.weights[a], self.store.weights[b]];
            a.max(b) <= self.verify.heaviest_partner(a.min(b))
        }
    }

    /// Adds pairs that can be alike. A pair may come again later, but not among the same `pairs`.
    pub fn push(&mut self, pairs: Vec<Pair>) -> Result<(), PairsError> {
        if self.waiting.is_empty() {
            self.waiting = pairs;
        } else {
            self.waiting.extend(pairs);
        }
        if self.waiting.len() >= self.most { self.test() } else { Ok(()) }
    }

    fn test(&mut self) -> Result<(), PairsError> {
        let (verify, kernel, weights) = (self.verify, self.kernel, &self.store.weights);
        let pairs = std::mem::take(&mut self.waiting);
        self.tested += pairs.len() as u64;
        let test = |pair: Pair, a: &[u32], b: &[u32]| {
            let Pair { a: one, b: two, distance } = pair;
            let a = Set { features: a, weight: weights[one as usize] };
            let b = Set { features: b, weight: weights[two as usize] };
            let similarity = Some(verify.enough(a, b, kernel)?);
            Some(AlikePair { a: one, b: two, distance, similarity })
        };
        self.alike.extend(self.store.sets.test_pairs(pairs, test)?);
        Ok(())
    }

    /// The alike pairs, in order and each once, and how many pairs' sets were compared.
    pub fn finish(mut self) -> Result<(Vec<AlikePair>, u64), PairsError> {
        self.test()?;
        self.alike.sort_unstable_by_key(|pair| (pair.a, pair.b));
        self.alike.dedup_by_key(|pair| (pair.a, pair.b));
        Ok((self.alike, self.tested))
    }
}
