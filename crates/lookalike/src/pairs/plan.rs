//! How will the pairs be found, and what will it cost?
//!
//! A [`Sample`] of the data says how well its bits tell items apart; the cost model prices every
//! cover and the plain scan with it; [`Plan`] is the choice, for people to read.

use std::fmt;

use super::{
    cover::{BitOrder, Cover},
    find::Strategy,
    join::{PARTITION, SMALL, wanted_bits},
    record::Layout,
    scatter::MOST_KEY_BITS,
};
use crate::{Fingerprint, hamming::filter::chance_of_few};

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
        prints: &[Fingerprint<WORDS>],
        radius: u32,
    ) -> Self {
        let sample = Sample::new(prints);
        let held = size_of_val(prints) as u64;
        let items = prints.len() as u64;
        match strategy {
            Strategy::Scan => Self {
                description: "exhaustive scan".into(),
                compares: sample.all_pairs(),
                memory: 2 * held,
            },
            Strategy::Join(cover) => Self {
                description: cover.to_string(),
                compares: Price::of(cover, &sample, radius).compares,
                memory: held + items * size_of::<u64>() as u64,
            },
        }
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
        write!(
            f,
            "{}; {:.3e} compares and {memory:.1} MiB expected",
            self.description, self.compares
        )
    }
}

/// `4 lanes of 16 bits, 1 block each: 4 sets of 16 bits` and the like.
impl<const WORDS: usize> fmt::Display for Cover<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(lane) = self.lanes.first() else { return f.write_str("no lanes") };
        let blocks: usize = self.lanes.iter().map(|lane| lane.blocks.len()).sum();
        let bits: u32 = self.lanes.iter().map(|lane| lane.bits.len()).sum();
        let sets: f64 = self.lanes.iter().map(|lane| choices(lane.budget, lane.picked)).sum();
        let set_bits = f64::from(lane.picked) * f64::from(bits) / blocks as f64;
        write!(
            f,
            "{} of {} bits, {} equal of {}: {sets} sets of {set_bits:.0} bits",
            count(self.lanes.len(), "lane"),
            bits / self.lanes.len() as u32,
            count(lane.picked as usize, "block"),
            lane.blocks.len(),
        )
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The cheapest way to find the pairs of these fingerprints.
pub(super) fn choose<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
) -> Strategy<WORDS> {
    let sample = Sample::new(prints);
    let covers = (1..=radius + 1).flat_map(|lanes| (1..=4).map(move |picked| (lanes, picked)));
    let priced = covers
        .filter(|&(lanes, picked)| 2 * (radius + 1 + lanes * (picked - 1)) <= sample.order.len())
        .map(|(lanes, picked)| {
            let cover = Cover::new(&sample.order, radius, lanes, picked);
            (Price::of(&cover, &sample, radius).nanoseconds, cover)
        });
    let cheapest = priced.min_by(|one, two| one.0.total_cmp(&two.0));
    match cheapest {
        Some((price, cover)) if price < sample.scan_price(WORDS) => Strategy::Join(cover),
        _ => Strategy::Scan,
    }
}

/// The classic plan: so many blocks, of which all but `radius` must be equal.
pub(super) fn classic<const WORDS: usize>(
    prints: &[Fingerprint<WORDS>],
    radius: u32,
    blocks: u32,
) -> Strategy<WORDS> {
    Strategy::Join(Cover::new(&Sample::new(prints).order, radius, 1, blocks - radius))
}

/// How well the bits of some fingerprints tell them apart.
struct Sample {
    items: f64,
    order: BitOrder,
    /// Of a bit of key, the part that really divides the data: 1 for random bits.
    telling: f64,
}

/// Fingerprints looked at. Enough to see a 12-bit key collide by chance two thousand times.
const SAMPLE: usize = 4096;
const SAMPLE_KEY: usize = 12;

impl Sample {
    fn new<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Self {
        let step = prints.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<Fingerprint<WORDS>> = prints.iter().step_by(step).copied().collect();
        let agreement = agreement(&sample);
        let order = bit_order(&agreement);
        let telling = telling(&sample, &order);
        Self { items: prints.len() as f64, order, telling }
    }

    /// How many items of `items` share a key of `bits` bits with one, itself included.
    fn bucket(&self, items: f64, bits: u32) -> f64 {
        1.0 + (items - 1.0).max(0.0) * (-self.telling * f64::from(bits)).exp2()
    }

    fn all_pairs(&self) -> f64 {
        self.items * (self.items - 1.0) / 2.0
    }

    /// Nanoseconds to compare each with each.
    fn scan_price(&self, words: usize) -> f64 {
        self.all_pairs() * 0.22 * words as f64
    }
}

/// For every bit, the chance that two fingerprints have the same: a half for random bits.
fn agreement<const WORDS: usize>(sample: &[Fingerprint<WORDS>]) -> Vec<f64> {
    (0..64 * WORDS as u32)
        .map(|bit| {
            let ones = sample.iter().filter(|print| print.bit(bit)).count() as f64;
            let share = ones / sample.len().max(1) as f64;
            share * share + (1.0 - share) * (1.0 - share)
        })
        .collect()
}

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

/// How much of each key bit really divides the sample: measured on a few short keys.
fn telling<const WORDS: usize>(sample: &[Fingerprint<WORDS>], order: &BitOrder) -> f64 {
    let keys = (order.len() / SAMPLE_KEY as u32).clamp(1, 4);
    let pairs = sample.len() as f64 * (sample.len() as f64 - 1.0) / 2.0;
    let shares =
        order.cut::<WORDS>(order.len().div_ceil(SAMPLE_KEY as u32)).into_iter().take(keys as usize);
    let (mut chance, mut bits) = (0.0f64, 0u32);
    for key in shares {
        let positions: Vec<u32> = key.positions().collect();
        let mut counts = vec![0u32; 1 << positions.len()];
        for print in sample {
            let value =
                positions.iter().fold(0, |value, &bit| value << 1 | usize::from(print.bit(bit)));
            counts[value] += 1;
        }
        let collisions: f64 =
            counts.iter().map(|&count| f64::from(count) * (f64::from(count) - 1.0) / 2.0).sum();
        // One collision more than was seen: a small sample proves little.
        chance += -((collisions + 1.0) / (pairs + 1.0)).min(1.0).log2();
        bits += positions.len() as u32;
    }
    (chance / f64::from(bits.max(1))).clamp(0.02, 1.0)
}

/// What a cover costs on some data. Nanoseconds are those of one core of a 2021 server.
struct Price {
    nanoseconds: f64,
    compares: f64,
}

impl Price {
    const SPLIT: f64 = 2.0;
    const BUCKET: f64 = 1.7;
    const INSTRUCTION: f64 = 0.1;
    const VERIFY: f64 = 30.0;

    fn of<const WORDS: usize>(cover: &Cover<WORDS>, sample: &Sample, radius: u32) -> Self {
        let mut price = Self { nanoseconds: 0.0, compares: 0.0 };
        for lane in 0..cover.lanes.len() {
            price.add_lane(cover, lane, sample, radius);
        }
        price
    }

    fn add_lane<const WORDS: usize>(
        &mut self,
        cover: &Cover<WORDS>,
        number: usize,
        sample: &Sample,
        radius: u32,
    ) {
        let lane = &cover.lanes[number];
        let block_bits = lane.blocks[0].len();
        let items = sample.items;
        let mut used =
            ((items as usize / PARTITION).max(1).ilog2()).min(block_bits).min(MOST_KEY_BITS);
        let mut rest = block_bits - used;
        let mut bucket = sample.bucket(items, used);
        let mut nodes = choices(lane.budget, 1);
        self.nanoseconds += nodes * items * Self::scatter(items);
        let mut depth = 1;
        while bucket > SMALL as f64 {
            let wanted = wanted_bits(bucket as usize).min(MOST_KEY_BITS);
            let bits = if depth < lane.picked && (rest == 0 || wanted <= block_bits) {
                depth += 1;
                nodes = choices(lane.budget, depth);
                let bits = wanted.min(block_bits);
                rest = block_bits - bits;
                bits
            } else if rest > 0 {
                let bits = wanted.min(rest);
                rest -= bits;
                bits
            } else {
                break;
            };
            used += bits;
            self.nanoseconds += nodes * items * Self::SPLIT;
            bucket = sample.bucket(bucket, bits);
        }
        let layout = Layout::new(cover, number, 0, used.min(block_bits), items as usize, radius);
        let compares = nodes * items * (bucket - 1.0) / 2.0;
        let filter = layout.filter(0, lane.budget, radius);
        self.compares += compares;
        self.nanoseconds += nodes * items * Self::BUCKET
            + compares
                * (filter.cost() / 8.0 * Self::INSTRUCTION
                    + Self::passing(&layout, lane.budget, radius) * Self::VERIFY);
    }

    /// One pass over the items, from the cache or from memory.
    fn scatter(items: f64) -> f64 {
        if items < 2e6 { 2.5 } else { 4.0 }
    }

    /// The part of random pairs that passes all tests on records.
    fn passing<const WORDS: usize>(layout: &Layout<WORDS>, budget: u32, radius: u32) -> f64 {
        let lane = layout.lane_mask.count_ones();
        let others = (layout.digest_mask & !layout.lane_mask).count_ones();
        chance_of_few(lane, budget) * chance_of_few(others, radius)
    }
}

/// The number of paths of `depth` blocks: `budget + depth` choose `depth`.
fn choices(budget: u32, depth: u32) -> f64 {
    (1..=depth).map(|i| f64::from(budget + i) / f64::from(i)).product()
}
