//! Rejects most pairs of a bucket by 32 bits of each item.
//!
//! A [`Filter`] passes every pair whose 32 check bits differ in few enough positions, and some others: it
//! never rejects a pair within the radius. What passes is verified elsewhere.

use super::Kernel;

/// A cheap test on the xor of two 32-bit checks, whose uninformative bits are zero. It never rejects a pair
/// that must pass, and may pass others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Passes exactly the pairs with at most this many differing bits (0 to 3).
    Few { most: u32 },
    /// For at most 3 differing bits. One of the two 16-bit halves then has at most one, and only that is
    /// tested: half the work; passes 1 random pair in 2,000.
    Halves,
    /// Passes exactly the pairs with at most this many differing bits, by counting them.
    Count { most: u32 },
}

/// Words whose bits decide whether a pair may be near, and whether it is reported here.
#[derive(Clone, Copy)]
pub(crate) struct Digests<'a> {
    pub words: &'a [u64],
    /// Items of one bucket agree in these bits; items of different buckets do not.
    pub same: u64,
    /// At most `max_in_lane` of these bits may differ.
    pub lane: u64,
    pub max_in_lane: u32,
    /// At most `most` of these bits may differ.
    pub all: u64,
    pub most: u32,
    /// Pairs that one of these applies to are reported elsewhere.
    pub rivals: &'a [Rival],
}

/// Another path that finds and reports a pair: one with at most `most` differing bits among `bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub bits: u64,
    pub most: u32,
}

impl Digests<'_> {
    /// The words at two positions.
    #[inline(always)]
    pub fn pair(&self, i: u32, j: u32) -> [u64; 2] {
        [self.words[i as usize], self.words[j as usize]]
    }

    /// Either the bits of the lane or all bits, whichever passes fewer unrelated pairs, and how many of them
    /// may differ. Within a wide radius, the bits of a record together say nothing.
    #[cfg(target_arch = "x86_64")]
    pub fn informative(&self) -> (u64, u32) {
        let chance = |bits: u64, most: u32| chance_of_few((bits & !self.same).count_ones(), most);
        if chance(self.lane, self.max_in_lane) < chance(self.all, self.most) {
            (self.lane, self.max_in_lane)
        } else {
            (self.all, self.most)
        }
    }

    #[inline(always)]
    fn near(&self, xor: u64) -> bool {
        // `&` instead of `&&`: no branch to mispredict.
        (xor & self.same == 0)
            & ((xor & self.all).count_ones() <= self.most)
            & ((xor & self.lane).count_ones() <= self.max_in_lane)
    }

    #[inline(always)]
    fn report_here(&self, xor: u64) -> bool {
        let found_there = |rival: &Rival| (xor & rival.bits).count_ones() <= rival.most;
        !self.rivals.iter().fold(false, |any, rival| any | found_there(rival))
    }
}

/// Pairs of words that passed a filter.
#[derive(Default)]
pub(crate) struct Passed {
    pub pairs: Vec<[u64; 2]>,
    /// How many pairs passed the checks but not the words. Counted by kernels that read checks.
    pub wasted: u64,
}

impl Passed {
    /// Tests the words of pairs that passed a filter.
    #[inline(always)]
    pub fn look(&mut self, digests: &Digests<'_>, hits: impl ExactSizeIterator<Item = [u64; 2]>) {
        let mut kept = self.pairs.len();
        self.pairs.resize(kept + hits.len(), [0; 2]);
        for pair in hits {
            let xor = pair[0] ^ pair[1];
            let near = digests.near(xor);
            self.wasted += u64::from(!near);
            // In skewed data every second hit is a pair, which no branch predictor guesses: write it
            // anyway, and keep it if it counts.
            self.pairs[kept] = pair;
            kept += usize::from(near & digests.report_here(xor));
        }
        self.pairs.truncate(kept);
    }
}

/// Elements that must follow the last one of a slice, so that vectors can be loaded past the end.
pub(crate) const PADDING: usize = 32;

impl Filter {
    /// The cheapest filter that passes every pair with at most `most` differing bits, for checks with `bits`
    /// informative bits.
    pub fn new(bits: u32, most: u32) -> Self {
        match most {
            2..=3 if bits >= 28 => Self::Halves,
            _ => Self::exact(most),
        }
    }

    /// The filter that passes exactly the pairs with at most `most` differing bits.
    pub fn exact(most: u32) -> Self {
        if most <= 3 { Self::Few { most } } else { Self::Count { most } }
    }

    /// The cost of the [`new`](Self::new) filter for items with `bits` random bits, of which a check holds up
    /// to 32: vector instructions per eight pairs, including the handling of pairs that pass.
    pub fn cost(bits: u32, most: u32) -> f64 {
        /// A pair that passes: one mispredicted branch and some scalar work.
        const REPORT: f64 = 150.0;
        let bits = bits.min(32);
        let (test, chance) = match Self::new(bits, most) {
            Self::Few { most } => (4 + 2 * most, chance_of_few(bits, most)),
            Self::Halves => (6, 2.0 * chance_of_few(16, 1)),
            Self::Count { most } => (13, chance_of_few(bits, most)),
        };
        f64::from(test) + 8.0 * chance * REPORT
    }

    /// The definition: whether a pair with this xor passes.
    #[inline]
    pub fn passes(self, xor: u32) -> bool {
        match self {
            Self::Few { most } | Self::Count { most } => xor.count_ones() <= most,
            Self::Halves => (xor & 0xffff).count_ones() <= 1 || (xor >> 16).count_ones() <= 1,
        }
    }

    /// Whether this kernel tests checks before words. A kernel that counts bits in one instruction starts with
    /// the words.
    pub fn reads_checks(kernel: Kernel) -> bool {
        !matches!(kernel, Kernel::Avx512(_))
    }

    /// Tests all pairs inside each bucket and appends the words of those that may be near. The filter must
    /// pass all of them.
    ///
    /// Bucket `i` is `ends[i - 1]..ends[i]`; buckets of more than `largest` items are skipped. [`PADDING`]
    /// elements must follow the last word, and the last check if the kernel [reads](Self::reads_checks)
    /// checks.
    pub fn buckets(
        self,
        kernel: Kernel,
        checks: &[u32],
        ends: &[u32],
        largest: u32,
        digests: Digests<'_>,
        passed: &mut Passed,
    ) {
        assert!(fits(ends, digests.words.len()));
        assert!(fits(ends, checks.len()) || !Self::reads_checks(kernel));
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(avx512) => {
                super::avx512::buckets(avx512, ends, largest, digests, passed)
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(avx2) => {
                super::avx2::buckets(avx2, self, checks, ends, largest, digests, passed)
            }
            _ => self.buckets_portable(checks, ends, largest, digests, passed),
        }
    }

    fn buckets_portable(
        self,
        checks: &[u32],
        ends: &[u32],
        largest: u32,
        digests: Digests<'_>,
        passed: &mut Passed,
    ) {
        for_each_pair(ends, largest, |i, j| {
            if self.passes(checks[i as usize] ^ checks[j as usize]) {
                passed.look(&digests, [digests.pair(i, j)].into_iter());
            }
        });
    }
}

/// Whether vectors can be loaded from anywhere in the buckets of a slice of this length.
fn fits(ends: &[u32], length: usize) -> bool {
    ends.is_sorted() && ends.last().is_none_or(|&end| end as usize + PADDING <= length)
}

/// Visits all pairs inside each bucket of up to `largest` items.
fn for_each_pair(ends: &[u32], largest: u32, mut visit: impl FnMut(u32, u32)) {
    let mut start = 0;
    for &end in ends {
        if end - start <= largest {
            (start..end).for_each(|i| (i + 1..end).for_each(|j| visit(i, j)));
        }
        start = end;
    }
}

/// The probability that at most `most` of `bits` random bits are set.
pub(crate) fn chance_of_few(bits: u32, most: u32) -> f64 {
    let mut term = 0.5f64.powi(bits as i32);
    let mut sum = 0.0;
    for ones in 0..=most.min(bits) {
        sum += term;
        term *= f64::from(bits - ones) / f64::from(ones + 1);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    /// A word: its position, its informative bits, and its bucket.
    fn word(at: usize, informative: u32, bucket: usize) -> u64 {
        at as u64 | u64::from(informative) << 16 | (bucket as u64) << 48
    }

    proptest! {
        #[test]
        fn every_kernel_passes_the_near_pairs_of_each_bucket_and_no_others(
            sizes in prop_oneof![vec(0u32..12, 1..90), vec(0u32..90, 1..20)],
            errors in vec(any::<[u32; 3]>(), 1..50),
            lane: u32, rival: u32, most in 0u32..7, max_in_lane in 0u32..4, largest in 1u32..120,
        ) {
            let mut words = Vec::new();
            let mut ends = Vec::new();
            for (bucket, &size) in sizes.iter().enumerate() {
                for _ in 0..size {
                    let [a, b, c] = errors[words.len() % errors.len()];
                    words.push(word(words.len(), a & b & c, bucket));
                }
                ends.push(words.len() as u32);
            }
            let all = u64::from(u32::MAX) << 16;
            let checks: Vec<u32> = words.iter().map(|word| (word >> 16) as u32).collect();
            // The padding looks like items of the last bucket.
            let last = words.last().copied().unwrap_or(0);
            let words = [words, vec![last; PADDING]].concat();
            let checks = [checks, vec![(last >> 16) as u32; PADDING]].concat();
            let rivals = [Rival { bits: u64::from(rival) << 16, most: 0 }];
            let digests = Digests {
                words: &words,
                same: 0xffff << 48,
                lane: u64::from(lane) << 16,
                max_in_lane,
                all,
                most,
                rivals: &rivals,
            };
            let mut expected = Vec::new();
            for_each_pair(&ends, largest, |i, j| {
                let pair = digests.pair(i, j);
                let xor = pair[0] ^ pair[1];
                if digests.near(xor) && digests.report_here(xor) {
                    expected.push(pair);
                }
            });
            expected.sort_unstable();
            for kernel in Kernel::available() {
                let checks = if Filter::reads_checks(kernel) { &*checks } else { &[] };
                for filter in [Filter::new(32, most), Filter::exact(most)] {
                    let mut passed = Passed::default();
                    filter.buckets(kernel, checks, &ends, largest, digests, &mut passed);
                    passed.pairs.sort_unstable();
                    prop_assert_eq!(&passed.pairs, &expected, "{:?} {:?}", kernel, filter);
                }
            }
        }
    }
}
