//! The Python module: calls of Python to the engine, the store and the converter. Answers are dictionaries with the keys of
//! `schema/answers.md`, reports those of `schema/report.md`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldsym_convert::{NoProgress, Options};
use foldsym_store::{ModuleId, StoreOptions, SymbolMap};
use foldsym_symbolize::{Kind, Mapping, Module, Modules, Request, Stack, StackFrame};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};

pyo3::create_exception!(
    foldsym,
    FoldsymError,
    PyException,
    "A file cannot be read, is damaged, or cannot be converted."
);

fn failed(error: impl std::fmt::Display) -> PyErr {
    FoldsymError::new_err(error.to_string())
}

/// JSON to Python's own values.
fn loads<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (PyBytes::new(py, json),))
}

/// What a caller names: a path, or the bytes themselves.
enum Source {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

fn source(given: &Bound<'_, PyAny>) -> PyResult<Source> {
    match given.cast::<PyBytes>() {
        Ok(bytes) => Ok(Source::Bytes(bytes.as_bytes().to_vec())),
        Err(_) => Ok(Source::Path(given.extract()?)),
    }
}

fn open(source: Source) -> Result<Arc<SymbolMap>, String> {
    let name = Path::new("<bytes>");
    match source {
        Source::Path(path) => {
            let engine =
                foldsym_symbolize::Symbolizer::builder().build().map_err(|error| error.to_string())?;
            engine.load(&path).map_err(|error| error.to_string())
        }
        Source::Bytes(bytes) => {
            let mut file = bytes;
            if file.starts_with(b"\x7fELF") {
                let mut out = Vec::new();
                let options = Options { columns: true, ..Options::default() };
                foldsym_convert::convert_bytes(name, &file, &mut out, &options, &NoProgress)
                    .map_err(|error| error.to_string())?;
                file = out;
            }
            SymbolMap::of_bytes(name, file).map(Arc::new).map_err(|error| error.to_string())
        }
    }
}

/// The symbols of one program: a `.fsym` or a program, by its path or its bytes.
#[pyclass(frozen, module = "foldsym")]
struct SymbolFile {
    map: Arc<SymbolMap>,
    engine: Arc<foldsym_symbolize::Symbolizer>,
}

impl SymbolFile {
    fn of(map: Arc<SymbolMap>) -> PyResult<Self> {
        let engine = foldsym_symbolize::Symbolizer::builder().build().map_err(failed)?;
        Ok(Self { map, engine: Arc::new(engine) })
    }

    fn answer<'py>(
        &self,
        py: Python<'py>,
        frames: Vec<StackFrame>,
        bias: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let json = py.detach(|| {
            let name = self.map.path().to_string_lossy();
            let module = Module::new(&name).mapped(Mapping::Everywhere { bias }).with_file(self.map.clone());
            let stack = Stack::new(&Modules::new(vec![module]), frames);
            let mut json = Vec::new();
            self.engine.worker().write_json(&stack, &mut json);
            json
        });
        loads(py, &json)?.get_item("Frames")
    }
}

#[pymethods]
impl SymbolFile {
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let source = self::source(source)?;
        Self::of(py.detach(|| open(source)).map_err(failed)?)
    }

    /// The answer at one address, as `foldsym lookup --json` has it.
    #[pyo3(signature = (address, *, bias = 0))]
    fn lookup<'py>(&self, py: Python<'py>, address: u64, bias: u64) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, vec![StackFrame::exact(address)], bias)?.get_item(0)
    }

    /// The answers of a stack, innermost frame first. Without `kinds` the first address is exact and the others are return addresses.
    #[pyo3(signature = (addresses, kinds = None, *, bias = 0))]
    fn stack<'py>(
        &self,
        py: Python<'py>,
        addresses: Vec<Option<u64>>,
        kinds: Option<Vec<String>>,
        bias: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        if kinds.as_ref().is_some_and(|kinds| kinds.len() != addresses.len()) {
            return Err(PyValueError::new_err("kinds and addresses are not of one length"));
        }
        let frame = |(at, address): (usize, Option<u64>)| {
            let word = kinds.as_ref().map_or(if at == 0 { "exact" } else { "return" }, |kinds| &kinds[at]);
            let make = match word {
                "exact" => StackFrame::exact,
                "return" => StackFrame::returns_to,
                "adjusted" => StackFrame::adjusted,
                other => {
                    let message = format!("kind {other:?}: expected \"exact\", \"return\" or \"adjusted\"");
                    return Err(PyValueError::new_err(message));
                }
            };
            debug_assert!(matches!(make(0).kind, Kind::Exact | Kind::Return | Kind::Adjusted));
            Ok(address.map_or(StackFrame::UNKNOWN, make))
        };
        let frames = addresses.into_iter().enumerate().map(frame).collect::<PyResult<Vec<_>>>()?;
        self.answer(py, frames, bias)
    }

    /// The linkage names of functions that a name may be of: a linkage name, a readable one, or one without parameters.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        let found = py.detach(|| {
            let file = self.map.file();
            let mut query = foldsym_demangle::Query::new(name);
            let mut found = std::collections::BTreeSet::new();
            for id in (0..file.function_count()).map(foldsym_lookup::FunctionId) {
                let function = file.function(id)?;
                let mut names = Vec::from_iter(file.function_name(id)?);
                for alias in file.aliases(&function) {
                    names.push(alias?);
                }
                for id in names {
                    let mut text = Vec::new();
                    if file.names().visit(id.0, |piece| text.extend_from_slice(piece)).is_some()
                        && query.matches(&text)
                    {
                        found.insert(String::from_utf8_lossy(&text).into_owned());
                    }
                }
            }
            Ok::<_, foldsym_lookup::Error>(found.into_iter().collect())
        });
        found.map_err(|error| failed(format!("{}: damaged: {error}", self.map.path().display())))
    }

    /// What the file holds; the keys are those of `foldsym info --json`.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (file, facts) = (self.map.file(), PyDict::new(py));
        facts.set_item("BuildId", self.map.build_id().map(|id| id.to_string()))?;
        facts.set_item("ImageBase", format!("{:#x}", file.image_base().0))?;
        facts.set_item("Machine", file.header().machine)?;
        facts.set_item("Size", file.header().file_len)?;
        facts.set_item("Pieces", file.piece_count())?;
        facts.set_item("Functions", file.function_count())?;
        facts.set_item("Groups", file.group_count())?;
        Ok(facts)
    }
}

/// A folder of `.fsym` files by build id.
#[pyclass(frozen, module = "foldsym")]
struct Store {
    inner: foldsym_store::Store,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (location, *, create = false))]
    fn new(location: PathBuf, create: bool) -> PyResult<Self> {
        let location = location.to_str().ok_or_else(|| PyValueError::new_err("the location is not UTF-8"))?;
        let open = if create { foldsym_store::Store::create } else { foldsym_store::Store::open };
        Ok(Self { inner: open(location, StoreOptions::default()).map_err(failed)? })
    }

    /// The file of a build id or debug id; None where the store has none.
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<Option<SymbolFile>> {
        let id = ModuleId::parse(id).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let found = py.detach(|| self.inner.get_module(&id)).map_err(failed)?;
        found.map(|map| SymbolFile::of(Arc::new(map))).transpose()
    }

    /// Publishes a `.fsym` under the build id inside it, which is given back.
    fn add(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        let foldsym_store::Store::Local(store) = &self.inner else {
            return Err(PyValueError::new_err("only a folder takes files"));
        };
        let added = py.detach(|| store.add(&path, &foldsym_store::EntryInfo::default()));
        Ok(added.map_err(failed)?.id().to_string())
    }
}

/// Answers stacks over many modules, whose files it finds in stores and search paths.
#[pyclass(frozen, module = "foldsym")]
struct Symbolizer {
    engine: foldsym_symbolize::Symbolizer,
}

#[pymethods]
impl Symbolizer {
    #[new]
    #[pyo3(signature = (stores = Vec::new(), search = Vec::new(), *, candidates = true, demangle = true))]
    fn new(
        stores: Vec<PyRef<'_, Store>>,
        search: Vec<PathBuf>,
        candidates: bool,
        demangle: bool,
    ) -> PyResult<Self> {
        let builder = foldsym_symbolize::Symbolizer::builder().search(search);
        let builder = builder.candidates(candidates).demangle(demangle);
        let builder = stores.iter().fold(builder, |builder, store| builder.store(store.inner.clone()));
        Ok(Self { engine: builder.build().map_err(failed)? })
    }

    /// The answers of one stack. `frames` and `modules` are as in a request of `foldsym stack --store`.
    fn stack<'py>(
        &self,
        py: Python<'py>,
        frames: &Bound<'py, PyAny>,
        modules: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = PyDict::new(py);
        request.set_item("frames", frames)?;
        request.set_item("modules", modules)?;
        let json: String = py.import("json")?.call_method1("dumps", (request,))?.extract()?;
        let answer = py.detach(|| {
            let json = serde_json::from_str(&json).map_err(|error| error.to_string())?;
            let request = Request::parse(&json, None).map_err(|error| error.to_string())?;
            let mut out = Vec::new();
            self.engine.worker().write_json(&Stack::new(&request.modules, request.frames), &mut out);
            Ok::<_, String>(out)
        });
        loads(py, &answer.map_err(PyValueError::new_err)?)?.get_item("Frames")
    }
}

/// Writes a file under another name in its folder, and then gives it its own: a reader sees the old file or the whole new one.
fn put_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".foldsym-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0o644, |old| old.permissions().mode());
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Converts a program, a path or bytes, into the file `output`. Gives the report, with the keys of `schema/report.md`.
#[pyfunction]
#[pyo3(signature = (source, output, *, columns = false, name_index = false, threads = 0))]
fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: PathBuf,
    columns: bool,
    name_index: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let source = self::source(source)?;
    let options = Options { columns, name_index, threads, ..Options::default() };
    let report = py.detach(|| match &source {
        Source::Path(path) => {
            foldsym_convert::convert(path, &output, &options, &NoProgress).map_err(|error| error.to_string())
        }
        Source::Bytes(bytes) => {
            let mut out = Vec::new();
            let name = Path::new("<bytes>");
            let report = foldsym_convert::convert_bytes(name, bytes, &mut out, &options, &NoProgress)
                .map_err(|error| error.to_string())?;
            put_whole(&output, &out).map_err(|error| format!("{}: {error}", output.display()))?;
            Ok(report)
        }
    });
    loads(py, report.map_err(failed)?.to_json().to_string().as_bytes())
}

/// Columns of answers, for any library that takes the Arrow C data interface: `pyarrow.record_batch(answers)`.
#[pyclass(frozen, module = "foldsym")]
struct RecordBatch {
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

/// Answers the stacks of a table, a row each: gives its columns and a column `symbols`. `schema/table.md` of the
/// source says what each column is.
///
/// `stacks` is anything with the Arrow C interface (`__arrow_c_array__` or `__arrow_c_stream__`): a record batch or a table of
/// pyarrow, a data frame of Polars, a result of DuckDB. `store` is a Symbolizer, a Store, or the folder of one. Without `dictionaries`
/// names are plain text. The interpreter lock is free during the work.
#[pyfunction]
#[pyo3(signature = (stacks, store, *, dictionaries = true))]
fn symbolize_batch(
    py: Python<'_>,
    stacks: &Bound<'_, PyAny>,
    store: &Bound<'_, PyAny>,
    dictionaries: bool,
) -> PyResult<RecordBatch> {
    let stacks = match stacks.hasattr("__arrow_c_array__")? {
        true => stacks.extract::<pyo3_arrow::PyRecordBatch>()?.into_inner(),
        false => {
            let (batches, schema) = stacks.extract::<pyo3_arrow::PyTable>()?.into_inner();
            foldsym_table::concat(&schema, &batches).map_err(failed)?
        }
    };
    let mut options = foldsym_table::TableOptions::default();
    options.dictionaries = dictionaries;
    let symbolizer = match store.cast::<Symbolizer>() {
        Ok(symbolizer) => symbolizer.clone(),
        Err(_) => {
            let store = match store.cast::<Store>() {
                Ok(store) => store.get().inner.clone(),
                Err(_) => Store::new(store.extract()?, false)?.inner,
            };
            let engine = foldsym_symbolize::Symbolizer::builder().store(store).build().map_err(failed)?;
            Bound::new(py, Symbolizer { engine })?
        }
    };
    let engine = &symbolizer.get().engine;
    let batch = py.detach(|| foldsym_table::symbolize_batch(engine, &stacks, options));
    Ok(RecordBatch { batch: batch.map_err(|error| PyValueError::new_err(error.to_string()))? })
}

#[pymodule]
fn _foldsym(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FoldsymError", module.py().get_type::<FoldsymError>())?;
    module.add_class::<SymbolFile>()?;
    module.add_class::<Store>()?;
    module.add_class::<Symbolizer>()?;
    module.add_class::<RecordBatch>()?;
    module.add_function(wrap_pyfunction!(symbolize_batch, module)?)?;
    module.add_function(wrap_pyfunction!(convert, module)?)
}
