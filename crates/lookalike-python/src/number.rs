//! Checks numeric arguments. Errors name the argument and the permitted range.

use std::num::NonZeroU16;

use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyString},
};

use crate::error::exception;

macro_rules! numbers {
    ($($name:ident($number:ty): $allowed:literal, $class:literal;)*) => {
        $(
            #[derive(Clone, Copy)]
            pub struct $name(pub $number);

            impl<'py> FromPyObject<'_, 'py> for $name {
                type Error = PyErr;

                fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                    refuse_other(&given, $allowed)?;
                    given.extract().map(Self).map_err(|_| exception($class, &not(&given, $allowed)))
                }
            }
        )*
    };
}

// Further conditions that depend on other arguments or on data are checked where the number is used.
numbers! {
    Bits(u32): "bits must be 32, 64, 128 or 256", "FingerprintError";
    Blocks(u32): "blocks must be a number from 1 to 256", "PairsError";
    Distance(u32): "distance must be a number from 0 to 256", "PairsError";
    Limit(usize): "limit must be a number from 0 to sys.maxsize", "OptionError";
    Seed(u64): "seed must be a number from 0 to 2**64 - 1", "HashError";
    Threads(NonZeroU16): "threads must be a number from 1 to 65535, or None for all cores", "OptionError";
    Top(u32): "top must be a number from 0 (all) to 2**32 - 1", "RecipeError";
}

/// A number of bytes, or a size in the form of `--memory`.
#[derive(Clone, Copy)]
pub struct Memory(pub u64);

impl<'py> FromPyObject<'_, 'py> for Memory {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        const ALLOWED: &str =
            "memory must be 1 to 2**53 - 1 bytes, or a size such as \"512M\" or \"2GB\"";
        if !given.is_instance_of::<PyString>() {
            refuse_other(&given, ALLOWED)?;
        }
        let size = lookalike_jobs::size(&given.str()?.to_string_lossy());
        size.map(Self).map_err(|_| exception("OptionError", &not(&given, ALLOWED)))
    }
}

/// The id of an item in an index; `None` for a number that cannot be an id.
pub struct Id(pub Option<u32>);

impl<'py> FromPyObject<'_, 'py> for Id {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        refuse_other(&given, "an id must be a number")?;
        Ok(Self(given.extract().ok()))
    }
}

/// Refuses values that are not integers. `True` is an integer in Python, but hardly intended.
fn refuse_other(given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<()> {
    let is_number = given.hasattr(intern!(given.py(), "__index__"))?;
    if is_number && !given.is_instance_of::<PyBool>() {
        return Ok(());
    }
    Err(PyTypeError::new_err(not(given, allowed)))
}

fn not(given: &Bound<'_, PyAny>, allowed: &str) -> String {
    let given = given.repr().map_or_else(|_| "that".into(), |given| given.to_string());
    format!("{allowed}, not {given}")
}
