//! Which bits are set in more than half of the words?
//!
//! Counting is *bit-sliced*: plane `p` holds bit `p` of the counts of all bit positions, so one
//! full adder of five logical operations adds to 256 counters at once. This is the positional
//! population count of Klarqvist, Muła and Lemire (2019) on a Harley-Seal tree; the counts are
//! never unpacked, because the comparison with one half is bit-sliced as well.

/// Four 64-bit words that are combined bit by bit.
pub(super) trait Lanes: Copy {
    fn load(words: [u64; 4]) -> Self;
    fn store(self) -> [u64; 4];
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}

/// How many words the adder tree takes at once.
const BLOCK: usize = 64;

/// Enough planes to count every word that memory can hold.
const PLANES: usize = 64;

/// The bits set in more than half of `hashes`; `WORDS` divides 4.
#[inline(always)]
pub(super) fn majority<L: Lanes, const WORDS: usize>(hashes: &[[u64; WORDS]]) -> [u64; WORDS] {
    let (blocks, tail) = hashes.as_flattened().as_chunks::<BLOCK>();
    let mut counter = Counter::<L>::new();
    for block in blocks {
        counter.add(block);
    }
    if !tail.is_empty() {
        // Zero words add nothing to the count of any bit.
        let mut block = [0; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        counter.add(&block);
    }
    counter.above::<WORDS>(hashes.len() as u64 / 2)
}

/// 256 counters: lane `l` counts words `l`, `l + 4`, `l + 8`, ...
struct Counter<L> {
    planes: [L; PLANES],
    /// Planes from here on are zero.
    depth: usize,
}

impl<L: Lanes> Counter<L> {
    #[inline(always)]
    fn new() -> Self {
        Self { planes: [L::load([0; 4]); PLANES], depth: 4 }
    }

    #[inline(always)]
    fn add(&mut self, block: &[u64; BLOCK]) {
        let (lanes, _) = block.as_chunks::<4>();
        let mut carry = self.sixteen(lanes);
        let mut level = 4;
        while !carry.is_zero() {
            let plane = self.planes[level];
            self.planes[level] = plane.xor(carry);
            carry = plane.and(carry);
            level += 1;
        }
        self.depth = self.depth.max(level);
    }

    /// Adds 16 lanes; what is returned counts sixteen times.
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

    /// Adds two lanes to the plane `level`; what is returned counts for the plane above.
    #[inline(always)]
    fn carry(&mut self, level: usize, a: L, b: L) -> L {
        let c = self.planes[level];
        let half = a.xor(b);
        self.planes[level] = half.xor(c);
        a.and(b).or(half.and(c))
    }

    /// The bits of each word that were counted more than `threshold` times.
    #[inline(always)]
    fn above<const WORDS: usize>(&self, threshold: u64) -> [u64; WORDS] {
        let mut above = [0; WORDS];
        let mut carries = [[0; 4]; 3];
        let depth = self.depth + 2;
        for level in 0..depth.max(64 - threshold.leading_zeros() as usize) {
            let lanes = self.planes.get(level).map_or([0; 4], |plane| plane.store());
            let count: [u64; WORDS] = fold(lanes, &mut carries);
            for (above, count) in above.iter_mut().zip(count) {
                *above = if threshold >> level & 1 == 1 { *above & count } else { *above | count };
            }
        }
        above
    }
}

/// One plane of the sums of the lanes that count the same word (`l`, `l + WORDS`, ...).
#[inline(always)]
fn fold<const WORDS: usize>(lanes: [u64; 4], carries: &mut [[u64; 4]; 3]) -> [u64; WORDS] {
    let mut sums: [u64; WORDS] = std::array::from_fn(|word| lanes[word]);
    for lane in WORDS..4 {
        let (word, carry) = (lane % WORDS, &mut carries[lane / WORDS - 1]);
        let half = sums[word] ^ lanes[lane];
        let carried = sums[word] & lanes[lane] | half & carry[word];
        sums[word] = half ^ carry[word];
        carry[word] = carried;
    }
    sums
}
