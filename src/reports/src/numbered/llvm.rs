//! Lines of the stack dumps of clang and other tools of LLVM, and of programs that call `llvm::sys::PrintStackTrace`.

use foldsym_symbolize::AddressKind;

use super::line::{Form, Line, is_padded, numbered, place_at_end};
use super::sanitizer;
use crate::Format;

pub(crate) const FORM: Form = Form { format: Format::Llvm, read, named: sanitizer::named, says };

/// Reads `#5 0x000055d0c1234567 (/opt/app+0x1165)`. With a symbolizer at hand LLVM names functions, with a place or the module. All are return
/// addresses, also the first: it is in the function that prints the stack.
fn read(text: &str) -> Option<Line<'_>> {
    let (number, rest) = numbered(text)?;
    let given = rest.split(' ').next()?;
    let place = place_at_end(rest);
    let names = place.map_or(rest, |(before, ..)| before).get(given.len()..)?.trim();
    // A debugger writes `in`, and systemd the module and a plus between spaces.
    if !is_padded(given) || names.starts_with("in ") || names.contains(" + 0x") || rest == given {
        return None;
    }
    let place = place.map(|(_, module, address)| (module, address));
    Some(Line { number, given, names, place, id: None, kind: AddressKind::Return })
}

/// The heading of a dump, and the reason above it.
fn says(line: &str) -> Option<&str> {
    let begins = |start: &&str| line.starts_with(*start);
    ["Stack dump", "PLEASE submit a bug report", "fatal error: "].iter().any(begins).then_some(line)
}
