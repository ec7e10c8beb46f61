//! Reads the columns of a batch as stacks, grouped by the modules of their processes.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use foldhash::HashMap;
use foldsym_store::ModuleId;
use foldsym_symbolize::{
    AddressKind, Innermost, MAX_FRAMES, Module, Modules, Query, ReportedAddress, StackFrame,
};
use std::sync::Arc;

use crate::{Stack, TableError};

/// Most frames of a batch whose column has no type: nulls, of which a few bytes can claim billions.
const MAX_UNTYPED: usize = 1 << 20;

/// The stacks of a batch.
pub(crate) struct Stacks {
    frames: Vec<StackFrame>,
    /// Where the frames of each row end.
    ends: Vec<usize>,
    /// Rows without a stack.
    nulls: Vec<bool>,
    modules: Vec<Modules>,
    /// By index in `modules` and index of the module: the modules whose identities could not be read.
    faults: HashMap<(usize, usize), Unreadable>,
    /// By row: which of `modules`.
    which: Vec<usize>,
    /// Rows with a stack; rows of one process are together.
    order: Vec<usize>,
}

/// A module whose identity could not be read. The engine is not given its name, by which it could find another build.
pub(crate) struct Unreadable {
    pub(crate) name: String,
    pub(crate) why: String,
}

fn wrong(column: &str, what: impl Into<String>) -> TableError {
    TableError::Column { column: column.to_owned(), what: what.into() }
}

/// Numbers of 64 bits, whether they were signed or not.
fn numbers(column: &str, array: &dyn Array) -> Result<Int64Array, TableError> {
    match array.data_type() {
        DataType::UInt64 => {
            // Both types are read as the same 64 bits: Spark has no unsigned integers, and stores addresses as signed ones.
            let array = array.as_primitive::<UInt64Type>();
            Ok(array.unary(|value| value.cast_signed()))
        }
        DataType::Int64 => Ok(array.as_primitive::<Int64Type>().clone()),
        // A column in which all values are null may have no type.
        kind if kind.is_integer() || *kind == DataType::Null => {
            Ok(arrow_cast::cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        }
        kind => Err(wrong(column, format!("expected int64 or uint64, found {kind}"))),
    }
}

fn texts(column: &str, array: &dyn Array) -> Result<StringArray, TableError> {
    match array.data_type() {
        kind if is_text(kind) || *kind == DataType::Null => {
            Ok(arrow_cast::cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
        }
        kind => Err(wrong(column, format!("expected text, found {kind}"))),
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

/// Converts a list of any kind to a plain one that has only the values of its own rows: a slice of a table shares the values of all rows.
fn list(column: &str, array: &dyn Array) -> Result<ListArray, TableError> {
    let whole = plain_list(column, array)?;
    let (field, offsets, values, nulls) = whole.into_parts();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let values = values.slice(first as usize, (last - first) as usize);
    let offsets: ScalarBuffer<i32> = offsets.iter().map(|offset| offset - first).collect();
    Ok(ListArray::try_new(field, OffsetBuffer::new(offsets), values, nulls)?)
}

fn plain_list(column: &str, array: &dyn Array) -> Result<ListArray, TableError> {
    let inner = match array.data_type() {
        DataType::List(_) => return Ok(array.as_list::<i32>().clone()),
        DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner) => inner.clone(),
        // A column without any value has no known type.
        DataType::Null => Arc::new(Field::new("item", DataType::Null, true)),
        kind => return Err(wrong(column, format!("expected a list, found {kind}"))),
    };
    Ok(arrow_cast::cast(array, &DataType::List(inner))?.as_list::<i32>().clone())
}

fn optional<T>(
    stacks: &RecordBatch,
    column: &str,
    read: impl Fn(&str, &dyn Array) -> Result<T, TableError>,
) -> Result<Option<T>, TableError> {
    stacks.column_by_name(column).map(|array| read(column, array.as_ref())).transpose()
}

/// An identity, or why the text is not one.
fn identity(text: Option<&str>) -> (Option<ModuleId>, Option<String>) {
    match text.map(|text| (text, ModuleId::parse(text))) {
        None => (None, None),
        Some((_, Ok(id))) => (Some(id), None),
        Some((text, Err(error))) => (None, Some(format!("{text:?}: {error}"))),
    }
}

fn text_at(array: Option<&StringArray>, at: usize) -> Option<&str> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at)).filter(|text| !text.is_empty())
}

/// The columns of stacks, each in the one type that is read.
pub(crate) struct Columns {
    rows: usize,
    frames: ListArray,
    addresses: Int64Array,
    /// The words of kinds; none if the column has no type, so that all kinds are null.
    kinds: Option<(ListArray, Option<StringArray>)>,
    modules: ModuleColumns,
}

enum ModuleColumns {
    /// Several a row.
    Lists {
        lists: ListArray,
        ids: Option<StringArray>,
        names: Option<StringArray>,
        bases: Int64Array,
        /// Modules that are null, whatever their fields hold.
        nulls: Option<NullBuffer>,
    },
    /// One a row.
    One { ids: StringArray, names: Option<StringArray>, bases: Option<Int64Array> },
}

impl Columns {
    /// Finds the columns by name.
    ///
    /// # Errors
    /// One is missing, or of another type.
    pub(crate) fn of(stacks: &RecordBatch) -> Result<Self, TableError> {
        let frames = optional(stacks, "frames", list)?.ok_or_else(|| wrong("frames", "is missing"))?;
        let untyped = frames.values().len();
        if frames.value_type() == DataType::Null && untyped > MAX_UNTYPED {
            let what = format!(
                "has {untyped} nulls without a type, more than {MAX_UNTYPED}: give the column a type"
            );
            return Err(wrong("frames", what));
        }
        for row in 0..frames.len() {
            let count = elements(&frames, row).len();
            if count > MAX_FRAMES {
                return Err(TableError::Row { row, what: format!("{count} frames, more than {MAX_FRAMES}") });
            }
        }
        let addresses = numbers("frames", frames.values())?;
        let kinds = optional(stacks, "kinds", list)?;
        let kinds = match kinds {
            // As many texts would take memory for each null.
            Some(kinds) if kinds.value_type() == DataType::Null => Some((kinds, None)),
            Some(kinds) => {
                let words = texts("kinds", kinds.values())?;
                Some((kinds, Some(words)))
            }
            None => None,
        };
        let modules = match optional(stacks, "modules", list)? {
            Some(lists) => {
                // Untyped nulls are not modules. A few bytes can hold billions of them.
                let lists = match lists.value_type() {
                    DataType::Null => {
                        let each = Field::new("item", DataType::Struct(no_modules()), true);
                        ListArray::new_null(Arc::new(each), lists.len())
                    }
                    _ => lists,
                };
                let each = match lists.value_type() {
                    DataType::Struct(_) => lists.values().as_struct().clone(),
                    kind => return Err(wrong("modules", format!("expected structs, found {kind}"))),
                };
                let ids = field(&each, "id").map(|array| texts("modules.id", array)).transpose()?;
                let names = field(&each, "name").map(|array| texts("modules.name", array)).transpose()?;
                let bases = field(&each, "base").ok_or_else(|| wrong("modules", "has no field \"base\""))?;
                let bases = numbers("modules.base", bases)?;
                ModuleColumns::Lists { lists, ids, names, bases, nulls: each.nulls().cloned() }
            }
            None => {
                let ids = optional(stacks, "module_id", texts)?
                    .ok_or_else(|| wrong("modules", "is missing, and so is \"module_id\""))?;
                let names = optional(stacks, "module_name", texts)?;
                ModuleColumns::One { ids, names, bases: optional(stacks, "base", numbers)? }
            }
        };
        Ok(Self { rows: stacks.num_rows(), frames, addresses, kinds, modules })
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The words of kinds of a row, and which is the first; nothing if the row has none.
    fn words(&self, row: usize, frames: usize) -> Result<Option<(&StringArray, usize)>, TableError> {
        let Some((kinds, words)) = self.kinds.as_ref().filter(|(kinds, _)| kinds.is_valid(row)) else {
            return Ok(None);
        };
        let range = elements(kinds, row);
        // A kind is read by its frame's index, so there must be as many kinds as frames.
        if range.len() != frames {
            let what = "kinds and frames are not of one length".to_owned();
            return Err(TableError::Row { row, what });
        }
        Ok(words.as_ref().map(|words| (words, range.start)))
    }
}

impl ModuleColumns {
    /// Whether two rows have the same lists of modules, which is seen without a look at each module. False if that is unknown.
    fn are_equal(&self, one: usize, other: usize) -> bool {
        let Self::Lists { lists, ids, names, bases, nulls } = self else { return false };
        if lists.is_null(one) || lists.is_null(other) || bases.null_count() > 0 || nulls.is_some() {
            return false;
        }
        let (one, other) = (elements(lists, one), elements(lists, other));
        let same_texts = |texts: &StringArray| {
            let of = |range: &std::ops::Range<usize>| &texts.value_offsets()[range.start..=range.end];
            let (ends, other_ends) = (of(&one), of(&other));
            let bytes = |ends: &[i32]| &texts.value_data()[ends[0] as usize..ends[ends.len() - 1] as usize];
            texts.null_count() == 0
                && ends.iter().zip(other_ends).all(|(end, other)| end - ends[0] == other - other_ends[0])
                && bytes(ends) == bytes(other_ends)
        };
        one.len() == other.len()
            && bases.values()[one.clone()] == bases.values()[other.clone()]
            && [ids, names].into_iter().flatten().all(same_texts)
    }
}

/// The fields of a module.
fn no_modules() -> Fields {
    let text = |name| Field::new(name, DataType::Utf8, true);
    Fields::from(vec![text("id"), Field::new("base", DataType::Int64, true), text("name")])
}

/// Where the elements of a row of lists are.
fn elements(lists: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = lists.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

impl Stacks {
    /// Reads some of the rows; in the result they count from 0.
    ///
    /// # Errors
    /// A value that its column may not have.
    pub(crate) fn read(columns: &Columns, rows: std::ops::Range<usize>) -> Result<Self, TableError> {
        let Columns { frames, addresses, .. } = columns;
        let mut read = Self {
            frames: Vec::with_capacity(rows.len()),
            ends: Vec::with_capacity(rows.len()),
            nulls: rows.clone().map(|row| frames.is_null(row)).collect(),
            modules: Vec::new(),
            faults: HashMap::default(),
            which: Vec::with_capacity(rows.len()),
            order: Vec::new(),
        };
        let linked = read.read_modules(&columns.modules, rows.clone());
        for (row, &linked) in rows.clone().zip(&linked) {
            if frames.is_valid(row) {
                let range = elements(frames, row);
                let words = columns.words(row, range.len())?;
                for (at, index) in range.enumerate() {
                    let default = if at == 0 { AddressKind::Exact } else { AddressKind::Return };
                    let kind = match words {
                        Some((words, start)) if words.is_valid(start + at) => {
                            kind(words.value(start + at), row)?
                        }
                        _ => default,
                    };
                    read.frames.push(match addresses.is_valid(index) {
                        true => {
                            let address = addresses.value(index).cast_unsigned();
                            let place = match linked {
                                // A row of `module_id` has one module.
                                true => ReportedAddress::Image { module: 0, address },
                                false => ReportedAddress::Memory(address),
                            };
                            StackFrame { place, kind }
                        }
                        false => StackFrame::UNKNOWN,
                    });
                }
            }
            read.ends.push(read.frames.len());
        }
        read.order = (0..rows.len()).filter(|&row| !read.nulls[row]).collect();
        read.order.sort_by_key(|&row| read.which[row]);
        Ok(read)
    }

    /// Takes stacks that are in no table. Neighbours that borrow the same modules share them.
    pub(crate) fn of(stacks: &[Stack<'_>]) -> Self {
        let mut read = Self {
            frames: Vec::with_capacity(stacks.iter().map(|stack| stack.frames.len()).sum()),
            ends: Vec::with_capacity(stacks.len()),
            nulls: vec![false; stacks.len()],
            modules: Vec::new(),
            faults: HashMap::default(),
            which: Vec::with_capacity(stacks.len()),
            order: (0..stacks.len()).collect(),
        };
        let mut last: Option<&Modules> = None;
        for stack in stacks {
            if !last.is_some_and(|last| std::ptr::eq(last, stack.modules)) {
                read.modules.push(stack.modules.clone());
                last = Some(stack.modules);
            }
            read.which.push(read.modules.len() - 1);
            read.frames.extend_from_slice(stack.frames);
            read.ends.push(read.frames.len());
        }
        read
    }

    /// Reads the modules of each row. Returns which rows have link-time addresses of their only module.
    fn read_modules(&mut self, columns: &ModuleColumns, rows: std::ops::Range<usize>) -> Vec<bool> {
        let mut known: HashMap<Vec<u8>, usize> = HashMap::default();
        let mut linked = vec![false; rows.len()];
        let mut key = Vec::new();
        let mut last: Option<(usize, usize)> = None;
        for (row, linked) in rows.zip(&mut linked) {
            // Neighbours are mostly of one process.
            // `are_equal` is true only for lists, whose addresses are those of the process, so `linked` stays false.
            if let Some((_, which)) = last.filter(|&(before, _)| columns.are_equal(before, row)) {
                self.which.push(which);
                continue;
            }
            key.clear();
            let of_key = |key: &mut Vec<u8>, id: Option<&str>, name: Option<&str>, base: Option<i64>| {
                for text in [id, name] {
                    // The lengths make the key unambiguous: different texts never give the same bytes.
                    let text = text.unwrap_or("");
                    key.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    key.extend_from_slice(text.as_bytes());
                }
                // A base of 0 differs from no base.
                key.push(u8::from(base.is_some()));
                key.extend_from_slice(&base.unwrap_or(0).to_le_bytes());
            };
            let which = match columns {
                ModuleColumns::Lists { lists, ids, names, bases, nulls } => {
                    let range = if lists.is_valid(row) { elements(lists, row) } else { 0..0 };
                    let parts = |at| {
                        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)) {
                            return (None, None, None);
                        }
                        let base = bases.is_valid(at).then(|| bases.value(at));
                        (text_at(ids.as_ref(), at), text_at(names.as_ref(), at), base)
                    };
                    for (id, name, base) in range.clone().map(parts) {
                        of_key(&mut key, id, name, base);
                    }
                    self.of_process(&mut known, &key, || range.map(parts))
                }
                ModuleColumns::One { ids, names, bases } => {
                    let (id, name) = (text_at(Some(ids), row), text_at(names.as_ref(), row));
                    let base = bases.as_ref().filter(|bases| bases.is_valid(row));
                    let base = base.map(|bases| bases.value(row));
                    *linked = base.is_none();
                    of_key(&mut key, id, name, base);
                    self.of_process(&mut known, &key, || std::iter::once((id, name, base)))
                }
            };
            last = Some((row, which));
            self.which.push(which);
        }
        linked
    }

    /// Which of the processes has the modules of this key: id, name and base of each.
    fn of_process<'t, I>(
        &mut self,
        known: &mut HashMap<Vec<u8>, usize>,
        key: &[u8],
        parts: impl FnOnce() -> I,
    ) -> usize
    where
        I: Iterator<Item = (Option<&'t str>, Option<&'t str>, Option<i64>)>,
    {
        if let Some(&which) = known.get(key) {
            return which;
        }
        let mut modules = Vec::new();
        for (id, name, base) in parts() {
            let shown = name.or(id).unwrap_or("");
            let (parsed, fault) = identity(id);
            let mut module = Module::new(if fault.is_some() { "" } else { shown });
            module.id = parsed;
            let at = (self.modules.len(), modules.len());
            self.faults.extend(fault.map(|why| (at, Unreadable { name: shown.to_owned(), why })));
            modules.push(base.into_iter().fold(module, |module, base| module.at(base.cast_unsigned())));
        }
        self.modules.push(Modules::new(modules));
        known.insert(key.to_vec(), self.modules.len() - 1);
        self.modules.len() - 1
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// The stacks, in the order of [`Stacks::order`].
    pub(crate) fn queries(&self) -> Vec<Query<'_>> {
        let query = |&row: &usize| Query {
            modules: &self.modules[self.which[row]],
            frames: &self.frames[self.range(row)],
            innermost: Innermost::Nothing,
        };
        self.order.iter().map(query).collect()
    }

    /// By row: the number of its query.
    pub(crate) fn query_of_rows(&self) -> Vec<Option<usize>> {
        let mut queries = vec![None; self.nulls.len()];
        for (query, &row) in self.order.iter().enumerate() {
            queries[row] = Some(query);
        }
        queries
    }

    /// The modules of each process, in the order that [`Stacks::process`] counts.
    pub(crate) fn processes(&self) -> &[Modules] {
        &self.modules
    }

    /// The process of a row.
    pub(crate) fn process(&self, row: usize) -> usize {
        self.which[row]
    }

    /// The error of a process's module whose identity could not be read.
    pub(crate) fn fault(&self, process: usize, module: usize) -> Option<&Unreadable> {
        self.faults.get(&(process, module))
    }

    pub(crate) fn frames(&self, row: usize) -> &[StackFrame] {
        &self.frames[self.range(row)]
    }
}

fn field<'a>(each: &'a StructArray, name: &str) -> Option<&'a dyn Array> {
    each.column_by_name(name).map(ArrayRef::as_ref)
}

fn kind(word: &str, row: usize) -> Result<AddressKind, TableError> {
    AddressKind::parse(word)
        .map_err(|expected| TableError::Row { row, what: format!("kind {word:?}: {expected}") })
}
