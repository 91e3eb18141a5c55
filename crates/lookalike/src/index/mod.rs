//! What is within k bits of this?
//!
//! [`StaticIndex`] is built at once and lives in memory or in a mapped file; [`MutableIndex`] takes
//! insertions and removals; [`LinearIndex`] looks at everything and is what the other two must
//! equal. All of them answer through [`Search`], exactly: every item within the radius, each once.
//! Items are known by dense numbers only: no documents or keys here.
//!
//! ```
//! use lookalike::{Fingerprint, Radius, index::{Match, Search, StaticIndex}};
//!
//! let prints = [0b0000, 0b0111, 0b1111_1111].map(|bits| Fingerprint([bits]));
//! let index = StaticIndex::build(&prints, Radius::new(3))?;
//! let near = index.matches(&Fingerprint([0b0001]), Radius::new(2))?;
//! assert_eq!(near, [Match { id: 0, distance: 1 }, Match { id: 1, distance: 2 }]);
//! # Ok::<(), lookalike::index::IndexError>(())
//! ```

mod batch;
mod build;
mod cells;
mod chains;
mod choose;
mod equals;
mod error;
pub(crate) mod file;
mod layout;
mod linear;
mod live;
pub(crate) mod map;
mod mutable;
mod plan;
mod plan_bytes;
mod static_index;
mod tables;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::{Fingerprint, Radius};
pub use error::IndexError;
pub use linear::LinearIndex;
pub use mutable::MutableIndex;
pub use static_index::StaticIndex;

/// An item within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// The number of the item.
    pub id: u32,
    /// Bits in which it differs from the query.
    pub distance: u32,
}

/// What every index can be asked.
///
/// A search may have any radius up to the index's maximum; a wider one is an error. Matches of one
/// query come in an order that is not specified, but is the same each time for the same index;
/// [`matches`](Self::matches) sorts them. Batches wait for memory once for many queries: prefer
/// them wherever there is more than one.
pub trait Search<const WORDS: usize> {
    /// The widest radius that can be searched.
    fn max_radius(&self) -> Radius;

    /// Calls `on_match` with the position of a query and one of its matches, for all matches of
    /// all queries, query by query, until it breaks off. All else follows from this.
    fn search_while(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        on_match: impl FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<(), IndexError>;

    /// Calls `on_match` once for every item within `radius` of `query`.
    fn search(
        &self,
        query: &Fingerprint<WORDS>,
        radius: Radius,
        mut on_match: impl FnMut(Match),
    ) -> Result<(), IndexError> {
        self.search_batch(std::slice::from_ref(query), radius, |_, found| on_match(found))
    }

    /// Every item within `radius` of `query`, nearest first, then by id.
    fn matches(
        &self,
        query: &Fingerprint<WORDS>,
        radius: Radius,
    ) -> Result<Vec<Match>, IndexError> {
        let mut matches = Vec::new();
        self.search(query, radius, |found| matches.push(found))?;
        matches.sort_unstable_by_key(|found| (found.distance, found.id));
        Ok(matches)
    }

    /// One item within `radius` of `query`, if there is any: the first that is found, not the
    /// nearest. Stops looking there.
    fn first(
        &self,
        query: &Fingerprint<WORDS>,
        radius: Radius,
    ) -> Result<Option<Match>, IndexError> {
        let mut first = None;
        self.search_while(std::slice::from_ref(query), radius, |_, found| {
            first = Some(found);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// Whether any item is within `radius` of `query`.
    fn any(&self, query: &Fingerprint<WORDS>, radius: Radius) -> Result<bool, IndexError> {
        Ok(self.first(query, radius)?.is_some())
    }

    /// Calls `on_match` with the position of a query and one of its matches, for all matches of
    /// all queries, query by query in their order.
    fn search_batch(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        mut on_match: impl FnMut(usize, Match),
    ) -> Result<(), IndexError> {
        self.search_while(queries, radius, |query, found| {
            on_match(query, found);
            ControlFlow::Continue(())
        })
    }

    /// [`search_batch`](Self::search_batch) on all threads of the current rayon pool: the same
    /// calls in the same order, all from this thread.
    fn par_search_batch(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        mut on_match: impl FnMut(usize, Match),
    ) -> Result<(), IndexError>
    where
        Self: Sync,
    {
        // Answers wait until it is their turn: rounds bound how many.
        let round = PAR_CHUNK * 16 * rayon::current_num_threads();
        for (round_index, queries) in queries.chunks(round).enumerate() {
            let answers: Vec<Vec<(usize, Match)>> = queries
                .par_chunks(PAR_CHUNK)
                .map(|queries| {
                    let mut found = Vec::new();
                    self.search_batch(queries, radius, |query, near| found.push((query, near)))?;
                    Ok(found)
                })
                .collect::<Result<_, IndexError>>()?;
            for (chunk, answer) in answers.into_iter().enumerate() {
                let first = round_index * round + chunk * PAR_CHUNK;
                answer.into_iter().for_each(|(query, found)| on_match(first + query, found));
            }
        }
        Ok(())
    }
}

/// Hears the position of a query and one of its matches. Matches are rare against the work to find
/// them, so the loops are compiled once, not again for every caller.
type OnMatch<'a> = &'a mut dyn FnMut(usize, Match) -> ControlFlow<()>;

/// How many queries a thread takes at once.
const PAR_CHUNK: usize = 1024;

/// Refuses a search wider than the index was made for.
fn check_radius(asked: Radius, max: Radius) -> Result<(), IndexError> {
    if asked <= max {
        Ok(())
    } else {
        Err(IndexError::Radius { asked: asked.bits(), max: max.bits() })
    }
}
