//! Splits texts into tokens, one file per unit.
//!
//! A *token* is a word, a character, a byte, or a token of code. [`token_hashes`] and
//! [`shingle_hashes`] are the fast way from a text to the hashes of its features: every token is hashed
//! once, and the hash of a run is computed from those of its tokens. docs/algorithm.md has the exact
//! rules.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod character;
mod characters;
mod classes;
mod code;
#[cfg(feature = "dictionary")]
mod dictionary;
mod normal;
mod window;
mod words;

pub use characters::characters;
pub use code::code;
#[cfg(feature = "dictionary")]
pub use dictionary::dictionary_words;
pub use words::words;

use self::normal::normal;
use super::Unit;
use crate::hamming::Kernel;
use crate::hash::{RUN_BASE, mix, mix_run};

/// The normal form of a text: NFKC, lower case.
pub(crate) fn normal_form(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    normal(text).for_each(|character| character.push_to(&mut bytes));
    String::from_utf8(bytes).expect("characters are pushed whole")
}

/// Replaces the content of `hashes` by the hash of every word of a text, in order.
///
/// ```
/// use lookalike::extract::text::token_hashes;
/// use lookalike::hash::FeatureHash;
///
/// let mut hashes = Vec::new();
/// token_hashes("To be, or NOT to be", &mut hashes);
/// assert_eq!(hashes.len(), 6);
/// assert_eq!(hashes[0], FeatureHash::Mix.hash(0, b"to"));
/// assert_eq!(hashes[0..2], hashes[4..6]);
/// ```
pub fn token_hashes(text: &str, hashes: &mut Vec<u64>) {
    token_hashes_with(Kernel::detect(), text, hashes);
}

/// [`token_hashes`] with a chosen kernel; all give the same result.
pub fn token_hashes_with(kernel: Kernel, text: &str, hashes: &mut Vec<u64>) {
    hashes.clear();
    #[cfg(target_arch = "x86_64")]
    if avx2::try_hash_words(kernel, text, hashes) {
        return;
    }
    let _ = kernel;
    window::hash_words(text, hashes, classes::ascii, classes::known);
}

/// Replaces the content of `hashes` by the hash of every token of any unit, in order.
pub(super) fn unit_hashes(unit: Unit, text: &str, hashes: &mut Vec<u64>) {
    hashes.clear();
    match unit {
        Unit::Words => token_hashes(text, hashes),
        Unit::Characters => characters::character_hashes(text, |hash| hashes.push(hash)),
        Unit::Code => code::code_hashes(text, false, |hash| hashes.push(hash)),
        Unit::Blind => code::code_hashes(text, true, |hash| hashes.push(hash)),
        other => other.tokens(text, |token| hashes.push(mix(token))),
    }
}

/// Calls back with the hash of every run of `size` neighbouring tokens, in order. If there are fewer
/// tokens, all of them are one run; without tokens, there is none.
///
/// A run of one token has the token's hash.
///
/// ```
/// use lookalike::extract::text::{shingle_hashes, token_hashes};
///
/// let mut tokens = Vec::new();
/// token_hashes("to be or not to be", &mut tokens);
/// let mut pairs = Vec::new();
/// shingle_hashes(&tokens, 2, |hash| pairs.push(hash));
/// assert_eq!(pairs.len(), 5);
/// assert_eq!(pairs[0], pairs[4]);
/// ```
#[inline]
pub fn shingle_hashes(tokens: &[u64], size: usize, mut on_hash: impl FnMut(u64)) {
    match size.clamp(1, tokens.len().max(1)) {
        1 => tokens.iter().copied().for_each(on_hash),
        2 => hashes_of_runs::<2>(tokens).for_each(on_hash),
        3 => hashes_of_runs::<3>(tokens).for_each(on_hash),
        size => rolling_sums(tokens, size, |sum| on_hash(mix_run(sum))),
    }
}

/// Applies `make` to every hash of [`shingle_hashes`] and adds the results.
#[inline]
pub(crate) fn collect_shingles<T>(
    tokens: &[u64],
    size: usize,
    make: impl Fn(u64) -> T,
    made: &mut Vec<T>,
) {
    match size.clamp(1, tokens.len().max(1)) {
        // The usual sizes, without a capacity check for each hash.
        1 => made.extend(tokens.iter().map(|&token| make(token))),
        2 => made.extend(hashes_of_runs::<2>(tokens).map(make)),
        3 => made.extend(hashes_of_runs::<3>(tokens).map(make)),
        size => shingle_hashes(tokens, size, |hash| made.push(make(hash))),
    }
}

/// The hash of every run of `SIZE` tokens; a constant size needs no inner loop.
#[inline]
fn hashes_of_runs<const SIZE: usize>(tokens: &[u64]) -> impl Iterator<Item = u64> {
    tokens.windows(SIZE).map(|run| {
        let run: &[u64; SIZE] = run.try_into().expect("a window is as long as it was asked for");
        mix_run(sum(run))
    })
}

/// The tokens as digits of a number, the last one lowest.
#[inline]
fn sum(run: &[u64]) -> u64 {
    run.iter().fold(0, |sum: u64, &token| sum.wrapping_mul(RUN_BASE).wrapping_add(token))
}

/// The [`sum`] of every run, each computed from the previous one, so long runs cost no more.
fn rolling_sums(tokens: &[u64], size: usize, mut on_sum: impl FnMut(u64)) {
    let first_digit = (0..size).fold(1, |power: u64, _| power.wrapping_mul(RUN_BASE));
    let mut last = sum(&tokens[..size]);
    on_sum(last);
    for (&old, &new) in tokens.iter().zip(&tokens[size..]) {
        last = last.wrapping_mul(RUN_BASE).wrapping_add(new);
        last = last.wrapping_sub(old.wrapping_mul(first_digit));
        on_sum(last);
    }
}

#[cfg(test)]
fn collect(text: &str, tokens: impl Fn(&str, &mut dyn FnMut(&[u8]))) -> Vec<String> {
    let mut all = Vec::new();
    tokens(text, &mut |token| all.push(String::from_utf8_lossy(token).into_owned()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_run_is_hashed_by_its_own_tokens_only(
            tokens in prop::collection::vec(any::<u64>(), 0..20),
            size in 0..8usize,
        ) {
            let mut found = Vec::new();
            shingle_hashes(&tokens, size, |hash| found.push(hash));
            let size = size.clamp(1, tokens.len().max(1));
            let expected: Vec<_> = tokens
                .windows(size)
                .map(|run| if size == 1 { run[0] } else { mix_run(sum(run)) })
                .collect();
            prop_assert_eq!(&found, &expected);
            found.clear();
            collect_shingles(&tokens, size, |hash| hash, &mut found);
            prop_assert_eq!(found, expected);
        }
    }
}
