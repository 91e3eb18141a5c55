//! How are pairs found when no cover pays: by comparing each with each, as fast as bits can be counted.

use rayon::prelude::*;

use super::Pair;
use crate::{Fingerprint, Kernel, hamming::scan::Columns};

/// Rows that are held against one tile of columns before the next tile is fetched.
const ROWS: usize = 128;
/// Columns of a tile: at 32 bytes each they fill half of a small first-level cache.
const TILE: usize = 512;

/// All pairs within `radius`, in order of `(a, b)`.
pub(super) fn scan<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    kernel: Kernel,
    progress: &(dyn Fn(f64) + Sync),
) -> Vec<Pair> {
    let columns = Columns::new(prints, radius, kernel);
    let blocks = prints.len().div_ceil(ROWS);
    let found: Vec<Vec<Pair>> = (0..blocks)
        .into_par_iter()
        .with_max_len(1)
        .map(|block| {
            let rows = block * ROWS..prints.len().min((block + 1) * ROWS);
            let pairs = scan_rows(prints, &columns, rows);
            // Row blocks shrink towards the end: the part done is one of area.
            progress(1.0 - (1.0 - (block + 1) as f64 / blocks as f64).powi(2));
            pairs
        })
        .collect();
    found.concat()
}

fn scan_rows<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    columns: &Columns<WORDS>,
    rows: std::ops::Range<usize>,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut near = Vec::new();
    for tile in (rows.start..prints.len()).step_by(TILE) {
        for row in rows.clone() {
            let range = tile.max(row + 1)..prints.len().min(tile + TILE);
            if range.is_empty() {
                continue;
            }
            near.clear();
            columns.within(&prints[row], range, &mut near);
            pairs.extend(near.iter().map(|&(b, distance)| Pair { a: row as u32, b, distance }));
        }
    }
    pairs.sort_unstable();
    pairs
}
