//! Seeds: small intact files of every format and variant.

pub mod archives;
pub mod images;
pub mod jpeg;
pub mod raw;
pub mod tables;
pub mod tiff;

/// Texts with characters that formats must escape.
const TEXTS: [&str; 6] = [
    "The quick brown fox jumps over the lazy dog",
    "with \"quotes\", commas, and a\ttab",
    "two\nlines",
    "Zwölf Boxkämpfer jagen Viktor 🦊",
    "",
    "12345",
];

/// Pseudo-random bytes, the same each time.
fn noise(length: usize, seed: u32) -> Vec<u8> {
    let step = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    std::iter::repeat_n((), length).scan(seed, |state, ()| step(state)).collect()
}
