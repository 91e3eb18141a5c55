//! All pairs there are: where no threshold is asked for, and for kinds that are small.

use rayon::prelude::*;

use super::{
    Recall, Search,
    pairs::{Looked, OnPairs},
};
use crate::{
    alike::AlikePair,
    digest::{DigestRef, Digests},
    overlap::Block,
    pairs::PairsError,
    verify::Set,
};

/// Judges every two entries, a block of sets at a time.
pub(super) fn pairs(
    search: &Search<'_>,
    digests: &Digests,
    on_pairs: OnPairs<'_>,
) -> Result<Looked, PairsError> {
    let blocks = digests.sets().blocks();
    let mut judged = 0;
    for (number, ones) in blocks.iter().enumerate() {
        let one_block = digests.sets().load(ones.clone())?;
        for others in &blocks[number..] {
            let other_block = digests.sets().load(others.clone())?;
            ones.clone().into_par_iter().try_for_each(|a| {
                let one = at(digests, &one_block, a);
                let later = others.clone().filter(|&b| b > a);
                let alike: Vec<AlikePair> = later
                    .filter_map(|b| {
                        let two = at(digests, &other_block, b);
                        search.judged(a as u32, b as u32, one, two)
                    })
                    .collect();
                on_pairs(alike)
            })?;
            judged += (ones.len() * others.len()) as u64;
        }
        search.resources.report(ones.end as f64 / digests.entries().max(1) as f64);
    }
    Ok(Looked { recall: Recall::Exact, plan: "every pair".to_owned(), judged })
}

fn at<'a>(digests: &'a Digests, block: &'a Block<'_>, entry: usize) -> DigestRef<'a> {
    let weight = digests.weights()[entry];
    digests.at(entry as u32).with_set(Set { features: block.set(entry), weight })
}
