//! Which items are alike, and which belong to which keeper?
//!
//! [`Search`] runs the lookups that a kind declares over digests of that kind, and has the kind judge
//! what they find. It knows columns and numbers; what digests mean, and when two of them are alike, is
//! the kind's business.
//!
//! | file | what is there |
//! |---|---|
//! | `pairs.rs` | all alike pairs |
//! | `stars.rs`, `classes.rs` | items around keepers, without listing pairs |
//! | `near.rs`, `overlap.rs`, `parts.rs`, `every.rs` | one way to find candidates each |

mod classes;
mod every;
mod near;
mod overlap;
mod pairs;
#[cfg(feature = "image")]
mod parts;
mod stars;

use std::fmt;

use crate::{
    AlikePairs, Closeness, Digest, Digests, PairsError, Plan, Resources,
    groups::Groups,
    kind::{Criteria, Kind, Lookup},
    resources::stoppable,
};
#[cfg(feature = "collection")]
pub(crate) use overlap::{asked_recall, keys_for};

/// A search among items of one kind.
pub struct Search<'a> {
    kind: &'a dyn Kind,
    by: Criteria,
    lookups: Vec<Lookup>,
    resources: &'a Resources<'a>,
}

impl<'a> Search<'a> {
    /// For items that are alike by these criteria.
    pub fn new(kind: &'a dyn Kind, by: &Criteria, resources: &'a Resources<'a>) -> Self {
        let by = Criteria { kernel: resources.kernel_to_use(), ..by.clone() };
        Self { kind, lookups: kind.lookups(&by), by, resources }
    }

    /// How close two items are, and whether they are alike.
    pub fn compare(&self, one: &Digest, two: &Digest) -> Compared {
        let shape = self.kind.shape();
        one.with_ref(shape, |a| {
            two.with_ref(shape, |b| Compared {
                closeness: self.kind.judge(&self.by.everything(), a, b),
                alike: self.kind.judge(&self.by, a, b).is_some(),
            })
        })
    }

    /// What else is to be said of two items, by name.
    pub fn details(&self, one: &Digest, two: &Digest) -> Vec<(&'static str, String)> {
        let shape = self.kind.shape();
        one.with_ref(shape, |a| two.with_ref(shape, |b| self.kind.details(&self.by, a, b)))
    }

    /// Every alike pair.
    pub fn pairs(&self, digests: &Digests) -> Result<Pairs, PairsError> {
        let answer = stoppable(|| pairs::find(self, digests))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// About how many alike pairs there are, estimated from a sample in a fraction of the time it takes
    /// to find them; `None` for kinds of which that cannot be said.
    pub fn expected_pairs(&self, digests: &Digests) -> Result<Option<u64>, PairsError> {
        match &self.lookups[..] {
            [Lookup::Overlap { verify, .. }] => {
                let found = stoppable(|| overlap::expected_pairs(self, digests, *verify))?;
                Ok(Some(found + digests.equal_groups().count_pairs()))
            }
            _ => Ok(None),
        }
    }

    /// Groups around keepers: items are taken in `order`; one that is alike an earlier keeper belongs to
    /// the first such keeper in that order, otherwise it becomes a keeper.
    ///
    /// Items are compared with keepers only, so that many of one template take linear time. An item
    /// that is not in `order` is in no group.
    pub fn stars(&self, digests: &Digests, order: &[u32]) -> Result<Stars, PairsError> {
        let answer = stoppable(|| stars::stars(self, digests, order))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// Groups of the first `own` items around the others: each belongs to the first of the others that
    /// it is alike. Own items are not compared with each other.
    pub fn against(&self, digests: &Digests, own: usize) -> Result<Stars, PairsError> {
        let answer = stoppable(|| stars::against(self, digests, own as u32))?;
        self.resources.report(1.0);
        Ok(answer)
    }

    /// Says how pairs of bare fingerprints would be found, without looking for them; `None` for items of
    /// another kind, and if they are not in memory.
    pub fn plan(&self, digests: &Digests) -> Result<Option<Plan>, PairsError> {
        match &self.lookups[..] {
            [Lookup::Near { radius, decides: true, .. }] => near::plan(self, digests, *radius),
            _ => Ok(None),
        }
    }
}

/// How close two items are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Nothing if one of them can be alike nothing.
    pub closeness: Option<Closeness>,
    /// Whether they are alike: what a search says of the two.
    pub alike: bool,
}

/// Which items are alike, and how that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The alike ones, equal ones together.
    pub pairs: AlikePairs,
    /// How they were found.
    pub found: Found,
}

/// Which items belong to which keeper, and how that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stars {
    /// Keepers and their members.
    pub groups: Groups,
    /// How they were found.
    pub found: Found,
}

/// How alike items were found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Whether pairs may be missing.
    pub recall: Recall,
    /// How candidates were found, for people to read.
    pub plan: String,
    /// Pairs that were judged, where candidates are judged.
    pub judged: u64,
    /// Items with too little to be alike any but those of the same content.
    pub short: u32,
    /// Items that are alike nothing.
    pub empty: u32,
    /// Bytes of temporary files.
    pub spilled: u64,
}

/// Whether pairs may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recall {
    /// The answer equals judging every pair.
    Exact,
    /// At least this share of the pairs at the very threshold is expected to be there, and more of
    /// those above it.
    Estimated(f64),
    /// At least this share of all pairs that the kind's evidence accepts.
    OfEvidence(f64),
}

impl Recall {
    /// The share of all pairs that is expected to be there.
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

impl Found {
    /// Whether no pair is missing.
    pub fn is_exact(&self) -> bool {
        self.recall == Recall::Exact
    }

    /// Whether pairs may be missing, and how candidates were found, in words.
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
