//! Searches among items of one kind: matching pairs, and groups around keepers.
//!
//! [`Search`] runs the lookups that a kind declares over its digests, and lets the kind judge the
//! candidates. It knows columns and numbers; only the kind knows what digests mean and when they match.
//!
//! | file | purpose |
//! |---|---|
//! | `pairs.rs` | all matching pairs |
//! | `stars/`, `classes.rs` | groups around keepers, without listing pairs |
//! | `near.rs`, `overlap.rs`, `cosine.rs`, `parts.rs`, `every.rs` | one lookup each |

mod classes;
mod cosine;
mod every;
mod near;
mod overlap;
mod pairs;
#[cfg(feature = "image")]
mod parts;
mod stars;

use std::fmt;

pub use crate::alike::{AlikePair, AlikePairs, Equals};
use crate::{
    Closeness, Digest, Resources,
    digest::Digests,
    groups::Groups,
    kind::{Criteria, Kind, Lookup},
    pairs::{PairsError, Plan},
    resources::stoppable,
};
#[cfg(feature = "collection")]
pub(crate) use overlap::{asked_recall, keys_for};

/// A search among items of one kind.
///
/// ```
/// use lookalike::{
///     Digest, Fingerprint, Kind, Resources, Search, Width, digest::Digests,
///     kind::{Asked, Purpose, hash::HashKind},
/// };
///
/// let (kind, resources) = (HashKind::new(Width::Bits64), Resources::new());
/// let criteria = kind.criteria(&Asked::default(), Purpose::List)?;
/// let search = Search::new(&kind, &criteria, &resources);
///
/// let digest = |bits| Digest::of_print(Fingerprint([bits, 0, 0, 0]));
/// assert!(search.compare(&digest(0b0111), &digest(0b0101)).alike);
///
/// let mut digests = Digests::new(kind.shape(), &resources);
/// for bits in [0b0111, 0b0101, u64::MAX] {
///     digests.push(&digest(bits))?;
/// }
/// digests.seal()?;
/// let answer = search.pairs(&digests)?;
/// assert!(answer.found.is_exact());
/// assert_eq!(answer.pairs.to_vec()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Search<'a> {
    kind: &'a dyn Kind,
    by: Criteria,
    lookups: Vec<Lookup>,
    resources: &'a Resources<'a>,
}

impl<'a> Search<'a> {
    /// A search for matches by these criteria.
    pub fn new(kind: &'a dyn Kind, by: &Criteria, resources: &'a Resources<'a>) -> Self {
        let by = Criteria { kernel: resources.kernel_to_use(), ..by.clone() };
        Self { kind, lookups: kind.lookups(&by), by, resources }
    }

    /// The closeness of two items, and whether they match.
    pub fn compare(&self, one: &Digest, two: &Digest) -> Compared {
        let shape = self.kind.shape();
        one.with_ref(shape, |a| {
            two.with_ref(shape, |b| Compared {
                closeness: self.kind.judge(&self.by.everything(), a, b),
                alike: self.kind.judge(&self.by, a, b).is_some(),
            })
        })
    }

    /// Further facts about two items, by name.
    pub fn details(&self, one: &Digest, two: &Digest) -> Vec<(&'static str, String)> {
        let shape = self.kind.shape();
        one.with_ref(shape, |a| two.with_ref(shape, |b| self.kind.details(&self.by, a, b)))
    }

    /// All matching pairs.
    pub fn pairs(&self, digests: &Digests) -> Result<Pairs, PairsError> {
        let answer = stoppable(|| pairs::find(self, digests))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// An estimate of the number of matching pairs from a sample, in a fraction of the time of a search;
    /// `None` for kinds without one.
    pub fn expected_pairs(&self, digests: &Digests) -> Result<Option<u64>, PairsError> {
        match &self.lookups[..] {
            [Lookup::Overlap { verify, .. }] => {
                let found = stoppable(|| overlap::expected_pairs(self, digests, *verify))?;
                Ok(Some(found + digests.equal_groups().count_pairs()))
            }
            [Lookup::Cosine { similarity }] => {
                let found = stoppable(|| cosine::expected_pairs(self, digests, *similarity))?;
                Ok(Some(found + digests.equal_groups().count_pairs()))
            }
            _ => Ok(None),
        }
    }

    /// Groups around keepers. Items are taken in `order`: one that matches an earlier keeper belongs to
    /// the first such keeper; any other becomes a keeper itself.
    ///
    /// Items are compared with keepers only, so many items of one template take linear time. An item
    /// that is not in `order` is in no group.
    pub fn stars(&self, digests: &Digests, order: &[u32]) -> Result<Stars, PairsError> {
        let answer = stoppable(|| stars::stars(self, digests, order))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// Groups of the first `own` items around the others: each belongs to the first of the others that
    /// it matches. Own items are not compared with each other.
    pub fn against(&self, digests: &Digests, own: usize) -> Result<Stars, PairsError> {
        let answer = stoppable(|| stars::against(self, digests, own as u32))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// The plan for finding pairs of bare fingerprints, without a search; `None` for other kinds, and if
    /// the fingerprints are not in memory.
    pub fn plan(&self, digests: &Digests) -> Result<Option<Plan>, PairsError> {
        match &self.lookups[..] {
            [Lookup::Near { radius, decides: true, .. }] => near::plan(self, digests, *radius),
            _ => Ok(None),
        }
    }
}

/// The comparison of two items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Their closeness; `None` if one of them matches nothing.
    pub closeness: Option<Closeness>,
    /// Whether they match: the verdict of a search.
    pub alike: bool,
}

/// All matching pairs, and how they were found.
///
/// ```
/// use lookalike::{
///     Digest, Fingerprint, Kind, Resources, Search, Width,
///     digest::Digests,
///     kind::{Asked, Purpose, hash::HashKind},
/// };
///
/// let (kind, resources) = (HashKind::new(Width::Bits64), Resources::new());
/// let mut digests = Digests::new(kind.shape(), &resources);
/// for bits in [0b0000, 0b1111_1111, 0b0001] {
///     digests.push(&Digest::of_print(Fingerprint([bits]).resize()))?;
/// }
/// digests.seal()?;
///
/// let by = kind.criteria(&Asked::default(), Purpose::List)?;
/// let answer = Search::new(&kind, &by, &resources).pairs(&digests)?;
/// assert!(answer.found.is_exact());
/// assert_eq!(answer.pairs.to_vec()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The pairs, with groups of equal items.
    pub pairs: AlikePairs,
    /// How they were found.
    pub found: SearchStats,
}

/// Groups around keepers, and how they were found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stars {
    /// Keepers and their members.
    pub groups: Groups,
    /// How they were found.
    pub found: SearchStats,
}

/// How a search found its matches.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchStats {
    /// The share of pairs that a search finds.
    pub recall: Recall,
    /// How candidates were found, in words.
    pub plan: String,
    /// The number of judged pairs, where candidates are judged.
    pub judged: u64,
    /// The number of items with too little content, which match only equal content.
    pub short: u32,
    /// The number of items that match nothing.
    pub empty: u32,
    /// The size of temporary files in bytes.
    pub spilled: u64,
}

/// The share of pairs that a search finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recall {
    /// All pairs: the answer equals judging every pair.
    Exact,
    /// At least this share of the pairs exactly at the threshold is expected, and more of those above
    /// it.
    Estimated(f64),
    /// At least this share of all pairs that the evidence of the kind accepts.
    OfEvidence(f64),
}

impl Recall {
    /// Of a search by parts. It finds all that votes on parts accept: two items are voted on if enough
    /// parts of either are near as many of the other, which no vote can do without.
    #[cfg(any(feature = "image", feature = "collection"))]
    pub(crate) const OF_PARTS: Self = Self::OfEvidence(1.0);

    /// The expected share of all pairs.
    pub fn share(self) -> f64 {
        match self {
            Self::Exact => 1.0,
            Self::Estimated(share) | Self::OfEvidence(share) => share,
        }
    }
}

/// `exact`, or `estimated recall 99 %`.
impl fmt::Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| (1e4 * share).round() / 100.0;
        match *self {
            Self::Exact => f.write_str("exact"),
            Self::Estimated(share) => write!(f, "estimated recall {} %", percent(share)),
            Self::OfEvidence(share) => {
                write!(f, "estimated recall {} % of what votes on parts accept", percent(share))
            }
        }
    }
}

impl SearchStats {
    /// Whether no pair can be missing.
    pub fn is_exact(&self) -> bool {
        self.recall == Recall::Exact
    }

    /// The recall, and for an estimate also how candidates were found, in words.
    pub fn how(&self) -> String {
        match self.recall {
            Recall::Exact => self.recall.to_string(),
            _ => format!("{} ({})", self.recall, self.plan),
        }
    }

    fn new(digests: &Digests, recall: Recall, plan: String) -> Self {
        let spilled = digests.sets().spilled();
        let (short, empty) = (digests.with_key(), digests.without_digest());
        Self { recall, plan, judged: 0, short, empty, spilled }
    }
}
