//! How do functions of the user's stand in for parts of a recipe? They are called one item after the
//! other, while the interpreter's lock is held.

use lookalike::{Fingerprint, hash::spread, kind::Parts};
use pyo3::{
    exceptions::{PyException, PyTypeError},
    intern,
    prelude::*,
    types::{PyBytes, PyString},
};

use crate::features::{Feature, bytes_of, features, low_word, mix, type_name};

/// Functions of the user's: a hash, a tokenizer, an extractor.
#[derive(Default, FromPyObject)]
pub struct Own(Option<Py<PyAny>>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// An item as it is taken apart in Python.
pub enum Taken<'py> {
    /// Not at all.
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
            refuse_text(&found, "an extractor returns a dict or a list of features")?;
            return features(&found).map(Self::Features);
        }
        let Ok(text) = item.cast::<PyString>() else { return features(item).map(Self::Features) };
        let Some(tokenizer) = tokenizer else { return Ok(Self::Text(text.clone())) };
        const LIST: &str = "a tokenizer returns a list of tokens";
        let found = tokenizer.bind(py).call1((item,))?;
        refuse_text(&found, LIST)?;
        let wrong = |_| PyTypeError::new_err(format!("{LIST}, not {}", type_name(&found)));
        let tokens = found.try_iter().map_err(wrong)?;
        tokens.map(|token| bytes_of(&token?)).collect::<PyResult<_>>().map(Self::Tokens)
    }

    /// What of it is compared with others.
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

/// A text can be gone through, too, letter by letter: hardly what is meant.
fn refuse_text(found: &Bound<'_, PyAny>, instead: &str) -> PyResult<()> {
    if found.is_instance_of::<PyString>() || found.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!("{instead}, not {}", type_name(found))));
    }
    Ok(())
}

/// Hashes features by a function of the user's; remembers the first thing that went wrong.
pub struct Hasher<'a, 'py> {
    own: Option<&'a Bound<'py, PyAny>>,
    failed: Option<PyErr>,
}

impl<'a, 'py> Hasher<'a, 'py> {
    pub fn new(py: Python<'py>, own: &'a Own) -> Self {
        Self { own: own.0.as_ref().map(|hash| hash.bind(py)), failed: None }
    }

    /// Whether there is such a function.
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

    /// The fingerprint that was made, if nothing went wrong.
    pub fn finish(self, print: Option<Fingerprint<4>>) -> PyResult<Option<Fingerprint<4>>> {
        self.failed.map_or(Ok(print), Err)
    }
}

/// Says of which item something is wrong. What a function written in Python raised is handed on as it
/// is, with a note.
pub fn named(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let ours = error.is_instance_of::<PyException>(py) && error.traceback(py).is_none();
    if ours && let Ok(named) = error.get_type(py).call1((format!("{place}: {}", error.value(py)),))
    {
        return PyErr::from_value(named);
    }
    let note = format!("raised for {place}");
    // Every exception takes notes; if this one does not, it is told without.
    let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
    error
}
