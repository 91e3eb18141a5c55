//! Which texts are alike, and which of them belong to which keeper?

use std::sync::atomic::Ordering;

use super::{
    EXACT_FEATURES, EXACT_TEXTS, How, Likeness, Reach, TextFound, TextGroups, TextPairs,
    TextSearch, USUAL_RECALL, store::Store,
};
use crate::{
    AlikePair, AlikePairs, AllPairs, PairsError, Radius, Resources, Verify,
    alike::PackedPair,
    equal::EqualGroups,
    groups,
    keys::Keys,
    overlap::{Counters, Joined, OverlapPair, Overlaps},
    resources::stoppable,
    sorted::Sorter,
    stars::{Alike, Classes, NearPrints, Nearest},
    verify::Measure,
};

/// Eighths of the memory limit for an index of sets, and for pairs that were found; the rest is for
/// what is kept of every text.
const INDEX: u64 = 3;
const FOUND: u64 = 1;

/// Every alike pair.
pub(super) fn pairs<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    resources: &Resources<'_>,
) -> Result<TextPairs, PairsError> {
    let answer = stoppable(|| match search.likeness {
        Likeness { verify: Some(verify), radius } => {
            verified_pairs(search, store, verify, radius, resources)
        }
        Likeness { verify: None, radius } => bare_pairs(store, radius, resources),
    })?;
    resources.report(1.0);
    Ok(answer)
}

/// Pairs by fingerprints alone.
fn bare_pairs<const WORDS: usize>(
    store: &Store<WORDS>,
    radius: Option<Radius>,
    resources: &Resources<'_>,
) -> Result<TextPairs, PairsError> {
    let radius = radius.unwrap_or(Radius::new(WORDS as u32 * 64));
    let pairs = AllPairs::new(radius).resources(resources.clone()).run(&store.prints)?;
    let near = Sorter::new(&resources.room(FOUND));
    let mut some: Vec<PackedPair> = Vec::new();
    pairs.for_each(|pair| some.push(pair.map(|entry| store.firsts[entry as usize]).into()));
    near.append(&mut some)?;
    let found = TextFound {
        spilled: pairs.spilled(),
        ..found(store, How::Exact, pairs.plan().to_string())
    };
    settle(store, near, None, found, resources)
}

/// Pairs whose sets are similar enough.
fn verified_pairs<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    verify: Verify,
    radius: Option<Radius>,
    resources: &Resources<'_>,
) -> Result<TextPairs, PairsError> {
    let method = Method::choose(search, store, verify);
    let near: Sorter<PackedPair> = Sorter::new(&resources.room(FOUND));
    let distance = |a: u32, b: u32| store.prints[a as usize].distance(&store.prints[b as usize]);
    let pair = |pair: OverlapPair| {
        let OverlapPair { a, b, similarity } = pair;
        let distance = distance(a, b);
        let [a, b] = [a, b].map(|entry| store.firsts[entry as usize]);
        PackedPair::from(AlikePair { a, b, distance, similarity: Some(similarity) })
    };
    let accepts = |a, b| radius.is_none_or(|radius| radius.contains(distance(a, b)));
    let progress = |done| resources.report(done);
    let overlaps = overlaps(store, verify, &method, &accepts, &progress, resources);
    let counters =
        overlaps.pairs(&|some| near.append(&mut some.into_iter().map(pair).collect()))?;
    if verify.similarity.get() == 0.0 {
        near.append(&mut unlike_pairs(store, radius))?;
    }
    let found = method.found(store, &counters);
    settle(store, near, Some(1.0), found, resources)
}

/// About how many pairs there are, those of equal texts included.
pub(super) fn expected_pairs<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    resources: &Resources<'_>,
) -> Result<Option<u64>, PairsError> {
    let Some(verify) = by_sets(search) else { return Ok(None) };
    let accepts = |_, _| true;
    let overlaps = overlaps(store, verify, &Method(None), &accepts, &|_| {}, resources);
    let equal = EqualGroups::new(store.equal.clone()).count_pairs();
    Ok(Some(overlaps.expected_pairs()? + equal))
}

/// At a threshold of nothing at all, even texts that are too short to compare have pairs.
fn unlike_pairs<const WORDS: usize>(
    store: &Store<WORDS>,
    radius: Option<Radius>,
) -> Vec<PackedPair> {
    let full = store.firsts.iter().zip(&store.prints).map(|(&first, &print)| (first, Some(print)));
    let mut pairs = Vec::new();
    for (rank, &(one, print)) in store.short_firsts.iter().enumerate() {
        let others = store.short_firsts[rank + 1..].iter().copied().chain(full.clone());
        for (other, its_print) in others {
            let distance = print.zip(its_print).map(|(a, b)| a.distance(&b));
            let is_within = radius
                .is_none_or(|radius| distance.is_some_and(|distance| radius.contains(distance)));
            if is_within {
                let (a, b) = (one.min(other), one.max(other));
                let distance = distance.unwrap_or(0);
                pairs.push(AlikePair { a, b, distance, similarity: Some(0.0) }.into());
            }
        }
    }
    pairs
}

/// Puts pairs in order.
fn settle<const WORDS: usize>(
    store: &Store<WORDS>,
    near: Sorter<PackedPair>,
    equal_similarity: Option<f32>,
    found: TextFound,
    resources: &Resources<'_>,
) -> Result<TextPairs, PairsError> {
    let room = resources.room(FOUND);
    let near = near.finish()?;
    let sorted = near.spilled();
    let near = near.settle(&room, Some)?;
    let spilled = found.spilled + sorted + near.spilled();
    let pairs = AlikePairs::new(near, store.equal.clone(), equal_similarity, room);
    Ok(TextPairs { pairs, found: TextFound { spilled, ..found } })
}

/// What decides, if sets do: at a threshold of nothing at all, every text is alike every other.
fn by_sets(search: &TextSearch) -> Option<Verify> {
    search.likeness.verify.filter(|verify| verify.similarity.get() > 0.0)
}

/// Groups around keepers, taken in `order`.
pub(super) fn stars<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    order: &[u32],
    resources: &Resources<'_>,
) -> Result<TextGroups, PairsError> {
    if is_everything_alike(search) {
        let TextPairs { pairs, found } = pairs(search, store, resources)?;
        let groups = groups::star(store.items as usize, order, &pairs)?;
        return Ok(TextGroups { groups, found });
    }
    let (groups, found) =
        classes(search, store).stars(order, |entries| match search.likeness.verify {
            Some(verify) => {
                by_overlaps(search, store, verify, resources, |sets| sets.stars(entries))
            }
            None => by_prints(search, store, resources, |prints| prints.stars(entries)),
        })?;
    Ok(TextGroups { groups, found })
}

/// Groups of own texts around the others.
pub(super) fn against<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    own: usize,
    resources: &Resources<'_>,
) -> Result<TextGroups, PairsError> {
    if is_everything_alike(search) {
        let (own, items) = (own as u32, store.items);
        let TextPairs { pairs, found } = pairs(search, store, resources)?;
        let order: Vec<u32> = (own..items).chain(0..own).collect();
        let groups = groups::star(items as usize, &order, &pairs.crossing(own as usize)?)?;
        return Ok(TextGroups { groups, found });
    }
    let (groups, found) = classes(search, store).against(own as u32, |keepers, entries| {
        match search.likeness.verify {
            Some(verify) => {
                by_overlaps(search, store, verify, resources, |sets| sets.nearest(keepers, entries))
            }
            None => by_prints(search, store, resources, |prints| prints.around(keepers, entries)),
        }
    })?;
    Ok(TextGroups { groups, found })
}

fn classes<'a, const WORDS: usize>(search: &TextSearch, store: &'a Store<WORDS>) -> Classes<'a> {
    let equal_similarity = search.likeness.verify.map(|_| 1.0);
    Classes::new(store.items, &store.firsts, &store.equal, equal_similarity)
}

/// By entry, the keeper that it belongs to, and how that was found.
type Grouped = (Vec<Option<Nearest>>, TextFound);

/// Runs a search for keepers.
fn by_overlaps<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    verify: Verify,
    resources: &Resources<'_>,
    run: impl Fn(&Overlaps<'_>) -> Result<(Vec<Option<Joined>>, Counters), PairsError>,
) -> Result<Grouped, PairsError> {
    let method = Method::choose(search, store, verify);
    let distance = |a: u32, b: u32| store.prints[a as usize].distance(&store.prints[b as usize]);
    let accepts =
        |a, b| search.likeness.radius.is_none_or(|radius| radius.contains(distance(a, b)));
    let progress = |done| resources.report(done);
    let overlaps = overlaps(store, verify, &method, &accepts, &progress, resources);
    let (joined, counters) = stoppable(|| run(&overlaps))?;
    resources.report(1.0);
    let nearest = (0..).zip(joined).map(|(entry, joined)| {
        joined.map(|Joined { keeper, similarity }| Nearest {
            keeper,
            distance: distance(entry, keeper),
            similarity: Some(similarity),
        })
    });
    Ok((nearest.collect(), method.found(store, &counters)))
}

/// Runs a search for keepers by fingerprints alone.
fn by_prints<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    resources: &Resources<'_>,
    run: impl Fn(&NearPrints<'_, WORDS>) -> Result<Vec<Option<Nearest>>, PairsError>,
) -> Result<Grouped, PairsError> {
    let radius = search.likeness.radius.unwrap_or(Radius::new(WORDS as u32 * 64));
    let plan = AllPairs::new(radius).resources(resources.clone()).plan(&store.prints)?;
    let nearest = stoppable(|| run(&NearPrints { prints: &store.prints, radius, resources }))?;
    resources.report(1.0);
    Ok((nearest, found(store, How::Exact, plan.to_string())))
}

/// Whether the threshold is nothing at all, so that no set tells texts apart.
fn is_everything_alike(search: &TextSearch) -> bool {
    search.likeness.verify.is_some_and(|verify| verify.similarity.get() == 0.0)
}

fn overlaps<'a, const WORDS: usize>(
    store: &'a Store<WORDS>,
    verify: Verify,
    method: &Method,
    accepts: &'a (dyn Fn(u32, u32) -> bool + Sync),
    progress: &'a (dyn Fn(f64) + Sync),
    resources: &Resources<'_>,
) -> Overlaps<'a> {
    Overlaps {
        sets: &store.sets,
        weights: &store.weights,
        verify,
        keys: method.0.as_ref().map(|(keys, _)| keys.clone()),
        accepts,
        kernel: resources.kernel_to_use(),
        memory: resources.share(INDEX),
        progress,
    }
}

/// How candidates are found: exactly, or by keys with a stated recall.
struct Method(Option<(Keys, f64)>);

impl Method {
    /// A rule on what is there, never on what it may cost: every machine makes the same choice.
    fn choose<const WORDS: usize>(
        search: &TextSearch,
        store: &Store<WORDS>,
        verify: Verify,
    ) -> Self {
        let recall = match search.reach {
            Reach::Exact => return Self(None),
            Reach::Recall(recall) => recall,
            Reach::Declared => {
                if u64::from(store.items) <= EXACT_TEXTS && store.features <= EXACT_FEATURES {
                    return Self(None);
                }
                USUAL_RECALL
            }
        };
        let has_keys = verify.measure != Measure::Containment && verify.similarity.get() > 0.0;
        let keys = || (Keys::for_recall(verify.similarity.get().into(), recall), recall);
        Self(has_keys.then(keys))
    }

    fn found<const WORDS: usize>(&self, store: &Store<WORDS>, counters: &Counters) -> TextFound {
        let (how, plan) = match &self.0 {
            None => (How::Exact, "set join".to_owned()),
            Some((keys, recall)) => (How::Recall(*recall), format!("{} keys", keys.bands)),
        };
        let verified = counters.verified.load(Ordering::Relaxed);
        TextFound { verified, ..found(store, how, plan) }
    }
}

fn found<const WORDS: usize>(store: &Store<WORDS>, how: How, plan: String) -> TextFound {
    let Store { short, empty, sets, .. } = store;
    TextFound { how, plan, verified: 0, short: *short, empty: *empty, spilled: sets.spilled() }
}
