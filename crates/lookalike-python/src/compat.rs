//! The inner loops of the packages `simhash` and `simhash-py`. Their public interface is in
//! `python/lookalike/compat`.

use lookalike::{AllPairs, Radius, Resources, features::Features, hash::short_md5s, simhash};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::OrRaise,
    prints::many,
    work::{self, interruptible},
};

/// The SimHash of 64-bit hashes with weight 1; 0 if there are none.
#[pyfunction]
pub fn compute(hashes: Vec<u64>) -> u64 {
    let features = Features::from_hashes(hashes.into_iter().map(|hash| [hash]).collect());
    simhash(&features).map_or(0, |print| print.0[0])
}

/// The pairs of different values within a distance, the smaller value first.
#[pyfunction]
pub fn near_values(
    py: Python<'_>,
    hashes: &Bound<'_, PyAny>,
    distance: u32,
) -> PyResult<Vec<(u64, u64)>> {
    let prints = many::<1>(hashes, lookalike::Width::Bits64)?;
    let pool = work::pool(None)?;
    let pairs = interruptible(py, |stop| {
        let watch = |_| stop.watch();
        let resources = Resources::new().watch(&watch);
        let options = AllPairs::new(Radius::new(distance)).resources(resources);
        pool.install(|| options.run(&prints))
    })?;
    let value = |item: u32| prints[item as usize].0[0];
    let sorted = |a: u64, b: u64| (a.min(b), a.max(b));
    Ok(pairs.or_raise()?.near().iter().map(|pair| sorted(value(pair.a), value(pair.b))).collect())
}

/// PyPI `simhash` of the lower-case letters of a text: all runs of four characters, weighted by their
/// count, with the last `bits` (at most 128) bits of their MD5.
#[pyfunction]
pub fn simhash_text<'py>(
    py: Python<'py>,
    letters: &str,
    bits: usize,
) -> PyResult<Bound<'py, PyAny>> {
    simhash_letters(py, letters, bits)
}

/// Like `simhash_text`, for all ASCII letters, digits and underscores of a text.
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
    let print: u128 = py.detach(|| match bits {
        ..=64 => vote(letters, |digest| [digest as u64])[0].into(),
        _ => {
            let [low, high] = vote(letters, |digest| [digest as u64, (digest >> 64) as u64]);
            u128::from(high) << 64 | u128::from(low)
        }
    });
    Ok((print & (u128::MAX >> (128 - bits))).into_pyobject(py)?.into_any())
}

/// The result of the votes of a text's runs, weighted by their count.
fn vote<const WORDS: usize>(letters: &str, words: impl Fn(u128) -> [u64; WORDS]) -> [u64; WORDS] {
    let mut hashes = Vec::with_capacity(letters.len());
    short_md5s(runs(letters), |digest| hashes.push(words(digest)));
    simhash(&Features::from_hashes(hashes)).unwrap_or_default().0
}

/// All runs of four characters; the whole text if it is shorter.
fn runs(letters: &str) -> impl Iterator<Item = &[u8]> {
    const WIDTH: usize = 4;
    let starts = || letters.char_indices().map(|(start, _)| start);
    let ends = starts().chain([letters.len()]).skip(WIDTH);
    let is_short = starts().nth(WIDTH - 1).is_none();
    let runs = starts().zip(ends).map(|(start, end)| &letters.as_bytes()[start..end]);
    runs.chain(is_short.then_some(letters.as_bytes()))
}

/// PyPI `simhash` of big-endian digests: a bit is set if the digests with this bit have more than half
/// of the total weight. A feature is a digest, its weight for its bits, and its weight in the total.
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
