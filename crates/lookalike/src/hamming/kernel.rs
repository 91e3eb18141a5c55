//! Which instructions may a loop use? What this machine has, and never more.

use std::fmt;

/// The instructions a loop may use. Chosen once per batch; the answer never depends on it.
///
/// A value names only what this machine can run: variants other than [`Portable`](Self::Portable) hold a
/// proof, which [`detect`](Self::detect) and [`available`](Self::available) alone can make.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain Rust, on every machine.
    Portable,
    /// AVX2, BMI1, BMI2 and POPCNT on x86-64.
    Avx2(Avx2),
    /// The same, and AVX-512 with F, BW, VL, VPOPCNTDQ and BITALG.
    Avx512(Avx512),
}

/// Proof that this machine has everything [`Kernel::Avx2`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Avx2(());

/// Proof that this machine has everything [`Kernel::Avx512`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Avx512(Avx2);

impl Kernel {
    /// The fastest kernel this machine can run.
    pub fn detect() -> Self {
        let avx2 = || Avx2::detect().map(Self::Avx2);
        Avx512::detect().map(Self::Avx512).or_else(avx2).unwrap_or(Self::Portable)
    }

    /// Every kernel this machine can run, the portable one first and the fastest last.
    pub fn available() -> Vec<Self> {
        let avx2 = Avx2::detect().map(Self::Avx2);
        let avx512 = Avx512::detect().map(Self::Avx512);
        std::iter::once(Self::Portable).chain(avx2).chain(avx512).collect()
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "avx2",
            Self::Avx512(_) => "avx512",
        }
    }

    /// The proof that AVX2 code may run, unless this kernel is portable.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn avx2(self) -> Option<Avx2> {
        match self {
            Self::Portable => None,
            Self::Avx2(avx2) | Self::Avx512(Avx512(avx2)) => Some(avx2),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Avx2 {
    #[inline]
    fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            return Some(Self(()));
        }
        None
    }
}

impl Avx512 {
    #[inline]
    fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("avx512bitalg")
        {
            return Avx2::detect().map(Self);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_kernel_is_the_last_of_those_available_and_names_differ() {
        let available = Kernel::available();
        assert_eq!(available.first(), Some(&Kernel::Portable));
        assert_eq!(available.last(), Some(&Kernel::detect()));
        let names: std::collections::BTreeSet<_> =
            available.iter().map(|kernel| kernel.name()).collect();
        assert_eq!(names.len(), available.len());
    }
}
