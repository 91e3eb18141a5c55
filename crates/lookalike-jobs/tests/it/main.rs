//! Tests of the jobs through their public API.

mod custom_kind;
