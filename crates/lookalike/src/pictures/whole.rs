//! Which whole pictures are alike, in any orientation?

use super::{Found, PictureDigest, PictureSearch};
use crate::{
    AlikePair, AllPairs, Fingerprint, PairsError, Search, StaticIndex, extract::image::Orientation,
};

/// Pairs of pictures that are alike as a whole, each with the distance that
/// [`compare`](PictureSearch::compare) tells.
pub(super) fn find<const WORDS: usize>(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
) -> Result<Found, PairsError> {
    let prints: Vec<Fingerprint<WORDS>> = digests
        .iter()
        .flat_map(|digest| &digest.prints)
        .map(|prints| prints.upright.resize())
        .collect();
    let widest = search.second.map_or(search.radius, |second| second.radius.max(search.radius));
    let upright = AllPairs::new(widest).resources(search.resources.clone()).run(&prints)?;
    let plan = upright.plan().to_string();
    let mut pairs = Vec::new();
    let mut add = |a: u32, b: u32| {
        let (one, two) = (&digests[a as usize], &digests[b as usize]);
        if are_alike(search, one, two)
            && let Some(near) = search.compare(one, two)
        {
            pairs.push(AlikePair { a, b, distance: near.distance, similarity: None });
        }
    };
    upright.for_each(|pair| add(pair.a, pair.b));
    if search.orientations {
        turned(search, digests, &prints)?.into_iter().for_each(|(a, b)| add(a, b));
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
    }
    Ok(Found { pairs, plan })
}

/// Whether two pictures are alike as a whole: near enough, or, upright, not quite so near and the
/// second opinion agrees.
pub(super) fn are_alike(
    search: &PictureSearch<'_>,
    one: &PictureDigest,
    two: &PictureDigest,
) -> bool {
    let near = search.compare(one, two);
    near.is_some_and(|near| search.radius.contains(near.distance))
        || second_opinion(search, one, two).unwrap_or(false)
}

/// What the second opinion says, if there is one.
fn second_opinion(
    search: &PictureSearch<'_>,
    one: &PictureDigest,
    two: &PictureDigest,
) -> Option<bool> {
    let (second, one, two) = (search.second?, one.prints.as_ref()?, two.prints.as_ref()?);
    Some(
        second.radius.contains(one.upright.distance(&two.upright))
            && second.gradients.contains(one.gradients?.distance(&two.gradients?)),
    )
}

/// Pairs of which either picture is near the other one when it is turned. Some are there twice.
fn turned<const WORDS: usize>(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
    prints: &[Fingerprint<WORDS>],
) -> Result<Vec<(u32, u32)>, PairsError> {
    let mut pairs = Vec::new();
    let index = StaticIndex::build(prints, search.radius)?;
    for orientation in &Orientation::ALL[1..] {
        let turned = |digest: &PictureDigest| {
            Some(digest.prints.as_ref()?.turned.as_deref()?[orientation.index()].resize())
        };
        let (entries, queries): (Vec<u32>, Vec<Fingerprint<WORDS>>) =
            (0..).zip(digests).filter_map(|(entry, digest)| Some((entry, turned(digest)?))).unzip();
        index.par_search_batch(&queries, search.radius, |query, found| {
            let (one, two) = (found.id, entries[query]);
            if one != two {
                pairs.push((one.min(two), one.max(two)));
            }
        })?;
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}
