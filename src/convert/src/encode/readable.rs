//! Puts readable names in the place of a program's linkage names, so that a reader in a crash handler needs no
//! demangler.
//!
//! It is the last step before encoding: all that is decided by linkage names (which functions share code, which
//! names are aliases) is decided by then. Names that become equal are merged by `encode`.

use std::borrow::Cow;

use foldsym_demangle::short;
use rayon::prelude::*;

use crate::model::{NameId, Program};

/// Renames everything that has a linkage name. What has none, or none within the demangler's limits, stays.
pub(crate) fn rename(program: &mut Program<'_>) {
    program.names.par_iter_mut().for_each(|name| {
        if let Some(readable) = short(name) {
            *name = Cow::Owned(readable.into_bytes());
        }
    });
    let names = &program.names;
    let same = |a: NameId, b: NameId| names[a.index()] == names[b.index()];
    for function in &mut program.functions {
        let origin = program.origins[function.origin.index()].name;
        function.symbol = function.symbol.filter(|&symbol| !same(symbol, origin));
        let own = function.symbol.unwrap_or(origin);
        // The variants of a constructor read alike.
        function.aliases.retain(|&alias| !same(alias, own));
        function.aliases.sort_by(|&a, &b| names[a.index()].cmp(&names[b.index()]));
        function.aliases.dedup_by(|a, b| same(*a, *b));
    }
}
