//! Finds the bits that are set in more than half of the words.
//!
//! Counting is *bit-sliced*: plane `p` holds bit `p` of the counts of all bit positions, so one full
//! adder of five logical operations adds to 256 counters at once. This is the positional population
//! count of Klarqvist, Muła and Lemire (2019) on a Harley-Seal tree. The counts are never unpacked,
//! because the comparison with one half is bit-sliced as well.

/// Four 64-bit words that are combined bit by bit.
pub(super) trait Lanes: Copy {
    fn load(words: [u64; 4]) -> Self;
    fn store(self) -> [u64; 4];
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}

/// The number of words that the adder tree takes at once.
const BLOCK: usize = 64;

/// The bits set in more than half of `hashes`; `WORDS` divides 4.
#[inline(always)]
pub(super) fn majority<L: Lanes, const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    let (words, half) = (hashes.as_flattened(), hashes.len() as u64 / 2);
    // Most items are short. Clearing planes that they never reach would cost more than counting.
    if words.len().div_ceil(4) < 1 << 12 {
        count::<L, 8>(words).above(half)
    } else {
        count::<L, 60>(words).above(half)
    }
}

/// Counts the bits of all words; every lane counts fewer than `2^(4 + HIGH)` of them.
#[inline(always)]
fn count<L: Lanes, const HIGH: usize>(words: &[u64]) -> Counter<L, HIGH> {
    let (blocks, tail) = words.as_chunks::<BLOCK>();
    let mut counter = Counter::new();
    for block in blocks {
        counter.add(block);
    }
    if !tail.is_empty() {
        // Zero words add nothing to the count of any bit.
        let mut block = [0; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        counter.add(&block);
    }
    counter
}

/// 256 counters: lane `l` counts words `l`, `l + 4`, `l + 8`, ...
struct Counter<L, const HIGH: usize> {
    /// The planes of 1, 2, 4 and 8, which the adder tree keeps in registers.
    low: [L; 4],
    /// The planes of 16 and above, which take a carry per block.
    high: [L; HIGH],
    /// All high planes from this one on are zero.
    depth: usize,
}

impl<L: Lanes, const HIGH: usize> Counter<L, HIGH> {
    #[inline(always)]
    fn new() -> Self {
        let zero = L::load([0; 4]);
        Self { low: [zero; 4], high: [zero; HIGH], depth: 0 }
    }

    #[inline(always)]
    fn add(&mut self, block: &[u64; BLOCK]) {
        let (lanes, _) = block.as_chunks::<4>();
        let mut carry = self.sixteen(lanes);
        let mut level = 0;
        while !carry.is_zero() {
            let plane = self.high[level];
            self.high[level] = plane.xor(carry);
            carry = plane.and(carry);
            level += 1;
        }
        self.depth = self.depth.max(level);
    }

    /// Adds 16 lanes; the returned carry counts sixteen times.
    #[inline(always)]
    fn sixteen(&mut self, lanes: &[[u64; 4]]) -> L {
        let (low, high) = (self.eight(&lanes[..8]), self.eight(&lanes[8..]));
        self.carry(3, low, high)
    }

    #[inline(always)]
    fn eight(&mut self, lanes: &[[u64; 4]]) -> L {
        let (low, high) = (self.four(&lanes[..4]), self.four(&lanes[4..]));
        self.carry(2, low, high)
    }

    #[inline(always)]
    fn four(&mut self, lanes: &[[u64; 4]]) -> L {
        let (low, high) = (self.two(&lanes[..2]), self.two(&lanes[2..]));
        self.carry(1, low, high)
    }

    #[inline(always)]
    fn two(&mut self, lanes: &[[u64; 4]]) -> L {
        self.carry(0, L::load(lanes[0]), L::load(lanes[1]))
    }

    /// Adds two lanes to a low plane; returns the carry to the plane above.
    #[inline(always)]
    fn carry(&mut self, level: usize, a: L, b: L) -> L {
        let c = self.low[level];
        let half = a.xor(b);
        self.low[level] = half.xor(c);
        a.and(b).or(half.and(c))
    }

    /// The bits of each word that were counted more than `threshold` times.
    #[inline(always)]
    fn above<const WORDS: usize>(&self, threshold: u64) -> [u64; WORDS] {
        let mut comparison = Comparison::new(threshold);
        for plane in self.low.iter().chain(&self.high[..self.depth]) {
            comparison.take(plane.store());
        }
        // The sum of four lanes takes two more planes, and the threshold may be higher still.
        while comparison.is_open() {
            comparison.take([0; 4]);
        }
        comparison.above
    }
}

/// Compares counts with a threshold, plane by plane from the lowest.
struct Comparison<const WORDS: usize> {
    /// The remaining bits of the threshold.
    threshold: u64,
    /// The carries of the three additions that sum four lanes.
    carries: [u64; 3],
    /// Where the planes so far exceed the threshold so far.
    above: [u64; WORDS],
}

impl<const WORDS: usize> Comparison<WORDS> {
    #[inline(always)]
    fn new(threshold: u64) -> Self {
        Self { threshold, carries: [0; 3], above: [0; WORDS] }
    }

    /// Takes the next plane: adds the lanes that count the same word (`l`, `l + WORDS`, ...) and
    /// compares the sum.
    #[inline(always)]
    fn take(&mut self, lanes: [u64; 4]) {
        let mut count: [u64; WORDS] = std::array::from_fn(|word| lanes[word]);
        for lane in WORDS..4 {
            let (a, b, c) = (count[lane % WORDS], lanes[lane], self.carries[lane - WORDS]);
            count[lane % WORDS] = a ^ b ^ c;
            self.carries[lane - WORDS] = a & b | (a ^ b) & c;
        }
        for (above, count) in self.above.iter_mut().zip(count) {
            *above = if self.threshold & 1 == 1 { *above & count } else { *above | count };
        }
        self.threshold >>= 1;
    }

    /// Whether further planes may change the result, even if they are zero.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.threshold != 0 || self.carries != [0; 3]
    }
}
