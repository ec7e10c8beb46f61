//! Writes crash reports to a Parquet file: a row for each thread, or for each stack of a profile.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use foldsym_reports::{Opened, Report, Thread};
use foldsym_symbolize::{Mapping, Module, Modules, ReportedAddress, Symbolizer};

use crate::parquet_file::{ROWS, Writer};
use crate::{GivenFunction, Stack, TableError, TableOptions, schema_of, symbolize_stacks};

/// Frames that are answered at a time, unless one stack has more.
const FRAMES: usize = 1 << 20;

/// More bytes than the two words of a frame have, its kind and its trust, and than the word for a report's format has.
const WORDS: usize = 32;

fn module_fields() -> Fields {
    Fields::from(vec![
        Field::new("id", DataType::Utf8, true),
        Field::new("base", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
    ])
}

fn value_fields() -> Fields {
    Fields::from(vec![Field::new("type", DataType::Utf8, true), Field::new("value", DataType::Int64, true)])
}

fn list_of(name: &str, item: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("item", item, true))), true)
}

/// The columns in front of the answers.
fn columns() -> Schema {
    Schema::new(vec![
        Field::new("report", DataType::Utf8, false),
        Field::new("format", DataType::Utf8, false),
        Field::new("reason", DataType::Utf8, true),
        Field::new("crash_address", DataType::Int64, true),
        Field::new("thread", DataType::Int32, false),
        Field::new("thread_id", DataType::Int64, true),
        Field::new("thread_name", DataType::Utf8, true),
        Field::new("crashed", DataType::Boolean, false),
        list_of("values", DataType::Struct(value_fields())),
        list_of("modules", DataType::Struct(module_fields())),
        list_of("frames", DataType::Int64),
        list_of("kinds", DataType::Utf8),
        list_of("trust", DataType::Utf8),
        Field::new("event", DataType::Utf8, true),
    ])
}

/// The columns of a table of reports; `schema/table.md` describes them.
pub fn report_schema(options: TableOptions<'_>) -> SchemaRef {
    schema_of(&columns(), options)
}

/// Rows that are being made.
struct Rows {
    report: StringBuilder,
    format: StringBuilder,
    reason: StringBuilder,
    crash_address: Int64Builder,
    thread: Int32Builder,
    thread_id: Int64Builder,
    thread_name: StringBuilder,
    crashed: BooleanBuilder,
    values: ListBuilder<StructBuilder>,
    modules: ListBuilder<StructBuilder>,
    frames: ListBuilder<Int64Builder>,
    kinds: ListBuilder<StringBuilder>,
    trust: ListBuilder<StringBuilder>,
    event: StringBuilder,
    /// Bytes of text in all columns.
    texts: usize,
}

fn not_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl Rows {
    fn new() -> Self {
        Self {
            report: StringBuilder::new(),
            format: StringBuilder::new(),
            reason: StringBuilder::new(),
            crash_address: Int64Builder::new(),
            thread: Int32Builder::new(),
            thread_id: Int64Builder::new(),
            thread_name: StringBuilder::new(),
            crashed: BooleanBuilder::new(),
            values: ListBuilder::new(StructBuilder::from_fields(value_fields(), 0)),
            modules: ListBuilder::new(StructBuilder::from_fields(module_fields(), 0)),
            frames: ListBuilder::new(Int64Builder::new()),
            kinds: ListBuilder::new(StringBuilder::new()),
            trust: ListBuilder::new(StringBuilder::new()),
            event: StringBuilder::new(),
            texts: 0,
        }
    }

    /// Counts the texts of a row. Each row repeats the names of its modules, so that many rows may share one long name.
    ///
    /// # Errors
    /// The columns would need offsets of more than 32 bits, at which the builders of `arrow` panic.
    fn count(
        &mut self,
        name: &str,
        report: &Report,
        thread: &Thread,
        modules: &[(&Module, Option<String>)],
    ) -> Result<(), TableError> {
        let of_module =
            |(module, id): &(&Module, Option<String>)| module.name.len() + id.as_ref().map_or(0, String::len);
        let of_modules = modules.iter().map(of_module).sum::<usize>();
        let of_values = report.value_types.iter().map(String::len).sum::<usize>();
        let of_frames = thread.frames.len() * WORDS;
        let event = thread.event.as_deref().unwrap_or("");
        let texts =
            [name, &report.reason, &thread.name, event].iter().map(|text| text.len() + WORDS).sum::<usize>();
        self.texts += of_modules + of_values + of_frames + texts;
        match i32::try_from(self.texts) {
            Ok(_) => Ok(()),
            Err(_) => Err(TableError::TooLarge { what: "bytes of text of reports", total: self.texts }),
        }
    }

    fn add(&mut self, name: &str, report: &Report, index: usize, thread: &Thread) -> Result<(), TableError> {
        let with_id = |module: &'_ Module| module.id.as_ref().map(ToString::to_string);
        let modules = used(report.modules_of(thread), thread).map(|module| (module, with_id(module)));
        let modules: Vec<(&Module, Option<String>)> = modules.collect();
        self.count(name, report, thread, &modules)?;
        self.report.append_value(name);
        self.format.append_value(report.format.text());
        self.reason.append_option(not_empty(&report.reason));
        self.crash_address.append_option(report.crash_address.map(u64::cast_signed));
        self.thread.append_value(i32::try_from(index).unwrap_or(i32::MAX));
        self.thread_id.append_option(thread.id.map(u64::cast_signed));
        self.thread_name.append_option(not_empty(&thread.name));
        self.crashed.append_value(thread.crashed);

        for (kind, &value) in report.value_types.iter().zip(&thread.values) {
            let each = self.values.values();
            text(each, 0, Some(kind));
            number(each, 1, Some(value));
            each.append(true);
        }
        // Null in reports that are not profiles (`schema/table.md`).
        self.values.append(!thread.values.is_empty());

        for (module, id) in modules {
            let each = self.modules.values();
            text(each, 0, id.as_deref());
            number(each, 1, base(module).map(u64::cast_signed));
            text(each, 2, not_empty(&module.name));
            each.append(true);
        }
        self.modules.append(true);

        for frame in &thread.frames {
            self.frames.values().append_option(frame.place.given().map(u64::cast_signed));
            self.kinds.values().append_value(frame.kind.text());
        }
        self.frames.append(true);
        self.kinds.append(true);
        thread.trust.iter().for_each(|trust| self.trust.values().append_value(trust.text()));
        self.trust.append(!thread.trust.is_empty());
        self.event.append_option(thread.event.as_deref());
        Ok(())
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.report.finish()),
            Arc::new(self.format.finish()),
            Arc::new(self.reason.finish()),
            Arc::new(self.crash_address.finish()),
            Arc::new(self.thread.finish()),
            Arc::new(self.thread_id.finish()),
            Arc::new(self.thread_name.finish()),
            Arc::new(self.crashed.finish()),
            Arc::new(self.values.finish()),
            Arc::new(self.modules.finish()),
            Arc::new(self.frames.finish()),
            Arc::new(self.kinds.finish()),
            Arc::new(self.trust.finish()),
            Arc::new(self.event.finish()),
        ]
    }
}

fn text(each: &mut StructBuilder, field: usize, value: Option<&str>) {
    // `module_fields` and `value_fields` give the field this type, so the builder is there.
    if let Some(builder) = each.field_builder::<StringBuilder>(field) {
        builder.append_option(value);
    }
}

fn number(each: &mut StructBuilder, field: usize, value: Option<i64>) {
    if let Some(builder) = each.field_builder::<Int64Builder>(field) {
        builder.append_option(value);
    }
}

/// The modules that the frames of a thread are in, each once, in the order of the process: a process may have thousands of others.
fn used<'m>(modules: &'m Modules, thread: &Thread) -> impl Iterator<Item = &'m Module> {
    let of = |place| match place {
        ReportedAddress::Memory(address) => modules.find(address),
        ReportedAddress::Mapped { module, .. }
        | ReportedAddress::Offset { module, .. }
        | ReportedAddress::Image { module, .. }
        | ReportedAddress::Section { module, .. } => Some(module),
        _ => None,
    };
    let mut indexes: Vec<_> = thread.frames.iter().filter_map(|frame| of(frame.place)).collect();
    indexes.sort_unstable();
    indexes.dedup();
    // The reader of perf reports gives a frame without a module an index that no module has.
    indexes.into_iter().filter_map(|index| modules.get(index))
}

/// The address of the first segment, if the report has it.
fn base(module: &Module) -> Option<u64> {
    match module.mapping {
        Mapping::LoadAddress { address, .. } => Some(address),
        _ => None,
    }
}

/// Answers some threads of a report, a row each.
///
/// # Errors
/// The answers or the texts of the report are too large for one batch: give fewer threads.
pub fn symbolize_report(
    symbolizer: &Symbolizer,
    name: &str,
    report: &Report,
    threads: std::ops::Range<usize>,
    options: TableOptions<'_>,
) -> Result<RecordBatch, TableError> {
    rows_of(symbolizer, name, report, 0, threads, options)
}

/// The names that a report has for the frames of a thread.
fn given(thread: &Thread) -> Vec<GivenFunction<'_>> {
    let given = thread.names.iter().map(|name| GivenFunction {
        frame: name.frame as usize,
        function: &name.function,
        file: &name.file,
        line: name.line,
    });
    given.collect()
}

/// As [`symbolize_report`], for a part of a report whose first thread has the number `first`.
fn rows_of(
    symbolizer: &Symbolizer,
    name: &str,
    report: &Report,
    first: usize,
    range: std::ops::Range<usize>,
    options: TableOptions<'_>,
) -> Result<RecordBatch, TableError> {
    let mut rows = Rows::new();
    let (first, end) = (first + range.start, range.end.min(report.threads.len()));
    let threads = report.threads.get(range.start..end).unwrap_or_default();
    for (index, thread) in threads.iter().enumerate() {
        rows.add(name, report, first + index, thread)?;
    }
    let names: Vec<Vec<GivenFunction<'_>>> = threads.iter().map(given).collect();
    let stacks = threads.iter().zip(&names).map(|(thread, names)| {
        let (modules, frames) = (report.modules_of(thread), &thread.frames[..]);
        Stack { modules, frames, names }
    });
    let stacks: Vec<Stack<'_>> = stacks.collect();
    let mut columns = rows.finish();
    columns.extend(symbolize_stacks(symbolizer, &stacks, options)?);
    Ok(RecordBatch::try_new(report_schema(options), columns)?)
}

/// A Parquet file of reports that is being written.
pub struct ReportFile<'r, W: Write + Send> {
    writer: Writer<W>,
    options: TableOptions<'r>,
}

impl<'r, W: Write + Send> ReportFile<'r, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(output: W, options: TableOptions<'r>) -> Result<Self, TableError> {
        Ok(Self { writer: Writer::new(output, report_schema(options))?, options })
    }

    /// Answers the threads of a report, and writes them. `name` says which report it is.
    ///
    /// # Errors
    /// The file cannot be written, or the answers of one thread are too large by themselves.
    pub fn add(
        &mut self,
        symbolizer: &Symbolizer,
        name: &str,
        opened: &mut Opened<'_>,
    ) -> Result<(), TableError> {
        let mut first = 0;
        let mut next = opened.next_thread();
        while next.is_some() {
            let mut part = opened.report().clone();
            let mut frames = 0;
            while let Some(thread) = next.take() {
                frames += thread.frames.len();
                // A stack with more frames than the limit is a part by itself.
                if !part.threads.is_empty() && (frames > FRAMES || part.threads.len() == ROWS) {
                    next = Some(thread);
                    break;
                }
                part.threads.push(thread);
                next = opened.next_thread();
            }
            let answer = |rows| rows_of(symbolizer, name, &part, first, rows, self.options);
            self.writer.write_rows(0..part.threads.len(), answer)?;
            first += part.threads.len();
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<(), TableError> {
        self.writer.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array as _;

    /// Two samples in one module, in the text of `perf script`.
    fn report(symbolizer: &Symbolizer) -> Report {
        let text = "a 7 2.0: 1 c:\n\t 1 f (/lib/a)\n\na 7 3.0: 1 c:\n\t 2 f (/lib/a)\n\n";
        foldsym_reports::read(text.as_bytes(), symbolizer).unwrap()
    }

    /// Threads come one after another, and their numbers go on from part to part.
    #[test]
    fn threads_of_a_report_are_rows() {
        let symbolizer = Symbolizer::builder().build().unwrap();
        let text = "a 7 2.0: 1 c:\n\t 1 f (/lib/a)\n\n".repeat(ROWS + 3);
        let reader = foldsym_reports::Reader::new(&symbolizer);
        let options = foldsym_reports::Options::default();
        let mut opened = reader.open_while(text.as_bytes(), &options, &|| true).unwrap();
        let to = tempfile::NamedTempFile::new().unwrap();
        let mut file = ReportFile::new(to.reopen().unwrap(), TableOptions::default()).unwrap();
        file.add(&symbolizer, "r", &mut opened).unwrap();
        file.finish().unwrap();
        let batches =
            parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(to.reopen().unwrap());
        let mut threads = Vec::new();
        for batch in batches.unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let column = batch.column_by_name("thread").unwrap();
            let column = column.as_any().downcast_ref::<arrow_array::Int32Array>().unwrap();
            threads.extend(column.values().iter().copied());
        }
        assert!(threads.iter().copied().eq(0..ROWS as i32 + 3), "{}", threads.len());
    }

    /// The report's own names are in the elements of frames that have no function, and its events in their column.
    #[test]
    fn names_and_events_of_a_report_are_in_its_rows() {
        let symbolizer = Symbolizer::builder().build().unwrap();
        let text = "a 7 2.0: 1 c:\n\t 1 g (inlined)\n  a.c:3\n\t 1 f (/lib/a)\n\n".repeat(1000)
            + "a 7 3.0: 1 d:\n\t 2 _ZN3geo4areaEv (/lib/a)\n\n";
        let report = foldsym_reports::read(text.as_bytes(), &symbolizer).unwrap();
        let options = TableOptions { text: crate::TextKind::Plain, threads: 2, ..TableOptions::default() };
        let rows = symbolize_report(&symbolizer, "r", &report, 998..1001, options).unwrap();
        let column = |name: &str| rows.column_by_name(name).unwrap().clone();
        let events = column("event");
        let events = events.as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
        assert!(events.iter().eq([Some("c"), Some("c"), Some("d")]));
        let symbols = column(crate::SYMBOLS);
        let symbols = symbols.as_any().downcast_ref::<arrow_array::ListArray>().unwrap();
        let row = |row: usize, field: &str| -> Vec<Option<String>> {
            let elements = symbols.value(row);
            let elements = elements.as_any().downcast_ref::<arrow_array::StructArray>().unwrap();
            let values = elements.column_by_name(field).unwrap();
            let values = values.as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
            values.iter().map(|value| value.map(str::to_owned)).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        for (field, expected) in [
            ("function", [some("g"), some("f")]),
            ("file", [some("a.c"), None]),
            ("source", [some("report"), some("report")]),
        ] {
            assert_eq!(row(1, field), expected, "{field}");
        }
        assert_eq!(row(2, "function"), [some("geo::area()")]);
        assert_eq!(row(2, "linkage_name"), [some("_ZN3geo4areaEv")]);
    }

    /// The builders of `arrow` panic where an offset has more than 32 bits.
    #[test]
    fn texts_that_columns_do_not_hold_are_too_large() {
        let symbolizer = Symbolizer::builder().build().unwrap();
        let report = report(&symbolizer);
        let mut rows = Rows::new();
        rows.add("r", &report, 0, &report.threads[0]).unwrap();
        let of_row = rows.texts;
        assert!(of_row > "/lib/a".len() && of_row < 1000, "{of_row}");
        // As after many rows that each repeat a long name.
        rows.texts = i32::MAX as usize - of_row;
        rows.add("r", &report, 1, &report.threads[1]).unwrap();
        let refused = rows.add("r", &report, 1, &report.threads[1]);
        assert!(
            matches!(refused, Err(TableError::TooLarge { total, .. }) if total == i32::MAX as usize + of_row)
        );
        // No column has a part of the row that was refused.
        assert!(rows.finish().iter().all(|column| column.len() == 2));
    }
}
