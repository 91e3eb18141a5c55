//! How are bits divided so that a few errors leave some of them equal?
//!
//! A [`Lane`] is some of the bits, with a budget of errors. Budgets are such that the errors of a pair
//! within the radius cannot exceed every one of them; the first lane whose budget holds owns the pair.
//! [`BitOrder`] deals bits to lanes and their blocks. A join walks each lane as a tree of blocks
//! ([`Cover`]); an index makes tables of it. What a search costs is estimated elsewhere.

mod order;
mod sample;
mod tree;

use crate::{Fingerprint, hamming::bits::BitSet};
pub(crate) use order::BitOrder;
pub(crate) use sample::{agreement, colliding_pairs, masked, pairs_of};
pub(crate) use tree::{Branch, Cover, Cut, Path};

/// Some bits, in disjoint blocks, and the number of errors they may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane<const WORDS: usize> {
    pub bits: BitSet<WORDS>,
    pub budget: u32,
    pub blocks: Vec<BitSet<WORDS>>,
}

impl<const WORDS: usize> Lane<WORDS> {
    pub fn new(blocks: Vec<BitSet<WORDS>>, budget: u32) -> Self {
        let bits = blocks.iter().fold(BitSet::EMPTY, |all, block| all.union(block));
        Self { bits, budget, blocks }
    }

    /// Lanes of these budgets, each cut into as many blocks as `blocks` says for its budget. All blocks
    /// have nearly the same size.
    pub fn deal(
        order: &BitOrder,
        budgets: impl Iterator<Item = u32> + Clone,
        blocks: impl Fn(u32) -> u32,
    ) -> Vec<Self> {
        let mut rest = order.cut(budgets.clone().map(&blocks).sum()).into_iter();
        let lane = |budget| {
            let blocks = rest.by_ref().take(blocks(budget) as usize);
            Self::new(blocks.collect(), budget)
        };
        budgets.map(lane).collect()
    }

    /// Whether the errors in this lane stay within its budget.
    #[inline(always)]
    pub fn holds(&self, xor: &Fingerprint<WORDS>) -> bool {
        self.bits.ones(xor) <= self.budget
    }
}

/// Whether lane number `lane` owns the pair with this xor: it is the first whose budget holds.
#[inline(always)]
pub(crate) fn owns<const WORDS: usize>(
    lanes: &[Lane<WORDS>],
    lane: usize,
    xor: &Fingerprint<WORDS>,
) -> bool {
    lanes[lane].holds(xor) && !lanes[..lane].iter().any(|earlier| earlier.holds(xor))
}

/// The budgets of `lanes` lanes, as equal as whole numbers allow, larger ones first.
///
/// They satisfy `sum(budget + 1) = radius + 1`: if every lane exceeded its budget, there would be more
/// than `radius` errors.
pub(crate) fn budgets(radius: u32, lanes: u32) -> impl Iterator<Item = u32> + Clone {
    shares(radius.saturating_add(1), lanes).map(|errors| errors - 1)
}

/// `total` in `parts` whole numbers as equal as can be, larger ones first.
fn shares(total: u32, parts: u32) -> impl Iterator<Item = u32> + Clone {
    (0..parts).map(move |part| total / parts + u32::from(part < total % parts))
}

/// In how many ways `picked` of `budget + picked` blocks can be chosen.
pub(crate) fn choices(budget: u32, picked: u32) -> f64 {
    // Every step divides without a remainder, so numbers below 2^53 are exact.
    (1..=picked).fold(1.0, |ways, i| ways * f64::from(budget + i) / f64::from(i))
}
