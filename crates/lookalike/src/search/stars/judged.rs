//! Items whose candidates are found by lookups, and judged.

use rayon::prelude::*;

use super::{Alike, expected_pairs, first_in_growing_slabs};
use crate::{
    Resources,
    alike::{AlikePair, AlikePairs, Nearest},
    digest::Digests,
    kind::Lookup,
    pairs::PairsError,
    search::{Recall, Search, cosine, near, pairs::Looked},
};

/// Entries of digests.
pub(super) struct Judged<'a> {
    pub search: &'a Search<'a>,
    pub digests: &'a Digests,
}

/// Entries of which the pairs are counted, to estimate how many there are of all.
const SAMPLE: usize = if cfg!(test) { 16 } else { 1024 };

/// What indexes take for a keeper: one of its fingerprint, or of all in eight orientations, and one
/// of its parts.
const KEEPER_BYTES: usize = 8 * 96;
const KEEPER_PARTS_BYTES: usize = 160 * 72;

/// Entries that are compared with a slab of keepers at once: candidates lie in memory.
const AT_ONCE: usize = 4096;

impl Judged<'_> {
    /// What is to be said of the search.
    pub fn looked(&self) -> Result<Looked, PairsError> {
        let mut all = Looked { recall: Recall::Exact, plan: String::new(), judged: 0 };
        for lookup in &self.search.lookups {
            let looked = self.looked_by(lookup)?;
            if all.recall == Recall::Exact {
                all.recall = looked.recall;
            }
            let separator = if all.plan.is_empty() || looked.plan.is_empty() { "" } else { "; " };
            all.plan += &format!("{separator}{}", looked.plan);
        }
        Ok(all)
    }

    fn looked_by(&self, lookup: &Lookup) -> Result<Looked, PairsError> {
        let exact = |plan| Looked { recall: Recall::Exact, plan, judged: 0 };
        Ok(match lookup {
            Lookup::Near { radius, .. } => {
                exact(near::plan_words(self.search, self.digests, *radius)?)
            }
            Lookup::Cosine { similarity } => {
                exact(cosine::plan_words(self.search, self.digests, *similarity))
            }
            #[cfg(feature = "image")]
            Lookup::Parts(_) => crate::search::parts::looked(),
            _ => exact(String::new()),
        })
    }

    /// Positions of entries that may be alike, each pair once, in order.
    fn candidates(
        &self,
        look: impl Fn(&Lookup) -> Result<Vec<(u32, u32)>, PairsError>,
    ) -> Result<Vec<(u32, u32)>, PairsError> {
        let mut candidates = Vec::new();
        for lookup in &self.search.lookups {
            candidates.append(&mut look(lookup)?);
        }
        candidates.par_sort_unstable();
        candidates.dedup();
        Ok(candidates)
    }

    fn find(&self, entries: &[u32]) -> Result<Vec<AlikePair>, PairsError> {
        let Self { search, digests } = self;
        let candidates = self.candidates(|lookup| match lookup {
            Lookup::Near { radius, turned, .. } => {
                near::candidates(search, digests, entries, *radius, *turned)
            }
            Lookup::Cosine { similarity } => {
                cosine::candidates(search, digests, entries, *similarity)
            }
            #[cfg(feature = "image")]
            Lookup::Parts(by) => crate::search::parts::candidates(search, digests, entries, by),
            _ => Ok(every(entries.len(), entries.len())),
        })?;
        let judge = |(a, b): (u32, u32)| {
            let [one, two] = [a, b].map(|at| digests.at(entries[at as usize]));
            search.judged(a, b, one, two)
        };
        Ok(candidates.into_par_iter().filter_map(judge).collect())
    }

    /// By entry, the first of a slab of keepers that it is alike.
    fn first_of_slab(
        &self,
        slab: &[u32],
        entries: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let Self { search, digests } = self;
        let candidates = self.candidates(|lookup| match lookup {
            Lookup::Near { radius, turned, .. } => {
                near::candidates_between(search, digests, (entries, slab), *radius, *turned)
            }
            Lookup::Cosine { similarity } => {
                cosine::candidates_between(search, digests, (entries, slab), *similarity)
            }
            #[cfg(feature = "image")]
            Lookup::Parts(by) => {
                crate::search::parts::candidates_between(search, digests, (entries, slab), by)
            }
            _ => Ok(every(entries.len(), slab.len())),
        })?;
        let first = |candidates: &[(u32, u32)]| {
            let nearest = candidates.iter().find_map(|&(entry, keeper)| {
                let (entry, keeper) = (entries[entry as usize], slab[keeper as usize]);
                let (one, two) = (digests.at(entry), digests.at(keeper));
                let AlikePair { closeness, .. } = search.judged(entry, keeper, one, two)?;
                Some(Nearest { keeper, closeness })
            });
            (candidates[0].0, nearest)
        };
        let by_entry: Vec<&[(u32, u32)]> = candidates.chunk_by(|one, two| one.0 == two.0).collect();
        let mut nearest = vec![None; entries.len()];
        for (entry, found) in by_entry.into_par_iter().map(first).collect::<Vec<_>>() {
            nearest[entry as usize] = found;
        }
        Ok(nearest)
    }
}

/// Every one of some, with every one of others.
fn every(ones: usize, others: usize) -> Vec<(u32, u32)> {
    let pairs = |one: u32| (0..others as u32).map(move |other| (one, other));
    (0..ones as u32).flat_map(pairs).collect()
}

impl Alike for Judged<'_> {
    fn count(&self) -> usize {
        self.digests.entries() as usize
    }

    fn expected_pairs(&self, items: &[u32]) -> Result<f64, PairsError> {
        let quietly = Resources::new();
        let search = Search::new(self.search.kind, &self.search.by, &quietly);
        let judged = Judged { search: &search, digests: self.digests };
        expected_pairs(items, SAMPLE, |sample| Ok(judged.find(sample)?.len() as u64))
    }

    fn pairs(&self, items: &[u32]) -> Result<AlikePairs, PairsError> {
        Ok(AlikePairs::from_pairs(self.find(items)?))
    }

    fn first_alike(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let Self { search, .. } = self;
        let has_parts = search.lookups.iter().any(|lookup| matches!(lookup, Lookup::Parts(_)));
        let bytes = KEEPER_BYTES + if has_parts { KEEPER_PARTS_BYTES } else { 0 };
        first_in_growing_slabs(keepers, items.len(), bytes, search.resources, |slab, waiting| {
            let mut nearest = Vec::with_capacity(waiting.len());
            // Candidates of vectors are judged where they are found: few remain.
            let is_judged = matches!(search.lookups[..], [Lookup::Cosine { .. }]);
            let at_once = if is_judged { waiting.len().max(1) } else { AT_ONCE };
            for waiting in waiting.chunks(at_once) {
                let some: Vec<u32> = waiting.iter().map(|&at| items[at]).collect();
                nearest.append(&mut self.first_of_slab(slab, &some)?);
            }
            Ok(nearest)
        })
    }
}
