//! Folders of symbol files, and the engine that answers stacks from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldsym_convert::{NoProgress, Options};
use foldsym_store::{EntryInfo, ModuleId, StoreError, StoreOptions};
use foldsym_symbolize::into_store::{IntoStoreError, convert_into, entry_of};
use foldsym_symbolize::{GivenStack, Requests, Signing, Stack};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::files::SymbolFile;
use crate::{failed, loads};

/// A folder of `.fsym` files by build id.
///
/// >>> store = foldsym.Store("symbols", create=True)
/// >>> id = store.add("demo.fsym")
/// >>> store.get(id).info()["BuildId"] == id
/// True
#[pyclass(frozen, module = "foldsym")]
pub(crate) struct Store {
    pub(crate) inner: foldsym_store::Store,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (location, *, create = false))]
    pub(crate) fn new(location: PathBuf, create: bool) -> PyResult<Self> {
        let location = location.to_str().ok_or_else(|| PyValueError::new_err("the location is not UTF-8"))?;
        let open = if create { foldsym_store::Store::create } else { foldsym_store::Store::open };
        Ok(Self { inner: open(location, StoreOptions::default()).map_err(failed)? })
    }

    /// The file of a build id or debug id; None where the store has none.
    ///
    /// >>> foldsym.Store("symbols", create=True).get("11" * 20) is None
    /// True
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<Option<SymbolFile>> {
        let id = ModuleId::parse(id).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let found = py.detach(|| self.inner.get_module(&id)).map_err(failed)?;
        found.map(|map| SymbolFile::of(Arc::new(map))).transpose()
    }

    /// Publishes a `.fsym` under the build id inside it, which is given back. A file that is there already stays.
    ///
    /// >>> len(foldsym.Store("symbols", create=True).add("demo.fsym"))
    /// 40
    fn add(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        let info = EntryInfo::default();
        let added = py.detach(|| match &self.inner {
            foldsym_store::Store::Local(store) => store.add(&path, &info),
            store => store.publish(&info, |to| {
                let failed = |error| StoreError::Io { path: path.clone(), doing: "copy", error };
                std::fs::copy(&path, to).map(drop).map_err(failed)
            }),
        });
        Ok(added.map_err(failed)?.id().to_string())
    }

    /// Converts a program into the store, unless the store has all of it, and gives the build id. A file that has more of the program
    /// stays. A program without a build id gets the one that `foldsym convert --store` derives from its contents.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> store.get(store.convert("demo.elf")).info()["BuildId"] == store.add("demo.fsym")
    /// True
    #[pyo3(signature = (program, *, threads = 0))]
    fn convert(&self, py: Python<'_>, program: PathBuf, threads: usize) -> PyResult<String> {
        py.detach(|| self.converted(&program, threads)).map_err(failed)
    }
}

impl Store {
    fn converted(&self, program: &Path, threads: usize) -> Result<String, IntoStoreError> {
        let options = Options::default().with(|options| options.threads = threads);
        let identity = foldsym_convert::identify(program, &options)?;
        let (id, mut info) = entry_of(&identity).map_err(StoreError::from)?;
        info.name = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
        // A program of which the store has everything is only identified. Of two files the better one stays.
        convert_into(&self.inner, (program, &id), info, (&options, false), &NoProgress)?;
        Ok(id.to_string())
    }
}

/// Answers stacks over many modules, whose files it finds in stores and search paths. It keeps files open, and may be used by
/// several threads.
///
/// >>> engine = foldsym.Symbolizer(search=["demo.fsym"])
/// >>> [answer] = engine.stack([0x20129b], [{"name": "demo", "base": 0x200000}])
/// >>> answer["ModuleName"]
/// 'demo'
#[pyclass(frozen, module = "foldsym")]
pub(crate) struct Symbolizer {
    pub(crate) engine: foldsym_symbolize::Symbolizer,
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
    ///
    /// >>> engine = foldsym.Symbolizer(search=["demo.fsym"])
    /// >>> [answer] = engine.stack([0x1010], [{"id": "11" * 20, "name": "other", "base": 0x1000}])
    /// >>> answer["ModuleName"], answer["Unknown"]["Kind"]
    /// ('other', 'absent')
    ///
    /// With `signature` it gives a dictionary of the answers (`Frames`) and the bucket of the stack (`Signature`). `signature_rules` is a
    /// file of rules, its path or its bytes.
    ///
    /// >>> engine = foldsym.Symbolizer(search=["demo.fsym"])
    /// >>> stack = engine.stack([0x20129b, 0x201fbd], [{"name": "demo", "base": 0x200000}], signature=True)
    /// >>> stack["Signature"]["Text"].split(" | ")[0], len(stack["Signature"]["Hash"]), len(stack["Frames"])
    /// ('demo::print_address', 16, 2)
    #[pyo3(signature = (frames, modules, *, signature = false, signature_rules = None))]
    fn stack<'py>(
        &self,
        py: Python<'py>,
        frames: &Bound<'py, PyAny>,
        modules: &Bound<'py, PyAny>,
        signature: bool,
        signature_rules: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rules = crate::rules(signature, signature_rules)?;
        if rules.is_some() && !self.engine.lists_candidates() {
            return Err(PyValueError::new_err("signature=True needs a Symbolizer with candidates"));
        }
        let request = PyDict::new(py);
        request.set_item("frames", frames)?;
        request.set_item("modules", modules)?;
        // The request goes through JSON, so that Python accepts every form that the command accepts.
        let json: String = py.import("json")?.call_method1("dumps", (request,))?.extract()?;
        let answer = py.detach(|| {
            let given = GivenStack::parse(json.as_bytes()).map_err(|error| error.to_string())?;
            let request = Requests::default().parse(&given, None).map_err(|error| error.to_string())?;
            let mut out = Vec::new();
            let stack = Stack::new(&request.modules, request.frames);
            // A worker belongs to one thread. The engine, which all threads share, keeps the files open.
            let mut worker = self.engine.worker();
            match rules {
                Some(rules) => worker.write_signed_json(&stack, &mut Signing::new(rules), &mut out),
                None => worker.write_json(&stack, &mut out),
            }
            Ok::<_, String>(out)
        });
        let answer = loads(py, &answer.map_err(PyValueError::new_err)?)?;
        if signature { Ok(answer) } else { answer.get_item("Frames") }
    }

    /// How many symbol files were opened so far, and how many bytes they have. A file of a remote store counts as well when this
    /// machine had it already, so that fewer bytes may have been fetched.
    ///
    /// >>> engine = foldsym.Symbolizer(search=["demo.fsym"])
    /// >>> _ = engine.stack([0x20129b], [{"name": "demo", "base": 0x200000}])
    /// >>> engine.opened()["files"]
    /// 1
    fn opened<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (opened, facts) = (self.engine.opened(), PyDict::new(py));
        facts.set_item("files", opened.files)?;
        facts.set_item("bytes", opened.bytes)?;
        Ok(facts)
    }
}
