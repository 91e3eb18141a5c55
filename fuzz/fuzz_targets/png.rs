#![no_main]

#[path = "../runner/repair.rs"]
mod repair;

// Checksums are repaired: otherwise most mutated inputs would be rejected at once.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut data = data.to_vec();
    repair::png(&mut data);
    lookalike_jobs::fuzz::image(&data);
});
