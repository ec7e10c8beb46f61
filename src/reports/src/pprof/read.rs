//! Reads the samples of a profile as stacks.

use std::collections::HashMap;
use std::sync::Arc;

use foldsym_symbolize::{AddressKind, Mapping, Module, ModuleId, Modules, ReportedAddress, StackFrame};
use prost::Message;
use serde_json::{Map, Value, json};

use super::legacy::{self, Problem};
use super::profile;
use super::wire;
use crate::names::MAX_TEXT as MAX_NAME_TEXT;
use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::profiles::{self, MAX_INLINED, MAX_NAMES, MAX_NAMES_TEXT, MAX_TEXT, PER_SAMPLE, PREFIX, Unpacked};
use crate::wire::{Field, Fields};
use crate::{Format, MAX_FRAMES as MAX_FRAMES_OF_STACK, Opened, Options, Report, ReportError, Thread, cut};

fn damaged(problem: impl Into<String>) -> ReportError {
    ReportError::Damaged { format: Format::Pprof, problem: problem.into() }
}

/// Reads profiles.
pub(crate) struct ProfileReader;

impl FormatReader for ProfileReader {
    fn format(&self) -> Format {
        Format::Pprof
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        is_one(bytes)
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        Ok(Profile::parse(bytes, with.options)?.open())
    }
}

/// Whether bytes begin like a profile.
fn is_one(bytes: &[u8]) -> bool {
    profiles::begins(bytes, begins_as_profile)
}

/// Whether bytes that are not compressed begin like a profile.
pub(crate) fn begins_as_profile(bytes: &[u8]) -> bool {
    has_fields(bytes) || legacy::is_one(bytes)
}

/// Whether the first fields have the numbers and kinds of a profile's, and the first that is not a number is a sample type of two numbers.
fn has_fields(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(PREFIX as usize)];
    let mut first = true;
    for field in Fields(bytes) {
        let ok = match field {
            Some((number @ (1..=6 | 11), Field::Bytes(body))) => {
                let types = |body| {
                    let mut fields = Fields(body);
                    !body.is_empty() && fields.all(|field| matches!(field, Some((1 | 2, Field::Varint(_)))))
                };
                // Go's runtime writes the type of the period of all profiles but that of the processor before the sample types.
                if first && number == 11 && types(body) {
                    continue;
                }
                if first { number == 1 && types(body) } else { true }
            }
            Some((13, Field::Bytes(_))) => !first,
            // Go's runtime writes the time before the sample types.
            Some((7..=10 | 12 | 14 | 15, Field::Varint(_))) => continue,
            // Only the first bytes are checked, and a file may be truncated.
            Some((1..=15, Field::Cut(_))) => !first,
            None => !first && bytes.len() as u64 == PREFIX,
            _ => false,
        };
        if !ok {
            return false;
        }
        first = false;
    }
    !first
}

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its list of strings is empty: they are in `strings`.
    pub(super) inner: profile::ProfileRecord,
    /// Shared with the names of the stacks.
    pub(super) strings: Vec<Arc<str>>,
    /// The beginnings of long strings, by index: stacks may repeat a name many times.
    beginnings: HashMap<i64, Arc<str>>,
    /// The index of each function, by its id.
    functions: HashMap<u64, usize>,
    /// The index of each location, by its id.
    pub(super) locations: HashMap<u64, usize>,
    /// The index of each mapping, by its id.
    mappings: HashMap<u64, usize>,
    pub(super) modules: Modules,
    /// Mappings of one process do not overlap, but those of a profile that was merged from several processes may. Then an address alone
    /// does not identify its module.
    overlap: bool,
    callers: AddressKind,
    /// Most frames of its report.
    max_frames: usize,
    warnings: Vec<String>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// [`ReportError::Damaged`] if the bytes are not a profile, or decompress to too many; [`ReportError::Memory`] if that is more than
    /// [`Options::memory`].
    pub fn parse(bytes: &[u8], options: &Options) -> Result<Self, ReportError> {
        let unpacked = Unpacked::new(bytes, Format::Pprof, options.memory)?;
        let (bytes, frames) = (&*unpacked.bytes, unpacked.most_frames());
        let of_caller_left = unpacked.left_of_caller();
        if legacy::is_one(bytes) {
            let most = unpacked.most_memory_of_legacy();
            let inner = legacy::read(bytes, most.min(of_caller_left)).map_err(|problem| match problem {
                Problem::Memory(memory) => unpacked.refused(memory, most),
                Problem::Damaged(problem) => damaged(problem),
            })?;
            let mut options = options.clone();
            options.callers = Some(AddressKind::Adjusted);
            return Ok(Self::new(inner, frames, &options));
        }
        // Profiles have no groups, and decoders may recurse into them. So a group is refused before anything is decoded.
        let known = Fields(bytes).all(|field| matches!(field, Some((_, Field::Varint(_) | Field::Bytes(_)))));
        // prost allocates while it decodes, so the memory is counted first.
        let Some(memory) = wire::memory(bytes).filter(|_| known) else {
            return Err(damaged("a field that is cut off, or of a kind that profiles do not have"));
        };
        let most = unpacked.most_memory();
        if memory > most.min(of_caller_left) {
            return Err(unpacked.refused(memory, most));
        }
        let inner = profile::ProfileRecord::decode(bytes).map_err(|error| damaged(error.to_string()))?;
        if inner.sample_type.is_empty() {
            return Err(damaged(
                "no kind of value (sample_type): not a profile, or a profile of an unknown version",
            ));
        }
        // A mapping of a few bytes may refer to a long text, which its module copies.
        let text =
            |index: i64| usize::try_from(index).ok().and_then(|index: usize| inner.string_table.get(index));
        let names = |mapping: &profile::Mapping| text(mapping.filename).map_or(0, String::len);
        if inner.mapping.iter().map(names).sum::<usize>() > MAX_TEXT {
            return Err(damaged(format!("the names of its mappings have more than {MAX_TEXT} bytes")));
        }
        Ok(Self::new(inner, frames, options))
    }

    fn new(mut inner: profile::ProfileRecord, max_frames: usize, options: &Options) -> Self {
        let mut warnings = Vec::new();
        let empty: Arc<str> = Arc::from("");
        let share = |text: String| if text.is_empty() { empty.clone() } else { text.into() };
        let strings: Vec<Arc<str>> = std::mem::take(&mut inner.string_table).into_iter().map(share).collect();
        let is_long = |(_, text): &(usize, &Arc<str>)| text.len() > MAX_NAME_TEXT;
        let beginnings = strings.iter().enumerate().filter(is_long);
        let beginnings =
            beginnings.map(|(index, text)| (index as i64, cut(text, MAX_NAME_TEXT).into())).collect();
        let functions =
            inner.function.iter().enumerate().map(|(index, function)| (function.id, index)).collect();
        let locations: HashMap<u64, usize> =
            inner.location.iter().enumerate().map(|(index, location)| (location.id, index)).collect();
        let mappings: HashMap<u64, usize> =
            inner.mapping.iter().enumerate().map(|(index, mapping)| (mapping.id, index)).collect();
        if locations.len() < inner.location.len() || mappings.len() < inner.mapping.len() {
            warnings.push("several locations or mappings have one id: the last counts".to_owned());
        }
        let lost = |location: &&profile::Location| {
            location.mapping_id != 0 && !mappings.contains_key(&location.mapping_id)
        };
        let lost = inner.location.iter().filter(lost).count();
        if lost > 0 {
            warnings.push(format!("{lost} locations are of mappings that are not there"));
        }
        let overlap = overlap(&inner.mapping);
        let text = |index: i64| {
            usize::try_from(index).ok().and_then(|index| strings.get(index)).map_or("", |text| &**text)
        };
        let module = |mapping: &profile::Mapping| {
            let mut module = Module::new(text(mapping.filename));
            module.id = ModuleId::parse(text(mapping.build_id)).ok();
            if options.open_paths {
                module = module.with_program(std::path::Path::new(text(mapping.filename)));
            }
            module.mapped(Mapping::FilePart {
                start: mapping.memory_start,
                size: mapping.memory_limit.saturating_sub(mapping.memory_start),
                file_offset: mapping.file_offset,
            })
        };
        let modules = Modules::new(inner.mapping.iter().map(module).collect());
        let callers = options.callers.unwrap_or(AddressKind::Adjusted);
        Self {
            inner,
            strings,
            beginnings,
            functions,
            locations,
            mappings,
            modules,
            overlap,
            callers,
            max_frames,
            warnings,
        }
    }

    /// How many modules have a path and no build id. A store finds modules only by build id, so these are found by their path only.
    pub fn modules_without_id(&self) -> usize {
        let modules = (0..self.modules.len()).filter_map(|index| self.modules.get(index));
        modules
            // `[vdso]` and `[kernel.kallsyms]` are not paths.
            .filter(|module| module.id.is_none() && !matches!(module.name.get(..1), None | Some("[")))
            .count()
    }

    fn text(&self, index: i64) -> &str {
        self.shared(index).map_or("", |text| &**text)
    }

    fn shared(&self, index: i64) -> Option<&Arc<str>> {
        usize::try_from(index).ok().and_then(|index| self.strings.get(index))
    }

    /// The lines of a location whose functions the profile names, with the index of the name; those that are inlined first, as
    /// `profile.proto` has them.
    fn lines(&self, id: u64) -> impl Iterator<Item = (i64, &profile::LineRecord, &profile::Function)> {
        let location = self.locations.get(&id).and_then(|&index| self.inner.location.get(index));
        let lines = location.map_or(&[][..], |location| &location.line);
        lines.iter().take(MAX_INLINED).filter_map(|line| {
            let function = self.inner.function.get(*self.functions.get(&line.function_id)?)?;
            let mut names = [function.name, function.system_name].into_iter();
            let name = names.find(|&name| !self.text(name).is_empty())?;
            Some((name, line, function))
        })
    }

    /// How many names a frame of a location may have beyond one.
    fn name_count(&self, id: u64) -> usize {
        let location = self.locations.get(&id).and_then(|&index| self.inner.location.get(index));
        location.map_or(0, |location| location.line.len().min(MAX_INLINED).saturating_sub(1))
    }

    /// Whether the profile itself has a name for a location.
    pub(super) fn is_named(&self, id: u64) -> bool {
        self.lines(id).next().is_some()
    }

    /// The frames of a sample: one for each of its locations, up to as many as a stack may have.
    pub(super) fn frames(&self, sample: &profile::Sample, frames: &mut Vec<StackFrame>) {
        frames.clear();
        for (index, id) in sample.location_id.iter().take(MAX_FRAMES_OF_STACK).enumerate() {
            let location = self.locations.get(id).and_then(|&index| self.inner.location.get(index));
            let kind = if index == 0 { AddressKind::Exact } else { self.callers };
            let Some(location) = location else {
                frames.push(StackFrame::UNKNOWN);
                continue;
            };
            let address = location.address;
            let place = match self.mappings.get(&location.mapping_id) {
                Some(&module) => ReportedAddress::Mapped { module, address },
                None if self.overlap => ReportedAddress::Unknown,
                None => ReportedAddress::Memory(address),
            };
            frames.push(StackFrame { place, kind });
        }
    }

    /// Type and unit of the values of samples, `TYPE/UNIT`.
    pub fn value_types(&self) -> Vec<String> {
        let types = self.inner.sample_type.iter();
        types.map(|kind| format!("{}/{}", self.text(kind.r#type), self.text(kind.unit))).collect()
    }

    /// The value that is used if the caller names none: the profile's default, else the last.
    pub fn default_value(&self) -> usize {
        let last = self.inner.sample_type.len().saturating_sub(1);
        match self.text(self.inner.default_sample_type) {
            "" => last,
            name => {
                let mut types = self.inner.sample_type.iter();
                types.position(|kind| self.text(kind.r#type) == name).unwrap_or(last)
            }
        }
    }

    /// The profile as a report: a stack for each sample.
    pub fn report(&self) -> Report {
        self.clone().open().read()
    }

    /// The same, for one stack after another.
    pub(crate) fn open(mut self) -> Opened<'static> {
        let types = self.value_types();
        let mut report = Report::new(Format::Pprof, self.modules.clone(), Vec::new());
        report.warnings = std::mem::take(&mut self.warnings);
        (report.value_types, report.default_value) = (types, self.default_value());
        let cut = |sample: &&profile::Sample| sample.location_id.len() > MAX_FRAMES_OF_STACK;
        let cut = self.inner.sample.iter().filter(cut).count();
        if cut > 0 {
            report.warnings.push(format!("{cut} stacks were cut after {MAX_FRAMES_OF_STACK} frames"));
        }
        Opened::new(report, SampleReader { profile: self, next: 0, count: 0, copied: 0, left_out: 0 })
    }

    /// A sample as a thread.
    fn thread(&self, sample: &profile::Sample, types: &[String]) -> Thread {
        let mut thread = Thread { values: sample.value.clone(), ..Thread::default() };
        self.frames(sample, &mut thread.frames);
        let empty: Arc<str> = Arc::from("");
        let mut bytes = 0;
        'frames: for (frame, &id) in sample.location_id.iter().take(MAX_FRAMES_OF_STACK).enumerate() {
            for (name, line, function) in self.lines(id) {
                let [name, file] = [name, function.filename].map(|index| {
                    let text = self.beginnings.get(&index).or_else(|| self.shared(index));
                    text.unwrap_or(&empty).clone()
                });
                bytes += name.len() + file.len();
                if thread.names.len() >= MAX_NAMES || bytes > MAX_NAMES_TEXT {
                    break 'frames;
                }
                thread.name(frame, name, file, u32::try_from(line.line).unwrap_or(0));
            }
        }
        let values = types.iter().zip(&sample.value);
        thread.name =
            values.clone().map(|(kind, value)| format!("{kind}={value}")).collect::<Vec<_>>().join(" ");
        let values: Map<String, Value> = values.map(|(kind, value)| (kind.clone(), json!(value))).collect();
        thread.echo.push(("Values".to_owned(), Value::from(values).to_string()));
        if !sample.label.is_empty() {
            let label = |label: &profile::Label| {
                // String 0 is empty (`profile.proto`): then the label has a number.
                let value = if label.str == 0 { json!(label.num) } else { json!(self.text(label.str)) };
                (self.text(label.key).to_owned(), value)
            };
            let labels: Map<String, Value> = sample.label.iter().map(label).collect();
            thread.echo.insert(0, ("Labels".to_owned(), Value::from(labels).to_string()));
        }
        thread
    }
}

/// Reads the samples of a profile.
struct SampleReader {
    profile: Profile,
    next: usize,
    /// What the samples so far count as, and the bytes of their names.
    count: usize,
    copied: usize,
    left_out: usize,
}

impl ThreadSource for SampleReader {
    fn next(&mut self, report: &mut Report) -> Option<Thread> {
        // A report repeats the names of the values twice in each sample, and the names of its labels.
        let of_types = 2 * report.value_types.iter().map(String::len).sum::<usize>();
        while let Some(sample) = self.profile.inner.sample.get(self.next) {
            self.next += 1;
            let text = |index| self.profile.text(index).len();
            let of_labels: usize = sample.label.iter().map(|label| text(label.key) + text(label.str)).sum();
            let frames = sample.location_id.len().min(MAX_FRAMES_OF_STACK);
            let names = sample.location_id.iter().take(frames).map(|&id| self.profile.name_count(id));
            let names = names.sum::<usize>().min(MAX_NAMES);
            self.count = self.count.saturating_add(frames + names + PER_SAMPLE);
            self.copied = self.copied.saturating_add(of_types + of_labels);
            if self.count <= self.profile.max_frames && self.copied <= MAX_TEXT {
                return Some(self.profile.thread(sample, &report.value_types));
            }
            self.left_out += 1;
        }
        let (left_out, max_frames) = (std::mem::take(&mut self.left_out), self.profile.max_frames);
        if left_out > 0 {
            report.warnings.push(format!("{left_out} samples were left out: more than {max_frames} frames, or {MAX_TEXT} bytes of labels"));
        }
        None
    }
}

/// Whether two mappings have an address in common.
fn overlap(mappings: &[profile::Mapping]) -> bool {
    let mut ranges: Vec<_> = mappings.iter().map(|one| (one.memory_start, one.memory_limit)).collect();
    ranges.retain(|(start, limit)| start < limit);
    ranges.sort_unstable();
    // Ranges are sorted by their start: if any two overlap, two neighbours do.
    ranges.windows(2).any(|pair| pair[0].1 > pair[1].0)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
