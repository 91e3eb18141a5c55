//! Tests of the library as its users see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(
    clippy::print_stdout,
    reason = "tests tell what they leave out, and talk to their children"
)]

mod collection;
mod data;
mod pairs;
