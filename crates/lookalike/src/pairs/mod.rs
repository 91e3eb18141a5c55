//! Which pairs differ in at most k bits?
//!
//! [`AllPairs`] holds the choices, [`Plan`] says how the answer will be found, [`Pairs`] is the
//! answer. Items are known by their position only: no documents, keys or files here.

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
pub(crate) use workspace::Records;
pub use workspace::Workspace;

/// Two items and the number of bits in which they differ. `a` comes before `b` in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Position of the first item.
    pub a: u32,
    /// Position of the second item, larger than `a`.
    pub b: u32,
    /// Bits in which they differ.
    pub distance: u32,
}

impl Pair {
    /// The pair of two items, whichever comes first.
    fn new(one: u32, two: u32, distance: u32) -> Self {
        Self { a: one.min(two), b: one.max(two), distance }
    }

    /// The same pair under other positions.
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

/// How to look for pairs: the radius, and what a caller may want to decide beyond it.
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

    /// Forces the classic plan: cut into this many blocks, of which all but `radius` must be equal.
    #[must_use]
    pub fn blocks(mut self, blocks: u32) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// What the search may use. The memory limit includes the input.
    #[must_use]
    pub fn resources(mut self, resources: Resources<'a>) -> Self {
        self.resources = resources;
        self
    }

    /// Works in memory that is kept from search to search.
    #[must_use]
    pub fn workspace(mut self, workspace: &'a Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Says how the pairs of these fingerprints would be found, without looking for them.
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

    /// Starts an input that arrives in pieces and may be larger than memory.
    pub fn collector<const WORDS: usize>(self) -> Collector<'a, WORDS> {
        Collector { options: self, held: Held::default() }
    }

    /// Finds the pairs of fingerprints, wherever they are.
    pub(crate) fn run_held<const WORDS: usize>(
        &self,
        held: &Held<WORDS>,
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

    /// The limit, if so many items may need more.
    fn memory_exceeded<const WORDS: usize>(&self, items: usize) -> Option<u64> {
        memory_exceeded::<WORDS>(&self.resources, items)
    }

    /// Refuses what cannot be answered, before any work.
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

/// The memory limit, if so many items may need more.
fn memory_exceeded<const WORDS: usize>(resources: &Resources<'_>, items: usize) -> Option<u64> {
    resources.limit().filter(|&limit| memory_needed::<WORDS>(items) > limit)
}

/// Bytes that finding the pairs of so many fingerprints in memory may take: each with its record. Very
/// many take less, unless they are so uneven that all share one partition.
fn memory_needed<const WORDS: usize>(items: usize) -> u64 {
    items as u64 * (8 * WORDS as u64 + 8)
}

/// Takes fingerprints as they arrive, keeps them within the memory limit, then finds the pairs.
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
    held: Held<WORDS>,
}

/// Fingerprints in the order in which they came: in memory, or in a file if they do not fit.
#[derive(Default)]
pub(crate) struct Held<const WORDS: usize> {
    prints: Vec<Fingerprint<WORDS>>,
    spill: Option<Spill<WORDS>>,
}

impl<const WORDS: usize> Held<WORDS> {
    /// Adds a fingerprint in memory.
    pub fn keep(&mut self, print: Fingerprint<WORDS>) {
        self.prints.push(print);
    }

    /// Adds fingerprints: to the file, if so many do not fit the memory limit.
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

    /// All of them, unless they are in a file.
    pub fn in_memory(&self) -> Option<&[Fingerprint<WORDS>]> {
        self.spill.is_none().then_some(&self.prints)
    }
}

impl<const WORDS: usize> Collector<'_, WORDS> {
    /// Adds items, which take the next positions.
    pub fn push(&mut self, prints: &[Fingerprint<WORDS>]) -> Result<(), PairsError> {
        self.held.push(prints, &self.options.resources)
    }

    /// How many items were pushed.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes out everything pushed; nothing, if it did not fit into memory.
    pub fn take_prints(&mut self) -> Option<Vec<Fingerprint<WORDS>>> {
        let is_held = self.held.spill.is_none();
        is_held.then(|| std::mem::take(&mut self.held.prints))
    }

    /// Finds the pairs of everything pushed.
    pub fn finish(self) -> Result<Pairs, PairsError> {
        self.options.run_held(&self.held)
    }
}

fn blocks_to_use(radius: u32, bits: u32) -> String {
    match bits.checked_sub(radius) {
        None | Some(0) => "no number of them can, leave it out".to_owned(),
        _ => format!("use {} to {bits}", radius + 1),
    }
}

/// Why no pairs could be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairsError {
    /// Blocks must outnumber the radius.
    #[error("{blocks} blocks cannot find pairs within {radius} of {bits} bits; {}", blocks_to_use(*radius, *bits))]
    Blocks {
        /// Asked for.
        blocks: u32,
        /// The radius they must exceed.
        radius: u32,
        /// The bits there are to cut.
        bits: u32,
    },
    /// The radius is wider than the fingerprints.
    #[error("a radius of {radius} is wider than the {bits} bits of a fingerprint")]
    Radius {
        /// Asked for.
        radius: u32,
        /// The width.
        bits: u32,
    },
    /// Too many items for 32-bit positions.
    #[error("{items} items are too many for one run; the most is {}", u32::MAX)]
    TooMany {
        /// How many there were.
        items: usize,
    },
    /// A spill file could not be written or read.
    #[error("{action} in {folder} failed (free some space there, or name another folder)")]
    Spill {
        /// What was being done.
        action: &'static str,
        /// Where.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Whoever watched the search stopped it.
    #[error("stopped")]
    Cancelled,
    /// Items could not be looked up.
    #[error(transparent)]
    Index(#[from] crate::index::IndexError),
}
