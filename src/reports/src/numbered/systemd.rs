//! Lines of the message that systemd-coredump logs (`coredumpctl info`).

use foldsym_symbolize::AddressKind;

use super::line::{Form, Line, Named, hex, is_padded, numbered};
use crate::Format;

pub(crate) const FORM: Form = Form { format: Format::Systemd, read, named, says };

/// Reads `#0  0x000055d0c1234567 n/a (/opt/app + 0x1139)`. Callers are return addresses.
fn read(text: &str) -> Option<Line<'_>> {
    let (number, rest) = numbered(text)?;
    let (given, rest) = rest.trim_start().split_once(' ')?;
    let (names, place) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let (module, offset) = place.rsplit_once(" + 0x")?;
    if !is_padded(given) || names.is_empty() || module.is_empty() {
        return None;
    }
    let kind = if number == 0 { AddressKind::Exact } else { AddressKind::Return };
    Some(Line { number, given, names, place: Some((module, hex(offset)?)), id: None, kind })
}

fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    (line.names != "n/a").then_some((line.names, "", 0))
}

/// `Process 123 (app) of user 1000 dumped core.`
fn says(line: &str) -> Option<&str> {
    line.find("Process ").filter(|_| line.contains(" dumped core")).map(|at| &line[at..])
}
