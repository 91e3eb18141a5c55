//! Synthetic fingerprints, the same in every run and on every machine.
//!
//! Every item is a function of its position, so a billion of them need no extra memory, and which
//! items are copies can be computed later.

use lookalike::{
    AllPairs, Closeness, Fingerprint, Radius,
    features::{Feature, Features},
    groups,
    pairs::PairsError,
    search::{AlikePair, AlikePairs},
};
use rayon::prelude::*;

/// Random fingerprints of which one in a hundred is a changed copy of another.
#[derive(Clone, Copy)]
pub struct Planted {
    /// How many items.
    pub items: u64,
    /// Copies differ in 0 to this many bits.
    pub radius: u32,
}

impl Planted {
    /// The fingerprints, in order.
    pub fn prints<const WORDS: usize>(&self) -> Vec<Fingerprint<WORDS>> {
        (0..self.items as usize).into_par_iter().map(|item| self.print(item as u64)).collect()
    }

    /// The original of the changed copy `item`, which is never a copy itself.
    pub fn parent(&self, item: u64) -> Option<u64> {
        let draws = Draws { seed: b"plant", item };
        is_copy(item).then(|| {
            (0..)
                .map(|attempt| draws.below(attempt, self.items))
                .find(|&parent| !is_copy(parent))
                .expect("99 of 100 items are no copies")
        })
    }

    fn print<const WORDS: usize>(&self, item: u64) -> Fingerprint<WORDS> {
        match self.parent(item) {
            None => random(b"item", item),
            Some(parent) => change(random(b"item", parent), item, self.radius),
        }
    }
}

/// Queries to fingerprints made by [`Planted`]: every second one is within `radius` of an item.
pub fn queries<const WORDS: usize>(of: Planted, count: u64) -> Vec<Fingerprint<WORDS>> {
    (0..count)
        .map(|query| match query % 2 {
            0 => random(b"query", query),
            _ => {
                let item = Draws { seed: b"target", item: query }.below(0, of.items);
                change(of.print(item), query, of.radius)
            }
        })
        .collect()
}

/// Random fingerprints, and dense neighbourhoods: many near-identical ones around a few centres, like
/// pages of one template, spam or blank images.
#[derive(Clone, Copy)]
pub struct Dense {
    /// Items without near items.
    pub unrelated: u64,
    /// The number of centres.
    pub centres: u64,
    /// Items around a centre, each about 4 bits away: few of them are within 3 bits of each other.
    pub per_centre: u64,
}

impl Dense {
    /// The fingerprints: unrelated ones first, then centre by centre.
    pub fn prints(&self) -> Vec<Fingerprint<1>> {
        (0..self.unrelated + self.centres * self.per_centre).map(|item| self.print(item)).collect()
    }

    fn print(&self, item: u64) -> Fingerprint<1> {
        match item.checked_sub(self.unrelated) {
            None => random(b"stranger", item),
            Some(member) => {
                let draws = Draws { seed: b"crowd", item };
                let Fingerprint([centre]) = random(b"centre", member / self.per_centre);
                Fingerprint([(0..4).fold(centre, |bits, draw| bits ^ 1 << draws.below(draw, 64))])
            }
        }
    }

    /// Queries within 3 bits of a random item.
    pub fn queries(&self, count: u64) -> Vec<Fingerprint<1>> {
        let items = self.unrelated + self.centres * self.per_centre;
        let target = |query| Draws { seed: b"crowded", item: query }.below(0, items);
        (0..count).map(|query| change(self.print(target(query)), query + items, 3)).collect()
    }
}

/// Fingerprints as real text makes them: unbalanced bits, and boilerplate that decides some bits
/// for all items that share it without making these items near.
#[derive(Clone, Copy)]
pub struct Skewed {
    /// How many items.
    pub items: u64,
    /// Bits are set with a probability of 0.5 give or take up to this.
    pub bias: f64,
    /// The part of the items that carries boilerplate.
    pub boilerplate: f64,
    /// The part of the bits that a boilerplate decides.
    pub decided: f64,
}

impl Skewed {
    /// Like word 3-shingles of windows of 1000 bytes.
    pub const fn shingles(items: u64) -> Self {
        Self { items, bias: 0.16, boilerplate: 0.7, decided: 0.65 }
    }

    /// Like single words of windows of 1000 bytes, the worst that was seen.
    pub const fn words(items: u64) -> Self {
        Self { items, bias: 0.16, boilerplate: 0.9, decided: 0.68 }
    }

    /// Bits that are unbalanced and nothing more: hardly anything is near by chance.
    pub const fn bits(items: u64) -> Self {
        Self { items, bias: 0.3, boilerplate: 0.0, decided: 0.0 }
    }

    /// The fingerprints, in order; one in a hundred is a copy changed in 0 to 3 bits.
    pub fn prints(&self) -> Vec<Fingerprint<1>> {
        let plant = Planted { items: self.items, radius: 3 };
        (0..self.items as usize)
            .into_par_iter()
            .map(|item| item as u64)
            .map(|item| match plant.parent(item) {
                None => self.print(item),
                Some(parent) => change(self.print(parent), item, plant.radius),
            })
            .collect()
    }

    fn print(&self, item: u64) -> Fingerprint<1> {
        let draws = Draws { seed: b"skew", item };
        let own: u64 = (0..64)
            .filter(|&bit| {
                let bias = Draws { seed: b"bias", item: bit }.part(0) * 2.0 - 1.0;
                draws.part(bit) < 0.5 + self.bias * bias
            })
            .fold(0, |bits, bit| bits | 1 << bit);
        if draws.part(64) >= self.boilerplate {
            return Fingerprint([own]);
        }
        // A few boilerplates are everywhere, most are rare: the share of the i-th is about 1/i.
        let template = (1000f64.powf(draws.part(65))) as u64;
        let parts = Draws { seed: b"decided", item: template };
        // No boilerplate wins every vote it should; 0.9 makes wider bit sets as uneven as in text.
        let decided = (0..64)
            .filter(|&bit| parts.part(bit) < self.decided && draws.part(66 + bit) < 0.9)
            .fold(0u64, |bits, bit| bits | 1 << bit);
        let Fingerprint([text]) = random::<1>(b"boilerplate", template);
        Fingerprint([own & !decided | text & decided])
    }
}

/// Removes the skew but keeps the pairs within `radius`: each connected group is xored with its own
/// random bits. So distances within a group stay, and all other pairs become unrelated.
pub fn evened(prints: &[Fingerprint<1>], radius: u32) -> Result<Vec<Fingerprint<1>>, PairsError> {
    let mut pairs = Vec::new();
    AllPairs::new(Radius::new(radius)).run(prints)?.for_each(|pair| {
        let closeness = Closeness::within(pair.distance);
        pairs.push(AlikePair { a: pair.a, b: pair.b, closeness });
    });
    let items: Vec<u32> = (0..prints.len() as u32).collect();
    let groups = groups::connected(items.len(), &items, &AlikePairs::from_pairs(pairs))?;
    let mut first = items;
    for group in groups {
        group.members.iter().for_each(|member| first[member.item as usize] = group.keep);
    }
    let turned = |(print, first): (&Fingerprint<1>, u32)| print.xor(&random(b"even", first.into()));
    Ok(prints.iter().zip(first).map(turned).collect())
}

/// How many more pairs agree in a 16-bit block than in uniform data, as a mean over the blocks.
pub fn block_inflation(prints: &[Fingerprint<1>]) -> f64 {
    let agreeing: f64 = (0..4).map(|block| agreeing_pairs(prints, 16 * block)).sum();
    let all = prints.len() as f64 * (prints.len() as f64 - 1.0);
    agreeing / 4.0 / (all / 65536.0)
}

fn agreeing_pairs(prints: &[Fingerprint<1>], shift: u32) -> f64 {
    let mut sizes = vec![0u64; 1 << 16];
    prints.iter().for_each(|print| sizes[(print.0[0] >> shift & 0xFFFF) as usize] += 1);
    sizes.iter().map(|&size| size as f64 * (size as f64 - 1.0)).filter(|&pairs| pairs > 0.0).sum()
}

/// Items of `each` random features, all with weight 1 or with weights from 1 to 20.
pub fn features(items: u64, each: u64, weighted: bool) -> Vec<Features<1>> {
    let feature = |draws: Draws, index| {
        let weight = if weighted { 1 + draws.below(each + index, 20) as i32 } else { 1 };
        Feature::weighted(draws.number(index), weight)
    };
    let item = |item| {
        let draws = Draws { seed: b"feature", item };
        (0..each).map(|index| feature(draws, index)).collect()
    };
    (0..items).map(item).collect()
}

pub(crate) fn is_copy(item: u64) -> bool {
    Draws { seed: b"copy", item }.below(0, 100) == 0
}

fn random<const WORDS: usize>(seed: &'static [u8], item: u64) -> Fingerprint<WORDS> {
    let draws = Draws { seed, item };
    Fingerprint(std::array::from_fn(|word| draws.number(word as u64)))
}

/// Flips 0 to `radius` different bits.
fn change<const WORDS: usize>(
    print: Fingerprint<WORDS>,
    item: u64,
    radius: u32,
) -> Fingerprint<WORDS> {
    let draws = Draws { seed: b"change", item };
    let wanted = draws.below(0, u64::from(radius) + 1) as u32;
    let mut flips = Fingerprint::ZERO;
    for draw in 1.. {
        if flips.ones() == wanted {
            break;
        }
        let bit = draws.below(draw, u64::from(Fingerprint::<WORDS>::BITS));
        flips.0[bit as usize / 64] |= 1 << (bit % 64);
    }
    print.xor(&flips)
}

/// Random numbers for one item, each a function of its index.
#[derive(Clone, Copy)]
pub(crate) struct Draws {
    pub(crate) seed: &'static [u8],
    pub(crate) item: u64,
}

impl Draws {
    pub(crate) fn number(self, index: u64) -> u64 {
        let seed = self.seed.iter().fold(0, |seed, &byte| seed << 8 ^ u64::from(byte));
        mix(mix(mix(seed) ^ self.item) ^ index)
    }

    pub(crate) fn below(self, index: u64, end: u64) -> u64 {
        ((u128::from(self.number(index)) * u128::from(end)) >> 64) as u64
    }

    /// 0 up to 1.
    pub(crate) fn part(self, index: u64) -> f64 {
        (self.number(index) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The SplitMix64 step: every bit of the number decides every bit of the result.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_within_the_radius_of_their_parent() {
        let planted = Planted { items: 5000, radius: 31 };
        let prints = planted.prints::<4>();
        let copies = (0..5000).filter_map(|item| Some((item, planted.parent(item)?)));
        let distances: Vec<u32> = copies
            .map(|(copy, parent)| prints[copy as usize].distance(&prints[parent as usize]))
            .collect();
        assert!((20..100).contains(&distances.len()), "{} copies", distances.len());
        assert!(distances.iter().all(|&distance| distance <= 31));
        assert!(distances.iter().any(|&distance| distance > 20));
    }

    #[test]
    fn evened_fingerprints_have_the_same_pairs_and_no_others() {
        let skewed = Skewed::words(30_000).prints();
        let even = evened(&skewed, 3).unwrap();
        let pairs = |prints: &[Fingerprint<1>]| {
            let mut pairs = Vec::new();
            AllPairs::new(Radius::new(3)).run(prints).unwrap().for_each(|pair| pairs.push(pair));
            pairs
        };
        assert_eq!(pairs(&even), pairs(&skewed));
        let inflation = block_inflation(&even);
        assert!((0.9..1.5).contains(&inflation), "{inflation}");
    }

    #[test]
    fn skew_is_what_real_text_showed() {
        let inflation = |skewed: Skewed| block_inflation(&skewed.prints());
        let shingles = inflation(Skewed::shingles(100_000));
        let words = inflation(Skewed::words(100_000));
        assert!((7.0..22.0).contains(&shingles), "shingles: {shingles}");
        assert!((17.0..50.0).contains(&words), "words: {words}");
    }
}
