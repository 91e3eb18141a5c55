#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lookalike_jobs::fuzz::npy(data));
