//! Reads the text of `perf script`: a thread for each sample.
//!
//! | frame | address |
//! |---|---|
//! | first of a sample | exact |
//! | first of the program outside of the kernel's | exact: the registers with which the program went into the kernel |
//! | others, walked by perf (`--call-graph dwarf`) | adjusted: perf takes 1 off each return address |
//! | others, walked by the kernel (`-g`) | return address |
//!
//! perf says how stacks were walked in its header alone (`perf script --header`); without it they count as walked by the kernel. That walk
//! follows frame pointers, and omits the caller of a function that keeps none. So no caller of it proves a folded function.
//!
//! In a stack, some versions of perf (6.1 is one) print a program's frame as an offset in its file, others as an address of the process.
//! A text has one of the two. Which one is seen by the mappings (`--show-mmap-events`): a number that is inside of a file's mapping as the
//! one and not as the other tells. A number below 64 KiB is an offset, as no program is mapped there. If no number tells, frames are not
//! known. Addresses of the process are not known without mappings. `-F +dsoff` (perf 6.4) prints both, and needs no mappings. A sample
//! without a stack has an address of the process.
//!
//! perf takes a frame for an inlined one where a function has another name in a debug file than in the symbol table (`raise` and `__GI_raise` of
//! glibc), and then does not print its module: the frame has perf's name alone. With `--no-inline` perf prints the module. Inlined functions
//! need not be in the text, as the symbol file has them.
//!
//! The functions and the source lines (`-F +srcline`) that perf prints are the names of the frames. A text without the field of the time is read
//! too: then a sample begins at a line that ends with its event, or at one with an address behind it.

mod lines;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use foldsym_symbolize::{AddressKind, Mapping, Module, ModuleId, Modules, ReportedAddress, StackFrame};

use lines::{FrameLine, Heading, Mapped, function, hexadecimal, is_walked_by_perf, recorded_by};

use crate::names::{Texts, file_and_line};
use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::{Format, MAX_FRAMES, MAX_NAME, Opened, Options, Report, ReportError, Thread, Trust, cut};

/// Samples of a report.
const MAX_SAMPLES: usize = 1 << 22;
/// Frames of all samples.
const MAX_ALL_FRAMES: usize = 1 << 23;
/// Modules of a report; those of further files are unknown.
const MAX_MODULES: usize = 1 << 16;
/// Events of a report; the samples of further ones have none.
const MAX_EVENTS: usize = 1 << 12;
/// Lines in which a first sample is searched.
const MAX_LINES: usize = 100_000;
/// No program is mapped below (`vm.mmap_min_addr`).
const LOWEST: u64 = 1 << 16;
/// An index that no module has.
const NO_MODULE: usize = usize::MAX;

/// Reads the text of `perf script`.
pub(crate) struct PerfScriptReader;

impl FormatReader for PerfScriptReader {
    fn format(&self) -> Format {
        Format::PerfScript
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        is_one(bytes)
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        open(bytes, with.options)
    }
}

/// Whether a sample is among the first lines.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    // Whether there was a heading, and whether the last line is one without a time.
    let (mut heading, mut untimed) = (false, false);
    for line in bytes.split(|byte| *byte == b'\n').take(MAX_LINES) {
        // The kernel cuts the name of a thread after 15 bytes, also inside of a letter.
        let line = &*String::from_utf8_lossy(line);
        let is_below = std::mem::take(&mut untimed) && line.starts_with('\t');
        let has_frame = |line| is_of_stack(line) && FrameLine::parse(line).is_some() || is_in_columns(line);
        // Any text may end as a heading without a time does.
        if is_below && is_in_columns(line) || heading && has_frame(line) {
            return true;
        }
        match Heading::timed(line) {
            Some(sample) if Mapped::parse(sample.rest).is_some() || alone(sample.rest).is_some() => {
                return true;
            }
            Some(_) => heading = true,
            None => match Heading::untimed(line) {
                Some(sample) if alone(sample.rest).is_some() => return true,
                sample => untimed = sample.is_some(),
            },
        }
    }
    false
}

/// Whether a line is a frame without its program (`-F -dso`): perf prints the address in 16 columns.
fn is_in_columns(line: &str) -> bool {
    let columns = line.strip_prefix('\t').and_then(|line| line.split_at_checked(16));
    columns.is_some_and(|(address, rest)| {
        hexadecimal(address.trim_start()).is_some() && (rest.is_empty() || rest.starts_with(' '))
    })
}

/// Whether a line is one below a heading.
fn is_of_stack(line: &str) -> bool {
    line.starts_with('\t') || line.starts_with(' ') && Heading::parse(line).is_none()
}

/// The frame on the line of its heading: a sample without a stack. Events may have texts of any form there, so its file must be a path.
fn alone(rest: &str) -> Option<FrameLine<'_>> {
    // Each try parses the rest of the line. Without a bound a line of colons would take quadratic time.
    let mut lines = rest.match_indices(": ").take(8).filter_map(|(at, _)| FrameLine::parse(&rest[at + 2..]));
    lines.find(|line| line.object.starts_with(['/', '[']))
}

/// What is mapped of a file in a process.
#[derive(Default)]
struct Parts {
    /// By start: the size, and the module.
    by_start: BTreeMap<u64, (u64, usize)>,
    /// The range of its offsets.
    offsets: (u64, u64),
}

impl Parts {
    fn at(&self, address: u64) -> Option<usize> {
        let (start, (size, module)) = self.by_start.range(..=address).next_back()?;
        (address - start < *size).then_some(*module)
    }
}

/// A frame that may be one of two places, until the whole text was read.
struct Pending<'b> {
    address: u64,
    kind: AddressKind,
    trust: Trust,
    /// The module that has the address, as one of the process.
    mapped: Option<usize>,
    /// The file, if the address may be an offset in it.
    file: Option<(&'b str, Option<&'b str>)>,
    /// The file is mapped, and has code at this offset.
    fits: bool,
    /// Every version of perf prints it so.
    is_sure: bool,
    /// Its functions in [`Samples::given`]: the first, and how many.
    given: (u32, u32),
}

/// A function that perf found, and its source line if perf prints it.
struct Given<'b> {
    function: &'b str,
    place: &'b str,
}

/// A sample: its heading, its event, and its frames.
type PerfSample<'b> = (Heading<'b>, Option<u32>, Vec<Pending<'b>>);

/// A module: path, build id, and which part of the file is mapped (start, size, file offset); without a part it is the whole file.
type ModuleKey<'b> = (&'b str, Option<&'b str>, Option<(u64, u64, u64)>);

/// What was read so far.
#[derive(Default)]
struct Samples<'b> {
    modules: Vec<Module>,
    known: HashMap<ModuleKey<'b>, usize>,
    parts: HashMap<(u64, &'b str), Parts>,
    /// By path: its process, nothing if it has several; and its build id.
    owners: HashMap<&'b str, (Option<u64>, Option<&'b str>)>,
    kernel: Option<usize>,
    threads: Vec<PerfSample<'b>>,
    /// The functions of all frames.
    given: Vec<Given<'b>>,
    /// The functions of the next frame begin here.
    given_before: usize,
    /// The last line has a function.
    is_named: bool,
    events: Vec<Arc<str>>,
    event_numbers: HashMap<&'b str, u32>,
    /// Of all threads.
    frames: usize,
    /// Of the sample: whether it may have more frames, the address of an inlined function's line, whether the last frame was the kernel's.
    is_open: bool,
    /// It is of an event that is not asked for, or there are too many.
    is_skipped: bool,
    inlined: Option<u64>,
    /// That line says that its function is inlined.
    is_inlined: bool,
    in_kernel: bool,
    /// perf walked the stacks.
    by_perf: bool,
    left_out: usize,
    /// Frames that are below no heading.
    stray: usize,
}

pub(crate) fn open<'b>(bytes: &'b [u8], options: &Options) -> Result<Opened<'b>, ReportError> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => {
            let (report, threads) = Samples::read(text, options)?.report(options);
            Ok(Opened::new(report, threads))
        }
        // A name that the kernel cut inside of a letter. The stacks refer to the copy.
        Cow::Owned(text) => {
            let mut report = Report::new(Format::PerfScript, Modules::new(Vec::new()), Vec::new());
            let threads = CopyAndThreads::try_new(text, |text| {
                let (read, threads) = Samples::read(text, options)?.report(options);
                report = read;
                Ok::<_, ReportError>(threads)
            })?;
            Ok(Opened::new(report, threads))
        }
    }
}

self_cell::self_cell!(
    struct CopyAndThreads {
        owner: String,
        #[covariant]
        dependent: Threads,
    }
);

impl ThreadSource for CopyAndThreads {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        self.with_dependent_mut(|_, threads| threads.thread())
    }
}

/// The samples that were read, and what their frames refer to.
struct Threads<'b> {
    samples: std::vec::IntoIter<PerfSample<'b>>,
    given: Vec<Given<'b>>,
    events: Vec<Arc<str>>,
    texts: Texts<'b>,
}

impl ThreadSource for Threads<'_> {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        self.thread()
    }
}

impl Threads<'_> {
    /// The next sample, whose frames have their modules.
    fn thread(&mut self) -> Option<Thread> {
        let (heading, event, pending) = self.samples.next()?;
        let name = cut(heading.command, MAX_NAME).to_owned();
        let event = event.and_then(|event| self.events.get(event as usize)).cloned();
        let mut thread = Thread { id: heading.thread, name, event, ..Thread::default() };
        for frame in pending {
            // A walk by frame pointers may have skipped a caller.
            if frame.trust == Trust::FramePointer {
                thread.frames.push(StackFrame::UNKNOWN);
                thread.trust.push(Trust::Gap);
            }
            let (first, count) = (frame.given.0 as usize, frame.given.1 as usize);
            for given in self.given.get(first..first + count).unwrap_or_default() {
                let (file, line) = file_and_line(given.place);
                let (function, file) = (self.texts.of(given.function), self.texts.of(file));
                thread.name(thread.frames.len(), function, file, line);
            }
            // A frame without a module keeps its address.
            let module = frame.mapped.unwrap_or(NO_MODULE);
            let place = ReportedAddress::Mapped { module, address: frame.address };
            thread.frames.push(StackFrame { place, kind: frame.kind });
            thread.trust.push(frame.trust);
        }
        Some(thread)
    }
}

impl<'b> Samples<'b> {
    fn read(text: &'b str, options: &Options) -> Result<Self, ReportError> {
        let by_perf = options.callers == Some(AddressKind::Adjusted);
        let mut state = Self { by_perf, ..Self::default() };
        for line in text.split('\n') {
            state.line(line.trim_end(), options);
        }
        state.end();
        if state.threads.is_empty() {
            let problem = match &options.event {
                Some(event) if !state.events.is_empty() => {
                    format!("no sample of the event {event:?}: the text has {}", state.events.join(", "))
                }
                _ => "no line is a sample".to_owned(),
            };
            return Err(ReportError::Damaged { format: Format::PerfScript, problem });
        }
        Ok(state)
    }

    fn line(&mut self, line: &'b str, options: &Options) {
        // The name of a command may begin as a line of the header does.
        if line.is_empty() {
            self.end();
        } else if is_of_stack(line) {
            self.line_of_stack(line, options);
        } else if let Some(command) = recorded_by(line) {
            // The option `callers` has precedence over the header.
            self.by_perf = options.callers.map_or_else(|| is_walked_by_perf(command), |_| self.by_perf);
        } else if let Some(heading) = Heading::parse(line) {
            self.end();
            if let Some(mapped) = Mapped::parse(heading.rest) {
                self.map(&mapped, options);
            } else if !heading.rest.starts_with("PERF_RECORD_") {
                self.sample(heading, options);
            }
        }
    }

    fn line_of_stack(&mut self, line: &'b str, options: &Options) {
        let frame = FrameLine::parse(line);
        if !self.is_open {
            self.stray += usize::from(frame.is_some() && !self.is_skipped);
        } else if let Some(frame) = frame {
            self.frame(frame, false, options);
        } else {
            let line = line.trim_start();
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            match hexadecimal(first) {
                Some(address) => self.without_object(address, function(rest)),
                None => self.place(line),
            }
        }
    }

    /// A line without a program: a frame if perf prints no programs, else a function that is inlined, which the next line says.
    fn without_object(&mut self, address: u64, function: &'b str) {
        // Without a frame for this line, the frames around it would count as caller and callee.
        if let Some(before) = self.inlined.filter(|before| !self.is_inlined || *before != address) {
            self.unknown(before);
        }
        self.give(function);
        (self.inlined, self.is_inlined) = (Some(address), false);
    }

    /// The source line of the function above: `  app.c:12`, or `  app.c:12 (inlined)`.
    fn place(&mut self, line: &'b str) {
        let place = line.strip_suffix(" (inlined)");
        self.is_inlined |= place.is_some();
        let place = place.unwrap_or(line);
        if let Some(given) = self.given.last_mut().filter(|_| self.is_named && file_and_line(place).1 > 0) {
            given.place = place;
        }
    }

    fn sample(&mut self, heading: Heading<'b>, options: &Options) {
        let event = heading.event().and_then(|event| self.event(event));
        let name = event.and_then(|event| self.events.get(event as usize));
        let is_asked = options.event.as_ref().is_none_or(|asked| name.is_some_and(|name| **name == **asked));
        // The previous sample has ended, so the frames of a sample that is left out are not added to it.
        let has_room = self.threads.len() < MAX_SAMPLES;
        self.is_skipped = !is_asked || !has_room;
        if self.is_skipped {
            self.left_out += usize::from(is_asked);
            return;
        }
        self.threads.push((heading, event, Vec::new()));
        self.is_open = true;
        if let Some(frame) = alone(heading.rest) {
            self.frame(frame, true, options);
            self.end();
        }
    }

    /// The number of an event.
    fn event(&mut self, name: &'b str) -> Option<u32> {
        let name = cut(name, MAX_NAME);
        let known = self.event_numbers.get(name).copied();
        known.or_else(|| {
            let number = self.events.len() as u32;
            (self.events.len() < MAX_EVENTS).then(|| {
                self.events.push(name.into());
                self.event_numbers.insert(name, number);
                number
            })
        })
    }

    /// Takes a function of the frame that comes next.
    fn give(&mut self, function: &'b str) {
        self.is_named = !function.is_empty() && self.given.len() < MAX_ALL_FRAMES;
        if self.is_named {
            self.given.push(Given { function, place: "" });
        }
    }

    /// The functions of the frame that is pushed now.
    fn given(&mut self) -> (u32, u32) {
        let first = std::mem::replace(&mut self.given_before, self.given.len());
        (first as u32, (self.given.len() - first) as u32)
    }

    /// A sample is over.
    fn end(&mut self) {
        if let (true, Some(address)) = (self.is_open, self.inlined.take()) {
            self.unknown(address);
        }
        (self.is_open, self.is_skipped, self.in_kernel) = (false, false, false);
    }

    fn map(&mut self, mapped: &Mapped<'b>, options: &Options) {
        let &Mapped { process, start, size, offset, id, path } = mapped;
        // perf appends the symbol at which the mapping begins: `[kernel.kallsyms]_text`.
        if let Some(kernel) = path.strip_prefix("[kernel.kallsyms]") {
            if self.modules.len() >= MAX_MODULES {
                self.left_out += 1;
                return;
            }
            let mut module = Module::new(&path[..path.len() - kernel.len()]);
            module.id = id.and_then(|id| ModuleId::parse(id).ok());
            self.modules.push(module.mapped(Mapping::LoadAddress { address: start, size: Some(size) }));
            self.kernel = Some(self.modules.len() - 1);
            return;
        }
        let Some(process) = process else { return };
        let module = self.module(path, id, Some((start, size, offset)), options);
        let parts = self
            .parts
            .entry((process, path))
            .or_insert_with(|| Parts { offsets: (offset, offset), ..Parts::default() });
        parts.by_start.insert(start, (size, module));
        parts.offsets = (parts.offsets.0.min(offset), parts.offsets.1.max(offset.saturating_add(size)));
        let owner = self.owners.entry(path).or_insert((Some(process), id));
        owner.0 = owner.0.filter(|known| *known == process);
        owner.1 = id;
    }

    fn module(
        &mut self,
        path: &'b str,
        id: Option<&'b str>,
        part: Option<(u64, u64, u64)>,
        options: &Options,
    ) -> usize {
        if let Some(&known) = self.known.get(&(path, id, part)) {
            return known;
        }
        if self.modules.len() >= MAX_MODULES {
            self.left_out += 1;
            return NO_MODULE;
        }
        let mut module = Module::new(path);
        module.id = id.and_then(|id| ModuleId::parse(id).ok());
        if options.open_paths {
            module = module.with_program(Path::new(path));
        }
        // The whole file: then an address is an offset.
        let (start, size, file_offset) = part.unwrap_or((0, u64::MAX, 0));
        self.modules.push(module.mapped(Mapping::FilePart { start, size, file_offset }));
        self.known.insert((path, id, part), self.modules.len() - 1);
        self.modules.len() - 1
    }

    fn frame(&mut self, line: FrameLine<'b>, is_alone: bool, options: &Options) {
        // Lines of one frame have one address, and the last is that of its function.
        if let Some(address) = self.inlined.take().filter(|address| *address != line.address) {
            self.unknown(address);
        }
        self.give(line.function);
        if line.object == "inlined" {
            (self.inlined, self.is_inlined) = (Some(line.address), true);
            return;
        }
        let of_kernel = line.is_of_kernel();
        let Some(&(heading, ..)) = self.threads.last() else { return };
        let (kind, trust) = self.found(of_kernel);
        let (address, is_sure, given) = (line.address, is_alone, self.given());
        let mut pending =
            Pending { address, kind, trust, mapped: None, file: None, fits: false, is_sure, given };
        // A call may be the last instruction of a mapping: then its return address is outside.
        let code = line.address.wrapping_sub(u64::from(kind == AddressKind::Return));
        if let Some(offset) = line.offset.filter(|_| line.has_file()) {
            let id = self.owners.get(line.object).and_then(|(_, id)| *id);
            (pending.address, pending.is_sure) = (offset, true);
            pending.mapped = Some(self.module(line.object, id, None, options));
        } else if of_kernel {
            (pending.mapped, pending.is_sure) =
                (self.kernel.filter(|_| line.object.starts_with("[kernel")), true);
        } else if line.has_file() {
            let owner = self.owners.get(line.object).copied();
            // perf may name the thread alone: the first of a process has its number.
            let own = [heading.process, heading.thread].into_iter().flatten();
            let process = own
                .chain(owner.and_then(|(process, _)| process))
                .find_map(|process| self.parts.get(&(process, line.object)));
            pending.mapped = process.and_then(|parts| parts.at(code));
            pending.fits = process.is_some_and(|parts| (parts.offsets.0..parts.offsets.1).contains(&code));
            // If no mapping of the file is known, the address may be an offset.
            let may_fit = pending.fits || process.is_none();
            pending.file = may_fit.then_some((line.object, owner.and_then(|(_, id)| id)));
        }
        self.push(pending);
    }

    /// A frame of which perf does not print the file.
    fn unknown(&mut self, address: u64) {
        let (kind, trust) = self.found(address >> 63 == 1);
        let (is_sure, given) = (true, self.given());
        self.push(Pending { address, kind, trust, mapped: None, file: None, fits: false, is_sure, given });
    }

    /// What the address of the next frame is, and how perf found it.
    fn found(&mut self, of_kernel: bool) -> (AddressKind, Trust) {
        let is_first = self.threads.last().is_none_or(|(.., frames)| frames.is_empty());
        let left_kernel = std::mem::replace(&mut self.in_kernel, of_kernel) && !of_kernel;
        match () {
            () if is_first || left_kernel => (AddressKind::Exact, Trust::Context),
            () if self.by_perf && !of_kernel => (AddressKind::Adjusted, Trust::Cfi),
            () => (AddressKind::Return, Trust::FramePointer),
        }
    }

    fn push(&mut self, pending: Pending<'b>) {
        match self.threads.last_mut() {
            Some((.., frames)) if frames.len() < MAX_FRAMES && self.frames < MAX_ALL_FRAMES => {
                self.frames += 1;
                // Most samples without a stack have one frame, for which a list would make room for four.
                if frames.capacity() == 0 {
                    frames.reserve_exact(1);
                }
                frames.push(pending);
            }
            _ => self.left_out += 1,
        }
    }

    /// Whether addresses of files are offsets in them; nothing where that is not known.
    fn are_offsets(&self) -> Option<bool> {
        let frames = self.threads.iter().flat_map(|(.., frames)| frames).filter(|frame| !frame.is_sure);
        let (mut addresses, mut offsets) = (false, false);
        for frame in frames {
            addresses |= frame.mapped.is_some() && frame.file.is_none();
            offsets |=
                frame.mapped.is_none() && frame.file.is_some() && (frame.fits || frame.address < LOWEST);
        }
        (addresses != offsets).then_some(offsets)
    }

    /// The report, and its samples, whose frames have their modules.
    fn report(mut self, options: &Options) -> (Report, Threads<'b>) {
        let are_offsets = self.are_offsets();
        let mut doubtful = 0usize;
        let mut threads = std::mem::take(&mut self.threads);
        for frame in threads.iter_mut().flat_map(|(.., frames)| frames) {
            let module = match (are_offsets.filter(|_| !frame.is_sure), frame.file) {
                (None, _) if frame.is_sure => frame.mapped,
                (Some(false), _) => frame.mapped,
                (Some(true), Some((path, id))) => Some(self.module(path, id, None, options)),
                _ => None,
            };
            doubtful += usize::from(module.is_none() && (frame.file.is_some() || frame.mapped.is_some()));
            frame.mapped = module;
        }
        let mut report = Report::new(Format::PerfScript, Modules::new(self.modules), Vec::new());
        if doubtful > 0 {
            report.warnings.push(format!(
                "{doubtful} frames are in no known mapping: run perf script with --show-mmap-events and -F +pid, or with -F +dsoff"
            ));
        }
        if self.left_out > 0 {
            report.warnings.push(format!(
                "{} samples, frames or modules were left out: there are too many",
                self.left_out
            ));
        }
        if self.stray > 0 {
            report.warnings.push(format!(
                "{} frames were left out: the line above their stack is no heading of a sample",
                self.stray
            ));
        }
        report.events.clone_from(&self.events);
        let (samples, texts) = (threads.into_iter(), Texts::default());
        (report, Threads { samples, given: self.given, events: self.events, texts })
    }
}

#[cfg(test)]
mod tests;
