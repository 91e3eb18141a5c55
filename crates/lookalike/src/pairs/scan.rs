//! Compares fingerprints exhaustively, for inputs where no cover pays.

use rayon::prelude::*;

use super::Pair;
use crate::{
    Fingerprint,
    hamming::{Kernel, scan::Columns},
};

/// Rows that are compared with one tile of columns before the next tile is fetched.
pub(crate) const ROWS: usize = 128;
/// Columns of a tile: at 32 bytes each they fill half of a small first-level cache.
const TILE: usize = 512;

/// All pairs within `radius`, in no order but that of `b` among those of the same `a`.
pub(super) fn scan<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    progress: &(dyn Fn(f64) + Sync),
) -> Vec<Pair> {
    let scan = Scan::new(prints, radius, kernel);
    let found: Vec<Vec<Pair>> = (0..scan.blocks())
        .into_par_iter()
        .with_max_len(1)
        .map(|block| {
            // Row blocks shrink towards the end, so progress is a share of area. Reported before the work:
            // if `progress` unwinds, blocks not yet begun are skipped.
            progress(1.0 - (1.0 - block as f64 / scan.blocks() as f64).powi(2));
            let mut pairs = Vec::new();
            scan.block(block, |_| prints.len(), |pair| pairs.push(pair));
            pairs
        })
        .collect();
    found.concat()
}

/// Fingerprints prepared for exhaustive comparison, a block of rows at a time.
pub(crate) struct Scan<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    columns: Columns<'a, WORDS>,
}

impl<'a, const WORDS: usize> Scan<'a, WORDS> {
    pub fn new(prints: &'a [Fingerprint<WORDS>], radius: u32, kernel: Kernel) -> Self {
        Self { prints, columns: Columns::new(prints, radius, kernel) }
    }

    /// The number of blocks of rows.
    pub fn blocks(&self) -> usize {
        self.prints.len().div_ceil(ROWS)
    }

    /// Visits, in no order, the pairs of every row of a block with later rows before `end(row)`. `end` must
    /// not shrink from one row to the next.
    pub fn block(&self, block: usize, end: impl Fn(usize) -> usize, mut on_pair: impl FnMut(Pair)) {
        let rows = block * ROWS..self.prints.len().min((block + 1) * ROWS);
        let Some(last) = rows.clone().last() else { return };
        let mut near = Vec::new();
        for tile in (rows.start..end(last)).step_by(TILE) {
            for row in rows.clone() {
                let range = tile.max(row + 1)..end(row).min(tile + TILE);
                if range.is_empty() {
                    continue;
                }
                near.clear();
                self.columns.within(&self.prints[row], range, &mut near);
                for &(b, distance) in &near {
                    on_pair(Pair { a: row as u32, b, distance });
                }
            }
        }
    }
}
