//! Converts rows in memory: Arrow tables without copying, lists column by column.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    builder::{Float64Builder, ListBuilder, StringBuilder, StructBuilder},
};
use arrow_schema::{DataType, Field, Fields};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyFloat, PyInt, PyString},
};

use crate::{arrow, features::named_features, texts::is_missing};

/// A table: Arrow data, or columns, each a name and a list.
pub fn rows(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    if let Some(batches) = arrow::batches(table)? {
        return Ok(batches);
    }
    let columns: Vec<(String, Vec<Bound<'_, PyAny>>)> = table.extract()?;
    let columns = columns.iter().map(|(name, values)| Ok((name, column(values)?)));
    let columns: Vec<(&String, ArrayRef)> = columns.collect::<PyResult<_>>()?;
    let batch = RecordBatch::try_from_iter(columns);
    batch.map(|batch| vec![batch]).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Texts, whole numbers, numbers or features: what the values are.
fn column(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let known = || values.iter().filter(|value| !is_missing(value));
    let all = |is: fn(&Bound<'_, PyAny>) -> bool| known().all(is);
    if all(|value| value.is_instance_of::<PyString>()) {
        return Ok(texts(values));
    }
    if all(|value| value.extract::<i64>().is_ok() && value.is_instance_of::<PyInt>()) {
        let numbers = values.iter().map(|value| value.extract::<i64>().ok());
        return Ok(Arc::new(numbers.collect::<Int64Array>()));
    }
    if all(|value| value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>()) {
        let numbers = values.iter().map(|value| value.extract::<f64>().ok());
        return Ok(Arc::new(numbers.collect::<Float64Array>()));
    }
    if known().any(|value| value.is_instance_of::<PyString>()) {
        return strings(values);
    }
    if all(|value| value.try_iter().is_ok()) { features(values) } else { strings(values) }
}

fn texts(values: &[Bound<'_, PyAny>]) -> ArrayRef {
    let text = |value: &Bound<'_, PyAny>| {
        Some(value.cast::<PyString>().ok()?.to_string_lossy().into_owned())
    };
    Arc::new(values.iter().map(text).collect::<LargeStringArray>())
}

/// Values of several types, as text.
fn strings(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let text = |value: &Bound<'_, PyAny>| match is_missing(value) {
        true => Ok(None),
        false => value.str().map(|text| Some(text.to_string_lossy().into_owned())),
    };
    let texts: Vec<Option<String>> = values.iter().map(text).collect::<PyResult<_>>()?;
    Ok(Arc::new(texts.into_iter().collect::<LargeStringArray>()))
}

fn features(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let fields = Fields::from(vec![
        Field::new("feature", DataType::Utf8, false),
        Field::new("weight", DataType::Float64, false),
    ]);
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, values.len()));
    for value in values {
        if is_missing(value) {
            lists.append_null();
            continue;
        }
        for (feature, weight) in named_features(value)? {
            let pair = lists.values();
            field::<StringBuilder>(pair, 0).append_value(feature);
            field::<Float64Builder>(pair, 1).append_value(weight);
            pair.append(true);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

fn field<T: arrow_array::builder::ArrayBuilder>(pair: &mut StructBuilder, number: usize) -> &mut T {
    pair.field_builder(number).expect("both fields were made of these types")
}
