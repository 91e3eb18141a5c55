//! All alike pairs.

use rayon::prelude::*;

use super::{Pairs, Recall, Search, SearchStats, cosine, every, near, overlap};
use crate::{
    Radius,
    alike::{AlikePair, AlikePairs, PackedPair},
    digest::{DigestRef, Digests},
    kind::Lookup,
    pairs::PairsError,
    sorted::{Sorted, Sorter},
};

/// Eighths of the memory limit for pairs that were found; the rest is for digests and indexes.
const FOUND: u64 = 1;

/// Takes pairs of entries that were judged alike, from any thread, in any order.
pub(super) type OnPairs<'a> = &'a (dyn Fn(Vec<AlikePair>) -> Result<(), PairsError> + Sync);

/// Two entries as items, the earlier one first.
fn of_items(pair: AlikePair, digests: &Digests) -> PackedPair {
    let [a, b] = [pair.a, pair.b].map(|entry| digests.item(entry));
    AlikePair { a: a.min(b), b: a.max(b), ..pair }.into()
}

/// How one lookup went.
pub(super) struct Looked {
    pub recall: Recall,
    pub plan: String,
    pub judged: u64,
}

/// Every alike pair.
pub(super) fn find(search: &Search<'_>, digests: &Digests) -> Result<Pairs, PairsError> {
    if let ([Lookup::Near { radius, decides: true, .. }], true) =
        (&search.lookups[..], digests.shape().is_bare)
    {
        return bare(search, digests, *radius);
    }
    let budget = search.resources.budget(FOUND);
    let sorter: Sorter<PackedPair> = Sorter::new(&budget);
    let on_pairs = |pairs: Vec<AlikePair>| {
        sorter.append(&mut pairs.into_iter().map(|pair| of_items(pair, digests)).collect())
    };
    let looked = search
        .lookups
        .iter()
        .map(|lookup| look(search, digests, lookup, &on_pairs))
        .collect::<Result<Vec<_>, _>>()?;
    let in_order = sorter.finish()?;
    let sorted = in_order.spilled();
    // Several lookups may find the same pair.
    let mut last = None;
    let once = |pair: PackedPair| {
        let place = Some((pair.a, pair.b));
        (std::mem::replace(&mut last, place) != place).then_some(pair)
    };
    let near: Sorted<PackedPair> = in_order.into_sorted(&budget, once)?;
    let mut found = found(digests, looked);
    found.spilled += sorted + near.spilled();
    let equals = search.kind.equal(&search.by);
    let pairs = AlikePairs::new(near, digests.equal().to_vec(), equals, budget);
    Ok(Pairs { pairs, found })
}

/// Of bare fingerprints, the engine's answer is the answer.
fn bare(search: &Search<'_>, digests: &Digests, radius: Radius) -> Result<Pairs, PairsError> {
    let (pairs, plan, spilled) = near::bare_pairs(search, digests, radius)?;
    let found = SearchStats { spilled, ..SearchStats::new(digests, Recall::Exact, plan) };
    Ok(Pairs { pairs, found })
}

/// What is to be said of all lookups together.
pub(super) fn found(digests: &Digests, looked: Vec<Looked>) -> SearchStats {
    let judged = looked.iter().map(|looked| looked.judged).sum();
    let plan = looked.iter().map(|looked| looked.plan.as_str()).filter(|plan| !plan.is_empty());
    let plan = plan.collect::<Vec<_>>().join("; ");
    let recall = looked.iter().map(|looked| looked.recall);
    let recall =
        recall.fold(Recall::Exact, |all, one| if all == Recall::Exact { one } else { all });
    SearchStats { judged, ..SearchStats::new(digests, recall, plan) }
}

fn look(
    search: &Search<'_>,
    digests: &Digests,
    lookup: &Lookup,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    match lookup {
        Lookup::Near { radius, decides: true, .. } => {
            near::deciding_pairs(search, digests, *radius, on_pairs)
        }
        Lookup::Near { radius, turned, decides: false } => {
            let entries = digests.comparable();
            let candidates = near::candidates(search, digests, &entries, *radius, *turned)?;
            judge_all(search, digests, &entries, candidates, on_pairs)?;
            let plan = near::plan_words(search, digests, *radius)?;
            Ok(Looked { recall: Recall::Exact, plan, judged: 0 })
        }
        Lookup::Overlap { verify, reach } => {
            overlap::pairs(search, digests, *verify, *reach, on_pairs)
        }
        Lookup::Cosine { similarity } => cosine::pairs(search, digests, *similarity, on_pairs),
        #[cfg(feature = "image")]
        Lookup::Parts(by) => {
            let entries = digests.comparable();
            super::parts::pairs(search, digests, &entries, by, on_pairs)
        }
        #[cfg(not(feature = "image"))]
        Lookup::Parts(_) => Err(PairsError::Cancelled),
        Lookup::Every => every::pairs(search, digests, on_pairs),
    }
}

/// Judges candidates, which are positions in a list of entries.
pub(super) fn judge_all(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    candidates: Vec<(u32, u32)>,
    on_pairs: OnPairs<'_>,
) -> Result<(), PairsError> {
    candidates.par_chunks(TOGETHER).try_for_each(|some| {
        let judged = some.iter().filter_map(|&(a, b)| {
            let [a, b] = [a, b].map(|at| entries[at as usize]);
            search.judged(a, b, digests.at(a), digests.at(b))
        });
        on_pairs(judged.collect())
    })
}

/// Candidates that one thread judges at a time.
const TOGETHER: usize = 1024;

impl Search<'_> {
    /// Two entries, if they are alike.
    pub(super) fn judged(
        &self,
        a: u32,
        b: u32,
        one: DigestRef<'_>,
        two: DigestRef<'_>,
    ) -> Option<AlikePair> {
        Some(AlikePair { a, b, closeness: self.kind.judge(&self.by, one, two)? })
    }
}
