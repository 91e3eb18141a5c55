//! Which items of a bucket may be near each other, judged by 32 bits of each?
//!
//! A [`Filter`] passes every pair whose 32 check bits differ little enough, and some others: it
//! never loses a pair. What it passes is verified elsewhere.

use super::Kernel;

/// A cheap test on the xor of two 32-bit checks, which hold bits that tell and no others. Passes all
/// it must; may pass more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// At most this many bits (0 to 3) differ: exactly.
    Few { most: u32 },
    /// At most 3 bits differ. Then one of the two 16-bit halves has at most one, and that is all that
    /// is tested: half of the work, and passes 1 in 2,000 at random.
    Halves,
    /// At most this many bits differ: exactly, by counting.
    Count { most: u32 },
}

/// Words whose bits decide whether a pair may really be near, and whether it is to be reported here.
#[derive(Clone, Copy)]
pub(crate) struct Digests<'a> {
    pub words: &'a [u64],
    /// In these bits items of one bucket agree, and of two do not.
    pub same: u64,
    /// At most `lane_most` of these bits may differ,
    pub lane: u64,
    pub lane_most: u32,
    /// and at most `most` of these.
    pub all: u64,
    pub most: u32,
    /// A pair that one of these holds is reported elsewhere.
    pub rivals: &'a [Rival],
}

/// Another place at which a pair is found: if at most `most` of these bits differ.
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

    /// Of the bits of the lane and of all, those by which fewer strangers pass, and how many of them may
    /// differ: within a wide radius, all that are here tell nothing.
    #[cfg(target_arch = "x86_64")]
    pub fn telling(&self) -> (u64, u32) {
        let chance = |bits: u64, most: u32| chance_of_few((bits & !self.same).count_ones(), most);
        if chance(self.lane, self.lane_most) < chance(self.all, self.most) {
            (self.lane, self.lane_most)
        } else {
            (self.all, self.most)
        }
    }

    #[inline(always)]
    fn near(&self, xor: u64) -> bool {
        // Not one after the other: what comes next does not wait for a guess.
        (xor & self.same == 0)
            & ((xor & self.all).count_ones() <= self.most)
            & ((xor & self.lane).count_ones() <= self.lane_most)
    }

    #[inline(always)]
    fn report_here(&self, xor: u64) -> bool {
        let found_there = |rival: &Rival| (xor & rival.bits).count_ones() <= rival.most;
        !self.rivals.iter().fold(false, |any, rival| any | found_there(rival))
    }
}

/// Pairs of words that passed.
#[derive(Default)]
pub(crate) struct Passed {
    pub pairs: Vec<[u64; 2]>,
    /// How often a filter looked closer in vain; counted by kernels that read checks.
    pub wasted: u64,
}

impl Passed {
    /// Looks closer at the words of what has passed a filter.
    #[inline(always)]
    pub fn look(&mut self, digests: &Digests<'_>, hits: impl ExactSizeIterator<Item = [u64; 2]>) {
        let mut kept = self.pairs.len();
        self.pairs.resize(kept + hits.len(), [0; 2]);
        for pair in hits {
            let xor = pair[0] ^ pair[1];
            let near = digests.near(xor);
            self.wasted += u64::from(!near);
            // Every second hit is a pair where data are uneven: it is written either way.
            self.pairs[kept] = pair;
            kept += usize::from(near & digests.report_here(xor));
        }
        self.pairs.truncate(kept);
    }
}

/// Elements that must follow the last of a slice, so that vectors can be loaded past the end.
pub(crate) const PADDING: usize = 32;

impl Filter {
    /// The cheapest filter that passes every pair with at most `most` differing bits, if so many `bits`
    /// of a check may differ.
    pub fn new(bits: u32, most: u32) -> Self {
        match most {
            2..=3 if bits >= 28 => Self::Halves,
            _ => Self::exact(most),
        }
    }

    /// The filter that passes those pairs and no others.
    pub fn exact(most: u32) -> Self {
        if most <= 3 { Self::Few { most } } else { Self::Count { most } }
    }

    /// What the [`new`](Self::new) filter costs if so many bits of an item are random, of which a check
    /// holds up to 32: in vector instructions per eight pairs, the handling of those that pass included.
    pub fn cost(bits: u32, most: u32) -> f64 {
        /// Leaving the loop for a pair that passes: a mispredicted branch and some scalar work.
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

    /// Whether this kernel looks at checks, and then at words. One that counts bits fast begins with
    /// the words.
    pub fn reads_checks(kernel: Kernel) -> bool {
        !matches!(kernel, Kernel::Avx512(_))
    }

    /// Tests all pairs inside each bucket; appends the words of those that pass and are near. The
    /// filter must pass all that are.
    ///
    /// Bucket `i` is `ends[i - 1]..ends[i]`; buckets of more than `largest` items are left out. Words
    /// must go on for [`PADDING`] elements, and so must checks if the kernel
    /// [reads](Self::reads_checks) them.
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

/// Whether vectors may be loaded from inside every bucket of a slice of this length.
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

/// The chance that at most `most` of `bits` fair coins show heads.
pub(crate) fn chance_of_few(bits: u32, most: u32) -> f64 {
    let mut term = 0.5f64.powi(bits as i32);
    let mut sum = 0.0;
    for heads in 0..=most.min(bits) {
        sum += term;
        term *= f64::from(bits - heads) / f64::from(heads + 1);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    /// A word: where it lies, bits that tell, and its bucket.
    fn word(at: usize, telling: u32, bucket: usize) -> u64 {
        at as u64 | u64::from(telling) << 16 | (bucket as u64) << 48
    }

    proptest! {
        #[test]
        fn every_kernel_passes_the_near_pairs_of_each_bucket_and_no_others(
            sizes in prop_oneof![vec(0u32..12, 1..90), vec(0u32..90, 1..20)],
            errors in vec(any::<[u32; 3]>(), 1..50),
            lane: u32, rival: u32, most in 0u32..7, lane_most in 0u32..4, largest in 1u32..120,
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
            // What follows the last bucket looks as if it were in it.
            let last = words.last().copied().unwrap_or(0);
            let words = [words, vec![last; PADDING]].concat();
            let checks = [checks, vec![(last >> 16) as u32; PADDING]].concat();
            let rivals = [Rival { bits: u64::from(rival) << 16, most: 0 }];
            let digests = Digests {
                words: &words,
                same: 0xffff << 48,
                lane: u64::from(lane) << 16,
                lane_most,
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
