//! Tables of stacks, through the Arrow C data interface.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::failed;

/// Columns of answers, for any library that takes the Arrow C data interface: `pyarrow.record_batch(answers)`,
/// `polars.DataFrame(answers)`, `nanoarrow.Array(answers)`.
#[pyclass(frozen, module = "foldsym")]
pub(crate) struct RecordBatch {
    batch: arrow_array::RecordBatch,
}

#[pymethods]
impl RecordBatch {
    /// The schema as a PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(pyo3_arrow::ffi::to_schema_pycapsule(py, self.batch.schema().as_ref())?)
    }

    /// The schema and the columns as two PyCapsules.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The C data interface has no record batches: a batch is passed as a struct array, with a field for each column.
        let array = arrow_array::StructArray::from(self.batch.clone());
        let field = arrow_schema::Field::new_struct("", self.batch.schema().fields().clone(), false)
            .with_metadata(self.batch.schema().metadata().clone());
        let array: arrow_array::ArrayRef = Arc::new(array);
        Ok(pyo3_arrow::ffi::to_array_pycapsules(py, field.into(), &array, requested_schema)?)
    }

    /// A stream of this one batch as a PyCapsule.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Cloning a batch copies references to its columns, not their values.
        let batches = [Ok(self.batch.clone())];
        let reader = arrow_array::RecordBatchIterator::new(batches, self.batch.schema());
        Ok(pyo3_arrow::ffi::to_stream_pycapsule(
            py,
            Box::new(pyo3_arrow::ffi::ArrayIterator::new(
                reader.map(|batch| batch.map(|batch| Arc::new(arrow_array::StructArray::from(batch)) as _)),
                arrow_schema::Field::new_struct("", self.batch.schema().fields().clone(), false)
                    .with_metadata(self.batch.schema().metadata().clone())
                    .into(),
            )),
            requested_schema,
        )?)
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<foldsym.RecordBatch: {} rows of {:?}>", self.batch.num_rows(), self.column_names())
    }
}

/// The columns of a caller's table.
fn taken(py: Python<'_>, stacks: &Bound<'_, PyAny>) -> PyResult<arrow_array::RecordBatch> {
    // pyarrow can check columns, but a reader has none until its batches are read.
    let is_reader = is_of_pyarrow(stacks) && stacks.hasattr("read_all")?;
    let stacks = if is_reader { &stacks.call_method0("read_all")? } else { stacks };
    validate_sizes(stacks)?;
    // The library that imports columns panics where a schema does not fit its columns.
    let import = || -> PyResult<_> {
        if stacks.hasattr("__arrow_c_array__")? {
            let batch = stacks.extract::<pyo3_arrow::PyRecordBatch>()?.into_inner();
            // Another library wrote the offsets and keys, and Arrow's Rust code would index by them unchecked.
            py.detach(|| foldsym_table::validate(&batch)).map_err(damaged)?;
            return Ok(batch);
        }
        let (batches, schema) = stacks.extract::<pyo3_arrow::PyTable>()?.into_inner();
        py.detach(|| {
            // Several are copied into one, with the columns that are not read.
            let validate =
                if batches.len() > 1 { foldsym_table::validate_all } else { foldsym_table::validate };
            batches.iter().try_for_each(validate)?;
            foldsym_table::concat(&schema, &batches)
        })
        .map_err(damaged)
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(import)).unwrap_or_else(|_| {
        Err(PyValueError::new_err("the table is damaged: its Arrow schema does not fit its columns"))
    })
}

fn is_of_pyarrow(stacks: &Bound<'_, PyAny>) -> bool {
    stacks.get_type().module().is_ok_and(|module| module.to_string().starts_with("pyarrow."))
}

fn damaged(error: foldsym_table::TableError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Lets pyarrow check what only it knows: the C data interface does not tell how large buffers are. Its check without `full` takes the
/// same time for any number of rows.
fn validate_sizes(stacks: &Bound<'_, PyAny>) -> PyResult<()> {
    if !is_of_pyarrow(stacks) || !stacks.hasattr("column")? || !stacks.hasattr("schema")? {
        return Ok(());
    }
    let names: Vec<String> = stacks.getattr("schema")?.getattr("names")?.extract()?;
    for (at, name) in names.iter().enumerate() {
        stacks.call_method1("column", (at,))?.call_method0("validate").map_err(|error| {
            PyValueError::new_err(format!("column {name:?}: is damaged: {}", error.value(stacks.py())))
        })?;
    }
    Ok(())
}

/// Answers the stacks of a table, a row each: gives its columns and a column `symbols`. `schema/table.md` of the
/// source says what each column is.
///
/// `stacks` is anything with the Arrow C interface (`__arrow_c_array__` or `__arrow_c_stream__`): a record batch or a table of
/// pyarrow, a data frame of Polars, a result of DuckDB. `store` is a Symbolizer, a Store, or the folder of one. Without `dictionaries`
/// names are plain text; with `views` they are string views into one copy of each name. `fields` names the fields of the answers that are made, as `["function", "line"]`; without it all are.
/// With `signature` the columns `signature`, `signature_hash` and `signature_rules` have the bucket of each stack; `signature_rules` is a file
/// of rules of your own, its path or its bytes.
/// `threads` share the rows (0: one a core); the interpreter lock is free during the work.
///
/// A table is answered as one batch: of a large one give a part at a time, as `pyarrow.RecordBatchReader` does.
///
/// >>> import pyarrow
/// >>> store = foldsym.Store("symbols", create=True)
/// >>> id = store.add("demo.fsym")
/// >>> stacks = pyarrow.table({"module_id": [id], "frames": [[0x20129b, 0x201fbd, 0x201e8d, 0x2018f9]]})
/// >>> answers = pyarrow.record_batch(foldsym.symbolize_batch(stacks, store))
/// >>> answers["symbols"].to_pylist()[0][-1]["function"]
/// 'demo_main'
/// >>> answers = foldsym.symbolize_batch(stacks, store, fields=["function"], signature=True)
/// >>> answers = pyarrow.record_batch(answers)
/// >>> answers["signature"].to_pylist()[0].split(" | ")[0], answers["signature_rules"].to_pylist()
/// ('demo::print_address', ['1'])
#[pyfunction]
#[pyo3(signature = (
    stacks, store, *, dictionaries = true, threads = 1, fields = None, views = false, signature = false, signature_rules = None
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
#[expect(clippy::fn_params_excessive_bools, reason = "each is a keyword of Python")]
pub(crate) fn symbolize_batch(
    py: Python<'_>,
    stacks: &Bound<'_, PyAny>,
    store: &Bound<'_, PyAny>,
    dictionaries: bool,
    threads: usize,
    fields: Option<Vec<String>>,
    views: bool,
    signature: bool,
    signature_rules: Option<&Bound<'_, PyAny>>,
) -> PyResult<RecordBatch> {
    let rules = crate::rules(signature, signature_rules)?;
    let stacks = taken(py, stacks)?;
    let mut options = foldsym_table::TableOptions::default();
    (options.threads, options.signature) = (threads, rules.as_ref());
    options.text = match (views, dictionaries) {
        (true, _) => foldsym_table::TextKind::View,
        (false, true) => foldsym_table::TextKind::Dictionary,
        (false, false) => foldsym_table::TextKind::Plain,
    };
    if let Some(fields) = &fields {
        options.fields =
            foldsym_table::SymbolFields::of(fields.iter().map(String::as_str)).map_err(damaged)?;
    }
    let symbolizer = crate::stores::symbolizer(py, Some(store))?;
    let engine = &symbolizer.get().engine;
    // A panic that leaves this function is a `PanicException`, which `except Exception` does not catch.
    let batch = py.detach(|| {
        let work = || foldsym_table::symbolize_batch(engine, &stacks, options);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
    });
    let batch =
        batch.map_err(|_| failed("the table cannot be answered: a fault of foldsym, or damaged columns"))?;
    Ok(RecordBatch { batch: batch.map_err(damaged)? })
}
