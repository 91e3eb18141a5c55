//! Recipes and fingerprints.

use std::num::NonZeroU32;

use lookalike::{
    Fingerprint, Preset, Radius, Width, kind::Input, recipe::RecipeError, stop_words::StopWords,
};
use pyo3::{
    prelude::*,
    types::{PyByteArray, PyTuple},
};

use crate::{
    error::{OrRaise, exception},
    model::Model,
    number::{Bits, Seed, Threads, Top},
    own::{Hasher, Own, Taken},
    prints::{for_words, to_bytes, to_int},
    texts::{Batch, Texts},
    work,
};

/// Everything that decides the bits, and the radius of matching texts.
#[pyclass(frozen, eq, hash, module = "lookalike._native")]
#[derive(PartialEq, Eq, Hash)]
pub struct Recipe {
    pub inner: lookalike::Recipe,
    radius: Radius,
}

/// Many fingerprints as bytes of words, and a byte for each that is 1 if it is missing.
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
        top: Option<Top>,
        hash: Option<&str>,
        seed: Option<Seed>,
        bits: Option<Bits>,
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
            top: top.map_or(base.top, |top| NonZeroU32::new(top.0)),
            hash: hash.map_or(Ok(base.hash), str::parse).or_raise()?,
            seed: seed.map_or(base.seed, |seed| seed.0),
            width: bits.map_or(Ok(base.width), |bits| Width::from_bits(bits.0)).or_raise()?,
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

    /// Refuses invalid combinations of settings, with a remedy.
    fn check(&self) -> PyResult<()> {
        match self.inner.check() {
            Err(error @ RecipeError::NoModel { .. }) => {
                let hint = "create one with Model.learn(texts) and pass it as model=";
                Err(exception("RecipeError", &format!("{error}; {hint}")))
            }
            Err(error @ RecipeError::OtherModel { .. }) => {
                Err(exception("RecipeError", &format!("{error}; learn one with this recipe")))
            }
            checked => checked.or_raise(),
        }
    }

    /// The fingerprint of an item: a text, or features.
    #[pyo3(signature = (item, own=None))]
    fn simhash<'py>(
        &self,
        item: &Bound<'py, PyAny>,
        own: Option<Own>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, own) = (item.py(), own.unwrap_or_default());
        let print = self.print(py, &Taken::apart(item, &own)?, &own)?;
        for_words!(self.words(), W => {
            print.map(|print| to_int(py, print.resize::<W>())).transpose()
        })
    }

    /// The fingerprints of items.
    #[pyo3(signature = (items, own=None, threads=None))]
    fn fingerprints<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        own: Option<Own>,
        threads: Option<Threads>,
    ) -> PyResult<Many<'py>> {
        self.check()?;
        for_words!(self.words(), W => self.many::<W>(items, own.as_ref(), threads))
    }
}

impl Recipe {
    /// An item made by custom functions, for a search; `text` is its displayed form.
    pub fn item<'t>(
        &self,
        item: &Bound<'_, PyAny>,
        text: &'t str,
        own: &Own,
    ) -> PyResult<Input<'t>> {
        let taken = Taken::apart(item, own)?;
        let print = self.print(item.py(), &taken, own)?;
        Ok(Input::Made(print, taken.parts(text)))
    }

    fn words(&self) -> usize {
        self.inner.width.words()
    }

    fn many<'py, const WORDS: usize>(
        &self,
        items: &Bound<'py, PyAny>,
        own: Option<&Own>,
        threads: Option<Threads>,
    ) -> PyResult<Many<'py>> {
        let py = items.py();
        let pool = work::pool(threads)?;
        let mut prints: Vec<Fingerprint<WORDS>> = Vec::new();
        let mut empty: Vec<u8> = Vec::new();
        let on_batch = |batch: Batch<'_>| -> PyResult<()> {
            let made = work::on_pool(py, &pool, || batch.fingerprints(&self.inner));
            prints.extend(made.iter().map(|print| print.unwrap_or_default().resize()));
            empty.extend(made.iter().map(|print| u8::from(print.is_none())));
            py.check_signals()
        };
        let none = Own::default();
        let make = |item: &Bound<'py, PyAny>| {
            let own = own.unwrap_or(&none);
            self.print(py, &Taken::apart(item, own)?, own)
        };
        Texts::of(items)?.each_batch(own.is_some(), make, on_batch)?;
        Ok((to_bytes(py, &prints)?, to_bytes(py, &empty)?))
    }

    fn print(
        &self,
        py: Python<'_>,
        taken: &Taken<'_>,
        own: &Own,
    ) -> PyResult<Option<Fingerprint<4>>> {
        if !matches!(taken, Taken::Features(_)) {
            self.check()?;
        }
        let mut hasher = Hasher::new(py, own);
        let mut fingerprinter = self.inner.fingerprinter();
        if hasher.is_own() {
            fingerprinter = fingerprinter.with_hash(|bytes| hasher.words(bytes));
        }
        let print = match taken {
            Taken::Text(text) => fingerprinter.text(&text.to_string_lossy()),
            Taken::Tokens(tokens) => fingerprinter.tokens(tokens).or_raise()?,
            Taken::Features(features) => {
                let pieces = features.iter().map(|(feature, weight)| (feature, *weight));
                fingerprinter.features(pieces).or_raise()?
            }
        };
        drop(fingerprinter);
        hasher.finish(print)
    }
}

/// Every preset: its recipe and its measured quality.
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
