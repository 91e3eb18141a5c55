//! Which of some images are alike, and which keeper is the first that one is alike?
//!
//! `whole` and `partial` name candidates; [`ImageSearch::are_alike`] judges them. Images are
//! known by their places in a list of digests, all of which have fingerprints.

use rayon::prelude::*;

use super::{ImageDigest, ImageSearch, partial, whole};
use crate::{
    AlikePair, AlikePairs, PairsError, Resources,
    stars::{Alike, Nearest, expected_pairs, first_in_growing_slabs},
};

/// Every pair, in order.
pub(super) fn find(
    search: &ImageSearch,
    digests: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<AlikePair>, PairsError> {
    let judge = |(a, b): (u32, u32)| {
        let (one, two) = (digests[a as usize], digests[b as usize]);
        let distance = distance_if_alike(search, one, two)?;
        Some(AlikePair { a, b, distance, similarity: None })
    };
    let candidates = whole::candidates(search, digests, resources)?;
    let mut pairs: Vec<AlikePair> = candidates.into_par_iter().filter_map(judge).collect();
    if search.partial {
        pairs.append(&mut partial::find(search, digests, resources, &judge)?);
    }
    pairs.par_sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs.dedup_by_key(|pair| (pair.a, pair.b));
    Ok(pairs)
}

/// The distance of two images, if they are alike.
fn distance_if_alike(search: &ImageSearch, one: &ImageDigest, two: &ImageDigest) -> Option<u32> {
    let is_alike = search.are_alike(one, two);
    is_alike.then(|| search.compare(one, two)).flatten().map(|near| near.distance)
}

/// Images to be grouped around keepers.
pub(super) struct AlikeDigests<'a> {
    pub search: &'a ImageSearch,
    pub digests: &'a [ImageDigest],
    pub resources: &'a Resources<'a>,
}

/// Images of which the pairs are counted, to estimate how many there are of all.
const SAMPLE: usize = if cfg!(test) { 16 } else { 1024 };

/// What indexes take for a keeper: one of its fingerprint, or of all in eight orientations, and one
/// of its fragments.
const KEEPER_BYTES: usize = 8 * 96;
const KEEPER_PARTS_BYTES: usize = 160 * 72;

/// Images that are compared with a slab of keepers at once: candidates lie in memory.
const AT_ONCE: usize = 4096;

impl AlikeDigests<'_> {
    fn digests<'s>(&'s self, items: impl IntoIterator<Item = &'s u32>) -> Vec<&'s ImageDigest> {
        items.into_iter().map(|&item| &self.digests[item as usize]).collect()
    }

    /// By item, the first of a slab of keepers that it is alike.
    fn first_of_slab(
        &self,
        slab: &[u32],
        items: &[&ImageDigest],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let Self { search, resources, .. } = self;
        let keepers = self.digests(slab);
        let mut candidates = whole::candidates_between(search, items, &keepers, resources)?;
        if search.partial {
            let more = partial::candidates_between(search, items, &keepers, resources)?;
            candidates.extend(more);
        }
        candidates.par_sort_unstable();
        candidates.dedup();
        let first = |candidates: &[(u32, u32)]| {
            let nearest = candidates.iter().find_map(|&(item, keeper)| {
                let (one, two) = (items[item as usize], keepers[keeper as usize]);
                let distance = distance_if_alike(search, one, two)?;
                Some(Nearest { keeper: slab[keeper as usize], distance, similarity: None })
            });
            (candidates[0].0, nearest)
        };
        let by_item: Vec<&[(u32, u32)]> = candidates.chunk_by(|one, two| one.0 == two.0).collect();
        let mut nearest = vec![None; items.len()];
        for (item, found) in by_item.into_par_iter().map(first).collect::<Vec<_>>() {
            nearest[item as usize] = found;
        }
        Ok(nearest)
    }
}

impl Alike for AlikeDigests<'_> {
    fn count(&self) -> usize {
        self.digests.len()
    }

    fn expected_pairs(&self, items: &[u32]) -> Result<f64, PairsError> {
        let quietly = Resources::new();
        expected_pairs(items, SAMPLE, |sample| {
            Ok(find(self.search, &self.digests(sample), &quietly)?.len() as u64)
        })
    }

    fn pairs(&self, items: &[u32]) -> Result<AlikePairs, PairsError> {
        let pairs = find(self.search, &self.digests(items), self.resources)?;
        Ok(AlikePairs::from_pairs(pairs))
    }

    fn first_alike(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let parts = if self.search.partial { KEEPER_PARTS_BYTES } else { 0 };
        let bytes = KEEPER_BYTES + parts;
        first_in_growing_slabs(keepers, items.len(), bytes, self.resources, |slab, waiting| {
            let mut nearest = Vec::with_capacity(waiting.len());
            for waiting in waiting.chunks(AT_ONCE) {
                let some: Vec<u32> = waiting.iter().map(|&at| items[at]).collect();
                nearest.append(&mut self.first_of_slab(slab, &self.digests(&some))?);
            }
            Ok(nearest)
        })
    }
}
