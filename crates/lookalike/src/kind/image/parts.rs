//! Whether two images show parts of each other: cropped, framed, captioned, or slightly tilted.
//!
//! Fragments that agree on a scale and a shift give the position of one image on the other. Most blocks of
//! their small copies must correlate there. The result depends only on the two images, not on their order.

use std::cmp::Ordering;

use super::{Criteria, Extra};
use crate::{
    Radius,
    digest::DigestRef,
    extract::image::{Overlap, Small},
    fragments::{Fragment, FragmentSearch, Place, Shift},
};

/// How fragments of images are compared, and the number that must agree.
pub(super) const SEARCH: FragmentSearch =
    FragmentSearch { radius: Radius::new(5), tolerance: 6.0, scale_tolerance: 0.4, votes: 2 };

/// Whole images within this distance are also compared where they overlap, whether or not fragments
/// agree.
pub(super) const WORTH_A_LOOK: Radius = Radius::new(90);

/// The accepted scales and angles between images.
const SCALES: std::ops::RangeInclusive<f32> = 0.2..=5.0;
const DEGREES: f32 = 15.0;

/// Agreeing fragments are evidence themselves. With few or none of them, the overlap must be better.
const FEW: u32 = 3;

/// The evidence of parts.
struct Parts<'a> {
    fragments: &'a [Fragment],
    small: &'a Small,
}

impl Parts<'_> {
    /// A total order of parts.
    fn order(&self, other: &Self) -> Ordering {
        let bits = |fragment: &Fragment| {
            let Place { x, y, scale } = fragment.place;
            (fragment.print.0, [x, y, scale].map(f32::to_bits))
        };
        let fragments = |parts: &Self| parts.fragments.iter().map(bits).collect::<Vec<_>>();
        // Small copies nearly always differ in their first bytes.
        self.small.cmp(other.small).then_with(|| fragments(self).cmp(&fragments(other)))
    }

    /// The shift that maps the whole of one image to the whole of the other.
    fn stretched(&self, other: &Self) -> Shift {
        let (one, two) = (self.small.size(), other.small.size());
        let scale = (two.0 / one.0 + two.1 / one.1) / 2.0;
        let (x, y) = ((two.0 - one.0 * scale) / 2.0, (two.1 - one.1 * scale) / 2.0);
        Shift { cosine: scale, sine: 0.0, x, y }
    }

    /// The share of the overlap of two images that is the same, 0 to 1, if they match under a shift that
    /// this number of fragments agree on.
    fn overlap(&self, other: &Self, shift: &Shift, votes: u32) -> Option<f32> {
        if !(SCALES.contains(&shift.scale()) && shift.degrees().abs() <= DEGREES) {
            return None;
        }
        let back = shift.inverse()?;
        let [one, two] =
            [self.small.overlap(other.small, shift), other.small.overlap(self.small, &back)];
        // The image that shows less of the scene shows it in more detail.
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

/// The share of the overlap of two images that is the same, 0 to 1, if they show parts of each other.
///
/// A shift is tried if enough fragments agree on it, and so is the one between the whole images if their
/// fingerprints are near enough. Both are in pixels of the second image, so the two images are put in an
/// order that depends only on their content.
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
