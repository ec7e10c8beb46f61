//! `foldsym store`: lists, checks and changes a folder of `.fsym` files by build id.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use foldsym_format::DebugInfo;
use foldsym_store::{
    BuildId, Completeness, EntryInfo, GcOptions, IdError, LocalStore, ModuleId, Published, Store, StoreError,
    StoreOptions, SymbolMap,
};
use serde_json::Value;

use crate::answer::open::{MAX_MAGIC, not_a_symbol_file};
use crate::args::store::{Add, Folder, Gc, Remove, StoreArgs, Task};
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
    };
    // Also before an error: what was changed until then is printed.
    let written = out.flush();
    let code = code?;
    written?;
    Ok(code)
}

fn list_files(args: &Folder, out: &mut Output) -> Result<u8, Failure> {
    let store = LocalStore::open(&args.store)?;
    for listed in store.list()? {
        let report = store.report(&listed.id)?.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let report = report.unwrap_or_default();
        let used = listed.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if args.json {
            object(
                &mut out.text,
                &[
                    ("BuildId", listed.id.to_string().into()),
                    ("DebugId", report["debug_id"].clone()),
                    ("Name", report["name"].clone()),
                    ("Level", report["level"].clone()),
                    ("Lost", report["lost"].clone()),
                    ("Size", listed.size.into()),
                    ("Used", used.into()),
                    ("Path", text_of(&listed.path)),
                ],
            );
        } else {
            out.text.extend_from_slice(format!("{} {:>12} ", listed.id, listed.size).as_bytes());
            push_escaped(&mut out.text, report["name"].as_str().unwrap_or("?").as_bytes());
            // Whoever looks for what is missing finds it, and a store of complete files has lines without a word too many.
            let level = Completeness::of_report(&report).filter(|found| found.level != DebugInfo::Full);
            if let Some(level) = level {
                push_escaped(&mut out.text, format!(", {}", level.words()).as_bytes());
            }
        }
        out.text.push(b'\n');
        out.give()?;
    }
    Ok(0)
}

fn check(args: &Folder, out: &mut Output) -> Result<u8, Failure> {
    let checked = LocalStore::open(&args.store)?.check()?;
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
    let report = LocalStore::open(&args.folder.store)?.gc(&options)?;
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
        let (verb, removed) = (if args.dry_run { "would remove" } else { "removed" }, report.removed.len());
        let text = format!(
            "{verb} {removed} files, {} bytes; kept {} files, {} bytes, {} of the files only by a pin\n",
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
    let _ = File::open(path).and_then(|file| file.take(MAX_MAGIC).read_to_end(&mut first));
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
    let store = LocalStore::open(&args.store)?;
    // All are read before the first is removed: a command line that cannot be understood changes nothing.
    let ids: Result<Vec<_>, IdError> =
        args.ids.iter().map(|text| Ok((text, ModuleId::parse(text)?))).collect();
    let mut code = 0;
    for (text, id) in ids.map_err(|error| Failure::usage(error.to_string()))? {
        let id = match id {
            ModuleId::Build(id) => Some(id),
            // The store names files by build id.
            ModuleId::Debug(id) => store.build_id_of(&id)?,
            _ => None,
        };
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
