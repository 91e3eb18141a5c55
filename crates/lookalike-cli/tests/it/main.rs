//! Runs the real binary on small data; snapshots have exit code, stdout and stderr together.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod acting;
mod acting_together;
mod bad_input;
mod bench;
mod compare;
mod dedup;
mod dedup_prints;
mod hash;
mod help;
mod image_files;
mod images;
mod index;
mod index_damage;
mod index_images;
mod laws;
mod library;
mod pairs_in;
mod pairs_out;
mod raw_files;
mod run;
mod vectors;
mod walk;
