//! One message as modules, places and frames.

use std::sync::Arc;

use foldsym_symbolize::{AddressKind, Mapping, Module, ModuleId, Modules, ReportedAddress, StackFrame};
use serde_json::{Map, Value as Json, json};

use super::tables::{LocationRow, SampleRow, Span, Tables, Value};
use crate::profiles::{MAX_INLINED, MAX_NAMES, MAX_NAMES_TEXT};
use crate::{MAX_FRAMES, Options, Thread};

/// Where a location is, and whether the kernel runs it.
pub(super) type Place = (ReportedAddress, bool);

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Arc<[u8]>,
    pub(super) tables: Tables,
    pub(super) modules: Modules,
    /// By location.
    places: Vec<Place>,
    callers: AddressKind,
}

impl Message {
    pub(super) fn new(bytes: &[u8], tables: Tables, options: &Options) -> Self {
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
    pub(super) fn lost(&self) -> (usize, usize) {
        let Tables { stacks, locations, mappings, samples, indices, .. } = &self.tables;
        let is_lost = |index: u32, count: usize| index != 0 && index as usize >= count;
        let of_stacks = stacks.iter().flat_map(|stack| stack.of(indices));
        let lost = of_stacks.filter(|&&index| is_lost(index, locations.len())).count()
            + locations.iter().filter(|one| is_lost(one.mapping, mappings.len())).count()
            + samples.iter().filter(|one| is_lost(one.stack, stacks.len())).count();
        (lost, stacks.iter().filter(|stack| stack.of(indices).len() > MAX_FRAMES).count())
    }

    pub(super) fn kind(&self, (kind, unit): (u32, u32)) -> String {
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
    pub(super) fn thread(&self, sample: &SampleRow, types: &[String]) -> Thread {
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
        let at = types.iter().position(|known| *known == kind).unwrap_or(types.len().saturating_sub(1));
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
    pub(super) fn cost(&self, sample: &SampleRow) -> (usize, usize) {
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
