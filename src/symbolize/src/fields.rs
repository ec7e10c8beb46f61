//! Writes the chosen fields of an answer as JSON: only those, and only where they are known.

use foldsym_demangle::short;
use foldsym_lookup::Frame;
use foldsym_store::{DebugId, ModuleId};

use crate::answer::{Answer, Symbol};
use crate::json::{GivenName, address, list, number, string};
use crate::names::Names;
use crate::stack::Module;

/// Words of fields, with the keys that each gives.
const WORDS: &[(&str, Fields)] = &[
    ("address", Fields::ADDRESS),
    ("module", Fields::MODULE),
    ("id", Fields::ID),
    ("module-offset", Fields::MODULE_OFFSET),
    ("function-offset", Fields::FUNCTION_OFFSET),
    ("function", Fields::FUNCTION),
    ("qualified", Fields::QUALIFIED),
    ("linkage", Fields::LINKAGE),
    ("file", Fields::FILE),
    ("line", Fields::LINE),
    ("column", Fields::COLUMN),
    ("declaration", Fields::DECLARATION),
    ("certainty", Fields::CERTAINTY),
    ("evidence", Fields::EVIDENCE),
    ("candidates", Fields::CANDIDATES),
    ("unknown", Fields::UNKNOWN),
    ("trust", Fields::TRUST),
];

/// Which fields of answers are written: a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    const ADDRESS: Self = Self(1);
    const MODULE: Self = Self(1 << 1);
    const ID: Self = Self(1 << 2);
    const MODULE_OFFSET: Self = Self(1 << 3);
    const FUNCTION_OFFSET: Self = Self(1 << 4);
    const FUNCTION: Self = Self(1 << 5);
    const QUALIFIED: Self = Self(1 << 6);
    const LINKAGE: Self = Self(1 << 7);
    const FILE: Self = Self(1 << 8);
    const LINE: Self = Self(1 << 9);
    const COLUMN: Self = Self(1 << 10);
    const DECLARATION: Self = Self(1 << 11);
    const CERTAINTY: Self = Self(1 << 12);
    const EVIDENCE: Self = Self(1 << 13);
    const CANDIDATES: Self = Self(1 << 14);
    const UNKNOWN: Self = Self(1 << 15);
    const TRUST: Self = Self(1 << 16);
    /// Those of the elements of `Symbol`.
    const OF_FUNCTIONS: Self = Self(
        Self::FUNCTION.0
            | Self::QUALIFIED.0
            | Self::LINKAGE.0
            | Self::FILE.0
            | Self::LINE.0
            | Self::COLUMN.0
            | Self::DECLARATION.0,
    );

    /// Reads words with commas between them.
    ///
    /// # Errors
    /// The word that is none, and those that there are.
    ///
    /// ```
    /// use foldsym_symbolize::Fields;
    ///
    /// assert!(Fields::parse("function,file,line").is_ok());
    /// assert!(Fields::parse("function,lines").unwrap_err().starts_with("no field `lines`"));
    /// ```
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut fields = Self(0);
        for word in list.split(',').map(str::trim) {
            let Some((_, field)) = WORDS.iter().find(|(known, _)| *known == word) else {
                let all: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
                return Err(format!("no field `{word}`: there are {}", all.join(", ")));
            };
            fields.0 |= field.0;
        }
        Ok(fields)
    }

    const fn has(self, field: Self) -> bool {
        self.0 & field.0 != 0
    }

    /// Whether candidates are written: the engine must list them.
    pub const fn has_candidates(self) -> bool {
        self.has(Self::CANDIDATES)
    }

    /// Writes the object of one answer, with the brace that ends it. `names` must have the form [`Form::Json`](crate::Form::Json).
    pub fn object(self, out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>, module: Option<&Module>) {
        out.push(b'{');
        let start = out.len();
        self.keys(out, start, answer, names, module);
        out.push(b'}');
    }

    /// Writes the object of a frame of a report: with the functions that the report itself names there, innermost first, in place of the answer's,
    /// a key `Source` of the word beside them, and a key `Trust`. Without such functions it is as [`Fields::object`].
    pub fn report_object<'n>(
        self,
        out: &mut Vec<u8>,
        answer: &Answer,
        names: &mut Names<'_>,
        module: Option<&Module>,
        (source, functions): (&str, &[GivenName<'n>]),
        trust: Option<&str>,
    ) {
        out.push(b'{');
        let start = out.len();
        self.keys(out, start, answer, names, module);
        if !functions.is_empty() && self.has(Self::OF_FUNCTIONS) {
            key(out, start, "Symbol");
            list(out, functions, |out, given| self.given(out, given, names));
            key(out, start, "Source");
            string(out, source.as_bytes());
        }
        if let Some(trust) = trust.filter(|_| self.has(Self::TRUST)) {
            key(out, start, "Trust");
            string(out, trust.as_bytes());
        }
        out.push(b'}');
    }

    /// A function that the report names.
    fn given(self, out: &mut Vec<u8>, given: &GivenName<'_>, names: &mut Names<'_>) {
        out.push(b'{');
        let start = out.len();
        if self.has(Self::FUNCTION) {
            key(out, start, "FunctionName");
            string(out, names.shown(given.function).as_bytes());
        }
        if self.has(Self::QUALIFIED) {
            key(out, start, "QualifiedName");
            let short = short(given.function.as_bytes());
            string(out, short.as_deref().unwrap_or(given.function).as_bytes());
        }
        if self.has(Self::LINKAGE) {
            key(out, start, "LinkageName");
            string(out, given.function.as_bytes());
        }
        if self.has(Self::FILE) && !given.file.is_empty() {
            key(out, start, "FileName");
            string(out, given.file.as_bytes());
        }
        if self.has(Self::LINE) && given.line > 0 {
            key(out, start, "Line");
            number(out, given.line);
        }
        out.push(b'}');
    }

    /// Writes the keys of an answer. If it has frames, the caller gives no other functions.
    fn keys(
        self,
        out: &mut Vec<u8>,
        start: usize,
        answer: &Answer,
        names: &mut Names<'_>,
        module: Option<&Module>,
    ) {
        if let Some(given) = answer.address.filter(|_| self.has(Self::ADDRESS)) {
            key(out, start, "Address");
            address(out, given);
        }
        if let Some(module) = module {
            self.module(out, start, names, module);
        }
        let offsets = [
            (Self::MODULE_OFFSET, "ModuleOffset", answer.module_offset),
            (Self::FUNCTION_OFFSET, "FunctionOffset", answer.function_offset),
        ];
        for (field, name, value) in offsets {
            if let Some(value) = value.filter(|_| self.has(field)) {
                key(out, start, name);
                address(out, value);
            }
        }
        if !answer.symbol.frames.is_empty() {
            self.symbol(out, start, &answer.symbol, names);
        }
        let words = [
            (Self::CERTAINTY, "Certainty", answer.certainty.map(|certainty| certainty.text())),
            (Self::EVIDENCE, "Evidence", answer.evidence.map(|evidence| evidence.text())),
            (Self::EVIDENCE, "Reason", answer.reason.map(|reason| reason.text())),
        ];
        for (field, name, value) in words {
            if let Some(value) = value.filter(|_| self.has(field)) {
                key(out, start, name);
                string(out, value.as_bytes());
            }
        }
        // The only candidate is the answer itself.
        if answer.candidate_count.is_some_and(|count| count > 1) && self.has(Self::CANDIDATES) {
            key(out, start, "Candidates");
            list(out, &answer.candidates, |out, candidate| {
                out.push(b'{');
                if names.has_room(out.len()) {
                    let start = out.len();
                    self.symbol(out, start, &candidate.symbol, names);
                }
                out.push(b'}');
            });
        }
        if let Some(why) = answer.unknown.as_ref().filter(|_| self.has(Self::UNKNOWN)) {
            key(out, start, "Unknown");
            string(out, why.text().as_bytes());
        }
    }

    fn module(self, out: &mut Vec<u8>, start: usize, names: &Names<'_>, module: &Module) {
        if self.has(Self::MODULE) {
            key(out, start, "ModuleName");
            string(out, module.name.as_bytes());
        }
        if !self.has(Self::ID) {
            return;
        }
        let (build, debug) = match (names.ids(), &module.id) {
            (Some((build, debug)), _) => (Some(build), Some(debug)),
            (None, Some(ModuleId::Build(id))) => (Some(id.clone()), None),
            (None, Some(ModuleId::Debug(id))) => (None, Some(*id)),
            _ => (None, None),
        };
        if let Some(build) = build {
            key(out, start, "BuildId");
            string(out, build.to_string().as_bytes());
        }
        if let Some(debug) = debug {
            let debug: DebugId = debug;
            key(out, start, "DebugId");
            string(out, debug.to_string().as_bytes());
        }
    }

    fn symbol(self, out: &mut Vec<u8>, start: usize, symbol: &Symbol, names: &mut Names<'_>) {
        if !self.has(Self::OF_FUNCTIONS) {
            return;
        }
        key(out, start, "Symbol");
        list(out, &symbol.frames, |out, frame| {
            out.push(b'{');
            if names.has_room(out.len()) {
                self.function(out, frame, names);
            }
            out.push(b'}');
        });
    }

    fn function(self, out: &mut Vec<u8>, frame: &Frame, names: &mut Names<'_>) {
        let start = out.len();
        if self.has(Self::FUNCTION) && frame.name.is_some() {
            key(out, start, "FunctionName");
            out.extend_from_slice(names.function(frame.name));
        }
        if self.has(Self::QUALIFIED) && frame.name.is_some() {
            let name = names.raw(frame.name);
            key(out, start, "QualifiedName");
            string(out, short(name.as_bytes()).as_deref().unwrap_or(&name).as_bytes());
        }
        if self.has(Self::LINKAGE) && frame.name.is_some() {
            key(out, start, "LinkageName");
            out.extend_from_slice(names.linkage(frame.name));
        }
        if self.has(Self::FILE) && frame.file.is_some() {
            key(out, start, "FileName");
            out.extend_from_slice(names.path(frame.file));
        }
        let numbers = [
            (Self::LINE, "Line", frame.line),
            (Self::COLUMN, "Column", frame.column),
            (Self::DECLARATION, "StartLine", frame.start_line),
        ];
        for (field, name, value) in numbers {
            if self.has(field) && value > 0 {
                key(out, start, name);
                number(out, value);
            }
        }
        if self.has(Self::DECLARATION) && frame.start_file.is_some() {
            key(out, start, "StartFileName");
            out.extend_from_slice(names.path(frame.start_file));
        }
    }
}

/// Puts a key of the object that begins at `start`, with its colon.
fn key(out: &mut Vec<u8>, start: usize, key: &str) {
    if out.len() > start {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}
