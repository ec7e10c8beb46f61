//! Reads minidumps: modules, registers and stack memory, of which stacks are made here.

use foldsym_symbolize::{BuildId, Mapping, Module, ModuleId, Modules, Symbolizer};
use minidump::{
    CodeView, Error, Minidump, MinidumpException, MinidumpMiscInfo, MinidumpModule, MinidumpModuleList,
    MinidumpSystemInfo, MinidumpThreadList, MinidumpThreadNames, Module as _, UnifiedMemoryInfoList,
};

use crate::unwind::{MAX_STACK, Programs, Walker};
use crate::{Format, Options, Report, ReportError, Thread};

fn damaged(what: &str, error: &Error) -> ReportError {
    ReportError::Damaged { format: Format::Minidump, problem: format!("{what}: {error}") }
}

pub(crate) fn read(
    bytes: &[u8],
    symbolizer: &Symbolizer,
    programs: &Programs,
    options: &Options,
) -> Result<Report, ReportError> {
    let dump = Minidump::read(bytes).map_err(|error| damaged("header", &error))?;
    let system: MinidumpSystemInfo = dump.get_stream().map_err(|error| damaged("system info", &error))?;
    let threads: MinidumpThreadList<'_> =
        dump.get_stream().map_err(|error| damaged("thread list", &error))?;
    let mut warnings = Vec::new();
    let list: MinidumpModuleList = dump.get_stream().unwrap_or_else(|error| {
        warnings.push(format!("no modules: {error}"));
        MinidumpModuleList::new()
    });
    let modules = Modules::new(list.iter().map(|found| module(found, options)).collect());
    let memory = dump.get_memory().unwrap_or_default();
    let misc: Option<MinidumpMiscInfo> = dump.get_stream().ok();
    let names: Option<MinidumpThreadNames> = dump.get_stream().ok();
    let exception: Option<MinidumpException<'_>> = match dump.get_stream() {
        Ok(exception) => Some(exception),
        Err(Error::StreamNotFound) => None,
        Err(error) => {
            warnings.push(format!("exception: {error}"));
            None
        }
    };
    // Writers on Linux add `/proc/PID/maps`, those on Windows the rights of each range.
    let rights =
        UnifiedMemoryInfoList::new(dump.get_stream().ok(), dump.get_stream().ok()).unwrap_or_default();
    let executable = |address| rights.memory_info_at_address(address).map(|range| range.is_executable());
    let walker = Walker {
        symbolizer,
        programs,
        modules: &modules,
        list: &list,
        os: system.os,
        cpu: system.cpu,
        executable: &executable,
    };
    let mut report = Report::new(Format::Minidump, modules.clone(), Vec::new());
    for found in &threads.threads {
        let id = found.raw.thread_id;
        let crash = exception.as_ref().filter(|exception| exception.get_crashing_thread_id() == id);
        let mut thread = Thread { id: Some(id.into()), crashed: crash.is_some(), ..Thread::default() };
        thread.name = names.as_ref().and_then(|names| names.get_name(id)).unwrap_or_default().into_owned();
        // The thread itself stands in the handler that wrote the dump.
        let context = crash.and_then(|crash| crash.context(&system, misc.as_ref()));
        let Some(context) = context.or_else(|| found.context(&system, misc.as_ref())) else {
            warnings.push(format!("thread {id}: no registers"));
            report.threads.push(thread);
            continue;
        };
        let stack =
            memory.memory_at_address(context.get_stack_pointer()).or_else(|| found.stack_memory(&memory));
        let stack = stack.as_ref().map(|stack| (stack.base_address(), stack.bytes()));
        if stack.is_none() {
            warnings.push(format!("thread {id}: no memory of its stack"));
        }
        let walked = walker.walk(&context, stack, dump.endian);
        if walked.is_cut {
            warnings.push(format!("thread {id}: of its stack {MAX_STACK} bytes were walked"));
        }
        (thread.frames, thread.trust) = (walked.frames, walked.trust);
        report.threads.push(thread);
    }
    if let Some(exception) = &exception {
        report.reason = exception.get_crash_reason(system.os, system.cpu).to_string();
        report.crash_address = Some(exception.get_crash_address(system.os, system.cpu));
    }
    report.warnings = warnings;
    Ok(report)
}

fn module(found: &MinidumpModule, options: &Options) -> Module {
    let name = found.code_file();
    let mut module = Module::new(&name);
    module.id = identity(found);
    let size = Some(found.size()).filter(|size| *size > 0);
    module = module.mapped(Mapping::LoadAddress { address: found.base_address(), size });
    if options.open_paths { module.with_program(std::path::Path::new(&*name)) } else { module }
}

/// The build id; else the debug id, which older writers make of it. Ids that are all zero are none.
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
