//! Lines of the reports of sanitizers (clang's and gcc's runtimes).
//!
//! The kinds of the addresses, checked on reports of clang 22 with `symbolize=0` against the disassembled programs:
//!
//! | report | frame 0 | callers |
//! |---|---|---|
//! | AddressSanitizer, of a signal (`SEGV on unknown address`) | exact | adjusted |
//! | AddressSanitizer, of a memory access or an allocation | adjusted: inside the call of the runtime | adjusted |
//! | UndefinedBehaviorSanitizer, MemorySanitizer | adjusted | adjusted |
//! | ThreadSanitizer | adjusted | adjusted |
//!
//! On x86 an adjusted address is the return address less 1. Frame 0 calls no other frame of the stack, and both kinds are looked up without
//! adjustment, so it is always given as exact. The runtime subtracts the same amount from the number after `0x` and from the offset in
//! `(MODULE+0x...)`. ThreadSanitizer writes no address of the process.
//!
//! A frame that the runtime symbolized, and that names no module, keeps its place in the stack as an unknown frame with the runtime's names.

use foldsym_symbolize::{AddressKind, number};

use super::line::{AddressBase, Form, Line, Named, place_at_end};
use crate::Format;
use crate::names::{file_and_line, without_offset};

pub(crate) const FORM: Form = Form {
    format: Format::Sanitizer,
    read,
    read_bare: |_, _| None,
    named,
    says,
    signal: |_| None,
    kind_below: |_| None,
};

/// Reads `#1 0x55d0c1234567 in f app.cpp:3 (/opt/app+0x1567) (BuildId: abcd)`. All parts may be missing but the number, and one of
/// address and module. `None` for the lines of other producers: debuggers write two spaces after the number, Android two digits at least, and
/// LLVM's own stack dumps 16 digits of an address.
fn read(text: &str) -> Option<Line<'_>> {
    let rest = text.strip_prefix('#')?;
    let (digits, rest) = rest.split_once(' ')?;
    let index: u64 = digits.parse().ok()?;
    if digits.starts_with('+') || (digits.starts_with('0') && digits != "0") || rest.starts_with(' ') {
        return None;
    }
    let first = rest.split(' ').next().unwrap_or("");
    let given = if first.starts_with("0x") && number(first).is_some() { first } else { "" };
    if given.len() == "0x0123456789abcdef".len() {
        return None;
    }
    // The search begins at the end, since the name of a function may contain this text too.
    let (before, id) = match rest.rsplit_once(" (BuildId:") {
        Some((before, id)) => (before, Some(id.trim_start().strip_suffix(')')?)),
        None => (rest, None),
    };
    let (before, place) = match place_at_end(before) {
        Some((before, module, address)) => (before, Some((module, address))),
        None => (before, None),
    };
    let names = before.get(given.len()..).unwrap_or("");
    if given.is_empty() && place.is_none() {
        return None;
    }
    // The runtime adjusted the addresses of callers to be inside their calls.
    let kind = if index == 0 { AddressKind::Exact } else { AddressKind::Adjusted };
    Some(Line {
        number: index,
        given,
        names: names.trim(),
        place,
        base: AddressBase::Image,
        id,
        kind,
        signal: None,
    })
}

/// Reads `in f(int) /src/a b.cpp:3:5`, or without `in` as ThreadSanitizer writes it.
pub(super) fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    let names = line.names.strip_prefix("in ").unwrap_or(line.names);
    // A path may have spaces, and so may a function. A path with folders begins with a slash, and a file without them has a line.
    let (function, place) = match (names.split_once(" /"), names.rsplit_once(' ')) {
        (Some((function, _)), _) => (function, &names[function.len() + 1..]),
        (None, Some((function, place))) if file_and_line(place).1 > 0 || place == "<null>" => {
            (function, place)
        }
        _ => (names, ""),
    };
    let (file, line) = if place == "<null>" { ("", 0) } else { file_and_line(place) };
    let function = without_offset(function.trim());
    (!matches!(function, "" | "<null>" | "(<unknown module>)")).then_some((function, file, line))
}

/// What a line says that begins a report.
fn says(line: &str) -> Option<&str> {
    let says = ["ERROR: ", "WARNING: "].iter().find_map(|word| Some(line.split_once(word)?.1));
    let says = says.filter(|text| text.contains("Sanitizer: "));
    says.or_else(|| line.contains(": runtime error: ").then_some(line))
}
