//! The Python module: calls of Python to the engine, the store and the converter. Answers are dictionaries with the keys of
//! `schema/answers.md`, reports those of `schema/report.md`.

mod conversion;
mod files;
mod reports;
mod stores;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use foldsym_symbolize::{Rules, RulesError, rules_of};
use pyo3::exceptions::{PyException, PyValueError};
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

/// The rules of signatures: the built-in ones, and those of a file (a path, or its bytes). `None` where no signatures are wanted.
fn rules(signature: bool, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<Rules>>> {
    let wrong = |error: RulesError| match error {
        RulesError::Rule(error) => PyValueError::new_err(error.to_string()),
        error => failed(error),
    };
    let rules = match (signature, given.map(source).transpose()?) {
        (false, None) => return Ok(None),
        (false, Some(_)) => return Err(PyValueError::new_err("signature_rules without signature=True")),
        (true, None) => Rules::shipped(),
        (true, Some(Source::Path(path))) => rules_of(Some(&path)).map_err(wrong)?,
        (true, Some(Source::Bytes(bytes))) => {
            let text = std::str::from_utf8(&bytes)
                .map_err(|_| PyValueError::new_err("signature_rules: not UTF-8"))?;
            Rules::shipped().with("<bytes>", text).map_err(|error| wrong(RulesError::Rule(error)))?
        }
    };
    Ok(Some(Arc::new(rules)))
}

#[pymodule]
fn _foldsym(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FoldsymError", module.py().get_type::<FoldsymError>())?;
    module.add_class::<files::SymbolFile>()?;
    module.add_class::<stores::Store>()?;
    module.add_class::<stores::Symbolizer>()?;
    module.add_class::<tables::RecordBatch>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(reports::read_report, module)?)?;
    module.add_function(wrap_pyfunction!(tables::symbolize_batch, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::convert, module)?)
}
