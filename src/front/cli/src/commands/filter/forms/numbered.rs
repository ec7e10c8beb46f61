//! The forms whose frames begin with `#` and a number: reports of sanitizers, stack dumps of LLVM's tools, tombstones of Android, and
//! what systemd-coredump writes. Each has its own addresses, so a line is read by the one form that it has whole.
//!
//! A logger may have put text in front of the number.

use foldsym_reports::sanitizer::{Line, place_at_end};
use foldsym_symbolize::AddressKind;

use super::frame::Frame;
use crate::answer::address::hex;

/// Beginnings of a frame that are tried in one line: a title of a logger may have a number too.
const MAX_BEGINNINGS: usize = 8;

/// Reads what follows the last `#` in a line that is a frame by one of the forms below. The text before it is kept.
pub(super) fn after_prefix(line: &str, read: fn(&str) -> Option<Frame>) -> Option<Frame> {
    let begins = |&at: &usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    let beginnings = line.rmatch_indices('#').map(|(at, _)| at).filter(begins);
    beginnings
        .take(MAX_BEGINNINGS)
        .find_map(|at| Some(Frame { prefix: line[..at].to_owned(), ..read(&line[at..])? }))
}

/// `#1 0x55d0c1234567 in f app.cpp:3 (/opt/app+0x1567) (BuildId: abcd)`; the parts that the runtime does not know are missing. Callers
/// are adjusted to be inside of their calls.
pub(super) fn sanitizer(text: &str) -> Option<Frame> {
    let line = Line::parse(text)?;
    let is_frame = line.place.is_some()
        || line.names == "(<unknown module>)"
        || line.names.strip_prefix("in ").is_some_and(|names| !names.is_empty());
    let (module, address) =
        line.place.map_or((None, 0), |(module, address)| (Some(module.to_owned()), address));
    is_frame.then(|| Frame {
        number: Some(line.number),
        given: line.given.to_owned(),
        names: line.names.to_owned(),
        module,
        id: line.id.map(str::to_owned),
        address,
        kind: Some(line.kind),
        ..Frame::default()
    })
}

/// `#5 0x000055d0c1234567 (/opt/app+0x1165)`, of the stack dumps of clang and other tools of LLVM, and of programs that call
/// `llvm::sys::PrintStackTrace`. With a symbolizer at hand they name functions, with a place or the module. All are return addresses.
pub(super) fn llvm(text: &str) -> Option<Frame> {
    let (number, rest) = numbered(text)?;
    let given = rest.split(' ').next()?;
    let place = place_at_end(rest);
    let names = place.map_or(rest, |(before, ..)| before).get(given.len()..)?.trim();
    // A debugger writes `in`, and systemd the module and a plus between spaces.
    if !is_padded(given) || names.starts_with("in ") || names.contains(" + 0x") || rest == given {
        return None;
    }
    let (module, address) =
        place.map_or((None, 0), |(_, module, address)| (Some(module.to_owned()), address));
    Some(Frame {
        number: Some(number),
        given: given.to_owned(),
        names: names.to_owned(),
        module,
        address,
        kind: Some(AddressKind::Return),
        ..Frame::default()
    })
}

/// `#00 pc 0000000000001253  /data/app/lib.so (boom+20) (BuildId: abcd)`: an address of the module, which libunwindstack has adjusted to
/// be inside of the call.
pub(super) fn android(text: &str) -> Option<Frame> {
    let (number, rest) = numbered(text)?;
    let (pc, rest) = rest.strip_prefix("pc ")?.split_once(' ')?;
    let address = hex(pc).filter(|_| matches!(pc.len(), 8 | 16))?;
    let rest = rest.trim_start();
    let (rest, id) = match rest.rsplit_once(" (BuildId: ") {
        Some((rest, id)) => (rest, Some(id.strip_suffix(')')?.to_owned())),
        None => (rest, None),
    };
    // `(offset 0x1000)` is where a library begins in an archive; `(f(int)+20)` names the function.
    let module = rest.split(" (").next().filter(|module| !module.is_empty())?;
    Some(Frame {
        number: Some(number),
        names: rest[module.len()..].trim().to_owned(),
        module: Some(module.to_owned()),
        id,
        address,
        kind: Some(if number == 0 { AddressKind::Exact } else { AddressKind::Adjusted }),
        ..Frame::default()
    })
}

/// `#0  0x000055d0c1234567 n/a (/opt/app + 0x1139)`, of systemd-coredump. Callers are return addresses.
pub(super) fn systemd(text: &str) -> Option<Frame> {
    let (number, rest) = numbered(text)?;
    let (given, rest) = rest.trim_start().split_once(' ')?;
    let (names, place) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let (module, offset) = place.rsplit_once(" + 0x")?;
    if !is_padded(given) || names.is_empty() || module.is_empty() {
        return None;
    }
    Some(Frame {
        number: Some(number),
        given: given.to_owned(),
        names: names.to_owned(),
        module: Some(module.to_owned()),
        address: hex(offset)?,
        kind: Some(if number == 0 { AddressKind::Exact } else { AddressKind::Return }),
        ..Frame::default()
    })
}

/// The number of a frame, and what follows one space.
fn numbered(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.strip_prefix('#')?.split_once(' ')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest))
}

/// Whether all 16 digits of an address are written.
fn is_padded(given: &str) -> bool {
    given.strip_prefix("0x").is_some_and(|digits| digits.len() == 16 && hex(digits).is_some())
}
