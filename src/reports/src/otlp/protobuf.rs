//! Reads the binary form of a message into its tables, and writes it with other locations and stacks. What the tables do not hold is
//! copied byte for byte, so that fields which this crate does not know stay.

use std::borrow::Cow;

use prost::encoding::{WireType, encode_key, encode_varint};

use super::changes::{Changes, NewLocation};
use super::tables::{
    AttributeRow, FunctionRow, LineRow, LocationRow, MappingRow, SampleCount, SampleRow, TableProblem,
    Tables, Value, index,
};
use crate::wire::{Field, Fields, varint};

/// Fields of a message up to its end, with what is wrong if they are not whole.
fn fields<'b>(
    bytes: &'b [u8],
    of: &'static str,
) -> impl Iterator<Item = Result<(u64, Field<'b>), TableProblem>> {
    Fields(bytes).map(move |field| match field {
        Some((number, Field::Cut(rest))) => Err(TableProblem::Damaged(format!(
            "{of}: field {number} extends beyond its end, of which {} bytes are there",
            rest.len()
        ))),
        Some(found) => Ok(found),
        None => Err(TableProblem::Damaged(format!("{of}: a field that is malformed, or a group"))),
    })
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Whether bytes begin as a message: resources, and a dictionary whose first string is empty, as that of every message is.
pub(super) fn begins(bytes: &[u8]) -> bool {
    for field in Fields(bytes) {
        match field {
            Some((2, Field::Bytes(body) | Field::Cut(body))) => return begins_as_dictionary(body),
            Some((1, Field::Bytes(body))) if begins_as_resource(body) => {}
            _ => return false,
        }
    }
    false
}

fn begins_as_resource(bytes: &[u8]) -> bool {
    Fields(bytes).all(|field| matches!(field, Some((1..=3 | 1000, Field::Bytes(_)))))
}

fn begins_as_dictionary(bytes: &[u8]) -> bool {
    for field in Fields(bytes) {
        match field {
            Some((5, Field::Bytes(first))) => return first.is_empty(),
            Some((_, Field::Bytes(_))) => {}
            _ => return false,
        }
    }
    false
}

/// Reads a message.
pub(super) fn read(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    for field in fields(bytes, "the message") {
        match field? {
            (1, Field::Bytes(body)) => {
                for field in fields(body, "a resource") {
                    if let (2, Field::Bytes(scope)) = field? {
                        for field in fields(scope, "a scope") {
                            if let (2, Field::Bytes(body)) = field? {
                                profile(body, tables)?;
                            }
                        }
                    }
                }
            }
            (2, Field::Bytes(body)) => dictionary(body, tables)?,
            _ => {}
        }
    }
    Ok(())
}

fn profile(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    let mut kind = (0, 0);
    for field in fields(bytes, "a profile") {
        if let (1, Field::Bytes(body)) = field? {
            for field in fields(body, "a sample type") {
                match field? {
                    (1, Field::Varint(value)) => kind.0 = index(value.cast_signed()),
                    (2, Field::Varint(value)) => kind.1 = index(value.cast_signed()),
                    _ => {}
                }
            }
        }
    }
    let kind = tables.kind(kind)?;
    for field in fields(bytes, "a profile") {
        if let (2, Field::Bytes(body)) = field? {
            sample(body, kind, tables)?;
        }
    }
    Ok(())
}

fn sample(bytes: &[u8], kind: u32, tables: &mut Tables) -> Result<(), TableProblem> {
    let (mut row, mut counted) = (SampleRow { kind, ..SampleRow::default() }, SampleCount::default());
    let start = tables.begin();
    for field in fields(bytes, "a sample") {
        match field? {
            (1, Field::Varint(value)) => row.stack = index(value.cast_signed()),
            (4, Field::Varint(value)) => counted.add(value.cast_signed()),
            (4, Field::Bytes(body)) => numbers(body, |value| {
                counted.add(value);
                Ok(())
            })?,
            (2, field) => indices(field, tables)?,
            (5, Field::Fixed) => counted.times += 1,
            (5, Field::Bytes(body)) => counted.times += body.len() as u64 / 8,
            _ => {}
        }
    }
    (row.value, row.attributes) = (counted.value(), tables.end(start));
    tables.sample(row)
}

/// Calls for each number of a packed list.
fn numbers(
    mut body: &[u8],
    mut take: impl FnMut(i64) -> Result<(), TableProblem>,
) -> Result<(), TableProblem> {
    while !body.is_empty() {
        let Some((value, rest)) = varint(body) else {
            return Err(TableProblem::Damaged("a packed list ends inside of a number".to_owned()));
        };
        take(value.cast_signed())?;
        body = rest;
    }
    Ok(())
}

/// Adds the indices of a list, packed or one by one.
fn indices(field: Field<'_>, tables: &mut Tables) -> Result<(), TableProblem> {
    match field {
        Field::Varint(value) => tables.index(value.cast_signed()),
        Field::Bytes(body) => numbers(body, |value| tables.index(value)),
        _ => Ok(()),
    }
}

fn dictionary(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    for field in fields(bytes, "the dictionary") {
        let (number, Field::Bytes(body)) = field? else { continue };
        match number {
            1 => mapping(body, tables)?,
            2 => location(body, tables)?,
            3 => {
                let mut row = FunctionRow::default();
                for field in fields(body, "a function") {
                    match field? {
                        (1, Field::Varint(value)) => row.name = index(value.cast_signed()),
                        (2, Field::Varint(value)) => row.system_name = index(value.cast_signed()),
                        (3, Field::Varint(value)) => row.filename = index(value.cast_signed()),
                        (4, Field::Varint(value)) => row.start_line = value.cast_signed(),
                        _ => {}
                    }
                }
                tables.function(row)?;
            }
            5 => tables.string(&text(body))?,
            6 => attribute(body, tables)?,
            7 => {
                let start = tables.begin();
                for field in fields(body, "a stack") {
                    if let (1, field) = field? {
                        indices(field, tables)?;
                    }
                }
                tables.stack(tables.end(start))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn mapping(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    let (mut row, start) = (MappingRow::default(), tables.begin());
    for field in fields(bytes, "a mapping") {
        match field? {
            (1, Field::Varint(value)) => row.start = value,
            (2, Field::Varint(value)) => row.limit = value,
            (3, Field::Varint(value)) => row.file_offset = value,
            (4, Field::Varint(value)) => row.filename = index(value.cast_signed()),
            (5, field) => indices(field, tables)?,
            _ => {}
        }
    }
    row.attributes = tables.end(start);
    tables.mapping(row)
}

fn location(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    let (mut row, start, lines) = (LocationRow::default(), tables.begin(), tables.lines.len());
    for field in fields(bytes, "a location") {
        match field? {
            (1, Field::Varint(value)) => row.mapping = index(value.cast_signed()),
            (2, Field::Varint(value)) => row.address = value,
            (3, Field::Bytes(body)) => {
                let mut line = LineRow::default();
                for field in fields(body, "a line") {
                    match field? {
                        (1, Field::Varint(value)) => line.function = index(value.cast_signed()),
                        (2, Field::Varint(value)) => line.line = value.cast_signed(),
                        (3, Field::Varint(value)) => line.column = value.cast_signed(),
                        _ => {}
                    }
                }
                tables.line(line)?;
            }
            (4, field) => indices(field, tables)?,
            _ => {}
        }
    }
    (row.lines, row.attributes) = (tables.lines_from(lines), tables.end(start));
    tables.location(row)
}

fn attribute(bytes: &[u8], tables: &mut Tables) -> Result<(), TableProblem> {
    let mut row = AttributeRow::default();
    for field in fields(bytes, "an attribute") {
        match field? {
            (1, Field::Varint(value)) => row.key = index(value.cast_signed()),
            (2, Field::Bytes(body)) => {
                for field in fields(body, "a value") {
                    row.value = match field? {
                        (1, Field::Bytes(body)) => tables.text(&text(body))?,
                        (2, Field::Varint(value)) => Value::Bool(value != 0),
                        (3, Field::Varint(value)) => Value::Number(value.cast_signed()),
                        // From protos 1.10 on.
                        (8, Field::Varint(value)) => Value::Index(index(value.cast_signed())),
                        _ => continue,
                    };
                }
            }
            _ => {}
        }
    }
    tables.attribute(row)
}

/// Writes the message with the changes.
pub(super) fn write(bytes: &[u8], tables: &Tables, changes: &Changes, out: &mut Vec<u8>) {
    let count = Fields(bytes).filter(|field| matches!(field, Some((2, Field::Bytes(_))))).count();
    let mut writing = Writing { tables, changes, bodies: Vec::new(), stack: 0 };
    let (mut rest, mut seen) = (Fields(bytes), 0);
    loop {
        let before = rest.0;
        let Some(Some((number, field))) = rest.next() else { break };
        if let (2, Field::Bytes(body)) = (number, field) {
            seen += 1;
            let mut dictionary = Vec::with_capacity(body.len());
            writing.dictionary(body, &mut dictionary);
            // The dictionary may be in several parts, which decoders join.
            if seen == count {
                writing.added(&mut dictionary);
            }
            message(2, &dictionary, out);
        } else {
            out.extend_from_slice(&before[..before.len() - rest.0.len()]);
        }
    }
}

/// A message is being written.
struct Writing<'b> {
    tables: &'b Tables,
    changes: &'b Changes,
    /// The locations as they were, by index.
    bodies: Vec<&'b [u8]>,
    stack: usize,
}

fn message(number: u32, body: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(body.len() as u64, out);
    out.extend_from_slice(body);
}

fn number(number: u32, value: u64, out: &mut Vec<u8>) {
    // A field without a value is not written.
    if value != 0 {
        encode_key(number, WireType::Varint, out);
        encode_varint(value, out);
    }
}

impl<'b> Writing<'b> {
    fn dictionary(&mut self, bytes: &'b [u8], out: &mut Vec<u8>) {
        let mut rest = Fields(bytes);
        loop {
            let before = rest.0;
            let Some(Some(field)) = rest.next() else { break };
            match field {
                (2, Field::Bytes(body)) => {
                    let index = self.bodies.len();
                    self.bodies.push(body);
                    if let Some(new) = self.changes.location(index) {
                        self.location(body, new, out);
                        continue;
                    }
                }
                (7, Field::Bytes(body)) => {
                    self.stack += 1;
                    if let Some(stack) = self.changes.stack(self.stack - 1, self.tables) {
                        let mut changed = without(body, 1);
                        let mut list = Vec::new();
                        stack.iter().for_each(|&index| encode_varint(index.into(), &mut list));
                        message(1, &list, &mut changed);
                        message(7, &changed, out);
                        continue;
                    }
                }
                _ => {}
            }
            out.extend_from_slice(&before[..before.len() - rest.0.len()]);
        }
    }

    fn location(&self, body: &[u8], new: &NewLocation, out: &mut Vec<u8>) {
        let (mut changed, mut one) = (without(body, 3), Vec::new());
        for line in &new.lines {
            one.clear();
            number(1, line.function.into(), &mut one);
            number(2, line.line.cast_unsigned(), &mut one);
            number(3, line.column.cast_unsigned(), &mut one);
            message(3, &one, &mut changed);
        }
        if let Some(index) = self.changes.folded_attribute(new) {
            let mut list = Vec::new();
            encode_varint(index.into(), &mut list);
            // Parts of a packed list are joined.
            message(4, &list, &mut changed);
        }
        message(2, &changed, out);
    }

    fn added(&self, out: &mut Vec<u8>) {
        for new in &self.changes.locations_added {
            if let Some(body) = self.bodies.get(new.base) {
                self.location(body, new, out);
            }
        }
        let mut one = Vec::new();
        for function in &self.changes.functions {
            one.clear();
            number(1, function.name.into(), &mut one);
            number(2, function.system_name.into(), &mut one);
            number(3, function.filename.into(), &mut one);
            number(4, function.start_line.cast_unsigned(), &mut one);
            message(3, &one, out);
        }
        self.changes.strings.iter().for_each(|text| message(5, text.as_bytes(), out));
        for &key in &self.changes.attributes {
            one.clear();
            if key != 0 {
                number(1, key.into(), &mut one);
                // `AnyValue { bool_value: true }`
                message(2, &[0x10, 1], &mut one);
            }
            message(6, &one, out);
        }
    }
}

/// The bytes of a message without the fields of a number.
fn without(bytes: &[u8], number: u64) -> Vec<u8> {
    let (mut rest, mut kept) = (Fields(bytes), Vec::with_capacity(bytes.len()));
    loop {
        let before = rest.0;
        let Some(Some((found, _))) = rest.next() else { return kept };
        if found != number {
            kept.extend_from_slice(&before[..before.len() - rest.0.len()]);
        }
    }
}
