//! What is in the collection at one moment, and what of it is near?
//!
//! A [`View`] never changes: a search on it sees one state of the collection, whatever is written
//! meanwhile. The next state shares all runs with it that did not change.

use rayon::prelude::*;

use super::{Found, about::State, run::Shelved};
use crate::{Fingerprint, IndexError, Radius, Search};

/// How many queries a thread takes at once.
const QUERIES: usize = 512;

/// One state of the collection.
#[derive(Clone)]
pub struct View<const WORDS: usize> {
    /// In order of their sequence numbers.
    pub runs: Vec<Shelved<WORDS>>,
    pub state: State,
}

/// Where an item stands in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub run: usize,
    pub item: u32,
}

/// An item near a query.
#[derive(Clone, Copy, Debug)]
struct Hit {
    query: u32,
    distance: u32,
    sequence: u64,
    place: Place,
}

impl<const WORDS: usize> View<WORDS> {
    /// The item of this id, if it is there.
    pub fn find(&self, id: &str, hash: u64) -> Option<Place> {
        let newest_first = self.runs.iter().enumerate().rev();
        newest_first
            .filter_map(|(run, shelved)| Some(Place { run, item: shelved.find(id, hash)? }))
            .next()
    }

    pub fn sequence(&self, place: Place) -> u64 {
        self.runs[place.run].run.names.sequence(place.item)
    }

    /// The fingerprints of an item.
    pub fn prints(&self, place: Place) -> &[Fingerprint<WORDS>] {
        let run = &self.runs[place.run].run;
        &run.index.prints()[run.names.slots(place.item)]
    }

    /// [`search`](Self::search) on all threads of the current rayon pool.
    pub fn par_search(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        limit: usize,
    ) -> Result<Vec<Vec<Found>>, IndexError> {
        let chunk = queries.len().div_ceil(4 * rayon::current_num_threads()).clamp(16, QUERIES);
        let search = |queries: &[Fingerprint<WORDS>]| self.search(queries, radius, limit);
        let found: Result<Vec<_>, _> = queries.par_chunks(chunk).map(search).collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// What is within `radius` of each query: nearest first, then by sequence number, at most
    /// `limit` of them.
    pub fn search(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        limit: usize,
    ) -> Result<Vec<Vec<Found>>, IndexError> {
        let mut hits = self.hits(queries, radius)?;
        if self.runs.iter().any(|shelved| shelved.run.names.has_owners()) {
            // Of the fingerprints of one item only the nearest counts.
            hits.sort_unstable_by_key(|hit| (hit.query, hit.sequence, hit.distance));
            hits.dedup_by_key(|hit| (hit.query, hit.sequence));
        }
        hits.sort_unstable_by_key(|hit| (hit.query, hit.distance, hit.sequence));
        Ok(self.named(queries.len(), &hits, limit))
    }

    /// What was found by each query, from hits in order, at most `limit` each.
    fn named(&self, queries: usize, hits: &[Hit], limit: usize) -> Vec<Vec<Found>> {
        let names = |hit: &Hit| &self.runs[hit.place.run].run.names;
        let range = |hit: &Hit| {
            let range = names(hit).id_range(hit.place.item);
            names(hit).touch_id(&range);
            range
        };
        // All are asked for before the first one is read.
        let ranges: Vec<_> = hits.iter().map(range).collect();
        let mut found: Vec<Vec<Found>> = vec![Vec::new(); queries];
        let mut start = 0;
        for of_query in hits.chunk_by(|one, two| one.query == two.query) {
            let nearest = of_query.iter().zip(&ranges[start..]).take(limit);
            let named = nearest.map(|(hit, range)| Found {
                id: names(hit).id_at(range.clone()).to_owned(),
                sequence: hit.sequence,
                distance: hit.distance,
            });
            found[of_query[0].query as usize] = named.collect();
            start += of_query.len();
        }
        found
    }

    fn hits(&self, queries: &[Fingerprint<WORDS>], radius: Radius) -> Result<Vec<Hit>, IndexError> {
        let mut hits = Vec::new();
        for (run, shelved) in self.runs.iter().enumerate() {
            let (names, removed) = (&shelved.run.names, &*shelved.removed);
            shelved.run.index.search_batch(queries, radius, |query, found| {
                let item = names.owner(found.id);
                if !removed.contains(item) {
                    names.touch(item);
                    hits.push(Hit {
                        query: query as u32,
                        distance: found.distance,
                        sequence: 0,
                        place: Place { run, item },
                    });
                }
            })?;
        }
        // All at once: memory is waited for once.
        hits.iter_mut().for_each(|hit| hit.sequence = self.sequence(hit.place));
        Ok(hits)
    }

    /// Every item that is there: its sequence number, its id, its fingerprints.
    pub fn for_each(&self, mut on_item: impl FnMut(u64, &str, &[Fingerprint<WORDS>])) {
        for shelved in &self.runs {
            let (names, prints) = (&shelved.run.names, shelved.run.index.prints());
            let living = (0..names.len() as u32).filter(|&item| !shelved.removed.contains(item));
            living.for_each(|item| {
                on_item(names.sequence(item), names.id(item), &prints[names.slots(item)]);
            });
        }
    }

    /// How many fingerprints the items have that are there.
    pub fn count_prints(&self) -> u64 {
        let prints = self.runs.iter().map(|shelved| {
            let gone: usize =
                shelved.removed.items().map(|item| shelved.run.names.slots(item).len()).sum();
            (shelved.run.index.len() - gone) as u64
        });
        prints.sum()
    }

    /// Bytes of memory, mapped files included.
    pub fn memory_bytes(&self) -> usize {
        self.runs.iter().map(Shelved::memory_bytes).sum()
    }
}
