//! How are many distances computed at once?
//!
//! [`Kernel`] names the instruction set; it is chosen once, before a batch. Every kernel has a
//! portable twin with the same answer. Nothing here knows what the bits mean.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod bits;
#[cfg(target_arch = "x86_64")]
mod columns;
pub(crate) mod filter;
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_avx2;
#[cfg(target_arch = "x86_64")]
mod lanes_avx512;
mod prefetch;
pub(crate) mod scan;

pub(crate) use prefetch::{prefetch, prefetch_to_write};

/// The instructions a loop may use. Chosen once per batch; the answer never depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain Rust, on every machine.
    Portable,
    /// AVX2, BMI1, BMI2 and POPCNT on x86-64.
    Avx2,
    /// The same, and AVX-512 with F, BW, VL, VPOPCNTDQ and BITALG.
    Avx512,
}

impl Kernel {
    /// Every kernel there is, each slower than those that follow.
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The fastest kernel this machine can run.
    pub fn detect() -> Self {
        Self::ALL.into_iter().rfind(|kernel| kernel.is_there()).unwrap_or(Self::Portable)
    }

    /// Every kernel this machine can run, the portable one first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|kernel| kernel.is_there()).collect()
    }

    /// Whether this machine can run it.
    #[inline]
    fn is_there(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_there()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && is_x86_feature_detected!("avx512bitalg")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Whether AVX2 code may run: asked for, or more than that, and there. Anyone can name a kernel, so
    /// every call into one asks this first.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn is_avx2(self) -> bool {
        self != Self::Portable && Self::Avx2.is_there()
    }

    /// Whether AVX-512 code may run: asked for, and there.
    #[inline]
    pub(crate) fn is_avx512(self) -> bool {
        self == Self::Avx512 && self.is_there()
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}
