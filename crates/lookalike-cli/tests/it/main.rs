//! Runs the real binary on small data; each test looks at exit code, stdout and stderr together.

mod bad_input;
mod bench;
mod compare;
mod hash;
mod pairs_in;
mod pairs_out;
mod run;
