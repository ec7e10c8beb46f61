//! The tables of a message of OpenTelemetry, as its two forms give them: every list of every record in one list, under a budget of memory.

use std::sync::Arc;

use crate::cut;
use crate::names::MAX_TEXT as MAX_NAME_TEXT;

/// Why a message cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableProblem {
    /// Its records take so many bytes of memory.
    Memory(u64),
    Damaged(String),
}

/// A part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    pub(super) fn of<T>(self, list: &[T]) -> &[T] {
        list.get(self.start as usize..).and_then(|list| list.get(..self.len as usize)).unwrap_or_default()
    }
}

/// An index of a table; a negative one is outside of every table.
pub(super) fn index(value: i64) -> u32 {
    u32::try_from(value).ok().filter(|&index| index <= i32::MAX as u32).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MappingRow {
    pub(super) start: u64,
    pub(super) limit: u64,
    pub(super) file_offset: u64,
    pub(super) filename: u32,
    pub(super) attributes: Span,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocationRow {
    pub(super) address: u64,
    pub(super) mapping: u32,
    pub(super) lines: Span,
    pub(super) attributes: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LineRow {
    pub(super) function: u32,
    pub(super) line: i64,
    pub(super) column: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FunctionRow {
    pub(super) name: u32,
    pub(super) system_name: u32,
    pub(super) filename: u32,
    pub(super) start_line: i64,
}

/// The value of an attribute. Lists, maps and bytes are passed on, and not read.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    Text(Arc<str>),
    /// An index of a string.
    Index(u32),
    Number(i64),
    Bool(bool),
    #[default]
    Other,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AttributeRow {
    pub(super) key: u32,
    pub(super) value: Value,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleRow {
    pub(super) stack: u32,
    /// The index of its profile's type in `types`.
    pub(super) kind: u32,
    /// The sum of its values, or without any the number of its timestamps.
    pub(super) value: i64,
    pub(super) attributes: Span,
}

/// What a sample has of values.
#[derive(Clone, Copy, Default)]
pub(super) struct SampleCount {
    pub(super) values: u64,
    pub(super) sum: i64,
    pub(super) times: u64,
}

impl SampleCount {
    pub(super) fn add(&mut self, value: i64) {
        self.values += 1;
        // The message may be untrusted, so its values may overflow the sum.
        self.sum = self.sum.saturating_add(value);
    }

    /// A sample without values counts once for each of its times (`profiles.proto`).
    pub(super) fn value(self) -> i64 {
        if self.values > 0 { self.sum } else { i64::try_from(self.times).unwrap_or(i64::MAX) }
    }
}

/// The tables of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) strings: Vec<Arc<str>>,
    pub(super) mappings: Vec<MappingRow>,
    pub(super) locations: Vec<LocationRow>,
    pub(super) functions: Vec<FunctionRow>,
    pub(super) attributes: Vec<AttributeRow>,
    /// Of each stack the locations, innermost first.
    pub(super) stacks: Vec<Span>,
    pub(super) samples: Vec<SampleRow>,
    /// Type and unit of the values of each profile, as strings.
    pub(super) types: Vec<(u32, u32)>,
    pub(super) lines: Vec<LineRow>,
    /// The lists of stacks, and of attributes.
    pub(super) indices: Vec<u32>,
    /// Bytes of memory that all lists take, and may take.
    pub(super) memory: u64,
    pub(super) most: u64,
}

/// What rewriting keeps of a string, a function or a stack, by which it finds them again.
pub(super) const OF_REWRITING: u64 = 96;

/// Adds to a list. A list that grows has twice the room then, and the old one until it was copied.
pub(super) fn push<T>(list: &mut Vec<T>, value: T, memory: &mut u64, most: u64) -> Result<(), TableProblem> {
    if list.len() == list.capacity() {
        let room = (2 * list.len()).max(4);
        take((room * size_of::<T>()) as u64, memory, most)?;
        list.reserve_exact(room - list.len());
    }
    list.push(value);
    Ok(())
}

pub(super) fn take(bytes: u64, memory: &mut u64, most: u64) -> Result<(), TableProblem> {
    *memory = memory.saturating_add(bytes);
    if *memory > most { Err(TableProblem::Memory(*memory)) } else { Ok(()) }
}

impl Tables {
    pub(super) fn within(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn string(&mut self, text: &str) -> Result<(), TableProblem> {
        let text = cut(text, MAX_NAME_TEXT);
        take(text.len() as u64 + 32 + OF_REWRITING, &mut self.memory, self.most)?;
        push(&mut self.strings, text.into(), &mut self.memory, self.most)
    }

    /// A text of its own, as a value of an attribute has.
    pub(super) fn text(&mut self, text: &str) -> Result<Value, TableProblem> {
        let text = cut(text, MAX_NAME_TEXT);
        take(text.len() as u64 + 32, &mut self.memory, self.most)?;
        Ok(Value::Text(text.into()))
    }

    /// Where a list of indices begins that is added one by one.
    pub(super) fn begin(&self) -> u32 {
        self.indices.len() as u32
    }

    pub(super) fn index(&mut self, value: i64) -> Result<(), TableProblem> {
        push(&mut self.indices, index(value), &mut self.memory, self.most)
    }

    pub(super) fn end(&self, start: u32) -> Span {
        Span { start, len: self.indices.len() as u32 - start }
    }

    pub(super) fn line(&mut self, line: LineRow) -> Result<(), TableProblem> {
        push(&mut self.lines, line, &mut self.memory, self.most)
    }

    pub(super) fn lines_from(&self, start: usize) -> Span {
        Span { start: start as u32, len: (self.lines.len() - start) as u32 }
    }

    pub(super) fn mapping(&mut self, row: MappingRow) -> Result<(), TableProblem> {
        // A module is made of it.
        take(256, &mut self.memory, self.most)?;
        push(&mut self.mappings, row, &mut self.memory, self.most)
    }

    pub(super) fn location(&mut self, row: LocationRow) -> Result<(), TableProblem> {
        push(&mut self.locations, row, &mut self.memory, self.most)
    }

    pub(super) fn function(&mut self, row: FunctionRow) -> Result<(), TableProblem> {
        take(OF_REWRITING, &mut self.memory, self.most)?;
        push(&mut self.functions, row, &mut self.memory, self.most)
    }

    pub(super) fn attribute(&mut self, row: AttributeRow) -> Result<(), TableProblem> {
        push(&mut self.attributes, row, &mut self.memory, self.most)
    }

    pub(super) fn stack(&mut self, row: Span) -> Result<(), TableProblem> {
        push(&mut self.stacks, row, &mut self.memory, self.most)
    }

    pub(super) fn sample(&mut self, row: SampleRow) -> Result<(), TableProblem> {
        push(&mut self.samples, row, &mut self.memory, self.most)
    }

    /// The index of a type of values.
    pub(super) fn kind(&mut self, kind: (u32, u32)) -> Result<u32, TableProblem> {
        if let Some(index) = self.types.iter().take(MAX_TYPES).position(|known| *known == kind) {
            return Ok(index as u32);
        }
        // Further types count as the last: each sample has a value for every type.
        if self.types.len() == MAX_TYPES {
            return Ok(MAX_TYPES as u32 - 1);
        }
        push(&mut self.types, kind, &mut self.memory, self.most)?;
        Ok(self.types.len() as u32 - 1)
    }

    pub(super) fn shared(&self, index: u32) -> Option<&Arc<str>> {
        self.strings.get(index as usize)
    }

    pub(super) fn of_string(&self, index: u32) -> &str {
        self.shared(index).map_or("", |text| text)
    }

    /// The attributes of a list, with their keys.
    pub(super) fn attributes_of(&self, list: Span) -> impl Iterator<Item = (&str, &Value)> {
        let rows = list.of(&self.indices).iter().filter_map(|&index| self.attributes.get(index as usize));
        rows.map(|row| (self.of_string(row.key), &row.value))
    }

    /// The text of an attribute.
    pub(super) fn text_of<'t>(&'t self, value: &'t Value) -> Option<&'t str> {
        match value {
            Value::Text(text) => Some(text),
            Value::Index(index) => self.shared(*index).map(|text| &**text),
            _ => None,
        }
    }

    /// The first function of a location that has a name: its location keeps the lines that it has.
    pub(super) fn is_named(&self, location: &LocationRow) -> bool {
        let mut lines = location.lines.of(&self.lines).iter();
        lines.any(|line| {
            self.functions.get(line.function as usize).is_some_and(|one| self.name(one).is_some())
        })
    }

    /// The index of a function's name.
    pub(super) fn name(&self, function: &FunctionRow) -> Option<u32> {
        [function.name, function.system_name].into_iter().find(|&name| !self.of_string(name).is_empty())
    }

    /// How many indices of strings, functions and attributes are outside of their tables: an entry that is added would become their
    /// target.
    pub(super) fn astray(&self) -> usize {
        let is_string = |index: u32| index != 0 && index as usize >= self.strings.len();
        let functions = self.functions.iter().flat_map(|one| [one.name, one.system_name, one.filename]);
        let attributes = self.attributes.iter().flat_map(|one| {
            let value = if let Value::Index(index) = one.value { index } else { 0 };
            [one.key, value]
        });
        let types = self.types.iter().flat_map(|&(kind, unit)| [kind, unit]);
        let mappings = self.mappings.iter().map(|one| one.filename);
        let strings = functions.chain(attributes).chain(types).chain(mappings);
        let is_astray = |count: usize| move |index: &&u32| **index != 0 && **index as usize >= count;
        let of_attributes =
            |list: Span| list.of(&self.indices).iter().filter(is_astray(self.attributes.len())).count();
        let lists = self.mappings.iter().map(|one| one.attributes);
        let lists = lists.chain(self.locations.iter().map(|one| one.attributes));
        let lists = lists.chain(self.samples.iter().map(|one| one.attributes));
        let count = self.functions.len();
        let lines = self.lines.iter().filter(|line| line.function != 0 && line.function as usize >= count);
        strings.filter(|&index| is_string(index)).count()
            + lines.count()
            + lists.map(of_attributes).sum::<usize>()
    }
}

/// Most types of values of one message.
pub(super) const MAX_TYPES: usize = 64;
