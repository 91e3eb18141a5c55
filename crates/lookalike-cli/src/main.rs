//! The `lookalike` command line.

fn main() {}
