//! Extracts features from Python objects: a dict of weights, a list of features, or of pairs.

use lookalike::{hash::FeatureHash, recipe::Piece};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyDict, PyInt, PyMapping, PyString},
};

/// A feature.
pub enum Feature {
    Bytes(Vec<u8>),
    /// An int: its own hash.
    Hash(u64),
}

impl Feature {
    /// Its identity when sets are compared.
    pub fn identity(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => mix(bytes),
            Self::Hash(hash) => mix(&hash.to_le_bytes()),
        }
    }
}

impl<'a> From<&'a Feature> for Piece<'a> {
    fn from(feature: &'a Feature) -> Self {
        match feature {
            Feature::Bytes(bytes) => Self::Bytes(bytes),
            Feature::Hash(hash) => Self::Hash(*hash),
        }
    }
}

/// The hash by which features of sets are compared.
pub fn mix(bytes: &[u8]) -> u64 {
    FeatureHash::Mix.hash(0, bytes)
}

/// The features of an object with their weights; 1 if none is given.
pub fn features(object: &Bound<'_, PyAny>) -> PyResult<Vec<(Feature, f64)>> {
    let mut found = Vec::new();
    each_feature(object, &mut |feature, weight| {
        found.push((read(feature)?, weight));
        Ok(())
    })?;
    Ok(found)
}

/// Features as the command line reads them: names and weights.
pub fn named_features(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let mut named = Vec::new();
    each_feature(object, &mut |feature, weight| {
        named.push((feature.str()?.to_string_lossy().into_owned(), weight));
        Ok(())
    })?;
    Ok(named)
}

/// The bytes of a token or a feature.
pub fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_string_lossy().as_bytes().to_vec());
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let name = type_name(object);
    Err(PyTypeError::new_err(format!(
        "a feature must be a str, bytes or an int (its hash), not {name}"
    )))
}

/// The lowest 64 bits of an int.
pub fn low_word(number: &Bound<'_, PyAny>) -> PyResult<u64> {
    match number.extract::<u64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => {
            number.call_method1("__and__", (u64::MAX,))?.extract()
        }
        extracted => extracted.map_err(|_| {
            PyTypeError::new_err(format!("a hash must be an int, not {}", type_name(number)))
        }),
    }
}

/// The type of an object, for messages.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "that".into(), |name| name.to_string())
}

fn read(feature: &Bound<'_, PyAny>) -> PyResult<Feature> {
    if feature.is_instance_of::<PyInt>() {
        return low_word(feature).map(Feature::Hash);
    }
    bytes_of(feature).map(Feature::Bytes)
}

fn each_feature<'py>(
    object: &Bound<'py, PyAny>,
    on_feature: &mut dyn FnMut(&Bound<'py, PyAny>, f64) -> PyResult<()>,
) -> PyResult<()> {
    if let Ok(weights) = object.cast::<PyDict>() {
        return weights
            .iter()
            .try_for_each(|(feature, weight)| on_feature(&feature, number(&weight)?));
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        return each_feature(mapping.items()?.as_any(), on_feature);
    }
    let wrong = || {
        PyTypeError::new_err(format!(
            "an item must be a text or features (a dict, a list of features, or of (feature, weight)), not {}",
            type_name(object)
        ))
    };
    // Bytes are iterable as numbers, which is hardly intended.
    if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
        return Err(wrong());
    }
    for item in object.try_iter().map_err(|_| wrong())? {
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
    // Other objects are refused as features.
    let Ok(items) = item.try_iter() else { return Ok(None) };
    let two: Vec<Bound<'py, PyAny>> = items.collect::<PyResult<_>>()?;
    match two.as_slice() {
        [feature, weight] => Ok(Some((feature.clone(), number(weight)?))),
        _ => Err(PyTypeError::new_err(format!("{item} is not a (feature, weight) pair"))),
    }
}

fn number(weight: &Bound<'_, PyAny>) -> PyResult<f64> {
    weight.extract().map_err(|_| {
        PyTypeError::new_err(format!("a weight must be a number, not {}", type_name(weight)))
    })
}
