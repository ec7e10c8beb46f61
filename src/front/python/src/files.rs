//! The symbols of one program.

use std::path::Path;
use std::sync::Arc;

use foldsym_convert::{NoProgress, Options};
use foldsym_lookup::{Error, FunctionId, SectionId, What};
use foldsym_store::SymbolMap;
use foldsym_symbolize::{AddressKind, Mapping, Module, Modules, ReportedAddress, Stack, StackFrame};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{Source, failed, loads};

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
            if !file.starts_with(&foldsym_format::header::MAGIC) {
                let mut out = Vec::new();
                // The engine keeps columns too when it converts a program by its path.
                let options = Options::default().with(|options| options.columns = true);
                foldsym_convert::convert_bytes(name, &file, &mut out, &options, &NoProgress)
                    .map_err(|error| error.to_string())?;
                file = out;
            }
            SymbolMap::of_bytes(name, file).map(Arc::new).map_err(|error| error.to_string())
        }
    }
}

/// The symbols of one program: a `.fsym` or a program, by its path or its bytes.
///
/// >>> file = foldsym.SymbolFile("demo.fsym")
/// >>> file.info()["Functions"] > 0
/// True
#[pyclass(frozen, module = "foldsym")]
pub(crate) struct SymbolFile {
    map: Arc<SymbolMap>,
    engine: Arc<foldsym_symbolize::Symbolizer>,
}

impl SymbolFile {
    pub(crate) fn of(map: Arc<SymbolMap>) -> PyResult<Self> {
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
            // The file is the only module, so every address belongs to it.
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
        let source = crate::source(source)?;
        Self::of(py.detach(|| open(source)).map_err(failed)?)
    }

    /// The answer at one link-time address, as `foldsym lookup --json` has it. `bias` is subtracted from the address first.
    ///
    /// >>> answer = foldsym.SymbolFile("demo.fsym").lookup(0x20129b)
    /// >>> answer["Symbol"][0]["FunctionName"], answer["Symbol"][0]["Line"], answer["Certainty"]
    /// ('demo::print_address(unsigned long)', 47, 'unique')
    #[pyo3(signature = (address, *, bias = 0))]
    fn lookup<'py>(&self, py: Python<'py>, address: u64, bias: u64) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, vec![StackFrame::exact(address)], bias)?.get_item(0)
    }

    /// The answers of a stack, innermost frame first. Without `kinds` the first address is exact and the others are return
    /// addresses; `None` is a frame of which nothing is known.
    ///
    /// >>> stack = foldsym.SymbolFile("demo.fsym").stack([0x20129b, 0x201fbd, 0x201e8d, 0x2018f9])
    /// >>> [answer["Symbol"][-1]["FunctionName"] for answer in stack][-1]
    /// 'demo_main'
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
            let kind = match kinds.as_ref().map(|kinds| &kinds[at]) {
                None if at == 0 => AddressKind::Exact,
                None => AddressKind::Return,
                Some(word) => AddressKind::parse(word)
                    .map_err(|expected| PyValueError::new_err(format!("kind {word:?}: {expected}")))?,
            };
            let place = address.map(ReportedAddress::Memory);
            // An unknown frame breaks the chain of callers, so the kind that was given for it does not matter.
            Ok(place.map_or(StackFrame::UNKNOWN, |place| StackFrame { place, kind }))
        };
        let frames = addresses.into_iter().enumerate().map(frame).collect::<PyResult<Vec<_>>>()?;
        self.answer(py, frames, bias)
    }

    /// The linkage names of functions that a name may be of: a linkage name, a readable one, or one without parameters. A name of the file
    /// that cannot be read is damage.
    ///
    /// >>> foldsym.SymbolFile("demo.fsym").find("demo::crash")
    /// ['_ZN4demo5crashEv']
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        let found = py.detach(|| {
            let file = self.map.file();
            let mut query = foldsym_demangle::Query::new(name);
            // The set sorts the names and has each once: several functions may have the same name.
            let mut found = std::collections::BTreeSet::new();
            for id in (0..file.records().function_count()).map(FunctionId) {
                let function = file.records().function(id)?;
                let mut names = Vec::from_iter(file.records().function_name(id)?);
                for alias in file.records().aliases(&function) {
                    names.push(alias?);
                }
                for id in names {
                    let mut text = Vec::new();
                    let read = file.records().names().visit(id.0, |piece| text.extend_from_slice(piece));
                    read.ok_or(Error { section: SectionId::NAMES, what: What::Name, offset: id.0.into() })?;
                    if query.matches(&text) {
                        found.insert(String::from_utf8_lossy(&text).into_owned());
                    }
                }
            }
            Ok::<_, Error>(found.into_iter().collect())
        });
        found.map_err(|error| failed(format!("{}: damaged: {error}", self.map.path().display())))
    }

    /// What the file holds; the keys are those of `foldsym info --json`.
    ///
    /// >>> sorted(foldsym.SymbolFile("demo.fsym").info())
    /// ['BuildId', 'Functions', 'Groups', 'ImageBase', 'Machine', 'Pieces', 'Size']
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (file, facts) = (self.map.file(), PyDict::new(py));
        facts.set_item("BuildId", self.map.build_id().map(|id| id.to_string()))?;
        facts.set_item("ImageBase", format!("{:#x}", file.image_base().0))?;
        facts.set_item("Machine", file.header().machine)?;
        facts.set_item("Size", file.header().file_len)?;
        facts.set_item("Pieces", file.records().piece_count())?;
        facts.set_item("Functions", file.records().function_count())?;
        facts.set_item("Groups", file.records().group_count())?;
        Ok(facts)
    }
}
