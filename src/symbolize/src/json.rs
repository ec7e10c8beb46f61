//! Writes answers as JSON, with the keys of `llvm-symbolizer --output-style=JSON` and further ones. The command line, servers and
//! bindings share it. The order of the keys is fixed; `schema/answers.md` describes each key.

use foldsym_lookup::{DebugInfo, Frame, OriginId};
use foldsym_signature::Signature;

use crate::answer::{Answer, Symbol};
use crate::names::Names;
use crate::objects::ObjectAnswer;
pub use crate::quote::string;
use crate::unknown::Unknown;

/// The version of the keys of answers (`schema/answers.md`).
pub const VERSION: u32 = 2;

/// Writes a decimal number.
pub fn number(out: &mut Vec<u8>, value: impl Into<u64>) {
    // The largest number of 64 bits has 20 digits.
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut value = value.into();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes `0x` and lower-case hexadecimal digits, without quotes.
pub fn hex(out: &mut Vec<u8>, value: u64) {
    // The lowest bit is set so that 0 gets one digit.
    let count = 16 - (value | 1).leading_zeros() as usize / 4;
    // The first digit is moved to the highest bits, so that superfluous digits come last and can be cut off.
    let first = value << (64 - 4 * count);
    out.extend_from_slice(b"0x");
    let end = out.len() + count;
    out.extend_from_slice(&eight_digits((first >> 32) as u32));
    if count > 8 {
        out.extend_from_slice(&eight_digits(first as u32));
    }
    out.truncate(end);
}

/// The hexadecimal digits of all four bytes, computed at once: each byte of a word holds a digit.
fn eight_digits(value: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let spread = u64::from(value);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let digits = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 for each digit of 10 or more.
    let letters = (digits + 6 * ONES) >> 4 & ONES;
    (digits + ONES * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

/// Writes an address as a JSON string.
pub fn address(out: &mut Vec<u8>, value: u64) {
    out.push(b'"');
    hex(out, value);
    out.push(b'"');
}

/// Writes an array.
pub fn list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut put: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

/// A function at a frame that somebody else named than the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GivenName<'n> {
    /// Its name.
    pub function: &'n str,
    /// The source file; empty if it is not known.
    pub file: &'n str,
    /// The line; 0 if it is not known.
    pub line: u32,
}

impl<'n> GivenName<'n> {
    /// A function with its place.
    pub const fn new(function: &'n str, file: &'n str, line: u32) -> Self {
        Self { function, file, line }
    }
}

/// Writes the object of an answer as [`object()`] does, with these functions in place of the answer's, innermost first, and a key `Source` of
/// this word.
pub fn named_object<'n>(
    out: &mut Vec<u8>,
    answer: &Answer,
    names: &mut Names<'_>,
    module: &str,
    (source, functions): (&str, impl IntoIterator<Item = GivenName<'n>>),
) {
    begin(out, answer, module);
    out.extend_from_slice(b",\"Symbol\":");
    list(out, functions, |out, given| {
        out.extend_from_slice(b"{\"FunctionName\":");
        string(out, names.shown(given.function).as_bytes());
        out.extend_from_slice(b",\"FileName\":");
        string(out, given.file.as_bytes());
        out.extend_from_slice(b",\"Line\":");
        number(out, given.line);
        out.extend_from_slice(b",\"Column\":0,\"StartFileName\":\"\",\"StartLine\":0,\"StartAddress\":\"\",\"Discriminator\":0,\"LinkageName\":");
        string(out, given.function.as_bytes());
        out.push(b'}');
    });
    out.extend_from_slice(b",\"Source\":");
    string(out, source.as_bytes());
    rest(out, answer, names);
}

/// Writes the object of one answer, without the brace that ends it. `names` must have the form [`Form::Json`](crate::Form::Json); `module`
/// is the name of the answer's module.
pub fn object(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, module: &str) {
    begin(out, answer, module);
    let Some(image) = answer.image_address.filter(|_| answer.is_of_its_address_alone()) else {
        return functions_and_rest(out, answer, names);
    };
    if let Some(text) = names.text(image) {
        out.extend_from_slice(text);
        return;
    }
    // Only this part is kept for later: the address and the module depend on the process, not on the file.
    let start = out.len();
    functions_and_rest(out, answer, names);
    names.keep_text(image, &out[start..], (answer.certainty, answer.reason));
}

/// Writes the keys that depend on the process.
fn begin(out: &mut Vec<u8>, answer: &Answer, module: &str) {
    out.extend_from_slice(b"{\"Address\":");
    match answer.address {
        Some(given) => address(out, given),
        None => out.extend_from_slice(b"\"?\""),
    }
    out.extend_from_slice(b",\"ModuleName\":");
    string(out, if answer.module.is_some() { module.as_bytes() } else { b"" });
}

/// Writes the keys that do not depend on the process.
fn functions_and_rest(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>) {
    out.extend_from_slice(b",\"Symbol\":");
    symbol(out, &answer.symbol, answer.start, names);
    rest(out, answer, names);
}

/// Writes the keys behind the functions.
fn rest(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>) {
    out.extend_from_slice(b",\"Certainty\":");
    word(out, answer.certainty.map(|certainty| certainty.text()));
    out.extend_from_slice(b",\"Evidence\":");
    word(out, answer.evidence.map(|evidence| evidence.text()));
    if let Some(reason) = answer.reason {
        out.extend_from_slice(b",\"Reason\":");
        string(out, reason.text().as_bytes());
    }
    if let Some(count) = answer.candidate_count {
        out.extend_from_slice(b",\"CandidateCount\":");
        number(out, count);
    }
    // A candidate that is the only one is the answer, which is not repeated.
    if let ([only], Some(1)) = (&answer.candidates[..], answer.candidate_count) {
        out.extend_from_slice(b",\"How\":");
        string(out, only.how.as_bytes());
    }
    if answer.candidate_count.is_some_and(|count| count > 1) {
        out.extend_from_slice(b",\"Candidates\":");
        list(out, &answer.candidates, |out, candidate| {
            // Without room the list gets only commas. `has_room` notes damage, and the writer of the answer then replaces the text.
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
    if answer.level != DebugInfo::Full {
        out.extend_from_slice(b",\"Level\":");
        string(out, answer.level.text().as_bytes());
    }
    if let Some(found) = &answer.object {
        object_of_frame(out, found, names);
    }
    if let Some(why) = &answer.unknown {
        unknown(out, why);
    }
}

/// Writes why a module has no answer. If only the file has no function at the address, `Symbol` and `Certainty` show that already.
fn unknown(out: &mut Vec<u8>, why: &Unknown) {
    if matches!(why, Unknown::NoFunction | Unknown::NoAddress) {
        return;
    }
    out.extend_from_slice(b",\"Unknown\":{\"Kind\":");
    string(out, why.text().as_bytes());
    out.extend_from_slice(b",\"Message\":");
    string(out, why.to_string().as_bytes());
    out.push(b'}');
}

/// The frame for an unknown function.
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

/// Writes the frames. If there are none, it writes one frame of "" and 0, since consumers expect at least one.
fn symbol(out: &mut Vec<u8>, symbol: &Symbol, start: Option<u64>, names: &mut Names<'_>) {
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
        // `llvm-symbolizer` has this key, and consumers may expect it. A .fsym has no discriminators.
        out.extend_from_slice(b",\"Discriminator\":0,\"LinkageName\":");
        out.extend_from_slice(names.linkage(frame.name));
        if at == outermost && !symbol.aliases.is_empty() {
            out.extend_from_slice(b",\"Aliases\":");
            aliases(out, symbol, names);
        }
        out.push(b'}');
    });
}

fn aliases(out: &mut Vec<u8>, symbol: &Symbol, names: &mut Names<'_>) {
    list(out, &symbol.aliases, |out, alias| {
        if names.has_room(out.len()) {
            out.extend_from_slice(names.linkage(Some(*alias)));
        }
    });
}

/// Writes the object that a frame's method runs on, and why it does not determine the method.
fn object_of_frame(out: &mut Vec<u8>, object: &ObjectAnswer, names: &mut Names<'_>) {
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

fn word(out: &mut Vec<u8>, word: Option<&str>) {
    match word {
        Some(word) => string(out, word.as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

/// Writes the key `Signature` of a stack with its object.
pub fn signature(out: &mut Vec<u8>, signature: &Signature) {
    let Signature { text, hash, rules, .. } = signature;
    for (key, value) in [("\"Signature\":{\"Text\":", text), (",\"Hash\":", hash), (",\"Rules\":", rules)] {
        out.extend_from_slice(key.as_bytes());
        string(out, value.as_bytes());
    }
    out.push(b'}');
}

/// Writes the object for a line of input that cannot be answered, without the brace that ends it. `address` is for a line with a single
/// address: the address as it was given, and the name of the module.
pub fn error(out: &mut Vec<u8>, address: Option<(&str, &str)>, message: &str) {
    out.push(b'{');
    if let Some((address, module)) = address {
        out.extend_from_slice(b"\"Address\":");
        string(out, address.as_bytes());
        out.extend_from_slice(b",\"ModuleName\":");
        string(out, module.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(b"\"Error\":{\"Message\":");
    string(out, message.as_bytes());
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(put: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_come_back() {
        for text in ["", "plain", "a\"b\\c\nd\te\u{1}f\u{7f}g\u{9b}h\u{e9}\u{a0}", "\u{1f980}"] {
            let json = written(|out| string(out, text.as_bytes()));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(json.chars().all(|c| !c.is_control()), "{json}");
        }
        assert_eq!(written(|out| string(out, b"a\xffb")), "\"a\u{fffd}b\"");
    }

    #[test]
    fn numbers() {
        for value in [0u64, 7, 10, 12345, 0x9abc_def0, 0x1_2345_6789, 0xfed_cba9_8765_4321, u64::MAX] {
            assert_eq!(written(|out| number(out, value)), value.to_string());
            assert_eq!(written(|out| hex(out, value)), format!("{value:#x}"));
        }
    }
}
