//! The code to which a signal handler returns, by its symbol.

use foldsym_lookup::{FunctionId, SymbolFile};

/// The trampolines of glibc, musl, the vDSO and Go: the symbol, and whether the handler got a `siginfo_t`.
pub const TRAMPOLINES: &[(&str, bool)] = &[
    ("__restore_rt", true),
    ("__restore", false),
    ("__kernel_rt_sigreturn", true),
    ("__kernel_sigreturn", false),
    ("runtime.sigreturn", true),
    ("runtime.sigreturn.abi0", true),
    ("runtime.sigreturn__sigaction", true),
    ("runtime.sigreturn__sigaction.abi0", true),
];

/// Longer than each of their names.
const ROOM: usize = 48;

/// Whether a function is a trampoline. A damaged name is none.
pub(crate) fn is_trampoline(file: &SymbolFile<'_>, function: FunctionId) -> bool {
    let records = file.records();
    let name = records.function(function).and_then(|function| match function.name {
        Some(name) => Ok(Some(name)),
        None => Ok(records.origin(function.origin)?.name),
    });
    let mut text = [0; ROOM];
    let len = name.ok().flatten().and_then(|name| file.write_name(name, &mut text));
    let name = len.and_then(|len| text.get(..len));
    name.is_some_and(|name| TRAMPOLINES.iter().any(|(known, _)| known.as_bytes() == name))
}
