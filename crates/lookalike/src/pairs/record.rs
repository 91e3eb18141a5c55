//! What travels with an item while it is sorted into buckets?
//!
//! A record is one word: the item's position in the low bits, and above it as many telling bits of
//! its fingerprint as fit, the digest. [`Layout`] says which bits those are for one trunk (the first
//! block of a path), and its [`Node`]s where in the record the keys of the blocks that follow lie.
//!
//! Where there are very many items, their positions would leave too few bits to tell them apart. Then a
//! record has the position of a short stretch of items, and which of these it is, its digest tells.

use std::ops::Range;

use crate::{
    Fingerprint,
    cover::{Branch, Cover, Lane, Path},
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
    /// The trunk, and the branches behind it.
    pub trunk: Node<WORDS>,
    /// Record bits that belong to the lane, and all that belong to the digest.
    pub lane_mask: u64,
    pub digest_mask: u64,
    pub check: Check,
}

/// A branch of the cover, as records know it.
#[derive(Clone, Debug)]
pub(super) struct Node<const WORDS: usize> {
    pub path: Path<WORDS>,
    /// Where in the record its block is, as far as it is carried and did not choose the partition.
    pub field: Field,
    /// Where else pairs of this path may be found and reported, as far as records tell.
    pub rivals: Vec<Rival>,
    /// The branches behind it; none if records carry nothing of one of them.
    pub next: Vec<Self>,
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
        let (bits, branches) = (&cover.lanes[lane].bits, &cover.trunks[lane]);
        let (id_bits, stretch_bits) = (positions.bits(), positions.stretch_bits);
        let key = branches[trunk].block.lowest(key_bits);
        let own = carried(bits, &branches[trunk], &key, 64 - id_bits);
        let others = others(cover, lane, 64 - id_bits - room_of(&own), radius);
        let pieces = in_order(own, others);
        let digest = parts(pieces.iter().copied(), id_bits);
        let carried = Carried::new(&pieces, id_bits, &key);
        let digest_mask = Field { shift: id_bits, bits: room_of(&pieces) }.mask();
        let lane_mask = carried.some(bits);
        let earlier = cover.lanes[..lane].iter();
        let earlier = earlier
            .filter_map(|lane| Some(Rival { bits: carried.all(&lane.bits)?, most: lane.budget }));
        let path = Path::new(lane).then(branches, trunk);
        let trunk = Node::new(path, &branches[trunk], &carried, &earlier.collect::<Vec<_>>());
        let check = Check::new(cover, lane, [lane_mask, digest_mask], id_bits, radius);
        let key = parts([key], 0);
        Self { key, digest, stretch_bits, id_bits, trunk, lane_mask, digest_mask, check }
    }

    /// How many bits choose the partition.
    pub fn key_bits(&self) -> u32 {
        self.key.iter().map(|part| part.gather.mask.count_ones()).sum()
    }

    /// The position in a record: that of an item, if stretches are of one.
    #[inline]
    pub fn id(&self, record: u64) -> u32 {
        (record & !(u64::MAX << self.id_bits)) as u32
    }

    /// Whether two records differ at most in their positions.
    pub fn same_digest(&self, one: u64, two: u64) -> bool {
        (one ^ two) >> self.id_bits == 0
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
        // A stretch of one item is that item: it need not be looked at.
        let one = self.stretch_bits == 0;
        for part in self.digest.iter().filter(|_| !one) {
            known.0[part.word] |= part.gather.undo(record >> part.shift);
            mask.0[part.word] |= part.gather.mask;
        }
        let stretch = self.stretch(record, prints.len());
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
        let Lane { bits, budget, .. } = &cover.lanes[lane];
        // What a path leaves open: about the same at the end of each.
        let shared =
            cover.trunks[lane].first().and_then(|trunk| trunk.shared_bits().into_iter().min());
        let open = bits.len() - shared.unwrap_or(0);
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

impl<const WORDS: usize> Node<WORDS> {
    /// The branch at the end of `path`, of whose pairs `earlier` may report some.
    fn new(
        path: Path<WORDS>,
        branch: &Branch<WORDS>,
        carried: &Carried,
        earlier: &[Rival],
    ) -> Self {
        let unequal = path.unequal.iter().filter_map(|block| carried.all(block));
        let unequal = unequal.map(|bits| Rival { bits, most: 0 });
        let rivals = unequal.chain(earlier.iter().copied()).collect();
        let next = |(chosen, next): (usize, &Branch<WORDS>)| {
            Self::new(path.then(&branch.branches, chosen), next, carried, earlier)
        };
        let mut next: Vec<Self> = branch.branches.iter().enumerate().map(next).collect();
        if next.iter().any(|next| next.field.bits == 0) {
            next.clear();
        }
        Self { field: carried.field(&branch.block), rivals, next, path }
    }
}

/// Where in a record every bit of a fingerprint is.
struct Carried(Vec<Place>);

#[derive(Clone, Copy)]
enum Place {
    /// It chooses the partition.
    Key,
    Record(u32),
    Nowhere,
}

impl Carried {
    /// The bits of `pieces` lie one after another, the first at record bit `start`.
    fn new<const WORDS: usize>(pieces: &[BitSet<WORDS>], start: u32, key: &BitSet<WORDS>) -> Self {
        let mut places = vec![Place::Nowhere; 64 * WORDS];
        key.positions().for_each(|bit| places[bit as usize] = Place::Key);
        let carried = pieces.iter().flat_map(BitSet::positions).zip(start..);
        carried.for_each(|(bit, at)| places[bit as usize] = Place::Record(at));
        Self(places)
    }

    /// The record bits of those that are carried.
    fn some<const WORDS: usize>(&self, bits: &BitSet<WORDS>) -> u64 {
        let places = bits.positions().map(|bit| self.0[bit as usize]);
        places.fold(0, |mask, place| match place {
            Place::Record(at) => mask | 1 << at,
            Place::Key | Place::Nowhere => mask,
        })
    }

    /// The same, if items of one partition may differ in no others of these bits.
    fn all<const WORDS: usize>(&self, bits: &BitSet<WORDS>) -> Option<u64> {
        let known = |bit: u32| !matches!(self.0[bit as usize], Place::Nowhere);
        bits.positions().all(known).then(|| self.some(bits))
    }

    /// The same as a field: bits of one block are carried side by side.
    fn field<const WORDS: usize>(&self, block: &BitSet<WORDS>) -> Field {
        let mask = self.some(block);
        Field { shift: mask.trailing_zeros() % 64, bits: mask.count_ones() }
    }
}

/// Chooses what to carry of a lane in `room` bits: what is left of the trunk, which chose the partition by
/// its `key`, the blocks that may follow, each its share if there is little room, and then all other bits.
fn carried<const WORDS: usize>(
    lane: &BitSet<WORDS>,
    trunk: &Branch<WORDS>,
    key: &BitSet<WORDS>,
    room: u32,
) -> Vec<BitSet<WORDS>> {
    let rest = trunk.block.without(key);
    let next = trunk.blocks_behind();
    let known = next.iter().fold(trunk.block, |known, block| known.union(block));
    let mut pieces = vec![rest.lowest(room)];
    let share = (room - room_of(&pieces)).checked_div(next.len() as u32).unwrap_or(0);
    pieces.extend(next.iter().map(|block| block.lowest(share)));
    pieces.push(lane.without(&known).lowest(room - room_of(&pieces)));
    pieces
}

fn room_of<const WORDS: usize>(pieces: &[BitSet<WORDS>]) -> u32 {
    pieces.iter().map(BitSet::len).sum()
}

/// Up to `room` bits of the other lanes, unless they are too few to ever exceed the radius.
fn others<const WORDS: usize>(
    cover: &Cover<WORDS>,
    lane: usize,
    mut room: u32,
    radius: u32,
) -> Vec<BitSet<WORDS>> {
    let lanes = cover.lanes.iter().enumerate().filter(|&(number, _)| number != lane);
    let piece = |(_, lane): (usize, &Lane<WORDS>)| {
        let bits = lane.bits.lowest(room);
        room -= bits.len();
        bits
    };
    let others: Vec<_> = lanes.map(piece).collect();
    if room_of(&others) > radius { others } else { Vec::new() }
}

/// Puts pieces in the order of their first bits, so that neighbours can be gathered in one go. What is of
/// other lanes is asked for as a whole, if at all: it becomes one piece if that takes fewer gathers.
fn in_order<const WORDS: usize>(
    own: Vec<BitSet<WORDS>>,
    others: Vec<BitSet<WORDS>>,
) -> Vec<BitSet<WORDS>> {
    let one = others.iter().fold(BitSet::EMPTY, |one, other| one.union(other));
    let sorted = |others: Vec<BitSet<WORDS>>| {
        let mut pieces = own.clone();
        pieces.extend(others);
        pieces.sort_by_key(|piece| piece.positions().next());
        pieces
    };
    let gathers = |pieces: &Vec<BitSet<WORDS>>| parts(pieces.iter().copied(), 0).len();
    let (many, few) = (sorted(others), sorted(vec![one]));
    if gathers(&few) < gathers(&many) { few } else { many }
}

/// One gather for every stretch of bits that keeps its order.
fn parts<const WORDS: usize>(
    pieces: impl IntoIterator<Item = BitSet<WORDS>>,
    mut shift: u32,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for bits in pieces {
        for (word, &mask) in bits.0.iter().enumerate().filter(|(_, mask)| **mask != 0) {
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
