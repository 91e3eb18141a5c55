//! Which whole pictures are alike, in any orientation?

use std::collections::BTreeMap;

use super::{Found, PictureDigest, PictureSearch};
use crate::{
    AlikePair, AllPairs, Fingerprint, Pair, PairsError, Search, StaticIndex,
    extract::image::Orientation,
};

/// Pairs of pictures whose fingerprints are within the radius; a turned pair has the distance of its
/// best orientation.
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
    let mut options = AllPairs::new(widest).kernel(search.kernel).progress(search.progress);
    if let Some(bytes) = search.memory {
        options = options.memory(bytes);
    }
    let upright = options.run(&prints)?;
    let plan = upright.plan().to_string();
    let mut pairs = Vec::new();
    upright.for_each(|Pair { a, b, distance }| {
        if search.radius.contains(distance)
            || agree(search, &digests[a as usize], &digests[b as usize])
        {
            pairs.push(AlikePair { a, b, distance, similarity: None });
        }
    });
    if search.orientations {
        pairs = with_turned(search, digests, &prints, pairs)?;
    }
    Ok(Found { pairs, plan })
}

/// Whether the second opinion takes two pictures for alike.
fn agree(search: &PictureSearch<'_>, one: &PictureDigest, two: &PictureDigest) -> bool {
    let gradients = |digest: &PictureDigest| digest.prints.as_ref()?.gradients;
    match (search.second, gradients(one), gradients(two)) {
        (Some(second), Some(one), Some(two)) => second.gradients.contains(one.distance(&two)),
        _ => false,
    }
}

/// Adds the pairs of which the later picture is alike the earlier one when it is turned.
fn with_turned<const WORDS: usize>(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
    prints: &[Fingerprint<WORDS>],
    pairs: Vec<AlikePair>,
) -> Result<Vec<AlikePair>, PairsError> {
    let mut nearest: BTreeMap<(u32, u32), u32> =
        pairs.iter().map(|pair| ((pair.a, pair.b), pair.distance)).collect();
    let index = StaticIndex::build(prints, search.radius)?;
    for orientation in &Orientation::ALL[1..] {
        let turned = |digest: &PictureDigest| {
            Some(digest.prints.as_ref()?.turned.as_deref()?[orientation.index()].resize())
        };
        let (entries, queries): (Vec<u32>, Vec<Fingerprint<WORDS>>) =
            (0..).zip(digests).filter_map(|(entry, digest)| Some((entry, turned(digest)?))).unzip();
        index.par_search_batch(&queries, search.radius, |query, found| {
            let later = entries[query];
            if found.id < later {
                let known = nearest.entry((found.id, later)).or_insert(found.distance);
                *known = found.distance.min(*known);
            }
        })?;
    }
    let pair = |((a, b), distance)| AlikePair { a, b, distance, similarity: None };
    Ok(nearest.into_iter().map(pair).collect())
}
