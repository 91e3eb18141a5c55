//! Reads Arrow data through the C interface, in capsules, without copying columns.
//!
//! Any object with `__arrow_c_stream__` or `__arrow_c_array__` is accepted, from any library.
#![expect(unsafe_code, reason = "the C interface hands over structs behind pointers")]

use std::ffi::CStr;

use arrow_array::{
    ArrayRef, RecordBatch, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type},
    ffi_stream::FFI_ArrowArrayStream,
    make_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyCapsule, PyTuple},
};

/// The chunks of a column, or of a table as a struct array; `None` if this is not Arrow data.
pub fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    let py = object.py();
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let capsule = object.call_method0(intern!(py, "__arrow_c_stream__"))?;
        return read_stream(capsule.cast()?).map(Some);
    }
    if object.hasattr(intern!(py, "__arrow_c_array__"))? {
        let capsules = object.call_method0(intern!(py, "__arrow_c_array__"))?;
        let capsules = capsules.cast::<PyTuple>()?;
        return read_array(capsules).map(|array| Some(vec![array]));
    }
    Ok(None)
}

/// The chunks of a table; `None` if this is not Arrow data.
pub fn batches(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<RecordBatch>>> {
    let Some(chunks) = chunks(object)? else { return Ok(None) };
    let batch = |chunk: ArrayRef| match chunk.as_any().downcast_ref::<StructArray>() {
        Some(rows) => Ok(RecordBatch::from(rows.clone())),
        None => {
            let what = chunk.data_type();
            Err(PyTypeError::new_err(format!("expected a table, not a column of {what}")))
        }
    };
    chunks.into_iter().map(batch).collect::<PyResult<_>>().map(Some)
}

fn read_array(capsules: &Bound<'_, PyTuple>) -> PyResult<ArrayRef> {
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    let schema = pointer::<FFI_ArrowSchema>(schema.cast()?, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(array.cast()?, c"arrow_array")?;
    // SAFETY: capsules of these names hold structs of these types, alive as long as they are; the
    // array is moved out and marked as such, so that the capsule does not release it again.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array), &*schema) };
    checked(data)
}

/// An array from another library, after validation: texts in UTF-8, offsets and keys within bounds.
/// Safe code relies on that, and nothing else checks it.
fn checked(data: Result<ArrayData, ArrowError>) -> PyResult<ArrayRef> {
    let mut data = data.map_err(refused)?;
    data.align_buffers();
    data.validate_full().map_err(refused)?;
    Ok(make_array(data))
}

fn read_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<ArrayRef>> {
    let stream = pointer::<FFI_ArrowArrayStream>(capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name holds such a struct; it is moved out and marked as such.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(PyValueError::new_err("this Arrow stream has already been read"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, and both pointers are to structs of ours.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    check(code, &mut stream)?;
    let kind = DataType::try_from(&schema).map_err(refused)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        check(code, &mut stream)?;
        if array.is_released() {
            return Ok(chunks);
        }
        // SAFETY: the stream promises arrays of its schema's type.
        let data = unsafe { from_ffi_and_data_type(array, kind.clone()) };
        chunks.push(checked(data)?);
    }
}

/// The pointer in a capsule of this name.
fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<*mut T> {
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

/// Raises the error of a stream.
fn check(code: i32, stream: &mut FFI_ArrowArrayStream) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: after an error, and before any other call, the stream may be asked for it; the text
    // it points to is its own until then.
    let said = stream.get_last_error.and_then(|last| unsafe {
        let text = last(std::ptr::from_mut(stream));
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    });
    let said = said.unwrap_or_else(|| format!("error {code}"));
    Err(PyValueError::new_err(format!("the Arrow stream failed: {said}")))
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(format!("this Arrow data cannot be read: {error}"))
}
