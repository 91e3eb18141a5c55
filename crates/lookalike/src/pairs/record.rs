//! What travels with an item while it is sorted into buckets?
//!
//! A record is one word: the item's position in the low bits, and above it as many telling bits of
//! its fingerprint as fit, the digest. [`Layout`] says which bits those are for one trunk (the first
//! block of a path) and where in the record the keys of the following blocks lie.
//!
//! Where there are very many items, their positions would leave too few bits to tell them apart. Then a
//! record has the position of a short stretch of items, and which of these it is, its digest tells.

use std::ops::Range;

use super::cover::{Cover, Lane, Path};
use crate::{
    Fingerprint,
    hamming::{
        bits::{BitSet, Gather},
        filter::{Filter, Rival},
    },
};

/// How records tell items: by the position of a stretch of `2^stretch_bits`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positions {
    pub items: usize,
    pub stretch_bits: u32,
}

impl Positions {
    /// How many bits of a record they take.
    pub fn bits(self) -> u32 {
        item_bits(self.items).saturating_sub(self.stretch_bits)
    }
}

/// The bits of a position that tell the items of one stretch apart, if there are so many items.
pub(super) fn stretch_bits(items: usize) -> u32 {
    // What is left of a record is enough to refuse all but one in some thousand random pairs.
    const MOST_ID_BITS: u32 = 25;
    item_bits(items).saturating_sub(MOST_ID_BITS)
}

fn item_bits(items: usize) -> u32 {
    usize::BITS - items.saturating_sub(1).leading_zeros()
}

/// Which bits of a fingerprint go where in a record.
#[derive(Clone, Debug)]
pub(super) struct Layout<const WORDS: usize> {
    /// Gathers the bits that choose the partition.
    pub key: Vec<Part>,
    /// Gathers the digest, already shifted above the position.
    pub digest: Vec<Part>,
    /// A record has the position of a stretch of `2^stretch_bits` items.
    pub stretch_bits: u32,
    id_bits: u32,
    /// Where in the record the bits of each block of the lane lie; empty for blocks that are not carried.
    pub fields: Vec<Field>,
    /// For each block of the lane, whether records carry all its bits, the partition's key apart.
    whole: Vec<bool>,
    /// The earlier lanes that records carry whole.
    earlier: Vec<Rival>,
    /// Record bits that belong to the lane, and all that belong to the digest.
    pub lane_mask: u64,
    pub digest_mask: u64,
    pub check: Check,
}

/// How 32 bits are made of a record that differ at most where the record does, and what they tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    shift: u32,
    /// Record bits, all among the lowest 32, that are folded onto the shifted ones.
    fold: u64,
    /// At most `most` of these record bits differ in a pair that is looked for.
    telling: u64,
    most: u32,
}

/// Some bits of one word of a fingerprint and where they go: none by default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub word: usize,
    pub gather: Gather,
    pub shift: u32,
}

/// A run of bits in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub shift: u32,
    pub bits: u32,
}

impl Field {
    /// The lowest `bits` bits of the field, and the rest.
    pub fn cut(self, bits: u32) -> (Self, Self) {
        let rest = Self { shift: self.shift + bits, bits: self.bits - bits };
        (Self { shift: self.shift, bits }, rest)
    }

    pub fn mask(self) -> u64 {
        if self.bits == 0 { 0 } else { u64::MAX >> (64 - self.bits) << self.shift }
    }
}

impl<const WORDS: usize> Layout<WORDS> {
    /// The layout on the paths of `lane` that begin with block `trunk`, of which `key_bits` bits choose
    /// the partition.
    pub fn new(
        cover: &Cover<WORDS>,
        lane: usize,
        trunk: usize,
        key_bits: u32,
        positions: Positions,
        radius: u32,
    ) -> Self {
        let blocks = &cover.lanes[lane].blocks;
        let (id_bits, stretch_bits) = (positions.bits(), positions.stretch_bits);
        let key = blocks[trunk].lowest(key_bits);
        let carried = carried(cover, lane, &key, 64 - id_bits, radius);
        let order = digest_order(&carried);
        let digest = parts(&order, id_bits);
        let mut offset = id_bits;
        let mut lane_masks = vec![0u64; cover.lanes.len()];
        let mut fields = vec![Field::default(); blocks.len()];
        for piece in &order {
            let field = Field { shift: offset, bits: piece.bits.len() };
            offset += field.bits;
            lane_masks[piece.lane] |= field.mask();
            if piece.lane == lane {
                fields[piece.block] = field;
            }
        }
        let lane_mask = lane_masks[lane];
        let digest_mask = Field { shift: id_bits, bits: offset - id_bits }.mask();
        let whole = blocks
            .iter()
            .zip(&fields)
            .map(|(block, field)| block.without(&key).len() == field.bits);
        let whole = whole.collect();
        let earlier = cover.lanes[..lane].iter().zip(&lane_masks);
        let earlier = earlier
            .filter(|(lane, mask)| lane.bits.len() == mask.count_ones())
            .map(|(lane, &bits)| Rival { bits, most: lane.budget })
            .collect();
        let check = Check::new(cover, lane, [lane_mask, digest_mask], id_bits, radius);
        let key = parts(&[Piece { lane, block: trunk, bits: key }], 0);
        Self {
            key,
            digest,
            stretch_bits,
            id_bits,
            fields,
            whole,
            earlier,
            lane_mask,
            digest_mask,
            check,
        }
    }

    /// How many bits choose the partition.
    pub fn key_bits(&self) -> u32 {
        self.key.iter().map(|part| part.gather.mask.count_ones()).sum()
    }

    /// Where else pairs of this path may be found and reported, as far as records tell.
    pub fn rivals(&self, path: &Path) -> Vec<Rival> {
        let skipped = path.skipped().filter(|&block| self.whole[block]);
        let skipped = skipped.map(|block| Rival { bits: self.fields[block].mask(), most: 0 });
        skipped.chain(self.earlier.iter().copied()).collect()
    }

    /// The position in a record: that of an item, if stretches are of one.
    #[inline]
    pub fn id(&self, record: u64) -> u32 {
        (record & !(u64::MAX << self.id_bits)) as u32
    }

    /// The items of the stretch that a record is in.
    pub fn stretch(&self, record: u64, items: usize) -> Range<usize> {
        let start = (self.id(record) as usize) << self.stretch_bits;
        start..(start + (1 << self.stretch_bits)).min(items)
    }

    /// The items that may have made this record: one of them did.
    pub fn items(&self, record: u64, prints: &[Fingerprint<WORDS>]) -> impl Iterator<Item = u32> {
        let mut known = Fingerprint::<WORDS>::ZERO;
        let mut mask = Fingerprint::<WORDS>::ZERO;
        for part in &self.digest {
            known.0[part.word] |= part.gather.undo(record >> part.shift);
            mask.0[part.word] |= part.gather.mask;
        }
        let stretch = self.stretch(record, prints.len());
        // A stretch of one item is that item: it need not be looked at.
        let one = self.stretch_bits == 0;
        let fits = move |print: &Fingerprint<WORDS>| {
            one || (0..WORDS).all(|word| (print.0[word] ^ known.0[word]) & mask.0[word] == 0)
        };
        let items = (stretch.start as u32..).zip(&prints[stretch]);
        items.filter(move |(_, print)| fits(print)).map(|(item, _)| item)
    }
}

impl Check {
    /// The check that costs least: by the bits of the lane and its budget, or by all bits of the
    /// digest and the radius.
    fn new<const WORDS: usize>(
        cover: &Cover<WORDS>,
        lane: usize,
        [lane_mask, digest_mask]: [u64; 2],
        id_bits: u32,
        radius: u32,
    ) -> Self {
        let Lane { bits, budget, blocks, picked } = &cover.lanes[lane];
        let open = bits.len() * (blocks.len() as u32 - picked) / blocks.len() as u32;
        let by_lane = Filter::cost(open.min(lane_mask.count_ones()), *budget);
        if by_lane <= Filter::cost(digest_mask.count_ones(), radius) {
            let shift = check_shift(lane_mask, id_bits);
            Self { shift, fold: 0, telling: lane_mask, most: *budget }
        } else {
            let fold = digest_mask & u64::from(u32::MAX);
            Self { shift: 32, fold, telling: digest_mask, most: radius }
        }
    }

    #[inline(always)]
    pub fn of(self, record: u64) -> u32 {
        (record >> self.shift ^ record & self.fold) as u32 & self.reached(self.telling)
    }

    /// The cheapest good filter for pairs that are equal on the record bits `equal`.
    pub fn filter(self, equal: u64) -> Filter {
        Filter::new(self.reached(self.telling & !equal).count_ones(), self.most)
    }

    /// The filter for such pairs that passes the fewest.
    pub fn exact_filter(self) -> Filter {
        Filter::exact(self.most)
    }

    /// The bits of the check that these record bits reach.
    #[inline(always)]
    fn reached(self, bits: u64) -> u32 {
        (bits >> self.shift | bits & self.fold) as u32
    }
}

/// Bits of one block that travel together.
struct Piece<const WORDS: usize> {
    lane: usize,
    block: usize,
    bits: BitSet<WORDS>,
}

/// Chooses what to carry in `room` bits: the lane's own blocks, then others while they can tell.
fn carried<const WORDS: usize>(
    cover: &Cover<WORDS>,
    lane: usize,
    key: &BitSet<WORDS>,
    room: u32,
    radius: u32,
) -> Vec<Piece<WORDS>> {
    let blocks: Vec<BitSet<WORDS>> =
        cover.lanes[lane].blocks.iter().map(|block| block.without(key)).collect();
    let total: u32 = blocks.iter().map(BitSet::len).sum();
    let most = if total <= room { u32::MAX } else { room / blocks.len() as u32 };
    let mut pieces: Vec<Piece<WORDS>> = blocks
        .iter()
        .enumerate()
        .map(|(block, bits)| Piece { lane, block, bits: bits.lowest(most) })
        .collect();
    let left = room - pieces.iter().map(|piece| piece.bits.len()).sum::<u32>();
    pieces.extend(others(cover, lane, left, radius));
    pieces
}

/// Up to `room` bits of the other lanes, unless they are too few to ever exceed the radius.
fn others<const WORDS: usize>(
    cover: &Cover<WORDS>,
    lane: usize,
    mut room: u32,
    radius: u32,
) -> Vec<Piece<WORDS>> {
    let mut others = Vec::new();
    let lanes = cover.lanes.iter().enumerate().filter(|&(number, _)| number != lane);
    for (lane, blocks) in lanes {
        for (block, bits) in blocks.blocks.iter().enumerate() {
            let bits = bits.lowest(room);
            room -= bits.len();
            others.push(Piece { lane, block, bits });
        }
    }
    let total: u32 = others.iter().map(|piece| piece.bits.len()).sum();
    if total > radius { others } else { Vec::new() }
}

/// Pieces in the order of their first bits, so that neighbours can be gathered in one go.
fn digest_order<const WORDS: usize>(pieces: &[Piece<WORDS>]) -> Vec<Piece<WORDS>> {
    let mut order: Vec<Piece<WORDS>> = pieces.iter().map(|piece| Piece { ..*piece }).collect();
    order.sort_by_key(|piece| piece.bits.positions().next());
    order
}

/// One gather for every stretch of bits that keeps its order.
fn parts<const WORDS: usize>(pieces: &[Piece<WORDS>], mut shift: u32) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for piece in pieces {
        for (word, &mask) in piece.bits.0.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            let follows = |last: &&mut Part| {
                last.word == word && last.gather.mask < mask & mask.wrapping_neg()
            };
            match parts.last_mut().filter(follows) {
                Some(last) => last.gather = Gather::new(last.gather.mask | mask),
                None => parts.push(Part { word, gather: Gather::new(mask), shift }),
            }
            shift += mask.count_ones();
        }
    }
    parts
}

/// The window of 32 record bits above the position that sees most of the telling ones.
fn check_shift(telling: u64, id_bits: u32) -> u32 {
    let seen = |shift: u32| ((telling >> shift) as u32).count_ones();
    (id_bits..=id_bits.max(32))
        .max_by_key(|&shift| (seen(shift), std::cmp::Reverse(shift)))
        .unwrap_or(id_bits)
}
