//! All candidates within a list of vectors, or between two lists.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    Codes, PANEL, Panels,
    filter::{Columns, ROWS, Test, Tile},
};
use crate::hamming::Kernel;

/// The number of rows that a thread compares at a time.
const TOGETHER: usize = 64 * ROWS;

/// The size of the panels that stay in the cache while rows are compared with them, in bytes.
const CACHED: usize = 160 << 10;

/// Receives candidates as rows and columns, on any thread.
pub type OnCandidates<'a, E> = &'a (dyn Fn(&[(u32, u32)]) -> Result<(), E> + Sync);

/// Finds every pair that may reach the threshold, once each, with the earlier vector first.
pub fn among<E: Send>(
    codes: &Codes,
    least: f32,
    kernel: Kernel,
    on_candidates: OnCandidates<'_, E>,
    on_rows: &(dyn Fn(usize) + Sync),
) -> Result<(), E> {
    let columns = Columns::of(codes);
    let scan = Scan { codes, panels: columns.panels(), least, test: Test::of(kernel) };
    // The first rows have the most columns, so they start first.
    starts(codes).try_for_each(|first| {
        let rows = first..codes.len().min(first + TOGETHER);
        scan.rows(rows.clone(), true, on_candidates)?;
        on_rows(rows.len());
        Ok(())
    })
}

/// Finds every pair of a row and a column that may reach the threshold, once each.
pub fn between<E: Send>(
    codes: &Codes,
    panels: Panels<'_>,
    least: f32,
    kernel: Kernel,
    on_candidates: OnCandidates<'_, E>,
) -> Result<(), E> {
    let scan = Scan { codes, panels, least, test: Test::of(kernel) };
    starts(codes).try_for_each(|first| {
        scan.rows(first..codes.len().min(first + TOGETHER), false, on_candidates)
    })
}

/// The number of pairs that may reach the threshold.
pub fn count_among(codes: &Codes, least: f32, kernel: Kernel) -> u64 {
    let count = std::sync::atomic::AtomicU64::new(0);
    let add = |some: &[(u32, u32)]| {
        count.fetch_add(some.len() as u64, std::sync::atomic::Ordering::Relaxed);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(()) = among(codes, least, kernel, &add, &|_| {});
    count.into_inner()
}

fn starts(codes: &Codes) -> impl ParallelIterator<Item = usize> {
    (0..codes.len().div_ceil(TOGETHER)).into_par_iter().with_max_len(1).map(|at| at * TOGETHER)
}

struct Scan<'a> {
    codes: &'a Codes,
    panels: Panels<'a>,
    least: f32,
    test: Test,
}

impl Scan<'_> {
    fn rows<E>(
        &self,
        rows: Range<usize>,
        later: bool,
        on_candidates: OnCandidates<'_, E>,
    ) -> Result<(), E> {
        let first_panel = if later { rows.start / PANEL } else { 0 };
        let together = (CACHED / (self.panels.depth * PANEL).max(1)).max(1);
        let tiles: Vec<(usize, Tile)> = rows
            .clone()
            .step_by(ROWS)
            .map(|first| {
                let mut tile = Tile::default();
                tile.take(self.codes, first, self.least);
                (first, tile)
            })
            .collect();
        let mut found = Vec::new();
        let panels: Vec<usize> = (first_panel..self.panels.count()).collect();
        for block in panels.chunks(together) {
            for (first, tile) in &tiles {
                for &panel in block {
                    // The panel has no column after the first row of the tile.
                    if later && (panel + 1) * PANEL <= first + 1 {
                        continue;
                    }
                    let passed = self.test.passed(tile, self.panels.at(panel));
                    self.collect(passed, *first, panel, later, &mut found);
                }
            }
            if !found.is_empty() {
                on_candidates(&found)?;
                found.clear();
            }
        }
        Ok(())
    }

    #[inline]
    fn collect(
        &self,
        passed: [u32; ROWS],
        first: usize,
        panel: usize,
        later: bool,
        found: &mut Vec<(u32, u32)>,
    ) {
        if passed == [0; ROWS] {
            return;
        }
        for (row, mut bits) in (first..).zip(passed) {
            while bits != 0 {
                let column = panel * PANEL + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if column < self.panels.len() && (!later || column > row) {
                    found.push((row as u32, column as u32));
                }
            }
        }
    }
}
