//! What do the packages `simhash` and `simhash-py` compute? Their inner loops; everything that their
//! users can see is in `python/lookalike/compat`.

use std::collections::HashMap;

use lookalike::{AllPairs, FeatureHash, Features, Fingerprint, Radius, simhash};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::OrRaise,
    prints::{many, to_int},
    work::{self, interruptible},
};

/// The SimHash of 64-bit hashes that count once each; 0 if there are none.
#[pyfunction]
pub fn compute(hashes: Vec<u64>) -> u64 {
    let features = Features::from_hashes(hashes.into_iter().map(|hash| [hash]).collect());
    simhash(&features).map_or(0, |print| print.0[0])
}

/// The different values within a distance of each other, the smaller first.
#[pyfunction]
pub fn near_values(
    py: Python<'_>,
    hashes: &Bound<'_, PyAny>,
    distance: u32,
) -> PyResult<Vec<(u64, u64)>> {
    let prints = many::<1>(hashes, lookalike::Width::Bits64)?;
    let pool = work::pool(None)?;
    let pairs = interruptible(py, |stop| {
        let on_progress = |_| stop.check();
        let options = AllPairs::new(Radius::new(distance)).progress(&on_progress);
        pool.install(|| options.run(&prints))
    })?;
    let value = |item: u32| prints[item as usize].0[0];
    let sorted = |a: u64, b: u64| (a.min(b), a.max(b));
    Ok(pairs.or_raise()?.near().iter().map(|pair| sorted(value(pair.a), value(pair.b))).collect())
}

/// PyPI `simhash` of the letters of a text, in lower case: its runs of four characters, each counting
/// as often as it is there, by the last `bits` (at most 128) bits of their MD5.
#[pyfunction]
pub fn simhash_text<'py>(
    py: Python<'py>,
    letters: &str,
    bits: usize,
) -> PyResult<Bound<'py, PyAny>> {
    simhash_letters(py, letters, bits)
}

/// The same of all the ASCII letters, digits and underscores of a text.
#[pyfunction]
pub fn simhash_ascii<'py>(py: Python<'py>, text: &str, bits: usize) -> PyResult<Bound<'py, PyAny>> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let letters = text.bytes().filter(is_letter).map(|byte| byte.to_ascii_lowercase());
    let letters: String = letters.map(char::from).collect();
    simhash_letters(py, &letters, bits)
}

fn simhash_letters<'py>(
    py: Python<'py>,
    letters: &str,
    bits: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let print = py.detach(|| {
        let mut counts: HashMap<&str, i32> = HashMap::new();
        each_run(letters, |run| *counts.entry(run).or_default() += 1);
        let last = |run: &str| FeatureHash::Md5Last8.hash(0, run.as_bytes());
        let first = |run: &str| FeatureHash::Md5First8.hash(0, run.as_bytes());
        if bits <= 64 {
            let counted = counts.into_iter().map(|(run, count)| ([last(run), 0], count));
            vote(counted)
        } else {
            vote(counts.into_iter().map(|(run, count)| ([last(run), first(run)], count)))
        }
    });
    let print = (u128::from(print[1]) << 64 | u128::from(print[0])) & (u128::MAX >> (128 - bits));
    let print = [print as u64, (print >> 64) as u64];
    to_int(py, Fingerprint(print))
}

/// PyPI `simhash` of digests, big-endian: a bit is set if the weights of the digests that have it are
/// more than half of all. A feature is a digest, what it adds to its bits, and what to all.
#[pyfunction]
pub fn simhash_weighted<'py>(
    py: Python<'py>,
    features: Vec<(Bound<'py, PyBytes>, f64, f64)>,
    bits: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = bits / 8;
    let mut ones = vec![0.0; bits];
    let mut total = 0.0;
    for (digest, weight, share) in &features {
        let digest = digest.as_bytes();
        let Some(start) = digest.len().checked_sub(bytes) else {
            let found = digest.len();
            let what = format!("hashfunc returns {found} bytes, but f={bits} needs {bytes}");
            return Err(PyValueError::new_err(what));
        };
        for (byte, ones) in digest[start..].iter().zip(ones.chunks_mut(8)) {
            for (bit, ones) in ones.iter_mut().enumerate() {
                *ones += if byte >> (7 - bit) & 1 == 1 { *weight } else { 0.0 };
            }
        }
        total += share;
    }
    let byte =
        |ones: &[f64]| ones.iter().fold(0, |byte, &ones| byte << 1 | u8::from(ones > total / 2.0));
    let print: Vec<u8> = ones.chunks(8).map(byte).collect();
    Ok(PyBytes::new(py, &print))
}

/// The words that counted hashes vote for.
fn vote(counted: impl Iterator<Item = ([u64; 2], i32)>) -> [u64; 2] {
    let mut features = Features::<2>::new();
    features.extend_words(counted);
    simhash(&features).unwrap_or_default().0
}

/// Calls back with every four characters that follow each other; with all if there are fewer.
fn each_run<'a>(letters: &'a str, mut on_run: impl FnMut(&'a str)) {
    const WIDTH: usize = 4;
    let starts = || letters.char_indices().map(|(start, _)| start);
    let ends = starts().chain([letters.len()]).skip(WIDTH);
    let mut runs = starts().zip(ends).peekable();
    if runs.peek().is_none() {
        on_run(letters);
    }
    runs.for_each(|(start, end)| on_run(&letters[start..end]));
}
