//! Finds all pairs of vectors with a large cosine, missing none.
//!
//! A [`Vector`] is a direction in 16-bit integers, and its cosine with another one is computed from them
//! in integers: that is the definition, the same on every machine. Candidates are found by a [`Filter`],
//! which computes a part of each dot product from 8-bit codes and bounds the rest. The filter cannot
//! refuse a pair above the threshold, so candidates that are verified are the exact answer.
//!
//! | file | what is there |
//! |---|---|
//! | `vector.rs` | [`Vector`], its byte form, and the cosine of two |
//! | `dot.rs` | the exact dot product of 16-bit integers |
//! | `basis.rs` | the directions that the first coordinates are measured along |
//! | `codes.rs` | 8-bit codes of coordinates, and the proof of the bound |
//! | `filter.rs` | the choice of the number of coordinates, and the portable kernel |
//! | `join.rs` | all candidates among vectors, or between two lists of them |
//! | `avx2.rs`, `vnni.rs` | vector kernels |
//!
//! # The data flow
//!
//! ```text
//! digests ─► Vector (i16) ─► coordinates (basis · vector) ─► Codes (i8) ─► candidates ─► the kind judges
//!               └── sample ─► Basis, depth ─────┘
//! ```
//!
//! Basis, depth and kernel decide how many candidates there are, never which pairs are found.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod basis;
mod codes;
mod dot;
mod filter;
mod join;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod vnni;

pub(crate) use codes::Codes;
#[cfg(feature = "collection")]
pub(crate) use codes::{Bound, PANEL, PanelBounds, PanelCodes, Panels, codes_at};
pub(crate) use dot::dot;
pub(crate) use filter::{Columns, Filter};
pub(crate) use join::{among, between};
pub(crate) use vector::{Flaw, MAX_DIMENSIONS, ONE, Vector, least, shown};
