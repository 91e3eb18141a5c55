//! How will the pairs be found, and what will it cost?
//!
//! A [`Sample`] of the data says how well its bits tell items apart; the cost model prices every
//! cover and the plain scan with it; [`Plan`] is the choice, for people to read.

use std::fmt;

use super::{
    excess::{Excess, distances},
    find::Strategy,
    join::{DENSE, MOST_SPLIT_BITS, partition_bits, small, wanted_bits},
    record::{Positions, stretch_bits},
    scatter::records_at_once,
};
use crate::{
    Fingerprint,
    cover::{BitOrder, Cover, Cut, agreement, budgets, choices, colliding_pairs, masked, pairs_of},
    hamming::{
        bits::BitSet,
        filter::{Filter, chance_of_few},
    },
};

/// How pairs are found: printed for people, asked by programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    description: String,
    compares: f64,
    memory: u64,
}

impl Plan {
    pub(super) fn new<const WORDS: usize>(
        strategy: &Strategy<WORDS>,
        sample: &Sample,
        radius: u32,
    ) -> Self {
        let items = sample.items as u64;
        let held = items * size_of::<Fingerprint<WORDS>>() as u64;
        match strategy {
            Strategy::Scan => Self {
                description: "exhaustive scan".into(),
                compares: sample.all_pairs(),
                memory: 2 * held,
            },
            Strategy::Join(cover) => Self {
                description: cover.to_string(),
                compares: Price::of(cover.shape(radius), WORDS, sample).compares,
                memory: held + (records_at_once(sample.items as usize) * size_of::<u64>()) as u64,
            },
        }
    }

    /// The same plan with its data on disk, in so much memory.
    pub(super) fn within(mut self, limit: u64) -> Self {
        self.description += ", partitions on disk";
        self.memory = limit;
        self
    }

    /// Fingerprint comparisons the plan expects to make.
    pub fn expected_compares(&self) -> f64 {
        self.compares
    }

    /// Bytes of memory the plan expects to need, the fingerprints included.
    pub fn expected_memory(&self) -> u64 {
        self.memory
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.memory as f64 / f64::from(1 << 20);
        let compares = match rounded(self.compares) {
            one if one == "1" => "1 comparison".to_owned(),
            many => format!("{many} comparisons"),
        };
        write!(f, "{}; {compares}, {memory:.1} MiB", self.description)
    }
}

/// A large number, as people say it: `some 6.1 million`.
fn rounded(number: f64) -> String {
    match number {
        // None of nothing is zero, not minus zero.
        ..1e4 => format!("{:.0}", number + 0.0),
        ..1e6 => format!("some {:.0} thousand", number / 1e3),
        ..1e9 => format!("some {:.1} million", number / 1e6),
        _ => format!("some {:.1} billion", number / 1e9),
    }
}

/// `2 lanes of 32 bits, 2 blocks equal of 3: 6 sets of 21 bits` and the like.
impl<const WORDS: usize> fmt::Display for Cover<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(lane) = self.lanes.first() else { return f.write_str("no lanes") };
        let bits: u32 = self.lanes.iter().map(|lane| lane.bits.len()).sum();
        let lanes = count(self.lanes.len(), "lane");
        write!(f, "{lanes} of {} bits, ", bits / self.lanes.len() as u32)?;
        match self.cut {
            Cut::Once { picked } => {
                let budgets = || self.lanes.iter().map(|lane| lane.budget);
                let sets: f64 = budgets().map(|budget| choices(budget, picked)).sum();
                let blocks: u32 = budgets().map(|budget| self.cut.first_blocks(budget)).sum();
                let each = f64::from(picked) * f64::from(bits) / f64::from(blocks);
                let equal = count(picked as usize, "block");
                let of = self.cut.first_blocks(lane.budget);
                write!(f, "{equal} equal of {of}: {sets:.0} sets of {each:.0} bits")
            }
            Cut::Twice => {
                let trunks = self.trunks.iter().flatten();
                let sets: Vec<u32> = trunks.flat_map(|trunk| trunk.shared_bits()).collect();
                let each = f64::from(sets.iter().sum::<u32>()) / sets.len() as f64;
                let sets = count(sets.len(), "set");
                write!(f, "1 block equal, and 1 of what it leaves: {sets} of {each:.0} bits")
            }
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The cheapest way to find the pairs of these fingerprints.
pub(super) fn choose<const WORDS: usize>(sample: &Sample, radius: u32) -> Strategy<WORDS> {
    let cuts = (1..=3).map(|picked| Cut::Once { picked }).chain([Cut::Twice]);
    let shapes = (1..=radius + 1)
        .flat_map(|lanes| cuts.clone().map(move |cut| Shape { radius, lanes, cut }));
    let cheapest = shapes
        .filter(|shape| 2 * shape.blocks() <= sample.order.len())
        .map(|shape| (Price::of(shape, WORDS, sample), shape))
        // A join that meets more pairs than there are goes over most of them again and again.
        .filter(|(price, _)| price.meetings <= sample.all_pairs())
        .map(|(price, shape)| (price.nanoseconds, shape))
        .min_by(|one, two| one.0.total_cmp(&two.0));
    let scan = sample.scan_price(WORDS, radius);
    match cheapest {
        Some((price, shape)) if price < scan => {
            Strategy::Join(Cover::new(&sample.order, radius, shape.lanes, shape.cut))
        }
        _ => Strategy::Scan,
    }
}

/// The classic plan: so many blocks, of which all but `radius` must be equal.
pub(super) fn classic<const WORDS: usize>(
    sample: &Sample,
    radius: u32,
    blocks: u32,
) -> Strategy<WORDS> {
    Strategy::Join(Cover::new(&sample.order, radius, 1, Cut::Once { picked: blocks - radius }))
}

/// The cover with the fewest trunks and the widest blocks, whatever it costs.
pub(super) fn widest<const WORDS: usize>(sample: &Sample, radius: u32) -> Cover<WORDS> {
    Cover::new(&sample.order, radius, 1, Cut::Once { picked: 1 })
}

/// How well the bits of some fingerprints tell them apart.
pub(super) struct Sample {
    items: f64,
    order: BitOrder,
    /// For keys of some lengths, ascending, the bits of a random key that would divide the data as
    /// well. Real data falls behind, and the more so the longer the key.
    worth: Vec<(f64, f64)>,
    /// Of different fingerprints, if more of them share keys than chance explains. Copies do not count: they
    /// are found once and left out, while all that differs meets again and again.
    excess: Option<Excess>,
}

/// Fingerprints looked at: enough to see a random 22-bit key collide twice.
pub(super) const SAMPLE: usize = 4096;
const KEY_LENGTHS: [u32; 3] = [10, 16, 22];

impl Sample {
    /// Looks at some of these fingerprints.
    pub fn of<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Self {
        let step = prints.len().div_ceil(SAMPLE).max(1);
        let some: Vec<Fingerprint<WORDS>> = prints.iter().step_by(step).copied().collect();
        Self::new(&some, prints.len())
    }

    /// Takes `some` fingerprints to stand for `items`.
    pub fn new<const WORDS: usize>(some: &[Fingerprint<WORDS>], items: usize) -> Self {
        let order = bit_order(&agreement(some));
        let lengths = KEY_LENGTHS.into_iter().filter(|&bits| 2 * bits <= order.len());
        let colliding: Vec<Colliding<WORDS>> =
            lengths.map(|bits| Colliding::count(some, &order, bits)).collect();
        let worth = colliding.iter().map(|keys| (f64::from(keys.bits), keys.worth())).collect();
        let excess = colliding.last().and_then(|longest| longest.excess(some, items, &order));
        Self { items: items as f64, order, worth, excess }
    }

    /// How many items share a key of `bits` bits with one, itself included.
    fn bucket(&self, bits: f64) -> f64 {
        1.0 + (self.items - 1.0).max(0.0) * (-self.worth_of(bits)).exp2()
    }

    /// What a key of `bits` bits is worth: measured, and between and beyond that, in proportion.
    fn worth_of(&self, bits: f64) -> f64 {
        let next = self
            .worth
            .partition_point(|point| point.0 < bits)
            .min(self.worth.len().saturating_sub(1));
        let Some(&(high, high_worth)) = self.worth.get(next) else { return bits };
        let (low, low_worth) = next.checked_sub(1).map_or((0.0, 0.0), |before| self.worth[before]);
        low_worth + (bits - low) * (high_worth - low_worth) / (high - low)
    }

    /// Bits of a record beside the item's position.
    fn record_room(&self) -> u32 {
        let items = self.items as usize;
        64 - Positions { items, stretch_bits: stretch_bits(items) }.bits()
    }

    fn all_pairs(&self) -> f64 {
        self.items * (self.items - 1.0) / 2.0
    }

    /// Nanoseconds to compare each with each.
    fn scan_price(&self, words: usize, radius: u32) -> f64 {
        let near = self.excess.as_ref().map_or(0.0, |excess| excess.near(0.0, radius));
        self.all_pairs() * scan_step(words) + near * MATCH
    }
}

/// One comparison of a scan, in nanoseconds.
fn scan_step(words: usize) -> f64 {
    0.22 * words as f64
}

/// A pair that a scan has found.
const MATCH: f64 = 20.0;

/// Bits worth using, in natural order if they all tell alike, else the most telling ones first.
fn bit_order(agreement: &[f64]) -> BitOrder {
    let positions: Vec<u32> = (0..agreement.len() as u32).collect();
    if agreement.iter().all(|&chance| chance < 0.56) {
        return BitOrder::contiguous(positions);
    }
    let mut varying: Vec<u32> =
        positions.iter().copied().filter(|&bit| agreement[bit as usize] < 1.0).collect();
    if varying.is_empty() {
        return BitOrder::contiguous(positions);
    }
    if varying.iter().all(|&bit| agreement[bit as usize] < 0.56) {
        return BitOrder::contiguous(varying);
    }
    varying.sort_by(|&one, &two| agreement[one as usize].total_cmp(&agreement[two as usize]));
    BitOrder::dealt(varying)
}

/// How many pairs of a sample share a key, on average over two keys of the same length.
struct Colliding<const WORDS: usize> {
    bits: u32,
    /// Two places tell whether one of them is a fluke.
    keys: [BitSet<WORDS>; 2],
    pairs: f64,
    /// As many as random data have.
    random: f64,
    /// Pairs of the sample.
    all: f64,
}

impl<const WORDS: usize> Colliding<WORDS> {
    fn count(sample: &[Fingerprint<WORDS>], order: &BitOrder, bits: u32) -> Self {
        let keys = order.cut::<WORDS>(order.len() / bits);
        let keys = [keys[0], keys[keys.len() / 2]].map(|key| key.lowest(bits));
        let pairs: f64 = keys.iter().map(|key| colliding_pairs(sample, key)).sum();
        let all = pairs_of(sample.len());
        Self { bits, keys, pairs: pairs / 2.0, random: all * (-f64::from(bits)).exp2(), all }
    }

    /// How many random bits would divide the sample as well as these keys do.
    fn worth(&self) -> f64 {
        // Random data may show less than one collision, which says nothing against it.
        let chance = self.pairs.max(self.random) / self.all.max(1.0);
        -chance.clamp(1e-12, 1.0).log2()
    }

    /// What chance does not explain, if the sample stands for this many items.
    fn excess(
        &self,
        sample: &[Fingerprint<WORDS>],
        items: usize,
        order: &BitOrder,
    ) -> Option<Excess> {
        const FLUKES: f64 = 8.0;
        if self.pairs <= 2.0 * self.random + FLUKES {
            return None;
        }
        let mut different = sample.to_vec();
        different.sort_unstable();
        different.dedup();
        let mut apart = Vec::new();
        for key in &self.keys {
            different.sort_by_cached_key(|print| masked(print, key));
            let buckets = different.chunk_by(|one, two| masked(one, key) == masked(two, key));
            apart.extend(buckets.flat_map(distances));
        }
        let pairs = apart.iter().map(|&(_, weight)| weight).sum::<f64>() / 2.0;
        let share = (pairs - self.random) / self.all;
        let many = pairs > 2.0 * self.random + FLUKES;
        many.then(|| Excess::new(order.len(), self.bits, pairs_of(items), share, apart))?
    }
}

/// What decides the size of a cover.
#[derive(Clone, Copy)]
struct Shape {
    radius: u32,
    lanes: u32,
    cut: Cut,
}

impl Shape {
    /// Blocks of all lanes together, as small as they get.
    fn blocks(self) -> u32 {
        let budgets = budgets(self.radius, self.lanes);
        match self.cut {
            Cut::Once { .. } => budgets.map(|budget| self.cut.first_blocks(budget)).sum(),
            Cut::Twice => budgets.map(|budget| (budget + 1) * (budget + 1)).sum(),
        }
    }

    /// How the paths of a lane of this budget go on from step to step, if `bits` are cut in all.
    fn steps(self, budget: u32, bits: u32) -> Vec<Step> {
        let budgets = budgets(self.radius, self.lanes);
        let blocks: u32 = budgets.map(|budget| self.cut.first_blocks(budget)).sum();
        let block = f64::from(bits) / f64::from(blocks);
        match self.cut {
            Cut::Once { picked } => {
                (1..=picked).map(|depth| Step { paths: choices(budget, depth), block }).collect()
            }
            Cut::Twice => {
                let ways = f64::from(budget + 1);
                let half = Step { paths: ways * ways, block: block * f64::from(budget) / ways };
                let first = Step { paths: ways, block };
                if budget == 0 { vec![first] } else { vec![first, half] }
            }
        }
    }
}

/// What all paths of a lane do at the same depth.
struct Step {
    /// How many of them there are.
    paths: f64,
    /// The bits of the block that is chosen, which may be some more here and fewer there.
    block: f64,
}

impl<const WORDS: usize> Cover<WORDS> {
    fn shape(&self, radius: u32) -> Shape {
        Shape { radius, lanes: self.lanes.len() as u32, cut: self.cut }
    }
}

/// What a cover costs on some data. Nanoseconds are those of one core of a 2021 server.
struct Price {
    nanoseconds: f64,
    compares: f64,
    /// How often pairs end up in one bucket, beyond what chance explains.
    meetings: f64,
}

/// Where pairs meet that share `used` bits of a lane.
#[derive(Clone, Copy)]
struct Meeting {
    used: f64,
    /// Bits of the lane that may still differ.
    open: u32,
    /// Bits of other lanes in the record.
    others: u32,
    budget: u32,
    words: usize,
}

impl Price {
    /// The work around each bucket, per item in it.
    const BUCKET: f64 = 3.0;
    const INSTRUCTION: f64 = 0.08;
    /// Two fingerprints fetched from memory.
    const VERIFY: f64 = 30.0;
    /// Two fingerprints that meet others again and again, and so are in the cache.
    const AGAIN: f64 = 10.0;
    /// Whether a block or a lane is equal or within its budget, per word.
    const OWNER: f64 = 0.7;

    fn of(shape: Shape, words: usize, sample: &Sample) -> Self {
        let mut price = Self { nanoseconds: 0.0, compares: 0.0, meetings: 0.0 };
        for budget in budgets(shape.radius, shape.lanes) {
            price.add_lane(shape, budget, words, sample);
        }
        // What the model does not see: larger budgets blunt the filters.
        price.nanoseconds *= 1.0 + 0.02 * f64::from(shape.radius / shape.lanes);
        price
    }

    /// Follows one lane's paths as a join walks them, with buckets of the expected size.
    fn add_lane(&mut self, shape: Shape, budget: u32, words: usize, sample: &Sample) {
        let items = sample.items;
        let steps = shape.steps(budget, sample.order.len());
        let trunk = steps[0].block;
        let key = f64::from(partition_bits(items as usize, trunk.ceil() as u32)).min(trunk);
        let blocks = f64::from(shape.cut.first_blocks(budget));
        let lane_bits = blocks * trunk;
        // A record may be too small for all the lane's bits: then each block that follows gets its share.
        let room = f64::from(sample.record_room());
        let (mut rest, mut depth) = ((trunk - key).min(room), 0);
        let share = (room - rest) / (blocks - 1.0).max(1.0);
        let mut bucket = sample.bucket(key);
        let mut nodes = steps[0].paths;
        let mut used = key;
        self.nanoseconds += nodes * items * Self::scatter(items);
        loop {
            let next = steps.get(depth + 1).map(|step| (step.paths, step.block.min(share)));
            let children = if next.is_some() { budget as usize + 1 } else { 0 };
            if bucket <= small(children) as f64 {
                break;
            }
            let group = bucket;
            let wanted = f64::from(wanted_bits(bucket as usize).min(MOST_SPLIT_BITS));
            let bits = match next {
                None if rest > 0.0 => wanted.min(rest),
                Some((_, carried)) if rest > 0.0 && wanted > carried => wanted.min(rest),
                Some((paths, carried)) if carried > 0.0 => {
                    depth += 1;
                    nodes = paths;
                    rest = carried;
                    wanted.min(carried)
                }
                _ => break,
            };
            rest -= bits;
            used += bits;
            self.nanoseconds += nodes * items * Self::split(group);
            bucket = sample.bucket(used);
        }
        let compares = nodes * items * (bucket - 1.0) / 2.0;
        self.compares += compares;
        let open = (lane_bits - used).max(0.0).round() as u32;
        let others = sample.record_room().saturating_sub((lane_bits - key).round() as u32);
        self.nanoseconds += nodes * items * Self::BUCKET
            + compares * Self::compare(open, others, budget, shape.radius, sample);
        if let Some(excess) = &sample.excess {
            let meeting = Meeting { used, open, others, budget, words };
            self.add_excess(nodes, meeting, shape, items, excess);
        }
    }

    /// Adds the pairs that meet more often than chance explains.
    fn add_excess(
        &mut self,
        nodes: f64,
        meeting: Meeting,
        shape: Shape,
        items: f64,
        excess: &Excess,
    ) {
        let Meeting { used, open, others, budget, words } = meeting;
        let few = |apart, bits, most| excess.chance_of_few(used, apart, f64::from(bits), most);
        let all = excess.meetings(used, |_| 1.0);
        let near = excess.near(used, shape.radius);
        let owner = Self::owner(shape.lanes + budget, words);
        // As many items as make these pairs, if one bucket has them all.
        let each = if (2.0 * all).sqrt().min(items) > DENSE as f64 {
            all * scan_step(words) + near * (MATCH + owner)
        } else {
            let passing = excess.meetings(used, |apart| {
                few(apart, open, budget) * few(apart, others, shape.radius)
            });
            passing * Self::AGAIN + near * owner
        };
        self.meetings += nodes * all;
        self.nanoseconds += nodes * each;
    }

    /// Whether a pair that is near is reported here: half of these lanes and blocks are looked at.
    fn owner(looks: u32, words: usize) -> f64 {
        f64::from(looks) / 2.0 * words as f64 * Self::OWNER
    }

    /// One comparison, with its share of what passes: `open` bits of the lane may still differ, and `others`
    /// are in the record.
    fn compare(open: u32, others: u32, budget: u32, radius: u32, sample: &Sample) -> f64 {
        let room = sample.record_room();
        let by_lane = Filter::cost(open.min(room), budget);
        let by_all = Filter::cost(open + others, radius);
        let passing = chance_of_few(open.min(room), budget) * chance_of_few(others, radius);
        by_lane.min(by_all) / 8.0 * Self::INSTRUCTION + passing * Self::VERIFY
    }

    /// One more pass over the records of a group: cheap in the second-level cache, and dearer the
    /// farther the group outgrows it.
    fn split(group: f64) -> f64 {
        const CACHED: f64 = 16_384.0;
        2.8 + 0.6 * (group / CACHED).max(1.0).log2()
    }

    /// One pass over the items, from the cache or from memory.
    fn scatter(items: f64) -> f64 {
        if items < 2e6 { 2.5 } else { 4.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_worth_what_its_own_bits_tell_and_not_those_behind_it() {
        // Lanes of 32 bits: one of 16 values in the lower 22, whatever comes in the others.
        let lane = |item: u64| (item % 16 * 0x1f_0b5d % (1 << 22)) | ((item << 22) & 0xffff_ffff);
        let some: Vec<_> =
            (0..4096).map(|item| Fingerprint([lane(item) | lane(item / 3) << 32])).collect();
        let order = BitOrder::contiguous((0..64).collect());
        let worth = Colliding::count(&some, &order, 22).worth();
        assert!((3.9..4.1).contains(&worth), "{worth}");
    }

    /// So many fingerprints, each `turned` random bits away from the same one.
    fn alike<const WORDS: usize>(items: usize, turned: u32, seed: u64) -> Vec<Fingerprint<WORDS>> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state >> 33
        };
        let one = Fingerprint(std::array::from_fn(|_| next() << 33 | next()));
        let print = |_| {
            let mut print = one;
            for _ in 0..turned {
                let bit = next() as usize % (64 * WORDS);
                print.0[bit / 64] ^= 1 << (bit % 64);
            }
            print
        };
        (0..items).map(print).collect()
    }

    fn compares_no_more_than_a_scan<const WORDS: usize>(items: usize, turned: u32, radius: u32) {
        let mut prints = alike::<WORDS>(items, turned, 7);
        // Copies count as comparisons, but are found once and left out.
        prints.sort_unstable();
        prints.dedup();
        let sample = Sample::of(&prints);
        let plan = Plan::new::<WORDS>(&choose(&sample, radius), &sample, radius);
        let (compares, all) = (plan.expected_compares(), sample.all_pairs());
        assert!(compares <= all, "{items} {turned} {radius}: {plan}");
    }

    #[test]
    fn no_plan_compares_near_identical_fingerprints_more_often_than_a_scan() {
        for items in [1_100, 2_000, 9_000] {
            for (turned, radius) in [(2, 3), (2, 1), (3, 6), (4, 3), (4, 10), (8, 10), (8, 20)] {
                compares_no_more_than_a_scan::<1>(items, turned, radius);
                compares_no_more_than_a_scan::<2>(items, turned, radius);
                compares_no_more_than_a_scan::<4>(items, turned, radius);
            }
        }
    }

    #[test]
    fn fingerprints_that_are_all_near_each_other_are_scanned() {
        let sample = Sample::of(&alike::<4>(2_000, 4, 1));
        assert!(matches!(choose::<4>(&sample, 10), Strategy::Scan));
    }

    #[test]
    fn copies_are_no_reason_to_scan() {
        let one = Fingerprint([5; 4]);
        let random = alike::<4>(50_000, 400, 1);
        let prints: Vec<_> = random.into_iter().flat_map(|print| [print, one]).collect();
        let sample = Sample::of(&prints);
        assert!(sample.excess.is_none());
        assert!(!matches!(choose::<4>(&sample, 10), Strategy::Scan));
    }
}
