//! Runs the strategy that the planner chose.

use super::{
    Pair, Workspace,
    join::{FoundPairs, Join},
    plan::{Sample, choose},
    scan::scan,
};
use crate::{Fingerprint, cover::Cover, hamming::Kernel};

/// How all pairs are found.
#[derive(Clone, Debug)]
pub(super) enum Strategy<const WORDS: usize> {
    /// Compare exhaustively.
    Scan,
    /// Bring items together that share some bits, as a cover says.
    Join(Cover<WORDS>),
}

/// The maximum depth of joins inside joins. Buckets that are still dense are compared exhaustively.
const MAX_DEPTH: u32 = 4;

/// Finds all pairs, those of equal items apart.
pub(super) fn find<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    strategy: &Strategy<WORDS>,
    radius: u32,
    kernel: Kernel,
    workspace: &Workspace,
    progress: &(dyn Fn(f64) + Sync),
) -> FoundPairs {
    match strategy {
        Strategy::Join(cover) => {
            Join { progress, ..Join::new(prints, cover, radius, kernel, workspace) }.run()
        }
        Strategy::Scan => scan_collapsed(prints, radius, kernel, progress),
    }
}

/// Finds the pairs of distinct fingerprints.
pub(super) fn find_distinct<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    depth: u32,
) -> Vec<Pair> {
    match choose(&Sample::of(prints), radius) {
        Strategy::Join(cover) if depth < MAX_DEPTH => {
            let workspace = Workspace::default();
            let join = Join::new(prints, &cover, radius, kernel, &workspace);
            // Here every pair must be reported once.
            Join { stretch_bits: 0, at_once: prints.len(), depth, ..join }.run().near
        }
        _ => scan(prints, radius, kernel, &|_| {}),
    }
}

/// Groups equal fingerprints, then compares the distinct ones exhaustively.
fn scan_collapsed<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    progress: &(dyn Fn(f64) + Sync),
) -> FoundPairs {
    let mut items: Vec<(Fingerprint<WORDS>, u32)> = prints.iter().copied().zip(0..).collect();
    items.sort_unstable();
    let mut found = FoundPairs::default();
    let mut firsts: Vec<u32> = Vec::new();
    for group in items.chunk_by(|one, two| one.0 == two.0) {
        let first = group[0].1;
        firsts.push(first);
        found.equal.extend(group[1..].iter().map(|&(_, copy)| (first, copy)));
    }
    firsts.sort_unstable();
    let distinct: Vec<_> = firsts.iter().map(|&first| prints[first as usize]).collect();
    let near = scan(&distinct, radius, kernel, progress);
    found.near = near.into_iter().map(|pair| pair.map(|local| firsts[local as usize])).collect();
    found
}
