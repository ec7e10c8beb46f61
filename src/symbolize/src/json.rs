//! Answers as JSON: the keys of `llvm-symbolizer --output-style=JSON`, with what it does not know added. The command line, servers and
//! bindings share it.

use std::io;
use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};

use crate::frame::{Candidate, Frame, Location};

/// Appends the object of one frame, without a line end: what `foldsym lookup --json` prints.
///
/// A frame whose module has no file has the key `Unknown` besides, with `Kind` and `Message`.
pub fn write_frame(out: &mut Vec<u8>, frame: &Frame) {
    write(out, &Object(frame));
}

/// Appends the object of a stack, without a line end: what `foldsym stack --json` prints.
pub fn write_stack(out: &mut Vec<u8>, frames: &[Frame]) {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Stack<'a> {
        #[serde(serialize_with = "objects")]
        frames: &'a [Frame],
    }
    fn objects<S: Serializer>(frames: &[Frame], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(frames.iter().map(Object))
    }
    write(out, &Stack { frames });
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to memory does not fail, and these types have no maps with odd keys.
    let mut serializer = serde_json::Serializer::with_formatter(out, Plain);
    let written = value.serialize(&mut serializer);
    debug_assert!(written.is_ok());
}

/// A frame as an object.
struct Object<'a>(&'a Frame);

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Keys<'a> {
    address: Hex,
    module_name: &'a str,
    symbol: Symbol<'a>,
    certainty: Option<&'static str>,
    evidence: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<CandidateKeys<'a>>>,
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<UnknownKeys>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CandidateKeys<'a> {
    linkage_name: &'a str,
    aliases: &'a [Arc<str>],
    how: &'static str,
    symbol: Symbol<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UnknownKeys {
    kind: &'static str,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct LocationKeys<'a> {
    function_name: &'a str,
    file_name: &'a str,
    line: u32,
    column: u32,
    start_file_name: &'a str,
    start_line: u32,
    start_address: StartAddress,
    discriminator: u32,
    linkage_name: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    aliases: &'a [Arc<str>],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let frame = self.0;
        let candidates = |candidate| candidate_keys(candidate, frame.start);
        let keys = Keys {
            address: Hex(frame.address),
            module_name: &frame.module_name,
            symbol: Symbol { functions: &frame.functions, aliases: &frame.aliases, start: frame.start },
            certainty: frame.certainty.map(|certainty| certainty.text()),
            evidence: frame.evidence.map(|evidence| evidence.text()),
            reason: frame.reason.map(|reason| reason.text()),
            candidate_count: frame.candidate_count,
            candidates: frame.candidate_count.map(|_| frame.candidates.iter().map(candidates).collect()),
            partial: frame.partial,
            unknown: unknown(frame),
        };
        keys.serialize(serializer)
    }
}

fn candidate_keys(candidate: &Candidate, start: Option<u64>) -> CandidateKeys<'_> {
    CandidateKeys {
        linkage_name: candidate.linkage_name(),
        aliases: &candidate.aliases,
        how: candidate.how,
        symbol: Symbol { functions: &candidate.functions, aliases: &candidate.aliases, start },
    }
}

/// That a file has no function at an address is told by `Symbol` and `Certainty`, as `lookup` and `stack` do.
fn unknown(frame: &Frame) -> Option<UnknownKeys> {
    let why = frame.unknown.as_ref()?;
    let is_told = matches!(why, crate::Unknown::NoFunction | crate::Unknown::NoAddress);
    (!is_told).then(|| UnknownKeys { kind: why.text(), message: why.to_string() })
}

/// The frames of one function, innermost first.
struct Symbol<'a> {
    functions: &'a [Location],
    aliases: &'a [Arc<str>],
    start: Option<u64>,
}

impl Serialize for Symbol<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Where nothing is known is one frame of "" and 0, as consumers count on one.
        let mut list = serializer.serialize_seq(Some(self.functions.len().max(1)))?;
        if self.functions.is_empty() {
            list.serialize_element(&LocationKeys {
                function_name: "",
                file_name: "",
                line: 0,
                column: 0,
                start_file_name: "",
                start_line: 0,
                start_address: StartAddress(self.start),
                discriminator: 0,
                linkage_name: "",
                aliases: self.aliases,
            })?;
        }
        for (index, location) in self.functions.iter().enumerate() {
            let outermost = index + 1 == self.functions.len();
            list.serialize_element(&LocationKeys {
                function_name: &location.function,
                file_name: &location.file,
                line: location.line,
                column: location.column,
                start_file_name: &location.start_file,
                start_line: location.start_line,
                start_address: StartAddress(self.start.filter(|_| outermost)),
                discriminator: 0,
                linkage_name: &location.linkage_name,
                aliases: if outermost { self.aliases } else { &[] },
            })?;
        }
        list.end()
    }
}

/// `"0x1234"`, or `"?"` for a frame without an address.
struct Hex(Option<u64>);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(address) => serializer.collect_str(&format_args!("{address:#x}")),
            None => serializer.serialize_str("?"),
        }
    }
}

/// `"0x1234"`, or `""`.
struct StartAddress(Option<u64>);

impl Serialize for StartAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(address) => serializer.collect_str(&format_args!("{address:#x}")),
            None => serializer.serialize_str(""),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Compact JSON without any character that a terminal obeys: DEL and the C1 controls are legal in JSON, and are escaped.
struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| matches!(c, '\u{7f}'..='\u{9f}')) {
            let control = rest[at..].chars().next().unwrap_or('\u{7f}');
            write!(writer, "{}\\u{:04x}", &rest[..at], u32::from(control))?;
            rest = &rest[at + control.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let code = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::Solidus => return writer.write_all(b"/"),
            CharEscape::LineFeed => return writer.write_all(b"\\n"),
            CharEscape::CarriageReturn => return writer.write_all(b"\\r"),
            CharEscape::Tab => return writer.write_all(b"\\t"),
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::AsciiControl(code) => code,
        };
        write!(writer, "\\u{code:04x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_no_terminal_obeys_it() {
        for text in
            ["", "plain", "a\"b\\c\nd\te\u{1}f\u{7f}g\u{9b}h\u{e9}\u{a0}\u{8}\u{c}", "\u{80}\u{9f}\u{1f980}"]
        {
            let mut out = Vec::new();
            write(&mut out, &text);
            let json = String::from_utf8(out).unwrap();
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(json.chars().all(|c| !c.is_control()), "{json}");
        }
    }

    #[test]
    fn a_module_without_a_file_says_why() {
        let mut out = Vec::new();
        let unknown = Some(crate::Unknown::Absent("libx.so (id ab): not in /s".into()));
        write_stack(
            &mut out,
            &[Frame { unknown, address: Some(16), module_name: "libx.so".into(), ..Frame::default() }],
        );
        let expected = r#"{"Frames":[{"Address":"0x10","ModuleName":"libx.so","Symbol":[{"FunctionName":"","FileName":"","Line":0,"Column":0,"StartFileName":"","StartLine":0,"StartAddress":"","Discriminator":0,"LinkageName":""}],"Certainty":null,"Evidence":null,"Unknown":{"Kind":"absent","Message":"libx.so (id ab): not in /s"}}]}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
