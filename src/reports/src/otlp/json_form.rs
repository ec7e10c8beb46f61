//! Reads the JSON form of a message into its tables, and writes it with other locations and stacks. Keys that this crate does not know
//! are copied as they are.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::changes::{Changes, NewLocation};
use super::tables::{
    AttributeRow, FunctionRow, LineRow, LocationRow, MappingRow, SampleCount, SampleRow, TableProblem,
    Tables, Value, index,
};

/// Most elements of a list that is inside of a record.
const MAX_ELEMENTS: usize = 1 << 20;

/// Whether a text is an object with a key of a message.
pub(super) fn begins(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    // Values are skipped, so a long message takes no memory here.
    struct BeginningKeys {
        #[serde(rename = "resourceProfiles")]
        profiles: Option<Skipped>,
        dictionary: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Skipped(#[serde(deserialize_with = "skip")] ());
    fn skip<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        from.deserialize_any(IgnoredAny).map(|_| ())
    }
    bytes.trim_ascii_start().starts_with(b"{") && {
        let keys = serde_json::Deserializer::from_slice(bytes).into_iter::<BeginningKeys>().next();
        matches!(keys, Some(Ok(keys)) if keys.profiles.is_some() && keys.dictionary.is_some())
    }
}

/// A number of 64 bits, which JSON has as a text, or as a number if it is small.
#[derive(Clone, Copy, Default)]
struct Number(i64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or its digits as a text")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value.cast_signed()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value as i64))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
                let number = text.parse::<i64>().or_else(|_| text.parse::<u64>().map(u64::cast_signed));
                number.map(Number).map_err(|_| E::custom(format!("not a number: {text:?}")))
            }
        }
        from.deserialize_any(Digits)
    }
}

/// A list of a bounded length.
struct Few<T>(Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(Vec<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = Few<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Few<T>, A::Error> {
                while let Some(element) = list.next_element()? {
                    if self.0.len() == MAX_ELEMENTS {
                        return Err(A::Error::custom(format!("a list of more than {MAX_ELEMENTS} elements")));
                    }
                    self.0.push(element);
                }
                Ok(Few(self.0))
            }
        }
        from.deserialize_seq(ListVisitor(Vec::new()))
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct MappingJson {
    memory_start: Number,
    memory_limit: Number,
    file_offset: Number,
    filename_strindex: Number,
    attribute_indices: Few<Number>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LocationJson {
    mapping_index: Number,
    address: Number,
    lines: Few<LineJson>,
    attribute_indices: Few<Number>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LineJson {
    function_index: Number,
    line: Number,
    column: Number,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct FunctionJson {
    name_strindex: Number,
    system_name_strindex: Number,
    filename_strindex: Number,
    start_line: Number,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AttributeJson<'t> {
    key_strindex: Number,
    #[serde(borrow)]
    value: ValueJson<'t>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ValueJson<'t> {
    #[serde(borrow)]
    string_value: Option<Cow<'t, str>>,
    bool_value: Option<bool>,
    int_value: Option<Number>,
    string_value_strindex: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StackJson {
    location_indices: Few<Number>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SampleJson {
    stack_index: Number,
    values: Few<Number>,
    timestamps_unix_nano: Few<IgnoredAny>,
    attribute_indices: Few<Number>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TypeJson {
    type_strindex: Number,
    unit_strindex: Number,
}

/// The keys of an object with their values as text, in order.
struct Object<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut keys = Vec::new();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    if keys.len() == MAX_KEYS {
                        return Err(A::Error::custom(format!("an object of more than {MAX_KEYS} keys")));
                    }
                    keys.push((key, map.next_value()?));
                }
                Ok(Object(keys))
            }
        }
        from.deserialize_map(ObjectVisitor)
    }
}

/// Most keys of an object; those of a message have seven.
const MAX_KEYS: usize = 1 << 10;

/// Takes the elements of a list one after another, so that one is in memory.
struct Each<'f, T, F: FnMut(T) -> Result<(), TableProblem>>(&'f mut F, std::marker::PhantomData<T>);

/// What an element does is no error of JSON: it is carried through as text.
struct Failed(Option<TableProblem>);

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), TableProblem>> DeserializeSeed<'de>
    for Each<'_, T, F>
{
    type Value = Failed;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Failed, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), TableProblem>> Visitor<'de> for Each<'_, T, F> {
    type Value = Failed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Failed, A::Error> {
        let mut failed = None;
        while let Some(element) = list.next_element::<T>()? {
            // The rest is read past, up to the end of the list.
            if failed.is_none() {
                failed = (self.0)(element).err();
            }
        }
        Ok(Failed(failed))
    }
}

fn each<'t, T: Deserialize<'t>>(
    text: &'t RawValue,
    key: &str,
    mut take: impl FnMut(T) -> Result<(), TableProblem>,
) -> Result<(), TableProblem> {
    let mut from = serde_json::Deserializer::from_str(text.get());
    match Each(&mut take, std::marker::PhantomData).deserialize(&mut from) {
        Ok(Failed(None)) => Ok(()),
        Ok(Failed(Some(problem))) => Err(problem),
        Err(error) => Err(damaged(key, &error)),
    }
}

fn damaged(key: &str, error: &serde_json::Error) -> TableProblem {
    TableProblem::Damaged(format!("{key}: {error}"))
}

fn object<'t>(text: &'t str, key: &str) -> Result<Object<'t>, TableProblem> {
    serde_json::from_str(text).map_err(|error| damaged(key, &error))
}

/// Reads a message.
pub(super) fn read(text: &str, tables: &mut Tables) -> Result<(), TableProblem> {
    for (key, value) in object(text, "the message")?.0 {
        match &*key {
            "resourceProfiles" => each(value, &key, |resource: Object<'_>| {
                for (key, value) in resource.0.iter().filter(|(key, _)| key == "scopeProfiles") {
                    each(value, key, |scope: Object<'_>| {
                        for (key, value) in scope.0.iter().filter(|(key, _)| key == "profiles") {
                            each(value, key, |one: Object<'_>| profile(&one, tables))?;
                        }
                        Ok(())
                    })?;
                }
                Ok(())
            })?,
            "dictionary" => {
                for (key, value) in object(value.get(), &key)?.0 {
                    table(&key, value, tables)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn profile(one: &Object<'_>, tables: &mut Tables) -> Result<(), TableProblem> {
    let mut kind = TypeJson::default();
    for (key, value) in one.0.iter().filter(|(key, _)| key == "sampleType") {
        kind = serde_json::from_str(value.get()).map_err(|error| damaged(key, &error))?;
    }
    let kind = tables.kind((index(kind.type_strindex.0), index(kind.unit_strindex.0)))?;
    for (key, value) in one.0.iter().filter(|(key, _)| key == "samples") {
        each(value, key, |sample: SampleJson| {
            let mut counted =
                SampleCount { times: sample.timestamps_unix_nano.0.len() as u64, ..SampleCount::default() };
            sample.values.0.iter().for_each(|value| counted.add(value.0));
            let attributes = indices(&sample.attribute_indices, tables)?;
            let stack = index(sample.stack_index.0);
            tables.sample(SampleRow { stack, kind, value: counted.value(), attributes })
        })?;
    }
    Ok(())
}

fn indices(list: &Few<Number>, tables: &mut Tables) -> Result<super::tables::Span, TableProblem> {
    let start = tables.begin();
    list.0.iter().try_for_each(|value| tables.index(value.0))?;
    Ok(tables.end(start))
}

fn table(key: &str, value: &RawValue, tables: &mut Tables) -> Result<(), TableProblem> {
    match key {
        "mappingTable" => each(value, key, |one: MappingJson| {
            let attributes = indices(&one.attribute_indices, tables)?;
            let [start, limit, file_offset] =
                [one.memory_start, one.memory_limit, one.file_offset].map(|number| number.0.cast_unsigned());
            let filename = index(one.filename_strindex.0);
            tables.mapping(MappingRow { start, limit, file_offset, filename, attributes })
        }),
        "locationTable" => each(value, key, |one: LocationJson| {
            let (attributes, start) = (indices(&one.attribute_indices, tables)?, tables.lines.len());
            for line in &one.lines.0 {
                let function = index(line.function_index.0);
                tables.line(LineRow { function, line: line.line.0, column: line.column.0 })?;
            }
            let (lines, mapping) = (tables.lines_from(start), index(one.mapping_index.0));
            tables.location(LocationRow {
                address: one.address.0.cast_unsigned(),
                mapping,
                lines,
                attributes,
            })
        }),
        "functionTable" => each(value, key, |one: FunctionJson| {
            let [name, system_name, filename] =
                [one.name_strindex, one.system_name_strindex, one.filename_strindex].map(|one| index(one.0));
            tables.function(FunctionRow { name, system_name, filename, start_line: one.start_line.0 })
        }),
        "stringTable" => each(value, key, |text: Cow<'_, str>| tables.string(&text)),
        "attributeTable" => each(value, key, |one: AttributeJson<'_>| {
            let value = match one.value {
                ValueJson { string_value: Some(text), .. } => tables.text(&text)?,
                ValueJson { bool_value: Some(value), .. } => Value::Bool(value),
                ValueJson { int_value: Some(value), .. } => Value::Number(value.0),
                ValueJson { string_value_strindex: Some(value), .. } => Value::Index(index(value.0)),
                _ => Value::Other,
            };
            tables.attribute(AttributeRow { key: index(one.key_strindex.0), value })
        }),
        "stackTable" => each(value, key, |one: StackJson| {
            let stack = indices(&one.location_indices, tables)?;
            tables.stack(stack)
        }),
        _ => Ok(()),
    }
}

/// Writes the message with the changes. Its text was read before.
pub(super) fn write(
    text: &str,
    tables: &Tables,
    changes: &Changes,
    out: &mut Vec<u8>,
) -> Result<(), TableProblem> {
    put_object(out, &object(text, "the message")?, |out, key, value| {
        if key != "dictionary" {
            return Ok(false);
        }
        let mut dictionary = object(value.get(), key)?;
        // A table without entries may be missing.
        let empty: &RawValue = serde_json::from_str("[]").map_err(|error| damaged(key, &error))?;
        for (key, added) in [
            ("functionTable", changes.functions.len()),
            ("stringTable", changes.strings.len()),
            ("attributeTable", changes.attributes.len()),
        ] {
            if added > 0 && !dictionary.0.iter().any(|(known, _)| known == key) {
                dictionary.0.push((key.into(), empty));
            }
        }
        put_object(out, &dictionary, |out, key, value| put_table(out, key, value, tables, changes))?;
        Ok(true)
    })
}

/// Puts an object whose values a function may put; it says whether it did.
fn put_object(
    out: &mut Vec<u8>,
    object: &Object<'_>,
    mut put: impl FnMut(&mut Vec<u8>, &str, &RawValue) -> Result<bool, TableProblem>,
) -> Result<(), TableProblem> {
    out.push(b'{');
    for (at, (key, value)) in object.0.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        foldsym_symbolize::json::string(out, key.as_bytes());
        out.push(b':');
        if !put(out, key, value)? {
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    out.push(b'}');
    Ok(())
}

fn put_table(
    out: &mut Vec<u8>,
    key: &str,
    value: &RawValue,
    tables: &Tables,
    changes: &Changes,
) -> Result<bool, TableProblem> {
    if !matches!(key, "locationTable" | "stackTable" | "functionTable" | "stringTable" | "attributeTable") {
        return Ok(false);
    }
    let mut list = List { out, count: 0 };
    list.out.push(b'[');
    let mut bodies: Vec<&str> = Vec::new();
    each(value, key, |one: &RawValue| {
        let index = list.count;
        list.next();
        if key == "locationTable" {
            bodies.push(one.get());
            if let Some(new) = changes.location(index) {
                return put_location(list.out, one.get(), new, changes);
            }
        }
        if let Some(stack) = changes.stack(index, tables).filter(|_| key == "stackTable") {
            let mut object = object(one.get(), key)?;
            object.0.retain(|(key, _)| key != "locationIndices");
            put_object(list.out, &object, |_, _, _| Ok(false))?;
            put_key(list.out, "locationIndices");
            put_list(list.out, &stack, |out, index| push(out, index));
            list.out.push(b'}');
            return Ok(());
        }
        list.out.extend_from_slice(one.get().as_bytes());
        Ok(())
    })?;
    match key {
        "locationTable" => {
            for new in &changes.locations_added {
                if let Some(body) = bodies.get(new.base) {
                    list.next();
                    put_location(list.out, body, new, changes)?;
                }
            }
        }
        "functionTable" => {
            for one in &changes.functions {
                list.next();
                let FunctionRow { name, system_name, filename, start_line } = one;
                push(
                    list.out,
                    format_args!(
                        "{{\"nameStrindex\":{name},\"systemNameStrindex\":{system_name},\"filenameStrindex\":{filename},\"startLine\":\"{start_line}\"}}"
                    ),
                );
            }
        }
        "stringTable" => {
            for text in &changes.strings {
                list.next();
                foldsym_symbolize::json::string(list.out, text.as_bytes());
            }
        }
        "attributeTable" => {
            for &key in &changes.attributes {
                list.next();
                match key {
                    0 => push(list.out, "{}"),
                    _ => push(
                        list.out,
                        format_args!("{{\"keyStrindex\":{key},\"value\":{{\"boolValue\":true}}}}"),
                    ),
                }
            }
        }
        _ => {}
    }
    list.out.push(b']');
    Ok(true)
}

/// A list that is being put.
struct List<'o> {
    out: &'o mut Vec<u8>,
    count: usize,
}

impl List<'_> {
    fn next(&mut self) {
        if self.count > 0 {
            self.out.push(b',');
        }
        self.count += 1;
    }
}

fn push(out: &mut Vec<u8>, text: impl fmt::Display) {
    use std::io::Write;
    // A vector takes everything.
    let _ = write!(out, "{text}");
}

/// Opens an object again that was put, for a further key.
fn put_key(out: &mut Vec<u8>, key: &str) {
    out.pop();
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    push(out, format_args!("\"{key}\":"));
}

fn put_list<T>(out: &mut Vec<u8>, list: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (at, one) in list.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, one);
    }
    out.push(b']');
}

fn put_location(
    out: &mut Vec<u8>,
    body: &str,
    new: &NewLocation,
    changes: &Changes,
) -> Result<(), TableProblem> {
    let mut object = object(body, "locationTable")?;
    object.0.retain(|(key, _)| key != "lines");
    let mut attributes = Vec::new();
    let folded = changes.folded_attribute(new);
    if folded.is_some() {
        for (key, value) in object.0.iter().filter(|(key, _)| key == "attributeIndices") {
            let known: Few<Number> =
                serde_json::from_str(value.get()).map_err(|error| damaged(key, &error))?;
            attributes.extend(known.0.iter().map(|number| number.0));
        }
        object.0.retain(|(key, _)| key != "attributeIndices");
    }
    put_object(out, &object, |_, _, _| Ok(false))?;
    put_key(out, "lines");
    put_list(out, &new.lines, |out, LineRow { function, line, column }| {
        push(
            out,
            format_args!("{{\"functionIndex\":{function},\"line\":\"{line}\",\"column\":\"{column}\"}}"),
        );
    });
    out.push(b'}');
    if let Some(folded) = folded {
        attributes.push(folded.into());
        put_key(out, "attributeIndices");
        put_list(out, &attributes, |out, index| push(out, index));
        out.push(b'}');
    }
    Ok(())
}
