//! Converts fingerprints: one as an int, many as 64-bit words in a buffer.

use bytemuck::allocation::cast_vec;
use lookalike::{Fingerprint, Width, fingerprint::FingerprintError};
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyByteArray, PyInt, PyList},
};

use crate::error::OrRaise;

/// Compiles `$body` for each number of words, and runs that of `$words`.
macro_rules! for_words {
    ($words:expr, $W:ident => $body:expr) => {
        match $words {
            1 => {
                const $W: usize = 1;
                $body
            }
            2 => {
                const $W: usize = 2;
                $body
            }
            _ => {
                const $W: usize = 4;
                $body
            }
        }
    };
}
pub(crate) use for_words;

/// A width from a number of bits.
pub fn width(bits: u32) -> PyResult<Width> {
    Width::from_bits(bits).or_raise()
}

/// A fingerprint as an int.
pub fn to_int<'py, const WORDS: usize>(
    py: Python<'py>,
    print: Fingerprint<WORDS>,
) -> PyResult<Bound<'py, PyAny>> {
    match print.0.as_slice() {
        [word] => Ok(word.into_pyobject(py)?.into_any()),
        _ => {
            let from_bytes = py.get_type::<PyInt>().getattr(intern!(py, "from_bytes"))?;
            from_bytes.call1((print.to_le_bytes().as_slice(), intern!(py, "little")))
        }
    }
}

/// A fingerprint from any integer.
pub fn from_int<const WORDS: usize>(
    number: &Bound<'_, PyAny>,
    width: Width,
) -> PyResult<Fingerprint<WORDS>> {
    let py = number.py();
    let too_wide = |_| {
        let text = number.str().map_or_else(|_| "the number".into(), |text| text.to_string());
        Err(FingerprintError::TooWide { text, bits: width.bits() }).or_raise()
    };
    let is_overflow = |error: &PyErr| error.is_instance_of::<PyOverflowError>(py);
    let mut print = Fingerprint::ZERO;
    if WORDS == 1 {
        match number.extract::<u64>() {
            Ok(word) => print.0[0] = word,
            Err(error) if is_overflow(&error) => return too_wide(error),
            Err(_) => return Err(no_fingerprint(number)),
        }
    } else {
        let index = number.call_method0(intern!(py, "__index__"));
        let index = index.map_err(|_| no_fingerprint(number))?;
        let bytes = index.call_method1(intern!(py, "to_bytes"), (8 * WORDS, intern!(py, "little")));
        match bytes {
            Ok(bytes) => {
                let bytes: Vec<u8> = bytes.extract()?;
                print =
                    Fingerprint::from_le_bytes(&bytes).expect("as many bytes as were asked for");
            }
            Err(error) if is_overflow(&error) => return too_wide(error),
            Err(error) => return Err(error),
        }
    }
    if (width.bits()..Fingerprint::<WORDS>::BITS).any(|bit| print.bit(bit)) {
        return too_wide(PyOverflowError::new_err(""));
    }
    Ok(print)
}

fn no_fingerprint(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name();
    let name = name.map_or_else(|_| "that".into(), |name| name.to_string());
    PyTypeError::new_err(format!("a fingerprint must be an int, not {name}"))
}

/// Many fingerprints: a list of ints, or a buffer of 64-bit words in C order.
pub fn many<const WORDS: usize>(
    prints: &Bound<'_, PyAny>,
    width: Width,
) -> PyResult<Vec<Fingerprint<WORDS>>> {
    if let Ok(list) = prints.cast::<PyList>() {
        return list.iter().map(|number| from_int(&number, width)).collect();
    }
    let buffer = PyBuffer::<u64>::get(prints)?;
    if !buffer.item_count().is_multiple_of(WORDS) {
        let (words, count) = (WORDS, buffer.item_count());
        return Err(PyValueError::new_err(format!(
            "{count} words cannot be split into fingerprints of {words}"
        )));
    }
    Ok(cast_vec(buffer.to_vec(prints.py())?))
}

/// Numbers as bytes, for NumPy or a memoryview.
pub fn to_bytes<'py, T: bytemuck::NoUninit>(
    py: Python<'py>,
    numbers: &[T],
) -> PyResult<Bound<'py, PyByteArray>> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    PyByteArray::new_with(py, bytes.len(), |target| {
        target.copy_from_slice(bytes);
        Ok(())
    })
}
