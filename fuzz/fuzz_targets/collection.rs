#![no_main]

#[path = "../runner/collection.rs"]
#[expect(dead_code, reason = "the runner uses the seeds")]
mod collection;

libfuzzer_sys::fuzz_target!(|data: &[u8]| collection::entry(data));
