//! Finds all pairs of vectors with a large cosine, missing none.
//!
//! A [`Vector`] is a direction in 16-bit integers. The cosine of two vectors is defined by integer
//! arithmetic on these values, so it is the same on every machine. A [`Filter`] finds candidates: it
//! computes a part of each dot product from 8-bit codes and bounds the rest. It never refuses a pair
//! above the threshold, so the verified candidates are the exact answer.
//!
//! | file | contents |
//! |---|---|
//! | `vector.rs` | [`Vector`], its byte form, and the cosine of two |
//! | `dot.rs` | the exact dot product of 16-bit integers |
//! | `basis.rs` | the basis that coordinates are computed in |
//! | `codes.rs` | 8-bit codes of coordinates, and the proof of the bound |
//! | `filter.rs` | the choice of the number of coordinates, and the portable kernel |
//! | `join.rs` | all candidates within a list of vectors, or between two lists |
//! | `avx2.rs`, `vnni.rs` | vector kernels |
//!
//! # The data flow
//!
//! ```text
//! digests ─► Vector (i16) ─► coordinates (basis · vector) ─► Codes (i8) ─► candidates ─► the kind judges
//!               └── sample ─► Basis, depth ─────┘
//! ```
//!
//! Basis, depth and kernel affect only the number of candidates, never the pairs found.

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
