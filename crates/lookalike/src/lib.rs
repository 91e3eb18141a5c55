//! Finds near-duplicates.

mod fingerprint;
pub mod hamming;
pub mod pairs;

pub use fingerprint::{Fingerprint, FingerprintError, Radius, Width};
pub use hamming::Kernel;
pub use pairs::{AllPairs, Pair, Pairs, PairsError, Plan, all_pairs};
