//! Reads ELF core files: the threads' registers, the mapped files, and the memory that their stacks are in.
//!
//! A file's build id is read from the core itself, which has the first page of each file unless the kernel was configured otherwise. So a
//! program that was replaced since is not taken for the one that ran.
//!
//! QEMU writes cores without a list of mapped files. In such a core, each ELF file whose first page is in the core's memory is a module:
//! see [`modules_in_memory`].

use std::collections::HashMap;

use foldsym_symbolize::{BuildId, Mapping, Module, Modules};
use minidump::Endian;
use minidump::system_info::{Cpu, Os};
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
#[cfg(feature = "convert")]
use object::{CompressionFormat, Object as _, ObjectSection as _};
use object::{Endian as _, Endianness};

use crate::opened::{FormatReader, ReadWith};
use crate::unwind::{Process, Walker, known};
use crate::{Format, Opened, Options, Report, ReportError, Signal, Thread};

mod registers;

use registers::number;

/// Most threads of a core that are read. A warning says how many more there are.
const MAX_THREADS: usize = 1 << 16;
/// Most ranges of mapped files that are read, and most modules that are found in memory. A warning says how many more there are.
const MAX_FILES: usize = 1 << 18;
/// The most bytes between two segments of a file in memory: as many as the largest page of x86-64, to which a segment may be aligned.
const MAX_GAP: u64 = 1 << 30;
/// Bytes from the start of a mapped file in which its notes are searched.
const FIRST_PAGE: usize = 1 << 12;

const NT_PRSTATUS: u32 = 1;
const NT_PRPSINFO: u32 = 3;
const NT_AUXV: u32 = 6;
const NT_FILE: u32 = 0x4649_4c45;
const NT_SIGINFO: u32 = 0x5349_4749;

fn damaged(problem: impl Into<String>) -> ReportError {
    ReportError::Damaged { format: Format::ElfCore, problem: problem.into() }
}

/// A range of memory, which the core may have.
struct Segment<'c> {
    start: u64,
    /// Fewer than its size if the core has only its beginning.
    bytes: &'c [u8],
    end: u64,
    executable: bool,
}

/// A mapped part of a file.
struct FilePart<'c> {
    start: u64,
    end: u64,
    offset: u64,
    path: &'c [u8],
}

/// The contents of a core.
struct Core<'c> {
    is_64: bool,
    endian: Endianness,
    machine: elf::Machine,
    /// By address.
    segments: Vec<Segment<'c>>,
    files: Vec<FilePart<'c>>,
    /// `NT_PRSTATUS` of each thread.
    threads: Vec<&'c [u8]>,
    /// Threads above [`MAX_THREADS`], which are not read.
    more_threads: usize,
    siginfo: Option<&'c [u8]>,
    /// `NT_PRPSINFO`: the program's short name, among others.
    process: Option<&'c [u8]>,
    /// `NT_AUXV`: the vector that the kernel passed to the program at its start.
    auxiliary: Option<&'c [u8]>,
    warnings: Vec<String>,
}

/// Reads ELF cores.
pub(crate) struct CoreReader;

impl FormatReader for CoreReader {
    fn format(&self) -> Format {
        Format::ElfCore
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        // Bytes 16 and 17 are `e_type`; 4 is `ET_CORE` (ELF gABI), in either byte order.
        bytes.starts_with(b"\x7fELF") && matches!(bytes.get(16..18), Some([4, 0] | [0, 4]))
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        read(bytes, with).map(Opened::whole)
    }
}

fn read(bytes: &[u8], with: &ReadWith<'_>) -> Result<Report, ReportError> {
    let ReadWith { symbolizer, kept, options, is_wanted } = *with;
    let programs = &kept.programs;
    let core = match bytes.get(4) {
        Some(1) => parse::<FileHeader32<Endianness>>(bytes)?,
        Some(2) => parse::<FileHeader64<Endianness>>(bytes)?,
        class => {
            return Err(damaged(format!("class {} at offset 4 is not known", class.copied().unwrap_or(0))));
        }
    };
    let cpu = cpu_of(&core)?;
    let (mut modules, more_modules) = match core.files.is_empty() {
        true => modules_in_memory(&core),
        false => (modules(&core, options), 0),
    };
    let kernel_image = add_kernel_image(&core, &mut modules);
    let modules = Modules::new(modules);
    let mut report = Report::new(Format::ElfCore, modules.clone(), Vec::new());
    report.warnings.extend(core.warnings.iter().cloned());
    if core.files.is_empty() {
        report.warnings.push(format!(
            "no list of mapped files (NT_FILE): {} ELF files were found in the memory of the process, without their paths",
            modules.len()
        ));
    }
    if more_modules > 0 {
        report
            .warnings
            .push(format!("ELF files in memory after the first {MAX_FILES}: {more_modules} are left out"));
    }
    let executable = |address| core.segment(address).map(|segment| segment.executable);
    let memory = |address| {
        let segment = core.segment(address).filter(|segment| !segment.bytes.is_empty());
        segment.map(|segment| (segment.start, segment.bytes))
    };
    // Memory above an address that may be a stack.
    let held: Vec<&Segment<'_>> =
        core.segments.iter().filter(|segment| !segment.bytes.is_empty() && !segment.executable).collect();
    let above = |address| {
        let segment = held.get(held.partition_point(|segment| segment.start <= address))?;
        Some((segment.start, segment.bytes))
    };
    let process = Process {
        modules: &modules,
        os: Os::Linux,
        cpu,
        endian: if core.endian.is_big_endian() { Endian::Big } else { Endian::Little },
        executable: &executable,
        memory: &memory,
        above: &above,
    };
    let walker = Walker::new(process, (symbolizer, programs), (options, is_wanted), bytes.len());
    if let Some((module, image)) = kernel_image {
        walker.add_image(module, image);
    }
    for (index, status) in core.threads.iter().enumerate() {
        if !is_wanted() {
            return Err(ReportError::Stopped);
        }
        let Some((id, signal, context)) = registers::read(status, cpu, core.endian) else {
            report.warnings.push(format!("thread {index}: its registers are cut off"));
            continue;
        };
        // The kernel and gdb write the thread that received the signal first.
        let mut thread = Thread { id: Some(id), crashed: index == 0 && signal != 0, ..Thread::default() };
        let walked = walker.walk(&context, memory(context.get_stack_pointer()), None);
        report.warnings.extend(walked.warnings(id));
        thread.set(walked);
        if thread.crashed {
            thread.crash_registers = known(&context);
            let signal = core.signal(signal);
            report.reason = signal.text();
            report.about.signal = Some(signal);
        }
        report.threads.push(thread);
    }
    if !is_wanted() {
        return Err(ReportError::Stopped);
    }
    if report.threads.is_empty() {
        return Err(damaged("no thread's registers (NT_PRSTATUS)"));
    }
    report.warnings.extend(walker.warnings());
    report.crash_address = report.about.signal.as_ref().and_then(|signal| signal.address);
    report.about.os = Os::Linux.to_string();
    report.about.cpu = cpu.to_string();
    report.about.process = core.process_id();
    Ok(report)
}

/// The processor of a core, if its registers can be read.
fn cpu_of(core: &Core<'_>) -> Result<Cpu, ReportError> {
    Ok(match (core.machine, core.is_64) {
        (elf::EM_X86_64, true) => Cpu::X86_64,
        (elf::EM_AARCH64, true) => Cpu::Arm64,
        (elf::EM_386, false) => Cpu::X86,
        // x32 is one of these: the processor's number is that of x86-64.
        (elf::EM_X86_64 | elf::EM_AARCH64, false) => {
            return Err(damaged(format!(
                "class 1 (32 bits) at offset 4 of processor {} at offset 18: expected class 2",
                core.machine.0
            )));
        }
        (machine, _) => return Err(damaged(format!("processor {} at offset 18 is not known", machine.0))),
    })
}

fn parse<'c, H: FileHeader<Endian = Endianness>>(bytes: &'c [u8]) -> Result<Core<'c>, ReportError> {
    let header = H::parse(bytes).map_err(|error| damaged(format!("header: {error}")))?;
    let endian = header.endian().map_err(|error| damaged(format!("header: {error}")))?;
    let mut core = Core {
        is_64: header.is_class_64(),
        endian,
        machine: header.e_machine(endian),
        segments: Vec::new(),
        files: Vec::new(),
        threads: Vec::new(),
        more_threads: 0,
        siginfo: None,
        process: None,
        auxiliary: None,
        warnings: Vec::new(),
    };
    let headers = header.program_headers(endian, bytes);
    let headers = headers.map_err(|error| damaged(format!("program headers: {error}")))?;
    let mut cut = 0;
    // Program headers may all refer to the same bytes. In a real core the notes together are no larger than the file.
    let mut notes_left = bytes.len() as u64;
    for header in headers {
        match header.p_type(endian) {
            elf::PT_LOAD => {
                let start: u64 = header.p_vaddr(endian).into();
                let offset: u64 = header.p_offset(endian).into();
                let (size, held): (u64, u64) =
                    (header.p_memsz(endian).into(), header.p_filesz(endian).into());
                // An offset past the end leaves no bytes. The range stays, since its access rights are known.
                let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                // `p_filesz` may not exceed `p_memsz` (ELF gABI). In a core that breaks the rule, bytes past the range do not count.
                let held = usize::try_from(held.min(size)).unwrap_or(usize::MAX);
                let there = bytes[at..].len().min(held);
                cut += usize::from(there < held);
                let executable = header.p_flags(endian).0 & elf::PF_X.0 != 0;
                let end = start.saturating_add(size);
                core.segments.push(Segment { start, bytes: &bytes[at..at + there], end, executable });
            }
            elf::PT_NOTE => {
                let offset: u64 = header.p_offset(endian).into();
                notes_left = notes_left.checked_sub(header.p_filesz(endian).into()).ok_or_else(|| {
                    damaged(format!(
                        "notes at offset {offset:#x}: headers name more notes than the file has bytes"
                    ))
                })?;
                let notes = header.notes(endian, bytes);
                let mut notes = match notes {
                    Ok(Some(notes)) => notes,
                    Ok(None) => continue,
                    Err(error) => return Err(damaged(format!("notes at offset {offset:#x}: {error}"))),
                };
                loop {
                    match notes.next() {
                        Ok(Some(note)) => core.note(note.name(), note.n_type(endian).0, note.desc()),
                        Ok(None) => break,
                        Err(error) => {
                            core.warnings.push(format!("notes at offset {offset:#x}: {error}"));
                            break;
                        }
                    }
                }
            }
            _ => {}
        }
    }
    if cut > 0 {
        core.warnings.push(format!("the file is cut off: {cut} ranges of memory are missing or shorter"));
    }
    if core.more_threads > 0 {
        let more = core.more_threads;
        core.warnings
            .push(format!("threads (NT_PRSTATUS) after the first {MAX_THREADS}: {more} are left out"));
    }
    // `PT_LOAD` entries ascend by `p_vaddr` (ELF gABI), but those of a hostile core need not. `segment` searches by bisection.
    core.segments.sort_by_key(|segment| segment.start);
    Ok(core)
}

impl<'c> Core<'c> {
    fn note(&mut self, name: &[u8], kind: u32, desc: &'c [u8]) {
        match (name, kind) {
            (b"CORE", NT_PRSTATUS) if self.threads.len() < MAX_THREADS => self.threads.push(desc),
            (b"CORE", NT_PRSTATUS) => self.more_threads += 1,
            // gdb writes this note for each thread. The first one is of the thread that received the signal.
            (b"CORE", NT_SIGINFO) if self.siginfo.is_none() => self.siginfo = Some(desc),
            (b"CORE", NT_PRPSINFO) if self.process.is_none() => self.process = Some(desc),
            (b"CORE", NT_AUXV) if self.auxiliary.is_none() => self.auxiliary = Some(desc),
            (b"CORE", NT_FILE) if self.files.is_empty() && self.read_files(desc).is_none() => {
                self.warnings.push("the list of mapped files (NT_FILE) is cut off".to_owned());
            }
            _ => {}
        }
    }

    /// A word of the process at an offset of a note.
    fn word(&self, desc: &[u8], at: usize) -> Option<u64> {
        let size = if self.is_64 { 8 } else { 4 };
        number(desc.get(at..at.checked_add(size)?)?, self.endian)
    }

    fn read_files(&mut self, desc: &'c [u8]) -> Option<()> {
        let size = if self.is_64 { 8 } else { 4 };
        // Linux, `fill_files_note`: the count, the page size, three words for each file, then the paths, each with a zero byte at its end.
        let count = usize::try_from(self.word(desc, 0)?).ok()?;
        let page = self.word(desc, size)?;
        let mut names = desc.get(count.checked_mul(3 * size)?.checked_add(2 * size)?..)?;
        if count > MAX_FILES {
            let more = count - MAX_FILES;
            self.warnings.push(format!(
                "ranges of mapped files (NT_FILE) after the first {MAX_FILES}: {more} are left out"
            ));
        }
        for index in 0..count.min(MAX_FILES) {
            let at = (2 + 3 * index) * size;
            let (start, end) = (self.word(desc, at)?, self.word(desc, at + size)?);
            // Offsets are in pages. A hostile product may wrap; it is only compared with 0.
            let offset = self.word(desc, at + 2 * size)?.wrapping_mul(page);
            let len = names.iter().position(|byte| *byte == 0)?;
            self.files.push(FilePart { start, end, offset, path: &names[..len] });
            names = &names[len + 1..];
        }
        Some(())
    }

    /// The range that has an address.
    fn segment(&self, address: u64) -> Option<&Segment<'c>> {
        let behind = self.segments.partition_point(|segment| segment.start <= address);
        self.segments[..behind].last().filter(|segment| address < segment.end)
    }

    /// Memory from an address on, as far as the core has it.
    fn memory(&self, address: u64) -> Option<&'c [u8]> {
        let segment = self.segment(address)?;
        segment.bytes.get(usize::try_from(address - segment.start).ok()?..)
    }

    /// Whether an ELF file begins at an address.
    fn is_elf(&self, address: u64) -> bool {
        self.memory(address).is_some_and(|memory| memory.starts_with(&elf::ELFMAG))
    }

    /// The value of an entry of the auxiliary vector.
    fn auxiliary(&self, wanted: u64) -> Option<u64> {
        let entries = self.auxiliary?;
        let step = if self.is_64 { 16 } else { 8 };
        let of = |at| Some((self.word(entries, at)?, self.word(entries, at + step / 2)?));
        let entries = (0..entries.len() / step).map_while(|index| of(index * step));
        // `AT_NULL` (0) ends the vector.
        entries.take_while(|(kind, _)| *kind != 0).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
    }

    /// The signal of the first thread, with what `NT_SIGINFO` says about it.
    fn signal(&self, number_of_thread: u32) -> Signal {
        let mut signal = Signal::new(number_of_thread);
        let word = |at: usize| number(self.siginfo?.get(at..at + 4)?, self.endian);
        // `si_signo`, `si_errno`, `si_code`. The note may be about another signal than the one that ended the process.
        if word(0) != Some(number_of_thread.into()) {
            return signal;
        }
        signal.code = word(8).map(|code| code as u32 as i32);
        if signal.is_fault() {
            // `si_addr` follows three numbers of 4 bytes, and is aligned to its own size.
            let at = if self.is_64 { 16 } else { 12 };
            signal.address = self.siginfo.and_then(|info| self.word(info, at));
        }
        signal
    }

    fn process_id(&self) -> Option<u64> {
        let place = if self.is_64 { PROCESS_ID } else { PROCESS_ID_32 };
        number(self.process?.get(place)?, self.endian)
    }
}

/// A module for each file that has code: its mapped parts, beginning with the one that has the file's first byte.
fn modules(core: &Core<'_>, options: &Options) -> Vec<Module> {
    let mut found: Vec<(u64, u64, bool, &[u8])> = Vec::new();
    let mut last: HashMap<&[u8], usize> = HashMap::new();
    // An empty range maps nothing. Without such ranges `end - start` of a module cannot wrap.
    for part in core.files.iter().filter(|part| part.start < part.end) {
        // The kernel lists each range of memory with its access rights. gdb leaves out the ranges that it did not write, which mostly are
        // code of files.
        let executable = match core.segment(part.start) {
            Some(segment) => segment.executable,
            None => last.get(part.path).is_some_and(|&index| core.is_elf(found[index].0)),
        };
        // A linker may map the first bytes of a file twice, in adjacent mappings.
        let known = last.get(part.path).copied();
        let known = known.filter(|index| part.offset != 0 || found[*index].1 == part.start);
        // The loader maps the segments of a file next to each other. A program may map its file once more, far away, to read it.
        let known = known.filter(|index| part.start.saturating_sub(found[*index].1) <= MAX_GAP);
        if let Some(index) = known {
            found[index].1 = found[index].1.max(part.end);
            found[index].2 |= executable;
        } else if part.offset == 0 {
            last.insert(part.path, found.len());
            found.push((part.start, part.end, executable, part.path));
        }
    }
    let module = |&(start, end, _, path): &(u64, u64, bool, &[u8])| {
        let name = text(path);
        let mut module = Module::new(&name);
        module.id = build_id(core, start).map(Into::into);
        let module = module.mapped(Mapping::LoadAddress { address: start, size: Some(end - start) });
        if options.open_paths { module.with_program(std::path::Path::new(&name)) } else { module }
    };
    found.iter().filter(|(_, _, executable, _)| *executable).map(module).collect()
}

/// The build id of the file whose first byte is at an address, from the memory of the process.
fn build_id(core: &Core<'_>, start: u64) -> Option<BuildId> {
    // Notes are in the first page, where file offsets are offsets in memory.
    let memory = core.memory(start)?;
    let memory = &memory[..memory.len().min(FIRST_PAGE)];
    if core.is_64 {
        note_of::<FileHeader64<Endianness>>(memory)
    } else {
        note_of::<FileHeader32<Endianness>>(memory)
    }
}

fn note_of<H: FileHeader<Endian = Endianness>>(memory: &[u8]) -> Option<BuildId> {
    let header = H::parse(memory).ok()?;
    let endian = header.endian().ok()?;
    let mut left = memory.len() as u64;
    for header in header.program_headers(endian, memory).ok()? {
        if header.p_type(endian) != elf::PT_NOTE {
            continue;
        }
        // Program headers may all refer to the same notes.
        left = left.checked_sub(header.p_filesz(endian).into())?;
        let Ok(Some(mut notes)) = header.notes(endian, memory) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return BuildId::new(note.desc()).ok();
            }
        }
    }
    None
}

/// Offset and length of the program's short name (`pr_fname`) in `NT_PRPSINFO`: for the structure of a 64-bit process, and for that of i386.
const SHORT_NAME: std::ops::Range<usize> = 40..56;
const SHORT_NAME_32: std::ops::Range<usize> = 28..44;
/// The same of the process id (`pr_pid`).
const PROCESS_ID: std::ops::Range<usize> = 24..28;
const PROCESS_ID_32: std::ops::Range<usize> = 12..16;

/// Types of entries of the auxiliary vector: the address of the program's own program headers, and that of the image of the vDSO.
const AT_PHDR: u64 = 3;
const AT_SYSINFO_EHDR: u64 = 33;
/// The kernel's name of the mapping of the vDSO.
const KERNEL_IMAGE: &str = "[vdso]";
/// Most bytes of the vDSO: it has some pages.
const MAX_KERNEL_IMAGE: u64 = 1 << 16;

/// A module for each file that begins at the start of a range of memory and has code there. A program may have mapped a file only to read
/// it. The module of the program itself has its short name. The core does not name libraries, so the name of a library's module is its
/// address. Also the number of files above [`MAX_FILES`], which are left out.
fn modules_in_memory(core: &Core<'_>) -> (Vec<Module>, usize) {
    let program = core.auxiliary(AT_PHDR);
    // With these sums each image takes two searches. In a hostile core, a scan of all segments of each image would take quadratic time.
    // For each segment, the number of executable segments before it.
    let executable: Vec<usize> = std::iter::once(0)
        .chain(core.segments.iter().scan(0, |sum, segment| {
            *sum += usize::from(segment.executable);
            Some(*sum)
        }))
        .collect();
    let before = |address: u64| core.segments.partition_point(|segment| segment.start < address);
    let has_code = |start: u64, end: u64| executable[before(end)] > executable[before(start)];
    let image = |segment: &Segment<'_>| {
        let size = match core.is_64 {
            true => size_of_image::<FileHeader64<Endianness>>(core, segment.bytes)?,
            false => size_of_image::<FileHeader32<Endianness>>(core, segment.bytes)?,
        };
        Some((segment.start, segment.start.saturating_add(size)))
    };
    let images: Vec<(u64, u64)> =
        core.segments.iter().filter_map(image).filter(|&(start, end)| has_code(start, end)).collect();
    let module = |(index, &(start, end)): (usize, &(u64, u64))| {
        // Files do not overlap in memory, even if their headers claim more.
        let end = images.get(index + 1).map_or(end, |next| end.min(next.0));
        // Linkers put the program headers directly after the ELF header, so `AT_PHDR` is in the first page of the program.
        let is_program = program
            .and_then(|headers| headers.checked_sub(start))
            .is_some_and(|offset| offset < FIRST_PAGE as u64);
        let name = if is_program { short_name(core) } else { format!("{start:#x}") };
        let mut module = Module::new(&name);
        module.id = build_id(core, start).map(Into::into);
        module.mapped(Mapping::LoadAddress { address: start, size: Some(end - start) })
    };
    let modules = images.iter().enumerate().take(MAX_FILES).map(module).collect();
    (modules, images.len().saturating_sub(MAX_FILES))
}

/// The size in memory of a file's segments, if `memory` begins with the header of an executable or a library of the core's processor.
fn size_of_image<H: FileHeader<Endian = Endianness>>(core: &Core<'_>, memory: &[u8]) -> Option<u64> {
    let memory = &memory[..memory.len().min(FIRST_PAGE)];
    let header = H::parse(memory).ok()?;
    let endian = header.endian().ok()?;
    let is_loaded = matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN);
    if !is_loaded || header.e_machine(endian) != core.machine {
        return None;
    }
    let loads = header.program_headers(endian, memory).ok()?.iter();
    let loads = loads.filter(|header| header.p_type(endian) == elf::PT_LOAD);
    let mut extent: Option<(u64, u64)> = None;
    for load in loads {
        let (start, size): (u64, u64) = (load.p_vaddr(endian).into(), load.p_memsz(endian).into());
        // The loader maps whole pages.
        let (start, end) = (start & !(FIRST_PAGE as u64 - 1), start.saturating_add(size));
        let (first, last) = extent.unwrap_or((start, end));
        extent = Some((first.min(start), last.max(end)));
    }
    extent.map(|(first, end)| end - first).filter(|size| *size > 0)
}

/// The vDSO, which is in no file: the kernel maps it, and a core has its memory. Adds a module for it unless there is one. Returns the index of
/// the module and the image.
fn add_kernel_image<'c>(core: &Core<'c>, modules: &mut Vec<Module>) -> Option<(usize, &'c [u8])> {
    let start = core.auxiliary(AT_SYSINFO_EHDR)?;
    let memory = core.memory(start)?;
    let size = match core.is_64 {
        true => size_of_image::<FileHeader64<Endianness>>(core, memory)?,
        false => size_of_image::<FileHeader32<Endianness>>(core, memory)?,
    };
    // The section headers, which name `.eh_frame`, are behind the segments.
    let image = &memory[..memory.len().min(MAX_KERNEL_IMAGE as usize)];
    let starts =
        |module: &Module| matches!(module.mapping, Mapping::LoadAddress { address, .. } if address == start);
    let index = match modules.iter().position(starts) {
        // A module of a file has that file's symbols.
        Some(_) if !core.files.is_empty() => return None,
        Some(index) => index,
        None => {
            let mut module = Module::new(KERNEL_IMAGE);
            module.id = build_id(core, start).map(Into::into);
            let size = Some(size.min(MAX_KERNEL_IMAGE));
            modules.push(module.mapped(Mapping::LoadAddress { address: start, size }));
            modules.len() - 1
        }
    };
    #[cfg(feature = "convert")]
    if let (Some(module), Some(file)) = (modules.get_mut(index), symbols_of(image)) {
        *module = module.clone().with_file(file);
    }
    Some((index, image))
}

/// The symbols of the vDSO. `None` if the image cannot be converted.
#[cfg(feature = "convert")]
fn symbols_of(image: &[u8]) -> Option<std::sync::Arc<foldsym_symbolize::SymbolMap>> {
    // No kernel has them, and what they unpack to is bounded by no size of the core.
    let is_packed = |section: object::Section<'_, '_>| {
        let name = section.name().unwrap_or_default();
        let is_debug = [".debug", ".zdebug", ".gnu_debug"].iter().any(|start| name.starts_with(start));
        is_debug || section.compressed_file_range().is_ok_and(|range| range.format != CompressionFormat::None)
    };
    if object::File::parse(image).ok()?.sections().any(is_packed) {
        return None;
    }
    let mut options = foldsym_convert::Options::default();
    options.threads = 1;
    let (name, mut bytes) = (std::path::Path::new(KERNEL_IMAGE), Vec::new());
    foldsym_convert::convert_bytes(name, image, &mut bytes, &options, &foldsym_convert::NoProgress).ok()?;
    let map = foldsym_symbolize::SymbolMap::of_bytes(name, bytes).ok()?;
    Some(std::sync::Arc::new(map))
}

fn short_name(core: &Core<'_>) -> String {
    let place = if core.is_64 { SHORT_NAME } else { SHORT_NAME_32 };
    let name = core.process.and_then(|info| info.get(place)).unwrap_or_default();
    text(name.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Bytes of the core as text. They are copied before they are checked: a mapped core may change meanwhile, and a `str` must not.
fn text(bytes: &[u8]) -> String {
    let copy = bytes.to_vec();
    String::from_utf8(copy).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
