//! Distinct answers to the column of symbols: each is turned into elements once, and each name into text once.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use foldsym_symbolize::{Answer, Batch, Names, Place};
use rustc_hash::FxHashMap;

use crate::input::Stacks;
use crate::{SYMBOLS, TableError, TableOptions};

/// A text of the batch.
type Text = i32;

/// The texts of a batch, each once.
#[derive(Default)]
struct Texts {
    all: Vec<Arc<str>>,
    by_text: FxHashMap<Arc<str>, Text>,
}

impl Texts {
    fn of(&mut self, text: &str) -> Text {
        if let Some(&known) = self.by_text.get(text) {
            return known;
        }
        let text: Arc<str> = text.into();
        self.all.push(text.clone());
        let number = self.all.len() as Text - 1;
        self.by_text.insert(text, number);
        number
    }

    /// No text where it is empty.
    fn of_bytes(&mut self, bytes: &[u8]) -> Option<Text> {
        (!bytes.is_empty()).then(|| self.of(&String::from_utf8_lossy(bytes)))
    }
}

/// A function at an address.
struct Element {
    function: Option<Text>,
    linkage_name: Option<Text>,
    file: Option<Text>,
    line: Option<i32>,
    column: Option<i32>,
    inlined: bool,
}

/// Offsets of lists, where 32 bits hold them.
fn offsets(lengths: Vec<usize>, what: &'static str) -> Result<OffsetBuffer<i32>, TableError> {
    fits(lengths.iter().copied(), what)?;
    Ok(OffsetBuffer::from_lengths(lengths))
}

fn fits(lengths: impl Iterator<Item = usize>, what: &'static str) -> Result<(), TableError> {
    let total = lengths.fold(0, usize::saturating_add);
    match i32::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => Err(TableError::TooLarge { what, total }),
    }
}

/// What the frames of an answer have in common, and which elements are its.
struct Made {
    elements: std::ops::Range<usize>,
    certainty: Option<Text>,
    evidence: Option<Text>,
    reason: Option<Text>,
    candidate_count: Option<i32>,
    candidates: std::ops::Range<usize>,
    unknown: Option<Text>,
    message: Option<Text>,
}

/// The answers of a batch.
#[derive(Default)]
pub(crate) struct Symbols {
    texts: Texts,
    elements: Vec<Element>,
    /// By number of the answer.
    made: Vec<Made>,
    candidates: Vec<Option<Text>>,
    /// Whose names and paths the next two are.
    file: Option<usize>,
    names: FxHashMap<u32, (Option<Text>, Option<Text>)>,
    paths: FxHashMap<u32, Option<Text>>,
}

fn known(number: u32) -> Option<i32> {
    (number != 0).then(|| i32::try_from(number).unwrap_or(i32::MAX))
}

impl Symbols {
    /// Takes the next distinct answer.
    pub(crate) fn answer(
        &mut self,
        number: u32,
        file: Option<usize>,
        answer: &Answer,
        names: &mut Names<'_>,
    ) {
        debug_assert_eq!(number as usize, self.made.len());
        if file != self.file {
            self.file = file;
            self.names.clear();
            self.paths.clear();
        }
        let (first, first_candidate) = (self.elements.len(), self.candidates.len());
        for frame in &answer.symbol.frames {
            let (linkage_name, function) = match frame.name {
                None => (None, None),
                Some(id) => self.name(id.0, frame.name, names),
            };
            let path = match frame.file {
                None => None,
                Some(id) => match self.paths.get(&id.0) {
                    Some(&path) => path,
                    None => {
                        let path = self.texts.of_bytes(names.path(frame.file));
                        self.paths.insert(id.0, path);
                        path
                    }
                },
            };
            self.elements.push(Element {
                function,
                linkage_name,
                file: path,
                line: known(frame.line),
                column: known(frame.column),
                inlined: !frame.is_outermost,
            });
        }
        if answer.symbol.frames.is_empty() {
            let (function, linkage_name, file) = (None, None, None);
            self.elements.push(Element {
                function,
                linkage_name,
                file,
                line: None,
                column: None,
                inlined: false,
            });
        }
        for member in &answer.candidates {
            let name = member.symbol.name();
            let text = name.and_then(|id| self.name(id.0, name, names).0);
            self.candidates.push(text);
        }
        let mut word = |word: Option<&str>| word.map(|word| self.texts.of(word));
        let made = Made {
            elements: first..self.elements.len(),
            certainty: word(answer.certainty.map(|certainty| certainty.text())),
            evidence: word(answer.evidence.map(|evidence| evidence.text())),
            reason: word(answer.reason.map(|reason| reason.text())),
            candidate_count: answer.candidate_count.map(|count| i32::try_from(count).unwrap_or(i32::MAX)),
            candidates: first_candidate..self.candidates.len(),
            unknown: word(answer.unknown.as_ref().map(|why| why.text())),
            message: word(answer.unknown.as_ref().map(|why| why.to_string()).as_deref()),
        };
        self.made.push(made);
    }

    /// The linkage name and the readable one.
    fn name(
        &mut self,
        id: u32,
        name: Option<foldsym_symbolize::NameId>,
        names: &mut Names<'_>,
    ) -> (Option<Text>, Option<Text>) {
        if let Some(&known) = self.names.get(&id) {
            return known;
        }
        let texts = (self.texts.of_bytes(names.linkage(name)), self.texts.of_bytes(names.function(name)));
        self.names.insert(id, texts);
        texts
    }

    /// The column, a list for each row.
    pub(crate) fn column(
        &mut self,
        stacks: &Stacks,
        batch: &Batch,
        options: TableOptions,
    ) -> Result<ArrayRef, TableError> {
        let mut columns = Columns::default();
        let (mut lengths, mut valid) = (Vec::new(), Vec::new());
        let mut module_names: FxHashMap<*const u8, Text> = FxHashMap::default();
        for (row, query) in stacks.query_of_rows().into_iter().enumerate() {
            let before = columns.frame.len();
            valid.push(query.is_some());
            if let Some(query) = query {
                let modules = stacks.modules(row);
                for (index, (frame, asked)) in batch.stack(query).iter().zip(stacks.frames(row)).enumerate() {
                    let fault = frame.module.and_then(|module| stacks.fault(row, module as usize));
                    let fault = fault.map(|fault| self.texts.of(fault));
                    let module = frame.module.and_then(|module| modules.get(module as usize));
                    let module = module.map(|module| {
                        let texts = &mut self.texts;
                        *module_names.entry(module.name.as_ptr()).or_insert_with(|| texts.of(&module.name))
                    });
                    let address = match asked.place {
                        Place::Memory(address) | Place::Image { address, .. } => Some(address.cast_signed()),
                        _ => None,
                    };
                    let made = &self.made[frame.answer as usize];
                    let candidates = &self.candidates[made.candidates.clone()];
                    columns.frame(index as i32, address, module, made, &self.elements, candidates);
                    if let (Some(fault), Some(_), Some(message)) =
                        (fault, made.unknown, columns.message.last_mut())
                    {
                        *message = Some(fault);
                    }
                }
            }
            lengths.push(columns.frame.len() - before);
        }
        let struct_array = columns.finish(&self.texts, options)?;
        let DataType::List(field) = symbols_field(options).data_type().clone() else {
            return Err(ArrowError::SchemaError("the column of symbols is a list".to_owned()).into());
        };
        let offsets = offsets(lengths, "functions")?;
        Ok(Arc::new(ListArray::try_new(
            field,
            offsets,
            Arc::new(struct_array),
            Some(NullBuffer::from(valid)),
        )?))
    }
}

/// The fields of the elements.
#[derive(Default)]
struct Columns {
    frame: Vec<i32>,
    address: Vec<Option<i64>>,
    function: Vec<Option<Text>>,
    linkage_name: Vec<Option<Text>>,
    file: Vec<Option<Text>>,
    line: Vec<Option<i32>>,
    column: Vec<Option<i32>>,
    inlined: Vec<bool>,
    module: Vec<Option<Text>>,
    certainty: Vec<Option<Text>>,
    evidence: Vec<Option<Text>>,
    reason: Vec<Option<Text>>,
    candidate_count: Vec<Option<i32>>,
    candidates: Vec<Option<Text>>,
    candidate_lengths: Vec<usize>,
    unknown: Vec<Option<Text>>,
    message: Vec<Option<Text>>,
}

impl Columns {
    fn frame(
        &mut self,
        index: i32,
        address: Option<i64>,
        module: Option<Text>,
        made: &Made,
        elements: &[Element],
        candidates: &[Option<Text>],
    ) {
        for element in &elements[made.elements.clone()] {
            self.frame.push(index);
            self.address.push(address);
            self.function.push(element.function);
            self.linkage_name.push(element.linkage_name);
            self.file.push(element.file);
            self.line.push(element.line);
            self.column.push(element.column);
            self.inlined.push(element.inlined);
            self.module.push(module);
            self.certainty.push(made.certainty);
            self.evidence.push(made.evidence);
            self.reason.push(made.reason);
            self.candidate_count.push(made.candidate_count);
            let listed = if element.inlined { &[] } else { candidates };
            self.candidates.extend_from_slice(listed);
            self.candidate_lengths.push(listed.len());
            self.unknown.push(made.unknown);
            self.message.push(made.message);
        }
    }

    fn finish(self, texts: &Texts, options: TableOptions) -> Result<StructArray, TableError> {
        fits(texts.all.iter().map(|text| text.len()), "bytes of names")?;
        let values = Arc::new(StringArray::from_iter_values(texts.all.iter()));
        let text = |keys: Vec<Option<Text>>| -> Result<ArrayRef, TableError> {
            if options.dictionaries {
                let keys = Int32Array::from(keys);
                return Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values.clone())?));
            }
            let lengths = keys.iter().flatten().map(|&key| values.value_length(key as usize) as usize);
            fits(lengths, "bytes of a column's text")?;
            let plain = keys.into_iter().map(|key| key.map(|key| values.value(key as usize)));
            Ok(Arc::new(plain.collect::<StringArray>()))
        };
        let fields = fields(options);
        let DataType::List(item) = fields[13].data_type() else {
            return Err(ArrowError::SchemaError("candidates are a list".to_owned()).into());
        };
        let offsets = offsets(self.candidate_lengths, "candidates")?;
        let candidates = ListArray::try_new(item.clone(), offsets, text(self.candidates)?, None)?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(self.frame)),
            Arc::new(Int64Array::from(self.address)),
            text(self.function)?,
            text(self.linkage_name)?,
            text(self.file)?,
            Arc::new(Int32Array::from(self.line)),
            Arc::new(Int32Array::from(self.column)),
            Arc::new(BooleanArray::from(self.inlined)),
            text(self.module)?,
            text(self.certainty)?,
            text(self.evidence)?,
            text(self.reason)?,
            Arc::new(Int32Array::from(self.candidate_count)),
            Arc::new(candidates),
            text(self.unknown)?,
            text(self.message)?,
        ];
        Ok(StructArray::try_new(fields, columns, None)?)
    }
}

fn fields(options: TableOptions) -> Fields {
    let text = || match options.dictionaries {
        true => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        false => DataType::Utf8,
    };
    let candidates = DataType::List(Arc::new(Field::new("item", text(), true)));
    Fields::from(vec![
        Field::new("frame", DataType::Int32, true),
        Field::new("address", DataType::Int64, true),
        Field::new("function", text(), true),
        Field::new("linkage_name", text(), true),
        Field::new("file", text(), true),
        Field::new("line", DataType::Int32, true),
        Field::new("column", DataType::Int32, true),
        Field::new("inlined", DataType::Boolean, true),
        Field::new("module", text(), true),
        Field::new("certainty", text(), true),
        Field::new("evidence", text(), true),
        Field::new("reason", text(), true),
        Field::new("candidate_count", DataType::Int32, true),
        Field::new("candidates", candidates, true),
        Field::new("unknown", text(), true),
        Field::new("message", text(), true),
    ])
}

/// The column that is added: a list of structs, one for each function of each frame.
pub fn symbols_field(options: TableOptions) -> Field {
    let item = Field::new("item", DataType::Struct(fields(options)), true);
    Field::new(SYMBOLS, DataType::List(Arc::new(item)), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_offsets_cannot_hold_is_an_error() {
        assert!(offsets(vec![i32::MAX as usize], "functions").is_ok());
        let error = offsets(vec![i32::MAX as usize, 1], "functions").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the batch has 2147483648 functions, more than 2147483647: give fewer rows at a time"
        );
    }
}
