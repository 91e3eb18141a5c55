//! The weight that two sets share.
//!
//! Both sets are sorted. A block of one is compared with a block of the other, every lane with every
//! lane. The block that ends first is then replaced by its successor.

use crate::{
    hamming::{
        Kernel,
        lanes::{Lanes, Task},
    },
    verify::TWICE,
};

/// The number of features compared at a time.
const BLOCK: usize = 8;

/// The number of steps between checks whether the sets can still share enough.
const STEPS: usize = 24;

/// The weight that two ascending sets share; `None` if it is certainly less than `needed`.
pub(super) fn weight(one: &[u32], two: &[u32], needed: u64, kernel: Kernel) -> Option<u64> {
    kernel.run(Common { one, two, needed })
}

struct Common<'a> {
    one: &'a [u32],
    two: &'a [u32],
    needed: u64,
}

impl Task for Common<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) -> Option<u64> {
        let (mut i, mut j, mut common) = (0, 0, 0);
        loop {
            let most = 2 * (self.one.len() - i).min(self.two.len() - j) as u64;
            if common + most < self.needed {
                return None;
            }
            let mut sums = [0u32; BLOCK];
            let mut steps = 0;
            while steps < STEPS
                && let (Some(a), Some(b)) = (block(self.one, i), block(self.two, j))
            {
                add_shared(a, b, &mut sums);
                let (last_a, last_b) = (a[BLOCK - 1], b[BLOCK - 1]);
                i += if last_a <= last_b { BLOCK } else { 0 };
                j += if last_b <= last_a { BLOCK } else { 0 };
                steps += 1;
            }
            common += u64::from(sums.iter().sum::<u32>());
            if steps < STEPS {
                return Some(common + merge(&self.one[i..], &self.two[j..]));
            }
        }
    }
}

#[inline(always)]
fn block(set: &[u32], at: usize) -> Option<&[u32; BLOCK]> {
    set.get(at..)?.first_chunk()
}

/// Adds, lane by lane, the weight of each feature of `a` that occurs in `b`.
#[inline(always)]
fn add_shared(a: &[u32; BLOCK], b: &[u32; BLOCK], sums: &mut [u32; BLOCK]) {
    let mut found = [0u32; BLOCK];
    for &feature in b {
        for (found, &other) in found.iter_mut().zip(a) {
            *found |= if other == feature { u32::MAX } else { 0 };
        }
    }
    for ((sum, &feature), found) in sums.iter_mut().zip(a).zip(found) {
        *sum += (1 + (feature & TWICE)) & found;
    }
}

/// The rest that does not fill blocks, one by one.
#[inline(always)]
fn merge(one: &[u32], two: &[u32]) -> u64 {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < one.len() && j < two.len() {
        let (a, b) = (one[i], two[j]);
        common += if a == b { u64::from(1 + (a & TWICE)) } else { 0 };
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    common
}
