//! Tests of the jobs through their public API.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod custom_kind;
