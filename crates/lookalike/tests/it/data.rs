//! Made data: random and every kind of skew that real fingerprints show.

use lookalike::Fingerprint;

/// A small generator (SplitMix64), so that a seed means the same data for ever.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn print<const WORDS: usize>(&mut self) -> Fingerprint<WORDS> {
        Fingerprint(std::array::from_fn(|_| self.next()))
    }
}

/// How fingerprints are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Random,
    /// Near copies of a few centres.
    Clustered,
    AllEqual,
    /// Each differs from the one before in a few bits.
    Chained,
    /// Only some bits ever change.
    FewBitsVary,
    /// Bits are far from fair coins, and there are many copies.
    Biased,
}

impl Shape {
    pub const ALL: [Self; 6] = [
        Self::Random,
        Self::Clustered,
        Self::AllEqual,
        Self::Chained,
        Self::FewBitsVary,
        Self::Biased,
    ];

    /// `count` fingerprints of `bits` bits, about `radius` bits being what counts as near.
    pub fn make<const WORDS: usize>(
        self,
        count: usize,
        bits: u32,
        radius: u32,
        rng: &mut Rng,
    ) -> Vec<Fingerprint<WORDS>> {
        let mut prints: Vec<Fingerprint<WORDS>> = Vec::with_capacity(count);
        let centres: Vec<Fingerprint<WORDS>> = (0..count / 20 + 1).map(|_| rng.print()).collect();
        let varying: Vec<u32> = (0..12).map(|_| rng.below(bits as usize) as u32).collect();
        for index in 0..count {
            let print = match self {
                Self::Random if index % 10 == 9 => {
                    let near = prints[rng.below(index)];
                    flip(near, rng.below(radius as usize + 2), bits, rng)
                }
                Self::Random => rng.print(),
                Self::Clustered => {
                    let centre = centres[rng.below(centres.len())];
                    flip(centre, rng.below(radius as usize / 2 + 2), bits, rng)
                }
                Self::AllEqual => centres[0],
                Self::Chained if index == 0 => rng.print(),
                Self::Chained => flip(prints[index - 1], rng.below(radius as usize + 1), bits, rng),
                Self::FewBitsVary => {
                    let set =
                        |print: Fingerprint<WORDS>, &bit: &u32| toggled(print, bit, rng.next() & 1);
                    varying.iter().fold(centres[0], set)
                }
                Self::Biased => {
                    let [a, b] = [rng.print::<WORDS>(), rng.print()];
                    Fingerprint(std::array::from_fn(|word| {
                        a.0[word] & b.0[word] & if index % 3 == 0 { 0xff } else { !0 }
                    }))
                }
            };
            prints.push(masked(print, bits));
        }
        prints
    }
}

/// Changes `count` bits picked at random (some maybe twice).
pub fn flip<const WORDS: usize>(
    print: Fingerprint<WORDS>,
    count: usize,
    bits: u32,
    rng: &mut Rng,
) -> Fingerprint<WORDS> {
    (0..count).fold(print, |print, _| toggled(print, rng.below(bits as usize) as u32, 1))
}

fn toggled<const WORDS: usize>(
    mut print: Fingerprint<WORDS>,
    bit: u32,
    by: u64,
) -> Fingerprint<WORDS> {
    print.0[bit as usize / 64] ^= by << (bit % 64);
    print
}

fn masked<const WORDS: usize>(mut print: Fingerprint<WORDS>, bits: u32) -> Fingerprint<WORDS> {
    if bits == 32 {
        print.0[0] &= 0xffff_ffff;
    }
    print
}
