//! Finds all pairs of fingerprints that differ in at most k bits.
//!
//! [`AllPairs`] holds the options, [`Plan`] says how the pairs will be found, [`Pairs`] is the result. An
//! item is a position in the input: there are no documents, keys or files here.

mod answer;
mod excess;
mod find;
mod join;
pub mod linear;
mod plan;
mod record;
mod scan;
mod scatter;
mod spill;
#[cfg(test)]
mod tests;
mod verify;
mod workspace;

use std::path::PathBuf;

use crate::{Fingerprint, Radius, Resources, hamming::assert_width, resources::stoppable};
pub use answer::Pairs;
use find::Strategy;
pub use plan::Plan;
use plan::Sample;
use spill::Spill;
pub(crate) use spill::SpillFile;
pub(crate) use workspace::RecordBuffer;
pub use workspace::Workspace;

/// Two items and the number of bits in which they differ. `a` comes before `b` in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Position of the first item.
    pub a: u32,
    /// Position of the second item, larger than `a`.
    pub b: u32,
    /// The number of differing bits.
    pub distance: u32,
}

impl Pair {
    /// The pair of two items, in either order.
    fn new(one: u32, two: u32, distance: u32) -> Self {
        Self { a: one.min(two), b: one.max(two), distance }
    }

    /// The same pair with other positions.
    pub(crate) fn map(self, position: impl Fn(u32) -> u32) -> Self {
        Self::new(position(self.a), position(self.b), self.distance)
    }
}

/// Calls `on_pair` once for every pair within `radius`, in order of `(a, b)`.
pub fn all_pairs<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: Radius,
    on_pair: impl FnMut(Pair),
) -> Result<(), PairsError> {
    AllPairs::new(radius).run(prints)?.for_each(on_pair);
    Ok(())
}

/// The options of a search for pairs: the radius, and what a caller may want to set beyond it.
///
/// ```
/// use lookalike::{AllPairs, Fingerprint, Radius};
///
/// let prints = [0b0000, 0b1111, 0b0011].map(|bits| Fingerprint([bits]));
/// let pairs = AllPairs::new(Radius::new(2)).run(&prints)?;
/// assert_eq!(pairs.count(), 2);
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
#[derive(Clone)]
pub struct AllPairs<'a> {
    radius: Radius,
    blocks: Option<u32>,
    resources: Resources<'a>,
    workspace: Option<&'a Workspace>,
}

impl<'a> AllPairs<'a> {
    /// All pairs within `radius`, by the cheapest exact plan, in memory, on the fastest kernel.
    pub fn new(radius: Radius) -> Self {
        Self { radius, blocks: None, resources: Resources::new(), workspace: None }
    }

    /// Forces the classic plan: fingerprints are cut into this many blocks, of which all but `radius` must be
    /// equal.
    #[must_use]
    pub fn blocks(mut self, blocks: u32) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Limits what the search may use. The memory limit includes the input.
    #[must_use]
    pub fn resources(mut self, resources: Resources<'a>) -> Self {
        self.resources = resources;
        self
    }

    /// Reuses memory from search to search.
    #[must_use]
    pub fn workspace(mut self, workspace: &'a Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Describes how the pairs of these fingerprints would be found, without finding them.
    pub fn plan<const WORDS: usize>(
        &self,
        prints: &[Fingerprint<WORDS>],
    ) -> Result<Plan, PairsError> {
        self.check::<WORDS>(prints.len())?;
        let sample = Sample::of(prints);
        let plan = Plan::new(&self.strategy_for::<WORDS>(&sample)?, &sample, self.radius.bits());
        Ok(match self.memory_exceeded::<WORDS>(prints.len()) {
            Some(limit) => plan.within(limit),
            None => plan,
        })
    }

    /// Finds the pairs of fingerprints that are all in memory.
    pub fn run<const WORDS: usize>(
        &self,
        prints: &[Fingerprint<WORDS>],
    ) -> Result<Pairs, PairsError> {
        self.check::<WORDS>(prints.len())?;
        if let Some(limit) = self.memory_exceeded::<WORDS>(prints.len()) {
            let mut spill = Spill::create(self.resources.folder().to_owned())?;
            spill.push(prints)?;
            return self.run_spilled(&spill, limit);
        }
        let radius = self.radius.bits();
        let sample = Sample::of(prints);
        let strategy = self.strategy_for(&sample)?;
        let plan = Plan::new(&strategy, &sample, radius);
        let own = Workspace::default();
        let workspace = self.workspace.unwrap_or(&own);
        let kernel = self.resources.kernel_to_use();
        let progress = |done| self.resources.report(done);
        stoppable(|| {
            let found = find::find(prints, &strategy, radius, kernel, workspace, &progress);
            progress(1.0);
            Ok(Pairs::new(found, plan, 0))
        })
    }

    /// Collects input that arrives in pieces and may be larger than memory.
    pub fn collector<const WORDS: usize>(self) -> Collector<'a, WORDS> {
        Collector { options: self, held: StoredPrints::default() }
    }

    /// Finds the pairs of fingerprints in memory or in a file.
    pub(crate) fn run_stored<const WORDS: usize>(
        &self,
        held: &StoredPrints<WORDS>,
    ) -> Result<Pairs, PairsError> {
        self.check::<WORDS>(held.len())?;
        match (&held.spill, self.resources.limit()) {
            (Some(spill), Some(limit)) => self.run_spilled(spill, limit),
            _ => self.run(&held.prints),
        }
    }

    fn run_spilled<const WORDS: usize>(
        &self,
        spill: &Spill<WORDS>,
        limit: u64,
    ) -> Result<Pairs, PairsError> {
        let (found, plan, written) = stoppable(|| spill.find(self, limit))?;
        Ok(Pairs::new(found, plan, written))
    }

    fn strategy_for<const WORDS: usize>(
        &self,
        sample: &Sample,
    ) -> Result<Strategy<WORDS>, PairsError> {
        let radius = self.radius.bits();
        Ok(match self.blocks {
            Some(blocks) => plan::classic(sample, radius, blocks),
            None => plan::choose(sample, radius),
        })
    }

    /// The memory limit, if this many items may exceed it.
    fn memory_exceeded<const WORDS: usize>(&self, items: usize) -> Option<u64> {
        memory_exceeded::<WORDS>(&self.resources, items)
    }

    /// Rejects invalid options and inputs, before any work.
    fn check<const WORDS: usize>(&self, items: usize) -> Result<(), PairsError> {
        const { assert_width::<WORDS>() };
        let (radius, bits) = (self.radius.bits(), Fingerprint::<WORDS>::BITS);
        match self.blocks {
            _ if radius > bits => Err(PairsError::Radius { radius, bits }),
            _ if items > u32::MAX as usize => Err(PairsError::TooMany { items }),
            Some(blocks) if blocks <= radius || blocks > bits => {
                Err(PairsError::Blocks { blocks, radius, bits })
            }
            _ => Ok(()),
        }
    }
}

/// The memory limit, if this many items may exceed it.
fn memory_exceeded<const WORDS: usize>(resources: &Resources<'_>, items: usize) -> Option<u64> {
    resources.limit().filter(|&limit| memory_needed::<WORDS>(items) > limit)
}

/// Maximum number of bytes to find the pairs of this many fingerprints in memory: each fingerprint and its
/// record. Very large inputs take less, unless all items share one partition.
fn memory_needed<const WORDS: usize>(items: usize) -> u64 {
    items as u64 * (8 * WORDS as u64 + 8)
}

/// Collects fingerprints within the memory limit, then finds their pairs.
///
/// ```
/// use lookalike::{AllPairs, Fingerprint, Radius, Resources};
///
/// let resources = Resources::new().memory(1 << 30, std::env::temp_dir());
/// let mut collector = AllPairs::new(Radius::new(1)).resources(resources).collector::<1>();
/// collector.push(&[Fingerprint([7]), Fingerprint([80])])?;
/// collector.push(&[Fingerprint([6])])?;
/// let pairs = collector.finish()?;
/// assert_eq!((pairs.near()[0].a, pairs.near()[0].b), (0, 2));
/// # Ok::<(), lookalike::pairs::PairsError>(())
/// ```
pub struct Collector<'a, const WORDS: usize> {
    options: AllPairs<'a>,
    held: StoredPrints<WORDS>,
}

/// Fingerprints in input order: in memory, or in a file if they do not fit.
#[derive(Default)]
pub(crate) struct StoredPrints<const WORDS: usize> {
    prints: Vec<Fingerprint<WORDS>>,
    spill: Option<Spill<WORDS>>,
}

impl<const WORDS: usize> StoredPrints<WORDS> {
    /// Adds a fingerprint in memory.
    pub fn keep(&mut self, print: Fingerprint<WORDS>) {
        self.prints.push(print);
    }

    /// Adds fingerprints; moves all of them to a file if they exceed the memory limit.
    pub fn push(
        &mut self,
        prints: &[Fingerprint<WORDS>],
        resources: &Resources<'_>,
    ) -> Result<(), PairsError> {
        if let Some(spill) = &mut self.spill {
            return spill.push(prints);
        }
        match memory_exceeded::<WORDS>(resources, self.prints.len() + prints.len()) {
            Some(_) => {
                let mut spill = Spill::create(resources.folder().to_owned())?;
                spill.push(&std::mem::take(&mut self.prints))?;
                spill.push(prints)?;
                self.spill = Some(spill);
            }
            None => self.prints.extend_from_slice(prints),
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.spill.as_ref().map_or(self.prints.len(), Spill::items)
    }

    /// All fingerprints, unless they are in a file.
    pub fn in_memory(&self) -> Option<&[Fingerprint<WORDS>]> {
        self.spill.is_none().then_some(&self.prints)
    }
}

impl<const WORDS: usize> Collector<'_, WORDS> {
    /// Adds items, which take the next positions.
    pub fn push(&mut self, prints: &[Fingerprint<WORDS>]) -> Result<(), PairsError> {
        self.held.push(prints, &self.options.resources)
    }

    /// The number of items pushed.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the pairs of everything pushed.
    pub fn finish(self) -> Result<Pairs, PairsError> {
        self.options.run_stored(&self.held)
    }
}

fn blocks_to_use(radius: u32, bits: u32) -> String {
    match bits.checked_sub(radius) {
        None | Some(0) => "no number of blocks can; leave it out".to_owned(),
        _ => format!("use {} to {bits}", radius + 1),
    }
}

/// Why pairs could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairsError {
    /// There must be more blocks than the radius.
    #[error("{blocks} blocks cannot find pairs within {radius} of {bits} bits; {}", blocks_to_use(*radius, *bits))]
    Blocks {
        /// The requested number.
        blocks: u32,
        /// The radius they must exceed.
        radius: u32,
        /// The number of bits to cut into blocks.
        bits: u32,
    },
    /// The radius is wider than the fingerprints.
    #[error("a radius of {radius} is wider than the {bits} bits of a fingerprint")]
    Radius {
        /// The requested radius.
        radius: u32,
        /// The width.
        bits: u32,
    },
    /// Too many items for 32-bit positions.
    #[error("{items} items are too many for one run; the maximum is {}", u32::MAX)]
    TooMany {
        /// The number of items.
        items: usize,
    },
    /// A spill file could not be written or read.
    #[error("{action} in {folder} failed (free some space there, or use another folder)")]
    Spill {
        /// What was being done.
        action: &'static str,
        /// The folder of the file.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The search was stopped by its caller.
    #[error("stopped")]
    Cancelled,
    /// A look-up in an index failed.
    #[error(transparent)]
    Index(#[from] crate::index::IndexError),
}
