//! Reads the samples of messages as stacks.

use std::sync::Arc;

use foldsym_symbolize::{
    AddressKind, Mapping, Module, ModuleId, Modules, ReportedAddress, StackFrame, Worker,
};
use serde_json::{Map, Value as Json, json};

use super::changes::{Changes, Stopped, changes};
use super::tables::{LocationRow, Problem, SampleRow, Span, Tables, Value};
use super::{json_form, protobuf};
use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::profiles::{
    self, MAX_INLINED, MAX_NAMES, MAX_NAMES_TEXT, MAX_TEXT, PER_SAMPLE, Rewritten, Unpacked,
};
use crate::{Format, MAX_FRAMES, Opened, Options, Report, ReportError, Thread};

/// Most messages of one file.
const MAX_MESSAGES: usize = 1 << 16;

fn damaged(problem: impl Into<String>) -> ReportError {
    ReportError::Damaged { format: Format::Otlp, problem: problem.into() }
}

/// Reads profiles of OpenTelemetry.
pub(crate) struct OtlpReader;

impl FormatReader for OtlpReader {
    fn format(&self) -> Format {
        Format::Otlp
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        profiles::begins(bytes, |bytes| Form::of(bytes).is_some())
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        Ok(Profiles::parse(bytes, with.options)?.open())
    }
}

/// Whether bytes that are not compressed begin as a message in its binary form.
pub(crate) fn begins_as_profile(bytes: &[u8]) -> bool {
    matches!(Form::of(bytes), Some(Form::Binary | Form::Framed))
}

/// How a file has its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One message of protobuf.
    Binary,
    /// Several, each after its length as 4 bytes, the highest first: as the collector's exporter writes files.
    Framed,
    /// JSON, one object after another.
    Json,
}

impl Form {
    fn of(bytes: &[u8]) -> Option<Self> {
        if json_form::begins(bytes) {
            return Some(Self::Json);
        }
        if protobuf::begins(bytes) {
            return Some(Self::Binary);
        }
        let (_, rest) = bytes.split_first_chunk::<4>()?;
        protobuf::begins(rest).then_some(Self::Framed)
    }
}

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Arc<[u8]>,
    pub(super) tables: Tables,
    pub(super) modules: Modules,
    /// By location: where it is, and whether the kernel runs it.
    places: Vec<(ReportedAddress, bool)>,
    callers: AddressKind,
}

/// The messages of a file or of a request.
#[derive(Debug)]
pub struct Profiles {
    form: Form,
    messages: Vec<Message>,
    max_frames: usize,
    warnings: Vec<String>,
}

/// Why a profile was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRewritten {
    /// The message has references to missing entries.
    #[error(
        "{0} indices are outside of their tables, and would be those of the entries that are added: the profile is not written again"
    )]
    Astray(usize),
    /// The caller cancelled it.
    #[error("cancelled")]
    Stopped,
}

impl Profiles {
    /// Reads the messages of a file: one message of protobuf, several after their lengths, or JSON; with or without gzip around them.
    ///
    /// # Errors
    /// [`ReportError::Damaged`] if the bytes are no such messages; [`ReportError::Memory`] if their records take more than
    /// [`Options::memory`].
    pub fn parse(bytes: &[u8], options: &Options) -> Result<Self, ReportError> {
        let unpacked = Unpacked::new(bytes, Format::Otlp, options.memory)?;
        let bytes = &*unpacked.bytes;
        let form = Form::of(bytes).unwrap_or(match bytes.trim_ascii_start() {
            [b'{', ..] => Form::Json,
            _ => Form::Binary,
        });
        let (most, copied) = (unpacked.most_memory(), bytes.len() as u64);
        let allowed = most.min(unpacked.left_of_caller());
        let (mut messages, mut memory) = (Vec::new(), copied);
        for part in parts(bytes, form)? {
            if messages.len() == MAX_MESSAGES {
                return Err(damaged(format!("more than {MAX_MESSAGES} messages")));
            }
            let mut tables = Tables::within(allowed.saturating_sub(memory));
            let read = match form {
                Form::Json => std::str::from_utf8(part)
                    .map_err(|error| Problem::Damaged(error.to_string()))
                    .and_then(|text| json_form::read(text, &mut tables)),
                Form::Binary | Form::Framed => protobuf::read(part, &mut tables),
            };
            let in_message = match messages.len() {
                0 => String::new(),
                before => format!("message {}: ", before + 1),
            };
            read.map_err(|problem| match problem {
                Problem::Memory(taken) => unpacked.refused(memory.saturating_add(taken), most),
                Problem::Damaged(problem) => damaged(format!("{in_message}{problem}")),
            })?;
            if !tables.samples.is_empty() && tables.stacks.is_empty() {
                return Err(damaged(format!(
                    "{in_message}samples, but no table of stacks: of a version of the protocol before 1.9, or after those that are known"
                )));
            }
            let locations = (tables.locations.len() * size_of::<(ReportedAddress, bool)>()) as u64;
            memory = memory.saturating_add(tables.memory).saturating_add(locations);
            if memory > allowed {
                return Err(unpacked.refused(memory, most));
            }
            messages.push(Message::new(part, tables, options));
        }
        let mut warnings = Vec::new();
        let (lost, long) = messages.iter().fold((0, 0), |(lost, long), one| {
            let (more, cut) = one.lost();
            (lost + more, long + cut)
        });
        if lost > 0 {
            warnings.push(format!("{lost} references to stacks, locations or mappings that are not there"));
        }
        if long > 0 {
            warnings.push(format!("{long} stacks were cut after {MAX_FRAMES} frames"));
        }
        Ok(Self { form, messages, max_frames: unpacked.most_frames(), warnings })
    }

    /// Appends the messages with functions and lines in their locations, in the form that they were read in, without gzip. Samples and all
    /// fields that this crate does not know stay as they are. If one address has several answers, each becomes a location of its own.
    ///
    /// `go_on` is asked after each stack with the bytes that `out` and the changes take; the writing ends if it says no.
    ///
    /// # Errors
    /// [`NotRewritten`].
    pub fn rewrite(
        &self,
        worker: &mut Worker<'_>,
        out: &mut Vec<u8>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<Rewritten, NotRewritten> {
        let mut all = Rewritten::default();
        for message in &self.messages {
            match message.tables.astray() {
                0 => {}
                astray => return Err(NotRewritten::Astray(astray)),
            }
            let before = out.len();
            let (changes, done) =
                changes(message, worker, &mut |bytes| go_on(before + message.bytes.len() + bytes))
                    .map_err(|Stopped| NotRewritten::Stopped)?;
            message.write(self.form, &changes, out);
            all.frames += done.frames;
            all.named += done.named;
            all.kept += done.kept;
            all.locations_added += done.locations_added;
        }
        Ok(all)
    }

    /// Samples of all messages.
    pub fn samples(&self) -> u64 {
        self.messages.iter().map(|one| one.tables.samples.len() as u64).sum()
    }

    /// Whether the messages are in JSON.
    pub fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// The profiles as a report: a stack for each sample.
    pub fn report(self) -> Report {
        self.open().read()
    }

    /// The same, for one stack after another.
    pub(crate) fn open(mut self) -> Opened<'static> {
        let modules =
            self.messages.first().map_or_else(|| Modules::new(Vec::new()), |one| one.modules.clone());
        let mut report = Report::new(Format::Otlp, modules, Vec::new());
        report.warnings = std::mem::take(&mut self.warnings);
        for message in &self.messages {
            let names = message.tables.types.iter().map(|&kind| message.kind(kind));
            for name in names.collect::<Vec<_>>() {
                if !report.value_types.contains(&name) {
                    report.value_types.push(name);
                }
            }
        }
        Opened::new(
            report,
            SamplesOfMessages { profiles: self, message: 0, next: 0, count: 0, copied: 0, left_out: 0 },
        )
    }
}

/// The bytes of each message.
fn parts(bytes: &[u8], form: Form) -> Result<Vec<&[u8]>, ReportError> {
    match form {
        Form::Binary => Ok(vec![bytes]),
        Form::Framed => {
            let (mut parts, mut rest) = (Vec::new(), bytes);
            while !rest.is_empty() {
                let part = rest.split_first_chunk::<4>().and_then(|(len, rest)| {
                    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*len)).ok()?)
                });
                let Some((part, after)) = part else {
                    let at = bytes.len() - rest.len();
                    return Err(damaged(format!("the message at offset {at:#x} extends beyond the end")));
                };
                parts.push(part);
                rest = after;
            }
            Ok(parts)
        }
        Form::Json => {
            let mut parts = Vec::new();
            let objects =
                serde_json::Deserializer::from_slice(bytes).into_iter::<&serde_json::value::RawValue>();
            for object in objects {
                let object = object.map_err(|error| damaged(error.to_string()))?;
                parts.push(object.get().as_bytes());
                if parts.len() > MAX_MESSAGES {
                    break;
                }
            }
            Ok(parts)
        }
    }
}

impl Message {
    fn new(bytes: &[u8], tables: Tables, options: &Options) -> Self {
        let frame_type = |location: &LocationRow| {
            let mut found = tables.attributes_of(location.attributes);
            found.find(|(key, _)| *key == "profile.frame.type").and_then(|(_, value)| tables.text_of(value))
        };
        let mut is_kernel = vec![false; tables.mappings.len()];
        let of_kernel: Vec<bool> =
            tables.locations.iter().map(|location| frame_type(location) == Some("kernel")).collect();
        for (location, _) in tables.locations.iter().zip(&of_kernel).filter(|(_, is_it)| **is_it) {
            if let Some(mapping) = is_kernel.get_mut(location.mapping as usize) {
                *mapping = true;
            }
        }
        let module = |(index, mapping): (usize, &super::tables::MappingRow)| {
            let name = tables.of_string(mapping.filename);
            let mut module = Module::new(name);
            let mut ids = tables.attributes_of(mapping.attributes);
            let id = ids.find(|(key, _)| *key == "process.executable.build_id.gnu");
            module.id = id.and_then(|(_, value)| ModuleId::parse(tables.text_of(value)?).ok());
            if options.open_paths {
                module = module.with_program(std::path::Path::new(name));
            }
            if mapping.start < mapping.limit {
                let (start, size) = (mapping.start, mapping.limit - mapping.start);
                return module.mapped(Mapping::FilePart { start, size, file_offset: mapping.file_offset });
            }
            // Addresses of the kernel count from `_stext`, those of its modules from `.text`: both are where the section begins.
            if is_kernel[index] { module.with_sections([(".text".to_owned(), 0)]) } else { module }
        };
        let modules = Modules::new(tables.mappings.iter().enumerate().map(module).collect());
        let place = |location: &LocationRow| {
            let (module, address) = (location.mapping as usize, location.address);
            match tables.mappings.get(module) {
                // Mapping 0 is none: an interpreter's frame, whose address counts in its own code.
                None => ReportedAddress::Unknown,
                Some(_) if module == 0 => ReportedAddress::Unknown,
                Some(mapping) if mapping.start < mapping.limit || is_kernel[module] => {
                    ReportedAddress::Mapped { module, address }
                }
                Some(_) => ReportedAddress::Image { module, address },
            }
        };
        let places = tables.locations.iter().map(place).zip(of_kernel.iter().copied()).collect();
        let callers = options.callers.unwrap_or(AddressKind::Adjusted);
        Self { bytes: bytes.into(), tables, modules, places, callers }
    }

    /// How many references lead nowhere, and how many stacks are longer than the engine's.
    fn lost(&self) -> (usize, usize) {
        let Tables { stacks, locations, mappings, samples, indices, .. } = &self.tables;
        let is_lost = |index: u32, count: usize| index != 0 && index as usize >= count;
        let of_stacks = stacks.iter().flat_map(|stack| stack.of(indices));
        let lost = of_stacks.filter(|&&index| is_lost(index, locations.len())).count()
            + locations.iter().filter(|one| is_lost(one.mapping, mappings.len())).count()
            + samples.iter().filter(|one| is_lost(one.stack, stacks.len())).count();
        (lost, stacks.iter().filter(|stack| stack.of(indices).len() > MAX_FRAMES).count())
    }

    fn write(&self, form: Form, changes: &Changes, out: &mut Vec<u8>) {
        match form {
            Form::Binary => protobuf::write(&self.bytes, &self.tables, changes, out),
            Form::Framed => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                protobuf::write(&self.bytes, &self.tables, changes, out);
                let len = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&len.to_be_bytes());
            }
            Form::Json => {
                let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
                let start = out.len();
                // It was read before, and is read in the same way.
                if json_form::write(text, &self.tables, changes, out).is_err() {
                    out.truncate(start);
                    out.extend_from_slice(&self.bytes);
                }
                out.push(b'\n');
            }
        }
    }

    fn kind(&self, (kind, unit): (u32, u32)) -> String {
        format!("{}/{}", self.tables.of_string(kind), self.tables.of_string(unit))
    }

    /// The frames of a stack, up to as many as a stack may have.
    pub(super) fn frames(&self, stack: Span, frames: &mut Vec<StackFrame>) {
        frames.clear();
        let mut in_kernel = false;
        for (at, &index) in stack.of(&self.tables.indices).iter().take(MAX_FRAMES).enumerate() {
            let Some(&(place, is_kernel)) = self.places.get(index as usize) else {
                frames.push(StackFrame::UNKNOWN);
                continue;
            };
            let left_kernel = std::mem::replace(&mut in_kernel, is_kernel) && !is_kernel;
            let kind = match () {
                // The kernel gives one less than each address, the first too.
                () if is_kernel => AddressKind::Adjusted,
                () if at == 0 || left_kernel => AddressKind::Exact,
                () => self.callers,
            };
            frames.push(StackFrame { place, kind });
        }
    }

    fn stack_of(&self, sample: &SampleRow) -> Span {
        self.tables.stacks.get(sample.stack as usize).copied().unwrap_or_default()
    }

    /// A sample as a thread.
    fn thread(&self, sample: &SampleRow, types: &[String]) -> Thread {
        let tables = &self.tables;
        let stack = self.stack_of(sample);
        let mut thread = Thread { modules: Some(self.modules.clone()), ..Thread::default() };
        self.frames(stack, &mut thread.frames);
        let empty: Arc<str> = Arc::from("");
        let mut bytes = 0;
        'frames: for (frame, &index) in stack.of(&tables.indices).iter().take(MAX_FRAMES).enumerate() {
            let lines =
                tables.locations.get(index as usize).map_or(&[][..], |one| one.lines.of(&tables.lines));
            for line in lines.iter().take(MAX_INLINED) {
                let Some(function) = tables.functions.get(line.function as usize) else { continue };
                let Some(name) = tables.name(function) else { continue };
                let [name, file] =
                    [name, function.filename].map(|index| tables.shared(index).unwrap_or(&empty).clone());
                bytes += name.len() + file.len();
                if thread.names.len() >= MAX_NAMES || bytes > MAX_NAMES_TEXT {
                    break 'frames;
                }
                thread.name(frame, name, file, u32::try_from(line.line).unwrap_or(0));
            }
        }
        let kind = tables.types.get(sample.kind as usize).map_or_else(String::new, |&kind| self.kind(kind));
        let at = types.iter().position(|known| *known == kind).unwrap_or(0);
        thread.values = vec![0; types.len()];
        if let Some(value) = thread.values.get_mut(at) {
            *value = sample.value;
        }
        thread.name = format!("{kind}={}", sample.value);
        let labels: Map<String, Json> = tables
            .attributes_of(sample.attributes)
            .filter_map(|(key, value)| {
                let value = match value {
                    Value::Number(number) => json!(number),
                    Value::Bool(value) => json!(value),
                    value => json!(tables.text_of(value)?),
                };
                Some((key.to_owned(), value))
            })
            .collect();
        if !labels.is_empty() {
            thread.echo.push(("Labels".to_owned(), Json::from(labels).to_string()));
        }
        let values = Map::from_iter([(kind, json!(sample.value))]);
        thread.echo.push(("Values".to_owned(), Json::from(values).to_string()));
        thread
    }

    /// How many frames and names a sample has, and the bytes of its labels.
    fn cost(&self, sample: &SampleRow) -> (usize, usize) {
        let tables = &self.tables;
        let stack = self.stack_of(sample).of(&tables.indices);
        let frames = stack.len().min(MAX_FRAMES);
        let names = stack.iter().take(frames).filter_map(|&index| tables.locations.get(index as usize));
        let names = names.map(|one| one.lines.of(&tables.lines).len().min(MAX_INLINED).saturating_sub(1));
        let text = |value| tables.text_of(value).map_or(0, str::len);
        let labels = tables.attributes_of(sample.attributes).map(|(key, value)| key.len() + text(value));
        (frames + names.sum::<usize>().min(MAX_NAMES), labels.sum())
    }
}

/// Reads the samples of messages.
struct SamplesOfMessages {
    profiles: Profiles,
    message: usize,
    next: usize,
    /// What the samples so far count as, and the bytes of their labels.
    count: usize,
    copied: usize,
    left_out: usize,
}

impl ThreadSource for SamplesOfMessages {
    fn next(&mut self, report: &mut Report) -> Option<Thread> {
        while let Some(message) = self.profiles.messages.get(self.message) {
            let Some(sample) = message.tables.samples.get(self.next) else {
                (self.message, self.next) = (self.message + 1, 0);
                continue;
            };
            self.next += 1;
            let (frames, labels) = message.cost(sample);
            let values = report.value_types.len();
            self.count = self.count.saturating_add(frames + values + PER_SAMPLE);
            // A name of a value is twice in a sample.
            let of_types = report.value_types.iter().map(String::len).max().unwrap_or(0);
            self.copied = self.copied.saturating_add(2 * of_types + labels);
            if self.count <= self.profiles.max_frames && self.copied <= MAX_TEXT {
                return Some(message.thread(sample, &report.value_types));
            }
            self.left_out += 1;
        }
        let (left_out, max_frames) = (std::mem::take(&mut self.left_out), self.profiles.max_frames);
        if left_out > 0 {
            report.warnings.push(format!("{left_out} samples were left out: more than {max_frames} frames, or {MAX_TEXT} bytes of labels"));
        }
        None
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
