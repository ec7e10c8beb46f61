//! Lines of flame graphs: each stack once, outermost function first, with how often it was there.

use std::collections::BTreeMap;

use foldsym_reports::{Report, Thread, Trust};
use foldsym_symbolize::{Answer, Form, Innermost, Names, Query, Worker};

use crate::io::escape::push_escaped;

/// Stacks with their sums.
#[derive(Default)]
pub(super) struct Collapsed {
    stacks: BTreeMap<Vec<u8>, i64>,
}

impl Collapsed {
    /// Adds a stack.
    pub(super) fn add(&mut self, worker: &mut Worker<'_>, report: &Report, thread: &Thread, count: i64) {
        let sum = self.stacks.entry(line(worker, report, thread)).or_default();
        // The file may be untrusted, so its values may overflow the sum.
        *sum = sum.saturating_add(count);
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        for (stack, count) in &self.stacks {
            out.extend_from_slice(stack);
            out.extend_from_slice(format!(" {count}\n").as_bytes());
        }
    }
}

fn line(worker: &mut Worker<'_>, report: &Report, thread: &Thread) -> Vec<u8> {
    let modules = report.modules_of(thread);
    let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
    // Innermost first, as they come.
    let mut functions: Vec<Vec<u8>> = Vec::new();
    let mut index = 0;
    let put = |answer: &Answer, names: &mut Names<'_>| {
        let is_gap = thread.trust.get(index) == Some(&Trust::Gap);
        let before = functions.len();
        let mut own = thread.names_for(index, answer);
        if own.is_empty() {
            for frame in &answer.symbol.frames {
                functions.push(escaped(names.function(frame.name)));
            }
        }
        // A frame with only some of its functions would count as another stack.
        if names.take_damage().is_some() {
            functions.truncate(before);
            own = thread.names_of(index);
        }
        // The mark is behind the name, as flame graphs have marks.
        functions.extend(
            own.iter()
                .map(|name| [&escaped(names.shown(&name.function).as_bytes())[..], b" [report]"].concat()),
        );
        index += 1;
        if functions.len() == before && !is_gap {
            let module = answer.module.and_then(|module| modules.get(module));
            let name = module.map_or("unknown", |module| module.file_name());
            functions.push(escaped(format!("[{name}]").as_bytes()));
        }
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(()) = worker.answer(query, Form::Plain, put);
    functions.reverse();
    functions.join(&b';')
}

/// A name without what ends a frame or a line, and without what a terminal obeys or hides.
fn escaped(name: &[u8]) -> Vec<u8> {
    if name.is_empty() {
        return b"??".to_vec();
    }
    let byte = |&byte: &u8| match byte {
        b';' => b':',
        0..0x20 | 0x7f => b'?',
        _ => byte,
    };
    let name: Vec<u8> = name.iter().map(byte).collect();
    let mut out = Vec::with_capacity(name.len());
    push_escaped(&mut out, &name);
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_are_whole_and_hide_nothing() {
        for (name, expected) in [
            ("ns::f(int)".as_bytes(), "ns::f(int)"),
            ("na\u{ef}ve \u{2602}".as_bytes(), "na\u{ef}ve \u{2602}"),
            (b"a;b\nc\x1b[2J", "a:b?c?[2J"),
            ("\u{9b}31m\u{202e}f".as_bytes(), "\\u{9b}31m\\u{202e}f"),
            (b"f\xff", "f\\xff"),
            (b"", "??"),
        ] {
            assert_eq!(String::from_utf8(escaped(name)).unwrap(), expected);
        }
    }
}
