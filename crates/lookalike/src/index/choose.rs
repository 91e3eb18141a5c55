//! Which plan answers queries soonest within the memory allowed?
//!
//! [`choose`] lists block and flip plans, estimates what a query costs on each (places read,
//! checks made, fingerprints verified) and takes the cheapest, or no tables at all. How well bits
//! tell items apart is measured on a [`Sample`], so bits that never vary are not used, and keys
//! that many items share are seen to be bad. The choice never changes an answer.

use super::{
    cells::{CELL_CHECK_BITS, CELL_WORDS, MOST_ITEMS, SLOTS},
    plan::{CHECK_BITS, Key, MOST_DIRECTORY_BITS, Plan, Scope, Table},
};
use crate::{
    Fingerprint,
    cover::{BitOrder, Lane, agreement, budgets, choices, colliding_pairs, pairs_of},
    hamming::{bits::BitSet, filter::chance_of_few},
};

/// What the index that will follow the plan is like.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// How many items are expected.
    pub items: u64,
    /// The bits of directories to try.
    pub directory_bits: Vec<u32>,
    /// Whether buckets can be stored in cells.
    pub cells: bool,
    /// Bytes taken by four bytes of an entry.
    pub slack: f64,
    /// The most bytes all tables may take, as a multiple of the fingerprints' own.
    pub most: f64,
}

/// The cheapest plan for searches within `radius`.
pub(super) fn choose<const WORDS: usize>(
    sample: &Sample<WORDS>,
    storage: &Storage,
    radius: u32,
) -> Plan<WORDS> {
    let mut plans: Vec<(f64, Plan<WORDS>)> = candidates(sample, storage, radius)
        .into_iter()
        .filter(|plan| storage.allows::<WORDS>(plan))
        .map(|plan| (cost(&plan, storage, radius, |key| sample.guessed_share(key)), plan))
        .collect();
    plans.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Guesses take bits for independent; the few best are measured.
    let measured = plans
        .into_iter()
        .take(MEASURED)
        .map(|(_, plan)| (cost(&plan, storage, radius, |key| sample.measured_share(key)), plan));
    let scan = (cost_of_scan::<WORDS>(storage.items), Plan::scan());
    let all = std::iter::once(scan).chain(measured);
    all.min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(Plan::scan, |(_, plan)| plan)
}

/// How many of the plans that look best are measured on the sample.
const MEASURED: usize = 4;

/// A check that lets more than this share of strangers pass is not worth its memory.
const USEFUL_CHECK: f64 = 0.2;

/// The same for the narrow checks of cells.
const USEFUL_NARROW_CHECK: f64 = 0.05;

/// The tail of a table of cells, in units of 32 bits per item: the id, and what fits no cell.
const TAIL: f64 = 1.05;

/// Nanoseconds on a current machine. Only their proportions matter.
mod nanoseconds {
    /// Working out a bucket and its place.
    pub const PROBE: f64 = 6.0;
    /// Reading a place that is not in a cache but was asked for in time.
    pub const MISS: f64 = 14.0;
    /// Testing one check, its share of a cache line included.
    pub const CHECK: f64 = 0.5;
    /// The same for the narrow checks of a cell.
    pub const NARROW_CHECK: f64 = 0.3;
    /// Looking at the fingerprint of an item, in a row of many.
    pub const VERIFY: f64 = 18.0;
    /// Stopping at one that passed its check, to find its id and then its fingerprint.
    pub const VERIFY_PASSED: f64 = 35.0;
    /// Looking at one word of one fingerprint after the other.
    pub const SCAN: f64 = 0.35;
}

impl Storage {
    fn allows<const WORDS: usize>(&self, plan: &Plan<WORDS>) -> bool {
        let items = self.items as f64;
        let tables = plan.tables.iter().map(|table| {
            let buckets = table.buckets() as f64;
            if table.cells {
                return 4.0 * (buckets * CELL_WORDS as f64 + items * TAIL);
            }
            let fields = if table.check.len() > 0 { 2.0 } else { 1.0 };
            4.0 * (buckets + items * fields * self.slack)
        });
        tables.sum::<f64>() <= self.most * 8.0 * WORDS as f64 * items
    }
}

/// Expected time of one query; `share` is the part of all items that have the same key as one.
fn cost<const WORDS: usize>(
    plan: &Plan<WORDS>,
    storage: &Storage,
    radius: u32,
    share: impl Fn(&Key<WORDS>) -> f64,
) -> f64 {
    let of_table = |table: &Table<WORDS>| {
        let bucket = 0.5f64.powi(table.directory_bits as i32);
        // A directory shorter than the key puts several keys into a bucket: one's own, and others.
        let others = bucket - 0.5f64.powi(table.key.len() as i32);
        let entries = storage.items as f64 * (share(&table.key) + others).clamp(bucket, 1.0);
        table.probes(radius) as f64 * cost_of_probe(table, radius, entries)
    };
    plan.tables.iter().map(of_table).sum()
}

/// Expected time of looking into one bucket of so many entries.
fn cost_of_probe<const WORDS: usize>(table: &Table<WORDS>, radius: u32, entries: f64) -> f64 {
    use nanoseconds::*;
    if table.check.len() == 0 {
        return PROBE + 2.0 * MISS + entries * VERIFY;
    }
    let chance = chance_of_few(table.check_outside_key(), table.errors_in_check(radius));
    let (misses, test) = match table.cells {
        // More entries than fit a cell mean the tail's checks, and a jump nobody foresaw.
        true => (1.0 + 3.0 * chance_of_more(entries, SLOTS), NARROW_CHECK),
        false => (2.0, CHECK),
    };
    PROBE + misses * MISS + entries * (test + chance * VERIFY_PASSED)
}

/// The chance that more than `most` of many rare things happen, of which `expected` are (Poisson).
fn chance_of_more(expected: f64, most: u32) -> f64 {
    let mut term = (-expected).exp();
    let mut sum = term;
    for count in 1..=most {
        term *= expected / f64::from(count);
        sum += term;
    }
    (1.0 - sum).max(0.0)
}

fn cost_of_scan<const WORDS: usize>(items: u64) -> f64 {
    items as f64 * WORDS as f64 * nanoseconds::SCAN
}

/// Plans of both kinds that cover `radius`, with their checks.
pub(super) fn candidates<const WORDS: usize>(
    sample: &Sample<WORDS>,
    storage: &Storage,
    radius: u32,
) -> Vec<Plan<WORDS>> {
    let mut plans = Vec::new();
    for directory_bits in &storage.directory_bits {
        let directory_bits = (*directory_bits).clamp(1, MOST_DIRECTORY_BITS);
        // With more lanes than bits some would be empty, and find everything.
        for lanes in 1..=(radius.saturating_add(1)).min(sample.order.len()) {
            let budgets = budgets(radius, lanes);
            let blocks = (1..=MAX_PICKED)
                .filter_map(|picked| block_lanes(&sample.order, budgets.clone(), picked));
            let flips = flip_lanes(&sample.order, budgets.clone(), directory_bits);
            plans.extend(blocks.chain(flips).map(|lanes| Plan::new(lanes, directory_bits)));
        }
    }
    let cells: Vec<Plan<WORDS>> =
        plans.iter().filter_map(|plan| in_cells(plan.clone(), sample, storage, radius)).collect();
    plans.iter_mut().for_each(|plan| add_checks(plan, sample, radius));
    plans.extend(cells);
    plans
}

/// Beyond these, keys would be many and tell little more.
const MAX_PICKED: u32 = 3;
const MAX_FLIPS: u32 = 2;
const MAX_TABLES: f64 = 64.0;

/// Lanes of `budget + picked` blocks, all of nearly the same size.
fn block_lanes<const WORDS: usize>(
    order: &BitOrder,
    budgets: impl Iterator<Item = u32> + Clone,
    picked: u32,
) -> Option<Vec<Lane<WORDS>>> {
    let tables: f64 = budgets.clone().map(|budget| choices(budget, picked)).sum();
    let blocks: u32 = budgets.clone().map(|budget| budget + picked).sum();
    let fits = tables <= MAX_TABLES && blocks <= order.len();
    fits.then(|| Lane::deal(order, budgets, |budget| budget + picked))
}

/// Lanes of one block each, small enough to address a directory.
fn flip_lanes<const WORDS: usize>(
    order: &BitOrder,
    budgets: impl Iterator<Item = u32> + Clone,
    directory_bits: u32,
) -> Option<Vec<Lane<WORDS>>> {
    let lanes = budgets.clone().count() as u32;
    let largest = budgets.clone().next()?;
    let fits = f64::from(lanes) <= MAX_TABLES && (1..=MAX_FLIPS).contains(&largest);
    fits.then(|| Lane::deal(&order.first(lanes * directory_bits), budgets, |_| 1))
}

/// Gives every table the most telling bits outside its key, if they can refuse enough.
fn add_checks<const WORDS: usize>(plan: &mut Plan<WORDS>, sample: &Sample<WORDS>, radius: u32) {
    for table in &mut plan.tables {
        let check = sample.most_telling(CHECK_BITS, |bit| !table.key.bits.contains(bit));
        if chance_of_few(check.len(), radius) < USEFUL_CHECK {
            table.check = Key::new(check);
        }
    }
}

/// The same plan with buckets in cells, if narrow checks can refuse enough.
///
/// Bits of a table's own lane are often better, few as they are: a match has hardly any errors there.
fn in_cells<const WORDS: usize>(
    mut plan: Plan<WORDS>,
    sample: &Sample<WORDS>,
    storage: &Storage,
    radius: u32,
) -> Option<Plan<WORDS>> {
    if !storage.cells || storage.items > MOST_ITEMS {
        return None;
    }
    for table in &mut plan.tables {
        let (key, lane) = (&table.key.bits, &plan.lanes[table.lane].bits);
        let anywhere = sample.most_telling(CELL_CHECK_BITS, |bit| !key.contains(bit));
        let own =
            sample.most_telling(CELL_CHECK_BITS, |bit| lane.contains(bit) && !key.contains(bit));
        // Keys longer than the directory share buckets: some bits of the key tell them apart.
        let rest = sample.most_telling(CELL_CHECK_BITS - own.len(), |bit| key.contains(bit));
        let choices = [(Scope::Anywhere, anywhere), (Scope::Lane, own.union(&rest))];
        let choices = choices.map(|(scope, check)| {
            let mut table = table.clone();
            (table.cells, table.scope, table.check) = (true, scope, Key::new(check));
            (chance_of_few(table.check_outside_key(), table.errors_in_check(radius)), table)
        });
        let best = choices.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        *table = best.filter(|(chance, _)| *chance < USEFUL_NARROW_CHECK)?.1;
    }
    Some(plan)
}

/// Some of the items, all different, and what their bits tell.
pub(super) struct Sample<const WORDS: usize> {
    prints: Vec<Fingerprint<WORDS>>,
    /// The bits that vary, the most informative first; in order of position if all are.
    order: BitOrder,
    /// For every bit, how much it tells two items apart: the collision entropy, 0 to 1.
    entropy: Vec<f64>,
}

impl<const WORDS: usize> Sample<WORDS> {
    /// How many items are looked at.
    const SIZE: usize = 2048;

    /// Bits that tell less than this are left out.
    const TELLS_NOTHING: f64 = 0.01;

    /// If all bits tell more than this, their order does not matter.
    const TELLS_ENOUGH: f64 = 0.9;

    /// Draws from `count` items at regular distances with some jitter; always the same ones.
    pub fn draw(count: usize, print: impl Fn(usize) -> Fingerprint<WORDS>) -> Self {
        let size = count.min(Self::SIZE);
        let pick = |turn: usize| {
            let (from, to) = (turn * count / size, (turn + 1) * count / size);
            let jitter = (turn as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            print(from + jitter as usize % (to - from))
        };
        let mut prints: Vec<Fingerprint<WORDS>> = (0..size).map(pick).collect();
        prints.sort_unstable();
        prints.dedup();
        let entropy: Vec<f64> = agreement(&prints).iter().map(|chance| -chance.log2()).collect();
        let mut telling: Vec<u32> = (0..Fingerprint::<WORDS>::BITS)
            .filter(|&bit| entropy[bit as usize] > Self::TELLS_NOTHING)
            .collect();
        if telling.iter().any(|&bit| entropy[bit as usize] < Self::TELLS_ENOUGH) {
            telling.sort_by(|&a, &b| entropy[b as usize].total_cmp(&entropy[a as usize]));
        }
        Self { prints, order: BitOrder::dealt(telling), entropy }
    }

    /// The `count` most telling of the bits that `wanted` agrees to.
    fn most_telling(&self, count: u32, wanted: impl Fn(u32) -> bool) -> BitSet<WORDS> {
        self.order.positions().filter(|&bit| wanted(bit)).take(count as usize).collect()
    }

    /// The part of all items that share a key with one, if bits were independent.
    fn guessed_share(&self, key: &Key<WORDS>) -> f64 {
        let entropy: f64 = key.bits.positions().map(|bit| self.entropy[bit as usize]).sum();
        0.5f64.powf(entropy)
    }

    /// The part of all items that share a key with one, as far as the sample shows it.
    pub fn measured_share(&self, key: &Key<WORDS>) -> f64 {
        colliding_pairs(&self.prints, &key.bits) / pairs_of(self.prints.len().max(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(items: u64) -> Storage {
        let bits = items.ilog2();
        let directory_bits = vec![bits - 4, bits - 3, bits - 2];
        Storage { items, directory_bits, cells: true, slack: 1.0, most: 7.0 }
    }

    /// A plain generator: good enough to look random to a planner.
    fn random(index: usize) -> u64 {
        let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed >> 32
    }

    #[test]
    fn ten_million_random_words_within_three_bits_get_six_tables_of_two_blocks_in_three() {
        let sample = Sample::draw(10_000_000, |index| Fingerprint([random(index)]));
        let plan = choose(&sample, &storage(10_000_000), 3);
        assert_eq!((plan.lanes.len(), plan.tables.len()), (2, 6), "{plan}");
        assert!(plan.covers(3));
    }

    #[test]
    fn wide_radii_get_tables_and_the_widest_are_scanned() {
        let sample = Sample::draw(1_000_000, |index| {
            Fingerprint(std::array::from_fn::<u64, 4, _>(|word| random(4 * index + word)))
        });
        let plan = choose(&sample, &storage(1_000_000), 31);
        assert!(plan.covers(31), "{plan}");
        assert_eq!(choose(&sample, &storage(1_000_000), 100), Plan::scan());
    }

    #[test]
    fn keys_are_flipped_where_checks_cannot_refuse_and_cells_are_not_at_hand() {
        let sample = Sample::draw(1_000_000, |index| {
            Fingerprint(std::array::from_fn::<u64, 4, _>(|word| random(4 * index + word)))
        });
        let storage = Storage { cells: false, ..storage(1_000_000) };
        let plan = choose(&sample, &storage, 31);
        assert!(plan.covers(31) && plan.tables.iter().all(|table| table.flips > 0), "{plan}");
    }

    #[test]
    fn bits_that_never_vary_are_not_used() {
        let sample = Sample::draw(1_000_000, |index| Fingerprint([random(index) & 0xffff_ffff]));
        let plan = choose(&sample, &storage(1_000_000), 2);
        let used = plan.lanes.iter().fold(BitSet::EMPTY, |all, lane| all.union(&lane.bits));
        assert_eq!(used.0[0] >> 32, 0);
        assert!(!plan.tables.is_empty());
    }

    #[test]
    fn nothing_to_tell_apart_needs_no_tables() {
        for count in [0, 1, 5000] {
            let sample = Sample::draw(count, |_| Fingerprint([7, 7]));
            assert_eq!(choose(&sample, &storage(1 << 20), 3), Plan::scan());
        }
    }
}
