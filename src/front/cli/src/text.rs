//! Prints an answer as `llvm-symbolizer` prints it: a name line and a `file:line:column` line for each
//! frame, a blank line after the last.

use std::ops::Range;

use foldsym_lookup::{BasicBlock, Certainty, Frame, NameId};

use crate::answer::Answer;
use crate::blocks::flags;
use crate::json::{hex, number};
use crate::names::Names;

/// What the text shows.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Says after the name of a folded function how sure the answer is.
    pub(crate) certainty: bool,
    /// Escapes control characters, since a terminal obeys them.
    pub(crate) escape: bool,
}

/// Puts the frames of an answer.
pub(crate) fn answer(out: &mut Vec<u8>, answer: &Answer, names: &mut Names, style: Style) {
    let Some((outermost, inlined)) = answer.symbol.frames.split_last() else {
        out.extend_from_slice(b"??\n??:0:0\n");
        block(out, answer, None, names, style);
        return out.push(b'\n');
    };
    for frame in inlined {
        name(out, frame, names, style);
        out.push(b'\n');
        place(out, frame, names, style);
    }
    let start = out.len();
    name(out, outermost, names, style);
    let written = (outermost.name, start..out.len());
    if style.certainty {
        certainty(out, answer);
        no_object(out, answer, names, style);
    }
    out.push(b'\n');
    place(out, outermost, names, style);
    block(out, answer, Some(written), names, style);
    out.push(b'\n');
}

/// A line for the basic block, where it was asked for: `block 3 of NAME: 0x1000-0x1010 HasReturn`. `written` is a name that is
/// in `out`, and where: most blocks are of that function.
fn block(
    out: &mut Vec<u8>,
    answer: &Answer,
    written: Option<(Option<NameId>, Range<usize>)>,
    names: &mut Names,
    style: Style,
) {
    let Some(found) = &answer.block else { return };
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

/// Puts the addresses of a block, the end excluded, and its flags.
pub(crate) fn block_range(out: &mut Vec<u8>, block: &BasicBlock) {
    hex(out, block.start.0);
    out.push(b'-');
    hex(out, block.start.0.saturating_add(block.size));
    out.extend_from_slice(flags(block).text.as_bytes());
}

/// Puts what stands for an address, or a line, of which nothing is known.
pub(crate) fn unknown(out: &mut Vec<u8>) {
    out.extend_from_slice(b"??\n??:0:0\n\n");
}

fn name(out: &mut Vec<u8>, frame: &Frame, names: &mut Names, style: Style) {
    function(out, frame.name, names, style);
}

fn function(out: &mut Vec<u8>, id: Option<NameId>, names: &mut Names, style: Style) {
    match names.function(id) {
        b"" => out.extend_from_slice(b"??"),
        name => push(out, name, style),
    }
}

fn place(out: &mut Vec<u8>, frame: &Frame, names: &mut Names, style: Style) {
    match names.path(frame.file) {
        b"" => out.extend_from_slice(b"??"),
        file => push(out, file, style),
    }
    out.push(b':');
    number(out, frame.line);
    out.push(b':');
    number(out, frame.column);
    out.push(b'\n');
}

/// ` [ambiguous 1/252]`, ` [exact: direct_call]`; nothing for a function that is not folded.
fn certainty(out: &mut Vec<u8>, answer: &Answer) {
    let (Some(certainty), Some(count)) = (answer.certainty, answer.candidate_count) else { return };
    out.extend_from_slice(b" [");
    out.extend_from_slice(certainty.text().as_bytes());
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

/// ` [object: REASON: FUNCTION]`: why the object does not tell which function ran.
fn no_object(out: &mut Vec<u8>, answer: &Answer, names: &mut Names, style: Style) {
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

fn push(out: &mut Vec<u8>, text: &[u8], style: Style) {
    if style.escape { push_escaped(out, text) } else { out.extend_from_slice(text) }
}

/// Puts text with its control characters, and bytes that are not UTF-8, as `\xNN` and the like.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || is_bidi(character) {
                out.extend(character.escape_default().to_string().into_bytes());
            } else {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        for byte in chunk.invalid() {
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// Characters that turn the direction of the text around them: they can make one name look like another.
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    #[test]
    fn terminals_see_no_control_character() {
        let mut out = Vec::new();
        super::push_escaped(&mut out, "a\u{1b}[2Jb\n\u{9b}c\u{202e}\u{e9}".as_bytes());
        super::push_escaped(&mut out, b"\xff");
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[2Jb\\n\\u{9b}c\\u{202e}\u{e9}\\xff");
    }
}
