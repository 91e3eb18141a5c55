//! Finds vectors whose cosine is large enough. Candidates are judged as they are found.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    Recall, Search,
    pairs::{Looked, OnPairs},
};
use crate::{
    alike::AlikePair,
    cosine::{Columns, Filter, Vector, among, between, least},
    digest::Digests,
    pairs::PairsError,
    verify::Similarity,
};

/// Passes every matching pair to `on_pairs`.
pub(super) fn pairs(
    search: &Search<'_>,
    digests: &Digests,
    similarity: Similarity,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    let entries: Vec<u32> = (0..digests.entries()).collect();
    let plan = join(search, digests, &entries, similarity, &|pairs| on_pairs(pairs))?;
    Ok(Looked { recall: Recall::Exact, plan, judged: 0 })
}

/// The positions of matching entries, the earlier one first.
pub(super) fn candidates(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    similarity: Similarity,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let found = Mutex::new(Vec::new());
    let place = places(entries);
    join(search, digests, entries, similarity, &|pairs| {
        let at = |pair: &AlikePair| {
            let (one, two) = (place[&pair.a], place[&pair.b]);
            (one.min(two), one.max(two))
        };
        lock(&found).extend(pairs.iter().map(at));
        Ok(())
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The positions of matching entries and keepers.
pub(super) fn candidates_between(
    search: &Search<'_>,
    digests: &Digests,
    (entries, keepers): (&[u32], &[u32]),
    similarity: Similarity,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let (kernel, least) = (search.resources.kernel_to_use(), least(similarity.get()));
    let found = Mutex::new(Vec::new());
    let keepers = by_dimensions(digests, keepers);
    for (dimensions, rows) in by_dimensions(digests, entries) {
        let Some(columns) = keepers.get(&dimensions) else { continue };
        let vectors = |some: &'_ [(u32, u32)]| {
            let entries: Vec<u32> = some.iter().map(|(_, entry)| *entry).collect();
            move |at: usize| vector(digests, entries[at])
        };
        let (one, two) = (vectors(&rows), vectors(columns));
        let pairs = rows.len() as f64 * columns.len() as f64;
        let filter = Filter::new(columns.len(), &two, pairs, least, kernel);
        let kept = Columns::of(&filter.codes(columns.len(), &two, kernel));
        let codes = filter.codes(rows.len(), &one, kernel);
        between(&codes, kept.panels(), filter.threshold(), kernel, &|candidates| {
            let judged = candidates.iter().filter_map(|&(row, column)| {
                let ((at, entry), (keeper_at, keeper)) =
                    (rows[row as usize], columns[column as usize]);
                let [one, two] = [entry, keeper].map(|entry| digests.at(entry));
                search.judged(entry, keeper, one, two).map(|_| (at, keeper_at))
            });
            let judged: Vec<_> = judged.collect();
            lock(&found).extend(judged);
            Ok::<(), PairsError>(())
        })?;
    }
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// How candidates are found among all vectors, in words.
pub(super) fn plan_words(search: &Search<'_>, digests: &Digests, similarity: Similarity) -> String {
    let entries: Vec<u32> = (0..digests.entries()).collect();
    let filters = by_dimensions(digests, &entries).into_values().map(|some| {
        let some: Vec<u32> = some.into_iter().map(|(_, entry)| entry).collect();
        filter(search, digests, &some, similarity).plan()
    });
    filters.collect::<Vec<_>>().join("; ")
}

/// The number of vectors whose pairs are counted for an estimate.
const SAMPLE: usize = 4096;

/// An estimate of the number of matching pairs of different entries.
pub(super) fn expected_pairs(
    search: &Search<'_>,
    digests: &Digests,
    similarity: Similarity,
) -> Result<u64, PairsError> {
    let entries = digests.entries() as usize;
    let step = entries.div_ceil(SAMPLE).max(1);
    let sample: Vec<u32> = (0..digests.entries()).step_by(step).collect();
    let quiet = crate::Resources::new().kernel(search.resources.kernel_to_use());
    let search = Search::new(search.kind, &search.by, &quiet);
    let found = candidates(&search, digests, &sample, similarity)?.len() as f64;
    Ok((found * (entries as f64 / sample.len().max(1) as f64).powi(2)) as u64)
}

/// Passes all matching pairs of entries to `on_pairs`. Returns how candidates were found, in words.
fn join(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    similarity: Similarity,
    on_pairs: OnPairs<'_>,
) -> Result<String, PairsError> {
    let kernel = search.resources.kernel_to_use();
    let mut plans = Vec::new();
    let done = AtomicUsize::new(0);
    for some in by_dimensions(digests, entries).into_values() {
        let some: Vec<u32> = some.into_iter().map(|(_, entry)| entry).collect();
        let filter = filter(search, digests, &some, similarity);
        let codes = filter.codes(some.len(), &|at: usize| vector(digests, some[at]), kernel);
        let on_candidates = |candidates: &[(u32, u32)]| {
            let judged = candidates.iter().filter_map(|&(one, two)| {
                let [a, b] = [one, two].map(|at| some[at as usize]);
                search.judged(a, b, digests.at(a), digests.at(b))
            });
            on_pairs(judged.collect())
        };
        let on_rows = |rows: usize| {
            let done = done.fetch_add(rows, Ordering::Relaxed) + rows;
            // Later rows have fewer columns.
            let left = 1.0 - done as f64 / entries.len() as f64;
            search.resources.report(1.0 - left * left);
        };
        among(&codes, filter.threshold(), kernel, &on_candidates, &on_rows)?;
        plans.push(filter.plan());
    }
    Ok(plans.join("; "))
}

fn filter(
    search: &Search<'_>,
    digests: &Digests,
    entries: &[u32],
    similarity: Similarity,
) -> Filter {
    let pairs = entries.len() as f64 * entries.len() as f64 / 2.0;
    let at = |at: usize| vector(digests, entries[at]);
    let kernel = search.resources.kernel_to_use();
    Filter::new(entries.len(), &at, pairs, least(similarity.get()), kernel)
}

/// Entries with their positions, by number of dimensions: only vectors of equal dimensions are compared.
fn by_dimensions(digests: &Digests, entries: &[u32]) -> BTreeMap<usize, Vec<(u32, u32)>> {
    let mut by_dimensions: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (at, &entry) in (0..).zip(entries) {
        if let Some(vector) = Vector::read(digests.extra(entry)) {
            by_dimensions.entry(vector.dimensions()).or_default().push((at, entry));
        }
    }
    by_dimensions
}

fn vector(digests: &Digests, entry: u32) -> Vector<'_> {
    Vector::read(digests.extra(entry)).expect("entries without a vector are left out")
}

fn places(entries: &[u32]) -> std::collections::HashMap<u32, u32> {
    entries.iter().copied().zip(0..).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
