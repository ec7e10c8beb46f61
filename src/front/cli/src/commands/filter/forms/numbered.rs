//! The forms whose frames begin with `#` and a number: reports of sanitizers, stack dumps of LLVM's tools, tombstones of Android, and
//! what systemd-coredump writes. [`foldsym_reports::numbered`] reads their lines.

use foldsym_reports::{Format, numbered};

use super::frame::Frame;

/// Reads a line of one of these formats.
pub(super) fn frame(format: Format, line: &str) -> Option<Frame> {
    let (prefix, line) = numbered::parse(format, line)?;
    // In a log a number and an address alone are too little.
    let is_frame = line.place.is_some()
        || format == Format::Llvm && !line.names.is_empty()
        || line.names == "(<unknown module>)"
        || line.names.strip_prefix("in ").is_some_and(|names| !names.is_empty());
    let (module, address) =
        line.place.map_or((None, 0), |(module, address)| (Some(module.to_owned()), address));
    is_frame.then(|| Frame {
        prefix: prefix.to_owned(),
        number: Some(line.number),
        given: line.given.to_owned(),
        names: line.names.to_owned(),
        module,
        id: line.id.map(str::to_owned),
        address,
        is_offset: line.is_offset,
        kind: Some(line.kind),
        ..Frame::default()
    })
}
