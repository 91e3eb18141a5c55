//! Tests of the library as its users see it.

mod data;
mod pairs;
