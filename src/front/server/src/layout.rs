//! What the page shows of a store: which files there are, and where the bytes of one go.

use std::collections::{BTreeMap, HashMap};

use axum::http::StatusCode;
use foldsym_lookup::{Error, Owner, PieceId, SymbolFile};
use foldsym_store::{Store, StoreError, SymbolMap};
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// Files of a list.
const MAX_FILES: usize = 500;
/// Folders of a layout; the others are one.
const MAX_FOLDERS: usize = 60;

/// Files of all stores that are folders, in the order of their build ids.
pub(crate) fn stores(stores: &[Store], is_wanted: &dyn Fn() -> bool) -> Result<Value, Refusal> {
    let failed = |error: StoreError| Refusal::new(StatusCode::BAD_GATEWAY, error.to_string());
    let (mut total, mut files) = (0, Vec::new());
    for store in stores {
        let Store::Local(store) = store else { continue };
        let listed = store.list().map_err(failed)?;
        total += listed.len();
        for file in listed.iter().take(MAX_FILES - files.len()) {
            if !is_wanted() {
                return Err(Refusal::busy());
            }
            let report = store.report(&file.id).map_err(failed)?;
            let report =
                report.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
            files.push(json!({
                "BuildId": file.id.to_string(), "DebugId": report["debug_id"], "Name": report["name"], "Size": file.size,
            }));
        }
    }
    Ok(json!({ "Total": total, "Files": files }))
}

/// The sections of a file, and the code that it describes by the folder in which its functions are declared.
pub(crate) fn layout(map: &SymbolMap, is_wanted: &dyn Fn() -> bool) -> Result<Value, Refusal> {
    let file = map.file();
    let sections: Vec<Value> =
        file.sections().map(|section| json!({ "Name": section.name, "Size": section.len })).collect();
    let damaged = |error: Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, format!("{}: damaged: {error}", map.path().display()))
    };
    let code = code(file, is_wanted).map_err(damaged)?.ok_or_else(Refusal::busy)?;
    let size = code.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
    let mut folders: Vec<(String, u64)> = code.into_iter().collect();
    folders.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let rest = folders.iter().skip(MAX_FOLDERS).fold(0u64, |sum, folder| sum.saturating_add(folder.1));
    if rest > 0 {
        folders.truncate(MAX_FOLDERS);
        folders.push(("other folders".to_owned(), rest));
    }
    let folders: Vec<Value> =
        folders.into_iter().map(|(name, size)| json!({ "Name": name, "Size": size })).collect();
    Ok(json!({ "Size": map.bytes().len(), "Sections": sections, "CodeSize": size, "Code": folders }))
}

/// Bytes of code by folder; `None` where nobody waits for it any more.
fn code(file: &SymbolFile<'_>, is_wanted: &dyn Fn() -> bool) -> Result<Option<BTreeMap<String, u64>>, Error> {
    let mut by_file: HashMap<Option<u32>, u64> = HashMap::new();
    let mut shared = 0u64;
    for piece in 0..file.piece_count() {
        if piece % 4096 == 0 && !is_wanted() {
            return Ok(None);
        }
        let piece = file.piece(PieceId(piece))?;
        match piece.owner {
            Owner::Function(function) => {
                let origin = file.origin(file.function(function)?.origin)?;
                let bytes = by_file.entry(origin.file.map(|file| file.0)).or_default();
                *bytes = bytes.saturating_add(piece.body);
            }
            Owner::Group(_) => shared = shared.saturating_add(piece.body),
        }
    }
    let mut by_folder: BTreeMap<String, u64> = BTreeMap::new();
    if shared > 0 {
        by_folder.insert("code that functions share".to_owned(), shared);
    }
    for (id, bytes) in by_file {
        let mut path = Vec::new();
        let found = id.and_then(|id| file.files().visit(id, |piece| path.extend_from_slice(piece)));
        let folder = match (found, path.iter().rposition(|&byte| byte == b'/')) {
            (None, _) => "no file is known".to_owned(),
            (Some(_), Some(0)) => "/".to_owned(),
            (Some(_), Some(end)) => String::from_utf8_lossy(&path[..end]).into_owned(),
            (Some(_), None) => ".".to_owned(),
        };
        let sum = by_folder.entry(folder).or_default();
        *sum = sum.saturating_add(bytes);
    }
    Ok(Some(by_folder))
}
