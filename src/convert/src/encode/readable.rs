//! Replaces a program's linkage names with readable names, so that a reader in a crash handler needs no demangler.
//!
//! This is the last step before encoding, since earlier steps decide by linkage names which functions share code and which
//! names are aliases. `encode` merges names that became equal.

use std::borrow::Cow;

use foldsym_demangle::short;
use rayon::prelude::*;

use crate::model::{NameId, Program};

/// The program with every name demangled. A name stays as it is if it is not mangled, or exceeds the demangler's limits.
pub(crate) fn renamed(mut program: Program<'_>) -> Program<'_> {
    program.names.par_iter_mut().for_each(|name| {
        if let Some(readable) = short(name) {
            *name = Cow::Owned(readable.into_bytes());
        }
    });
    let names = &program.names;
    let same = |a: NameId, b: NameId| names[a.index()] == names[b.index()];
    for at in 0..program.functions.len() {
        let function = &program.functions[at];
        let (shown, others) = (program.shown_name(function), program.other_names(function).collect());
        let function = &mut program.functions[at];
        (function.symbol, function.aliases, function.primary) = (Some(shown), others, None);
        let origin = program.origins[function.origin.index()].name;
        function.symbol = function.symbol.filter(|&symbol| !same(symbol, origin));
        let own = function.symbol.unwrap_or(origin);
        // The variants of a constructor (`C1`, `C2`) have the same readable name.
        function.aliases.retain(|&alias| !same(alias, own));
        function.aliases.sort_by(|&a, &b| names[a.index()].cmp(&names[b.index()]));
        function.aliases.dedup_by(|a, b| same(*a, *b));
    }
    program
}
