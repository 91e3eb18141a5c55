//! The native module of the Python package: `lookalike._native`.
//!
//! It converts Python objects to those of the library and back, releases the interpreter's lock while
//! the library works, and stops the work on Ctrl-C. Public names, defaults and documentation are in
//! `python/lookalike`; the logic is in the crates `lookalike` and `lookalike-jobs`.
//!
//! | file | purpose |
//! |---|---|
//! | `recipe.rs` | recipes and fingerprints |
//! | `features.rs`, `own.rs` | features of Python objects; custom functions |
//! | `texts.rs` | texts of lists, iterators and Arrow columns |
//! | `images.rs` | fingerprints of images |
//! | `pairs.rs`, `index.rs` | searching fingerprints |
//! | `collection.rs` | durable collections |
//! | `model.rs` | corpus models |
//! | `dedup.rs`, `table.rs` | `dedup` over files or rows in memory |
//! | `compat.rs` | the packages `simhash` and `simhash-py` |
//! | `prints.rs`, `arrow.rs` | conversion of fingerprints and Arrow data |
//! | `number.rs` | checks of numeric arguments |
//! | `work.rs`, `error.rs` | threads and cancellation; exceptions |

mod arrow;
mod collection;
mod compat;
mod dedup;
mod error;
mod features;
mod images;
mod index;
mod model;
mod number;
mod own;
mod pairs;
mod prints;
mod recipe;
mod table;
mod texts;
mod work;

/// The native module of the package `lookalike`. Use the package instead.
#[pyo3::pymodule(name = "_native")]
mod native {
    /// Decoders may panic on damaged files; jobs catch that and name the file.
    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        lookalike_cli::silence_caught_panics();
        Ok(())
    }

    #[pymodule_export]
    use crate::{
        collection::Collection,
        compat::{compute, near_values, simhash_ascii, simhash_text, simhash_weighted},
        dedup::{Answer, dedup, options, run},
        images::{image_presets, images},
        index::Index,
        model::Model,
        pairs::find_all,
        recipe::{Recipe, presets},
        texts::is_missing,
    };
}
