//! Custom functions that replace parts of a recipe. They are called for one item after another, while
//! the interpreter's lock is held.

use lookalike::{Fingerprint, hash::spread, kind::Parts};
use pyo3::{
    exceptions::{PyException, PyTypeError},
    intern,
    prelude::*,
    types::{PyBytes, PyString},
};

use crate::features::{Feature, bytes_of, features, low_word, mix, type_name};

/// Custom functions: a hash, a tokenizer, an extractor.
#[derive(Default, FromPyObject)]
pub struct Own(Option<Py<PyAny>>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// An item after the custom functions.
pub enum Taken<'py> {
    /// Unchanged.
    Text(Bound<'py, PyString>),
    Tokens(Vec<Vec<u8>>),
    Features(Vec<(Feature, f64)>),
}

impl<'py> Taken<'py> {
    pub fn apart(item: &Bound<'py, PyAny>, own: &Own) -> PyResult<Self> {
        let Own(_, tokenizer, extractor) = own;
        let py = item.py();
        if let Some(extractor) = extractor {
            let found = extractor.bind(py).call1((item,))?;
            refuse_text(&found, "an extractor must return a dict or a list of features")?;
            return features(&found).map(Self::Features);
        }
        let Ok(text) = item.cast::<PyString>() else { return features(item).map(Self::Features) };
        let Some(tokenizer) = tokenizer else { return Ok(Self::Text(text.clone())) };
        const LIST: &str = "a tokenizer must return a list of tokens";
        let found = tokenizer.bind(py).call1((item,))?;
        refuse_text(&found, LIST)?;
        let wrong = |_| PyTypeError::new_err(format!("{LIST}, not {}", type_name(&found)));
        let tokens = found.try_iter().map_err(wrong)?;
        tokens.map(|token| bytes_of(&token?)).collect::<PyResult<_>>().map(Self::Tokens)
    }

    /// The features to compare.
    pub fn parts<'t>(&self, text: &'t str) -> Parts<'t> {
        match self {
            Self::Text(_) => Parts::Text(text),
            Self::Tokens(tokens) => Parts::Tokens(tokens.iter().map(|token| mix(token)).collect()),
            Self::Features(features) => {
                let identities = features.iter().map(|(feature, _)| feature.identity());
                Parts::Features(identities.collect())
            }
        }
    }
}

/// Refuses a text, which is iterable by letters, but hardly intended.
fn refuse_text(found: &Bound<'_, PyAny>, instead: &str) -> PyResult<()> {
    if found.is_instance_of::<PyString>() || found.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!("{instead}, not {}", type_name(found))));
    }
    Ok(())
}

/// Hashes features with a custom function, and keeps the first error.
pub struct Hasher<'a, 'py> {
    own: Option<&'a Bound<'py, PyAny>>,
    failed: Option<PyErr>,
}

impl<'a, 'py> Hasher<'a, 'py> {
    pub fn new(py: Python<'py>, own: &'a Own) -> Self {
        Self { own: own.0.as_ref().map(|hash| hash.bind(py)), failed: None }
    }

    /// Whether there is a custom hash.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    pub fn words(&mut self, bytes: &[u8]) -> [u64; 4] {
        let Some(own) = self.own.filter(|_| self.failed.is_none()) else { return [0; 4] };
        let hash = own.call1((PyBytes::new(own.py(), bytes),)).and_then(|hash| low_word(&hash));
        hash.map_or_else(
            |error| {
                self.failed = Some(error);
                [0; 4]
            },
            spread,
        )
    }

    /// The fingerprint, if there was no error.
    pub fn finish(self, print: Option<Fingerprint<4>>) -> PyResult<Option<Fingerprint<4>>> {
        self.failed.map_or(Ok(print), Err)
    }
}

/// Adds the item to an error. The exception of a Python function is passed on with a note.
pub fn named(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let ours = error.is_instance_of::<PyException>(py) && error.traceback(py).is_none();
    if ours && let Ok(named) = error.get_type(py).call1((format!("{place}: {}", error.value(py)),))
    {
        return PyErr::from_value(named);
    }
    let note = format!("raised for {place}");
    // Every exception accepts notes; if this one does not, it is raised without.
    let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
    error
}
