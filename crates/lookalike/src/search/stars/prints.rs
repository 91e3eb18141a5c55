//! Items that are alike if their fingerprints are within a radius.

use super::{Alike, expected_pairs, first_in_growing_slabs};
use crate::{
    AllPairs, Closeness, Fingerprint, Radius, Resources, StaticIndex,
    alike::{AlikePairs, Nearest},
    index::Search,
    pairs::PairsError,
};

/// Items that are alike if their fingerprints are within a radius.
pub(in crate::search) struct NearPrints<'a, const WORDS: usize> {
    pub prints: &'a [Fingerprint<WORDS>],
    pub radius: Radius,
    pub resources: &'a Resources<'a>,
}

/// Fingerprints of which the pairs are counted, to estimate how many there are of all.
const SAMPLE: usize = if cfg!(test) { 16 } else { 8192 };

/// What an index takes beside a fingerprint.
const INDEX_BYTES: usize = 64;

impl<const WORDS: usize> NearPrints<'_, WORDS> {
    fn prints(&self, items: impl IntoIterator<Item = u32>) -> Vec<Fingerprint<WORDS>> {
        items.into_iter().map(|item| self.prints[item as usize]).collect()
    }
}

impl<const WORDS: usize> Alike for NearPrints<'_, WORDS> {
    fn count(&self) -> usize {
        self.prints.len()
    }

    fn expected_pairs(&self, items: &[u32]) -> Result<f64, PairsError> {
        expected_pairs(items, SAMPLE, |sample| {
            let prints = self.prints(sample.iter().copied());
            Ok(AllPairs::new(self.radius).run(&prints)?.count())
        })
    }

    fn pairs(&self, items: &[u32]) -> Result<AlikePairs, PairsError> {
        let search = AllPairs::new(self.radius).resources(self.resources.clone());
        Ok(AlikePairs::from(&search.run(&self.prints(items.iter().copied()))?))
    }

    fn first_alike(
        &self,
        keepers: &[u32],
        items: &[u32],
    ) -> Result<Vec<Option<Nearest>>, PairsError> {
        let kernel = self.resources.kernel_to_use();
        let bytes = INDEX_BYTES + 8 * WORDS;
        first_in_growing_slabs(keepers, items.len(), bytes, self.resources, |slab, waiting| {
            let slab_prints = self.prints(slab.iter().copied());
            let index = StaticIndex::build_with(&slab_prints, self.radius, kernel)?;
            let queries = self.prints(waiting.iter().map(|&at| items[at]));
            // Positions in the slab first: that is the order of keepers.
            let mut first: Vec<Option<(u32, u32)>> = vec![None; waiting.len()];
            index.par_search_batch(&queries, self.radius, |query, found| {
                let found = (found.id, found.distance);
                let first = &mut first[query];
                *first = Some(first.map_or(found, |first| first.min(found)));
            })?;
            let nearest = |(at, distance): (u32, u32)| Nearest {
                keeper: slab[at as usize],
                closeness: Closeness::within(distance),
            };
            Ok(first.into_iter().map(|first| first.map(nearest)).collect())
        })
    }
}
