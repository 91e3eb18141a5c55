//! Which tables does an index need so that no match within its radius is missed?
//!
//! A [`Plan`] cuts bits into lanes and grants each a budget of errors, such that `max` errors
//! cannot overrun every budget at once. A lane is looked up in one of two ways. *Blocks*: cut into
//! `budget + picked` blocks, at most `budget` of which can be hit, so one of the choices of
//! `picked` blocks is equal; each choice is a [`Table`]. *Flips*: one table, probed at every key
//! within `budget` flipped bits. [`Plan::owns`] says which table reports a match: exactly one.
//! Costs are estimated elsewhere; a plan only knows that it is complete.

use std::fmt;

use crate::{
    Fingerprint,
    cover::{Lane, choices, owns},
    hamming::{
        bits::{BitSet, Gather},
        lanes::Lanes,
    },
};

/// The most bits a directory is addressed by.
pub(super) const MOST_DIRECTORY_BITS: u32 = 24;

/// The most bits a check holds.
pub(super) const CHECK_BITS: u32 = 32;

/// The tables of an index. Without tables to search, every fingerprint is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan<const WORDS: usize> {
    pub lanes: Vec<Lane<WORDS>>,
    pub tables: Vec<Table<WORDS>>,
}

/// One way to look for matches: items in buckets by `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<const WORDS: usize> {
    pub lane: usize,
    /// The bits that must be equal, or have at most `flips` errors.
    pub key: Key<WORDS>,
    /// Blocks that must *not* be equal: if they were, another table would report the match.
    pub differ: Vec<BitSet<WORDS>>,
    pub flips: u32,
    /// Matches with fewer errors than this belong to other tables.
    pub least: u32,
    /// Buckets are numbered by this many bits.
    pub directory_bits: u32,
    /// Bits stored beside each item, to refuse it without looking at it; none if that would not help.
    pub check: Key<WORDS>,
    pub scope: Scope,
    /// The budget of the lane, and the errors that overrun all earlier ones.
    budget: u32,
    overrun: u32,
    /// Whether buckets are stored in cells, with narrow checks.
    pub cells: bool,
}

/// Where the bits of a check are from: this decides how many errors a match may have in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Anywhere: as many as the radius.
    Anywhere,
    /// From the table's own lane: as many as its budget.
    Lane,
}

impl<const WORDS: usize> Plan<WORDS> {
    /// The plan without tables.
    pub fn scan() -> Self {
        Self { lanes: Vec::new(), tables: Vec::new() }
    }

    /// All tables of these lanes, with directories of at most `directory_bits`, without checks.
    pub fn new(lanes: Vec<Lane<WORDS>>, directory_bits: u32) -> Self {
        let mut tables = Vec::new();
        let mut overrun = 0;
        for (index, lane) in lanes.iter().enumerate() {
            tables.extend(lane.tables(index, overrun, directory_bits));
            overrun += lane.budget + 1;
        }
        Self { lanes, tables }
    }

    /// Whether every pattern of up to `radius` errors leaves some lane within its budget.
    pub fn covers(&self, radius: u32) -> bool {
        self.lanes.iter().map(|lane| lane.budget + 1).sum::<u32>() > radius
    }

    /// Whether `table` reports the match with this xor.
    ///
    /// The first lane within its budget has it; there, the table of the first equal blocks.
    #[inline(always)]
    pub fn owns(&self, table: &Table<WORDS>, xor: &Fingerprint<WORDS>) -> bool {
        (table.flips > 0 || table.key.bits.all_zero(xor))
            && owns(&self.lanes, table.lane, xor)
            && !table.differ.iter().any(|block| block.all_zero(xor))
    }

    /// How many buckets one query looks into.
    pub fn probes(&self, radius: u32) -> u64 {
        self.tables.iter().map(|table| table.probes(radius)).sum()
    }
}

/// In the words of the module documentation, for people.
impl<const WORDS: usize> fmt::Display for Plan<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(table) = self.tables.first() else {
            return write!(f, "scan of all fingerprints");
        };
        let (fewest, most) = self.range(|table| table.key.len());
        write!(f, "{} tables on {}", self.tables.len(), Range(fewest, most))?;
        let (fewest, most) = self.range(|table| table.directory_bits);
        write!(f, " bits of {} lanes, directories of {}", self.lanes.len(), Range(fewest, most))?;
        write!(f, " bits")?;
        if table.flips > 0 {
            write!(f, ", {} flips", table.flips)?;
        }
        let (fewest, most) = self.range(|table| table.check.len());
        write!(f, ", checks of {}", Range(fewest, most))?;
        write!(f, " bits{}", if table.cells { " in cells" } else { "" })
    }
}

impl<const WORDS: usize> Plan<WORDS> {
    /// The smallest and the largest number that a table has.
    fn range(&self, number: impl Fn(&Table<WORDS>) -> u32) -> (u32, u32) {
        let numbers = self.tables.iter().map(number);
        numbers.fold((u32::MAX, 0), |(least, most), number| (least.min(number), most.max(number)))
    }
}

/// `3`, or `3 to 5`.
struct Range(u32, u32);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < self.1 {
            write!(f, "{} to {}", self.0, self.1)
        } else {
            write!(f, "{}", self.1)
        }
    }
}

impl<const WORDS: usize> Lane<WORDS> {
    /// How many blocks are equal in a match of this lane; none if keys are flipped instead.
    fn picked(&self) -> usize {
        self.blocks.len().saturating_sub(self.budget as usize)
    }

    /// How many tables it needs.
    pub fn table_count(&self) -> usize {
        let picked = self.picked();
        let others = self.blocks.len() - picked;
        choices(picked.max(others) as u32, picked.min(others) as u32) as usize
    }

    /// The tables of this lane, the earlier ones having been overrun by `overrun` errors.
    fn tables(&self, lane: usize, overrun: u32, directory_bits: u32) -> Vec<Table<WORDS>> {
        let table = |key: BitSet<WORDS>, differ: Vec<BitSet<WORDS>>, flips| Table {
            lane,
            directory_bits: directory_bits.min(key.len()),
            least: overrun + differ.len() as u32,
            key: Key::new(key),
            differ,
            flips,
            check: Key::new(BitSet::EMPTY),
            scope: Scope::Anywhere,
            budget: self.budget,
            overrun,
            cells: false,
        };
        if self.picked() == 0 {
            return vec![table(self.bits, Vec::new(), self.budget)];
        }
        let chosen = chosen_blocks(self.blocks.len(), self.picked());
        let tables = chosen.iter().map(|chosen| {
            let last = chosen.last().map_or(0, |last| last + 1);
            let (equal, differ): (Vec<usize>, Vec<usize>) =
                (0..last).partition(|block| chosen.contains(block));
            let key = equal.iter().fold(BitSet::EMPTY, |key, &at| key.union(&self.blocks[at]));
            table(key, differ.iter().map(|&at| self.blocks[at]).collect(), 0)
        });
        tables.collect()
    }
}

/// Every choice of `picked` out of `count`, each ascending, in lexical order.
fn chosen_blocks(count: usize, picked: usize) -> Vec<Vec<usize>> {
    if picked == 0 {
        return vec![Vec::new()];
    }
    let with_last = (picked - 1..count).flat_map(|last| {
        chosen_blocks(last, picked - 1).into_iter().map(move |mut chosen| {
            chosen.push(last);
            chosen
        })
    });
    let mut all: Vec<Vec<usize>> = with_last.collect();
    all.sort_unstable();
    all
}

impl<const WORDS: usize> Table<WORDS> {
    /// How many buckets the directory has.
    pub fn buckets(&self) -> usize {
        1 << self.directory_bits
    }

    /// How many bits may be flipped when searching within `radius`; `None` if the table has
    /// nothing to report there.
    #[inline(always)]
    pub fn flips_within(&self, radius: u32) -> Option<u32> {
        Some(self.flips.min(radius.checked_sub(self.least)?))
    }

    /// How many bits of the check are not known from the bucket already.
    pub fn check_outside_key(&self) -> u32 {
        self.check.bits.without(&self.key.bits).len()
    }

    /// How many errors a match within `radius` that this table reports may have in its check.
    ///
    /// Earlier lanes are over their budgets then, so not all errors can be in this one.
    #[inline(always)]
    pub fn errors_in_check(&self, radius: u32) -> u32 {
        match self.scope {
            Scope::Anywhere => radius,
            Scope::Lane => self.budget.min(radius.saturating_sub(self.overrun)),
        }
    }

    /// Whether a match that this table reports differs in its check for sure: in a block that must not be
    /// equal.
    #[inline(always)]
    pub fn differs_in_check(&self) -> bool {
        self.differ.iter().any(|block| block.without(&self.check.bits).len() == 0)
    }

    /// How many buckets one query looks into.
    pub fn probes(&self, radius: u32) -> u64 {
        let bits = u64::from(self.key.len());
        match self.flips_within(radius) {
            None => 0,
            Some(0) => 1,
            Some(1) => 1 + bits,
            Some(_) => 1 + bits + bits * bits.saturating_sub(1) / 2,
        }
    }

    /// The bucket of items with this fingerprint.
    #[inline(always)]
    pub fn bucket<L: Lanes>(&self, lanes: L, print: &Fingerprint<WORDS>) -> u32 {
        let key = self.key.of(lanes, print);
        if self.directory_bits == self.key.len() { key as u32 } else { self.spread(key) }
    }

    /// Numbers keys that are longer than the directory: a bijection of the key's bits whose upper
    /// bits depend on all of them, cut off. Items that differ in few bits still part.
    #[inline(always)]
    fn spread(&self, key: u64) -> u32 {
        let bits = self.key.len().min(64);
        let mask = u64::MAX >> (64 - bits);
        let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        let key = (key ^ key >> (bits / 2)).wrapping_mul(0xd6e8_feb8_6659_fd93) & mask;
        (key >> (bits - self.directory_bits)) as u32
    }

    /// Calls `visit` with every bucket that may hold a match with at most `flips` errors in the key.
    #[inline(always)]
    pub fn each_bucket<L: Lanes>(
        &self,
        lanes: L,
        query: &Fingerprint<WORDS>,
        flips: u32,
        mut visit: impl FnMut(u32),
    ) {
        let bucket = self.bucket(lanes, query);
        visit(bucket);
        if flips == 0 {
            return;
        }
        // Flipped keys address the directory directly: bit `i` of the key is bit `i` of the bucket.
        for first in 0..self.directory_bits {
            visit(bucket ^ 1 << first);
            if flips > 1 {
                (0..first).for_each(|second| visit(bucket ^ 1 << first ^ 1 << second));
            }
        }
    }
}

/// Some bits of a fingerprint, to be brought together into one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key<const WORDS: usize> {
    pub bits: BitSet<WORDS>,
    parts: [Gather; WORDS],
    len: u32,
}

impl<const WORDS: usize> Key<WORDS> {
    pub fn new(bits: BitSet<WORDS>) -> Self {
        Self { bits, parts: bits.0.map(Gather::new), len: bits.len() }
    }

    /// How many bits it has.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The bits as a number, those of the first word on top; above 64 bits they are folded.
    #[inline(always)]
    pub fn of<L: Lanes>(&self, lanes: L, print: &Fingerprint<WORDS>) -> u64 {
        let words = self.parts.iter().zip(&print.0);
        words.fold(0u64, |number, (part, &word)| {
            number.rotate_left(part.mask.count_ones()) ^ lanes.gather(part, word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hamming::lanes::Portable;
    use proptest::prelude::*;

    /// `parts` runs of neighbouring bits, `size` bits each.
    fn runs(parts: u32, size: u32) -> Vec<BitSet<4>> {
        (0..parts).map(|part| (part * size..(part + 1) * size).collect()).collect()
    }

    fn blocks(lanes: u32, budget: u32, picked: u32) -> Plan<4> {
        let each = budget + picked;
        let blocks = runs(lanes * each, 256 / (lanes * each));
        let lanes = blocks.chunks(each as usize).map(|lane| Lane::new(lane.to_vec(), budget));
        Plan::new(lanes.collect(), 20)
    }

    fn flips(lanes: u32, budget: u32) -> Plan<4> {
        let lanes = runs(lanes, 16).into_iter().map(|bits| Lane::new(vec![bits], budget));
        Plan::new(lanes.collect(), 20)
    }

    /// Plans of every shape for 256 bits, with the radius they cover.
    fn plans() -> [(Plan<4>, u32); 8] {
        [
            (blocks(1, 3, 1), 3),
            (blocks(1, 3, 3), 3),
            (blocks(2, 1, 2), 3),
            (blocks(4, 0, 1), 3),
            (blocks(8, 3, 2), 31),
            (flips(16, 1), 31),
            (flips(11, 2), 32),
            (flips(1, 2), 2),
        ]
    }

    /// Gives each table a check of the first bits of its lane, up to 32: some hold a whole block, others not.
    fn check_first_blocks(plan: &mut Plan<4>) {
        for table in &mut plan.tables {
            let bits = plan.lanes[table.lane].bits;
            table.check = Key::new((0..256).filter(|&bit| bits.contains(bit)).take(32).collect());
        }
    }

    proptest! {
        #[test]
        fn each_error_pattern_is_owned_and_probed_by_exactly_one_table(
            words: [u64; 4], errors in proptest::collection::vec(0u32..256, 0..=32),
        ) {
            let print = Fingerprint(words);
            for (mut plan, max) in plans() {
                check_first_blocks(&mut plan);
                prop_assert!(plan.covers(max) && !plan.covers(max + 1));
                let mut xor = Fingerprint::ZERO;
                errors.iter().take(max as usize).for_each(|&at| xor.0[at as usize / 64] |= 1 << (at % 64));
                let query = print.xor(&xor);
                let radius = xor.ones();
                let mut found = 0;
                for table in plan.tables.iter().filter(|table| plan.owns(table, &xor)) {
                    let flips = table.flips_within(radius).expect("an owner is asked at this radius");
                    let home = table.bucket(Portable, &print);
                    table.each_bucket(Portable, &query, flips, |bucket| found += u32::from(bucket == home));
                    let [stored, asked] = [&print, &query].map(|print| table.check.of(Portable, print));
                    prop_assert!(!table.differs_in_check() || stored != asked, "{} for {:?}", plan, xor);
                }
                prop_assert_eq!(found, 1, "{} for {:?}", plan, xor);
            }
        }
    }

    #[test]
    fn probes_are_counted_as_they_are_visited() {
        for (plan, max) in plans() {
            for radius in 0..=max {
                let mut visited = 0;
                for table in &plan.tables {
                    if let Some(flips) = table.flips_within(radius) {
                        table.each_bucket(Portable, &Fingerprint::ZERO, flips, |_| visited += 1);
                    }
                }
                assert_eq!(visited, plan.probes(radius), "{plan} within {radius}");
            }
        }
    }

    #[test]
    fn long_keys_spread_over_all_buckets() {
        let lane = Lane::new(runs(1, 40), 0);
        let plan = Plan::<4>::new(vec![lane], 8);
        let mut counts = [0u32; 256];
        for number in 0..25_600u64 {
            counts[plan.tables[0].bucket(Portable, &Fingerprint([number, 0, 0, 0])) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
    }
}
