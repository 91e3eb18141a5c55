//! Which of these images are alike?
//!
//! [`ImageSearch`] holds the choices. It makes a [`ImageDigest`] of the bytes of each file, on
//! any thread; [`Images`] takes digests in order and answers: [`ImagePairs`] or
//! [`ImageGroups`]. Images are known by the order in which they came: no names or files here.
//!
//! | file | question |
//! |---|---|
//! | `digest.rs` | What is kept of an image, once its pixels are gone? |
//! | `alike.rs` | Which of some are alike, and which keeper is the first that one is alike? |
//! | `whole.rs` | Which whole images may be alike, in any orientation? |
//! | `partial.rs` | Which may show parts of each other? |
//! | `collection.rs` | Which of a durable collection are alike this one? |

mod alike;
#[cfg(feature = "collection")]
mod collection;
mod digest;
mod partial;
#[cfg(test)]
mod tests;
mod whole;

use std::{collections::HashMap, sync::Arc};

use crate::{
    AlikePair, AlikePairs, How, ImageRecipe, Kernel, PairsError, Radius, Resources,
    alike::PackedPair,
    extract::image::{Decoder, Limits},
    fragments::Background,
    groups::Groups,
    resources::stoppable,
    sorted::{Room, Sorted},
    stars::{Alike, Classes},
};
use alike::AlikeDigests;
#[cfg(feature = "collection")]
pub use collection::{ImageCollection, NewImage};
use digest::DIGEST_VERSION;
pub use digest::{ImageCloseness, ImageDigest};
pub use partial::ImageParts;

/// How to look for alike images.
///
/// Two images are alike if their fingerprints are within the radius, upright or, if asked for, in
/// any of eight orientations. Files with the same bytes are equal. Images without a fingerprint
/// (too flat, too small) are alike only their equals.
///
/// ```
/// use lookalike::{ImagePreset, ImageSearch, Images, Resources};
/// use lookalike::extract::image::{Image, Pixels};
///
/// // Two images of hills, one of them darker, and one of something else.
/// let hills = |x: f32, y: f32| (x / 9.0).sin() * 50.0 + (y / 7.0 + x / 31.0).cos() * 60.0 + 120.0;
/// let paint = |colour: &dyn Fn(f32, f32) -> f32| {
///     let bytes = (0..100 * 100).map(|at| colour((at % 100) as f32, (at / 100) as f32) as u8);
///     Image::of_pixels(Pixels::gray(100, 100, bytes.collect()).unwrap())
/// };
/// let images = [
///     paint(&hills),
///     paint(&|x, y| hills(y, x * x / 90.0)),
///     paint(&|x, y| hills(x, y) * 0.8),
/// ];
///
/// let search = ImageSearch::new(&ImagePreset::ALL[0].recipe, ImagePreset::ALL[0].radius());
/// let mut all = Images::new();
/// for image in &images {
///     all.push(search.digest_image(image, &image.pixels.row(50)))?;
/// }
/// let resources = Resources::new();
/// let pairs = all.pairs(&search, &resources)?.pairs.to_vec()?;
/// assert_eq!(pairs.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>(), [(0, 2)]);
///
/// // What can go, if the last one is to stay? Without listing all pairs.
/// let groups = all.stars(&search, &[2, 1, 0], &resources)?.groups;
/// assert_eq!((groups[0].keep, groups[0].members[0].item), (2, 0));
/// # Ok::<(), lookalike::PairsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageSearch {
    recipe: ImageRecipe,
    radius: Radius,
    orientations: bool,
    partial: bool,
    background: Arc<Background>,
    limits: Limits,
    kernel: Kernel,
}

impl ImageSearch {
    /// Images whose fingerprints by `recipe` are within `radius`, upright.
    pub fn new(recipe: &ImageRecipe, radius: Radius) -> Self {
        Self {
            recipe: recipe.clone(),
            radius,
            orientations: false,
            partial: false,
            background: Arc::default(),
            limits: Limits::default(),
            kernel: Kernel::detect(),
        }
    }

    /// Looks for cropped, framed and captioned images, too, by their parts: takes several times as
    /// long.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }

    /// Fragments that say nothing about two images that share them: those of a logo or a frame
    /// that many have. None, unless they are given.
    #[must_use]
    pub fn background(mut self, background: impl Into<Arc<Background>>) -> Self {
        self.background = background.into();
        self
    }

    /// Looks for turned and mirrored images, too.
    #[must_use]
    pub fn orientations(mut self, orientations: bool) -> Self {
        self.orientations = orientations;
        self
    }

    /// How much decoding one image may cost.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Forces the kernel that two images are compared with.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// What decodes images for this search.
    pub fn decoder(&self) -> Decoder {
        let colour = self.recipe.method.needs_colour();
        Decoder { limits: self.limits, colour, frames: true }
    }

    /// All that decides what a digest holds, for whoever keeps digests: another text means that kept
    /// ones are of no use.
    pub fn digest_name(&self) -> String {
        let turned = if self.orientations { ", orientations" } else { "" };
        let parts =
            if self.partial { format!(", parts {}", ImageParts::VERSION) } else { String::new() };
        format!("{}{turned}{parts}, digest {DIGEST_VERSION}", self.recipe)
    }
}

/// Takes images as they arrive, then says which of them are alike.
///
/// Images with the same bytes are held once.
#[derive(Clone, Debug, Default)]
pub struct Images {
    items: u32,
    flat: u32,
    /// First images by content.
    contents: HashMap<[u64; 2], u32>,
    /// Every image that equals an earlier one, after the first that it equals.
    equal: Vec<(u32, u32)>,
    /// First images that have a fingerprint, and their digests.
    firsts: Vec<u32>,
    digests: Vec<ImageDigest>,
}

impl Images {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an image, which takes the next number.
    pub fn push(&mut self, digest: ImageDigest) -> Result<(), PairsError> {
        let item = self.items;
        self.items = item.checked_add(1).ok_or(PairsError::TooMany { items: 1 << 32 })?;
        self.flat += u32::from(digest.prints.is_none());
        let first = *self.contents.entry(digest.content).or_insert(item);
        if first != item {
            self.equal.push((first, item));
        } else if digest.prints.is_some() {
            self.firsts.push(item);
            self.digests.push(digest);
        }
        Ok(())
    }

    /// How many images were pushed.
    pub fn len(&self) -> usize {
        self.items as usize
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Every pair that is alike by `search`, which must be as the one that digested them.
    pub fn pairs(
        &self,
        search: &ImageSearch,
        resources: &Resources<'_>,
    ) -> Result<ImagePairs, PairsError> {
        let digests: Vec<&ImageDigest> = self.digests.iter().collect();
        let pairs = stoppable(|| alike::find(search, &digests, resources))?;
        resources.report(1.0);
        let item = |entry: u32| self.firsts[entry as usize];
        let near = pairs
            .into_iter()
            .map(|pair| PackedPair::from(AlikePair { a: item(pair.a), b: item(pair.b), ..pair }));
        let near = Sorted::held(near.collect());
        let pairs = AlikePairs::new(near, self.equal.clone(), None, Room::unlimited());
        Ok(ImagePairs { pairs, found: self.found(search, resources)? })
    }

    /// Groups around keepers: images are taken in `order`; one that is alike an earlier keeper
    /// belongs to the first such keeper in that order, otherwise it becomes a keeper. Many
    /// near-identical images are compared with keepers alone.
    pub fn stars(
        &self,
        search: &ImageSearch,
        order: &[u32],
        resources: &Resources<'_>,
    ) -> Result<ImageGroups, PairsError> {
        let digests = AlikeDigests { search, digests: &self.digests, resources };
        let stars = |order: &[u32]| Ok((digests.stars(order)?, ()));
        let (groups, ()) = stoppable(|| self.classes().stars(order, stars))?;
        resources.report(1.0);
        Ok(ImageGroups { groups, found: self.found(search, resources)? })
    }

    /// Groups of the first `own` images around the others: each belongs to the first of the others
    /// that it is alike. Own images are not compared with each other.
    pub fn against(
        &self,
        search: &ImageSearch,
        own: usize,
        resources: &Resources<'_>,
    ) -> Result<ImageGroups, PairsError> {
        let digests = AlikeDigests { search, digests: &self.digests, resources };
        let around = |keepers: &[u32], own: &[u32]| Ok((digests.around(keepers, own)?, ()));
        let (groups, ()) = stoppable(|| self.classes().against(own as u32, around))?;
        resources.report(1.0);
        Ok(ImageGroups { groups, found: self.found(search, resources)? })
    }

    fn classes(&self) -> Classes<'_> {
        Classes::new(self.items, &self.firsts, &self.equal, None)
    }

    fn found(
        &self,
        search: &ImageSearch,
        resources: &Resources<'_>,
    ) -> Result<ImagesFound, PairsError> {
        let whole = whole::plan(search, &self.digests, resources)?;
        let (how, plan) = match search.partial {
            true => (How::Recall(PARTS_RECALL), format!("{whole}; parts by votes of fragments")),
            false => (How::Exact, whole),
        };
        Ok(ImagesFound { how, plan, flat: self.flat })
    }
}

/// The share of the pairs that [`ImageSearch::are_alike`] accepts which a search by parts finds.
///
/// Two images are voted on if two fragments of either are near two of the other, which no vote can
/// do without, so none is expected to be missing.
const PARTS_RECALL: f64 = 1.0;

/// Which images are alike, and how that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImagePairs {
    /// The alike ones, equal ones together.
    pub pairs: AlikePairs,
    /// How they were found.
    pub found: ImagesFound,
}

/// Which images belong to which, and how that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImageGroups {
    /// Keepers and those that belong to them.
    pub groups: Groups,
    /// How they were found.
    pub found: ImagesFound,
}

/// How alike images were found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImagesFound {
    /// Whether pairs may be missing: none of whole images; those that show parts of each other rest
    /// on votes, and have a recall.
    pub how: How,
    /// How they were found, for people to read.
    pub plan: String,
    /// Images too flat or too small for a fingerprint, alike only files with the same bytes.
    pub flat: u32,
}
