//! Which pictures show parts of each other: cropped, framed, captioned, tilted a little?
//!
//! Three steps, each cheaper per pair than the next and each passing on less:
//!
//! 1. Fragments within a small radius that agree on a scale and a shift, or whole fingerprints that
//!    are not too far apart, name candidates.
//! 2. Small copies of the two pictures are laid over each other as the shift says.
//! 3. Most of the blocks there must correlate.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{PictureDigest, PictureSearch};
use crate::{
    AllPairs, Fingerprint, PairsError, Radius,
    extract::image::{Gray, LOCAL_SIDE, Overlap, Part, Picture, Small, fragments},
    fragments::{Agreement, Fragment, FragmentSearch, Fragments, Place, Shift},
};

/// What is kept of a picture to find its parts: some 160 fragments of 20 bytes and 4 KB of gray.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureParts {
    /// What is in its parts, and where.
    pub fragments: Vec<Fragment>,
    /// A small copy.
    pub small: Small,
}

impl PictureParts {
    /// Raised whenever the same picture is taken apart in another way.
    pub const VERSION: u32 = 1;

    /// How fragments of pictures are compared, and how many must agree.
    pub const SEARCH: FragmentSearch = FragmentSearch {
        radius: Radius::new(5),
        tolerance: 6.0,
        scale_tolerance: 0.4,
        votes: 2,
        common: 2000,
    };

    /// Whole pictures whose fingerprints are at most this far apart are worth a look, too, whether
    /// or not fragments agree.
    pub const WORTH_A_LOOK: Radius = Radius::new(90);

    /// Takes a picture apart.
    pub fn of(picture: &Picture) -> Self {
        let pixels = &picture.pixels;
        let whole = Part { x: 0, y: 0, width: pixels.width(), height: pixels.height() };
        let gray = Gray::shrunk(pixels, whole, LOCAL_SIDE);
        Self { fragments: fragments(&gray), small: Small::of(&gray) }
    }

    /// Appends all of it as bytes: the number of fragments, each with its place, and the small copy.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend((self.fragments.len() as u32).to_le_bytes());
        for Fragment { print, place } in &self.fragments {
            bytes.extend(print.to_le_bytes());
            bytes.extend([place.x, place.y, place.scale].iter().flat_map(|at| at.to_le_bytes()));
        }
        self.small.write(bytes);
    }

    /// What was written as these bytes; `None` if nothing was.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let length = (u32::from_le_bytes(*count) as usize).checked_mul(20)?;
        let (fragments, rest) = rest.split_at_checked(length)?;
        let fragment = |bytes: &[u8; 20]| {
            let (print, place) = bytes.split_first_chunk::<8>()?;
            let mut places = place.as_chunks::<4>().0.iter().map(|at| f32::from_le_bytes(*at));
            let place = Place { x: places.next()?, y: places.next()?, scale: places.next()? };
            Some(Fragment { print: Fingerprint([u64::from_le_bytes(*print)]), place })
        };
        let fragments =
            fragments.as_chunks::<20>().0.iter().map(fragment).collect::<Option<_>>()?;
        Some(Self { fragments, small: Small::read(rest)? })
    }

    /// How much of the overlap of two pictures is the same, 0 to 1, if they are taken for alike.
    fn alike(&self, other: &Self, shift: &Shift, votes: u32) -> Option<f32> {
        if !(SCALES.contains(&shift.scale()) && shift.degrees().abs() <= DEGREES) {
            return None;
        }
        let back = shift.inverse()?;
        let [one, two] =
            [self.small.overlap(&other.small, shift), other.small.overlap(&self.small, &back)];
        // The finer look: the picture that shows less of the scene shows it larger.
        let overlap = if one.blocks >= two.blocks { one } else { two };
        is_same(&overlap, votes).then_some(overlap.correlation)
    }
}

/// Scales and angles between pictures that are believed.
const SCALES: std::ops::RangeInclusive<f32> = 0.2..=5.0;
const DEGREES: f32 = 15.0;

/// Fragments that agree on a shift are evidence by themselves: with few of them, or none, the
/// overlap must say more.
const FEW: u32 = 3;

fn is_same(overlap: &Overlap, votes: u32) -> bool {
    let (share, correlation) = if votes > FEW { (0.6, 0.55) } else { (0.7, 0.75) };
    overlap.blocks >= 8
        && overlap.same as f32 >= share * overlap.blocks as f32
        && overlap.correlation >= correlation
}

/// Pairs of entries that show parts of each other, each with how much of the overlap is the same.
pub(super) fn find(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
) -> Result<BTreeMap<(u32, u32), f32>, PairsError> {
    let mut all = Fragments::new();
    for digest in digests {
        all.push(digest.parts.iter().flat_map(|parts| parts.fragments.iter().copied()));
    }
    let agreeing = all.agreeing(&PictureParts::SEARCH, search.kernel, search.progress)?;
    let mut candidates = agreeing;
    candidates.extend(stretched(search, digests)?);
    let parts = |entry: u32| digests[entry as usize].parts.as_ref();
    let found: Vec<Option<((u32, u32), f32)>> = candidates
        .par_iter()
        .map(|&Agreement { a, b, shift, votes }| {
            Some(((a, b), parts(a)?.alike(parts(b)?, &shift, votes)?))
        })
        .collect();
    let mut pairs = BTreeMap::new();
    for (pair, same) in found.into_iter().flatten() {
        let best = pairs.entry(pair).or_insert(same);
        *best = same.max(*best);
    }
    Ok(pairs)
}

/// Pairs that may be the same as a whole, each with the shift that lays one on the other.
fn stretched(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
) -> Result<Vec<Agreement>, PairsError> {
    let (entries, prints): (Vec<usize>, Vec<_>) = digests
        .iter()
        .enumerate()
        .filter_map(|(entry, digest)| Some((entry, digest.prints.as_ref()?.upright)))
        .unzip();
    let found = AllPairs::new(PictureParts::WORTH_A_LOOK).kernel(search.kernel).run(&prints)?;
    let mut pairs = Vec::new();
    found.for_each(|pair| {
        let (a, b) = (entries[pair.a as usize], entries[pair.b as usize]);
        let size = |entry: usize| digests[entry].parts.as_ref().map(|parts| parts.small.size());
        if let (Some(one), Some(two)) = (size(a), size(b)) {
            let scale = (two.0 / one.0 + two.1 / one.1) / 2.0;
            let (x, y) = ((two.0 - one.0 * scale) / 2.0, (two.1 - one.1 * scale) / 2.0);
            let shift = Shift { cosine: scale, sine: 0.0, x, y };
            pairs.push(Agreement { a: a as u32, b: b as u32, shift, votes: 0 });
        }
    });
    Ok(pairs)
}
