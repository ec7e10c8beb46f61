//! Collects answers and writes them in large pieces, or as soon as somebody waits for them.

use std::io::{self, IsTerminal, Write};

use crate::io::escape::{push_escaped, push_escaped_json};

/// Answers wait here until there are this many bytes.
const FULL: usize = 64 << 10;

/// What is done with characters that a terminal obeys, if the output is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    /// The printers have escaped them, or the user wants the bytes.
    Nothing,
    Text,
    /// As `Text`, of a log that may have colours.
    Log,
    Json,
}

/// Standard output with a buffer that the printers append to.
pub(crate) struct Output {
    pub(crate) text: Vec<u8>,
    sink: io::StdoutLock<'static>,
    is_terminal: bool,
    escape: Escape,
}

impl Output {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        // The buffer has twice the limit, since an answer may exceed it.
        let is_terminal = stdout.is_terminal();
        let (text, sink) = (Vec::with_capacity(2 * FULL), stdout.lock());
        Self { text, is_terminal, sink, escape: Escape::Nothing }
    }

    /// For printers that write names as they are, since programs read their output: a terminal gets them escaped. The colours of a log are
    /// passed on.
    pub(crate) fn of_tool(is_log: bool, is_json: bool) -> Self {
        let escape = match (is_log, is_json) {
            (true, _) => Escape::Log,
            (false, true) => Escape::Json,
            (false, false) => Escape::Text,
        };
        let output = Self::new();
        Self { escape: if output.is_terminal { escape } else { Escape::Nothing }, ..output }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes if there is much to write.
    pub(crate) fn give(&mut self) -> io::Result<()> {
        if self.text.len() < FULL { Ok(()) } else { self.flush() }
    }

    /// Writes everything.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let escaped = match self.escape {
            Escape::Nothing => None,
            escape => Some(for_terminal(&self.text, escape)),
        };
        let text = escaped.as_ref().unwrap_or(&self.text);
        let written = self.sink.write_all(text).and_then(|()| self.sink.flush());
        // The buffer is cleared even after an error: bytes that were written must not be written again.
        self.text.clear();
        written
    }
}

/// A text in which a terminal obeys nothing but ends of lines and tabs, and colours in a log.
fn for_terminal(text: &[u8], escape: Escape) -> Vec<u8> {
    let is_json = escape == Escape::Json;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\t' | 0x1b)) {
        let (before, from) = rest.split_at(at);
        let len = if from[0] != 0x1b {
            1
        } else if escape == Escape::Log {
            color(from)
        } else {
            0
        };
        // An escape character that begins no colour is escaped with what precedes it.
        let kept = if len == 0 { &rest[..at + 1] } else { before };
        push(&mut out, kept, is_json);
        out.extend_from_slice(&from[..len]);
        rest = &from[len.max(1)..];
    }
    push(&mut out, rest, is_json);
    out
}

fn push(out: &mut Vec<u8>, text: &[u8], is_json: bool) {
    if is_json { push_escaped_json(out, text) } else { push_escaped(out, text) }
}

/// The length of the colour code at the beginning of a text; 0 if there is none.
fn color(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(b"\x1b[") else { return 0 };
    let len = rest.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    if rest.get(len) == Some(&b'm') { len + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Escape, for_terminal};

    #[test]
    fn a_terminal_gets_the_colours_of_logs_and_obeys_nothing_else() {
        for (text, expected) in [
            ("f\n  : a\tb\n", "f\n  : a\tb\n"),
            ("\u{1b}[0;34mmain\u{1b}[0m", "\u{1b}[0;34mmain\u{1b}[0m"),
            ("a\u{1b}]0;title\u{7}b", "a\\u{1b}]0;title\\u{7}b"),
            ("a\u{1b}[2Jb\u{1b}", "a\\u{1b}[2Jb\\u{1b}"),
            ("\u{9b}31m\u{202e}x", "\\u{9b}31m\\u{202e}x"),
        ] {
            assert_eq!(String::from_utf8(for_terminal(text.as_bytes(), Escape::Log)).unwrap(), expected);
        }
        assert_eq!(for_terminal(b"\x1b[31mf\x1b[0m\n", Escape::Text), b"\\u{1b}[31mf\\u{1b}[0m\n");
        assert_eq!(for_terminal(b"\xff\n", Escape::Text), b"\\xff\n");
        let json = "{\"a\": \"\u{9b}\u{202e}\u{e0041}\"}\n";
        let escaped = String::from_utf8(for_terminal(json.as_bytes(), Escape::Json)).unwrap();
        assert!(escaped.trim_end().bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{escaped}");
        let same: [serde_json::Value; 2] = [json, &escaped].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(same[0], same[1]);
    }
}
