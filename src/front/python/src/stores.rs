//! Folders of symbol files, and the engine that answers stacks from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldsym_convert::{NoProgress, Options};
use foldsym_store::{BuildId, EntryInfo, GcOptions, ModuleId, Release, StoreError, StoreOptions};
use foldsym_symbolize::into_store::{IntoStoreError, convert_into, entry_of};
use foldsym_symbolize::{GivenStack, Requests, Signing, Stack};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::files::SymbolFile;
use crate::{FoldsymError, failed, loads};

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn age(days: Option<f64>, name: &str) -> PyResult<Option<Duration>> {
    let parse = |days: f64| Duration::try_from_secs_f64(days * 86400.0);
    let wrong = |_| PyValueError::new_err(format!("{name}: expected days, a number that is not negative"));
    days.map(parse).transpose().map_err(wrong)
}

/// The build ids of these files.
fn builds(store: &foldsym_store::Store, ids: &[String]) -> Result<Vec<BuildId>, PyErr> {
    let parse = |id: &String| ModuleId::parse(id).map_err(|error| PyValueError::new_err(error.to_string()));
    // All are read before the first is looked for.
    let parsed = ids.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
    let find = |(text, id): (&String, ModuleId)| {
        let found = store.build_id_of(&id).map_err(failed)?;
        found.ok_or_else(|| FoldsymError::new_err(format!("{text}: not in the store")))
    };
    ids.iter().zip(parsed).map(find).collect()
}

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
    ///
    /// `columns`, `locations`, `unwind`, `imports` and `name_index` are options of `foldsym convert`; a file that lacks what they keep is made
    /// again.
    #[pyo3(signature = (
        program, *, columns = false, locations = false, unwind = false, imports = false, name_index = false, threads = 0
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each is a keyword of Python")]
    fn convert(
        &self,
        py: Python<'_>,
        program: PathBuf,
        columns: bool,
        locations: bool,
        unwind: bool,
        imports: bool,
        name_index: bool,
        threads: usize,
    ) -> PyResult<String> {
        let options = Options::default().with(|options| {
            (options.columns, options.locations, options.unwind) = (columns, locations, unwind);
            (options.imports, options.name_index, options.threads) = (imports, name_index, threads);
        });
        py.detach(|| self.converted(&program, &options)).map_err(failed)
    }

    /// The files, by build id: dictionaries with the keys of `foldsym store list --json`.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> id = store.add("demo.fsym")
    /// >>> [(file["BuildId"] == id, file["Pins"]) for file in store.list()]
    /// [(True, [])]
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = || -> Result<Vec<Value>, StoreError> {
            let (all, pins) = (self.inner.list()?, self.inner.pins()?);
            let ids: Vec<BuildId> = all.iter().map(|listed| listed.id.clone()).collect();
            let of = |(listed, report): (foldsym_store::Listed, Value)| {
                let releases = Release::of_report(&report);
                let latest = releases.iter().max_by_key(|release| release.published);
                let of = pins.iter().filter(|pin| pin.ids.contains(&listed.id));
                let releases_json: Vec<Value> = releases
                    .iter()
                    .map(|Release { product, version, revision, published, .. }| {
                        json!({"Product": product, "Version": version, "Revision": revision, "Published": published})
                    })
                    .collect();
                json!({
                    "BuildId": listed.id.to_string(), "DebugId": report["debug_id"], "Name": report["name"],
                    "Product": latest.map(|release| &release.product),
                    "Version": latest.and_then(|release| release.version.as_deref()),
                    "Revision": latest.and_then(|release| release.revision.as_deref()),
                    "Releases": releases_json, "Level": report["level"], "Lost": report["lost"], "Size": listed.size,
                    "Published": seconds(listed.published), "Used": seconds(listed.used),
                    "Pins": of.map(|pin| pin.name.as_str()).collect::<Vec<_>>(),
                    "Path": listed.path.to_string_lossy(),
                })
            };
            Ok(all.into_iter().zip(self.inner.reports(&ids)?).map(of).collect())
        };
        let listed = py.detach(list).map_err(failed)?;
        loads(py, Value::from(listed).to_string().as_bytes())
    }

    /// Reads every file to its end, and gives what is wrong: the keys of `foldsym store check --json`.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> _ = store.add("demo.fsym")
    /// >>> store.check()["Files"], store.check()["Problems"]
    /// (1, [])
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let checked = py.detach(|| self.inner.check()).map_err(failed)?;
        let problems = checked.problems.iter();
        let problems: Vec<Value> = problems
            .map(|problem| json!({"Path": problem.path.to_string_lossy(), "Message": problem.message}))
            .collect();
        let json = json!({"Files": checked.files, "Bytes": checked.bytes, "Problems": problems});
        loads(py, json.to_string().as_bytes())
    }

    /// Removes files by these limits, and litter; without limits litter alone. Gives the keys of `foldsym store gc --json`. Files that are
    /// pinned stay.
    ///
    /// `max_age_days`: files that were not used for so long. `older_than_days`: files that were published longer ago. `keep_releases`: the
    /// files of so many newest releases of each product stay, and those of its older ones go. `max_bytes`: then the least recently used, until
    /// the rest has at most so many bytes. With `dry_run` nothing is removed.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> id = store.add("demo.fsym")
    /// >>> store.gc(max_bytes=0, dry_run=True)["Removed"] == [id], store.gc()["Kept"]
    /// (True, 1)
    #[pyo3(signature = (
        *, max_age_days = None, older_than_days = None, keep_releases = None, max_bytes = None, dry_run = false
    ))]
    fn gc<'py>(
        &self,
        py: Python<'py>,
        max_age_days: Option<f64>,
        older_than_days: Option<f64>,
        keep_releases: Option<usize>,
        max_bytes: Option<u64>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = GcOptions::default();
        options.max_age = age(max_age_days, "max_age_days")?;
        options.older_than = age(older_than_days, "older_than_days")?;
        (options.keep_releases, options.max_bytes, options.dry_run) = (keep_releases, max_bytes, dry_run);
        let done = py.detach(|| self.inner.gc(&options)).map_err(failed)?;
        let removed: Vec<String> = done.removed.iter().map(ToString::to_string).collect();
        let json = json!({
            "Removed": removed, "RemovedBytes": done.removed_bytes, "Kept": done.kept, "KeptBytes": done.kept_bytes,
            "Pinned": done.pinned, "Litter": done.litter, "DryRun": dry_run,
        });
        loads(py, json.to_string().as_bytes())
    }

    /// Removes the file of a build id or debug id. False where the store has none.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> id = store.add("demo.fsym")
    /// >>> store.remove(id), store.remove(id)
    /// (True, False)
    fn remove(&self, py: Python<'_>, id: &str) -> PyResult<bool> {
        let id = ModuleId::parse(id).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.detach(|| match self.inner.build_id_of(&id)? {
            Some(id) => self.inner.remove(&id),
            None => Ok(false),
        })
        .map_err(|error: StoreError| failed(error))
    }

    /// Adds files, by their build ids or debug ids, to the pin of this name: a collection keeps them.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> id = store.add("demo.fsym")
    /// >>> store.pin("release-1", [id])
    /// >>> store.pins() == {"release-1": [id]}
    /// True
    fn pin(&self, py: Python<'_>, name: &str, ids: Vec<String>) -> PyResult<()> {
        if ids.is_empty() {
            return Err(PyValueError::new_err("expected ids of files"));
        }
        py.detach(|| {
            let builds = builds(&self.inner, &ids)?;
            self.inner.add_to_pin(name, &builds).map_err(failed)
        })
    }

    /// The pins: the build ids of each, by name.
    ///
    /// >>> foldsym.Store("symbols", create=True).pins()
    /// {}
    fn pins(&self, py: Python<'_>) -> PyResult<std::collections::BTreeMap<String, Vec<String>>> {
        let pins = py.detach(|| self.inner.pins()).map_err(failed)?;
        let of = |pin: foldsym_store::Pin| (pin.name, pin.ids.iter().map(ToString::to_string).collect());
        Ok(pins.into_iter().map(of).collect())
    }

    /// Removes files from a pin, or without ids the pin itself. False where there was nothing to remove.
    ///
    /// >>> store = foldsym.Store("symbols", create=True)
    /// >>> store.pin("release-1", [store.add("demo.fsym")])
    /// >>> store.unpin("release-1"), store.unpin("release-1")
    /// (True, False)
    #[pyo3(signature = (name, ids = Vec::new()))]
    fn unpin(&self, py: Python<'_>, name: &str, ids: Vec<String>) -> PyResult<bool> {
        py.detach(|| {
            let builds = builds(&self.inner, &ids)?;
            self.inner.unpin(name, &builds).map_err(failed)
        })
    }
}

/// The engine of an argument: a Symbolizer, a Store, or the folder of one; without it one that has no files.
pub(crate) fn symbolizer<'py>(
    py: Python<'py>,
    store: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, Symbolizer>> {
    let builder = foldsym_symbolize::Symbolizer::builder();
    let builder = match store {
        None => builder,
        Some(given) => {
            if let Ok(symbolizer) = given.cast::<Symbolizer>() {
                return Ok(symbolizer.clone());
            }
            builder.store(match given.cast::<Store>() {
                Ok(store) => store.get().inner.clone(),
                // A folder that does not exist is an error: a new, empty store could answer nothing.
                Err(_) => Store::new(given.extract()?, false)?.inner,
            })
        }
    };
    Bound::new(py, Symbolizer { engine: builder.build().map_err(failed)? })
}

impl Store {
    fn converted(&self, program: &Path, options: &Options) -> Result<String, IntoStoreError> {
        let identity = foldsym_convert::identify(program, options)?;
        let (id, mut info) = entry_of(&identity).map_err(StoreError::from)?;
        info.name = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        info.converter = Some(concat!("foldsym ", env!("CARGO_PKG_VERSION")).to_owned());
        // A program of which the store has everything is only identified. Of two files the better one stays.
        convert_into(&self.inner, (program, &id), info, (options, false), &NoProgress)?;
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

    /// The answers of one stack. `frames` and `modules` are as in a request of `foldsym stack --store`; keys of them that are not known are
    /// errors.
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
            let request = Requests::strict().parse(&given, None).map_err(|error| error.to_string())?;
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
