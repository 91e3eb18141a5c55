//! Finds near-duplicates.

pub mod features;
mod fingerprint;
pub mod hamming;
pub mod hash;
pub mod pairs;
pub mod simhash;
mod spelling;

pub use features::{Feature, Features, WeightError};
pub use fingerprint::{Fingerprint, FingerprintError, Radius, Width};
pub use hamming::Kernel;
pub use hash::{FeatureHash, HashError};
pub use pairs::{AllPairs, Pair, Pairs, PairsError, Plan, all_pairs};
pub use simhash::simhash;
