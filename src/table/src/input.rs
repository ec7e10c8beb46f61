//! The columns of a batch to stacks, grouped by the modules of their processes.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use foldsym_store::ModuleId;
use foldsym_symbolize::{Innermost, Kind, Module, Modules, Place, Query, StackFrame};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::TableError;

/// The stacks of a batch.
pub(crate) struct Stacks {
    frames: Vec<StackFrame>,
    /// Where the frames of each row end.
    ends: Vec<usize>,
    /// Rows without a stack.
    nulls: Vec<bool>,
    modules: Vec<Modules>,
    /// By index in `modules` and index of the module: why its identity could not be read.
    faults: FxHashMap<(usize, usize), String>,
    /// By row: which of `modules`.
    which: Vec<usize>,
    /// Rows with a stack, those of one process together.
    order: Vec<usize>,
}

fn wrong(column: &str, what: impl Into<String>) -> TableError {
    TableError::Column { column: column.to_owned(), what: what.into() }
}

/// Numbers of 64 bits, whether they were signed or not.
fn numbers(column: &str, array: &dyn Array) -> Result<Int64Array, TableError> {
    match array.data_type() {
        DataType::UInt64 => {
            let array = array.as_primitive::<UInt64Type>();
            Ok(array.unary(|value| value.cast_signed()))
        }
        DataType::Int64 => Ok(array.as_primitive::<Int64Type>().clone()),
        kind if kind.is_integer() || *kind == DataType::Null => {
            Ok(arrow_cast::cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        }
        kind => Err(wrong(column, format!("expected int64 or uint64, found {kind}"))),
    }
}

fn texts(column: &str, array: &dyn Array) -> Result<StringArray, TableError> {
    match array.data_type() {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Dictionary(..)
        | DataType::Null => Ok(arrow_cast::cast(array, &DataType::Utf8)?.as_string::<i32>().clone()),
        kind => Err(wrong(column, format!("expected text, found {kind}"))),
    }
}

/// A list of any kind as a plain one.
fn list(column: &str, array: &dyn Array) -> Result<ListArray, TableError> {
    let inner = match array.data_type() {
        DataType::List(_) => return Ok(array.as_list::<i32>().clone()),
        DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner) => inner.clone(),
        DataType::Null => Arc::new(Field::new("item", DataType::Int64, true)),
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

/// An identity, or why the text is none.
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

impl Stacks {
    pub(crate) fn read(stacks: &RecordBatch) -> Result<Self, TableError> {
        let frames = optional(stacks, "frames", list)?.ok_or_else(|| wrong("frames", "is missing"))?;
        let addresses = numbers("frames", frames.values())?;
        let kinds = optional(stacks, "kinds", list)?;
        let kind_words = kinds.as_ref().map(|kinds| texts("kinds", kinds.values())).transpose()?;
        let mut read = Self {
            frames: Vec::with_capacity(addresses.len()),
            ends: Vec::with_capacity(stacks.num_rows()),
            nulls: (0..frames.len()).map(|row| frames.is_null(row)).collect(),
            modules: Vec::new(),
            faults: FxHashMap::default(),
            which: Vec::new(),
            order: Vec::new(),
        };
        let linked = read.read_modules(stacks)?;
        for (row, &linked) in linked.iter().enumerate() {
            if frames.is_valid(row) {
                let range = frames.value_offsets()[row] as usize..frames.value_offsets()[row + 1] as usize;
                let words = match (&kinds, &kind_words) {
                    (Some(kinds), Some(words)) if kinds.is_valid(row) => {
                        let start = kinds.value_offsets()[row] as usize;
                        if kinds.value_offsets()[row + 1] as usize - start != range.len() {
                            let what = "kinds and frames are not of one length".to_owned();
                            return Err(TableError::Row { row, what });
                        }
                        Some((words, start))
                    }
                    _ => None,
                };
                for (at, index) in range.enumerate() {
                    let default = if at == 0 { Kind::Exact } else { Kind::Return };
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
                                true => Place::Image { module: 0, address },
                                false => Place::Memory(address),
                            };
                            StackFrame { place, kind }
                        }
                        false => StackFrame::UNKNOWN,
                    });
                }
            }
            read.ends.push(read.frames.len());
        }
        read.order = (0..stacks.num_rows()).filter(|&row| !read.nulls[row]).collect();
        read.order.sort_by_key(|&row| read.which[row]);
        Ok(read)
    }

    /// Reads the modules of each row. Gives which rows have link-time addresses of their only module.
    fn read_modules(&mut self, stacks: &RecordBatch) -> Result<Vec<bool>, TableError> {
        let rows = stacks.num_rows();
        let mut known: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        let mut linked = vec![false; rows];
        let list_of = optional(stacks, "modules", list)?;
        if let Some(list) = &list_of {
            let DataType::Struct(_) = list.value_type() else {
                return Err(wrong("modules", format!("expected structs, found {}", list.value_type())));
            };
            let each = list.values().as_struct();
            let ids = field(each, "id").map(|array| texts("modules.id", array)).transpose()?;
            let names = field(each, "name").map(|array| texts("modules.name", array)).transpose()?;
            let bases = field(each, "base").ok_or_else(|| wrong("modules", "has no field \"base\""))?;
            let bases = numbers("modules.base", bases)?;
            for row in 0..rows {
                let range = list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
                let range = if list.is_valid(row) { range } else { 0..0 };
                let mut key = Vec::new();
                for at in range.clone() {
                    for text in [text_at(ids.as_ref(), at), text_at(names.as_ref(), at)] {
                        let text = text.unwrap_or("");
                        key.extend_from_slice(&(text.len() as u64).to_le_bytes());
                        key.extend_from_slice(text.as_bytes());
                    }
                    key.push(u8::from(bases.is_valid(at)));
                    key.extend_from_slice(&bases.value(at).to_le_bytes());
                }
                let which = match known.get(&key) {
                    Some(&which) => which,
                    None => {
                        let mut modules = Vec::new();
                        for at in range {
                            let id = text_at(ids.as_ref(), at);
                            let mut module = Module::new(text_at(names.as_ref(), at).or(id).unwrap_or("?"));
                            let (parsed, fault) = identity(id);
                            module.id = parsed;
                            let at_fault = (self.modules.len(), modules.len());
                            self.faults.extend(fault.map(|fault| (at_fault, fault)));
                            let base = bases.is_valid(at).then(|| bases.value(at).cast_unsigned());
                            modules.push(base.into_iter().fold(module, Module::at));
                        }
                        self.modules.push(Modules::new(modules));
                        known.insert(key, self.modules.len() - 1);
                        self.modules.len() - 1
                    }
                };
                self.which.push(which);
            }
            return Ok(linked);
        }
        let ids = optional(stacks, "module_id", texts)?
            .ok_or_else(|| wrong("modules", "is missing, and so is \"module_id\""))?;
        let names = optional(stacks, "module_name", texts)?;
        let bases = optional(stacks, "base", numbers)?;
        for (row, linked) in linked.iter_mut().enumerate() {
            let (id, name) = (text_at(Some(&ids), row), text_at(names.as_ref(), row));
            let base = bases.as_ref().filter(|bases| bases.is_valid(row)).map(|bases| bases.value(row));
            let key =
                format!("{base:?} {} {} {}", id.unwrap_or("").len(), id.unwrap_or(""), name.unwrap_or(""));
            *linked = base.is_none();
            let which = match known.get(key.as_bytes()) {
                Some(&which) => which,
                None => {
                    let mut module = Module::new(name.or(id).unwrap_or("?"));
                    let (parsed, fault) = identity(id);
                    module.id = parsed;
                    self.faults.extend(fault.map(|fault| ((self.modules.len(), 0), fault)));
                    let module =
                        base.into_iter().fold(module, |module, base| module.at(base.cast_unsigned()));
                    self.modules.push(Modules::new(vec![module]));
                    known.insert(key.into_bytes(), self.modules.len() - 1);
                    self.modules.len() - 1
                }
            };
            self.which.push(which);
        }
        Ok(linked)
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

    pub(crate) fn modules(&self, row: usize) -> &Modules {
        &self.modules[self.which[row]]
    }

    /// Why the identity of a row's module could not be read.
    pub(crate) fn fault(&self, row: usize, module: usize) -> Option<&str> {
        self.faults.get(&(self.which[row], module)).map(String::as_str)
    }

    pub(crate) fn frames(&self, row: usize) -> &[StackFrame] {
        &self.frames[self.range(row)]
    }
}

fn field<'a>(each: &'a StructArray, name: &str) -> Option<&'a dyn Array> {
    each.column_by_name(name).map(ArrayRef::as_ref)
}

fn kind(word: &str, row: usize) -> Result<Kind, TableError> {
    match word {
        "exact" => Ok(Kind::Exact),
        "return" => Ok(Kind::Return),
        "adjusted" => Ok(Kind::Adjusted),
        other => {
            let what = format!("kind {other:?}: expected \"exact\", \"return\" or \"adjusted\"");
            Err(TableError::Row { row, what })
        }
    }
}
