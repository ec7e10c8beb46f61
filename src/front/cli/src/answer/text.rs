//! Prints an answer as `llvm-symbolizer` prints it: a name line and a `file:line:column` line for each
//! frame, a blank line after the last.

use std::borrow::Cow;
use std::ops::Range;

use foldsym_format::DebugInfo;
use foldsym_lookup::{Frame, NameId};
use foldsym_symbolize::json::{hex, number};
use foldsym_symbolize::{Answer, Certainty, Names, Unknown};

use crate::answer::block::{Block, block_range};
use crate::args::{Functions, Marks};
use crate::io::escape::push_escaped;

/// Options of the text.
#[derive(Clone, Copy, Default)]
pub(crate) struct TextStyle {
    /// Says after the name how sure the answer is.
    pub(crate) certainty: Marks,
    /// Escapes control characters, since a terminal obeys them.
    pub(crate) escape: bool,
    /// Puts the address before its frames.
    pub(crate) address: bool,
    /// A line for each frame.
    pub(crate) pretty: bool,
    /// Which names are printed.
    pub(crate) functions: Functions,
    /// The frames of the other functions that may have run.
    pub(crate) candidates: bool,
    /// The outermost name with the innermost line.
    pub(crate) no_inlines: bool,
    /// File names without their folders.
    pub(crate) basenames: bool,
}

impl TextStyle {
    fn no_names(self) -> bool {
        self.functions == Functions::None
    }

    /// Puts the separator between a name and its place.
    fn name_end(self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.pretty { b" at " } else { b"\n" });
    }
}

/// Puts the frames of an answer. `found` is its basic block, if that was requested; `number` is the index of the address in its stack.
pub(crate) fn answer(
    out: &mut Vec<u8>,
    answer: &Answer,
    found: Option<&Option<Block>>,
    number: Option<usize>,
    names: &mut Names<'_>,
    style: TextStyle,
) {
    if let Some(number) = number.filter(|_| style.pretty) {
        out.extend_from_slice(format!("#{number} ").as_bytes());
    }
    if style.address {
        match answer.address {
            Some(address) => hex(out, address),
            None => out.push(b'?'),
        }
        out.extend_from_slice(if style.pretty { b": " } else { b"\n" });
    }
    let Some((outermost, inlined)) = answer.symbol.frames.split_last() else {
        if !style.no_names() {
            out.extend_from_slice(b"??");
            unknown_module(out, answer, style);
            if style.certainty == Marks::All {
                no_line(out, answer);
            }
            style.name_end(out);
        }
        // llvm-symbolizer prints this line too, and scripts count on the lines of each address.
        out.extend_from_slice(b"??:0:0\n");
        block(out, found, None, names, style);
        return out.push(b'\n');
    };
    let innermost = inlined.first().filter(|_| style.no_inlines);
    let inlined = if style.no_inlines { &[] } else { inlined };
    for (at, frame) in inlined.iter().enumerate() {
        if !style.no_names() {
            prefix(out, at, style);
            name(out, frame, names, style);
            style.name_end(out);
        }
        place(out, frame, names, style);
    }
    let mut written = None;
    if !style.no_names() {
        prefix(out, inlined.len(), style);
        let start = out.len();
        name(out, outermost, names, style);
        written = Some((outermost.name, start..out.len()));
        if style.certainty != Marks::None {
            certainty(out, answer, style.certainty);
            no_object(out, answer, names, style);
            if style.certainty == Marks::All {
                no_line(out, answer);
            }
        }
        style.name_end(out);
    }
    place(out, innermost.unwrap_or(outermost), names, style);
    others(out, answer, names, style);
    block(out, found, written, names, style);
    out.push(b'\n');
}

/// ` [absent: libx.so (id abcd): not in /srv/symbols]`: why a module has no answer. That a file has no function at an address needs no
/// word.
fn unknown_module(out: &mut Vec<u8>, answer: &Answer, style: TextStyle) {
    let Some(why) = &answer.unknown else { return };
    // For these two reasons llvm-symbolizer prints only `??`.
    if matches!(why, Unknown::NoFunction | Unknown::NoAddress) {
        return;
    }
    out.extend_from_slice(b" [");
    out.extend_from_slice(why.text().as_bytes());
    out.extend_from_slice(b": ");
    push(out, why.to_string().as_bytes(), style);
    out.push(b']');
}

/// The frames of the other functions that may have run, each function with ` (or) ` before its first.
fn others(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, style: TextStyle) {
    if !style.candidates {
        return;
    }
    for candidate in answer.candidates.iter().skip(1) {
        let frames = &candidate.symbol.frames;
        let Some((outermost, _)) = frames.split_last() else { continue };
        let shown = if style.no_inlines { std::slice::from_ref(outermost) } else { &frames[..] };
        for (at, frame) in shown.iter().enumerate() {
            if at == 0 {
                out.extend_from_slice(b" (or) ");
            }
            if !style.no_names() {
                prefix(out, at, style);
                name(out, frame, names, style);
                style.name_end(out);
            }
            // The innermost frame has the line that ran.
            let lines = if style.no_inlines { &frames[0] } else { frame };
            place(out, lines, names, style);
        }
    }
}

/// The words that `llvm-symbolizer -p` puts before a frame into which the one above it is inlined.
fn prefix(out: &mut Vec<u8>, at: usize, style: TextStyle) {
    if style.pretty && at > 0 {
        out.extend_from_slice(b" (inlined by) ");
    }
}

/// A line for the basic block, if it was requested: `block 3 of NAME: 0x1000-0x1010 HasReturn`. `written` is a name that is already in
/// `out`, and where: most blocks are of that function.
fn block(
    out: &mut Vec<u8>,
    found: Option<&Option<Block>>,
    written: Option<(Option<NameId>, Range<usize>)>,
    names: &mut Names<'_>,
    style: TextStyle,
) {
    let Some(found) = found else { return };
    let Some(found) = found else { return out.extend_from_slice(b"no block\n") };
    out.extend_from_slice(b"block ");
    number(out, found.block.id);
    out.extend_from_slice(b" of ");
    match written {
        Some((name, bytes)) if name == found.function => out.extend_from_within(bytes),
        _ => function(out, found.function, names, style),
    }
    out.extend_from_slice(if found.folded { b" (folded): " } else { b": " });
    block_range(out, &found.block);
    out.push(b'\n');
}

/// Puts the placeholder of an address, or a line, without an answer.
pub(crate) fn unknown(out: &mut Vec<u8>) {
    out.extend_from_slice(b"??\n??:0:0\n\n");
}

fn name(out: &mut Vec<u8>, frame: &Frame, names: &mut Names<'_>, style: TextStyle) {
    function(out, frame.name, names, style);
}

fn function(out: &mut Vec<u8>, id: Option<NameId>, names: &mut Names<'_>, style: TextStyle) {
    match names.function(id) {
        b"" => out.extend_from_slice(b"??"),
        name if style.functions == Functions::Short => push(out, &short(name), style),
        name => push(out, name, style),
    }
}

fn place(out: &mut Vec<u8>, frame: &Frame, names: &mut Names<'_>, style: TextStyle) {
    match names.path(frame.file) {
        b"" => out.extend_from_slice(b"??"),
        file => {
            let name = match style.basenames {
                true => file.rsplit(|&byte| byte == b'/').next().unwrap_or(file),
                false => file,
            };
            push(out, name, style);
        }
    }
    out.push(b':');
    number(out, frame.line);
    out.push(b':');
    number(out, frame.column);
    out.push(b'\n');
}

/// ` [ambiguous 1/252]`, ` [exact: direct_call]`, and ` [likely: stripped]` for a function that is not folded, if all answers are marked;
/// nothing for a certain one.
pub(crate) fn certainty(out: &mut Vec<u8>, answer: &Answer, marks: Marks) {
    if let Some(reason) = answer.reason.filter(|_| marks == Marks::All) {
        out.extend_from_slice(b" [likely: ");
        out.extend_from_slice(reason.text().as_bytes());
        out.push(b']');
    }
    let (Some(certainty), Some(count)) = (answer.certainty, answer.candidate_count) else { return };
    out.extend_from_slice(b" [");
    out.extend_from_slice(certainty.text().as_bytes());
    // An exact answer has one candidate.
    if certainty != Certainty::Exact {
        out.extend_from_slice(b" 1/");
        number(out, count);
    }
    if let Some(evidence) = answer.evidence {
        out.extend_from_slice(b": ");
        out.extend_from_slice(evidence.text().as_bytes());
    }
    out.push(b']');
}

/// ` [the file has symbols alone]`: why an answer has no file and line, or no function, if the debug information of its module was not all
/// there.
pub(crate) fn no_line(out: &mut Vec<u8>, answer: &Answer) {
    let innermost = answer.symbol.frames.first();
    if answer.level != DebugInfo::Full && innermost.is_none_or(|frame| frame.file.is_none()) {
        out.extend_from_slice(b" [the file has ");
        out.extend_from_slice(answer.level.words().as_bytes());
        out.push(b']');
    }
}

/// ` [object: REASON: FUNCTION]`: why the object does not show which function ran.
fn no_object(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, style: TextStyle) {
    let Some(object) = &answer.object else { return };
    let Some(reason) = &object.reason else { return };
    out.extend_from_slice(b" [object: ");
    out.extend_from_slice(reason.as_bytes());
    if object.function.is_some() {
        out.extend_from_slice(b": ");
        push(out, names.function(object.function), style);
    }
    out.push(b']');
}

fn push(out: &mut Vec<u8>, text: &[u8], style: TextStyle) {
    if style.escape { push_escaped(out, text) } else { out.extend_from_slice(text) }
}

/// The name of a function without namespaces, classes and parameters, as `DW_AT_name` has it: `m` of `ns::S::m(int) const`.
pub(crate) fn short(name: &[u8]) -> Cow<'_, [u8]> {
    let mut depth = 0_usize;
    let (mut start, mut end) = (0, name.len());
    // Where Rust's `f::<T>` has colons that are not in the name.
    let mut turbofish = None;
    let first_operator = memchr::memmem::find(name, b"operator");
    let mut bytes = name.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        // Brackets in the name of an operator may have no partner (`operator<`).
        if first_operator.is_some_and(|first| at >= first)
            && let Some(len) = operator(name, at)
        {
            // `at` itself was taken, and `nth` takes one more than its number.
            bytes.nth(len - 2);
            continue;
        }
        match byte {
            // A bracket at the start is a part of the name: `(anonymous namespace)`.
            b'(' if depth == 0 && at > start => {
                // Parameters. A name that is declared inside of the function follows them.
                let Some(after) = scope_behind(&name[at..]) else {
                    end = at;
                    break;
                };
                (start, turbofish) = (at + after, None);
                // To the first byte of the name, which may be an operator.
                bytes.nth(after - 2);
            }
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && name[at - 1] == b':' => match name.get(at + 1) {
                Some(b'<') => turbofish = Some(at - 1),
                _ => (start, turbofish) = (at + 1, None),
            },
            // The text before a blank is a return type.
            b' ' if depth == 0 => (start, turbofish) = (at + 1, None),
            _ => {}
        }
    }
    let start = start.min(end);
    match turbofish.filter(|at| start < *at && at + 2 <= end) {
        Some(at) => [&name[start..at], &name[at + 2..end]].concat().into(),
        None => name[start..end].into(),
    }
}

/// Bytes of the keyword `operator` at this place, with what follows that is not a bracket or a blank of the type or the parameters. `None`
/// if another word is there: `binary_operator`, `operators`.
fn operator(name: &[u8], at: usize) -> Option<usize> {
    const WORD: &[u8] = b"operator";
    // A longer sign precedes the shorter one with which it begins, so that `->*` is not taken for `->`.
    const SIGNS: &[&str] = &[
        "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
        "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "\"\"", "<", ">", "=", "!", "+", "-", "*", "/",
        "%", "^", "&", "|", "~", ",",
    ];
    let rest = name.get(at + WORD.len()..).filter(|_| foldsym_demangle::is_operator_at(name, at))?;
    let symbols = SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes())).map_or(0, |sign| sign.len());
    // `operator<<int>` is `operator<` with arguments, `operator<<(` is not.
    let is_less = rest.starts_with(b"<<") && !matches!(rest.get(2), None | Some(b'(' | b' ' | b'<' | b'='));
    let symbols = if is_less { 1 } else { symbols };
    // `operator new`, `operator bool`, `operator< <int>`.
    let blank = usize::from(rest.get(symbols) == Some(&b' '));
    Some(WORD.len() + symbols + blank)
}

/// The start of the next name in a text that begins with parameters: after `(int) const::`.
fn scope_behind(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let end = text.iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let rest = &text[end + 1..];
    let words = rest.iter().position(|byte| *byte != b' ' && !byte.is_ascii_lowercase() && *byte != b'&')?;
    rest[words..].starts_with(b"::").then_some(end + 1 + words + 2)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_without_what_surrounds_them() {
        for (name, expected) in [
            ("ns::S::m(int) const", "m"),
            ("main", "main"),
            ("int ns::max<int>(int, int)", "max<int>"),
            ("S::operator()(int) const", "operator()"),
            ("void f<ns::S>(ns::S)", "f<ns::S>"),
            ("a::b::~b()", "~b"),
            ("ns::binary_operator::apply(int)", "apply"),
            ("ns::call_operator(int)", "call_operator"),
            ("operators::f(ns::S)", "f"),
            ("ns::operator<(ns::A, ns::B)", "operator<"),
            ("bool ns::operator< <int>(ns::A, int)", "operator< <int>"),
            ("ns::S::operator->() const", "operator->"),
            (
                "bool std::operator==<char, std::allocator<char>>(ns::S)",
                "operator==<char, std::allocator<char>>",
            ),
            ("S& std::operator<<<std::char_traits<char>>(S&)", "operator<<<std::char_traits<char>>"),
            ("bool operator<<ns::B>(ns::B)", "operator<<ns::B>"),
            ("int ns::operator<=><ns::T>(ns::T)", "operator<=><ns::T>"),
            ("ns::operator<<(ns::S&, int)", "operator<<"),
            ("operator new[](unsigned long)", "operator new[]"),
            ("S::operator()(int)::'lambda'()::operator()() const", "operator()"),
            ("scaled(int)::'lambda'(int)::operator()(int) const", "operator()"),
            ("a::f(int (*)(int)) const::inner::g(char)", "g"),
            ("f(", "f"),
            ("core::ptr::align_offset::<u8>", "align_offset<u8>"),
            ("<u8 as core::fmt::Display>::fmt", "fmt"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(&short(name.as_bytes())), expected, "{name}");
        }
    }
}
