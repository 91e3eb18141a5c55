//! Which pairs may be alike, exactly: all that are within the radius?

use rayon::prelude::*;

use super::{TextSearch, check::Check, store::Store};
use crate::{
    AllPairs, Fingerprint, Pair, PairsError, Verify,
    pairs::{ROWS, Scan},
};

/// Pairs of fingerprints that are compared before what passes is checked further.
const AT_ONCE: usize = 1 << 31;

/// By a cover of the bits: for small radii.
pub(super) fn by_plan<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    check: &mut Check<WORDS>,
) -> Result<(), PairsError> {
    let all = AllPairs::new(search.radius).kernel(search.kernel).progress(search.progress);
    let pairs = all.run(&store.prints)?;
    let mut possible = Vec::new();
    pairs.for_each(|pair| possible.extend(check.can_be(pair.a, pair.b).then_some(pair)));
    check.push(possible)
}

/// By comparing each with each that is not too heavy for it.
pub(super) fn by_weight<const WORDS: usize>(
    search: &TextSearch,
    verify: Verify,
    store: &Store<WORDS>,
    check: &mut Check<WORDS>,
) -> Result<(), PairsError> {
    let window = Window::new(verify, &store.weights);
    let prints: Vec<Fingerprint<WORDS>> =
        window.order.iter().map(|&entry| store.prints[entry as usize]).collect();
    let scan = Scan::new(&prints, search.radius.bits(), search.kernel);
    let compares = window.compares().max(1) as f64;
    // Blocks of rows that together make about so many pairs.
    let blocks = (AT_ONCE / (ROWS * prints.len().max(1))).max(rayon::current_num_threads());
    for first in (0..scan.blocks()).step_by(blocks) {
        let last = scan.blocks().min(first + blocks);
        let found: Vec<Vec<Pair>> = (first..last)
            .into_par_iter()
            .with_max_len(1)
            .map(|block| {
                let mut possible = Vec::new();
                scan.block(
                    block,
                    |row| window.ends[row] as usize,
                    |pair| {
                        let [a, b] = [pair.a, pair.b].map(|place| window.order[place as usize]);
                        if check.can_be(a, b) {
                            possible.push(Pair { a: a.min(b), b: a.max(b), ..pair });
                        }
                    },
                );
                possible
            })
            .collect();
        check.push(found.concat())?;
        (search.progress)(window.compares_before(last * ROWS) as f64 / compares);
    }
    Ok(())
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
        self.compares_before(self.order.len())
    }

    /// How many pairs the first `rows` entries make.
    fn compares_before(&self, rows: usize) -> u64 {
        self.ends.iter().take(rows).zip(1..).map(|(&end, next)| u64::from(end) - next).sum()
    }
}
