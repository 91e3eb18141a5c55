//! How are many distances computed at once?
//!
//! [`Kernel`] names the instruction set; it is chosen once, before a batch. Every kernel has a
//! portable twin with the same answer. Nothing here knows what the bits mean.

#[cfg(target_arch = "x86_64")]
mod avx2;
pub(crate) mod bits;
pub(crate) mod filter;
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_avx2;
mod prefetch;
pub(crate) mod scan;
pub(crate) mod slots;
#[cfg(target_arch = "x86_64")]
mod slots_avx2;

pub(crate) use prefetch::prefetch;

/// The instructions a loop may use. Chosen once per batch; the answer never depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain Rust, on every machine.
    Portable,
    /// AVX2, BMI1, BMI2 and POPCNT on x86-64.
    Avx2,
}

impl Kernel {
    /// The fastest kernel this machine can run.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// Every kernel this machine can run, the portable one first.
    pub fn available() -> Vec<Self> {
        match Self::detect() {
            Self::Portable => vec![Self::Portable],
            fastest => vec![Self::Portable, fastest],
        }
    }

    /// Whether AVX2 code may run: asked for, and there. Anyone can name a kernel, so every call into
    /// one asks this first.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn is_avx2(self) -> bool {
        self == Self::Avx2 && Self::detect() == Self::Avx2
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
        }
    }
}
