//! Verifies candidate pairs by their whole fingerprints.

use super::{Pair, join::FoundPairs};
use crate::{
    Fingerprint,
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
};

/// Pairs of items whose records do not rule them out.
#[derive(Default)]
pub(super) struct Candidates(Vec<(u32, u32)>);

impl Candidates {
    #[inline]
    pub fn push(&mut self, one: u32, two: u32) {
        self.0.push((one, two));
    }

    /// Moves the pairs within the radius that `owned` accepts to `found`, and drops the others.
    pub fn verify<const WORDS: usize>(
        &mut self,
        kernel: Kernel,
        prints: &[Fingerprint<WORDS>],
        radius: u32,
        owned: impl Fn(&Fingerprint<WORDS>) -> bool,
        found: &mut FoundPairs,
    ) {
        kernel.run(Verify { candidates: &self.0, prints, radius, owned, found });
        self.0.clear();
    }
}

/// The loop of [`Candidates::verify`], which counts bits.
struct Verify<'a, const WORDS: usize, F> {
    candidates: &'a [(u32, u32)],
    prints: &'a [Fingerprint<WORDS>],
    radius: u32,
    owned: F,
    found: &'a mut FoundPairs,
}

impl<const WORDS: usize, F: Fn(&Fingerprint<WORDS>) -> bool> Task for Verify<'_, WORDS, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        const AT_ONCE: usize = 32;
        let Self { candidates, prints, radius, owned, found } = self;
        let mut xors = [Fingerprint::ZERO; AT_ONCE];
        for candidates in candidates.chunks(AT_ONCE) {
            // Fingerprints are scattered in memory: a loop that only fetches them overlaps the cache misses.
            for (xor, &(one, two)) in xors.iter_mut().zip(candidates) {
                *xor = prints[one as usize].xor(&prints[two as usize]);
            }
            for (&(one, two), xor) in candidates.iter().zip(&xors) {
                let distance = xor.ones();
                if distance > radius || !owned(xor) {
                    continue;
                }
                match distance {
                    0 => found.equal.push((one.min(two), one.max(two))),
                    _ => found.near.push(Pair::new(one, two, distance)),
                }
            }
        }
    }
}
