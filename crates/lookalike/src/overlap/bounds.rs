//! How much must two sets share to be alike?
//!
//! Everything here is in integers and comes from the function that reports the similarity: a bound
//! that is off by one, or rounded another way, would lose a pair that is exactly at the threshold.

use crate::verify::{Measure, Similarity};

/// Integer bounds for one measure and one threshold.
///
/// `a` and `b` are the weights of two sets, `common` is the weight of what they share. Similarity
/// grows with `common` and rounding is monotone, so two sets are alike if and only if they share at
/// least [`need`](Self::need).
pub(crate) struct Bounds {
    measure: Measure,
    least: Similarity,
    /// By size (what `need` depends on): what must be shared at least.
    needs: Vec<u32>,
    /// By shared weight: the largest size that needs no more than this.
    sizes: Vec<u32>,
}

/// Sizes and weights that are looked up; beyond, they are computed.
const TABLE: usize = if cfg!(test) { 1 << 8 } else { 1 << 15 };

impl Bounds {
    pub fn new(measure: Measure, least: Similarity) -> Self {
        let mut bounds = Self { measure, least, needs: Vec::new(), sizes: Vec::new() };
        bounds.needs = (0..TABLE as u64).map(|size| measure.need(least, size) as u32).collect();
        bounds.sizes = (0..TABLE as u64)
            .map(|common| u32::try_from(bounds.compute_largest(common)).unwrap_or(u32::MAX))
            .collect();
        bounds
    }

    /// Whether even sets that share nothing are alike.
    pub fn is_everything(&self) -> bool {
        self.least.get() == 0.0
    }

    /// The least weight that sets of weight `a` and `b` share if they are alike. It may be more than
    /// either of them has.
    #[inline]
    pub fn need(&self, a: u32, b: u32) -> u64 {
        self.need_of_size(self.measure.size(a.into(), b.into()))
    }

    /// The least weight of a partner that is not heavier than an item of weight `a`.
    pub fn lightest_partner(&self, a: u32) -> u32 {
        match self.measure {
            Measure::Containment => 1,
            // A lighter partner is all that the two can share.
            Measure::Jaccard | Measure::Mixed => {
                let guess = (f64::from(self.least.get()) * f64::from(a)) as u32;
                let fits = |b: u32| self.need(a, b) <= u64::from(b);
                let mut partner = guess.min(a);
                while partner > 0 && fits(partner - 1) {
                    partner -= 1;
                }
                while partner < a && !fits(partner) {
                    partner += 1;
                }
                partner
            }
        }
    }

    /// What a set of weight `a` shares at least with any partner.
    pub fn least_common(&self, a: u32) -> u64 {
        match self.measure {
            Measure::Containment => 1,
            Measure::Jaccard | Measure::Mixed => u64::from(self.lightest_partner(a)),
        }
    }

    /// What a set of weight `a` shares at least with a partner that is not lighter.
    pub fn least_common_with_heavier(&self, a: u32) -> u64 {
        self.need(a, a)
    }

    /// The largest weight of a partner, if the weight of a set from the first common feature on is
    /// `rest`: that is the most the two can share. `a` is the weight of the whole set.
    #[inline]
    pub fn heaviest_partner(&self, a: u32, rest: u32) -> u32 {
        let size = self.largest_size(rest);
        match self.measure {
            // Only the lighter one of the two counts.
            Measure::Containment if size >= a => u32::MAX,
            Measure::Containment => size,
            Measure::Jaccard | Measure::Mixed => size.saturating_sub(a),
        }
    }

    #[inline]
    fn need_of_size(&self, size: u64) -> u64 {
        match self.needs.get(size as usize) {
            Some(&need) => need.into(),
            None => self.measure.need(self.least, size),
        }
    }

    #[inline]
    fn largest_size(&self, common: u32) -> u32 {
        match self.sizes.get(common as usize) {
            Some(&size) => size,
            None => {
                let size = self.compute_largest(common.into());
                u32::try_from(size).unwrap_or(u32::MAX)
            }
        }
    }

    fn compute_largest(&self, common: u64) -> u64 {
        let least = f64::from(self.least.get());
        let guess = match self.measure {
            Measure::Containment => common as f64 / least,
            Measure::Jaccard | Measure::Mixed => (1.0 + least) / least * common as f64,
        };
        // No size is larger than this.
        let most = 2 * u64::from(u32::MAX);
        if self.is_everything() {
            return most;
        }
        let mut size = (guess as u64).min(most);
        while size > 0 && self.measure.need(self.least, size) > common {
            size -= 1;
        }
        while size < most && self.measure.need(self.least, size + 1) <= common {
            size += 1;
        }
        size
    }
}
