//! Which images show parts of each other: cropped, framed, captioned, tilted a little?
//!
//! Three steps, each cheaper per pair than the next and each passing on less:
//!
//! 1. Fragments within a small radius that agree on a scale and a shift, or whole fingerprints that
//!    are not too far apart, name candidates.
//! 2. Small copies of the two images are laid over each other as the shift says.
//! 3. Most of the blocks there must correlate.
//!
//! What is said of two images depends on these two alone, and not on which is the first: a batch
//! and a collection only find candidates, and [`overlap`] judges them.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::{ImageDigest, ImageSearch};
use crate::{
    AllPairs, Fingerprint, PairsError, Radius, Resources, Search, StaticIndex,
    extract::image::{Gray, Image, LOCAL_SIDE, Overlap, Part, Small, fragments},
    fragments::{Fragment, FragmentSearch, Fragments, Place, Shift},
};

/// What is kept of an image to find its parts: some 160 fragments of 20 bytes and 4 KB of gray.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageParts {
    /// What is in its parts, and where.
    pub fragments: Vec<Fragment>,
    /// A small copy.
    pub small: Small,
}

impl ImageParts {
    /// Raised whenever the same image is taken apart in another way.
    pub const VERSION: u32 = 2;

    /// How fragments of images are compared, and how many must agree.
    pub const SEARCH: FragmentSearch =
        FragmentSearch { radius: Radius::new(5), tolerance: 6.0, scale_tolerance: 0.4, votes: 2 };

    /// Whole images whose fingerprints are at most this far apart are worth a look, too, whether
    /// or not fragments agree.
    pub const WORTH_A_LOOK: Radius = Radius::new(90);

    /// Takes an image apart.
    pub fn of(image: &Image) -> Self {
        let pixels = &image.pixels;
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

    /// An order of all parts there are, that of their bytes.
    fn order(&self, other: &Self) -> Ordering {
        let bits = |fragment: &Fragment| {
            let Place { x, y, scale } = fragment.place;
            (fragment.print.0, [x, y, scale].map(f32::to_bits))
        };
        let fragments = |parts: &'_ Self| parts.fragments.iter().map(bits).collect::<Vec<_>>();
        // Small copies nearly always differ in their first bytes.
        self.small.cmp(&other.small).then_with(|| fragments(self).cmp(&fragments(other)))
    }

    /// The shift that lays all of one image on all of another.
    fn stretched(&self, other: &Self) -> Shift {
        let (one, two) = (self.small.size(), other.small.size());
        let scale = (two.0 / one.0 + two.1 / one.1) / 2.0;
        let (x, y) = ((two.0 - one.0 * scale) / 2.0, (two.1 - one.1 * scale) / 2.0);
        Shift { cosine: scale, sine: 0.0, x, y }
    }

    /// How much of the overlap of two images is the same, 0 to 1, if they are taken for alike when
    /// one is laid on the other by a shift that enough fragments agree on.
    fn overlap(&self, other: &Self, shift: &Shift, votes: u32) -> Option<f32> {
        if !(SCALES.contains(&shift.scale()) && shift.degrees().abs() <= DEGREES) {
            return None;
        }
        let back = shift.inverse()?;
        let [one, two] =
            [self.small.overlap(&other.small, shift), other.small.overlap(&self.small, &back)];
        // The finer look: the image that shows less of the scene shows it larger.
        let overlap = if one.blocks >= two.blocks { one } else { two };
        is_same(&overlap, votes).then_some(overlap.correlation)
    }
}

/// Scales and angles between images that are believed.
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

/// How much of the overlap of two images is the same, 0 to 1, if they show parts of each other.
///
/// A shift is tried if enough fragments agree on it, and the one that lays the whole images on each
/// other if their fingerprints are not too far apart. Both are measured in pixels of the second
/// image, so the two are taken in an order of their own.
pub(super) fn overlap(search: &ImageSearch, one: &ImageDigest, two: &ImageDigest) -> Option<f32> {
    let distance = one.prints.as_ref()?.upright.distance(&two.prints.as_ref()?.upright);
    let (one, two) = (one.parts.as_ref()?, two.parts.as_ref()?);
    let (one, two) = if one.order(two).is_le() { (one, two) } else { (two, one) };
    let agreed = ImageParts::SEARCH
        .vote(&one.fragments, &two.fragments, &search.background, search.kernel)
        .and_then(|(shift, votes)| one.overlap(two, &shift, votes));
    let stretched = ImageParts::WORTH_A_LOOK
        .contains(distance)
        .then(|| one.stretched(two))
        .and_then(|shift| one.overlap(two, &shift, 0));
    agreed.into_iter().chain(stretched).max_by(f32::total_cmp)
}

/// What `judge` says of all pairs of images, the earlier one first, that may show parts of each
/// other. Some are judged twice.
pub(super) fn find<T: Send>(
    search: &ImageSearch,
    digests: &[&ImageDigest],
    resources: &Resources<'_>,
    judge: &(impl Fn((u32, u32)) -> Option<T> + Sync),
) -> Result<Vec<T>, PairsError> {
    let parts = held(search, digests);
    let mut found = parts.sharing(&ImageParts::SEARCH, resources, |a, b| judge((a, b)))?;
    let (places, prints) = upright(digests);
    let near = AllPairs::new(ImageParts::WORTH_A_LOOK).resources(resources.clone());
    let mut pairs = Vec::new();
    near.run(&prints)?.for_each(|pair| {
        pairs.push((places[pair.a as usize], places[pair.b as usize]));
    });
    found.par_extend(pairs.into_par_iter().filter_map(judge));
    Ok(found)
}

/// Images and keepers that may show parts of each other: the place of the image, then that of
/// the keeper.
pub(super) fn candidates_between(
    search: &ImageSearch,
    items: &[&ImageDigest],
    keepers: &[&ImageDigest],
    resources: &Resources<'_>,
) -> Result<Vec<(u32, u32)>, PairsError> {
    let parts = held(search, keepers);
    let mut pairs = held(search, items).sharing_with(&parts, &ImageParts::SEARCH, resources)?;
    let ((places, queries), (kept, prints)) = (upright(items), upright(keepers));
    let radius = ImageParts::WORTH_A_LOOK;
    let index = StaticIndex::build_with(&prints, radius, resources.kernel_to_use())?;
    index.par_search_batch(&queries, radius, |query, found| {
        pairs.push((places[query], kept[found.id as usize]));
    })?;
    Ok(pairs)
}

/// The fragments of some images, but for those of the background.
fn held(search: &ImageSearch, digests: &[&ImageDigest]) -> Fragments {
    let mut all = Fragments::new();
    for digest in digests {
        let fragments = digest.parts.iter().flat_map(|parts| &parts.fragments);
        let prints = fragments.map(|fragment| fragment.print);
        all.push(prints.filter(|print| !search.background.contains(print)));
    }
    all
}

/// The images that have a fingerprint, and it.
fn upright(digests: &[&ImageDigest]) -> (Vec<u32>, Vec<Fingerprint<4>>) {
    let print = |digest: &ImageDigest| Some(digest.prints.as_ref()?.upright);
    (0..).zip(digests).filter_map(|(at, digest)| Some((at, print(digest)?))).unzip()
}
