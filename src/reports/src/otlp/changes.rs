//! What a message gets: lines of its locations, locations for further answers, and the functions and strings that those name. The answers of
//! the engine become these changes, which both forms of a message write.

use std::collections::HashMap;
use std::sync::Arc;

use foldsym_symbolize::{Answer, Certainty, Form, Innermost, Names, Query, Worker};

use super::message::Message;
use super::tables::{FunctionRow, LineRow, Span, Tables};
use crate::names::MAX_TEXT as MAX_NAME_TEXT;
use crate::profiles::Rewritten;

/// The attribute of a location whose code several functions have, of which its lines name one (semantic conventions of OpenTelemetry).
const IS_FOLDED: &str = "pprof.location.is_folded";

/// A location with the lines of an answer.
#[derive(Debug)]
pub(super) struct NewLocation {
    /// The location of the message whose other fields it has.
    pub(super) base: usize,
    pub(super) lines: Vec<LineRow>,
    is_folded: bool,
}

/// The changes of a message.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By the index of a location of the message, its place in `edited` plus 1.
    edits: Vec<u32>,
    edited: Vec<NewLocation>,
    pub(super) locations_added: Vec<NewLocation>,
    pub(super) functions: Vec<FunctionRow>,
    pub(super) strings: Vec<Arc<str>>,
    /// Keys of attributes whose value is true; 0 is the empty attribute that every table begins with.
    pub(super) attributes: Vec<u32>,
    /// The index of the attribute `IS_FOLDED`, if a location has it.
    folded: Option<u32>,
    /// Where the locations of each stack are that has others now, in `indices`; the length of one that has not is 0.
    stacks: Vec<(u32, u32)>,
    indices: Vec<u32>,
}

/// The caller does not wait for the changes any more.
#[derive(Debug)]
pub(super) struct Stopped;

/// The first entry of each table is empty, and an index of 0 means none.
fn first_free<T>(table: &[T], added: usize) -> u32 {
    (table.len() + added) as u32
}

impl Changes {
    /// What a location of the message becomes; `None` if it stays as it is.
    pub(super) fn location(&self, index: usize) -> Option<&NewLocation> {
        let place = self.edits.get(index).copied().filter(|&place| place > 0)?;
        self.edited.get(place as usize - 1)
    }

    /// The locations of a stack; `None` if they stay as they are.
    pub(super) fn stack(&self, index: usize, tables: &Tables) -> Option<Vec<u32>> {
        let &(start, len) = self.stacks.get(index).filter(|(_, len)| *len > 0)?;
        let new = self.indices.get(start as usize..)?.get(..len as usize)?;
        // A stack that is longer than the engine's has the locations beyond as before.
        let old = tables.stacks.get(index)?.of(&tables.indices);
        Some(new.iter().chain(old.get(new.len()..).unwrap_or_default()).copied().collect())
    }

    /// The attribute that a location gets.
    pub(super) fn folded_attribute(&self, new: &NewLocation) -> Option<u32> {
        self.folded.filter(|_| new.is_folded)
    }
}

/// Changes that are being made.
struct Making<'m> {
    message: &'m Message,
    changes: Changes,
    string_ids: HashMap<Arc<str>, u32>,
    function_ids: HashMap<FunctionRow, u32>,
    /// The location of each answer: the location as the message had it, whether its code is folded, and its lines.
    known: HashMap<(u32, bool, Vec<LineRow>), u32>,
    done: Rewritten,
}

impl<'m> Making<'m> {
    fn new(message: &'m Message) -> Self {
        let tables = &message.tables;
        let mut changes = Changes::default();
        changes.edits.resize(tables.locations.len(), 0);
        changes.stacks.resize(tables.stacks.len(), (0, 0));
        // Every table begins with an empty entry.
        if tables.strings.is_empty() {
            changes.strings.push("".into());
        }
        if tables.functions.is_empty() {
            changes.functions.push(FunctionRow::default());
        }
        // Long strings are kept cut, and what is no UTF-8 with other characters in its place.
        let is_whole = |text: &Arc<str>| text.len() < MAX_NAME_TEXT - 4 && !text.contains('\u{fffd}');
        let known = tables.strings.iter().enumerate().filter(|(_, text)| is_whole(text));
        let string_ids = known.map(|(id, text)| (text.clone(), id as u32)).collect();
        let function_ids = tables.functions.iter().enumerate().map(|(id, one)| (*one, id as u32)).collect();
        Self { message, changes, string_ids, function_ids, known: HashMap::new(), done: Rewritten::default() }
    }

    fn string(&mut self, text: &[u8]) -> u32 {
        let text = String::from_utf8_lossy(text);
        if text.is_empty() {
            return 0;
        }
        if let Some(&id) = self.string_ids.get(&*text) {
            return id;
        }
        let id = first_free(&self.message.tables.strings, self.changes.strings.len());
        let text: Arc<str> = text.into();
        self.changes.strings.push(text.clone());
        self.string_ids.insert(text, id);
        id
    }

    fn function(&mut self, row: FunctionRow) -> u32 {
        if let Some(&id) = self.function_ids.get(&row) {
            return id;
        }
        let id = first_free(&self.message.tables.functions, self.changes.functions.len());
        self.changes.functions.push(row);
        self.function_ids.insert(row, id);
        id
    }

    fn lines(&mut self, answer: &Answer, names: &mut Names<'_>) -> Vec<LineRow> {
        let mut lines = Vec::with_capacity(answer.symbol.frames.len());
        for frame in &answer.symbol.frames {
            let system_name = self.string(names.linkage(frame.name));
            let name = self.string(names.function(frame.name));
            // A function without a source file gets the path of its line.
            let filename = self.string(names.path(frame.start_file.or(frame.file)));
            let start_line = frame.start_line.into();
            let function = self.function(FunctionRow { name, system_name, filename, start_line });
            lines.push(LineRow { function, line: frame.line.into(), column: frame.column.into() });
        }
        lines
    }

    /// The location for an answer at a location of the message.
    fn place(&mut self, index: u32, is_folded: bool, lines: Vec<LineRow>) -> u32 {
        if let Some(&place) = self.known.get(&(index, is_folded, lines.clone())) {
            return place;
        }
        if is_folded && self.changes.folded.is_none() {
            let key = self.string(IS_FOLDED.as_bytes());
            if self.message.tables.attributes.is_empty() {
                self.changes.attributes.push(0);
            }
            self.changes.folded =
                Some(first_free(&self.message.tables.attributes, self.changes.attributes.len()));
            self.changes.attributes.push(key);
        }
        let new = NewLocation { base: index as usize, lines: lines.clone(), is_folded };
        let edit = &mut self.changes.edits[index as usize];
        let place = if *edit == 0 {
            self.changes.edited.push(new);
            *edit = self.changes.edited.len() as u32;
            index
        } else {
            self.done.locations_added += 1;
            self.changes.locations_added.push(new);
            first_free(&self.message.tables.locations, self.changes.locations_added.len() - 1)
        };
        self.known.insert((index, is_folded, lines), place);
        place
    }

    /// The location of a frame with its answer.
    fn answer(&mut self, index: u32, answer: &Answer, names: &mut Names<'_>) -> u32 {
        self.done.frames += 1;
        let tables = &self.message.tables;
        let Some(location) = tables.locations.get(index as usize) else { return 0 };
        if tables.is_named(location) {
            self.done.kept += 1;
            return index;
        }
        if answer.symbol.frames.is_empty() {
            return index;
        }
        let lines = self.lines(answer, names);
        if names.take_damage().is_some() {
            return index;
        }
        self.done.named += 1;
        // In a folded location several functions have the code, and the lines are those of one. An exact answer is the one that ran.
        let is_folded = answer.candidate_count.is_some() && answer.certainty != Some(Certainty::Exact);
        self.place(index, is_folded, lines)
    }

    fn stack(
        &mut self,
        at: usize,
        stack: Span,
        worker: &mut Worker<'_>,
        frames: &mut Vec<foldsym_symbolize::StackFrame>,
    ) {
        let message = self.message;
        message.frames(stack, frames);
        let old = stack.of(&message.tables.indices);
        let start = self.changes.indices.len();
        let query = Query { modules: &message.modules, frames, innermost: Innermost::Nothing };
        let mut index = 0;
        let put = |answer: &Answer, names: &mut Names<'_>| {
            if let Some(&location) = old.get(index) {
                let new = self.answer(location, answer, names);
                self.changes.indices.push(new);
            }
            index += 1;
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = worker.answer(query, Form::Plain, put);
        let new = &self.changes.indices[start..];
        if new == &old[..new.len()] {
            self.changes.indices.truncate(start);
        } else {
            self.changes.stacks[at] = (start as u32, new.len() as u32);
        }
    }
}

/// Makes the changes of a message. Samples share stacks, and an answer depends on nothing but the stack: so each stack gets its answers once,
/// and samples stay as they are.
///
/// `go_on` is asked after each stack, with about the bytes of memory that the changes take.
pub(super) fn changes(
    message: &Message,
    worker: &mut Worker<'_>,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<(Changes, Rewritten), Stopped> {
    let mut making = Making::new(message);
    let mut frames = Vec::new();
    for (at, &stack) in message.tables.stacks.iter().enumerate() {
        making.stack(at, stack, worker, &mut frames);
        let changes = &making.changes;
        let locations = changes.edited.len() + changes.locations_added.len();
        if !go_on(locations * 256 + changes.indices.len() * 4 + changes.strings.len() * 128) {
            return Err(Stopped);
        }
    }
    Ok((making.changes, making.done))
}
