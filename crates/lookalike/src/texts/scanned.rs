//! Which pairs may be alike, exactly: all that are within the radius?

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use super::{TextSearch, check::Check, digest::Second, store::Store};
use crate::{
    AllPairs, Fingerprint, PairsError, Verify,
    pairs::{ROWS, Scan},
};

/// By a cover of the bits: for small radii.
pub(super) fn by_plan<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    check: &Check<WORDS>,
) -> Result<(), PairsError> {
    let all = AllPairs::new(search.radius).kernel(search.kernel).progress(search.progress);
    let pairs = all.run(&store.prints)?;
    let mut tester = check.tester();
    pairs.for_each(|pair| {
        if check.can_be(pair.a, pair.b) {
            tester.push(pair);
        }
    });
    tester.finish()
}

/// By comparing each with each that is not too heavy for it.
pub(super) fn by_weight<const WORDS: usize>(
    search: &TextSearch,
    verify: Verify,
    store: &Store<WORDS>,
    check: &Check<WORDS>,
) -> Result<(), PairsError> {
    let window = Window::new(verify, &store.weights);
    let prints: Vec<Fingerprint<WORDS>> =
        window.order.iter().map(|&entry| store.prints[entry as usize]).collect();
    // In the same order, so that what is looked at together lies together.
    let seconds: Vec<Second> =
        window.order.iter().map(|&entry| store.seconds[entry as usize]).collect();
    let scan = Scan::new(&prints, search.radius.bits(), search.kernel);
    let compares = window.compares().max(1) as f64;
    let compared = AtomicU64::new(0);
    (0..scan.blocks()).into_par_iter().with_max_len(1).try_for_each(|block| {
        // First: if it unwinds, to stop the search, none of the blocks to come is looked at.
        let rows = block * ROWS..(block + 1) * ROWS;
        let before = compared.fetch_add(window.compares_of(rows), Ordering::Relaxed);
        (search.progress)(before as f64 / compares);
        let mut tester = check.tester();
        scan.block(
            block,
            |row| window.ends[row] as usize,
            |pair| {
                // That one is not too heavy for the other is known.
                let [a, b] = [pair.a, pair.b].map(|place| &seconds[place as usize]);
                if check.is_second_near(a, b) {
                    tester.push(pair.map(|place| window.order[place as usize]));
                }
            },
        );
        tester.finish()
    })
}

/// Entries in order of weight, and for each where those begin that are too heavy to be alike it.
pub(super) struct Window {
    pub order: Vec<u32>,
    pub ends: Vec<u32>,
}

impl Window {
    pub fn new(verify: Verify, weights: &[u32]) -> Self {
        let mut order: Vec<u32> = (0..weights.len() as u32).collect();
        order.par_sort_unstable_by_key(|&entry| (weights[entry as usize], entry));
        let weight = |place: u32| weights[order[place as usize] as usize];
        let mut end = 0;
        let ends = (0..order.len() as u32)
            .map(|place| {
                let heaviest = verify.heaviest_partner(weight(place));
                while end < order.len() as u32 && weight(end) <= heaviest {
                    end += 1;
                }
                end
            })
            .collect();
        Self { order, ends }
    }

    /// How many pairs are looked at.
    pub fn compares(&self) -> u64 {
        self.compares_of(0..self.order.len())
    }

    /// How many pairs some entries make with later ones.
    fn compares_of(&self, rows: Range<usize>) -> u64 {
        let rows = rows.start..rows.end.min(self.ends.len());
        rows.map(|row| u64::from(self.ends[row]) - row as u64 - 1).sum()
    }
}
