//! Which whole images may be alike, in any orientation?

use super::{ImageDigest, ImageSearch};
use crate::{
    AllPairs, Fingerprint, PairsError, Resources, Search, StaticIndex, Width,
    extract::image::Orientation,
};

/// Pairs of images, the earlier one first, that include all that are [alike](are_alike) as a whole.
/// Some are there twice.
pub(super) fn candidates(
    search: &ImageSearch,
    digests: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<(u32, u32)>, PairsError> {
    match search.recipe.width {
        Width::Bits32 | Width::Bits64 => candidates_in::<1>(search, digests, resources),
        Width::Bits128 => candidates_in::<2>(search, digests, resources),
        Width::Bits256 => candidates_in::<4>(search, digests, resources),
    }
}

/// The same of images and keepers: the place of the image, then that of the keeper.
pub(super) fn candidates_between(
    search: &ImageSearch,
    items: &[&ImageDigest],
    keepers: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<(u32, u32)>, PairsError> {
    match search.recipe.width {
        Width::Bits32 | Width::Bits64 => between::<1>(search, items, keepers, resources),
        Width::Bits128 => between::<2>(search, items, keepers, resources),
        Width::Bits256 => between::<4>(search, items, keepers, resources),
    }
}

/// How images are compared, for people to read.
pub(super) fn plan(
    search: &ImageSearch,
    digests: &[ImageDigest],
    resources: &Resources<'_>,
) -> Result<String, PairsError> {
    fn plan<const WORDS: usize>(
        search: &AllPairs<'_>,
        digests: &[&ImageDigest],
    ) -> Result<String, PairsError> {
        Ok(search.plan(&upright::<WORDS>(digests))?.to_string())
    }
    let digests: Vec<&ImageDigest> = digests.iter().collect();
    let pairs = AllPairs::new(search.radius).resources(resources.clone());
    match search.recipe.width {
        Width::Bits32 | Width::Bits64 => plan::<1>(&pairs, &digests),
        Width::Bits128 => plan::<2>(&pairs, &digests),
        Width::Bits256 => plan::<4>(&pairs, &digests),
    }
}

/// Whether two images are alike as a whole.
pub(super) fn are_alike(search: &ImageSearch, one: &ImageDigest, two: &ImageDigest) -> bool {
    let near = search.compare(one, two);
    near.is_some_and(|near| search.radius.contains(near.distance))
}

fn upright<const WORDS: usize>(digests: &[&ImageDigest]) -> Vec<Fingerprint<WORDS>> {
    let prints = digests.iter().flat_map(|digest| &digest.prints);
    prints.map(|prints| prints.upright.resize()).collect()
}

/// The images that have a fingerprint for one of the other orientations, and it.
fn turned<const WORDS: usize>(
    digests: &[&ImageDigest],
    orientation: Orientation,
) -> (Vec<u32>, Vec<Fingerprint<WORDS>>) {
    let turned = |digest: &ImageDigest| {
        Some(digest.prints.as_ref()?.turned.as_deref()?[orientation.index()].resize())
    };
    (0..).zip(digests).filter_map(|(at, digest)| Some((at, turned(digest)?))).unzip()
}

fn candidates_in<const WORDS: usize>(
    search: &ImageSearch,
    digests: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let prints = upright::<WORDS>(digests);
    let mut pairs = Vec::new();
    let upright = AllPairs::new(search.radius).resources(resources.clone()).run(&prints)?;
    upright.for_each(|pair| pairs.push((pair.a, pair.b)));
    if search.orientations {
        let index = StaticIndex::build_with(&prints, search.radius, resources.kernel_to_use())?;
        for &orientation in &Orientation::ALL[1..] {
            let (places, queries) = turned(digests, orientation);
            index.par_search_batch(&queries, search.radius, |query, found| {
                let (one, two) = (found.id, places[query]);
                if one != two {
                    pairs.push((one.min(two), one.max(two)));
                }
            })?;
        }
    }
    Ok(pairs)
}

fn between<const WORDS: usize>(
    search: &ImageSearch,
    items: &[&ImageDigest],
    keepers: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let kernel = resources.kernel_to_use();
    let (own, kept) = (upright::<WORDS>(items), upright::<WORDS>(keepers));
    let mut pairs = Vec::new();
    let index = StaticIndex::build_with(&kept, search.radius, kernel)?;
    index.par_search_batch(&own, search.radius, |query, found| {
        pairs.push((query as u32, found.id));
    })?;
    let turnings = if search.orientations { &Orientation::ALL[1..] } else { &[] };
    // Turning one image is not the same as turning the other back: both are tried.
    for &orientation in turnings {
        let (places, queries) = turned(items, orientation);
        index.par_search_batch(&queries, search.radius, |query, found| {
            pairs.push((places[query], found.id));
        })?;
        let (places, turned) = turned(keepers, orientation);
        let index = StaticIndex::build_with(&turned, search.radius, kernel)?;
        index.par_search_batch(&own, search.radius, |query, found| {
            pairs.push((query as u32, places[found.id as usize]));
        })?;
    }
    Ok(pairs)
}
