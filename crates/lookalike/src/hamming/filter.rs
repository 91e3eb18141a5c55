//! Which items of a bucket may be near each other, judged by 32 bits of each?
//!
//! A [`Filter`] passes every pair whose 32 check bits differ little enough, and some others: it
//! never loses a pair. What it passes is verified elsewhere.

use super::Kernel;

/// A cheap test on the xor of two 32-bit checks. Passes all it must; may pass more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// At most this many (0 to 3) of the bits in `mask` differ: exactly.
    Few { mask: u32, most: u32 },
    /// At most 3 of all 32 bits differ. Then one of the two 16-bit halves has at most one, and
    /// that is all that is tested: a third of the work, and passes 1 in 2,000 at random.
    Halves,
    /// At most this many of the bits in `mask` differ: exactly, by counting.
    Count { mask: u32, most: u32 },
}

/// Elements that must follow the last check of a slice, so that vectors can be loaded past the end.
pub(crate) const PADDING: usize = 8;

impl Filter {
    /// The cheapest filter that passes every pair with at most `most` differing bits in `mask`.
    pub fn new(mask: u32, most: u32) -> Self {
        match most {
            2..=3 if mask.count_ones() >= 28 => Self::Halves,
            0..=3 => Self::Few { mask, most },
            _ => Self::Count { mask, most },
        }
    }

    /// What testing a random pair costs, in vector instructions per eight pairs, the handling of
    /// those that pass included.
    pub fn cost(self) -> f64 {
        /// Leaving the loop for a pair that passes: a mispredicted branch and some scalar work.
        const REPORT: f64 = 150.0;
        let (test, chance) = match self {
            Self::Few { mask, most } => (5 + 2 * most, chance_of_few(mask.count_ones(), most)),
            Self::Halves => (6, 2.0 * chance_of_few(16, 1)),
            Self::Count { mask, most } => (14, chance_of_few(mask.count_ones(), most)),
        };
        f64::from(test) + 8.0 * chance * REPORT
    }

    /// The definition: whether a pair with this xor passes.
    #[inline]
    pub fn passes(self, xor: u32) -> bool {
        match self {
            Self::Few { mask, most } | Self::Count { mask, most } => {
                (xor & mask).count_ones() <= most
            }
            Self::Halves => (xor & 0xffff).count_ones() <= 1 || (xor >> 16).count_ones() <= 1,
        }
    }

    /// Tests all pairs inside each bucket; appends the positions of those that pass.
    ///
    /// Bucket `i` is `checks[ends[i - 1]..ends[i]]` (from `first` for the first one); buckets of
    /// more than `largest` items are left out. `checks` must go on for [`PADDING`] elements.
    pub fn buckets(
        self,
        kernel: Kernel,
        checks: &[u32],
        first: u32,
        ends: &[u32],
        largest: u32,
        passed: &mut Vec<(u32, u32)>,
    ) {
        assert!(ends.last().is_none_or(|&end| end as usize + PADDING <= checks.len()));
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => {
                super::avx2::buckets(self, checks, first, ends, largest, passed)
            }
            _ => self.buckets_portable(checks, first, ends, largest, passed),
        }
    }

    fn buckets_portable(
        self,
        checks: &[u32],
        first: u32,
        ends: &[u32],
        largest: u32,
        passed: &mut Vec<(u32, u32)>,
    ) {
        let mut start = first;
        for &end in ends {
            if end - start <= largest {
                for i in start..end {
                    let check = checks[i as usize];
                    let others = &checks[i as usize + 1..end as usize];
                    let near =
                        (i + 1..).zip(others).filter(|(_, other)| self.passes(check ^ **other));
                    passed.extend(near.map(|(j, _)| (i, j)));
                }
            }
            start = end;
        }
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
