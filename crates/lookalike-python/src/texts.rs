//! Reads texts from lists, iterators and Arrow columns, in batches large enough for all threads and
//! small enough to stop between them.

use std::borrow::Cow;

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use lookalike::{Fingerprint, Recipe, recipe::Fingerprinter};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyFloat, PyIterator, PyString},
};
use rayon::prelude::*;

use crate::{arrow, own::named};

/// The maximum number of items and bytes in a batch.
const ITEMS: usize = 1 << 14;
const BYTES: usize = 1 << 23;

/// The minimum number of items per thread.
const SHARE: usize = 16;

/// The source of texts.
pub enum Texts<'py> {
    Arrow(Vec<ArrayRef>),
    Objects(Bound<'py, PyIterator>),
}

/// Consecutive items.
pub struct Batch<'a>(Vec<Entry<'a>>);

enum Entry<'a> {
    Text(Cow<'a, str>),
    /// Features, and the results of custom functions, are fingerprinted while they are read.
    Made(Option<Fingerprint<4>>),
}

impl Batch<'_> {
    /// The fingerprint of each item, on all threads.
    pub fn fingerprints(&self, recipe: &Recipe) -> Vec<Option<Fingerprint<4>>> {
        let make = |fingerprinter: &mut Fingerprinter<'_>, entry: &Entry<'_>| match entry {
            Entry::Text(text) => fingerprinter.text(text),
            Entry::Made(print) => *print,
        };
        let items = self.0.par_iter().with_min_len(SHARE);
        items.map_init(|| recipe.fingerprinter(), make).collect()
    }
}

impl<'py> Texts<'py> {
    pub fn of(items: &Bound<'py, PyAny>) -> PyResult<Self> {
        match arrow::chunks(items)? {
            Some(chunks) => Ok(Self::Arrow(chunks)),
            None => Ok(Self::Objects(items.try_iter()?)),
        }
    }

    /// Calls back with all items in order. `make` fingerprints items that are not texts, or all items.
    pub fn each_batch(
        self,
        make_all: bool,
        make: impl Fn(&Bound<'py, PyAny>) -> PyResult<Option<Fingerprint<4>>>,
        mut on_batch: impl FnMut(Batch<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        match self {
            Self::Arrow(chunks) => {
                for chunk in &chunks {
                    for first in (0..chunk.len()).step_by(ITEMS) {
                        let piece = chunk.slice(first, ITEMS.min(chunk.len() - first));
                        on_batch(Batch(column(&piece)?))?;
                    }
                }
                Ok(())
            }
            Self::Objects(mut iterator) => {
                let mut row = 0;
                loop {
                    let objects = next_objects(&mut iterator)?;
                    if objects.is_empty() {
                        return Ok(());
                    }
                    let mut entries = Vec::with_capacity(objects.len());
                    for object in &objects {
                        let entry = match object.cast::<PyString>() {
                            // Text that is not valid Unicode is replaced, as the command line does.
                            Ok(text) if !make_all => Ok(Entry::Text(text.to_string_lossy())),
                            _ if is_missing(object) => Ok(Entry::Made(None)),
                            _ => make(object).map(Entry::Made),
                        };
                        let place = |error| named(object.py(), error, &format!("row {row}"));
                        entries.push(entry.map_err(place)?);
                        row += 1;
                    }
                    on_batch(Batch(entries))?;
                }
            }
        }
    }
}

/// The next batch of objects.
fn next_objects<'py>(iterator: &mut Bound<'py, PyIterator>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut objects = Vec::new();
    let mut bytes = 0;
    while objects.len() < ITEMS && bytes < BYTES {
        let Some(object) = iterator.next() else { break };
        let object = object?;
        bytes += object.cast::<PyString>().map_or(0, |text| text.len().unwrap_or(0));
        objects.push(object);
    }
    Ok(objects)
}

/// `None`, or pandas' markers for a missing value.
#[pyfunction]
pub fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan())
        || object.get_type().name().is_ok_and(|name| name == "NAType")
}

fn column(array: &ArrayRef) -> PyResult<Vec<Entry<'_>>> {
    fn entries<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<Entry<'a>> {
        texts.map(|text| text.map_or(Entry::Made(None), |text| Entry::Text(text.into()))).collect()
    }
    Ok(match array.data_type() {
        DataType::Utf8 => entries(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => entries(array.as_string::<i64>().iter()),
        DataType::Utf8View => entries(array.as_string_view().iter()),
        DataType::Null => entries((0..array.len()).map(|_| None)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = column(dictionary.values())?;
            let text = |key: usize| match &values[key] {
                Entry::Text(Cow::Borrowed(text)) => Some(*text),
                _ => None,
            };
            let keys = dictionary.normalized_keys();
            entries(
                keys.into_iter().enumerate().map(
                    |(row, key)| {
                        if array.is_null(row) { None } else { text(key) }
                    },
                ),
            )
        }
        DataType::Struct(_) => {
            return Err(PyTypeError::new_err(
                "expected a column, not a table; pass one of its columns",
            ));
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "expected a column of texts, not of {other}"
            )));
        }
    })
}
