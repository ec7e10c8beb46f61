//! Distinct answers to the column of symbols: each is turned into elements once, and each name into text once.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use foldhash::HashMap;
use foldsym_symbolize::{Answer, Batch, BatchSigning, Modules, Names, ReadableNames, Symbolizer};

use crate::input::Stacks;
use crate::signatures::Signatures;
use crate::text_columns::{fits, text_column, text_type};
use crate::texts::{Text, Texts};
use crate::{GivenFunction, SYMBOLS, Stack, SymbolFields, TableError, TableOptions, TextKind};

/// A function at an address.
struct Element {
    function: Option<Text>,
    linkage_name: Option<Text>,
    file: Option<Text>,
    line: Option<i32>,
    column: Option<i32>,
    inlined: bool,
    /// Whose name it is, if not the symbol file's.
    source: Option<Text>,
}

impl Element {
    /// Numbers texts as `to` says, by their number now.
    fn renumber(&mut self, to: &[Text]) {
        let texts = [&mut self.function, &mut self.linkage_name, &mut self.file, &mut self.source];
        texts.into_iter().for_each(|text| *text = text.map(|text| to[text as usize]));
    }
}

/// Offsets of lists, where 32 bits hold them.
fn offsets(lengths: Vec<usize>, what: &'static str) -> Result<OffsetBuffer<i32>, TableError> {
    // `from_lengths` panics if the sum has more than 31 bits.
    fits(lengths.iter().copied(), what)?;
    Ok(OffsetBuffer::from_lengths(lengths))
}

/// The data that the frames of an answer share, and the indices of its elements.
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
    names: HashMap<u32, (Option<Text>, Option<Text>)>,
    paths: HashMap<u32, Option<Text>>,
}

fn known(number: u32) -> Option<i32> {
    // A frame has 0 where its line or column is not known.
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
        // Ids of names and paths are valid within one file only.
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
                source: None,
            });
        }
        // A frame without a function still has an element, with its address and the reason.
        if answer.symbol.frames.is_empty() {
            let (function, linkage_name, file) = (None, None, None);
            self.elements.push(Element {
                function,
                linkage_name,
                file,
                line: None,
                column: None,
                inlined: false,
                source: None,
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

    /// Takes the names that a stack has itself.
    fn given(&mut self, names: &[GivenFunction<'_>], readable: &mut ReadableNames) -> Vec<(usize, Element)> {
        let source = (!names.is_empty()).then(|| self.texts.of("report"));
        let mut given: Vec<(usize, Element)> = Vec::with_capacity(names.len());
        for name in names {
            // The functions of a frame are neighbours, and the last is not inlined.
            if let Some((_, before)) = given.last_mut().filter(|(frame, _)| *frame == name.frame) {
                before.inlined = true;
            }
            let linkage_name = self.texts.of_bytes(name.function.as_bytes());
            let function = self.texts.of_bytes(readable.of(name.function).as_bytes());
            let file = self.texts.of_bytes(name.file.as_bytes());
            let line = known(name.line);
            let element =
                Element { function, linkage_name, file, line, column: None, inlined: false, source };
            given.push((name.frame, element));
        }
        given
    }

    /// Takes the names of modules, and why identities could not be read. Returns them by process and module.
    fn modules(&mut self, stacks: &Stacks) -> Vec<Vec<(Text, Option<Text>)>> {
        let texts = &mut self.texts;
        let mut of_process = |(process, modules): (usize, &Modules)| {
            let each = (0..modules.len()).map_while(|module| Some((module, modules.get(module)?)));
            let each = each.map(|(module, known)| match stacks.fault(process, module) {
                Some(fault) => (texts.of(&fault.name), Some(texts.of(&fault.why))),
                None => (texts.of(&known.name), None),
            });
            each.collect()
        };
        stacks.processes().iter().enumerate().map(&mut of_process).collect()
    }

    /// Numbers texts as `to` says, by their number now.
    fn renumber(&mut self, to: &[Text]) {
        let new = |text: &mut Option<Text>| *text = text.map(|text| to[text as usize]);
        self.elements.iter_mut().for_each(|element| element.renumber(to));
        for made in &mut self.made {
            let words = [&mut made.certainty, &mut made.evidence, &mut made.reason, &mut made.unknown];
            words.into_iter().chain([&mut made.message]).for_each(new);
        }
        self.candidates.iter_mut().for_each(new);
    }
}

/// Some rows of a batch, answered.
pub(crate) struct Part {
    stacks: Stacks,
    batch: Batch,
    symbols: Symbols,
    modules: Vec<Vec<(Text, Option<Text>)>>,
    /// By row: the functions that the stacks name themselves, with their frames.
    given: Vec<Vec<(usize, Element)>>,
    /// By row.
    pub(crate) signatures: Signatures,
}

impl Part {
    /// Answers the stacks. `named` has their own names, a stack each; it is empty if they have none.
    pub(crate) fn of(
        symbolizer: &Symbolizer,
        stacks: Stacks,
        named: &[Stack<'_>],
        options: TableOptions<'_>,
    ) -> Self {
        let (mut batch, mut symbols) = (Batch::new(), Symbols::default());
        let mut signing = options.signature.map(|rules| BatchSigning::new(rules.clone()));
        let queries = stacks.queries();
        symbolizer.worker().answer_batch(&queries, &mut batch, |number, file, answer, names| {
            if let Some(signing) = &mut signing {
                signing.answer(answer, names);
            }
            symbols.answer(number, file, answer, names);
        });
        let signatures = signing.map(|mut signing| {
            Signatures::of(&mut signing, &batch, (&stacks, &queries), named, &mut symbols.texts)
        });
        let modules = symbols.modules(&stacks);
        let mut readable = ReadableNames::new(symbolizer);
        let given = named.iter().map(|stack| symbols.given(stack.names, &mut readable)).collect();
        Self { stacks, batch, symbols, modules, given, signatures: signatures.unwrap_or_default() }
    }

    /// Moves the texts of all parts into one table, so that the parts share their dictionaries.
    pub(crate) fn share_texts(parts: &mut [Self]) -> Dictionary {
        let Some((first, rest)) = parts.split_first_mut() else { return Dictionary::of(Texts::default()) };
        // The texts of the first part keep their numbers, so only the other parts are renumbered.
        let mut texts = std::mem::take(&mut first.symbols.texts);
        for part in rest {
            let to = texts.take(&part.symbols.texts);
            part.symbols.renumber(&to);
            for (_, element) in part.given.iter_mut().flatten() {
                element.renumber(&to);
            }
            for (name, fault) in part.modules.iter_mut().flatten() {
                *name = to[*name as usize];
                *fault = fault.map(|fault| to[fault as usize]);
            }
            part.signatures.renumber(&to);
        }
        Dictionary::of(texts)
    }

    /// The elements of the column, row by row.
    pub(crate) fn columns(&self, fields: SymbolFields) -> ElementColumns {
        let Self { stacks, batch, symbols, modules, given, .. } = self;
        let lists_candidates = fields.has("candidates");
        let mut columns = ElementColumns::default();
        for (row, query) in stacks.query_of_rows().into_iter().enumerate() {
            let before = columns.frame.len();
            columns.valid.push(query.is_some());
            if let Some(query) = query {
                let modules = &modules[stacks.process(row)];
                for (index, (frame, asked)) in batch.stack(query).iter().zip(stacks.frames(row)).enumerate() {
                    let module = frame.module.and_then(|module| modules.get(module as usize)).copied();
                    let address = asked.place.given().map(u64::cast_signed);
                    let made = &symbols.made[frame.answer as usize];
                    let message = match module {
                        // The engine got no identity for this module, so its own message would not name the text that cannot be read.
                        Some((_, Some(fault))) if made.unknown.is_some() => Some(fault),
                        _ => made.message,
                    };
                    let place = Position {
                        frame: index as i32,
                        address,
                        module: module.map(|(name, _)| name),
                        message,
                    };
                    let candidates = if lists_candidates { made.candidates.clone() } else { 0..0 };
                    let found = &symbols.elements[made.elements.clone()];
                    let own = given.get(row).map_or(&[][..], |given| of_frame(given, index));
                    let candidates = &symbols.candidates[candidates];
                    if own.is_empty() || found.iter().any(|element| element.function.is_some()) {
                        columns.frame(place, made, found.iter(), candidates);
                    } else {
                        columns.frame(place, made, own.iter().map(|(_, element)| element), candidates);
                    }
                }
            }
            columns.lengths.push(columns.frame.len() - before);
        }
        columns
    }
}

/// The functions of one frame.
fn of_frame(given: &[(usize, Element)], frame: usize) -> &[(usize, Element)] {
    let before = |end: usize| given.partition_point(|(frame, _)| *frame < end);
    &given[before(frame)..before(frame + 1)]
}

/// The texts of a table.
pub(crate) struct Dictionary {
    bytes: usize,
    values: Texts,
}

impl Dictionary {
    fn of(values: Texts) -> Self {
        Self { bytes: values.all.iter().map(|text| text.len()).fold(0, usize::saturating_add), values }
    }

    /// As a column.
    ///
    /// # Errors
    /// It is too large for one.
    pub(crate) fn values(&self) -> Result<Arc<StringArray>, TableError> {
        fits([self.bytes].into_iter(), "bytes of names")?;
        Ok(Arc::new(StringArray::from_iter_values(self.values.all.iter())))
    }
}

/// The columns of all parts together have offsets of 32 bits too.
///
/// # Errors
/// They do not.
pub(crate) fn fit_together(
    parts: &[ElementColumns],
    values: &StringArray,
    options: TableOptions<'_>,
) -> Result<(), TableError> {
    fits(parts.iter().map(|part| part.frame.len()), "functions")?;
    fits(parts.iter().map(|part| part.candidates.len()), "candidates")?;
    // Dictionaries and views have each text once, and `values` has checked their sum.
    if options.text != TextKind::Plain {
        return Ok(());
    }
    for (column, _) in TEXTS.iter().enumerate().filter(|(_, name)| options.fields.has(name)) {
        let lengths = parts.iter().flat_map(|part| part.texts()[column]).flatten();
        let lengths = lengths.map(|&text| values.value_length(text as usize) as usize);
        fits(lengths, "bytes of a column's text")?;
    }
    Ok(())
}

/// The data that the functions of a frame share, apart from the answer's.
#[derive(Clone, Copy)]
struct Position {
    frame: i32,
    address: Option<i64>,
    module: Option<Text>,
    message: Option<Text>,
}

/// The columns of text, in the order of [`ElementColumns::texts`].
const TEXTS: [&str; 11] = [
    "function",
    "linkage_name",
    "file",
    "module",
    "certainty",
    "evidence",
    "reason",
    "candidates",
    "unknown",
    "message",
    "source",
];

/// The fields of the elements.
#[derive(Default)]
pub(crate) struct ElementColumns {
    /// By row: elements, and whether there is a list.
    lengths: Vec<usize>,
    valid: Vec<bool>,
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
    source: Vec<Option<Text>>,
}

impl ElementColumns {
    fn frame<'e>(
        &mut self,
        place: Position,
        made: &Made,
        elements: impl Iterator<Item = &'e Element>,
        candidates: &[Option<Text>],
    ) {
        for element in elements {
            self.frame.push(place.frame);
            self.address.push(place.address);
            self.function.push(element.function);
            self.linkage_name.push(element.linkage_name);
            self.file.push(element.file);
            self.line.push(element.line);
            self.column.push(element.column);
            self.inlined.push(element.inlined);
            self.module.push(place.module);
            self.certainty.push(made.certainty);
            self.evidence.push(made.evidence);
            self.reason.push(made.reason);
            self.candidate_count.push(made.candidate_count);
            let listed = if element.inlined { &[] } else { candidates };
            self.candidates.extend_from_slice(listed);
            self.candidate_lengths.push(listed.len());
            self.unknown.push(made.unknown);
            self.message.push(place.message);
            self.source.push(element.source);
        }
    }

    /// The columns of text.
    fn texts(&self) -> [&Vec<Option<Text>>; TEXTS.len()] {
        [
            &self.function,
            &self.linkage_name,
            &self.file,
            &self.module,
            &self.certainty,
            &self.evidence,
            &self.reason,
            &self.candidates,
            &self.unknown,
            &self.message,
            &self.source,
        ]
    }

    /// The column, a list for each row. The caller has checked [`fit_together`].
    pub(crate) fn finish(
        mut self,
        values: &Arc<StringArray>,
        options: TableOptions<'_>,
    ) -> Result<ArrayRef, TableError> {
        let text = |keys: Vec<Option<Text>>| text_column(keys, values, options.text);
        let fields = fields(options);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
        let mut candidates = Some((self.candidate_lengths, self.candidates));
        for field in fields.iter() {
            columns.push(match field.name().as_str() {
                "frame" => Arc::new(Int32Array::from(std::mem::take(&mut self.frame))),
                "address" => Arc::new(Int64Array::from(std::mem::take(&mut self.address))),
                "function" => text(std::mem::take(&mut self.function))?,
                "linkage_name" => text(std::mem::take(&mut self.linkage_name))?,
                "file" => text(std::mem::take(&mut self.file))?,
                "line" => Arc::new(Int32Array::from(std::mem::take(&mut self.line))),
                "column" => Arc::new(Int32Array::from(std::mem::take(&mut self.column))),
                "inlined" => Arc::new(BooleanArray::from(std::mem::take(&mut self.inlined))),
                "module" => text(std::mem::take(&mut self.module))?,
                "certainty" => text(std::mem::take(&mut self.certainty))?,
                "evidence" => text(std::mem::take(&mut self.evidence))?,
                "reason" => text(std::mem::take(&mut self.reason))?,
                "candidate_count" => Arc::new(Int32Array::from(std::mem::take(&mut self.candidate_count))),
                "candidates" => {
                    let (DataType::List(item), Some((lengths, names))) =
                        (field.data_type(), candidates.take())
                    else {
                        return Err(ArrowError::SchemaError("candidates are a list".to_owned()).into());
                    };
                    Arc::new(ListArray::try_new(
                        item.clone(),
                        offsets(lengths, "candidates")?,
                        text(names)?,
                        None,
                    )?)
                }
                "unknown" => text(std::mem::take(&mut self.unknown))?,
                "message" => text(std::mem::take(&mut self.message))?,
                "source" => text(std::mem::take(&mut self.source))?,
                name => return Err(ArrowError::SchemaError(format!("no field {name:?}")).into()),
            });
        }
        let elements = StructArray::try_new(fields, columns, None)?;
        let DataType::List(field) = symbols_field(options).data_type().clone() else {
            return Err(ArrowError::SchemaError("the column of symbols is a list".to_owned()).into());
        };
        let nulls = Some(NullBuffer::from(self.valid));
        let lengths = offsets(self.lengths, "functions")?;
        Ok(Arc::new(ListArray::try_new(field, lengths, Arc::new(elements), nulls)?))
    }
}

fn fields(options: TableOptions<'_>) -> Fields {
    let text = || text_type(options.text);
    let candidates = DataType::List(Arc::new(Field::new("item", text(), true)));
    let all = [
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
        Field::new("source", text(), true),
    ];
    all.into_iter().filter(|field| options.fields.has(field.name())).collect()
}

/// The column that is added: a list of structs, one for each function of each frame.
pub fn symbols_field(options: TableOptions<'_>) -> Field {
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
