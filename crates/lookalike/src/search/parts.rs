//! Items that share enough parts.

use super::{
    Recall, Search,
    pairs::{Looked, OnPairs},
};
use crate::{
    digest::Digests,
    fragments::{FragmentSearch, Fragments},
    pairs::PairsError,
};

/// Pairs among some entries.
pub(super) fn pairs(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    by: &FragmentSearch,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    let judge = |a: u32, b: u32| {
        let [a, b] = [a, b].map(|at| entries[at as usize]);
        search.judged(a, b, digests.at(a), digests.at(b))
    };
    on_pairs(held(search, digests, entries).sharing(by, search.resources, judge)?)?;
    Ok(looked())
}

/// What is to be said of a search by parts.
pub(super) fn looked() -> Looked {
    let plan = "parts by votes of fragments".to_owned();
    Looked { recall: Recall::OF_PARTS, plan, judged: 0 }
}

/// Positions of entries, the earlier one first, that share enough parts.
pub(super) fn candidates(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    by: &FragmentSearch,
) -> Result<Vec<(u32, u32)>, PairsError> {
    held(search, digests, entries).sharing(by, search.resources, |a, b| Some((a, b)))
}

/// Entries and keepers that share enough parts, by their positions.
pub(super) fn candidates_between(
    search: &Search<'_>,
    digests: &Digests,
    (entries, keepers): (&[u32], &[u32]),
    by: &FragmentSearch,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let kept = held(search, digests, keepers);
    held(search, digests, entries).sharing_with(&kept, by, search.resources)
}

/// The parts of some entries, but for those of the background.
fn held(search: &Search<'_>, digests: &Digests, entries: &[u32]) -> Fragments {
    let mut all = Fragments::new();
    for &entry in entries {
        let prints = digests.at(entry).parts().iter().map(|part| part.print);
        all.push(prints.filter(|print| !search.by.background.contains(print)));
    }
    all
}
