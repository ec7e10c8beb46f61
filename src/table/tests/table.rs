//! Tables of stacks: their schema, what dictionaries hold, slices and batches without rows, and columns that are wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use foldsym_symbolize::{
    AddressKind, Form, Innermost, Module, ModuleId, Modules, Query, ReportedAddress, Rules, Signing,
    StackFrame, Symbolizer,
};
use foldsym_table::{
    FIELDS, SIGNATURE, SYMBOLS, SymbolFields, TableError, TableOptions, TextKind, VERSION, VERSION_KEY,
    symbolize_batch, symbols_field,
};

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/golden/demo.fsym")
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().search([demo()]).build().unwrap()
}

fn demo_id() -> String {
    foldsym_store::SymbolMap::open(&demo()).unwrap().build_id().unwrap().to_string()
}

const TEXT_KINDS: [TextKind; 3] = [TextKind::Dictionary, TextKind::Plain, TextKind::View];

fn options(text: TextKind, threads: usize) -> TableOptions<'static> {
    let mut options = TableOptions::default();
    (options.text, options.threads) = (text, threads);
    options
}

/// Link-time addresses of the demo, a stack a row.
fn stacks(rows: usize) -> RecordBatch {
    let addresses = [0x20_12b0i64, 0x20_13d0, 0x20_1300, 5];
    let frames = (0..rows).map(|row| Some((0..=row % 4).map(move |at| Some(addresses[(row + at) % 4]))));
    let frames: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(frames));
    let ids: ArrayRef = Arc::new(StringArray::from(vec![demo_id(); rows]));
    RecordBatch::try_from_iter([("module_id", ids), ("frames", frames)]).unwrap()
}

fn symbols(batch: &RecordBatch) -> (ListArray, StructArray) {
    let lists = batch.column_by_name(SYMBOLS).unwrap().as_list::<i32>().clone();
    let elements = lists.values().as_struct().clone();
    (lists, elements)
}

/// A field's texts, wherever they are kept.
fn texts(elements: &StructArray, field: &str) -> Vec<Option<String>> {
    let column = elements.column_by_name(field).unwrap();
    let plain = arrow_cast::cast(column, &DataType::Utf8).unwrap();
    plain.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn show(kind: &DataType, depth: usize, out: &mut String) {
    match kind {
        DataType::Struct(fields) => {
            for field in fields {
                out.push_str(&format!("\n{}{}: ", "  ".repeat(depth), field.name()));
                show(field.data_type(), depth + 1, out);
            }
        }
        DataType::List(item) => {
            out.push_str("list of ");
            show(item.data_type(), depth, out);
        }
        DataType::Dictionary(key, value) => out.push_str(&format!("{value} by {key}")),
        kind => out.push_str(&kind.to_string()),
    }
}

/// The schema as `schema/table.md` has it: a change here is another version.
#[test]
fn the_schema_is_that_of_its_version() {
    let golden = "list of 
frame: Int32
address: Int64
function: TEXT
linkage_name: TEXT
file: TEXT
line: Int32
column: Int32
inlined: Boolean
module: TEXT
certainty: TEXT
evidence: TEXT
reason: TEXT
candidate_count: Int32
candidates: list of TEXT
unknown: TEXT
message: TEXT
source: TEXT";
    assert_eq!(VERSION, "1");
    for (kind, text) in TEXT_KINDS.into_iter().zip(["Utf8 by Int32", "Utf8", "Utf8View"]) {
        let mut shown = String::new();
        show(symbols_field(options(kind, 1)).data_type(), 0, &mut shown);
        assert_eq!(shown, golden.replace("TEXT", text));
    }
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/table.md")).unwrap();
    for line in golden.lines().skip(1) {
        let name = line.split(':').next().unwrap();
        assert!(page.contains(&format!("`{name}`")), "schema/table.md does not say what {name} is");
    }
    assert!(page.starts_with("# Tables of stacks, version 1\n"));
}

#[test]
fn columns_and_metadata_stay_and_the_version_is_added() {
    let schema = stacks(3).schema();
    let metadata = [("theirs".to_owned(), "kept".to_owned())].into();
    let with = Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata));
    let batch = RecordBatch::try_new(with, stacks(3).columns().to_vec()).unwrap();
    let answered = symbolize_batch(&symbolizer(), &batch, TableOptions::default()).unwrap();
    let names: Vec<_> = answered.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["module_id", "frames", SYMBOLS]);
    assert_eq!(answered.schema().metadata()[VERSION_KEY], VERSION);
    assert_eq!(answered.schema().metadata()["theirs"], "kept");
    assert_eq!(answered.column(1).to_data(), batch.column(1).to_data());
    // Answers of before are replaced.
    let again = symbolize_batch(&symbolizer(), &answered, TableOptions::default()).unwrap();
    assert_eq!(again, answered);
}

/// The same columns from each kind of text, from slices, and with any number of threads; signatures are those of the stacks one by one.
#[test]
fn signatures_are_columns_of_the_stacks() {
    let (symbolizer, rules) = (symbolizer(), Arc::new(Rules::shipped()));
    let signed = |kind, threads| {
        let mut options: TableOptions<'_> = options(kind, threads);
        options.signature = Some(&rules);
        options
    };
    let mut expected = Vec::new();
    let (mut signing, mut worker) = (Signing::new(rules.clone()), symbolizer.worker());
    let mut module = Module::new("");
    module.id = Some(ModuleId::parse(&demo_id()).unwrap());
    // A table shows the identity of a module without a name.
    module.name = demo_id().into();
    let modules = Modules::new(vec![module]);
    for row in stacks(1000).column_by_name("frames").unwrap().as_list::<i32>().iter() {
        let addresses = row.unwrap();
        let addresses = addresses.as_primitive::<Int64Type>().values().iter().enumerate();
        let frames = addresses.map(|(at, address)| StackFrame {
            place: ReportedAddress::Image { module: 0, address: address.cast_unsigned() },
            kind: if at == 0 { AddressKind::Exact } else { AddressKind::Return },
        });
        let frames: Vec<_> = frames.collect();
        let query = Query { modules: &modules, frames: &frames, innermost: Innermost::Nothing };
        let Ok(()) = worker.answer(query, Form::Plain, |answer, names| {
            signing.add(answer, names, &modules, []);
            Ok::<(), std::convert::Infallible>(())
        });
        let signature = signing.finish();
        expected.push([signature.text, signature.hash, signature.rules].map(Some));
    }
    let distinct: std::collections::HashSet<_> = expected.iter().collect();
    assert!(distinct.len() > 2, "{distinct:?}");
    for kind in TEXT_KINDS {
        for threads in [1, 3] {
            let answered = symbolize_batch(&symbolizer, &stacks(1000), signed(kind, threads)).unwrap();
            assert_eq!(
                answered.schema(),
                foldsym_table::schema_of(&stacks(1).schema(), signed(kind, threads))
            );
            let whole = StructArray::from(answered.clone());
            let columns = SIGNATURE.map(|name| texts(&whole, name));
            for (row, expected) in expected.iter().enumerate() {
                assert_eq!([0, 1, 2].map(|at| columns[at][row].clone()), *expected, "{kind:?}, row {row}");
            }
            // Columns of before are replaced, and stay where no signatures are made.
            assert_eq!(symbolize_batch(&symbolizer, &answered, signed(kind, threads)).unwrap(), answered);
            let without = symbolize_batch(&symbolizer, &answered, options(kind, threads)).unwrap();
            assert_eq!(without.num_columns(), answered.num_columns());
        }
    }
    // A row without a stack has no signature.
    let frames: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
        None::<Vec<Option<i64>>>,
        Some(vec![]),
        Some(vec![None]),
    ]));
    let ids: ArrayRef = Arc::new(StringArray::from(vec![demo_id(); 3]));
    let batch = RecordBatch::try_from_iter([("module_id", ids), ("frames", frames)]).unwrap();
    let answered = symbolize_batch(&symbolizer, &batch, signed(TextKind::Plain, 1)).unwrap();
    let found = texts(&StructArray::from(answered), SIGNATURE[0]);
    assert_eq!(found, [None, Some("??".to_owned()), Some("??".to_owned())]);
    // An engine without candidates would give other signatures.
    let few = Symbolizer::builder().search([demo()]).candidates(false).build().unwrap();
    let error = symbolize_batch(&few, &stacks(2), signed(TextKind::Plain, 1)).unwrap_err().to_string();
    assert!(error.contains("lists candidates"), "{error}");
    assert!(symbolize_batch(&few, &stacks(2), options(TextKind::Plain, 1)).is_ok());
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/table.md"));
    let page = page.unwrap();
    assert!(SIGNATURE.iter().all(|name| page.contains(&format!("`{name}`"))));
}

#[test]
fn a_dictionary_has_each_name_once_whatever_the_threads() {
    let batch = stacks(2000);
    let symbolizer = symbolizer();
    let plain = symbolize_batch(&symbolizer, &batch, options(TextKind::Plain, 1)).unwrap();
    let (_, plain) = symbols(&plain);
    for threads in [1, 2, 5] {
        let answered = symbolize_batch(&symbolizer, &batch, options(TextKind::Dictionary, threads)).unwrap();
        let (_, elements) = symbols(&answered);
        let function = elements.column_by_name("function").unwrap().as_dictionary::<Int32Type>();
        let values = function.values().as_string::<i32>();
        let mut distinct: Vec<&str> = values.iter().flatten().collect();
        distinct.sort_unstable();
        assert!(distinct.is_sorted_by(|before, after| before < after), "{threads} threads: {distinct:?}");
        assert!(distinct.len() < 40, "{threads} threads: {}", distinct.len());
        for field in ["function", "linkage_name", "file", "module", "certainty", "unknown", "message"] {
            assert_eq!(texts(&elements, field), texts(&plain, field), "{field}, {threads} threads");
            let other = elements.column_by_name(field).unwrap().as_dictionary::<Int32Type>();
            assert_eq!(other.values().len(), values.len(), "all columns have one dictionary");
        }
    }
    assert!(texts(&plain, "function").iter().flatten().count() > 1000);
    // Threads change nothing of plain columns, to the bit.
    for threads in [2, 5] {
        let answered = symbolize_batch(&symbolizer, &batch, options(TextKind::Plain, threads)).unwrap();
        assert_eq!(symbols(&answered).1, plain);
    }
}

/// A stream sends the texts of each column.
#[test]
fn a_column_of_views_has_each_of_its_own_texts_once() {
    let symbolizer = symbolizer();
    let plain = symbolize_batch(&symbolizer, &stacks(2000), options(TextKind::Plain, 1)).unwrap();
    let (_, plain) = symbols(&plain);
    for threads in [1, 2] {
        let answered = symbolize_batch(&symbolizer, &stacks(2000), options(TextKind::View, threads)).unwrap();
        let (_, elements) = symbols(&answered);
        for field in ["function", "linkage_name", "file", "module", "certainty", "unknown", "message"] {
            let expected = texts(&plain, field);
            assert_eq!(texts(&elements, field), expected, "{field}");
            // Short ones are inside their views.
            let mut long: Vec<_> = expected.into_iter().flatten().filter(|text| text.len() > 12).collect();
            long.sort_unstable();
            long.dedup();
            let column = elements.column_by_name(field).unwrap().as_string_view();
            let bytes: usize = column.data_buffers().iter().map(|buffer| buffer.len()).sum();
            let once: usize = long.iter().map(String::len).sum();
            assert!(bytes >= once && bytes <= once * threads, "{field}: {bytes}, {once}, {threads} threads");
        }
    }
}

/// A column that was not requested is missing, and the others have the values that they have with all columns.
#[test]
fn the_fields_that_are_wanted_are_made_and_no_others() {
    let symbolizer = symbolizer();
    for text in TEXT_KINDS {
        for threads in [1, 3] {
            let mut some = options(text, threads);
            let all = symbolize_batch(&symbolizer, &stacks(1000), some).unwrap();
            let (all_lists, all) = symbols(&all);
            assert_eq!(all.column_names(), FIELDS);
            // Each alone, some in another order than the column's, and one twice.
            let alone = FIELDS.map(|field| vec![field]);
            let several =
                [vec!["line", "function", "frame"], vec!["candidates", "file", "file"], FIELDS.to_vec()];
            for names in alone.into_iter().chain(several) {
                some.fields = SymbolFields::of(names.iter().copied()).unwrap();
                let answered = symbolize_batch(&symbolizer, &stacks(1000), some).unwrap();
                assert_eq!(answered.schema(), foldsym_table::schema_of(&stacks(1).schema(), some));
                let (lists, elements) = symbols(&answered);
                let wanted: Vec<_> = FIELDS.into_iter().filter(|field| names.contains(field)).collect();
                assert_eq!(elements.column_names(), wanted);
                assert_eq!(lists.offsets(), all_lists.offsets());
                for name in &wanted {
                    let (ours, expected) = (elements.column_by_name(name), all.column_by_name(name));
                    let plain = |column: Option<&ArrayRef>| match column.unwrap() {
                        texts if matches!(texts.data_type(), DataType::Dictionary(..)) => {
                            arrow_cast::cast(texts, &DataType::Utf8).unwrap()
                        }
                        other => other.clone(),
                    };
                    match *name {
                        // Dictionaries of lists number their texts otherwise where fewer are made.
                        "candidates" if text == TextKind::Dictionary => {
                            let inner = |column: Option<&ArrayRef>| {
                                let lists = column.unwrap().as_list::<i32>().clone();
                                (lists.offsets().clone(), plain(Some(lists.values())))
                            };
                            assert_eq!(inner(ours), inner(expected), "{names:?}");
                        }
                        _ => {
                            assert_eq!(plain(ours).as_ref(), plain(expected).as_ref(), "{name} of {names:?}")
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn fields_that_are_not_there_are_named() {
    let told = |names: &[&str]| SymbolFields::of(names.iter().copied()).unwrap_err().to_string();
    assert_eq!(
        told(&["line", "lines"]),
        format!("column \"symbols\": has no field \"lines\": expected {}", FIELDS.join(", "))
    );
    assert_eq!(told(&[]), "column \"symbols\": needs at least one field");
    assert_eq!(SymbolFields::of(FIELDS).unwrap(), SymbolFields::ALL);
    let line = SymbolFields::of(["line"]).unwrap();
    assert!(line.has("line") && !line.has("file") && !line.has("lines"));
}

#[test]
fn a_slice_is_answered_as_its_rows_are() {
    let symbolizer = symbolizer();
    let whole = symbolize_batch(&symbolizer, &stacks(1000), options(TextKind::Plain, 1)).unwrap();
    let (whole, _) = symbols(&whole);
    for (start, len) in [(0, 1), (3, 700), (999, 1), (500, 0)] {
        for threads in [1, 3] {
            let part = symbolize_batch(
                &symbolizer,
                &stacks(1000).slice(start, len),
                options(TextKind::Plain, threads),
            );
            let (part, _) = symbols(&part.unwrap());
            assert_eq!(part.len(), len);
            for row in 0..len {
                assert_eq!(
                    part.value(row).as_ref(),
                    whole.value(start + row).as_ref(),
                    "row {}",
                    start + row
                );
            }
        }
    }
}

#[test]
fn a_batch_without_rows_has_the_same_columns() {
    let symbolizer = symbolizer();
    for text in TEXT_KINDS {
        let none = symbolize_batch(&symbolizer, &stacks(0), options(text, 4)).unwrap();
        let some = symbolize_batch(&symbolizer, &stacks(4), options(text, 4)).unwrap();
        assert_eq!((none.num_rows(), none.schema()), (0, some.schema()));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let symbolizer = symbolizer();
    let told = |batch: &RecordBatch| match symbolize_batch(&symbolizer, batch, TableOptions::default()) {
        Err(error @ (TableError::Column { .. } | TableError::Row { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let frames = stacks(2).column(1).clone();
    let only = |name: &str, column: ArrayRef| RecordBatch::try_from_iter([(name, column)]).unwrap();
    let no_columns = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        Vec::new(),
        &RecordBatchOptions::new().with_row_count(Some(3)),
    );
    assert_eq!(told(&no_columns.unwrap()), "column \"frames\": is missing");
    assert_eq!(
        told(&only("frames", frames.clone())),
        "column \"modules\": is missing, and so is \"module_id\""
    );
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", "2"]));
    assert_eq!(told(&only("frames", texts.clone())), "column \"frames\": expected a list, found Utf8");
    let modules = |field: Field, column: ArrayRef| {
        let structs = StructArray::from(vec![(Arc::new(field), column)]);
        let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
        let lists: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::new(structs), None));
        RecordBatch::try_from_iter([("modules", lists), ("frames", frames.clone())]).unwrap()
    };
    let no_base = modules(Field::new("id", DataType::Utf8, true), texts.clone());
    assert_eq!(told(&no_base), "column \"modules\": has no field \"base\"");
    let no_number = modules(Field::new("base", DataType::Utf8, true), texts);
    assert_eq!(told(&no_number), "column \"modules.base\": expected int64 or uint64, found Utf8");
}

/// Two rows of nulls without a type.
fn untyped(first: i32, second: i32) -> ArrayRef {
    let nulls: ArrayRef = Arc::new(arrow_array::NullArray::new((first + second) as usize));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, first, first + second].into());
    let field = Arc::new(Field::new("item", DataType::Null, true));
    Arc::new(ListArray::new(field, offsets, nulls, None))
}

/// A few bytes of a file can say that a column has two billion nulls.
#[test]
fn frames_and_kinds_of_no_type_take_no_memory() {
    let ids = stacks(2).column_by_name("module_id").unwrap().clone();
    let of = |frames: ArrayRef, kinds: ArrayRef| {
        let columns = [("module_id", ids.clone()), ("frames", frames), ("kinds", kinds)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        symbolize_batch(&symbolizer(), &batch, options(TextKind::Plain, 1)).map(|batch| symbols(&batch).1)
    };
    let told = |frames: ArrayRef, kinds: ArrayRef| of(frames, kinds).unwrap_err().to_string();
    // A few are frames of which nothing is known, and kinds that are not given.
    let unknown = texts(&of(untyped(2, 1), untyped(2, 1)).unwrap(), "unknown");
    assert_eq!(unknown, vec![Some("no_address".to_owned()); 3]);
    let frames = || stacks(2).column_by_name("frames").unwrap().clone();
    assert!(of(frames(), untyped(1, 2)).is_ok());
    assert_eq!(told(frames(), untyped(i32::MAX, 0)), "row 0: kinds and frames are not of one length");
    assert_eq!(
        told(untyped(0, i32::MAX), untyped(0, i32::MAX)),
        "column \"frames\": has 2147483647 nulls without a type, more than 1048576: give the column a type"
    );
}

#[test]
fn modules_of_no_type_are_none_and_take_no_memory() {
    let modules = untyped(0, i32::MAX);
    let frames = stacks(2).column_by_name("frames").unwrap().clone();
    let batch = RecordBatch::try_from_iter([("modules", modules), ("frames", frames)]).unwrap();
    let answers = symbolize_batch(&symbolizer(), &batch, options(TextKind::Plain, 1)).unwrap();
    let (_, elements) = symbols(&answers);
    assert!(elements.len() >= 2 && texts(&elements, "module").iter().all(Option::is_none));
}
