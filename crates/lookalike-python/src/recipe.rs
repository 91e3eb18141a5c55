//! How do texts, tokens and features become fingerprints?

use std::num::NonZeroU32;

use lookalike::{
    FeatureHash, Fingerprint, Preset, Radius, RecipeError, StopWords, Width, hash::spread,
    recipe::Scratch,
};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyDict, PyInt, PyString, PyTuple},
};

use crate::{
    error::{OrRaise, exception},
    model::Model,
    prints::{for_words, to_bytes, to_int},
    texts::{Batch, Texts},
    work,
};

/// Everything that decides the bits, and the radius texts are alike within.
#[pyclass(frozen, eq, hash, module = "lookalike._native")]
#[derive(PartialEq, Eq, Hash)]
pub struct Recipe {
    pub inner: lookalike::Recipe,
    radius: Radius,
}

/// Many fingerprints as bytes of words, and a byte for each that is 1 where there is none.
type Many<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>);

#[pymethods]
impl Recipe {
    #[new]
    #[pyo3(signature = (name, *, features=None, stop_words=None, own_words=None, weights=None,
        model=None, top=None, hash=None, seed=None, bits=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        name: &str,
        features: Option<&str>,
        stop_words: Option<&str>,
        own_words: Option<&str>,
        weights: Option<&str>,
        model: Option<&Bound<'_, Model>>,
        top: Option<u32>,
        hash: Option<&str>,
        seed: Option<u64>,
        bits: Option<u32>,
    ) -> PyResult<Self> {
        let preset = Preset::named(name).or_raise()?;
        let base = &preset.recipe;
        let stop_words = match (stop_words, own_words) {
            (_, Some(own)) => StopWords::own(own),
            (Some("none"), _) => StopWords::NONE,
            (Some(languages), _) => languages.parse().or_raise()?,
            _ => base.stop_words.clone(),
        };
        let mut inner = lookalike::Recipe {
            features: features.map_or(Ok(base.features), str::parse).or_raise()?,
            stop_words,
            weights: weights.map_or(Ok(base.weights), str::parse).or_raise()?,
            model: model.map(|model| model.get().inner.clone()),
            top: top.map_or(base.top, NonZeroU32::new),
            hash: hash.map_or(Ok(base.hash), str::parse).or_raise()?,
            seed: seed.unwrap_or(base.seed),
            width: bits.map_or(Ok(base.width), Width::from_bits).or_raise()?,
            ..base.clone()
        };
        inner.hash.check_seed(inner.seed).or_raise()?;
        if (lookalike::Recipe { model: None, ..inner.clone() }) != *base {
            inner.name = "own".into();
        }
        let share = preset.radius.bits() * inner.width.bits() / base.width.bits();
        Ok(Self { inner, radius: Radius::new(share) })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn features(&self) -> String {
        self.inner.features.to_string()
    }

    #[getter]
    fn weights(&self) -> &str {
        self.inner.weights.name()
    }

    #[getter]
    fn top(&self) -> Option<u32> {
        self.inner.top.map(NonZeroU32::get)
    }

    #[getter]
    fn hash(&self) -> &str {
        self.inner.hash.name()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn bits(&self) -> u32 {
        self.inner.width.bits()
    }

    #[getter]
    fn version(&self) -> u32 {
        self.inner.version
    }

    #[getter]
    fn distance(&self) -> u32 {
        self.radius.bits()
    }

    #[getter]
    fn text(&self) -> String {
        self.inner.to_string()
    }

    /// Refuses choices that do not go together, with the way out.
    fn check(&self) -> PyResult<()> {
        match self.inner.check() {
            Err(error @ RecipeError::NoModel { .. }) => {
                let hint = "make one with Model.learn(texts), and give it as model=";
                Err(exception("RecipeError", &format!("{error}; {hint}")))
            }
            Err(error @ RecipeError::OtherModel { .. }) => {
                Err(exception("RecipeError", &format!("{error}; learn one with this recipe")))
            }
            checked => checked.or_raise(),
        }
    }

    /// The fingerprint of a text.
    fn simhash_text<'py>(
        &self,
        text: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check()?;
        let content = text.to_string_lossy();
        for_words!(self.words(), W => int(text.py(), self.inner.fingerprint::<W>(&content)))
    }

    /// The fingerprint of a text whose features are hashed by a callable.
    fn simhash_hashed<'py>(
        &self,
        text: &Bound<'py, PyString>,
        hash: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check()?;
        let mut hasher = Hasher { recipe: &self.inner, own: Some(hash), failed: None };
        let content = text.to_string_lossy();
        for_words!(self.words(), W => {
            let print = self.inner.fingerprint_hashed::<W>(&content, |bytes| hasher.words(bytes));
            hasher.finish(text.py(), print)
        })
    }

    /// The fingerprint of a text that is cut into tokens.
    #[pyo3(signature = (tokens, hash=None))]
    fn simhash_tokens<'py>(
        &self,
        tokens: &Bound<'py, PyAny>,
        hash: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check()?;
        let cut: Vec<Vec<u8>> =
            tokens.try_iter()?.map(|token| feature_bytes(&token?)).collect::<PyResult<_>>()?;
        if hash.is_none() && self.inner.hash == FeatureHash::Mix {
            let hashes: Vec<u64> =
                cut.iter().map(|token| FeatureHash::Mix.hash(0, token)).collect();
            return for_words!(self.words(), W => {
                let print = self.inner.fingerprint_of_tokens::<W>(&hashes, &mut Scratch::new());
                int(tokens.py(), print)
            });
        }
        let mut hasher = Hasher { recipe: &self.inner, own: hash, failed: None };
        for_words!(self.words(), W => {
            let print = self.inner.fingerprint_of_token_bytes::<W>(&cut, |bytes| hasher.words(bytes));
            hasher.finish(tokens.py(), print)
        })
    }

    /// The fingerprint of features with weights.
    #[pyo3(signature = (features, hash=None))]
    fn simhash_features<'py>(
        &self,
        features: &Bound<'py, PyAny>,
        hash: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        for_words!(self.words(), W => int(features.py(), self.of_features::<W>(features, hash)?))
    }

    /// The fingerprints of texts or lists of features.
    #[pyo3(signature = (items, threads=None))]
    fn fingerprints<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Many<'py>> {
        self.check()?;
        for_words!(self.words(), W => self.many::<W>(items, threads))
    }
}

impl Recipe {
    fn words(&self) -> usize {
        self.inner.width.words()
    }

    fn many<'py, const WORDS: usize>(
        &self,
        items: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Many<'py>> {
        let py = items.py();
        let pool = work::pool(threads)?;
        let mut prints: Vec<Fingerprint<WORDS>> = Vec::new();
        let mut empty: Vec<u8> = Vec::new();
        let on_batch = |batch: Batch<'_, WORDS>| -> PyResult<()> {
            let made = work::on_pool(py, &pool, || batch.fingerprints(&self.inner));
            prints.extend(made.iter().map(|print| print.unwrap_or_default()));
            empty.extend(made.iter().map(|print| u8::from(print.is_none())));
            py.check_signals()
        };
        let of_features = |features: &Bound<'py, PyAny>| self.of_features(features, None);
        Texts::of(items)?.each_batch(of_features, on_batch)?;
        Ok((to_bytes(py, &prints)?, to_bytes(py, &empty)?))
    }

    fn of_features<const WORDS: usize>(
        &self,
        features: &Bound<'_, PyAny>,
        hash: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Fingerprint<WORDS>>> {
        let mut hasher = Hasher { recipe: &self.inner, own: hash, failed: None };
        let mut hashed = Vec::new();
        each_feature(features, &mut |feature, weight| {
            hashed.push((hasher.feature(feature)?, weight));
            Ok(())
        })?;
        self.inner.fingerprint_of_weighted_hashes(hashed).or_raise()
    }
}

fn int<const WORDS: usize>(
    py: Python<'_>,
    print: Option<Fingerprint<WORDS>>,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    print.map(|print| to_int(py, print)).transpose()
}

/// Hashes features, by the recipe or by a callable; remembers the first thing that went wrong.
struct Hasher<'a, 'py> {
    recipe: &'a lookalike::Recipe,
    own: Option<&'a Bound<'py, PyAny>>,
    failed: Option<PyErr>,
}

impl<'py> Hasher<'_, 'py> {
    fn words<const WORDS: usize>(&mut self, bytes: &[u8]) -> [u64; WORDS] {
        let Some(own) = self.own else { return self.recipe.hash.words(self.recipe.seed, bytes) };
        if self.failed.is_some() {
            return [0; WORDS];
        }
        let hash = own.call1((PyBytes::new(own.py(), bytes),)).and_then(|hash| low_word(&hash));
        match hash {
            Ok(hash) => spread(hash),
            Err(error) => {
                self.failed = Some(error);
                [0; WORDS]
            }
        }
    }

    /// The hash of a feature; an int is its own.
    fn feature<const WORDS: usize>(
        &mut self,
        feature: &Bound<'py, PyAny>,
    ) -> PyResult<[u64; WORDS]> {
        if feature.is_instance_of::<PyInt>() {
            return low_word(feature).map(spread);
        }
        let words = self.words(&feature_bytes(feature)?);
        self.failed.take().map_or(Ok(words), Err)
    }

    fn finish<const WORDS: usize>(
        self,
        py: Python<'py>,
        print: Option<Fingerprint<WORDS>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.failed.map_or_else(|| int(py, print), Err)
    }
}

/// The lowest 64 bits of an int.
fn low_word(number: &Bound<'_, PyAny>) -> PyResult<u64> {
    match number.extract::<u64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => {
            number.call_method1("__and__", (u64::MAX,))?.extract()
        }
        extracted => extracted.map_err(|_| {
            let name = number.get_type();
            PyTypeError::new_err(format!("a hash is an int, not {name}"))
        }),
    }
}

/// Calls back with each feature and its weight: of a dict, of pairs, or of features that count once.
fn each_feature<'py>(
    features: &Bound<'py, PyAny>,
    on_feature: &mut dyn FnMut(&Bound<'py, PyAny>, f64) -> PyResult<()>,
) -> PyResult<()> {
    if let Ok(features) = features.cast::<PyDict>() {
        return features
            .iter()
            .try_for_each(|(feature, weight)| on_feature(&feature, weight.extract()?));
    }
    let iterator = features.try_iter().map_err(|_| {
        let name = features.get_type();
        PyTypeError::new_err(format!(
            "an item is a text, or features: a dict, a list of them, or of (feature, weight); not {name}"
        ))
    })?;
    for item in iterator {
        let item = item?;
        match pair(&item)? {
            Some((feature, weight)) => on_feature(&feature, weight)?,
            None => on_feature(&item, 1.0)?,
        }
    }
    Ok(())
}

fn pair<'py>(item: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, f64)>> {
    let is_one = item.is_instance_of::<PyString>()
        || item.is_instance_of::<PyBytes>()
        || item.is_instance_of::<PyInt>();
    if is_one {
        return Ok(None);
    }
    // What is neither is refused as a feature.
    let Ok(items) = item.try_iter() else { return Ok(None) };
    let two: Vec<Bound<'py, PyAny>> = items.collect::<PyResult<_>>()?;
    match two.as_slice() {
        [feature, weight] => Ok(Some((feature.clone(), weight.extract()?))),
        _ => Err(PyTypeError::new_err(format!("{item} is no (feature, weight)"))),
    }
}

/// Features as the command line reads them: names and weights.
pub fn named_features(features: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let mut named = Vec::new();
    each_feature(features, &mut |feature, weight| {
        named.push((feature.str()?.to_string_lossy().into_owned(), weight));
        Ok(())
    })?;
    Ok(named)
}

fn feature_bytes(feature: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = feature.cast::<PyString>() {
        return Ok(text.to_string_lossy().as_bytes().to_vec());
    }
    if let Ok(bytes) = feature.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let name = feature.get_type();
    Err(PyTypeError::new_err(format!("a feature is a str, bytes or an int (its hash), not {name}")))
}

/// Every preset: its recipe, and what is known of it.
#[pyfunction]
pub fn presets(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    Preset::ALL
        .iter()
        .map(|preset| {
            let Preset { recipe, radius, verify, quality, description, .. } = preset;
            let quality = quality.map(|quality| (quality.precision, quality.recall, quality.f1));
            (
                recipe.name.as_ref(),
                recipe.width.bits(),
                radius.bits(),
                recipe.features.to_string(),
                recipe.weights.name(),
                verify.map(|verify| verify.to_string()),
                quality,
                *description,
            )
                .into_pyobject(py)
        })
        .collect()
}
