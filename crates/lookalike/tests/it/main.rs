//! Tests of the library as its users see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod collection;
mod data;
mod pairs;
