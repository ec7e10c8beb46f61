//! Reads minidumps: modules, registers and stack memory. The stacks are walked here.

use foldsym_symbolize::{BuildId, Mapping, Module, ModuleId, Modules};
use minidump::system_info::Os;
use minidump::{
    CodeView, Endian, Error, Minidump, MinidumpException, MinidumpLinuxMaps, MinidumpMiscInfo,
    MinidumpModule, MinidumpModuleList, MinidumpStream, MinidumpSystemInfo, MinidumpThreadList,
    MinidumpThreadNames, Module as _, UnifiedMemory, UnifiedMemoryInfo, UnifiedMemoryInfoList,
};
use procfs_core::process::MMapPath;

use crate::opened::{FormatReader, ReadWith};
use crate::unwind::{Process, Range, Walker, known};
use crate::{About, Format, MAX_NAME, Opened, Options, Report, ReportError, Signal, Thread, cut};

/// Bytes of names and debug records that a small minidump may have.
const MIN_TEXT: usize = 1 << 20;
/// A stream whose entries refer to other parts of the file: its number, the bytes of an entry, the offset in the entry of its name's place,
/// and the bytes of that place.
const MODULES: (u32, usize, usize, usize) = (4, 108, 20, 4);
const THREAD_NAMES: (u32, usize, usize, usize) = (24, 12, 4, 8);
/// Fields before the name in a line of `/proc/PID/maps`: addresses, rights, offset, device, inode.
const MAP_FIELDS: usize = 5;
/// Most bytes of a module's version.
const MAX_VERSION: usize = 64;
/// The largest number of a signal.
const MAX_SIGNAL: u32 = 64;
/// Offset, in an entry of the module list, of the size of its debug record.
const RECORD_SIZE: usize = 76;

fn damaged(what: &str, error: &Error) -> ReportError {
    ReportError::Damaged { format: Format::Minidump, problem: format!("{what}: {error}") }
}

/// Reads minidumps.
pub(crate) struct MinidumpReader;

impl FormatReader for MinidumpReader {
    fn format(&self) -> Format {
        Format::Minidump
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"MDMP") || bytes.starts_with(b"PMDM")
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        read(bytes, with).map(Opened::whole)
    }
}

fn read(bytes: &[u8], with: &ReadWith<'_>) -> Result<Report, ReportError> {
    let ReadWith { symbolizer, kept, options, is_wanted } = *with;
    let programs = &kept.programs;
    let dump = Minidump::read(bytes).map_err(|error| damaged("header", &error))?;
    let system: MinidumpSystemInfo = dump.get_stream().map_err(|error| damaged("system info", &error))?;
    let threads: MinidumpThreadList<'_> =
        dump.get_stream().map_err(|error| damaged("thread list", &error))?;
    // This must precede the module list and the thread names: the crate copies each text when it reads a list.
    check_texts(&dump, bytes)?;
    let mut warnings = Vec::new();
    let list: MinidumpModuleList = dump.get_stream().unwrap_or_else(|error| {
        // Without modules the frames still have their addresses.
        warnings.push(format!("no modules: {error}"));
        MinidumpModuleList::new()
    });
    let modules = Modules::new(list.iter().map(|found| module(found, options)).collect());
    let memory = dump.get_memory().unwrap_or_default();
    let misc: Option<MinidumpMiscInfo> = dump.get_stream().ok();
    let names: Option<MinidumpThreadNames> = dump.get_stream().ok();
    let exception: Option<MinidumpException<'_>> = match dump.get_stream() {
        Ok(exception) => Some(exception),
        // A dump of a process that did not crash has no exception.
        Err(Error::StreamNotFound) => None,
        Err(error) => {
            warnings.push(format!("exception: {error}"));
            None
        }
    };
    // Writers on Linux add `/proc/PID/maps`; writers on Windows add the access rights of each range.
    let maps = linux_maps(&dump);
    let maps = maps.as_deref().and_then(|text| {
        let read = MinidumpLinuxMaps::read(text.as_bytes(), bytes, dump.endian, Some(&system));
        read.map_err(|error| warnings.push(format!("/proc/PID/maps: {error}"))).ok()
    });
    let rights = UnifiedMemoryInfoList::new(dump.get_stream().ok(), maps).unwrap_or_default();
    let executable = |address| rights.memory_info_at_address(address).map(|range| range.is_executable());
    let range_at = |address| memory.memory_at_address(address).as_ref().map(range_of);
    let ranges: Vec<UnifiedMemory<'_, '_>> = memory.by_addr().collect();
    let above = |address| {
        let at = ranges.partition_point(|range| range.base_address() <= address);
        let found = ranges.get(at).map(range_of);
        found.filter(|(start, _)| is_stack_above(&rights, address, *start))
    };
    let process = Process {
        modules: &modules,
        os: system.os,
        cpu: system.cpu,
        endian: dump.endian,
        executable: &executable,
        memory: &range_at,
        above: &above,
    };
    let walker = Walker::new(process, (symbolizer, programs), (options, is_wanted), bytes.len());
    let mut report = Report::new(Format::Minidump, modules.clone(), Vec::new());
    let mut has_registers = false;
    for found in &threads.threads {
        if !is_wanted() {
            return Err(ReportError::Stopped);
        }
        let id = found.raw.thread_id;
        let crash = exception.as_ref().filter(|exception| exception.get_crashing_thread_id() == id);
        let mut thread = Thread { id: Some(id.into()), crashed: crash.is_some(), ..Thread::default() };
        let name = names.as_ref().and_then(|names| names.get_name(id)).unwrap_or_default();
        thread.name = cut(&name, MAX_NAME).to_owned();
        // The registers of the thread itself are those of the handler that wrote the dump.
        let context = crash.and_then(|crash| crash.context(&system, misc.as_ref()));
        let Some(context) = context.or_else(|| found.context(&system, misc.as_ref())) else {
            warnings.push(format!("thread {id}: no registers"));
            report.threads.push(thread);
            continue;
        };
        // The crash may be on another stack than the one that the thread's record has, for example that of a signal handler.
        let stack = memory.memory_at_address(context.get_stack_pointer());
        let own = found.stack_memory(&memory);
        let (stack, own) = (stack.as_ref().map(range_of), own.as_ref().map(range_of));
        let walked = walker.walk(&context, stack.or(own), own);
        warnings.extend(walked.warnings(id.into()));
        thread.set(walked);
        // A hostile dump may list the thread that crashed any number of times.
        if thread.crashed && !std::mem::replace(&mut has_registers, true) {
            thread.crash_registers = known(&context);
        }
        report.threads.push(thread);
    }
    // A cancelled walk ends early and gives no error, so the frames of the last thread may be incomplete.
    if !is_wanted() {
        return Err(ReportError::Stopped);
    }
    if let Some(exception) = &exception {
        report.reason = exception.get_crash_reason(system.os, system.cpu).to_string();
        report.crash_address = Some(exception.get_crash_address(system.os, system.cpu));
    }
    report.about = about(&dump, &system, misc.as_ref(), exception.as_ref());
    report.about.versions = list.iter().map(version).collect();
    warnings.extend(walker.warnings());
    report.warnings = warnings;
    Ok(report)
}

/// Whether memory is the stack whose overflow left a stack pointer below it, as the dump describes the process's mappings. Other memory may
/// lie as near.
fn is_stack_above(mappings: &UnifiedMemoryInfoList<'_>, pointer: u64, memory: u64) -> bool {
    let guard = mappings.memory_info_at_address(pointer);
    match (guard, mappings.memory_info_at_address(memory)) {
        // The main thread's stack has no other mapping below it that belongs to it.
        (_, Some(UnifiedMemoryInfo::Map(stack))) if stack.map.pathname == MMapPath::Stack => true,
        // A library of threads makes memory below each stack that nobody may touch.
        (Some(UnifiedMemoryInfo::Map(guard)), Some(UnifiedMemoryInfo::Map(stack))) => {
            !guard.is_readable() && guard.map.address.1 == stack.map.address.0
        }
        // Windows reserves a stack and its guard at once.
        (Some(UnifiedMemoryInfo::Info(guard)), Some(UnifiedMemoryInfo::Info(stack))) => {
            guard.raw.allocation_base == stack.raw.allocation_base
        }
        _ => false,
    }
}

/// The dump's copy of `/proc/PID/maps`, without the names of files and without the lines that `/proc/PID/smaps` adds. Only the name of
/// the main thread's stack is used. The crate `procfs-core` panics at some other names, for example that of a file `/SYSV`.
fn linux_maps(dump: &Minidump<'_, &[u8]>) -> Option<String> {
    let text = String::from_utf8_lossy(dump.get_raw_stream(MinidumpLinuxMaps::STREAM_TYPE).ok()?);
    let mut maps = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with(|first: char| first.is_ascii_uppercase())) {
        let (mut rest, mut fields) = (line, 0);
        while fields < MAP_FIELDS
            && let Some((field, after)) = rest.split_once(' ')
        {
            maps.extend([field, " "]);
            (rest, fields) = (after, fields + 1);
        }
        maps.push_str(if rest.trim() == "[stack]" { "[stack]\n" } else { "\n" });
    }
    Some(maps)
}

/// What the dump says about the process and its system.
fn about(
    dump: &Minidump<'_, &[u8]>,
    system: &MinidumpSystemInfo,
    misc: Option<&MinidumpMiscInfo>,
    exception: Option<&MinidumpException<'_>>,
) -> About {
    let (version, build) = system.os_parts();
    let version = build.map_or(version.clone(), |build| format!("{version} {build}"));
    let signal = exception.filter(|_| matches!(system.os, Os::Linux | Os::Android)).and_then(|exception| {
        let record = &exception.raw.exception_record;
        // A writer may use a number above those of signals for a dump of a process that goes on.
        let mut signal = Signal::new(record.exception_code);
        if signal.number > MAX_SIGNAL {
            return None;
        }
        signal.code = Some(record.exception_flags as i32);
        signal.address = signal.is_fault().then_some(record.exception_address);
        Some(signal)
    });
    About {
        os: system.os.to_string(),
        os_version: cut(&version, MAX_NAME).to_owned(),
        cpu: system.cpu.to_string(),
        process: misc.and_then(|misc| misc.raw.process_id()).map(|id| u64::from(*id)),
        time: Some(u64::from(dump.header.time_date_stamp)).filter(|time| *time != 0),
        signal,
        versions: Vec::new(),
    }
}

/// The version of a module; empty if it has none.
fn version(found: &MinidumpModule) -> String {
    let version = found.version().filter(|version| version.bytes().any(|byte| !matches!(byte, b'0' | b'.')));
    version.map_or_else(String::new, |version| cut(&version, MAX_VERSION).to_owned())
}

/// The crate `minidump` copies a name or record for each entry that refers to it, and all entries may refer to the same bytes. A real
/// writer gives each entry bytes of its own, so all of them together are no larger than the file.
fn check_texts<'d>(dump: &'d Minidump<'d, &'d [u8]>, bytes: &[u8]) -> Result<(), ReportError> {
    let is_big = matches!(dump.endian, Endian::Big);
    let number = |bytes: &[u8], at: usize| -> Option<usize> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) } as usize)
    };
    let mut sum = 0usize;
    for (stream, size, name_at, width) in [MODULES, THREAD_NAMES] {
        let Ok(list) = dump.get_raw_stream(stream) else { continue };
        let count = number(list, 0).unwrap_or(0).min(list.len() / size);
        // Some writers add 4 bytes of padding between the count and the entries.
        for entry in list[list.len() - count * size..].chunks_exact(size) {
            // The offset of a thread's name has 64 bits. Only the low half is read, so texts above 4 GiB are not checked. In big-endian
            // order the low half comes last.
            let place = number(entry, if is_big { name_at + width - 4 } else { name_at });
            let name = place.and_then(|place| number(bytes, place)).unwrap_or(0);
            // The entry of a thread name has no record and ends before this offset.
            let record = number(entry, RECORD_SIZE).unwrap_or(0);
            sum = sum.saturating_add(name.min(bytes.len())).saturating_add(record.min(bytes.len()));
        }
    }
    let most = bytes.len().max(MIN_TEXT);
    if sum > most {
        let problem = format!(
            "streams {} and {}: names and debug records have {sum} bytes, of {most} that they may have: entries share them",
            MODULES.0, THREAD_NAMES.0
        );
        return Err(ReportError::Damaged { format: Format::Minidump, problem });
    }
    Ok(())
}

fn range_of<'m>(found: &UnifiedMemory<'m, '_>) -> Range<'m> {
    (found.base_address(), found.bytes())
}

fn module(found: &MinidumpModule, options: &Options) -> Module {
    let name = found.code_file();
    let mut module = Module::new(&name);
    module.id = identity(found);
    let size = Some(found.size()).filter(|size| *size > 0);
    module = module.mapped(Mapping::LoadAddress { address: found.base_address(), size });
    if options.open_paths { module.with_program(std::path::Path::new(&*name)) } else { module }
}

/// The build id; else the debug id, which older writers derive from it. An id of zeros means that there is none.
fn identity(found: &MinidumpModule) -> Option<ModuleId> {
    if let Some(CodeView::Elf(record)) = &found.codeview_info {
        let id = &record.build_id;
        return if id.iter().all(|byte| *byte == 0) {
            None
        } else {
            BuildId::new(id).ok().map(ModuleId::from)
        };
    }
    ModuleId::parse(&found.debug_identifier()?.breakpad().to_string()).ok()
}
