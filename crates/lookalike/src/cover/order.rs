//! In which order are bits dealt to blocks?

use super::shares;
use crate::hamming::bits::BitSet;

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

    pub fn positions(&self) -> impl Iterator<Item = u32> {
        self.positions.iter().copied()
    }

    /// The same order of its first positions, up to `count` of them.
    pub fn first(&self, count: u32) -> Self {
        let positions = self.positions().take(count as usize);
        Self { positions: positions.collect(), contiguous: self.contiguous }
    }

    /// The same order of some of its positions.
    pub(super) fn among<const WORDS: usize>(&self, bits: &BitSet<WORDS>) -> Self {
        let positions = self.positions.iter().copied().filter(|&position| bits.contains(position));
        Self { positions: positions.collect(), contiguous: self.contiguous }
    }

    /// Cuts the positions into `parts` sets of nearly equal size.
    pub fn cut<const WORDS: usize>(&self, parts: u32) -> Vec<BitSet<WORDS>> {
        if self.contiguous { self.cut_contiguous(parts) } else { self.deal(parts) }
    }

    fn cut_contiguous<const WORDS: usize>(&self, parts: u32) -> Vec<BitSet<WORDS>> {
        let mut rest = self.positions.iter().copied();
        let sizes = shares(self.len(), parts);
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
