//! Counts samples by the function that ran, beside the function that the linker kept for it.
//!
//! A sample belongs to the function that contains the code of its innermost frame, with what is inlined there. At folded code the callers show
//! which of several functions that is. A tool that knows nothing of folding counts all of them as the survivor.

use std::collections::BTreeMap;

use foldsym_reports::{Report, Thread};
use foldsym_symbolize::json::{self, string};
use foldsym_symbolize::{Answer, Certainty, Form, Innermost, Names, Query, Worker};

use crate::io::escape::push_escaped;

/// How sure it is that a function ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sure {
    /// `unique` or `exact`.
    Exact,
    /// `likely`, as no second function is known.
    Alone,
    /// `likely`, as evidence shows one of several.
    Likely,
    /// `narrowed` or `ambiguous`: the first candidate is a guess.
    Undecided,
    /// The report alone names it.
    Report,
    /// No function is known.
    Unknown,
}

/// The keys of JSON, in the order of [`Sure`].
const KEYS: [&str; 6] = ["Exact", "Alone", "Likely", "Undecided", "NamedByReport", "Unknown"];

/// The counts of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// By [`Sure`].
    ran: [i64; KEYS.len()],
    /// Samples at code that this function was kept for.
    survivor: i64,
}

impl Counts {
    fn samples(&self) -> i64 {
        self.ran.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// A function: file name of its module, linkage name, and its name as it is shown.
type Function = (String, Vec<u8>, Vec<u8>);

/// The counts of all functions.
#[derive(Default)]
pub(super) struct ByFunction {
    functions: BTreeMap<Function, Counts>,
}

impl ByFunction {
    /// Counts a stack.
    pub(super) fn add(&mut self, worker: &mut Worker<'_>, report: &Report, thread: &Thread, count: i64) {
        let modules = report.modules_of(thread);
        let mut first = None;
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        // The callers are needed, but only the innermost frame is read.
        let read = |answer: &Answer, names: &mut Names<'_>| {
            first = Some(of(answer, names, query, Some(thread)));
            Err(())
        };
        let _: Result<(), ()> = worker.answer(query, Form::Plain, read);
        let Some((function, sure, is_folded)) = first else { return };
        let mut survivor = None;
        if is_folded {
            // Without callers the first candidate is the survivor.
            let alone = Query { frames: &thread.frames[..1], ..query };
            let read = |answer: &Answer, names: &mut Names<'_>| {
                survivor = Some(of(answer, names, alone, None).0);
                Err(())
            };
            let _: Result<(), ()> = worker.answer(alone, Form::Plain, read);
        }
        let kept = self.functions.entry(survivor.unwrap_or_else(|| function.clone())).or_default();
        // The file may be untrusted, so its values may overflow the sums.
        kept.survivor = kept.survivor.saturating_add(count);
        let ran = &mut self.functions.entry(function).or_default().ran[sure as usize];
        *ran = ran.saturating_add(count);
    }

    /// By samples, the most first.
    fn sorted(&self) -> Vec<(&Function, &Counts)> {
        let mut all: Vec<_> = self.functions.iter().collect();
        // Names keep their order where the counts are equal.
        all.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.samples(), counts.survivor)));
        all
    }

    fn total(&self) -> Counts {
        self.functions.values().fold(Counts::default(), |mut all, counts| {
            all.survivor = all.survivor.saturating_add(counts.survivor);
            for (sum, count) in all.ran.iter_mut().zip(counts.ran) {
                *sum = sum.saturating_add(count);
            }
            all
        })
    }

    /// Puts a line for each function, and one for all.
    pub(super) fn put_text(&self, out: &mut Vec<u8>) {
        let head = ["samples", "survivor", "exact", "alone", "likely", "undecided"];
        for word in head {
            out.extend_from_slice(format!("{word:>12} ").as_bytes());
        }
        out.extend_from_slice(b"function\n");
        let mut line = |counts: &Counts, put: &dyn Fn(&mut Vec<u8>)| {
            let columns = [
                counts.samples(),
                counts.survivor,
                counts.ran[0],
                counts.ran[1],
                counts.ran[2],
                counts.ran[3],
            ];
            for number in columns {
                out.extend_from_slice(format!("{number:>12} ").as_bytes());
            }
            put(out);
            out.push(b'\n');
        };
        line(&self.total(), &|out| out.extend_from_slice(b"(all)"));
        for ((module, _, shown), counts) in self.sorted() {
            line(counts, &|out| {
                push_escaped(out, shown);
                if !module.is_empty() {
                    out.extend_from_slice(b" (");
                    push_escaped(out, module.as_bytes());
                    out.push(b')');
                }
            });
        }
    }

    /// Puts one object on a line.
    pub(super) fn put_json(&self, out: &mut Vec<u8>) {
        let numbers = |out: &mut Vec<u8>, counts: &Counts| {
            let text = format!("\"Samples\":{},\"BySurvivor\":{}", counts.samples(), counts.survivor);
            out.extend_from_slice(text.as_bytes());
            for (key, count) in KEYS.iter().zip(counts.ran) {
                out.extend_from_slice(format!(",\"{key}\":{count}").as_bytes());
            }
        };
        out.push(b'{');
        numbers(out, &self.total());
        out.extend_from_slice(b",\"Functions\":");
        json::list(out, self.sorted(), |out, ((module, linkage, shown), counts)| {
            for (key, text) in [
                ("{\"FunctionName\":", shown),
                (",\"LinkageName\":", linkage),
                (",\"ModuleName\":", &module.as_bytes().to_vec()),
            ] {
                out.extend_from_slice(key.as_bytes());
                string(out, text);
            }
            out.push(b',');
            numbers(out, counts);
            out.push(b'}');
        });
        out.extend_from_slice(b"}\n");
    }
}

/// The function of an answer, how sure it is, and whether its code is shared. `thread` has the report's own names.
fn of(
    answer: &Answer,
    names: &mut Names<'_>,
    query: Query<'_>,
    thread: Option<&Thread>,
) -> (Function, Sure, bool) {
    let module = answer.module.and_then(|module| query.modules.get(module));
    let module = module.map_or_else(String::new, |module| module.file_name().to_owned());
    let outermost = answer.symbol.frames.last().and_then(|frame| frame.name);
    let (linkage, shown) = (names.linkage(outermost).to_vec(), names.function(outermost).to_vec());
    let is_damaged = names.take_damage().is_some();
    let sure = match answer.certainty {
        Some(Certainty::Unique | Certainty::Exact) => Sure::Exact,
        Some(Certainty::Likely) if answer.candidate_count.is_none() => Sure::Alone,
        Some(Certainty::Likely) => Sure::Likely,
        Some(Certainty::Narrowed | Certainty::Ambiguous) => Sure::Undecided,
        _ => Sure::Unknown,
    };
    if !is_damaged && !linkage.is_empty() {
        return ((module, linkage, shown), sure, answer.candidate_count.is_some());
    }
    let own = thread.map_or(&[][..], |thread| thread.names_of(0));
    match own.last() {
        Some(name) => {
            let shown = names.shown(&name.function).as_bytes().to_vec();
            ((module, name.function.as_bytes().to_vec(), shown), Sure::Report, false)
        }
        None => ((module, Vec::new(), b"??".to_vec()), Sure::Unknown, false),
    }
}
