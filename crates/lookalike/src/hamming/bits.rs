//! Sets of bit positions, and bits gathered into numbers.
//!
//! [`BitSet`] is a set of positions in a fingerprint; [`Gather`] moves the bits at some positions of one
//! word next to each other (PEXT on x86).

use crate::Fingerprint;

/// A set of bit positions of a fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BitSet<const WORDS: usize>(pub [u64; WORDS]);

impl<const WORDS: usize> BitSet<WORDS> {
    pub const EMPTY: Self = Self([0; WORDS]);

    /// How many positions are in the set.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn insert(&mut self, position: u32) {
        self.0[position as usize / 64] |= 1 << (position % 64);
    }

    pub fn contains(&self, position: u32) -> bool {
        self.0[position as usize / 64] >> (position % 64) & 1 == 1
    }

    pub fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The positions in the set, ascending.
    pub fn positions(&self) -> impl Iterator<Item = u32> {
        let words = (0..).step_by(64).zip(self.0);
        words.flat_map(|(base, mut word)| {
            std::iter::from_fn(move || {
                let lowest = (word != 0).then(|| base + word.trailing_zeros());
                word &= word.wrapping_sub(1);
                lowest
            })
        })
    }

    /// The lowest `count` positions of the set.
    pub fn lowest(&self, count: u32) -> Self {
        self.positions().take(count as usize).collect()
    }

    /// How many bits of `print` are set at these positions.
    #[inline(always)]
    pub fn ones(&self, print: &Fingerprint<WORDS>) -> u32 {
        self.0.iter().zip(&print.0).map(|(set, word)| (set & word).count_ones()).sum()
    }

    /// Whether `print` has no bit set at these positions.
    #[inline(always)]
    pub fn all_zero(&self, print: &Fingerprint<WORDS>) -> bool {
        self.0.iter().zip(&print.0).fold(0, |any, (set, word)| any | set & word) == 0
    }
}

impl<const WORDS: usize> FromIterator<u32> for BitSet<WORDS> {
    fn from_iter<I: IntoIterator<Item = u32>>(positions: I) -> Self {
        let mut set = Self::EMPTY;
        positions.into_iter().for_each(|position| set.insert(position));
        set
    }
}

/// Moves the bits of a word at the positions of `mask` to the bottom, keeping their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gather {
    pub mask: u64,
    /// The bits that step `i` shifts down by `2^i` (Hacker's Delight, 7-4, computed once per mask).
    moves: [u64; 6],
}

impl Gather {
    pub fn new(mask: u64) -> Self {
        let mut moves = [0; 6];
        let mut rest = mask;
        let mut zeros_below = !mask << 1;
        for (step, moved) in moves.iter_mut().enumerate() {
            let parity = prefix_xor(zeros_below);
            *moved = parity & rest;
            rest = rest ^ *moved | *moved >> (1 << step);
            zeros_below &= !parity;
        }
        Self { mask, moves }
    }

    /// The portable twin of PEXT.
    #[inline]
    pub fn apply(&self, word: u64) -> u64 {
        self.moves.iter().enumerate().fold(word & self.mask, |word, (step, moved)| {
            let moving = word & moved;
            word ^ moving | moving >> (1 << step)
        })
    }

    /// Moves the lowest bits back to the positions that [`apply`](Self::apply) takes them from.
    #[inline]
    pub fn undo(&self, gathered: u64) -> u64 {
        let steps = self.moves.iter().enumerate().rev();
        let word =
            steps.fold(gathered, |word, (step, moved)| word & !moved | word << (1 << step) & moved);
        word & self.mask
    }
}

/// Bit `i` of the result is the xor of bits `0..=i`.
fn prefix_xor(word: u64) -> u64 {
    (0..6).fold(word, |word, step| word ^ word << (1 << step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gather_bit_by_bit(word: u64, mask: u64) -> u64 {
        let positions = (0..64).filter(|at| mask >> at & 1 == 1);
        positions.enumerate().fold(0, |out, (to, from)| out | (word >> from & 1) << to)
    }

    proptest! {
        #[test]
        fn gather_moves_each_bit_to_its_rank(word: u64, mask: u64, dense: u64) {
            for mask in [mask, mask & dense, mask | dense, 0, u64::MAX] {
                let gather = Gather::new(mask);
                prop_assert_eq!(gather.apply(word), gather_bit_by_bit(word, mask));
                prop_assert_eq!(gather.undo(gather.apply(word)), word & mask);
            }
        }

        #[test]
        fn the_lowest_positions_and_the_rest_make_up_the_set(words: [u64; 2], count in 0u32..130) {
            let set = BitSet(words);
            let lowest = set.lowest(count);
            let rest = set.without(&lowest);
            prop_assert_eq!(lowest.len(), count.min(set.len()));
            prop_assert_eq!(lowest.union(&rest), set);
            prop_assert!(lowest.positions().last() < rest.positions().next() || rest.len() == 0);
        }
    }
}
