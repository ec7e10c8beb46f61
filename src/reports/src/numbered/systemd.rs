//! Lines of the message that systemd-coredump logs (`coredumpctl info`).

use foldsym_symbolize::AddressKind;

use super::line::{AddressBase, Form, Line, Named, hex, is_padded, numbered};
use crate::Format;

pub(crate) const FORM: Form =
    Form { format: Format::Systemd, read, read_bare: |_, _| None, named, says, signal, kind_below: |_| None };

/// Reads `#0  0x000055d0c1234567 n/a (/opt/app + 0x1139)`: the offset is from where the module is mapped. A frame of no module has `n/a` for
/// it. Callers are return addresses.
fn read(text: &str) -> Option<Line<'_>> {
    let (number, rest) = numbered(text)?;
    let (given, rest) = rest.trim_start().split_once(' ')?;
    let (names, place) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let (module, offset) = place.rsplit_once(" + 0x")?;
    if !is_padded(given) || names.is_empty() || module.is_empty() {
        return None;
    }
    let kind = if number == 0 { AddressKind::Exact } else { AddressKind::Return };
    let offset = hex(offset)?;
    Some(Line {
        number,
        given,
        names,
        place: (module != "n/a").then_some((module, offset)),
        base: AddressBase::FirstSegment,
        id: None,
        kind,
        signal: None,
    })
}

fn signal(line: &Line<'_>) -> Option<usize> {
    (line.names == "__restore_rt").then_some(0)
}

fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    (line.names != "n/a").then_some((line.names, "", 0))
}

/// `Process 123 (app) of user 1000 dumped core.`
fn says(line: &str) -> Option<&str> {
    line.find("Process ").filter(|_| line.contains(" dumped core")).map(|at| &line[at..])
}
