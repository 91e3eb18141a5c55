#![no_main]

#[path = "../runner/repair.rs"]
mod repair;

// With its checksums made to fit: without that, hardly a change would be looked at.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut data = data.to_vec();
    repair::png(&mut data);
    lookalike_jobs::fuzz::image(&data);
});
