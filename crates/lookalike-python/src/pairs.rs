//! Pairs of fingerprints within a distance.

use lookalike::{
    AllPairs, Radius, Resources,
    pairs::{Pair, PairsError},
};
use pyo3::{exceptions::PyMemoryError, prelude::*, types::PyByteArray};

use crate::{
    error::OrRaise,
    number::{Bits, Blocks, Distance, Memory, Threads},
    prints::{for_words, many, to_bytes, width},
    work::{self, interruptible},
};

/// The maximum number of pairs, which take 48 GB.
const MOST: u64 = 1 << 32;

/// All pairs as triples of 32-bit numbers: two positions and the distance.
///
/// `first`: items with equal fingerprints are paired only with the first of them.
#[pyfunction]
#[pyo3(signature = (prints, bits, distance, blocks=None, *, first=false, memory=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn find_all<'py>(
    py: Python<'py>,
    prints: &Bound<'py, PyAny>,
    bits: Bits,
    distance: Distance,
    blocks: Option<Blocks>,
    first: bool,
    memory: Option<Memory>,
    threads: Option<Threads>,
) -> PyResult<Bound<'py, PyByteArray>> {
    let (bits, distance) = (bits.0, distance.0);
    let width = width(bits)?;
    if distance > bits {
        return Err(PairsError::Radius { radius: distance, bits }).or_raise();
    }
    let pool = work::pool(threads)?;
    let pairs = for_words!(width.words(), W => {
        let prints = many::<W>(prints, width)?;
        interruptible(py, |stop| {
            let watch = |_| stop.watch();
            let mut resources = Resources::new().watch(&watch);
            if let Some(Memory(bytes)) = memory {
                resources = resources.memory(bytes, std::env::temp_dir());
            }
            let mut options = AllPairs::new(Radius::new(distance)).resources(resources);
            if let Some(Blocks(blocks)) = blocks {
                options = options.blocks(blocks);
            }
            pool.install(|| options.run(&prints))
        })?
    });
    let pairs = pairs.or_raise()?;
    let mut found: Vec<[u32; 3]> = Vec::new();
    let mut push = |pair: Pair| found.push([pair.a, pair.b, pair.distance]);
    if first {
        pairs.near().iter().copied().for_each(&mut push);
        for group in pairs.equal_groups() {
            group[1..].iter().for_each(|&b| push(Pair { a: group[0], b, distance: 0 }));
        }
        found.sort_unstable();
    } else {
        let count = pairs.count();
        if count > MOST {
            return Err(PyMemoryError::new_err(format!(
                "{count} pairs, most of them of equal fingerprints, are too many; \
                 equal=\"first\" ties each to the first of its equals"
            )));
        }
        pairs.for_each(push);
    }
    to_bytes(py, &found)
}
