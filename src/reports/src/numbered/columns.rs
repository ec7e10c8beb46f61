//! Lines whose columns are a number, a module, an address of the process, and the function with an offset from its start. Three producers
//! write them:
//!
//! | producer | number | module | address |
//! |---|---|---|---|
//! | LLVM's stack dumps without a symbolizer (`%-2d %-*s %#018lx`) | 2 letters and a blank | as wide as the longest of the dump | 16 digits |
//! | macOS's `backtrace_symbols` (`%-4d%-35s 0x%016lx`) | 4 letters | 35 letters and a blank | 16 digits |
//! | Apple's crash reports | 4 letters | 30 letters and a tab | 16 digits, or as many as it has in 18 columns |
//!
//! Up to frame 99 the number tells LLVM's lines from the others. From frame 100 on, LLVM's modules begin in macOS's column too. Then a
//! line is LLVM's if its address is not in the column in which macOS would have put it. A line that both may have written ([`Writer::Either`])
//! is read as a line of the stack that it continues, else as macOS's.

use foldsym_symbolize::AddressKind;

use super::line::{AddressBase, Form, Line, Named, hex, is_padded};
use crate::Format;
use crate::names::file_and_line;

pub(crate) const MACOS: Form = Form {
    format: Format::MacOs,
    read: |_| None,
    read_bare: |text, _| macos(text),
    named,
    says: |_| None,
    signal,
    kind_below,
};

/// The columns of macOS at which the module and the address begin, if the module is not longer.
const MACOS_MODULE: usize = 4;
const MACOS_ADDRESS: usize = 40;
/// The width to which crash reports pad the module.
const APPLE_WIDTH: usize = 30;
/// What crash reports write for code of no module.
const UNKNOWN: &str = "???";
/// LLVM pads the number to 2 letters, and puts a blank behind it.
const LLVM_NUMBER: usize = 2;

/// Who may have written a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Llvm,
    /// `backtrace_symbols`.
    MacOs,
    /// A crash report.
    Apple,
    /// LLVM or `backtrace_symbols`.
    Either,
}

/// Reads `3   app                                 0x0000000100003f50 main + 16`, or the same with a tab before the address. The address of
/// frame 0 is where a crashed thread was, but one to which a call returns where a thread called `backtrace`.
fn macos(text: &str) -> Option<Line<'_>> {
    let (mut line, writer) = read(text).filter(|(_, writer)| *writer != Writer::Llvm)?;
    if line.number == 0 && writer == Writer::Apple {
        line.kind = AddressKind::Exact;
    }
    Some(line)
}

/// What the line above a stack says about the address of its first frame, if it says something. `Thread 0 Crashed:` is above the registers
/// of a thread; the backtraces of exceptions are those of calls.
fn kind_below(heading: &str) -> Option<AddressKind> {
    let is_of_calls = ["Last Exception Backtrace", "Application Specific Backtrace"];
    if is_of_calls.iter().any(|start| heading.starts_with(start)) {
        return Some(AddressKind::Return);
    }
    let number = heading.strip_prefix("Thread ")?;
    let rest = number.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_thread = rest.len() < number.len()
        && [":", " Crashed:", " name:", " Highlighted:"].iter().any(|word| rest.starts_with(word));
    is_thread.then_some(AddressKind::Exact)
}

/// The trampoline called the handler of a signal.
fn signal(line: &Line<'_>) -> Option<usize> {
    named(line).filter(|(name, ..)| *name == "_sigtramp").map(|_| 0)
}

/// Reads `3  libLLVM.so.22 0x00007f0012345678 f(int) + 54`. The function is the nearest one that other modules can see, and it is missing if
/// there is none. A line that macOS may have written is LLVM's below one of LLVM's.
pub(super) fn llvm(text: &str, is_below: bool) -> Option<Line<'_>> {
    let is_llvm = |writer: Writer| writer == Writer::Llvm || is_below && writer == Writer::Either;
    read(text).filter(|(_, writer)| is_llvm(*writer)).map(|(line, _)| line)
}

/// Reads a line of any of them.
fn read(text: &str) -> Option<(Line<'_>, Writer)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let module_at = digits + text[digits..].find(|character| character != ' ')?;
    let (padded, place, address_at) = match text[module_at..].split_once('\t') {
        Some((padded, place)) => (padded, place.trim_start_matches(' '), None),
        None => {
            let begins = |at: &usize| text[..*at].ends_with(' ');
            let address_at = text.match_indices("0x").map(|(at, _)| at).find(begins)?;
            (text.get(module_at..address_at)?, &text[address_at..], Some(address_at))
        }
    };
    let module = padded.trim_end();
    let (given, names) = place.split_once(' ').unwrap_or((place, ""));
    let address = given.strip_prefix("0x").and_then(hex).filter(|_| !module.is_empty())?;
    let is_macos = address_at == Some(MACOS_ADDRESS.max(MACOS_MODULE + module.len() + 1));
    let symbol = symbol(names);
    let writer = match address_at {
        // Text with tabs may begin so too, but has other columns, and no offset at the end.
        None if module_at == MACOS_MODULE
            && padded.len() == module.len().max(APPLE_WIDTH)
            && (symbol.is_some() || names == UNKNOWN) =>
        {
            Writer::Apple
        }
        _ if !is_padded(given) || address_at.is_none() => return None,
        _ if module_at == MACOS_MODULE && digits <= LLVM_NUMBER => Writer::MacOs,
        // The number is wider than the column.
        _ if module_at == digits && digits == MACOS_MODULE && is_macos => Writer::MacOs,
        // Only LLVM leaves a function out that it does not know.
        _ if module_at == MACOS_MODULE && is_macos && symbol.is_some() => Writer::Either,
        _ if module_at == digits.max(LLVM_NUMBER) + 1 => Writer::Llvm,
        _ => return None,
    };
    let (names, offset, base) = match symbol {
        // Apple's crash reports name the start of a module without symbols as `0x100000000 + 16`.
        Some(Symbol { name, offset, .. }) if name.starts_with("0x") => {
            match name.strip_prefix("0x").and_then(hex).and_then(|start| address.checked_sub(start)) {
                Some(distance) if distance == offset => ("", offset, AddressBase::FirstSegment),
                _ => ("", address, AddressBase::Process),
            }
        }
        // Code of no module is at `0 + 0`.
        Some(Symbol { name, .. }) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
            ("", address, AddressBase::Process)
        }
        Some(Symbol { name, offset, .. }) => (names, offset, AddressBase::Symbol(name)),
        None => ("", address, AddressBase::Process),
    };
    let (place, id, kind, signal) = (Some((module, offset)), None, AddressKind::Return, None);
    Some((Line { number, given, names, place, base, id, kind, signal }, writer))
}

/// The function that a line names.
struct Symbol<'l> {
    name: &'l str,
    offset: u64,
    /// `main.c:12`, or nothing.
    file: &'l str,
}

/// Most beginnings of an offset that are tried in one line: the names of functions and files may have a plus too.
const MAX_OFFSETS: usize = 8;

/// Reads `main + 16`, or `main + 16 (main.c:12)` as Apple's tools write it where they have the program's debug information.
fn symbol(text: &str) -> Option<Symbol<'_>> {
    let read = |at: usize| {
        let (name, rest) = (&text[..at], &text[at + " + ".len()..]);
        let (offset, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_number = offset.bytes().all(|byte| byte.is_ascii_digit());
        let file = match rest {
            "" => "",
            rest => rest.strip_prefix('(')?.strip_suffix(')').filter(|file| !file.is_empty())?,
        };
        let offset = offset.parse().ok().filter(|_| is_number && !name.is_empty())?;
        Some(Symbol { name, offset, file })
    };
    text.rmatch_indices(" + ").take(MAX_OFFSETS).find_map(|(at, _)| read(at))
}

pub(super) fn named<'l>(line: &Line<'l>) -> Option<Named<'l>> {
    let Symbol { name, file, .. } = symbol(line.names)?;
    // A place has a line. Code that the compiler made has no file.
    let is_place = file.contains(':') && !file.starts_with("<compiler-generated>");
    let (file, line) = if is_place { file_and_line(file) } else { ("", 0) };
    Some((name, file, line))
}
