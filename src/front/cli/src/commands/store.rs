//! `foldsym store`: lists, checks and changes a store of `.fsym` files by build id.

use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use foldsym_format::DebugInfo;
use foldsym_store::{
    BuildId, Completeness, EntryInfo, GcOptions, LocalStore, ModuleId, Published, Release, Store, StoreError,
    StoreOptions, SymbolMap, open_regular,
};
use serde_json::Value;

use crate::answer::open::{MAX_MAGIC, not_a_symbol_file};
use crate::args::store::{Add, Folder, Gc, Pin, Remove, StoreArgs, Task, Unpin};
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain, exit};
use crate::io::output::Output;
use foldsym_symbolize::json::list;
use foldsym_symbolize::json::string;

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { message: error.to_string(), code: exit::BAD_INPUT }
    }
}

#[inline(never)] // see `perform`
pub(crate) fn run(args: &StoreArgs) -> Result<u8, Failure> {
    let mut out = Output::new();
    let code = match &args.command {
        Task::List(args) => list_files(args, &mut out),
        Task::Check(args) => check(args, &mut out),
        Task::Gc(args) => gc(args, &mut out),
        Task::Add(args) => add(args, &mut out),
        Task::Remove(args) => remove(args, &mut out),
        Task::Pin(args) => pin(args, &mut out),
        Task::Unpin(args) => unpin(args, &mut out),
    };
    // Also before an error: what was changed until then is printed.
    let written = out.flush();
    let code = code?;
    written?;
    Ok(code)
}

fn list_files(args: &Folder, out: &mut Output) -> Result<u8, Failure> {
    let store = open(&args.store)?;
    let (all, pins) = (store.list()?, store.pins()?);
    let ids: Vec<BuildId> = all.iter().map(|listed| listed.id.clone()).collect();
    for (listed, report) in all.into_iter().zip(store.reports(&ids)?) {
        let releases = Release::of_report(&report);
        // A program that did not change belongs to several.
        let latest = releases.iter().max_by_key(|release| release.published);
        let pinned = pins.iter().filter(|pin| pin.ids.contains(&listed.id)).map(|pin| pin.name.as_str());
        if args.json {
            object(
                &mut out.text,
                &[
                    ("BuildId", listed.id.to_string().into()),
                    ("DebugId", report["debug_id"].clone()),
                    ("Name", report["name"].clone()),
                    ("Product", latest.map(|release| release.product.as_str()).into()),
                    ("Version", latest.and_then(|release| release.version.as_deref()).into()),
                    ("Revision", latest.and_then(|release| release.revision.as_deref()).into()),
                    ("Releases", releases.iter().map(release_json).collect()),
                    ("Level", report["level"].clone()),
                    ("Lost", report["lost"].clone()),
                    ("Size", listed.size.into()),
                    ("Published", seconds(listed.published)),
                    ("Used", seconds(listed.used)),
                    ("Pins", pinned.collect()),
                    ("Path", text_of(&listed.path)),
                ],
            );
        } else {
            out.text.extend_from_slice(format!("{} {:>12} ", listed.id, listed.size).as_bytes());
            push_escaped(&mut out.text, report["name"].as_str().unwrap_or("?").as_bytes());
            if let Some(Release { product, version, revision, .. }) = latest {
                for word in [Some(product), version.as_ref(), revision.as_ref()].into_iter().flatten() {
                    out.text.push(b' ');
                    push_escaped(&mut out.text, word.as_bytes());
                }
            }
            // Whoever looks for what is missing finds it, and a store of complete files has lines without a word too many.
            let level = Completeness::of_report(&report).filter(|found| found.level != DebugInfo::Full);
            if let Some(level) = level {
                push_escaped(&mut out.text, format!(", {}", level.words()).as_bytes());
            }
            for name in pinned {
                out.text.extend_from_slice(b" [pinned: ");
                push_escaped(&mut out.text, name.as_bytes());
                out.text.push(b']');
            }
        }
        out.text.push(b'\n');
        out.give()?;
    }
    Ok(0)
}

fn check(args: &Folder, out: &mut Output) -> Result<u8, Failure> {
    let checked = open(&args.store)?.check()?;
    if args.json {
        let problem = |problem: &foldsym_store::Problem| {
            let mut text = Vec::new();
            object(
                &mut text,
                &[("Path", text_of(&problem.path)), ("Message", problem.message.as_str().into())],
            );
            text
        };
        out.text.extend_from_slice(
            format!("{{\"Files\":{},\"Bytes\":{},\"Problems\":", checked.files, checked.bytes).as_bytes(),
        );
        list(&mut out.text, &checked.problems, |out, found| out.extend(problem(found)));
        out.text.extend_from_slice(b"}\n");
    } else {
        for problem in &checked.problems {
            push_escaped(
                &mut out.text,
                format!("{}: {}", problem.path.display(), problem.message).as_bytes(),
            );
            out.text.push(b'\n');
        }
        out.text.extend_from_slice(
            format!("{} sound files, {} bytes\n", checked.files, checked.bytes).as_bytes(),
        );
    }
    Ok(if checked.problems.is_empty() { 0 } else { exit::NOTHING })
}

fn gc(args: &Gc, out: &mut Output) -> Result<u8, Failure> {
    let mut options = GcOptions::default();
    (options.max_age, options.max_bytes, options.dry_run) = (args.max_age, args.max_bytes, args.dry_run);
    (options.older_than, options.keep_releases) = (args.older_than, args.keep_releases);
    let report = open(&args.folder.store)?.gc(&options)?;
    if args.folder.json {
        let removed: Vec<Value> = report.removed.iter().map(|id| id.to_string().into()).collect();
        object(
            &mut out.text,
            &[
                ("Removed", removed.into()),
                ("RemovedBytes", report.removed_bytes.into()),
                ("Kept", report.kept.into()),
                ("KeptBytes", report.kept_bytes.into()),
                ("Pinned", report.pinned.into()),
                ("Litter", report.litter.into()),
                ("DryRun", args.dry_run.into()),
            ],
        );
        out.text.push(b'\n');
    } else {
        for id in report.removed.iter().filter(|_| args.dry_run) {
            out.text.extend_from_slice(format!("{id} would be removed\n").as_bytes());
        }
        let (verb, removed) = (if args.dry_run { "would remove" } else { "removed" }, report.removed.len());
        let text = format!(
            "{verb} {removed} files, {} bytes; kept {} files, {} bytes, {} of the files only by a pin or release\n",
            report.removed_bytes, report.kept, report.kept_bytes, report.pinned
        );
        out.text.extend_from_slice(text.as_bytes());
    }
    Ok(0)
}

fn add(args: &Add, out: &mut Output) -> Result<u8, Failure> {
    let store = Store::create(&args.store, StoreOptions::default())?;
    let mut failed = 0;
    for path in &args.files {
        let mut info = EntryInfo::default();
        // `app.fsym` has the symbols of `app`.
        info.name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
        info.replace = args.replace;
        let added = publish(&store, path, &info).map_err(message);
        if let Err(message) = &added {
            failed += 1;
            complain(message);
        }
        if args.json {
            let mut keys = vec![("Input", text_of(path))];
            match added {
                Ok((published, debug_id)) => keys.extend([
                    ("BuildId", published.id().to_string().into()),
                    ("DebugId", debug_id.into()),
                    ("Published", published.text().into()),
                ]),
                Err(message) => keys.push(("Error", serde_json::json!({ "Message": message }))),
            }
            object(&mut out.text, &keys);
            out.text.push(b'\n');
        } else if let Ok((published, _)) = added {
            out.text.extend_from_slice(format!("{} {} ", published.id(), published.text()).as_bytes());
            push_escaped(&mut out.text, path.as_os_str().as_encoded_bytes());
            out.text.push(b'\n');
        }
        out.give()?;
    }
    Ok(match (failed, args.files.len()) {
        (0, _) => 0,
        // As in `convert`, a single input that fails gives its own code.
        (_, 1) => exit::BAD_INPUT,
        _ => exit::SOME_FAILED,
    })
}

/// Why a file was not added. For a program it says how to convert it.
fn message(error: StoreError) -> String {
    let StoreError::NotASymbolFile { path } = &error else { return error.to_string() };
    let mut first = Vec::new();
    // A file that can be read no longer is not called a program.
    let _ = open_regular(path).and_then(|file| file.take(MAX_MAGIC).read_to_end(&mut first));
    not_a_symbol_file(path, &first).message
}

/// Publishes one file; gives its debug id too.
fn publish(store: &Store, path: &Path, info: &EntryInfo) -> Result<(Published, String), StoreError> {
    // The file is opened first: one with a damaged head is not copied.
    let map = SymbolMap::open(path)?;
    let debug_id = map.debug_id().map(|id| id.to_string()).unwrap_or_default();
    #[cfg(feature = "convert")]
    let info = &{
        let mut info = info.clone();
        info.completeness = Some(foldsym_symbolize::into_store::completeness_of(&map));
        info
    };
    let published = store.publish(info, |to| {
        let copied = std::fs::copy(path, to);
        copied.map(|_| ()).map_err(|error| StoreError::Io { path: path.to_owned(), doing: "copy", error })
    })?;
    Ok((published, debug_id))
}

fn remove(args: &Remove, out: &mut Output) -> Result<u8, Failure> {
    // All are read before the first is removed: a command line that cannot be understood changes nothing.
    let ids = module_ids(&args.ids)?;
    let store = open(&args.store)?;
    let mut code = 0;
    for (text, id) in args.ids.iter().zip(ids) {
        // The store names files by build id.
        let id = store.build_id_of(&id)?;
        let removed = id.as_ref().map_or(Ok(false), |id: &BuildId| store.remove(id))?;
        if !removed {
            code = exit::NOTHING;
        }
        if args.json {
            object(&mut out.text, &[("Id", text.as_str().into()), ("Removed", removed.into())]);
        } else {
            let verb = if removed { "removed" } else { "not in the store" };
            out.text.extend_from_slice(format!("{text} {verb}").as_bytes());
        }
        out.text.push(b'\n');
    }
    Ok(code)
}

/// Pins files by their ids, and those of a release; or lists the pins.
fn pin(args: &Pin, out: &mut Output) -> Result<u8, Failure> {
    let ids = module_ids(&args.ids)?;
    let store = open(&args.store)?;
    let Some(name) = &args.name else { return list_pins(args, &store, out) };
    if ids.is_empty() && args.product.is_none() {
        return Err(Failure::usage("expected ids of files, or --product"));
    }
    let mut pinned = Vec::new();
    for (text, id) in args.ids.iter().zip(&ids) {
        let id = store.build_id_of(id)?;
        let id =
            id.ok_or_else(|| Failure { message: format!("{text}: not in the store"), code: exit::NOTHING })?;
        pinned.push(id);
    }
    let there: Vec<BuildId> = store.list()?.into_iter().map(|listed| listed.id).collect();
    if let Some(product) = &args.product {
        let is_of = |release: &Release| {
            release.product == *product && (args.version.is_none() || release.version == args.version)
        };
        let reports = there.iter().zip(store.reports(&there)?);
        let of = reports.filter(|(_, report)| Release::of_report(report).iter().any(is_of));
        let before = pinned.len();
        pinned.extend(of.map(|(id, _)| id.clone()));
        if pinned.len() == before {
            let message =
                format!("{product} {}: no file of it in the store", args.version.as_deref().unwrap_or("*"));
            return Err(Failure { message, code: exit::NOTHING });
        }
    }
    store.add_to_pin(name, &pinned)?;
    for id in &pinned {
        if !there.contains(id) {
            // A pin may come before the file.
            complain(&format!("warning: {id}: pinned, but not in the store"));
        }
        if args.json {
            object(&mut out.text, &[("Pin", name.as_str().into()), ("BuildId", id.to_string().into())]);
            out.text.push(b'\n');
        } else {
            out.text.extend_from_slice(format!("{id} pinned\n").as_bytes());
        }
    }
    Ok(0)
}

fn list_pins(args: &Pin, store: &Store, out: &mut Output) -> Result<u8, Failure> {
    for pin in store.pins()? {
        for id in &pin.ids {
            if args.json {
                let keys = [("Pin", pin.name.as_str().into()), ("BuildId", id.to_string().into())];
                object(&mut out.text, &keys);
            } else {
                push_escaped(&mut out.text, pin.name.as_bytes());
                out.text.extend_from_slice(format!(" {id}").as_bytes());
            }
            out.text.push(b'\n');
        }
    }
    Ok(0)
}

fn unpin(args: &Unpin, out: &mut Output) -> Result<u8, Failure> {
    let ids = module_ids(&args.ids)?;
    let store = open(&args.store)?;
    let mut builds = Vec::new();
    for (text, id) in args.ids.iter().zip(&ids) {
        let id = store.build_id_of(id)?;
        builds.push(
            id.ok_or_else(|| Failure { message: format!("{text}: not in the store"), code: exit::NOTHING })?,
        );
    }
    let removed = store.unpin(&args.name, &builds)?;
    if args.json {
        object(&mut out.text, &[("Pin", args.name.as_str().into()), ("Removed", removed.into())]);
    } else {
        push_escaped(&mut out.text, args.name.as_bytes());
        out.text.extend_from_slice(if removed { b" removed" } else { b" not in the store" });
    }
    out.text.push(b'\n');
    Ok(if removed { 0 } else { exit::NOTHING })
}

/// Opens a store that exists.
fn open(location: &Path) -> Result<Store, StoreError> {
    match location.to_str() {
        Some(location) => Store::open(location, StoreOptions::default()),
        None => LocalStore::open(location).map(Store::Local),
    }
}

fn module_ids(texts: &[String]) -> Result<Vec<ModuleId>, Failure> {
    let ids = texts.iter().map(|text| ModuleId::parse(text)).collect::<Result<_, _>>();
    ids.map_err(|error| Failure::usage(error.to_string()))
}

fn release_json(release: &Release) -> Value {
    let Release { product, version, revision, published, .. } = release;
    serde_json::json!({ "Product": product, "Version": version, "Revision": revision, "Published": published })
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> Value {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().into()
}

/// Puts an object with its keys in this order.
fn object(out: &mut Vec<u8>, keys: &[(&str, Value)]) {
    for (index, (key, value)) in keys.iter().enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        string(out, key.as_bytes());
        out.push(b':');
        match value {
            Value::String(text) => string(out, text.as_bytes()),
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
    }
    out.push(b'}');
}

fn text_of(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}
