//! Kinds of items, and the definition of a match for each.
//!
//! A [`Kind`] makes digests of its items and judges two of them; this judgement, in code, defines a
//! match. How candidates are found is data: a kind declares [`Lookup`]s, which
//! [`Search`](crate::Search) and collections understand. Only the folder of a kind knows what its digests
//! mean.

mod criteria;
pub mod hash;
#[cfg(feature = "image")]
pub mod image;
mod registry;
#[cfg(feature = "collection")]
mod stored;
pub mod text;
pub mod vector;

use std::fmt;

use crate::{
    Closeness, Digest, Facts, Fingerprint, Level, Radius,
    digest::{DigestRef, Digests, Shape},
    fragments::FragmentSearch,
    pairs::PairsError,
    verify::{Similarity, Verify},
};
pub use criteria::{
    Asked, Criteria, EXACT_FEATURES, EXACT_ITEMS, Purpose, Reach, USUAL_RECALL, UsageError,
};
pub use registry::{Reads, Registration, Registry, Settings};
#[cfg(feature = "collection")]
pub use stored::RecipeText;
pub use text::LostWords;

/// Items of one kind and recipe.
///
/// ```
/// use lookalike::{Kind, Preset, Width, kind::{hash::HashKind, text::TextKind}};
///
/// let kinds: [&dyn Kind; 2] = [&HashKind::new(Width::Bits64), &TextKind::of(Preset::named("words")?)];
/// assert_eq!(kinds.map(|kind| kind.name()), ["hash", "text"]);
/// # Ok::<(), lookalike::recipe::RecipeError>(())
/// ```
pub trait Kind: Send + Sync {
    /// The name of the kind, such as `text`.
    fn name(&self) -> &'static str;

    /// Everything that decides digests, on one line. Digests of different recipes must never be
    /// compared.
    fn recipe(&self) -> String;

    /// The shape of digests.
    fn shape(&self) -> Shape;

    /// The number of dimensions that vectors must have, for kinds that compare vectors of one number.
    fn dimensions(&self) -> Option<u32> {
        None
    }

    /// A maker of digests; use one per thread.
    fn digester(&self) -> Box<dyn Digester + '_>;

    /// Completes what the caller asked for by the defaults of the kind; an error if it does not apply
    /// to the kind.
    fn criteria(&self, asked: &Asked, purpose: Purpose) -> Result<Criteria, UsageError>;

    /// The lookups that find all pairs that [`judge`](Self::judge) accepts.
    fn lookups(&self, by: &Criteria) -> Vec<Lookup>;

    /// The closeness of two items if they match, `None` otherwise: the definition of a match. It is
    /// symmetric. It may stop early, but a threshold changes no figure. By [`Criteria::everything`],
    /// any two items that can be compared match. An item with an empty digest matches nothing.
    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness>;

    /// The closeness of items with equal digests.
    fn equal(&self, by: &Criteria) -> Closeness;

    /// When two items match, in words.
    fn words(&self, by: &Criteria) -> String;

    /// The default radius where only fingerprints are known.
    fn usual_distance(&self) -> Radius;

    /// The scale on which items are compared: the bound of `acting`, with the levels of `looking`.
    fn scale(&self, acting: &Criteria, looking: &Criteria) -> Scale;

    /// Further facts about two items by name, such as how one is turned.
    fn details(
        &self,
        _by: &Criteria,
        _a: DigestRef<'_>,
        _b: DigestRef<'_>,
    ) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Notes for people about what they asked for.
    fn notes(&self, _by: &Criteria) -> Vec<String> {
        Vec::new()
    }

    /// The stored form, from which the kind is opened again.
    #[cfg(feature = "collection")]
    fn stored(&self) -> RecipeText;

    /// The number of words lost if some items are removed, for kinds that compare words.
    fn lost_words(
        &self,
        _digests: &Digests,
        _is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        Ok(None)
    }
}

/// How closeness is measured, and the ranges of its levels.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// By similarity, which has a lower bound.
    Similarity {
        /// The least similarity of a pair.
        least: f32,
        /// The least similarity of each level.
        levels: Vec<(Level, f32)>,
    },
    /// By distance, which has an upper bound.
    Distance {
        /// The largest distance of a pair.
        widest: u32,
        /// The largest distance of each level.
        levels: Vec<(Level, u32)>,
    },
}

impl Scale {
    /// Whether the scale has levels.
    pub fn has_levels(&self) -> bool {
        match self {
            Self::Similarity { levels, .. } => !levels.is_empty(),
            Self::Distance { levels, .. } => !levels.is_empty(),
        }
    }
}

/// Makes digests of items, and keeps its buffers from item to item.
pub trait Digester {
    /// The digest of an item, and the facts about it.
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit>;

    /// An error if a file that starts like this cannot be an item, so it need not be read to its end.
    fn recognise(&self, _start: &[u8]) -> Result<(), Unfit> {
        Ok(())
    }

    /// An estimate of the memory for digesting a file besides its content, in bytes.
    fn memory(&self, _file: &mut dyn ReadSeek) -> u64 {
        0
    }
}

/// A file that can be read and searched.
pub trait ReadSeek: std::io::BufRead + std::io::Seek {}

impl<F: std::io::BufRead + std::io::Seek> ReadSeek for F {}

/// The inputs of kinds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A text.
    Text(&'a str),
    /// The bytes of a file, and the extension of its name.
    File {
        /// All of its content.
        bytes: &'a [u8],
        /// Identifies the format if the content does not.
        extension: Option<&'a str>,
    },
    /// An image decoded by the caller.
    #[cfg(feature = "image")]
    Image(&'a crate::extract::image::Image),
    /// A text that the caller split into tokens.
    Tokens(&'a [&'a str]),
    /// Features with their weights.
    Features(&'a [(String, f64)]),
    /// The numbers of a vector.
    Vector(&'a [f64]),
    /// A fingerprint.
    Print(Fingerprint<4>),
    /// A fingerprint that the caller made, with the contents to compare. Without a fingerprint, the item
    /// matches nothing.
    Made(Option<Fingerprint<4>>, Parts<'a>),
}

/// The contents of an item whose fingerprint the caller made.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts<'a> {
    /// A text, compared as if the recipe had made the fingerprint.
    Text(&'a str),
    /// The hashes of tokens in order; runs of them are compared like those of a text. All bits of a
    /// hash should depend on the whole token.
    Tokens(Vec<u64>),
    /// The hashes of features, whose set is compared.
    Features(Vec<u64>),
}

/// Why an item cannot be used.
///
/// ```
/// use lookalike::{Kind, Width, kind::{Input, hash::HashKind}};
///
/// let kind = HashKind::new(Width::Bits64);
/// let unfit = kind.digester().digest(Input::Text("not a fingerprint")).unwrap_err();
/// assert!(!unfit.reason.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// A short name of the reason, the same for all such items: `not an image`.
    pub reason: &'static str,
    /// What is wrong with this item.
    pub message: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl std::error::Error for Unfit {}

/// How candidates are found. Each lookup is a predicate on two digests, whatever other items exist.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lookup {
    /// A fingerprint of one item is within the radius of the first fingerprint of the other.
    Near {
        /// The radius.
        radius: Radius,
        /// Whether all fingerprints of an item count, or only the first.
        turned: bool,
        /// Whether the distance alone decides.
        decides: bool,
    },
    /// The feature sets overlap enough.
    Overlap {
        /// The least similarity, and its measure.
        verify: Verify,
        /// Whether all such pairs are found.
        reach: Reach,
    },
    /// The cosine of the vectors is large enough.
    Cosine {
        /// The least cosine.
        similarity: Similarity,
    },
    /// The items share enough parts.
    Parts(FragmentSearch),
    /// All pairs, exhaustively: for small kinds, and without a threshold.
    Every,
}
