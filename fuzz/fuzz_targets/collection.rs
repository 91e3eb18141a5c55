#![no_main]

#[path = "../runner/collection.rs"]
mod collection;

libfuzzer_sys::fuzz_target!(|data: &[u8]| collection::entry(data));
