//! Searches the items of a collection.
//!
//! A [`PreparedSearch`] is a checked search: the lookups of the kind, each answered by a search table.
//! The tables return candidates; their digests are read from the records, and the kind judges them, as
//! it judges those of a batch.

use rayon::prelude::*;

use super::{
    CollectionError, Match,
    item::order,
    record,
    tables::{Layout, SetQuery, Source, Tables, is_compared},
    truth::Records,
    view::{Place, View},
};
use crate::{
    Closeness, Criteria, Digest, Kind, Radius,
    cosine::{Vector, least},
    fragments::{FragmentSearch, Shared},
    index::IndexError,
    keys::{Bands, Keys},
    kind::Lookup,
    search::{Recall, asked_recall, keys_for},
    verify::Verify,
};

/// The number of queries that a thread takes at once.
const QUERIES: usize = 512;

/// The smallest number of candidates that a thread reads and judges.
const JUDGED: usize = 64;

/// A checked search of a collection.
pub struct PreparedSearch<'a> {
    kind: &'a dyn Kind,
    by: &'a Criteria,
    layout: &'a Layout,
    lookups: Vec<Lookup>,
    /// Whether votes of parts can decide a match.
    counts_parts: bool,
    /// If sets are found by keys: the recall, and the bands that make the keys.
    keys: Option<(f64, Bands)>,
    /// Whether the tables contain these keys.
    keys_are_kept: bool,
}

/// A query and an item that may match it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    query: u32,
    item: u32,
    /// Whether they match only if they also share a key.
    needs_key: bool,
}

/// An item that matches a query.
#[derive(Clone, Copy)]
struct Hit {
    query: u32,
    place: Place,
    sequence: u64,
    closeness: Closeness,
}

impl<'a> PreparedSearch<'a> {
    /// Checks a search among this number of items and features. A distance wider than that of the
    /// tables is an error. If a lookup has no table, every item is judged.
    pub fn new(
        kind: &'a dyn Kind,
        by: &'a Criteria,
        layout: &'a Layout,
        (items, features): (u64, u64),
    ) -> Result<Self, IndexError> {
        let lookups = kind.lookups(by);
        let counts_parts = lookups.iter().any(|lookup| matches!(lookup, Lookup::Parts(_)));
        let (keys, keys_are_kept) = (None, false);
        let mut prepared = Self { kind, by, layout, lookups, counts_parts, keys, keys_are_kept };
        if !prepared.lookups.iter().all(|lookup| layout.answers(lookup)) {
            prepared.lookups = vec![Lookup::Every];
        }
        let bits = Radius::new(layout.shape.width.bits());
        for lookup in &mut prepared.lookups {
            match lookup {
                Lookup::Near { radius, .. } => {
                    *radius = (*radius).min(bits);
                    check_radius(layout.place(Source::Upright), *radius)?;
                }
                Lookup::Parts(search) => check_radius(layout.place(Source::Parts), search.radius)?,
                Lookup::Overlap { .. } | Lookup::Cosine { .. } | Lookup::Every => {}
            }
            if let Lookup::Overlap { verify, reach } = *lookup
                && let Some(recall) = asked_recall(reach, items, features)
                && let Some(keys) = keys_for(&verify, recall)
            {
                prepared.keys_are_kept = layout.has(&keys);
                prepared.keys = Some((recall, keys.some(0..keys.bands)));
            }
        }
        Ok(prepared)
    }

    /// Whether the search finds every match, and if not, the share that it finds.
    pub fn recall(&self) -> Recall {
        match &self.keys {
            Some((recall, _)) => Recall::Estimated(*recall),
            None if self.counts_parts => Recall::OF_PARTS,
            None => Recall::Exact,
        }
    }

    /// The radius, if the distance of fingerprints alone decides.
    fn deciding(&self) -> Option<Radius> {
        match self.lookups[..] {
            [Lookup::Near { radius, decides: true, .. }] => Some(radius),
            _ => None,
        }
    }

    /// The items of a view that match each query: closest first, then in order of insertion, at most
    /// `limit` per query. `None` if an item of the view is no longer in the records.
    pub fn search(
        &self,
        view: &View,
        records: Option<&Records<'_>>,
        queries: &[Digest],
        limit: usize,
    ) -> Result<Option<Vec<Vec<Match>>>, CollectionError> {
        let max = if self.lookups.contains(&Lookup::Every) { 1 } else { QUERIES };
        let fair = queries.len().div_ceil(4 * rayon::current_num_threads());
        let search = |queries: &[Digest]| {
            for query in queries {
                record::check_shape(query, self.layout.shape)
                    .map_err(|what| CollectionError::Item { id: "query".to_owned(), what })?;
            }
            let hits = match (self.deciding(), records) {
                (Some(radius), _) => Some(self.near_hits(view, queries, radius)?),
                (None, Some(records)) => self.judged_hits(view, records, queries)?,
                (None, None) => None,
            };
            Ok(hits.map(|hits| named(view, queries.len(), hits, limit)))
        };
        let chunk = fair.max(16).min(max);
        if queries.len() <= chunk {
            // For so few queries, one thread is faster than merging the results of several.
            return search(queries);
        }
        let found: Vec<Result<_, CollectionError>> =
            queries.par_chunks(chunk).map(search).collect();
        // Collected in order, so the first error is always the one reported.
        let found: Result<Vec<_>, CollectionError> = found.into_iter().collect();
        let found: Option<Vec<_>> = found?.into_iter().collect();
        Ok(found.map(|found| found.into_iter().flatten().collect()))
    }

    /// Whether digests are read from the records.
    pub fn judges(&self) -> bool {
        self.deciding().is_none()
    }

    /// Matches decided by the distance of fingerprints alone.
    fn near_hits(
        &self,
        view: &View,
        queries: &[Digest],
        radius: Radius,
    ) -> Result<Vec<Hit>, IndexError> {
        let mut hits = Vec::new();
        let equal = self.kind.equal(self.by);
        for (run, live) in (0..).zip(&view.runs) {
            let (names, tables) = (&live.run.names, &live.run.tables);
            let mut hit = |query: u32, item: u32, closeness: Closeness| {
                if !live.removed.contains(item) {
                    names.touch(item);
                    hits.push(Hit { query, place: Place { run, item }, sequence: 0, closeness });
                }
            };
            self.near(tables, queries, Source::Upright, false, radius, |query, item, distance| {
                hit(query, item, Closeness::within(distance));
            })?;
            keyed(tables, queries, |query, item| hit(query, item, equal));
        }
        // All in one pass, so that the prefetched memory accesses overlap.
        hits.iter_mut().for_each(|hit| hit.sequence = view.sequence(hit.place));
        Ok(hits)
    }

    /// Candidates that the kind judges to match; `None` if one of them no longer has a record.
    fn judged_hits(
        &self,
        view: &View,
        records: &Records<'_>,
        queries: &[Digest],
    ) -> Result<Option<Vec<Hit>>, CollectionError> {
        let mut all = Vec::new();
        for (run, live) in (0..).zip(&view.runs) {
            let items = live.run.names.len() as u32;
            let mut candidates = self.candidates(&live.run.tables, items, queries)?;
            candidates.retain(|candidate| !live.removed.contains(candidate.item));
            all.extend(candidates.into_iter().map(|candidate| (run, candidate)));
        }
        let judge = |&(run, candidate): &(u32, Candidate)| {
            let place = Place { run, item: candidate.item };
            let sequence = view.sequence(place);
            let Some(digest) = records.look(sequence, |record| record.digest())? else {
                return Ok(None);
            };
            let query = &queries[candidate.query as usize];
            let closeness = self.judge(query, &digest, candidate.needs_key);
            Ok(Some(closeness.map(|closeness| Hit {
                query: candidate.query,
                place,
                sequence,
                closeness,
            })))
        };
        let judged: Result<Vec<Option<Option<Hit>>>, CollectionError> =
            all.par_iter().with_min_len(JUDGED).map(judge).collect();
        let judged: Option<Vec<Option<Hit>>> = judged?.into_iter().collect();
        Ok(judged.map(|judged| judged.into_iter().flatten().collect()))
    }

    /// Matching queries and other digests, by their positions, and how close they are.
    pub fn among(
        &self,
        tables: &Tables,
        others: &[Digest],
        queries: &[Digest],
    ) -> Result<Vec<(u32, u32, Closeness)>, IndexError> {
        let candidates = self.candidates(tables, others.len() as u32, queries)?;
        let judge = |candidate: &Candidate| {
            let Candidate { query, item, needs_key } = *candidate;
            let (one, two) = (&queries[query as usize], &others[item as usize]);
            Some((query, item, self.judge(one, two, needs_key)?))
        };
        Ok(candidates.par_iter().with_min_len(JUDGED).filter_map(judge).collect())
    }

    /// How close two items are, if they match. Indistinguishable items are as close as the kind says
    /// equal ones are; they are not compared.
    fn judge(&self, query: &Digest, item: &Digest, needs_key: bool) -> Option<Closeness> {
        let are_equal = match (query.key, item.key) {
            (None, None) => query == item,
            (one, two) => one == two,
        };
        if are_equal {
            return Some(self.kind.equal(self.by));
        }
        let shape = self.layout.shape;
        let closeness = query.with_ref(shape, |one| {
            item.with_ref(shape, |two| self.kind.judge(self.by, one, two))
        })?;
        (!needs_key || self.share_a_key(query, item)).then_some(closeness)
    }

    fn share_a_key(&self, one: &Digest, two: &Digest) -> bool {
        let Some((_, bands)) = &self.keys else { return true };
        let [one, two] = [one, two].map(|digest| self.keys_of(bands, digest));
        one.iter().zip(&two).any(|(one, two)| one == two)
    }

    fn keys_of(&self, bands: &Bands, digest: &Digest) -> Vec<u32> {
        let mut keys = vec![0; bands.len()];
        bands.write(digest.set.features(), &mut keys, self.by.kernel);
        keys
    }

    /// Items of one run that may match the queries, each pair once.
    pub fn candidates(
        &self,
        tables: &Tables,
        items: u32,
        queries: &[Digest],
    ) -> Result<Vec<Candidate>, IndexError> {
        let mut found = Vec::new();
        let mut find = |query, item| found.push(Candidate { query, item, needs_key: false });
        for lookup in &self.lookups {
            match lookup {
                Lookup::Near { radius, turned, .. } => {
                    self.near(
                        tables,
                        queries,
                        Source::Upright,
                        *turned,
                        *radius,
                        |query, item, _| {
                            find(query, item);
                        },
                    )?;
                    if *turned {
                        let turned = Source::Turned;
                        self.near(tables, queries, turned, false, *radius, |query, item, _| {
                            find(query, item);
                        })?;
                    }
                }
                Lookup::Overlap { .. } => {}
                Lookup::Cosine { similarity } => {
                    let vectors: Vec<_> = numbered(queries, |_| true)
                        .filter_map(|(query, digest)| Some((query, Vector::read(&digest.extra)?)))
                        .collect();
                    let least = least(similarity.get());
                    if let Some(table) = &tables.vectors {
                        table.search(&vectors, least, self.by.kernel, &mut find);
                    }
                }
                Lookup::Parts(search) => self.sharing(tables, items, queries, search, &mut find)?,
                Lookup::Every => {
                    for (query, _) in numbered(queries, |digest| !digest.is_empty()) {
                        (0..items).for_each(|item| find(query, item));
                    }
                }
            }
        }
        keyed(tables, queries, find);
        for lookup in &self.lookups {
            if let Lookup::Overlap { verify, .. } = lookup {
                self.overlapping(tables, queries, verify, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|candidate| (candidate.query, candidate.item));
        Ok(found)
    }

    /// Items with a fingerprint within the radius of a query's first one; of any of them if `turned`.
    fn near<'q>(
        &self,
        tables: &Tables,
        queries: &'q [Digest],
        source: Source,
        turned: bool,
        radius: Radius,
        mut find: impl FnMut(u32, u32, u32),
    ) -> Result<(), IndexError> {
        let Some((place, _)) = self.layout.place(source) else { return Ok(()) };
        let prints = |digest: &'q Digest| {
            let count = if turned { digest.prints.len() } else { 1 };
            digest.prints[..count].iter()
        };
        let mut owners = Vec::with_capacity(queries.len());
        for (query, digest) in numbered(queries, is_compared) {
            owners.extend(prints(digest).map(|_| query));
        }
        let prints = numbered(queries, is_compared).flat_map(|(_, digest)| prints(digest));
        tables.prints[place].search(prints.copied(), radius, |print, item, distance| {
            find(owners[print], item, distance);
        })
    }

    /// Items that share enough parts with a query.
    fn sharing(
        &self,
        tables: &Tables,
        items: u32,
        queries: &[Digest],
        search: &FragmentSearch,
        mut find: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        let Some((place, _)) = self.layout.place(Source::Parts) else { return Ok(()) };
        let mut shared = Shared::new(items as usize);
        for (query, digest) in numbered(queries, is_compared) {
            let parts = digest.parts.iter().map(|part| part.print);
            let parts = parts.filter(|print| !self.by.background.contains(print));
            let prints = parts.map(|print| print.resize());
            let table = &tables.prints[place];
            table.search(prints, search.radius, |part, item, _| shared.add(item, part))?;
            shared.take(search.votes).for_each(|item| find(query, item));
        }
        Ok(())
    }

    /// Items whose feature sets may overlap enough with that of a query.
    fn overlapping(
        &self,
        tables: &Tables,
        queries: &[Digest],
        verify: &Verify,
        found: &mut Vec<Candidate>,
    ) {
        let Some(table) = &tables.sets else { return };
        for (query, digest) in numbered(queries, |digest| digest.set.weight() > 0) {
            let set_query = SetQuery::new(digest.set.as_set(), *verify, self.by.kernel);
            match &self.keys {
                Some((_, bands)) if self.keys_are_kept => {
                    table.with_keys(&self.keys_of(bands, digest), &set_query, |item| {
                        found.push(Candidate { query, item, needs_key: false });
                    });
                }
                keys => {
                    let needs_key = keys.is_some();
                    table.scan(&set_query, |item| {
                        found.push(Candidate { query, item, needs_key });
                    });
                }
            }
        }
    }
}

/// Returns an error if the radius is wider than that of the table.
fn check_radius(place: Option<(usize, Radius)>, asked: Radius) -> Result<(), IndexError> {
    match place {
        Some((_, max)) if asked > max => {
            Err(IndexError::Radius { asked: asked.bits(), max: max.bits() })
        }
        _ => Ok(()),
    }
}

/// Items with the same key as a query.
fn keyed(tables: &Tables, queries: &[Digest], mut find: impl FnMut(u32, u32)) {
    for (query, digest) in numbered(queries, |digest| digest.key.is_some()) {
        let items = digest.key.iter().flat_map(|key| tables.equal.find(key));
        items.for_each(|&item| find(query, item));
    }
}

/// The queries that `counts` accepts, with their positions.
fn numbered(
    queries: &[Digest],
    counts: impl Fn(&Digest) -> bool,
) -> impl Iterator<Item = (u32, &Digest)> {
    (0..).zip(queries).filter(move |(_, digest)| counts(digest))
}

/// The matches of each query, at most `limit` per query.
fn named(view: &View, queries: usize, mut hits: Vec<Hit>, limit: usize) -> Vec<Vec<Match>> {
    hits.sort_unstable_by_key(|hit| (hit.query, order(&hit.closeness, hit.sequence)));
    let names = |hit: &Hit| &view.run(hit.place).run.names;
    let range = |hit: &Hit| {
        let range = names(hit).id_range(hit.place.item);
        names(hit).touch_id(&range);
        range
    };
    // All ids are prefetched before the first one is read.
    let ranges: Vec<_> = hits.iter().map(range).collect();
    let mut found: Vec<Vec<Match>> = vec![Vec::new(); queries];
    let mut start = 0;
    for of_query in hits.chunk_by(|one, two| one.query == two.query) {
        let closest = of_query.iter().zip(&ranges[start..]).take(limit);
        let named = closest.map(|(hit, range)| Match {
            id: names(hit).id_at(range.clone()).to_owned(),
            sequence: hit.sequence,
            closeness: hit.closeness,
        });
        found[of_query[0].query as usize] = named.collect();
        start += of_query.len();
    }
    found
}

impl Layout {
    /// Whether there is a table for a lookup, of any radius.
    fn answers(&self, lookup: &Lookup) -> bool {
        let has = |source| self.place(source).is_some();
        match lookup {
            Lookup::Near { turned, .. } => {
                let is_turned = *turned && self.shape.prints > 1;
                has(Source::Upright) && (!is_turned || has(Source::Turned))
            }
            Lookup::Parts(_) => has(Source::Parts),
            Lookup::Overlap { .. } => self.keys.is_some(),
            Lookup::Cosine { .. } => self.vectors,
            Lookup::Every => true,
        }
    }

    /// Whether the table of sets contains these keys, and maybe more.
    fn has(&self, keys: &Keys) -> bool {
        let kept = self.keys.as_ref().and_then(Option::as_ref);
        kept.is_some_and(|kept| kept.rows == keys.rows && kept.bands >= keys.bands)
    }
}
