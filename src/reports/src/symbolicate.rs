//! Reads and answers requests of Mozilla's symbolication API, `/symbolicate/v5`: modules by Breakpad's debug id, and addresses as offsets
//! in them.
//!
//! # Which addresses these are
//!
//! | client | what a "stack" is | its addresses |
//! |---|---|---|
//! | Firefox Profiler, also before samply | a set: every address of one library that the profile has, in no order | frame 0 as sampled; callers one byte before the return address |
//! | crash reports by way of Breakpad or rust-minidump | a stack, innermost first | frame 0 exact; callers inside of the call |
//!
//! Stacks and sets of addresses look the same, and neighbours in a set do not call each other. So each address is looked up by itself,
//! without adjustment, unless the request says that it has stacks: `"callers": "adjusted"` for addresses inside the calls, or `"callers":
//! "return"` for return addresses, next to `memoryMap` or `jobs`. Only then do callers show which folded function ran.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use foldsym_symbolize::{
    AddressKind, Answer, DebugId, Form, Innermost, Member, Module, ModuleId, Modules, Names, Query,
    ReportedAddress, StackFrame, Unknown, Worker, json,
};
use serde::Deserialize;
use serde::de::{Error as _, SeqAccess, Visitor};

use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::{Format, Opened, Report, ReportError, Thread};

/// The version of the interface that a request may name.
const VERSION: u64 = 5;

/// Bounds of a request: the answer repeats a name in each frame of its module.
const MAX_NAME: usize = 1024;
const MAX_ID: usize = 64;
const MAX_JOBS: usize = 10_000;
const MAX_MODULES: usize = 1 << 17;
/// Frames of all jobs together.
const MAX_FRAMES: usize = 1 << 20;
/// Most candidates of a frame that an answer lists.
const MAX_CANDIDATES: usize = 16;

/// Reads requests of `/symbolicate/v5`.
pub(crate) struct SymbolicateReader;

impl FormatReader for SymbolicateReader {
    fn format(&self) -> Format {
        Format::Symbolicate
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        is_one(bytes)
    }

    fn open<'b>(&self, bytes: &'b [u8], _: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        open(bytes)
    }
}

/// Whether the first JSON value of a text is a request.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    use serde::de::IgnoredAny;
    #[derive(Deserialize)]
    // A value of `IgnoredAny` has no bytes, so lists of any length take no memory here.
    struct Keys {
        jobs: Option<Vec<IgnoredAny>>,
        #[serde(rename = "memoryMap")]
        memory_map: Option<Vec<IgnoredAny>>,
    }
    bytes.trim_ascii_start().starts_with(b"{") && {
        let keys = serde_json::Deserializer::from_slice(bytes).into_iter::<Keys>().next();
        matches!(keys, Some(Ok(keys)) if keys.jobs.is_some() || keys.memory_map.is_some())
    }
}

/// The request as a report, with a thread for each of its stacks.
pub(crate) fn open(bytes: &[u8]) -> Result<Opened<'_>, ReportError> {
    let damaged =
        |error: JobsError| ReportError::Damaged { format: Format::Symbolicate, problem: error.to_string() };
    let jobs = Jobs::parse(bytes).map_err(damaged)?.jobs;
    // A report has one list of modules, that of the first job. Each thread has the list of its own job.
    let modules = jobs.first().map_or_else(|| Modules::new(Vec::new()), |job| job.modules.clone());
    let report = Report::new(Format::Symbolicate, modules, Vec::new());
    Ok(Opened::new(report, StacksOfJobs { jobs, number: 0, index: 0 }))
}

/// Reads the stacks of jobs.
struct StacksOfJobs {
    jobs: Vec<Job>,
    /// The job, and the stack in it, that come next.
    number: usize,
    index: usize,
}

impl ThreadSource for StacksOfJobs {
    fn next(&mut self, _: &mut Report) -> Option<Thread> {
        loop {
            let (number, index) = (self.number, self.index);
            let job = self.jobs.get(number)?;
            let Some(stack) = job.stacks.get(index) else {
                (self.number, self.index) = (number + 1, 0);
                continue;
            };
            self.index += 1;
            return Some(Thread {
                name: format!("job {number} stack {index}"),
                frames: job.frames(stack),
                modules: Some(job.modules.clone()),
                ..Thread::default()
            });
        }
    }
}

/// A request: jobs, each with modules of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Jobs {
    /// The jobs, in the request's order.
    pub jobs: Vec<Job>,
}

/// Addresses of one process.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// Debug names and debug ids, as in the request.
    pub libraries: Vec<(String, String)>,
    /// The same libraries, for the engine.
    pub modules: Modules,
    /// Index of the library and offset in it; index -1 means no library.
    pub stacks: Vec<Vec<(i64, i64)>>,
    /// The kind of the callers' addresses. `None` if neighbours in `stacks` need not be callers of each other.
    pub callers: Option<AddressKind>,
}

/// Counts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answered {
    /// Frames of all stacks.
    pub frames: u64,
    /// Frames that have a function.
    pub named: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobsError {
    /// The request is invalid.
    #[error("{0}")]
    Request(String),
    /// The client cancelled the request.
    #[error("stopped")]
    Stopped,
}

/// A list of at most so many elements. It is refused while it is read: an empty element has two bytes, and takes thirty times as many.
struct Bounded<T, const MOST: usize>(Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Bounded<T, MOST> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Elements<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Elements<T, MOST> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    if elements.len() == MOST {
                        return Err(A::Error::custom(format!("a list of more than {MOST} elements")));
                    }
                    elements.push(element);
                }
                Ok(elements)
            }
        }
        from.deserialize_seq(Elements::<T, MOST>(PhantomData)).map(Self)
    }
}

/// The stacks of a job. One without a frame counts as one with a frame.
type StackList = Bounded<Vec<(i64, i64)>, MAX_FRAMES>;
type MemoryMap = Bounded<(String, String), MAX_MODULES>;

/// The request as JSON has it; other keys are ignored.
#[derive(Deserialize)]
struct Body {
    jobs: Option<Bounded<JobBody, MAX_JOBS>>,
    #[serde(rename = "memoryMap")]
    memory_map: Option<MemoryMap>,
    stacks: Option<StackList>,
    callers: Option<Callers>,
    version: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct JobBody {
    #[serde(rename = "memoryMap")]
    memory_map: Option<MemoryMap>,
    stacks: Option<StackList>,
    callers: Option<Callers>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Callers {
    Return,
    Adjusted,
}

impl Jobs {
    /// Reads a request: `{"jobs": [...]}`, or one job by itself.
    ///
    /// # Errors
    /// [`JobsError::Request`], with the job and what is wrong with it.
    pub fn parse(body: &[u8]) -> Result<Self, JobsError> {
        let wrong =
            |error: serde_json::Error| JobsError::Request(format!("no symbolication request: {error}"));
        let body: Body = serde_json::from_slice(body).map_err(wrong)?;
        let Body { jobs, memory_map, stacks, callers, version } = body;
        if let Some(version) = version.filter(|version| version.as_u64() != Some(VERSION)) {
            return Err(JobsError::Request(format!("version {version}: only {VERSION} is known")));
        }
        let given = jobs.map_or_else(|| vec![JobBody { memory_map, stacks, callers }], |jobs| jobs.0);
        let mut frames = 0;
        let job = |(index, job): (usize, JobBody)| {
            Job::new(job, callers, &mut frames)
                .map_err(|what| JobsError::Request(format!("job {index} is invalid: {what}")))
        };
        Ok(Self { jobs: given.into_iter().enumerate().map(job).collect::<Result<_, _>>()? })
    }

    /// Appends the answer. Calls `go_on` before each frame, with the length of the answer so far. The answer ends early if `go_on` returns
    /// false.
    ///
    /// # Errors
    /// [`JobsError::Stopped`], if `go_on` returns false.
    pub fn answer(
        &self,
        worker: &mut Worker<'_>,
        out: &mut Vec<u8>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<Answered, JobsError> {
        let mut answered = Answered::default();
        out.extend_from_slice(b"{\"results\":[");
        for (index, job) in self.jobs.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            job.answer(worker, out, &mut go_on, &mut answered)?;
        }
        out.extend_from_slice(b"]}");
        Ok(answered)
    }
}

/// What a job found out about a library.
#[derive(Clone, Default)]
struct Found {
    /// Whether there are symbols; `None` if no lookup was made.
    there: Option<bool>,
    /// Why there are none.
    why: Option<Unknown>,
}

impl Job {
    fn new(job: JobBody, callers: Option<Callers>, frames: &mut usize) -> Result<Self, String> {
        let libraries = job.memory_map.ok_or("no memoryMap specified")?.0;
        let stacks = job.stacks.ok_or("no stacks specified")?.0;
        *frames += stacks.iter().map(Vec::len).sum::<usize>();
        if *frames > MAX_FRAMES {
            return Err(format!("more than {MAX_FRAMES} frames"));
        }
        let mut modules = Vec::with_capacity(libraries.len());
        for (index, (name, id)) in libraries.iter().enumerate() {
            if name.len() > MAX_NAME || id.len() > MAX_ID {
                return Err(format!("module index {index} has a name or an id that is too long"));
            }
            if !id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
                return Err(format!("module index {index} has an invalid debug_id"));
            }
            // A module without an identity must not be answered from a file that only has its name.
            let mut module = Module::new("");
            if let Ok(id) = DebugId::parse(id) {
                (module.id, module.name) = (Some(ModuleId::Debug(id)), name.as_str().into());
            }
            modules.push(module);
        }
        for (at, stack) in stacks.iter().enumerate() {
            let known =
                |index: i64| usize::try_from(index).map_or(index == -1, |index| index < modules.len());
            if let Some(frame) = stack.iter().position(|&(index, offset)| !known(index) || offset < -1) {
                let what = "a module_index that isn't in modules, or an invalid module_offset";
                return Err(format!("stack {at} frame {frame} has {what}"));
            }
        }
        let callers = job.callers.or(callers).map(|callers| match callers {
            Callers::Return => AddressKind::Return,
            Callers::Adjusted => AddressKind::Adjusted,
        });
        Ok(Self { libraries, modules: Modules::new(modules), stacks, callers })
    }

    /// The frames of a stack for the engine, innermost first.
    pub fn frames(&self, stack: &[(i64, i64)]) -> Vec<StackFrame> {
        let frame = |(at, &(module, offset)): (usize, &(i64, i64))| {
            let kind = self.callers.filter(|_| at > 0).unwrap_or(AddressKind::Exact);
            match (usize::try_from(module), u64::try_from(offset)) {
                (Ok(module), Ok(offset)) => {
                    StackFrame { place: ReportedAddress::Offset { module, offset }, kind }
                }
                _ => StackFrame::UNKNOWN,
            }
        };
        stack.iter().enumerate().map(frame).collect()
    }

    fn answer(
        &self,
        worker: &mut Worker<'_>,
        out: &mut Vec<u8>,
        go_on: &mut impl FnMut(usize) -> bool,
        answered: &mut Answered,
    ) -> Result<(), JobsError> {
        let mut found = vec![Found::default(); self.libraries.len()];
        out.extend_from_slice(b"{\"stacks\":[");
        for (index, stack) in self.stacks.iter().enumerate() {
            out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
            let frames = self.frames(stack);
            let mut at = 0;
            let mut put = |answer: &Answer, names: &mut Names<'_>| {
                if !go_on(out.len()) {
                    return Err(JobsError::Stopped);
                }
                let Some(&given) = stack.get(at) else { return Ok(()) };
                if let Some(found) = usize::try_from(given.0).ok().and_then(|module| found.get_mut(module)) {
                    found.note(answer);
                }
                self.put(out, at, given, answer, names);
                answered.frames += 1;
                answered.named += u64::from(!answer.symbol.frames.is_empty());
                at += 1;
                Ok(())
            };
            // Without `callers` each frame is a query of its own, so that no frame proves anything about another.
            let alone = if self.callers.is_some() { frames.len().max(1) } else { 1 };
            for frames in frames.chunks(alone) {
                let query = Query { modules: &self.modules, frames, innermost: Innermost::Nothing };
                worker.answer(query, Form::Json, &mut put)?;
            }
            out.push(b']');
            // Even stacks without a frame take bytes, so many of them must be stoppable.
            if !go_on(out.len()) {
                return Err(JobsError::Stopped);
            }
        }
        out.push(b']');
        self.put_modules(out, &found);
        out.push(b'}');
        Ok(())
    }

    /// Puts one frame, with its inlined functions in `inlines`, innermost first.
    fn put(
        &self,
        out: &mut Vec<u8>,
        at: usize,
        (module, offset): (i64, i64),
        answer: &Answer,
        names: &mut Names<'_>,
    ) {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"frame\":");
        json::number(out, at as u64);
        out.extend_from_slice(b",\"module_offset\":");
        match u64::try_from(offset) {
            Ok(offset) => json::address(out, offset),
            Err(_) => out.extend_from_slice(b"\"-0x1\""),
        }
        out.extend_from_slice(b",\"module\":");
        let library = usize::try_from(module).ok().and_then(|module| self.libraries.get(module));
        let name = library.map_or("", |(name, _)| name.as_str());
        json::string(out, if name.is_empty() { b"<unknown>" } else { name.as_bytes() });
        if let Some((outer, inlines)) = answer.symbol.frames.split_last() {
            let start = out.len();
            // The engine looks up the byte before a return address. The offset is that of the address as it was given.
            let offset_in_function =
                (answer.image_address, answer.start, at > 0 && self.callers == Some(AddressKind::Return));
            put_location(out, outer, names, b",\"function\":");
            if let (Some(address), Some(start), is_return) = offset_in_function {
                out.extend_from_slice(b",\"function_offset\":");
                json::address(out, address.wrapping_sub(start).wrapping_add(is_return.into()));
            }
            if !inlines.is_empty() {
                out.extend_from_slice(b",\"inlines\":");
                json::list(out, inlines, |out, inline| {
                    let start = out.len();
                    put_location(out, inline, names, b",\"function\":");
                    begin_object(out, start);
                });
            }
            put_certainty(out, answer, names);
            if names.take_damage().is_some() {
                out.truncate(start);
            }
        }
        out.push(b'}');
    }

    /// Puts which modules have symbols, and why the others have none.
    fn put_modules(&self, out: &mut Vec<u8>, found: &[Found]) {
        let mut by_key: BTreeMap<String, Found> = BTreeMap::new();
        for ((name, id), found) in self.libraries.iter().zip(found) {
            // Several libraries may have one name and id. The first one that was looked up counts.
            let known = by_key.entry(format!("{name}/{id}")).or_default();
            if known.there.is_none() {
                *known = found.clone();
            }
        }
        let mut separator = b",\"found_modules\":{".as_slice();
        for (key, found) in &by_key {
            out.extend_from_slice(separator);
            json::string(out, key.as_bytes());
            out.extend_from_slice(match found.there {
                None => b":null",
                Some(true) => b":true",
                Some(false) => b":false",
            });
            separator = b",";
        }
        out.extend_from_slice(if by_key.is_empty() { b",\"found_modules\":{}" } else { b"}" });
        let mut separator = b",\"module_errors\":{".as_slice();
        for (key, why) in by_key.iter().filter_map(|(key, found)| Some((key, found.why.as_ref()?))) {
            out.extend_from_slice(separator);
            json::string(out, key.as_bytes());
            out.extend_from_slice(b":[{\"name\":");
            json::string(out, why.text().as_bytes());
            out.extend_from_slice(b",\"message\":");
            json::string(out, why.to_string().as_bytes());
            out.extend_from_slice(b"}]");
            separator = b",";
        }
        if by_key.values().any(|found| found.why.is_some()) {
            out.push(b'}');
        }
    }
}

impl Found {
    fn note(&mut self, answer: &Answer) {
        let has_file = matches!(answer.unknown, None | Some(Unknown::NoFunction));
        // An offset of -1 says nothing about its module.
        if matches!(answer.unknown, Some(Unknown::NoAddress)) || self.there == Some(true) {
            return;
        }
        self.there = Some(has_file);
        self.why = answer.unknown.clone().filter(|_| !has_file);
    }
}

/// Replaces the comma before the first key by the brace of an object.
fn begin_object(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        // No key was put, so there is no comma to replace.
        None => out.push(b'{'),
    }
    out.push(b'}');
}

/// Puts function, file and line as far as they are known; a line without its file means nothing.
fn put_location(out: &mut Vec<u8>, frame: &foldsym_lookup::Frame, names: &mut Names<'_>, key: &[u8]) {
    let function = names.function(frame.name);
    // Names are JSON texts with their quotes: one of two bytes is empty.
    if function.len() > 2 {
        out.extend_from_slice(key);
        out.extend_from_slice(function);
    }
    let file = names.path(frame.file);
    if file.len() > 2 {
        out.extend_from_slice(b",\"file\":");
        out.extend_from_slice(file);
        if frame.line > 0 {
            out.extend_from_slice(b",\"line\":");
            json::number(out, frame.line);
        }
    }
}

/// Puts our own keys, which other clients ignore.
fn put_certainty(out: &mut Vec<u8>, answer: &Answer, names: &mut Names<'_>) {
    let word = |out: &mut Vec<u8>, key: &[u8], word: Option<&str>| {
        if let Some(word) = word {
            out.extend_from_slice(key);
            json::string(out, word.as_bytes());
        }
    };
    word(out, b",\"certainty\":", answer.certainty.map(|certainty| certainty.text()));
    word(out, b",\"evidence\":", answer.evidence.map(|evidence| evidence.text()));
    word(out, b",\"reason\":", answer.reason.map(|reason| reason.text()));
    let Some(count) = answer.candidate_count else { return };
    out.extend_from_slice(b",\"candidate_count\":");
    json::number(out, count);
    out.extend_from_slice(b",\"candidates\":");
    let listed: &[Member] = &answer.candidates[..answer.candidates.len().min(MAX_CANDIDATES)];
    json::list(out, listed, |out, candidate| {
        let start = out.len();
        if let Some(outer) = candidate.symbol.frames.last() {
            put_location(out, outer, names, b",\"function\":");
        }
        word(out, b",\"how\":", Some(candidate.how));
        begin_object(out, start);
    });
}
