//! Says of a path whether it is named as a `.fsym`, and of an opened `.fsym` whether it is a module's.

use std::path::Path;

use foldsym_lookup::DebugInfo;
use foldsym_store::{ModuleId, SymbolMap};

/// Whether a file is of an identity; without one, any is.
pub(crate) fn is_of(map: &SymbolMap, id: Option<&ModuleId>) -> bool {
    match id {
        None => true,
        Some(ModuleId::Build(id)) => map.build_id().as_ref() == Some(id),
        Some(ModuleId::Debug(id)) => map.debug_id().as_ref() == Some(id),
        Some(_) => false,
    }
}

/// Whether a file has more than symbols. What another program wrote has no level, but no paths either.
pub(crate) fn has_debug_info(map: &SymbolMap) -> bool {
    map.file().debug_info() != DebugInfo::None && !map.file().records().files().is_empty()
}

/// How much of its program a file has: of two files of one build the greater one answers better.
pub(crate) fn level(map: &SymbolMap) -> (bool, DebugInfo) {
    (has_debug_info(map), map.file().debug_info())
}

/// True if the name ends in `.fsym`; the contents are checked when the file is opened.
pub(crate) fn is_fsym(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "fsym")
}
