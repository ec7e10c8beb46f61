//! Prints an answer as `llvm-symbolizer --output-style=JSON` does, with what it does not know added.

use foldsym_lookup::{Certainty, Evidence, Frame, OriginId};

use crate::answer::block::block_members;
use crate::answer::names::Names;
use crate::answer::object::ObjectAnswer;
use crate::answer::{Answer, Block, Symbol};
use crate::io::json::{address, list, number, string};

/// Puts the object of one answer, without a line end. `names` are kept in the form of JSON; `module` is
/// the `.fsym` as it was given, which the answer repeats where the address is in a section of the program.
pub(crate) fn object(out: &mut Vec<u8>, answer: &Answer, names: &mut Names, module: &[u8]) {
    out.extend_from_slice(b"{\"Address\":");
    match answer.address {
        Some(given) => address(out, given),
        None => out.extend_from_slice(b"\"?\""),
    }
    out.extend_from_slice(b",\"ModuleName\":");
    string(out, if answer.outside { b"" } else { module });
    out.extend_from_slice(b",\"Symbol\":");
    symbol(out, &answer.symbol, answer.start, names);
    out.extend_from_slice(b",\"Certainty\":");
    word(out, answer.certainty.map(Certainty::text));
    out.extend_from_slice(b",\"Evidence\":");
    word(out, answer.evidence.map(Evidence::text));
    if let Some(reason) = answer.reason {
        out.extend_from_slice(b",\"Reason\":");
        string(out, reason.text().as_bytes());
    }
    if let Some(count) = answer.candidate_count {
        out.extend_from_slice(b",\"CandidateCount\":");
        number(out, count);
        out.extend_from_slice(b",\"Candidates\":");
        list(out, &answer.candidates, |out, candidate| {
            if !names.has_room(out.len()) {
                return;
            }
            out.extend_from_slice(b"{\"LinkageName\":");
            out.extend_from_slice(names.linkage(candidate.symbol.name()));
            out.extend_from_slice(b",\"Aliases\":");
            aliases(out, &candidate.symbol, names);
            out.extend_from_slice(b",\"How\":");
            string(out, candidate.how.as_bytes());
            out.extend_from_slice(b",\"Symbol\":");
            symbol(out, &candidate.symbol, answer.start, names);
            out.push(b'}');
        });
    }
    if answer.partial {
        out.extend_from_slice(b",\"Partial\":true");
    }
    if let Some(found) = &answer.object {
        object_of_frame(out, found, names);
    }
    if let Some(block) = &answer.block {
        out.extend_from_slice(b",\"BasicBlock\":");
        match block {
            Some(block) => basic_block(out, block, names),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

/// The frame where nothing is known.
const NOTHING: Frame = Frame {
    name: None,
    file: None,
    line: 0,
    column: 0,
    start_file: None,
    start_line: 0,
    origin: OriginId(0),
    is_outermost: true,
};

/// Puts the frames. Where there are none stands one of "" and 0, as consumers count on one.
fn symbol(out: &mut Vec<u8>, symbol: &Symbol, start: Option<u64>, names: &mut Names) {
    let frames = if symbol.frames.is_empty() { &[NOTHING][..] } else { &symbol.frames };
    let outermost = frames.len() - 1;
    list(out, frames.iter().enumerate(), |out, (at, frame)| {
        if !names.has_room(out.len()) {
            return;
        }
        out.extend_from_slice(b"{\"FunctionName\":");
        out.extend_from_slice(names.function(frame.name));
        out.extend_from_slice(b",\"FileName\":");
        out.extend_from_slice(names.path(frame.file));
        out.extend_from_slice(b",\"Line\":");
        number(out, frame.line);
        out.extend_from_slice(b",\"Column\":");
        number(out, frame.column);
        out.extend_from_slice(b",\"StartFileName\":");
        out.extend_from_slice(names.path(frame.start_file));
        out.extend_from_slice(b",\"StartLine\":");
        number(out, frame.start_line);
        out.extend_from_slice(b",\"StartAddress\":");
        match start.filter(|_| at == outermost) {
            Some(start) => address(out, start),
            None => out.extend_from_slice(b"\"\""),
        }
        out.extend_from_slice(b",\"Discriminator\":0,\"LinkageName\":");
        out.extend_from_slice(names.linkage(frame.name));
        if at == outermost && !symbol.aliases.is_empty() {
            out.extend_from_slice(b",\"Aliases\":");
            aliases(out, symbol, names);
        }
        out.push(b'}');
    });
}

fn aliases(out: &mut Vec<u8>, symbol: &Symbol, names: &mut Names) {
    list(out, &symbol.aliases, |out, alias| {
        if names.has_room(out.len()) {
            out.extend_from_slice(names.linkage(Some(*alias)));
        }
    });
}

/// Puts the object that a frame's method runs on, and why it does not tell which method that is.
fn object_of_frame(out: &mut Vec<u8>, object: &ObjectAnswer, names: &mut Names) {
    let put = |out: &mut Vec<u8>, key: &[u8], value: Option<u64>| {
        out.extend_from_slice(key);
        match value {
            Some(value) => address(out, value),
            None => out.extend_from_slice(b"null"),
        }
    };
    put(out, b",\"Object\":{\"Address\":", object.found.map(|found| found.0));
    put(out, b",\"Vtable\":", object.found.map(|found| found.1));
    out.extend_from_slice(b",\"Reason\":");
    word(out, object.reason.as_deref());
    out.extend_from_slice(b",\"Function\":");
    match object.function {
        Some(function) => out.extend_from_slice(names.linkage(Some(function))),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
}

fn basic_block(out: &mut Vec<u8>, found: &Block, names: &mut Names) {
    out.push(b'{');
    block_members(out, &found.block);
    out.extend_from_slice(b",\"Function\":");
    out.extend_from_slice(names.linkage(found.function));
    if found.folded {
        out.extend_from_slice(b",\"Folded\":true");
    }
    out.push(b'}');
}

fn word(out: &mut Vec<u8>, word: Option<&str>) {
    match word {
        Some(word) => string(out, word.as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

/// Puts the object that answers a line which has no answer, without its end: `address` as it was given and `module`, of a
/// single address.
pub(crate) fn error(out: &mut Vec<u8>, address: Option<(&str, &[u8])>, message: &str) {
    out.push(b'{');
    if let Some((address, module)) = address {
        out.extend_from_slice(b"\"Address\":");
        string(out, address.as_bytes());
        out.extend_from_slice(b",\"ModuleName\":");
        string(out, module);
        out.push(b',');
    }
    out.extend_from_slice(b"\"Error\":{\"Message\":");
    string(out, message.as_bytes());
    out.push(b'}');
}
