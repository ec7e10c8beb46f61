//! A line whose frame begins with a number, and how one form reads it.

use foldsym_symbolize::{AddressKind, module_and_offset};

use crate::Format;

/// A line of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<'l> {
    /// Its number in the stack.
    pub number: u64,
    /// The address in the process, as written; empty if the line has none.
    pub given: &'l str,
    /// The text between the address and the module, or behind the module: function, file and line, if the producer knew them.
    pub names: &'l str,
    /// The module, and the address in it.
    pub place: Option<(&'l str, u64)>,
    /// What that address counts from.
    pub base: AddressBase<'l>,
    /// The module's build id, as it was written.
    pub id: Option<&'l str>,
    /// The kind of the address, unless a signal was delivered near it: [`AroundSignal`].
    pub kind: AddressKind,
    /// How many frames out from this one a signal was delivered, if the line shows it.
    pub signal: Option<usize>,
}

/// Which addresses of a stack a signal makes exact. The frame at which it was delivered is the system's trampoline, and the caller of that is
/// the code that was interrupted: neither made a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct AroundSignal {
    trampoline: Option<usize>,
}

impl AroundSignal {
    /// The kind of the address of the next frame: its index in the stack, [`Line::signal`], and its kind elsewhere.
    pub fn kind(&mut self, at: usize, signal: Option<usize>, elsewhere: AddressKind) -> AddressKind {
        self.trampoline = signal.and_then(|frames| at.checked_add(frames)).or(self.trampoline);
        let is_exact = self.trampoline.is_some_and(|trampoline| at == trampoline || at == trampoline + 1);
        if is_exact { AddressKind::Exact } else { elsewhere }
    }
}

/// What the address in a line's module counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressBase<'l> {
    /// It is a link-time address.
    Image,
    /// The module's first segment.
    FirstSegment,
    /// The symbol of this name: as the symbol table spells it, or demangled.
    Symbol(&'l str),
    /// It is an address of the process.
    Process,
}

impl Line<'_> {
    /// Whether this line and the one before it are one frame: producers write one line for each inlined function. The frames of a
    /// recursive call also have the same address twice, but with the same names.
    pub fn repeats(&self, before: &Line<'_>) -> bool {
        self.number > 0
            && (self.place.is_some() || !self.given.is_empty())
            && (self.given, self.place, self.id) == (before.given, before.place, before.id)
            && self.names != before.names
    }
}

/// Function, file and line.
pub(super) type Named<'l> = (&'l str, &'l str, u32);

/// How the frames of one producer are read.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) format: Format,
    /// Reads a line from the `#` before its number on.
    pub(super) read: for<'l> fn(&'l str) -> Option<Line<'l>>,
    /// Reads a line whose number has no `#`, if the producer writes such lines. No logger's text may precede it. The flag is set if the line
    /// continues a stack of this form.
    pub(super) read_bare: for<'l> fn(&'l str, bool) -> Option<Line<'l>>,
    /// The names of a frame, if the producer knew the function.
    pub(super) named: for<'l> fn(&Line<'l>) -> Option<Named<'l>>,
    /// What a line says that begins a report, if the producer writes such lines. Below it a frame needs no module.
    pub(super) says: for<'l> fn(&'l str) -> Option<&'l str>,
    /// See [`Line::signal`].
    pub(super) signal: for<'l> fn(&Line<'l>) -> Option<usize>,
    /// The kind of the address of frame 0 below a line that is not a frame, if that line shows it.
    pub(super) kind_below: fn(&str) -> Option<AddressKind>,
}

/// Beginnings of a frame that are tried in one line: a title of a logger may have a number too.
const MAX_BEGINNINGS: usize = 8;

impl Form {
    /// Reads what follows the last `#` in a line that is a frame, and the text before it; or a whole line without `#`. `continues`: the line
    /// follows one of this form.
    pub(super) fn parse<'l>(&self, line: &'l str, continues: bool) -> Option<(&'l str, Line<'l>)> {
        let begins = |&at: &usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
        let beginnings = line.rmatch_indices('#').map(|(at, _)| at).filter(begins);
        let read = beginnings
            .take(MAX_BEGINNINGS)
            .find_map(|at| Some((&line[..at], (self.read)(line[at..].trim_end())?)))
            .or_else(|| Some(("", (self.read_bare)(line.trim(), continues)?)));
        let (before, mut line) = read?;
        line.signal = (self.signal)(&line);
        Some((before, line))
    }
}

/// Reads `(MODULE+0xOFFSET)` at the end of a text: the text before it, the module, and the offset. `None` if there is none: other producers
/// write offsets as decimal numbers, and mean those from the start of a function.
pub(super) fn place_at_end(text: &str) -> Option<(&str, &str, u64)> {
    // The name of a module may contain spaces and parentheses: it begins at the last ` (` before a path, else at the last ` (`.
    let at = text.rfind(" (/").or_else(|| text.rfind(" ("))?;
    let place = text[at + 1..].trim_end();
    let is_hex = place.rsplit('+').next().is_some_and(|offset| offset.starts_with("0x"));
    let (module, address) = module_and_offset(place).ok().filter(|_| is_hex)?;
    Some((&text[..at], module.trim_start_matches('('), address))
}

/// The number of a frame, and what follows one space.
pub(super) fn numbered(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.strip_prefix('#')?.split_once(' ')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest))
}

/// Reads hexadecimal digits without `0x` and without a sign.
pub(super) fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

/// Whether all 16 digits of an address are written.
pub(super) fn is_padded(given: &str) -> bool {
    given.strip_prefix("0x").is_some_and(|digits| digits.len() == 16 && hex(digits).is_some())
}
