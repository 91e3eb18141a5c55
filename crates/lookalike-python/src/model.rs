//! Corpus models.

use std::{path::PathBuf, sync::Arc};

use lookalike::model::Learner;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyString},
};

use crate::{error::OrRaise, recipe::Recipe};

/// A corpus model.
#[pyclass(frozen, module = "lookalike._native")]
pub struct Model {
    pub inner: Arc<lookalike::model::Model>,
}

#[pymethods]
impl Model {
    /// Learns from texts.
    #[staticmethod]
    fn learn(texts: &Bound<'_, PyAny>, recipe: &Bound<'_, Recipe>) -> PyResult<Self> {
        let py = texts.py();
        let mut learner = Learner::new(&recipe.get().inner);
        for text in texts.try_iter()? {
            let text = text?;
            let content = text.cast::<PyString>()?.to_string_lossy();
            py.detach(|| learner.add(&content));
            py.check_signals()?;
        }
        Ok(Self { inner: Arc::new(learner.finish()) })
    }

    /// Reads a file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        lookalike::model::Model::open(&path).or_raise().map(|model| Self { inner: Arc::new(model) })
    }

    /// The inverse of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        lookalike::model::Model::read(bytes).or_raise().map(|model| Self { inner: Arc::new(model) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        self.inner.write(&mut bytes).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.inner.save(&path).or_raise()
    }

    #[getter]
    fn texts(&self) -> u32 {
        self.inner.texts()
    }

    #[getter]
    fn features(&self) -> &str {
        self.inner.features_name()
    }
}
