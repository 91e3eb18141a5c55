//! The Python package's native half: `lookalike._native`.
//!
//! It turns Python's objects into the library's and back, lets other Python threads run while the
//! library works, and stops the work on Ctrl-C. Public names, defaults and documentation are in
//! `python/lookalike`; logic is in the crates `lookalike` and `lookalike-jobs`.
//!
//! | file | question |
//! |---|---|
//! | `recipe.rs` | How do items become fingerprints? |
//! | `features.rs`, `own.rs` | Which features does an object hold? What do functions of the user's make of it? |
//! | `texts.rs` | Which texts does a list, an iterator or an Arrow column hold? |
//! | `images.rs` | What does an image look like, in bits? |
//! | `pairs.rs`, `index.rs` | Which fingerprints are near each other, or near this one? |
//! | `collection.rs` | Have I seen this before? |
//! | `model.rs` | How rare are features elsewhere? |
//! | `dedup.rs`, `table.rs` | What can go? The command line's `dedup`, over rows in memory or files. |
//! | `compat.rs` | What do the packages `simhash` and `simhash-py` compute? |
//! | `prints.rs`, `arrow.rs` | How do fingerprints and Arrow data cross the border? |
//! | `number.rs` | Which numbers can an argument be? |
//! | `work.rs`, `error.rs` | How is work run and stopped? What does Python raise? |

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

/// The native half of the package `lookalike`. Use the package.
#[pyo3::pymodule(name = "_native")]
mod native {
    /// Damaged files may make decoders panic; jobs catch that and name the file.
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
