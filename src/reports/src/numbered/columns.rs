//! Lines whose columns are a number, a module, an address of the process, and the function with an offset from its start: those of macOS's
//! `backtrace_symbols` and Apple's crash reports, and those of LLVM's stack dumps that were written without a symbolizer. Their columns
//! have other widths.

use foldsym_symbolize::AddressKind;

use super::line::{AddressBase, Form, Line, Named, hex, is_padded};
use crate::Format;

pub(crate) const MACOS: Form = Form {
    format: Format::MacOs,
    read: |_| None,
    read_bare: |text| macos(text).filter(|(_, is_macos)| *is_macos).map(|(line, _)| line),
    named,
    says: |_| None,
    signal: |_| None,
};

/// macOS pads the number to 4 letters, and the module to 30 at least.
const MACOS_NUMBER: usize = 4;
const MACOS_ADDRESS: usize = 34;
/// LLVM pads the number to 2 letters, and puts a blank behind it.
const LLVM_NUMBER: usize = 2;

/// Reads `3   app                                 0x0000000100003f50 main + 16`.
fn macos(text: &str) -> Option<(Line<'_>, bool)> {
    let (mut line, is_macos) = read(text)?;
    // Frame 0 of a crash report is where the thread was.
    if line.number == 0 {
        line.kind = AddressKind::Exact;
    }
    Some((line, is_macos))
}

/// Reads `3  libLLVM.so.22 0x00007f0012345678 f(int) + 54`. The function is the nearest one that other modules can see, and it is missing if
/// there is none.
pub(super) fn llvm(text: &str) -> Option<Line<'_>> {
    read(text).filter(|(_, is_macos)| !is_macos).map(|(line, _)| line)
}

/// Reads a line of either, and whether its columns are those of macOS.
fn read(text: &str) -> Option<(Line<'_>, bool)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let module_at = digits + text[digits..].find(|character| character != ' ')?;
    let begins = |at: &usize| text[..*at].ends_with(|before: char| before.is_ascii_whitespace());
    let address_at = text.match_indices("0x").map(|(at, _)| at).find(begins)?;
    let module = text.get(module_at..address_at)?.trim_end();
    let (given, names) = text[address_at..].split_once(' ').unwrap_or((&text[address_at..], ""));
    // Both write the number of a hundredth frame without padding.
    let is_macos = module_at == MACOS_NUMBER && (digits <= LLVM_NUMBER || address_at >= MACOS_ADDRESS);
    if !is_padded(given) || module.is_empty() || !is_macos && module_at != digits.max(LLVM_NUMBER) + 1 {
        return None;
    }
    let symbol = names.rsplit_once(" + ").and_then(|(name, offset)| Some((name, offset.parse().ok()?)));
    let symbol = symbol.filter(|(name, _): &(&str, u64)| !name.is_empty());
    let address = hex(given.strip_prefix("0x")?)?;
    let (names, offset, base) = match symbol {
        // Apple's crash reports name the start of a module without symbols as `0x100000000 + 16`.
        Some((start, offset)) if start.starts_with("0x") => {
            match start.strip_prefix("0x").and_then(hex).and_then(|start| address.checked_sub(start)) {
                Some(distance) if distance == offset => ("", offset, AddressBase::FirstSegment),
                _ => ("", address, AddressBase::Process),
            }
        }
        Some((name, offset)) => (name, offset, AddressBase::Symbol(name)),
        None => ("", address, AddressBase::Process),
    };
    let place = Some((module, offset));
    Some((
        Line { number, given, names, place, base, id: None, kind: AddressKind::Return, signal: None },
        is_macos,
    ))
}

pub(super) fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    (!line.names.is_empty()).then_some((line.names, "", 0))
}
