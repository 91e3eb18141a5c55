//! Finds near-duplicates.

pub mod extract;
pub mod features;
mod fingerprint;
pub mod hamming;
pub mod hash;
pub mod index;
pub mod pairs;
pub mod recipe;
pub mod simhash;
mod spelling;
#[cfg(test)]
mod vectors;

pub use extract::{ExtractError, Shingles, Unit};
pub use features::{Feature, Features, WeightError};
pub use fingerprint::{Fingerprint, FingerprintError, Radius, Width};
pub use hamming::Kernel;
pub use hash::{FeatureHash, HashError};
pub use index::{IndexError, LinearIndex, Match, MutableIndex, Search, StaticIndex};
pub use pairs::{AllPairs, Pair, Pairs, PairsError, Plan, all_pairs};
pub use recipe::{Preset, Recipe, RecipeError, Weighting};
pub use simhash::simhash;
