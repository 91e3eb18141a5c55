//! Tests of the library as its users see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(
    clippy::print_stdout,
    reason = "tests report what they leave out and write to their child processes"
)]

mod collection;
mod data;
mod guide;
mod pairs;
