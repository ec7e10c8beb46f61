//! Lines of the stack dumps of clang and other tools of LLVM, and of programs that call `llvm::sys::PrintStackTrace`.

use foldsym_symbolize::AddressKind;

use super::line::{AddressBase, Form, Line, Named, is_padded, numbered, place_at_end};
use super::{columns, sanitizer};
use crate::Format;

pub(crate) const FORM: Form =
    Form { format: Format::Llvm, read, read_bare: columns::llvm, named, says, signal, kind_below: |_| None };

/// Reads `#5 0x000055d0c1234567 (/opt/app+0x1165)`. With a symbolizer at hand LLVM names functions, with a place or the module; of code in no
/// module it prints the address alone. All are return addresses, also the first, which is in the function that prints the stack; but for
/// those around a signal.
fn read(text: &str) -> Option<Line<'_>> {
    let (number, rest) = numbered(text)?;
    let given = rest.split(' ').next()?;
    let place = place_at_end(rest);
    let names = place.map_or(rest, |(before, ..)| before).get(given.len()..)?.trim();
    // A debugger writes `in`, and systemd the module and a plus between spaces.
    if !is_padded(given) || names.starts_with("in ") || names.contains(" + 0x") {
        return None;
    }
    let place = place.map(|(_, module, address)| (module, address));
    Some(Line {
        number,
        given,
        names,
        place,
        base: AddressBase::Image,
        id: None,
        kind: AddressKind::Return,
        signal: None,
    })
}

/// LLVM's handler of signals calls `RunSignalHandlers`, which prints the stack; the trampoline called the handler.
fn signal(line: &Line<'_>) -> Option<usize> {
    [("llvm::sys::RunSignalHandlers(", 2), ("SignalHandler(", 1), ("__restore_rt", 0), ("_sigtramp", 0)]
        .into_iter()
        .find_map(|(name, frames)| line.names.starts_with(name).then_some(frames))
}

fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    if let AddressBase::Symbol(_) = line.base { columns::named(line) } else { sanitizer::named(line) }
}

/// The heading of a dump, and the reason above it.
fn says(line: &str) -> Option<&str> {
    let begins = |start: &&str| line.starts_with(*start);
    ["Stack dump", "PLEASE submit a bug report", "fatal error: "].iter().any(begins).then_some(line)
}
