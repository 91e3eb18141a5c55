//! How are pairs found when no cover pays: by comparing each with each, as fast as bits can be counted.

use rayon::prelude::*;

use super::Pair;
use crate::{
    Fingerprint,
    hamming::{Kernel, scan::Columns},
};

/// Rows that are held against one tile of columns before the next tile is fetched.
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
            // Row blocks shrink towards the end: the part done is one of area. Told before the work:
            // if it unwinds here, all that has not begun ends at once.
            progress(1.0 - (1.0 - block as f64 / scan.blocks() as f64).powi(2));
            let mut pairs = Vec::new();
            scan.block(block, |_| prints.len(), |pair| pairs.push(pair));
            pairs
        })
        .collect();
    found.concat()
}

/// Fingerprints prepared for comparing each with each, a block of rows at a time.
pub(crate) struct Scan<'a, const WORDS: usize> {
    prints: &'a [Fingerprint<WORDS>],
    columns: Columns<'a, WORDS>,
}

impl<'a, const WORDS: usize> Scan<'a, WORDS> {
    pub fn new(prints: &'a [Fingerprint<WORDS>], radius: u32, kernel: Kernel) -> Self {
        Self { prints, columns: Columns::new(prints, radius, kernel) }
    }

    /// Into how many blocks the rows are cut.
    pub fn blocks(&self) -> usize {
        self.prints.len().div_ceil(ROWS)
    }

    /// Visits, in no order, the pairs of every row of a block with a later one that is before
    /// `end` of the row. `end` must not shrink from one row to the next.
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
