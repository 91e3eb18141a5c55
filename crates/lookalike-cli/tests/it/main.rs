//! Runs the real binary on small data; each test looks at exit code, stdout and stderr together.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod acting;
mod acting_together;
mod bad_input;
mod bench;
mod compare;
mod dedup;
mod dedup_prints;
mod hash;
mod image_files;
mod images;
mod index;
mod laws;
mod library;
mod pairs_in;
mod pairs_out;
mod raw_files;
mod run;
mod vectors;
mod walk;
