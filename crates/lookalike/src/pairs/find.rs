//! Which way of finding pairs is taken, and what happens around it?

use super::{
    Pair, Workspace,
    join::{Found, Join},
    plan::{Sample, choose},
    scan::scan,
};
use crate::{Fingerprint, cover::Cover, hamming::Kernel};

/// A way to find all pairs.
#[derive(Clone, Debug)]
pub(super) enum Strategy<const WORDS: usize> {
    /// Compare each with each.
    Scan,
    /// Bring those together that share some bits of a cover.
    Join(Cover<WORDS>),
}

/// Joins inside of joins end here: whatever is still dense is compared each with each.
const MOST_DEPTH: u32 = 4;

/// Finds all pairs, equal ones apart.
pub(super) fn find<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    strategy: &Strategy<WORDS>,
    radius: u32,
    kernel: Kernel,
    workspace: &Workspace,
    progress: &(dyn Fn(f64) + Sync),
) -> Found {
    match strategy {
        Strategy::Join(cover) => {
            Join { progress, ..Join::new(prints, cover, radius, kernel, workspace) }.run()
        }
        Strategy::Scan => scan_collapsed(prints, radius, kernel, progress),
    }
}

/// Finds the pairs of fingerprints that are all different.
pub(super) fn find_distinct<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    depth: u32,
) -> Vec<Pair> {
    match choose(&Sample::of(prints), radius) {
        Strategy::Join(cover) if depth < MOST_DEPTH => {
            let workspace = Workspace::default();
            let join = Join::new(prints, &cover, radius, kernel, &workspace);
            // Pairs are told once here.
            Join { stretch_bits: 0, at_once: prints.len(), depth, ..join }.run().near
        }
        _ => scan(prints, radius, kernel, &|_| {}),
    }
}

/// Puts equal fingerprints together, then scans the different ones.
fn scan_collapsed<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    progress: &(dyn Fn(f64) + Sync),
) -> Found {
    let mut items: Vec<(Fingerprint<WORDS>, u32)> = prints.iter().copied().zip(0..).collect();
    items.sort_unstable();
    let mut found = Found::default();
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
