//! Which of these pictures are alike?
//!
//! [`PictureSearch`] holds the choices. It makes a [`PictureDigest`] of the bytes of each file, on
//! any thread; a [`PictureCollector`] takes digests in order; [`PicturePairs`] is the answer.
//! Pictures are known by the order in which they came: no names or files here.
//!
//! | file | question |
//! |---|---|
//! | `digest.rs` | What is kept of a picture, once its pixels are gone? |
//! | `whole.rs` | Which whole pictures are alike, in any orientation? |
//! | `partial.rs` | Which show parts of each other? |
//! | `collection.rs` | Which of a durable collection are alike this one? |

#[cfg(feature = "collection")]
mod collection;
mod digest;
mod partial;
#[cfg(test)]
mod tests;
mod whole;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    AlikePair, AlikePairs, How, PairsError, PictureRecipe, Radius, Resources, SecondOpinion, Width,
    alike::PackedPair,
    extract::image::{Decoder, Limits},
    fragments::Background,
    sorted::{Room, Sorted},
};
#[cfg(feature = "collection")]
pub use collection::{NewPicture, PictureCollection};
use digest::DIGEST_VERSION;
pub use digest::{PictureCloseness, PictureDigest};
pub use partial::PictureParts;

/// How to look for alike pictures.
///
/// Two pictures are alike if their fingerprints are within the radius, upright or, if asked for, in
/// any of eight orientations. Files with the same bytes are equal. Pictures without a fingerprint
/// (too flat, too small) are alike only their equals.
///
/// ```
/// use lookalike::{PicturePreset, PictureSearch, extract::image::{Picture, Pixels}};
///
/// // Two pictures of hills, one of them darker, and one of something else.
/// let hills = |x: f32, y: f32| (x / 9.0).sin() * 50.0 + (y / 7.0 + x / 31.0).cos() * 60.0 + 120.0;
/// let paint = |colour: &dyn Fn(f32, f32) -> f32| {
///     let bytes = (0..100 * 100).map(|at| colour((at % 100) as f32, (at / 100) as f32) as u8);
///     Picture::of_pixels(Pixels::gray(100, 100, bytes.collect()).unwrap())
/// };
/// let pictures = [
///     paint(&hills),
///     paint(&|x, y| hills(y, x * x / 90.0)),
///     paint(&|x, y| hills(x, y) * 0.8),
/// ];
///
/// let search = PictureSearch::new(&PicturePreset::ALL[0].recipe, PicturePreset::ALL[0].radius());
/// let mut collector = search.collector();
/// for picture in &pictures {
///     collector.push(search.digest_picture(picture, &picture.pixels.row(50)))?;
/// }
/// let found = collector.finish()?;
/// assert_eq!(found.pairs.to_vec()?.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>(), [(0, 2)]);
/// # Ok::<(), lookalike::PairsError>(())
/// ```
#[derive(Clone)]
pub struct PictureSearch<'a> {
    recipe: PictureRecipe,
    radius: Radius,
    second: Option<SecondOpinion>,
    orientations: bool,
    partial: bool,
    background: Arc<Background>,
    limits: Limits,
    resources: Resources<'a>,
}

impl<'a> PictureSearch<'a> {
    /// Pictures whose fingerprints by `recipe` are within `radius`, upright.
    pub fn new(recipe: &PictureRecipe, radius: Radius) -> Self {
        Self {
            recipe: recipe.clone(),
            radius,
            second: None,
            orientations: false,
            partial: false,
            background: Arc::default(),
            limits: Limits::default(),
            resources: Resources::new(),
        }
    }

    /// Takes pictures beyond the radius for alike, too, if a second opinion says so.
    #[must_use]
    pub fn second_opinion(mut self, second: Option<SecondOpinion>) -> Self {
        self.second = second;
        self
    }

    /// Looks for cropped, framed and captioned pictures, too, by their parts: takes several times as
    /// long.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }

    /// Fragments that say nothing about two pictures that share them: those of a logo or a frame
    /// that many have. None, unless they are given.
    #[must_use]
    pub fn background(mut self, background: impl Into<Arc<Background>>) -> Self {
        self.background = background.into();
        self
    }

    /// Looks for turned and mirrored pictures, too.
    #[must_use]
    pub fn orientations(mut self, orientations: bool) -> Self {
        self.orientations = orientations;
        self
    }

    /// How much decoding one picture may cost.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What the search for pairs may use.
    #[must_use]
    pub fn resources(mut self, resources: Resources<'a>) -> Self {
        self.resources = resources;
        self
    }

    /// What decodes pictures for this search.
    pub fn decoder(&self) -> Decoder {
        Decoder { limits: self.limits, colour: self.recipe.method.needs_colour() }
    }

    /// All that decides what a digest holds, for whoever keeps digests: another text means that kept
    /// ones are of no use.
    pub fn digest_name(&self) -> String {
        let turned = if self.orientations { ", orientations" } else { "" };
        let parts =
            if self.partial { format!(", parts {}", PictureParts::VERSION) } else { String::new() };
        format!("{}{turned}{parts}, digest {DIGEST_VERSION}", self.recipe)
    }

    /// Starts taking pictures.
    pub fn collector(&self) -> PictureCollector<'a> {
        PictureCollector {
            search: self.clone(),
            items: 0,
            flat: 0,
            contents: HashMap::new(),
            equal: Vec::new(),
            firsts: Vec::new(),
            digests: Vec::new(),
        }
    }
}

/// Takes pictures as they arrive, then finds alike ones.
pub struct PictureCollector<'a> {
    search: PictureSearch<'a>,
    items: u32,
    flat: u32,
    /// First pictures by content.
    contents: HashMap<[u64; 2], u32>,
    /// Every picture that equals an earlier one, after the first that it equals.
    equal: Vec<(u32, u32)>,
    /// First pictures that have a fingerprint, and their digests.
    firsts: Vec<u32>,
    digests: Vec<PictureDigest>,
}

impl PictureCollector<'_> {
    /// Adds a picture, which takes the next number.
    pub fn push(&mut self, digest: PictureDigest) -> Result<(), PairsError> {
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

    /// How many pictures were pushed.
    pub fn len(&self) -> usize {
        self.items as usize
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Finds the alike ones of everything pushed.
    pub fn finish(self) -> Result<PicturePairs, PairsError> {
        let Self { search, flat, equal, firsts, digests, .. } = self;
        let found = match search.recipe.width {
            Width::Bits32 | Width::Bits64 => whole::find::<1>(&search, &digests)?,
            Width::Bits128 => whole::find::<2>(&search, &digests)?,
            Width::Bits256 => whole::find::<4>(&search, &digests)?,
        };
        let found = if search.partial { with_parts(&search, &digests, found)? } else { found };
        search.resources.report(1.0);
        let item = |entry: u32| firsts[entry as usize];
        let near = found
            .pairs
            .into_iter()
            .map(|pair| PackedPair::from(AlikePair { a: item(pair.a), b: item(pair.b), ..pair }));
        let near = Sorted::held(near.collect());
        Ok(PicturePairs {
            pairs: AlikePairs::new(near, equal, None, Room::unlimited()),
            how: if search.partial { How::Unstated } else { How::Exact },
            plan: found.plan,
            flat,
        })
    }
}

/// Which pictures are alike, and how that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PicturePairs {
    /// The alike ones, equal ones together.
    pub pairs: AlikePairs,
    /// Whether pairs may be missing: none of whole pictures, but any that show parts of each other.
    pub how: How,
    /// How they were found, for people to read.
    pub plan: String,
    /// Pictures too flat or too small for a fingerprint, alike only files with the same bytes.
    pub flat: u32,
}

/// Adds pairs of pictures that show parts of each other. Where a pair is found as a whole, too, that
/// counts.
fn with_parts(
    search: &PictureSearch<'_>,
    digests: &[PictureDigest],
    found: Found,
) -> Result<Found, PairsError> {
    let mut pairs = found.pairs;
    let whole: HashSet<(u32, u32)> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    for (a, b) in partial::find(search, digests, &|a, b| whole.contains(&(a, b)))? {
        let near = search.compare(&digests[a as usize], &digests[b as usize]);
        pairs.extend(near.map(|near| AlikePair {
            a,
            b,
            distance: near.distance,
            similarity: None,
        }));
    }
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs.dedup_by_key(|pair| (pair.a, pair.b));
    Ok(Found { pairs, plan: format!("{}; parts by fragments", found.plan) })
}

/// What was found, in numbers of entries.
struct Found {
    pairs: Vec<AlikePair>,
    plan: String,
}
