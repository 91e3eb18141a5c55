//! Which bits must two fingerprints share if they differ in at most k?
//!
//! A [`Cover`] cuts the bits into lanes and grants each lane a budget of errors, such that k
//! errors cannot overrun every budget at once. Inside a lane, errors within the budget cannot touch
//! all of its branches: some block is equal, and so on along a path. Looking at every path in turn
//! finds every pair; [`Path::owns`] says which one reports it.

use crate::{Fingerprint, hamming::bits::BitSet};

/// A list of lanes that no pattern of `radius` errors can overrun.
#[derive(Clone, Debug)]
pub(crate) struct Cover<const WORDS: usize> {
    pub cut: Cut,
    pub lanes: Vec<Lane<WORDS>>,
}

/// Some bits, with the number of errors they may contain.
#[derive(Clone, Debug)]
pub(crate) struct Lane<const WORDS: usize> {
    pub bits: BitSet<WORDS>,
    pub budget: u32,
    /// The trunks: where to look first.
    pub branches: Vec<Branch<WORDS>>,
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
    /// Cuts `order` (bit positions, the most telling first) into `lanes` lanes for `radius` errors.
    ///
    /// The lanes' budgets satisfy `sum(budget + 1) = radius + 1`: were every lane over its budget,
    /// there would be more than `radius` errors.
    pub fn new(order: &BitOrder, radius: u32, lanes: u32, cut: Cut) -> Self {
        debug_assert!((1..=radius + 1).contains(&lanes));
        let budgets = (0..lanes).map(|lane| share(radius + 1, lanes, lane) - 1);
        let counts = budgets.map(|budget| (budget, cut.first_blocks(budget)));
        let counts: Vec<(u32, u32)> = counts.collect();
        let mut parts = order.cut(counts.iter().map(|&(_, blocks)| blocks).sum()).into_iter();
        let lanes = counts
            .into_iter()
            .map(|(budget, blocks)| {
                let blocks: Vec<_> = parts.by_ref().take(blocks as usize).collect();
                match cut {
                    Cut::Once { .. } => Lane::cut_once(&blocks, budget),
                    Cut::Twice => Lane::cut_twice(&blocks, order),
                }
            })
            .collect();
        Self { cut, lanes }
    }

    /// The first branches of all paths, with their lanes: the trunks.
    pub fn trunks(&self) -> impl Iterator<Item = (usize, usize)> {
        let lanes = self.lanes.iter().enumerate();
        lanes.flat_map(|(number, lane)| (0..lane.branches.len()).map(move |trunk| (number, trunk)))
    }

    /// Whether the pair with this xor is found in this lane: the first whose budget holds.
    #[inline(always)]
    fn lane_owns(&self, lane: usize, xor: &Fingerprint<WORDS>) -> bool {
        self.lanes[lane].holds(xor) && !self.lanes[..lane].iter().any(|earlier| earlier.holds(xor))
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
}

impl<const WORDS: usize> Lane<WORDS> {
    fn new(blocks: &[BitSet<WORDS>], budget: u32, branches: Vec<Branch<WORDS>>) -> Self {
        let bits = blocks.iter().fold(BitSet::EMPTY, |all, block| all.union(block));
        Self { bits, budget, branches }
    }

    /// At most `budget` of these blocks are hit, and all the others equal.
    fn cut_once(blocks: &[BitSet<WORDS>], budget: u32) -> Self {
        let picked = blocks.len() as u32 - budget;
        let steps = worth_a_step(budget, picked);
        Self::new(blocks, budget, Branch::first_equal(blocks, budget as usize, steps))
    }

    /// One fewer of these blocks may be hit, and as many errors be in what one of them leaves of the lane.
    fn cut_twice(blocks: &[BitSet<WORDS>], order: &BitOrder) -> Self {
        let mut lane = Self::new(blocks, blocks.len() as u32 - 1, Vec::new());
        let branch = |&block: &BitSet<WORDS>| {
            let left = order.among(&lane.bits.without(&block));
            let blocks = if blocks.len() > 1 { left.cut(blocks.len() as u32) } else { Vec::new() };
            Branch { block, branches: blocks.into_iter().map(Branch::end).collect() }
        };
        lane.branches = blocks.iter().map(branch).collect();
        lane
    }

    /// Whether the errors in this lane stay within its budget.
    #[inline(always)]
    fn holds(&self, xor: &Fingerprint<WORDS>) -> bool {
        self.bits.ones(xor) <= self.budget
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
            && cover.lane_owns(self.lane, xor)
    }
}

/// Bit positions in the order in which they are dealt to blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BitOrder {
    positions: Vec<u32>,
    /// Whether neighbours in the order go to one block (true) or to different ones (false).
    contiguous: bool,
}

impl BitOrder {
    /// Neighbouring positions stay together: cheapest to gather, good if all bits tell alike.
    pub fn contiguous(positions: Vec<u32>) -> Self {
        Self { positions, contiguous: true }
    }

    /// Positions are dealt out in turn, back and forth, so that every block gets its share of the
    /// telling bits that stand first.
    pub fn dealt(positions: Vec<u32>) -> Self {
        Self { positions, contiguous: false }
    }

    pub fn len(&self) -> u32 {
        self.positions.len() as u32
    }

    /// The same order of some of its positions.
    fn among<const WORDS: usize>(&self, bits: &BitSet<WORDS>) -> Self {
        let positions = self.positions.iter().copied().filter(|&position| bits.contains(position));
        Self { positions: positions.collect(), contiguous: self.contiguous }
    }

    /// Cuts the positions into `parts` sets of nearly equal size.
    pub fn cut<const WORDS: usize>(&self, parts: u32) -> Vec<BitSet<WORDS>> {
        if self.contiguous { self.cut_contiguous(parts) } else { self.deal(parts) }
    }

    fn cut_contiguous<const WORDS: usize>(&self, parts: u32) -> Vec<BitSet<WORDS>> {
        let mut rest = self.positions.iter().copied();
        let sizes = (0..parts).map(|part| share(self.len(), parts, part));
        sizes.map(|size| rest.by_ref().take(size as usize).collect()).collect()
    }

    fn deal<const WORDS: usize>(&self, parts: u32) -> Vec<BitSet<WORDS>> {
        let mut sets = vec![BitSet::EMPTY; parts as usize];
        for (round, positions) in self.positions.chunks(parts as usize).enumerate() {
            for (turn, &position) in positions.iter().enumerate() {
                let part = if round % 2 == 0 { turn } else { sets.len() - 1 - turn };
                sets[part].insert(position);
            }
        }
        sets
    }
}

/// The number of paths of `depth` blocks in a lane of so many errors: `budget + depth` choose `depth`.
pub(super) fn choices(budget: u32, depth: u32) -> f64 {
    (1..=depth).map(|i| f64::from(budget + i) / f64::from(i)).product()
}

/// How many of `picked` steps paths make. Many blocks forced by the user would make more paths than there
/// are items; what all share at the beginning finds the same pairs.
fn worth_a_step(budget: u32, picked: u32) -> u32 {
    const MOST_BRANCHES: f64 = 16_384.0;
    let mut branches = 0.0;
    let few = (1..=picked).take_while(|&depth| {
        branches += choices(budget, depth);
        branches <= MOST_BRANCHES
    });
    (few.count() as u32).max(1)
}

/// Part `index` of `total` shared among `parts` as evenly as whole numbers allow, larger ones first.
pub(super) fn share(total: u32, parts: u32, index: u32) -> u32 {
    total / parts + u32::from(index < total % parts)
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
        for (number, lane) in cover.lanes.iter().enumerate() {
            extend(&lane.branches, &[Path::new(number)], &mut all);
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
        let trunks = cover.lanes.iter().flat_map(|lane| &lane.branches);
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
