//! Lines of Android's tombstones, and of their copies in the log.

use foldsym_symbolize::AddressKind;

use super::line::{AddressBase, Form, Line, Named, hex, numbered};
use crate::Format;

pub(crate) const FORM: Form = Form {
    format: Format::Android,
    read,
    read_bare: |_, _| None,
    named,
    says,
    signal: |_| None,
    kind_below: |_| None,
};

/// Reads `#00 pc 0000000000001253  /data/app/lib.so (boom+20) (BuildId: abcd)`: an address of the module, which libunwindstack has adjusted
/// to be inside of the call.
fn read(text: &str) -> Option<Line<'_>> {
    let (number, rest) = numbered(text)?;
    let (pc, rest) = rest.strip_prefix("pc ")?.split_once(' ')?;
    let address = hex(pc).filter(|_| matches!(pc.len(), 8 | 16))?;
    let rest = rest.trim_start();
    let (rest, id) = match rest.rsplit_once(" (BuildId: ") {
        Some((rest, id)) => (rest, Some(id.strip_suffix(')')?)),
        None => (rest, None),
    };
    // `(offset 0x1000)` is where a library begins in an archive; `(f(int)+20)` names the function.
    let module = rest.split(" (").next().filter(|module| !module.is_empty())?;
    let names = rest[module.len()..].trim();
    let kind = if number == 0 { AddressKind::Exact } else { AddressKind::Adjusted };
    Some(Line {
        number,
        given: "",
        names,
        place: Some((module, address)),
        base: AddressBase::Image,
        id,
        kind,
        signal: None,
    })
}

/// Reads `(f(int)+20)`, behind `(offset 0x1000) ` or `(deleted) `.
fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    let mut names = line.names;
    let is_note = |note: &str| note == "(deleted" || note.starts_with("(offset 0x");
    while let Some((_, rest)) = names.split_once(") ").filter(|(note, _)| is_note(note)) {
        names = rest;
    }
    let (function, offset) = names.strip_prefix('(')?.strip_suffix(')')?.rsplit_once('+')?;
    let is_offset = !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit());
    (is_offset && !function.is_empty()).then_some((function, "", 0))
}

/// The line of the signal.
fn says(line: &str) -> Option<&str> {
    line.find("signal ").filter(|_| line.contains("fault addr")).map(|at| &line[at..])
}
