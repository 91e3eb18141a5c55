//! Which bits must two fingerprints share if they differ in at most k?
//!
//! A [`Cover`] cuts the bits into lanes and grants each lane a budget of errors, such that k
//! errors cannot overrun every budget at once. Inside a lane, errors within the budget cannot touch
//! all of its branches: some block is equal, and so on along a path. Looking at every path in turn
//! finds every pair; [`Path::owns`] says which one reports it.

use super::{BitOrder, Lane, budgets, choices, owns};
use crate::{Fingerprint, hamming::bits::BitSet};

/// Lanes whose budgets cannot all be exceeded, each with a tree of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Cover<const WORDS: usize> {
    pub cut: Cut,
    pub lanes: Vec<Lane<WORDS>>,
    /// The first branches of each lane.
    pub trunks: Vec<Vec<Branch<WORDS>>>,
}

/// A block of a lane's bits, and where to look next among items that are equal in it.
///
/// Of branches side by side, errors within the lane's budget leave at least one block equal; the first
/// such branch is the one that counts. There may be none where more blocks are known to be equal: a path
/// need not be walked to its end.
#[derive(Clone, Debug)]
pub(crate) struct Branch<const WORDS: usize> {
    pub block: BitSet<WORDS>,
    pub branches: Vec<Self>,
}

/// How a lane of budget `b` is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Into `b + picked` blocks, at most `b` of which can be hit: `picked` are equal.
    Once { picked: u32 },
    /// Into `b + 1` blocks, one of which is equal, and what that leaves of the lane into `b + 1` again.
    Twice,
}

/// The blocks chosen on a way along branches, which may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path<const WORDS: usize> {
    pub lane: usize,
    /// All bits of the chosen blocks.
    pub equal: BitSet<WORDS>,
    /// The blocks that stood before them. A pair that it reports differs in each.
    pub unequal: Vec<BitSet<WORDS>>,
}

impl<const WORDS: usize> Cover<WORDS> {
    /// Cuts `order` into `lanes` lanes for `radius` errors.
    pub fn new(order: &BitOrder, radius: u32, lanes: u32, cut: Cut) -> Self {
        debug_assert!((1..=radius + 1).contains(&lanes));
        let lanes = Lane::deal(order, budgets(radius, lanes), |budget| cut.first_blocks(budget));
        let trunks = lanes.iter().map(|lane| cut.trunks(lane, order)).collect();
        Self { cut, lanes, trunks }
    }

    /// The lane and the number of every trunk.
    pub fn trunk_numbers(&self) -> impl Iterator<Item = (usize, usize)> {
        let lanes = self.trunks.iter().enumerate();
        lanes.flat_map(|(lane, trunks)| (0..trunks.len()).map(move |trunk| (lane, trunk)))
    }
}

impl Cut {
    /// How many blocks a lane of this budget is cut into first.
    pub fn first_blocks(self, budget: u32) -> u32 {
        match self {
            Self::Once { picked } => budget + picked,
            Self::Twice => budget + 1,
        }
    }

    /// The tree of a lane's blocks.
    fn trunks<const WORDS: usize>(
        self,
        lane: &Lane<WORDS>,
        order: &BitOrder,
    ) -> Vec<Branch<WORDS>> {
        let Lane { bits, budget, blocks } = lane;
        match self {
            Self::Once { picked } => {
                Branch::first_equal(blocks, *budget as usize, useful_steps(*budget, picked))
            }
            Self::Twice => {
                let branch = |&block: &BitSet<WORDS>| {
                    let left = order.among(&bits.without(&block));
                    let halves = if *budget > 0 { left.cut(budget + 1) } else { Vec::new() };
                    Branch { block, branches: halves.into_iter().map(Branch::end).collect() }
                };
                blocks.iter().map(branch).collect()
            }
        }
    }
}

impl<const WORDS: usize> Branch<WORDS> {
    /// Branches of which at most `budget` blocks are hit, so many steps deep. If the first equal one is the
    /// third, two errors are accounted for, and of the blocks behind it only those that are left can hit.
    fn first_equal(blocks: &[BitSet<WORDS>], budget: usize, steps: u32) -> Vec<Self> {
        if steps == 0 {
            return Vec::new();
        }
        (0..=budget)
            .map(|first| Self {
                block: blocks[first],
                branches: Self::first_equal(&blocks[first + 1..], budget - first, steps - 1),
            })
            .collect()
    }

    fn end(block: BitSet<WORDS>) -> Self {
        Self { block, branches: Vec::new() }
    }

    /// The blocks of all branches behind this one, each once.
    pub fn blocks_behind(&self) -> Vec<BitSet<WORDS>> {
        let mut blocks = Vec::new();
        self.collect_blocks(&mut blocks);
        blocks
    }

    fn collect_blocks(&self, blocks: &mut Vec<BitSet<WORDS>>) {
        for branch in &self.branches {
            if !blocks.contains(&branch.block) {
                blocks.push(branch.block);
            }
            branch.collect_blocks(blocks);
        }
    }

    /// For every path that begins here, how many bits it shares.
    pub fn shared_bits(&self) -> Vec<u32> {
        let own = self.block.len();
        match &self.branches[..] {
            [] => vec![own],
            more => {
                more.iter().flat_map(|next| next.shared_bits()).map(|bits| own + bits).collect()
            }
        }
    }
}

impl<const WORDS: usize> Path<WORDS> {
    /// The path that chooses nothing yet.
    pub fn new(lane: usize) -> Self {
        Self { lane, equal: BitSet::EMPTY, unequal: Vec::new() }
    }

    /// The path that goes on by this one of some branches.
    pub fn then(&self, branches: &[Branch<WORDS>], chosen: usize) -> Self {
        let equal = self.equal.union(&branches[chosen].block);
        let before = branches[..chosen].iter().map(|branch| branch.block);
        Self {
            lane: self.lane,
            equal,
            unequal: self.unequal.iter().copied().chain(before).collect(),
        }
    }

    /// Whether this path reports the pair with this xor: at every step, its block is the first equal one.
    ///
    /// Of the paths that find a pair, exactly one was chosen so, and a pair is reported once. A path that
    /// was not walked to its end reports for all its continuations: they share its beginning.
    #[inline(always)]
    pub fn owns(&self, cover: &Cover<WORDS>, xor: &Fingerprint<WORDS>) -> bool {
        self.equal.all_zero(xor)
            && !self.unequal.iter().any(|block| block.all_zero(xor))
            && owns(&cover.lanes, self.lane, xor)
    }
}

/// How many of `picked` steps paths make. Many blocks forced by the user would make more paths than there
/// are items; what all share at the beginning finds the same pairs.
fn useful_steps(budget: u32, picked: u32) -> u32 {
    const MOST_BRANCHES: f64 = 16_384.0;
    let mut branches = 0.0;
    let few = (1..=picked).take_while(|&depth| {
        branches += choices(budget, depth);
        branches <= MOST_BRANCHES
    });
    (few.count() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every full path of a cover, as the joins walk them, behind all its beginnings.
    fn paths<const WORDS: usize>(cover: &Cover<WORDS>) -> Vec<Vec<Path<WORDS>>> {
        fn extend<const WORDS: usize>(
            branches: &[Branch<WORDS>],
            so_far: &[Path<WORDS>],
            all: &mut Vec<Vec<Path<WORDS>>>,
        ) {
            for (chosen, branch) in branches.iter().enumerate() {
                let mut longer = so_far.to_vec();
                longer.push(so_far[so_far.len() - 1].then(branches, chosen));
                match branch.branches[..] {
                    [] => all.push(longer),
                    _ => extend(&branch.branches, &longer, all),
                }
            }
        }
        let mut all = Vec::new();
        for (number, trunks) in cover.trunks.iter().enumerate() {
            extend(trunks, &[Path::new(number)], &mut all);
        }
        all
    }

    fn cuts() -> [Cut; 4] {
        [Cut::Once { picked: 1 }, Cut::Once { picked: 2 }, Cut::Once { picked: 3 }, Cut::Twice]
    }

    fn orders(bits: u32) -> [BitOrder; 2] {
        let positions: Vec<u32> = (0..bits).collect();
        [BitOrder::contiguous(positions.clone()), BitOrder::dealt(positions)]
    }

    #[test]
    fn every_pattern_of_up_to_three_errors_is_owned_by_exactly_one_path() {
        let mut patterns = 0;
        for order in orders(16) {
            let shapes = [(3, 1), (3, 2), (3, 4), (2, 3), (2, 2), (1, 1), (0, 1)];
            for ((radius, lanes), cut) in
                shapes.iter().flat_map(|&shape| cuts().map(|cut| (shape, cut)))
            {
                let cover = Cover::<1>::new(&order, radius, lanes, cut);
                let paths = paths(&cover);
                for errors in 0u64..1 << 16 {
                    if errors.count_ones() <= radius {
                        let xor = Fingerprint([errors]);
                        let owns = |path: &&Vec<Path<1>>| path[path.len() - 1].owns(&cover, &xor);
                        let owners = paths.iter().filter(owns).count();
                        assert_eq!(owners, 1, "{errors:016b} in {cover:?}");
                        patterns += 1;
                    }
                }
            }
        }
        assert!(patterns > 7_000);
    }

    #[test]
    fn blocks_of_16_bits_and_half_of_their_partners_make_eight_sets_of_24() {
        let cover = Cover::<1>::new(&orders(64)[0], 3, 2, Cut::Twice);
        let trunks = cover.trunks.iter().flatten();
        let bits: Vec<u32> = trunks.flat_map(|trunk| trunk.shared_bits()).collect();
        assert_eq!(bits, [24; 8]);
    }

    proptest! {
        #[test]
        fn every_error_pattern_is_owned_by_exactly_one_path_and_each_of_its_beginnings(
            errors in proptest::collection::vec(0u32..256, 0..=31),
            lanes in 1u32..=32, cut in 0usize..4, dealt: bool,
        ) {
            // A single lane has thousands of paths of three blocks.
            let cut = if lanes < 4 { Cut::Once { picked: 2 } } else { cuts()[cut] };
            let cover = Cover::<4>::new(&orders(256)[usize::from(dealt)], 31, lanes, cut);
            let mut xor = Fingerprint::ZERO;
            errors.iter().for_each(|&at| xor.0[at as usize / 64] |= 1 << (at % 64));
            let owns = |path: &&Vec<Path<4>>| path[path.len() - 1].owns(&cover, &xor);
            let paths = paths(&cover);
            let owners: Vec<_> = paths.iter().filter(owns).collect();
            prop_assert_eq!(owners.len(), 1);
            for beginning in owners[0] {
                prop_assert!(beginning.owns(&cover, &xor));
            }
        }
    }
}
