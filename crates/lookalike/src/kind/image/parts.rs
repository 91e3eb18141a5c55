//! Do two images show parts of each other: cropped, framed, captioned, tilted a little?
//!
//! Fragments that agree on a scale and a shift say where one image lies on the other; most of the blocks
//! of small copies must correlate there. What is said of two images depends on these two alone, and not
//! on which is the first.

use std::cmp::Ordering;

use super::{Criteria, Extra};
use crate::{
    Radius,
    digest::DigestRef,
    extract::image::{Overlap, Small},
    fragments::{Fragment, FragmentSearch, Place, Shift},
};

/// How fragments of images are compared, and how many must agree.
pub(super) const SEARCH: FragmentSearch =
    FragmentSearch { radius: Radius::new(5), tolerance: 6.0, scale_tolerance: 0.4, votes: 2 };

/// Whole images whose fingerprints are at most this far apart are laid over each other, too, whether or
/// not fragments agree.
pub(super) const WORTH_A_LOOK: Radius = Radius::new(90);

/// Scales and angles between images that are believed.
const SCALES: std::ops::RangeInclusive<f32> = 0.2..=5.0;
const DEGREES: f32 = 15.0;

/// Fragments that agree on a shift are evidence by themselves: with few of them, or none, the
/// overlap must say more.
const FEW: u32 = 3;

/// What parts are compared by.
struct Parts<'a> {
    fragments: &'a [Fragment],
    small: &'a Small,
}

impl Parts<'_> {
    /// An order of all parts there are.
    fn order(&self, other: &Self) -> Ordering {
        let bits = |fragment: &Fragment| {
            let Place { x, y, scale } = fragment.place;
            (fragment.print.0, [x, y, scale].map(f32::to_bits))
        };
        let fragments = |parts: &Self| parts.fragments.iter().map(bits).collect::<Vec<_>>();
        // Small copies nearly always differ in their first bytes.
        self.small.cmp(other.small).then_with(|| fragments(self).cmp(&fragments(other)))
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
            [self.small.overlap(other.small, shift), other.small.overlap(self.small, &back)];
        // The finer look: the image that shows less of the scene shows it larger.
        let overlap = if one.blocks >= two.blocks { one } else { two };
        is_same(&overlap, votes).then_some(overlap.correlation)
    }
}

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
pub(super) fn overlap(
    by: &Criteria,
    digests: [DigestRef<'_>; 2],
    extras: [Extra; 2],
) -> Option<f32> {
    let distance = digests[0].distance(&digests[1])?;
    let parts = |at: usize| {
        let small = extras[at].small.as_ref()?;
        Some(Parts { fragments: digests[at].parts(), small })
    };
    let (one, two) = (parts(0)?, parts(1)?);
    let (one, two) = if one.order(&two).is_le() { (one, two) } else { (two, one) };
    let agreed = SEARCH
        .vote(one.fragments, two.fragments, &by.background, by.kernel)
        .and_then(|(shift, votes)| one.overlap(&two, &shift, votes));
    let stretched = WORTH_A_LOOK
        .contains(distance)
        .then(|| one.stretched(&two))
        .and_then(|shift| one.overlap(&two, &shift, 0));
    agreed.into_iter().chain(stretched).max_by(f32::total_cmp)
}
