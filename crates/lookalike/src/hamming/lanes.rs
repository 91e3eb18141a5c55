//! How is a loop written once and compiled for every kernel?
//!
//! A [`Task`] is a loop over [`Lanes`], the few operations that differ between instruction sets.
//! [`Kernel::run`] compiles the whole loop, callbacks included, with the instructions of the kernel.

use super::{Kernel, bits::Gather, filter::Filter};

/// How many checks [`Lanes::near`] looks at.
pub(crate) const LANES: usize = 8;

/// How many checks [`Lanes::near_narrow`] looks at.
pub(crate) const NARROW_LANES: usize = 16;

/// How many checks [`Lanes::near_block`] looks at.
pub(crate) const BLOCK: usize = 64;

/// What the kernels do differently. A value of this type is the proof that they may.
pub(crate) trait Lanes: Copy {
    /// Brings the bits of `word` that `gather` names together.
    fn gather(self, gather: &Gather, word: u64) -> u64;

    /// Bit `i` is set if check `i` passes `filter` against `query`.
    fn near(self, filter: Filter, query: u32, checks: &[u32; LANES]) -> u32;

    /// Bit `i` is set if check `i` differs from `query` in at most `most` bits.
    fn near_narrow(self, most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32;

    /// The same for many checks in a row, of which hardly any differ in so few bits.
    fn near_block(self, most: u32, query: u16, checks: &[u16; BLOCK]) -> u64;
}

/// A loop to be compiled for each kernel. `run` and what it calls often must be inlined always:
/// only code that ends up inside the kernel's own function is compiled with its instructions.
pub(crate) trait Task {
    type Output;

    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

impl Kernel {
    /// Runs `task` with this kernel's instructions.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(lanes) => lanes.run(task),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(lanes) => lanes.run(task),
            _ => task.run(Portable),
        }
    }
}

/// Plain Rust: the definition.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn gather(self, gather: &Gather, word: u64) -> u64 {
        gather.apply(word)
    }

    #[inline(always)]
    fn near(self, filter: Filter, query: u32, checks: &[u32; LANES]) -> u32 {
        let passes = checks.iter().map(|check| u32::from(filter.passes(query ^ check)));
        passes.enumerate().fold(0, |near, (lane, pass)| near | pass << lane)
    }

    #[inline(always)]
    fn near_narrow(self, most: u32, query: u16, checks: &[u16; NARROW_LANES]) -> u32 {
        let passes = checks.iter().map(|check| u32::from((query ^ check).count_ones() <= most));
        passes.enumerate().fold(0, |near, (lane, pass)| near | pass << lane)
    }

    #[inline(always)]
    fn near_block(self, most: u32, query: u16, checks: &[u16; BLOCK]) -> u64 {
        let passes = checks.iter().map(|check| u64::from((query ^ check).count_ones() <= most));
        passes.enumerate().fold(0, |near, (lane, pass)| near | pass << lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy)]
    struct All {
        filter: Filter,
        most: u32,
        query: u32,
        checks: [u32; LANES],
        block: [u16; BLOCK],
        gather: Gather,
        word: u64,
    }

    impl Task for All {
        type Output = (u32, u32, u64, u64);

        fn run<L: Lanes>(self, lanes: L) -> (u32, u32, u64, u64) {
            let near = lanes.near(self.filter, self.query, &self.checks);
            let narrow = bytemuck::cast_ref(&self.checks);
            let near_narrow = lanes.near_narrow(self.most, self.query as u16, narrow);
            let near_block = lanes.near_block(self.most, self.query as u16, &self.block);
            (near, near_narrow, near_block, lanes.gather(&self.gather, self.word))
        }
    }

    proptest! {
        #[test]
        fn every_kernel_gathers_and_filters_alike(
            query: u32, errors: [u32; LANES], telling in 0u32..33, most in 0u32..34, word: u64, bits: u64,
            strangers: [u16; BLOCK], seldom: bool,
        ) {
            // Xors of few bits, so that some pass.
            let checks = errors.map(|error| query ^ error & error.rotate_left(7) & error.rotate_left(13));
            let block = strangers.map(|error| {
                query as u16 ^ if seldom { error } else { error & error.rotate_left(5) & error.rotate_left(9) }
            });
            for filter in [Filter::new(telling, most), Filter::exact(most), Filter::Halves] {
                let task = All { filter, most, query, checks, block, gather: Gather::new(bits), word };
                let answers: Vec<_> = Kernel::available().into_iter().map(|kernel| kernel.run(task)).collect();
                prop_assert!(answers.iter().all(|answer| *answer == task.run(Portable)), "{filter:?}");
            }
        }
    }
}
