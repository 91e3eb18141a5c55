//! The definition of a search, which the faster indexes are tested against.

use std::ops::ControlFlow;

use super::{IndexError, Match, OnMatch, Search};
use crate::{
    Fingerprint, Radius,
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
};

/// An index without tables: a search compares every fingerprint, in order. The only choice for very wide radii.
///
/// ```
/// use lookalike::{Fingerprint, Radius, index::{LinearIndex, Search}};
///
/// let prints = [Fingerprint([1]), Fingerprint([6])];
/// let index = LinearIndex::new(&prints);
/// assert!(index.any(&Fingerprint([7]), Radius::new(1))?);
/// # Ok::<(), lookalike::index::IndexError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LinearIndex<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    kernel: Kernel,
}

impl<'a, const WORDS: usize> LinearIndex<'a, WORDS> {
    /// An index of these fingerprints; the id of an item is its position.
    pub fn new(prints: &'a [Fingerprint<WORDS>]) -> Self {
        Self { prints, kernel: Kernel::detect() }
    }

    /// Forces a kernel. The answer is the same.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }
}

/// Matches of one query come in order of their ids.
impl<const WORDS: usize> Search<WORDS> for LinearIndex<'_, WORDS> {
    fn max_radius(&self) -> Radius {
        Radius::new(u32::MAX)
    }

    fn search_while(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        mut on_match: impl FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        for (group, queries) in queries.chunks(GROUP).enumerate() {
            let first = group * GROUP;
            let mut report = |query, found| on_match(first + query, found);
            if self
                .kernel
                .run(Scan { prints: self.prints, queries, radius, on_match: &mut report })
                .is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

/// The number of queries that share a pass over the fingerprints.
const GROUP: usize = 16;

/// The number of fingerprints that all queries are compared with in turn, so that they stay in the cache.
const BLOCK: usize = 1024;

/// The number of distances computed before one of them is tested.
const STEP: usize = 16;

/// One pass for a group of queries.
struct Scan<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    queries: &'a [Fingerprint<WORDS>],
    radius: Radius,
    on_match: OnMatch<'a>,
}

impl<const WORDS: usize> Task for Scan<'_, WORDS> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> ControlFlow<()> {
        if let [query] = self.queries {
            return each_near(self.prints, query, self.radius, |found| (self.on_match)(0, found));
        }
        let mut near = vec![Vec::new(); self.queries.len()];
        for (block, prints) in self.prints.chunks(BLOCK).enumerate() {
            let first = (block * BLOCK) as u32;
            for (query, near) in self.queries.iter().zip(&mut near) {
                let _ = each_near(prints, query, self.radius, |found| {
                    near.push(Match { id: first + found.id, ..found });
                    ControlFlow::Continue(())
                });
            }
        }
        for (query, near) in near.into_iter().enumerate() {
            near.into_iter().try_for_each(|found| (self.on_match)(query, found))?;
        }
        ControlFlow::Continue(())
    }
}

/// Calls `on_match` with everything within `radius` of `query`, in order.
#[inline(always)]
fn each_near<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    query: &Fingerprint<WORDS>,
    radius: Radius,
    mut on_match: impl FnMut(Match) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (steps, rest) = prints.as_chunks::<STEP>();
    for (step, prints) in steps.iter().enumerate() {
        let distances: [u32; STEP] = std::array::from_fn(|at| query.distance(&prints[at]));
        if distances.iter().fold(u32::MAX, |least, &distance| least.min(distance)) <= radius.bits()
        {
            report(step * STEP, &distances, radius, &mut on_match)?;
        }
    }
    let distances: Vec<u32> = rest.iter().map(|print| query.distance(print)).collect();
    report(steps.len() * STEP, &distances, radius, &mut on_match)
}

fn report(
    first: usize,
    distances: &[u32],
    radius: Radius,
    on_match: &mut impl FnMut(Match) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let near = distances.iter().enumerate().filter(|(_, distance)| radius.contains(**distance));
    near.map(|(at, &distance)| Match { id: (first + at) as u32, distance }).try_for_each(on_match)
}
