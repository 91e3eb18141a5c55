//! What are items, and when are two of them alike?
//!
//! A [`Kind`] makes digests of what it is given and judges two digests: that is the definition of
//! alike, and it is code. How candidates are found is data: a kind declares [`Lookup`]s, which
//! [`Search`](crate::Search) and collections understand. Nothing outside of a kind's folder knows what
//! its digests mean.

mod criteria;
pub mod hash;
#[cfg(feature = "image")]
pub mod image;
mod registry;
#[cfg(feature = "collection")]
mod stored;
pub mod text;

use std::fmt;

use crate::{
    Closeness, Digest, Digests, Facts, Fingerprint, Level, PairsError, Radius, Shape, Verify,
    digest::DigestRef, fragments::FragmentSearch,
};
pub use criteria::{
    Asked, Criteria, EXACT_FEATURES, EXACT_ITEMS, Purpose, Reach, USUAL_RECALL, UsageError,
};
pub use registry::{Reads, Registration, Registry, Settings};
#[cfg(feature = "collection")]
pub use stored::RecipeText;
pub use text::LostWords;

/// Items of one sort, taken apart by one recipe.
pub trait Kind: Send + Sync {
    /// What people call items of this sort: `text`.
    fn name(&self) -> &'static str;

    /// All that decides digests, on one line. Digests of different recipes must never meet.
    fn recipe(&self) -> String;

    /// How digests look.
    fn shape(&self) -> Shape;

    /// Makes digests; one for each thread.
    fn digester(&self) -> Box<dyn Digester + '_>;

    /// What the caller asked for, made complete; or why it makes no sense for this kind.
    fn criteria(&self, asked: &Asked, purpose: Purpose) -> Result<Criteria, UsageError>;

    /// How to find all pairs that [`judge`](Self::judge) accepts.
    fn lookups(&self, by: &Criteria) -> Vec<Lookup>;

    /// How close two items are, if they are alike: the definition. The same whichever comes first. It
    /// may stop early, but a threshold changes no figure; by [`Criteria::everything`], any two items
    /// that can be compared are alike. An item whose digest is empty is alike nothing.
    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness>;

    /// How close items with equal digests are.
    fn equal(&self, by: &Criteria) -> Closeness;

    /// When two items are alike, in words.
    fn words(&self, by: &Criteria) -> String;

    /// Within how many bits fingerprints are taken for alike where nothing but them is known.
    fn usual_distance(&self) -> Radius;

    /// On what scale items are compared that are removed, with names for all that is looked at.
    fn scale(&self, acting: &Criteria, looking: &Criteria) -> Scale;

    /// What else is to be said of two items, by name: how one is turned, say.
    fn details(
        &self,
        _by: &Criteria,
        _a: DigestRef<'_>,
        _b: DigestRef<'_>,
    ) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What people should know of what they asked for.
    fn notes(&self, _by: &Criteria) -> Vec<String> {
        Vec::new()
    }

    /// All of it that must be kept to open it again.
    #[cfg(feature = "collection")]
    fn stored(&self) -> RecipeText;

    /// How many words are lost if some items are removed, for kinds that compare words.
    fn lost_words(
        &self,
        _digests: &Digests,
        _is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        Ok(None)
    }
}

/// How closeness is measured, and what stretches of it are called.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// By similarity: at least this much, and the least of each level.
    Similarity {
        /// The least similarity of a pair.
        least: f32,
        /// The least similarity of each level.
        levels: Vec<(Level, f32)>,
    },
    /// By distance: at most this many bits, and the most of each level.
    Distance {
        /// The widest distance of a pair.
        widest: u32,
        /// The widest distance of each level.
        levels: Vec<(Level, u32)>,
    },
}

impl Scale {
    /// Whether stretches of it have names.
    pub fn has_levels(&self) -> bool {
        match self {
            Self::Similarity { levels, .. } => !levels.is_empty(),
            Self::Distance { levels, .. } => !levels.is_empty(),
        }
    }
}

/// Makes digests of items, and keeps its buffers from item to item.
pub trait Digester {
    /// What is kept of an item, and what describes it.
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit>;

    /// Whether a file that starts so may be an item; what is none need not be read to its end.
    fn recognise(&self, _start: &[u8]) -> Result<(), Unfit> {
        Ok(())
    }

    /// Bytes that digesting a file takes besides its content, as far as that can be told.
    fn memory(&self, _file: &mut dyn ReadSeek) -> u64 {
        0
    }
}

/// A file that is looked into.
pub trait ReadSeek: std::io::BufRead + std::io::Seek {}

impl<F: std::io::BufRead + std::io::Seek> ReadSeek for F {}

/// What a kind may be given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A text.
    Text(&'a str),
    /// The bytes of a file, and the extension of its name.
    File {
        /// All of its content.
        bytes: &'a [u8],
        /// Decides what a file is if its content does not.
        extension: Option<&'a str>,
    },
    /// An image that was decoded elsewhere.
    #[cfg(feature = "image")]
    Image(&'a crate::extract::image::Image),
    /// A text that the caller cut into tokens.
    Tokens(&'a [&'a str]),
    /// Features with their weights.
    Features(&'a [(String, f64)]),
    /// A fingerprint.
    Print(Fingerprint<4>),
    /// What the caller took apart: its fingerprint, and what is compared. Without a fingerprint it is
    /// alike nothing.
    Made(Option<Fingerprint<4>>, Parts<'a>),
}

/// What is compared of an item whose fingerprint its caller made.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts<'a> {
    /// A text: what would be compared of it, had the recipe made the fingerprint.
    Text(&'a str),
    /// The hashes of tokens, in order: runs of them are compared, as those of a text are. All bits
    /// of a hash should depend on all of the token.
    Tokens(Vec<u64>),
    /// The hashes of features, as those of tokens: their set is compared.
    Features(Vec<u64>),
}

/// Why an item cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// A short name of the reason, the same for all items that have it: `not an image`.
    pub reason: &'static str,
    /// What is wrong with this item.
    pub message: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// How candidates are found. Each is a predicate on two digests; which others there are changes
/// nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lookup {
    /// Items of which a fingerprint of one is within the radius of the first one of the other.
    Near {
        /// How far apart they may be.
        radius: Radius,
        /// Whether all fingerprints of an item count, or its first one alone.
        turned: bool,
        /// Whether that is all there is to it.
        decides: bool,
    },
    /// Items whose sets overlap enough.
    Overlap {
        /// How much that is.
        verify: Verify,
        /// Whether all are found.
        reach: Reach,
    },
    /// Items that share enough parts.
    Parts(FragmentSearch),
    /// All items. Exhaustive: for small kinds, and where no threshold is asked for.
    Every,
}
