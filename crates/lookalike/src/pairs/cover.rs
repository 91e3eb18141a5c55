//! Which bits must two fingerprints share if they differ in at most k?
//!
//! A [`Cover`] cuts the bits into lanes and grants each lane a budget of errors, such that k
//! errors cannot overrun every budget at once. Inside a lane, bits are cut into `budget + picked`
//! blocks: at most `budget` of them can be hit, so at least `picked` are equal. Looking in turn at
//! every choice of `picked` blocks finds every pair; [`Path::owns`] says which choice reports it.

use crate::{Fingerprint, hamming::bits::BitSet};

/// A list of lanes that no pattern of `radius` errors can overrun.
#[derive(Clone, Debug)]
pub(crate) struct Cover<const WORDS: usize> {
    pub lanes: Vec<Lane<WORDS>>,
}

/// Some bits, in blocks, with the number of errors they may contain.
#[derive(Clone, Debug)]
pub(crate) struct Lane<const WORDS: usize> {
    pub bits: BitSet<WORDS>,
    pub budget: u32,
    /// `budget + picked` disjoint parts of `bits`.
    pub blocks: Vec<BitSet<WORDS>>,
    pub picked: u32,
}

/// A choice of blocks of one lane, ascending; the ones not yet chosen come after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub lane: usize,
    pub blocks: Vec<usize>,
}

impl<const WORDS: usize> Cover<WORDS> {
    /// Cuts `order` (bit positions, the most telling first) into `lanes` lanes for `radius` errors,
    /// `picked` blocks to be chosen in each.
    ///
    /// The lanes' budgets satisfy `sum(budget + 1) = radius + 1`: were every lane over its budget,
    /// there would be more than `radius` errors.
    pub fn new(order: &BitOrder, radius: u32, lanes: u32, picked: u32) -> Self {
        debug_assert!((1..=radius + 1).contains(&lanes) && picked >= 1);
        let shares = (0..lanes).map(|lane| share(radius + 1, lanes, lane));
        let budgets: Vec<u32> = shares.map(|errors| errors - 1).collect();
        let blocks: Vec<u32> = budgets.iter().map(|budget| budget + picked).collect();
        let mut parts = order.cut(blocks.iter().sum::<u32>()).into_iter();
        let lanes = budgets
            .iter()
            .zip(&blocks)
            .map(|(&budget, &blocks)| {
                Lane::new(parts.by_ref().take(blocks as usize).collect(), budget)
            })
            .collect();
        Self { lanes }
    }

    /// Cuts `order` into lanes that hold one error or none, each into a key of `key_bits` bits, the most
    /// telling ones, and the rest.
    pub fn of_single_errors(order: &BitOrder, radius: u32, key_bits: u32) -> Self {
        let lanes = single_error_lanes(radius);
        let lane = |(number, bits): (u32, BitSet<WORDS>)| {
            let telling = order.positions.iter().copied().filter(|&at| bits.contains(at));
            let key: BitSet<WORDS> = telling.take(key_bits as usize).collect();
            let rest = bits.without(&key);
            Lane::new(vec![key, rest], share(radius + 1, lanes, number) - 1)
        };
        Self { lanes: (0..).zip(order.cut(lanes)).map(lane).collect() }
    }

    /// The first blocks of all paths, with their lanes: the trunks.
    pub fn trunks(&self) -> impl Iterator<Item = (usize, usize)> {
        let lanes = self.lanes.iter().enumerate();
        lanes.flat_map(|(number, lane)| lane.next_blocks(0, None).map(move |trunk| (number, trunk)))
    }

    /// Whether the pair with this xor is found in this lane: the first whose budget holds.
    #[inline]
    pub fn lane_owns(&self, lane: usize, xor: &Fingerprint<WORDS>) -> bool {
        self.lanes[lane].holds(xor) && !self.lanes[..lane].iter().any(|earlier| earlier.holds(xor))
    }
}

impl<const WORDS: usize> Lane<WORDS> {
    fn new(blocks: Vec<BitSet<WORDS>>, budget: u32) -> Self {
        let bits = blocks.iter().fold(BitSet::EMPTY, |all, block| all.union(block));
        let picked = blocks.len() as u32 - budget;
        Self { bits, budget, blocks, picked }
    }

    /// Whether the errors in this lane stay within its budget.
    #[inline]
    fn holds(&self, xor: &Fingerprint<WORDS>) -> bool {
        self.bits.ones(xor) <= self.budget
    }

    /// The blocks that may be chosen next, after `chosen` blocks of which `last` was the last.
    pub fn next_blocks(
        &self,
        chosen: usize,
        last: Option<usize>,
    ) -> std::ops::RangeInclusive<usize> {
        let from = last.map_or(0, |last| last + 1);
        from..=self.budget as usize + chosen
    }
}

impl Path {
    /// The blocks before its last that it does not choose: a pair it reports differs in each.
    pub fn skipped(&self) -> impl Iterator<Item = usize> {
        let last = self.blocks.last().copied().unwrap_or(0);
        (0..last).filter(|block| !self.blocks.contains(block))
    }

    /// Whether this path reports the pair with this xor: its blocks are the first equal ones.
    ///
    /// Of the choices that find a pair, exactly one consists of the first `picked` equal blocks,
    /// so a pair is reported once. A path that was not walked to its end reports for all its
    /// continuations: they share its beginning.
    #[inline]
    pub fn owns<const WORDS: usize>(&self, cover: &Cover<WORDS>, xor: &Fingerprint<WORDS>) -> bool {
        let blocks = &cover.lanes[self.lane].blocks;
        let mut chosen = self.blocks.iter().copied().peekable();
        let last = self.blocks.last().map_or(0, |last| last + 1);
        let first_equal = blocks[..last]
            .iter()
            .enumerate()
            .all(|(block, bits)| bits.all_zero(xor) == (chosen.next_if_eq(&block).is_some()));
        first_equal && cover.lane_owns(self.lane, xor)
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

/// How many lanes there must be for none to hold more than one of `radius` errors.
pub(super) fn single_error_lanes(radius: u32) -> u32 {
    radius / 2 + 1
}

/// Part `index` of `total` shared among `parts` as evenly as whole numbers allow, larger ones first.
pub(super) fn share(total: u32, parts: u32, index: u32) -> u32 {
    total / parts + u32::from(index < total % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every full path of a cover, as the joins walk them.
    fn paths<const WORDS: usize>(cover: &Cover<WORDS>) -> Vec<Path> {
        fn extend<const WORDS: usize>(lane: &Lane<WORDS>, path: &Path, all: &mut Vec<Path>) {
            if path.blocks.len() == lane.picked as usize {
                return all.push(path.clone());
            }
            for block in lane.next_blocks(path.blocks.len(), path.blocks.last().copied()) {
                let mut longer = path.clone();
                longer.blocks.push(block);
                extend(lane, &longer, all);
            }
        }
        let mut all = Vec::new();
        for (lane, blocks) in cover.lanes.iter().enumerate() {
            extend(blocks, &Path { lane, blocks: Vec::new() }, &mut all);
        }
        all
    }

    fn orders(bits: u32) -> [BitOrder; 2] {
        let positions: Vec<u32> = (0..bits).collect();
        [BitOrder::contiguous(positions.clone()), BitOrder::dealt(positions)]
    }

    #[test]
    fn every_pattern_of_up_to_three_errors_is_owned_by_exactly_one_path() {
        let mut patterns = 0;
        for order in orders(16) {
            for (radius, lanes, picked) in
                [(3, 1, 1), (3, 1, 3), (3, 2, 2), (3, 2, 1), (3, 4, 1), (2, 3, 2)]
            {
                let cover = Cover::<1>::new(&order, radius, lanes, picked);
                let paths = paths(&cover);
                for errors in 0u64..1 << 16 {
                    if errors.count_ones() <= radius {
                        let xor = Fingerprint([errors]);
                        let owners = paths.iter().filter(|path| path.owns(&cover, &xor)).count();
                        assert_eq!(owners, 1, "{errors:016b} in {cover:?}");
                        patterns += 1;
                    }
                }
            }
        }
        assert!(patterns > 7_000);
    }

    proptest! {
        #[test]
        fn every_error_pattern_is_owned_by_exactly_one_path_and_each_of_its_beginnings(
            errors in proptest::collection::vec(0u32..256, 0..=31),
            lanes in 1u32..=32, picked in 1u32..=2, dealt: bool,
        ) {
            let cover = Cover::<4>::new(&orders(256)[usize::from(dealt)], 31, lanes, picked);
            let mut xor = Fingerprint::ZERO;
            errors.iter().for_each(|&at| xor.0[at as usize / 64] |= 1 << (at % 64));
            let owners: Vec<Path> = paths(&cover).into_iter().filter(|path| path.owns(&cover, &xor)).collect();
            prop_assert_eq!(owners.len(), 1);
            for length in 1..owners[0].blocks.len() {
                let beginning = Path { lane: owners[0].lane, blocks: owners[0].blocks[..length].to_vec() };
                prop_assert!(beginning.owns(&cover, &xor));
            }
        }
    }
}
