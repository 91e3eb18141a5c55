//! Items of which a fingerprint of one is within a radius of the first one of the other.

use super::{
    Recall, Search,
    pairs::{Looked, OnPairs},
};
use crate::{
    AllPairs, Closeness, Fingerprint, Radius, StaticIndex,
    alike::{AlikePair, AlikePairs},
    digest::{Digests, with_prints},
    index::Search as _,
    pairs::{PairsError, Plan},
};

impl Search<'_> {
    /// The engine's options for this search.
    fn all_pairs(&self, radius: Radius) -> AllPairs<'_> {
        let pairs = AllPairs::new(radius).resources(self.resources.clone());
        match self.by.blocks {
            Some(blocks) => pairs.blocks(blocks),
            None => pairs,
        }
    }
}

/// The pairs of bare fingerprints, how they were found, and how much was written.
pub(super) fn bare_pairs(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
) -> Result<(AlikePairs, String, u64), PairsError> {
    with_prints!(digests.prints(), |held| {
        let found = search.all_pairs(radius).run_stored(held)?;
        Ok((AlikePairs::from(&found), found.plan().to_string(), found.spilled()))
    })
}

/// How pairs would be found, if the fingerprints are in memory.
pub(super) fn plan(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
) -> Result<Option<Plan>, PairsError> {
    with_prints!(digests.prints(), |held| {
        held.in_memory().map(|prints| search.all_pairs(radius).plan(prints)).transpose()
    })
}

/// The same in words.
pub(super) fn plan_words(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
) -> Result<String, PairsError> {
    let entries = digests.comparable();
    with_prints!(digests.prints(), |held| {
        let prints = digests.gather(held, &entries, 0);
        Ok(search.all_pairs(radius).plan(&prints)?.to_string())
    })
}

/// Pairs of entries whose fingerprints decide.
pub(super) fn deciding_pairs(
    search: &Search<'_>,
    digests: &Digests,
    radius: Radius,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    let entries = digests.comparable();
    with_prints!(digests.prints(), |held| {
        let gathered;
        let prints = match held.in_memory() {
            Some(all) if digests.all_comparable() => all,
            _ => {
                gathered = digests.gather(held, &entries, 0);
                &gathered
            }
        };
        let found = search.all_pairs(radius).run(prints)?;
        let mut pairs = Vec::new();
        found.for_each(|pair| {
            let [a, b] = [pair.a, pair.b].map(|at| entries[at as usize]);
            pairs.push(AlikePair { a, b, closeness: Closeness::within(pair.distance) });
        });
        on_pairs(pairs)?;
        Ok(Looked { recall: Recall::Exact, plan: found.plan().to_string(), judged: 0 })
    })
}

/// Positions of entries, the earlier one first, that may be alike. Some are there twice.
pub(super) fn candidates(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    radius: Radius,
    turned: bool,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let mut pairs = Vec::new();
    with_prints!(digests.prints(), |held| {
        let upright = digests.gather(held, entries, 0);
        let found = search.all_pairs(radius).run(&upright)?;
        found.for_each(|pair| pairs.push((pair.a, pair.b)));
        let others = if turned { 1..digests.shape().prints } else { 0..0 };
        if !others.is_empty() {
            let index = build(search, &upright, radius)?;
            for number in others {
                let queries = digests.gather(held, entries, number);
                index.par_search_batch(&queries, radius, |query, found| {
                    let (one, two) = (found.id, query as u32);
                    pairs.extend((one != two).then_some((one.min(two), one.max(two))));
                })?;
            }
        }
        Ok(pairs)
    })
}

/// Entries and keepers that may be alike, by their positions.
pub(super) fn candidates_between(
    search: &Search<'_>,
    digests: &Digests,
    (entries, keepers): (&[u32], &[u32]),
    radius: Radius,
    turned: bool,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let mut pairs = Vec::new();
    with_prints!(digests.prints(), |held| {
        let [own, kept] = [entries, keepers].map(|some| digests.gather(held, some, 0));
        let index = build(search, &kept, radius)?;
        index
            .par_search_batch(&own, radius, |query, found| pairs.push((query as u32, found.id)))?;
        // Turning one is not the same as turning the other back: both are tried.
        for number in if turned { 1..digests.shape().prints } else { 0..0 } {
            let queries = digests.gather(held, entries, number);
            let found =
                |query: usize, found: crate::index::Match| pairs.push((query as u32, found.id));
            index.par_search_batch(&queries, radius, found)?;
            let turned = build(search, &digests.gather(held, keepers, number), radius)?;
            let found =
                |query: usize, found: crate::index::Match| pairs.push((query as u32, found.id));
            turned.par_search_batch(&own, radius, found)?;
        }
        Ok(pairs)
    })
}

fn build<const WORDS: usize>(
    search: &Search<'_>,
    prints: &[Fingerprint<WORDS>],
    radius: Radius,
) -> Result<StaticIndex<WORDS>, PairsError> {
    Ok(StaticIndex::build_with(prints, radius, search.resources.kernel_to_use())?)
}
