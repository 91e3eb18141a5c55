//! Items whose sets overlap enough.

use std::sync::atomic::Ordering;

use super::{
    Recall, Search,
    pairs::{Looked, OnPairs},
};
use crate::{
    Closeness,
    alike::Nearest,
    digest::Digests,
    keys::Keys,
    kind::{EXACT_FEATURES, EXACT_ITEMS, Reach, USUAL_RECALL},
    overlap::{Counters, Overlaps},
    pairs::PairsError,
    verify::{Measure, Set, Verify},
};

/// Eighths of the memory limit for an index of sets.
const INDEX: u64 = 3;

/// Every pair.
pub(super) fn pairs(
    search: &Search<'_>,
    digests: &Digests,
    verify: Verify,
    reach: Reach,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    let method = Method::choose(digests, verify, reach);
    let counters = run(search, digests, verify, &method, |overlaps| overlaps.pairs(on_pairs))?;
    Ok(method.looked(&counters))
}

/// About how many pairs of different entries there are.
pub(super) fn expected_pairs(
    search: &Search<'_>,
    digests: &Digests,
    verify: Verify,
) -> Result<u64, PairsError> {
    run(search, digests, verify, &Method(None), |overlaps| overlaps.expected_pairs())
}

/// By entry, the keeper that it belongs to, if entries are taken in this order.
pub(super) fn stars(
    search: &Search<'_>,
    digests: &Digests,
    (verify, reach): (Verify, Reach),
    entries: &[u32],
) -> Result<(Vec<Option<Nearest>>, Looked), PairsError> {
    let method = Method::choose(digests, verify, reach);
    let (nearest, counters) =
        run(search, digests, verify, &method, |overlaps| overlaps.stars(entries))?;
    Ok((nearest, method.looked(&counters)))
}

/// By entry, the first of `keepers` that one of `entries` is alike.
pub(super) fn around(
    search: &Search<'_>,
    digests: &Digests,
    (verify, reach): (Verify, Reach),
    keepers: &[u32],
    entries: &[u32],
) -> Result<(Vec<Option<Nearest>>, Looked), PairsError> {
    let method = Method::choose(digests, verify, reach);
    let (nearest, counters) =
        run(search, digests, verify, &method, |overlaps| overlaps.nearest(keepers, entries))?;
    Ok((nearest, method.looked(&counters)))
}

fn run<T>(
    search: &Search<'_>,
    digests: &Digests,
    verify: Verify,
    method: &Method,
    run: impl FnOnce(&Overlaps<'_>) -> Result<T, PairsError>,
) -> Result<T, PairsError> {
    let judge = |a: u32, b: u32, one: Set<'_>, two: Set<'_>| -> Option<Closeness> {
        let (one, two) = (digests.at(a).with_set(one), digests.at(b).with_set(two));
        search.kind.judge(&search.by, one, two)
    };
    let progress = |done| search.resources.report(done);
    run(&Overlaps {
        sets: digests.sets(),
        weights: digests.weights(),
        verify,
        keys: method.0.as_ref().map(|(keys, _)| keys.clone()),
        judge: &judge,
        kernel: search.resources.kernel_to_use(),
        memory: search.resources.share(INDEX),
        progress: &progress,
    })
}

/// The recall of a search among this number of items and features; `None` if it is exact. A rule on
/// what is there, never on what it may cost: every machine makes the same choice.
pub(crate) fn asked_recall(reach: Reach, items: u64, features: u64) -> Option<f64> {
    match reach {
        Reach::Exact => None,
        Reach::Recall(recall) => Some(recall),
        Reach::Declared if items <= EXACT_ITEMS && features <= EXACT_FEATURES => None,
        Reach::Declared => Some(USUAL_RECALL),
    }
}

/// The keys that find this share of all pairs at the threshold, if there are such keys.
pub(crate) fn keys_for(verify: &Verify, recall: f64) -> Option<Keys> {
    let similarity = verify.similarity.get();
    let has_keys = verify.measure != Measure::Containment && similarity > 0.0;
    has_keys.then(|| Keys::for_recall(similarity.into(), recall))
}

/// How candidates are found: exactly, or by keys with a stated recall.
struct Method(Option<(Keys, f64)>);

impl Method {
    fn choose(digests: &Digests, verify: Verify, reach: Reach) -> Self {
        let recall = asked_recall(reach, digests.len().into(), digests.features());
        Self(recall.and_then(|recall| Some((keys_for(&verify, recall)?, recall))))
    }

    fn looked(&self, counters: &Counters) -> Looked {
        let (recall, plan) = match &self.0 {
            None => (Recall::Exact, "set join".to_owned()),
            Some((keys, recall)) => (Recall::Estimated(*recall), format!("{} keys", keys.bands)),
        };
        Looked { recall, plan, judged: counters.verified.load(Ordering::Relaxed) }
    }
}
