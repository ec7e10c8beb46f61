//! The forms whose frames begin with a number: reports of sanitizers, stack dumps of LLVM's tools, tombstones of Android, what
//! systemd-coredump writes, and `backtrace_symbols` of macOS. [`foldsym_reports::numbered`] reads their lines.

use foldsym_reports::Format;
use foldsym_reports::numbered::{self, AddressBase, Line};

use super::frame::{Frame, Symbol};

/// Reads a line of one of these formats.
pub(super) fn frame(format: Format, line: &str) -> Option<Frame> {
    frame_of(format, numbered::parse(format, line)?)
}

/// Reads a line below one of this format.
pub(super) fn next_frame(format: Format, line: &str) -> Option<Frame> {
    frame_of(format, numbered::parse_next(format, line)?)
}

fn frame_of(format: Format, (prefix, line): (&str, Line<'_>)) -> Option<Frame> {
    // In a log a number and an address alone are too little.
    let is_frame = line.place.is_some()
        || format == Format::Llvm && !line.names.is_empty()
        || line.names == "(<unknown module>)"
        || line.names.strip_prefix("in ").is_some_and(|names| !names.is_empty());
    let (module, address) =
        line.place.map_or((None, 0), |(module, address)| (Some(module.to_owned()), address));
    let symbol = match line.base {
        AddressBase::Symbol(name) => Some(Symbol { name: name.to_owned(), size: None, is_nearest: true }),
        _ => None,
    };
    // The log does not say where its modules were loaded.
    let module = module.filter(|_| line.base != AddressBase::Process);
    is_frame.then(|| Frame {
        prefix: prefix.to_owned(),
        number: Some(line.number),
        given: line.given.to_owned(),
        names: line.names.to_owned(),
        module,
        id: line.id.map(str::to_owned),
        address,
        is_offset: line.base == AddressBase::FirstSegment,
        symbol,
        kind: Some(line.kind),
        signal: line.signal,
        ..Frame::default()
    })
}
