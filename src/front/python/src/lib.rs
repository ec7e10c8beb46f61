//! The Python module: calls of Python to the engine, the store and the converter. Answers are dictionaries with the keys of
//! `schema/answers.md`, reports those of `schema/report.md`.

mod conversion;
mod files;
mod stores;
mod tables;

use std::path::PathBuf;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pyo3::create_exception!(
    foldsym,
    FoldsymError,
    PyException,
    "A file cannot be read, is damaged, or cannot be converted. The message is the command's.

>>> foldsym.SymbolFile(\"nowhere.fsym\")
Traceback (most recent call last):
foldsym.FoldsymError: nowhere.fsym: No such file or directory (os error 2)
"
);

fn failed(error: impl std::fmt::Display) -> PyErr {
    FoldsymError::new_err(error.to_string())
}

/// JSON to Python's own values.
fn loads<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // The engine writes the same JSON as for the command, so Python and the command have the same keys.
    py.import("json")?.call_method1("loads", (PyBytes::new(py, json),))
}

/// What a caller names: a path, or the bytes themselves.
enum Source {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

fn source(given: &Bound<'_, PyAny>) -> PyResult<Source> {
    // Only `bytes` are contents: a `str` and an object of `pathlib` are paths.
    match given.cast::<PyBytes>() {
        Ok(bytes) => Ok(Source::Bytes(bytes.as_bytes().to_vec())),
        Err(_) => Ok(Source::Path(given.extract()?)),
    }
}

#[pymodule]
fn _foldsym(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FoldsymError", module.py().get_type::<FoldsymError>())?;
    module.add_class::<files::SymbolFile>()?;
    module.add_class::<stores::Store>()?;
    module.add_class::<stores::Symbolizer>()?;
    module.add_class::<tables::RecordBatch>()?;
    module.add_function(wrap_pyfunction!(tables::symbolize_batch, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::convert, module)?)
}
