//! Finds near-duplicates.

mod fingerprint;

pub use fingerprint::{Fingerprint, FingerprintError, Radius, Width};
