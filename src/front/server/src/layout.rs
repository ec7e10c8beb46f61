//! The data of a store that the page shows: the list of files, and where the bytes of one go.

use axum::http::StatusCode;
use foldsym_store::{Store, StoreError, SymbolMap};
use foldsym_symbolize::layout;
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// Files of a list.
const MAX_FILES: usize = 500;

/// Files of all stores that are folders, in the order of their build ids. Of several files of one id, that of the first store is listed.
pub(crate) fn stores(stores: &[Store], is_wanted: &dyn Fn() -> bool) -> Result<Value, Refusal> {
    let failed = |error: StoreError| Refusal::new(StatusCode::BAD_GATEWAY, error.to_string());
    let mut listed = Vec::new();
    for store in stores {
        let Store::Local(store) = store else { continue };
        listed.extend(store.list().map_err(failed)?.into_iter().map(|file| (store, file)));
    }
    // The sort is stable, so the first of several stays.
    listed.sort_by(|(_, one), (_, other)| one.id.cmp(&other.id));
    listed.dedup_by(|(_, later), (_, first)| later.id == first.id);
    let mut files = Vec::new();
    for (store, file) in listed.iter().take(MAX_FILES) {
        // Reading the report of each file from disk takes time, so a client that is gone ends the loop.
        if !is_wanted() {
            return Err(Refusal::busy());
        }
        // The report only gives the name: without it the file is listed anyway.
        let report = store.report(&file.id).ok().flatten();
        let report = report.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
        files.push(json!({
            "BuildId": file.id.to_string(), "DebugId": report["debug_id"], "Name": report["name"], "Size": file.size,
        }));
    }
    Ok(json!({ "Total": listed.len(), "Files": files }))
}

/// Where the bytes of a file and of its program's code go.
pub(crate) fn layout(map: SymbolMap, is_wanted: &dyn Fn() -> bool) -> Result<Value, Refusal> {
    let failed = |error: StoreError| Refusal::new(StatusCode::BAD_GATEWAY, error.to_string());
    // Another process may cut the file short meanwhile.
    let map = foldsym_symbolize::in_memory(map).map_err(failed)?;
    let damaged =
        |error| Refusal::new(StatusCode::BAD_GATEWAY, format!("{}: damaged: {error}", map.path().display()));
    let found = layout::layout(map.file(), is_wanted).map_err(damaged)?;
    Ok(found.ok_or_else(Refusal::busy)?.json())
}
