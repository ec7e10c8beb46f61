//! Turns a crash into the text of a report: one part after another, so that a fault in one of them costs that part alone.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foldsym_lookup::{
    Certainty, Frames, ImageAddr, Lookup, NameId, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_unwind::Registers;

use crate::cause::Cause;
use crate::json;
use crate::memory::Memory;
use crate::modules::{MODULES, Module};
use crate::names::components;
use crate::options::OPTIONS;
use crate::out::Out;
use crate::registers::{MACHINE, NAMES};
use crate::signal_names;
use crate::status;
use crate::sys;
use crate::walk::{Entry, FRAMES, How, Stack};

/// Bytes of a name or path that are shown.
const TEXT: usize = 2048;

/// What the program said of its end (`foldsym_crash_note`), and how much of it there is.
pub(crate) static NOTE: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];
/// Where glibc keeps a pointer to the message of a failed assertion (`__abort_msg`); 0: nowhere.
pub(crate) static ABORT_MESSAGE: AtomicUsize = AtomicUsize::new(0);

/// The parts of a report, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Head,
    Message,
    Walk,
    Resolve,
    Frames,
    Registers,
    Modules,
    Json,
    End,
    Done,
}

impl Part {
    const fn next(self) -> Self {
        match self {
            Part::Head => Part::Message,
            Part::Message => Part::Walk,
            Part::Walk => Part::Resolve,
            Part::Resolve => Part::Frames,
            Part::Frames => Part::Registers,
            Part::Registers => Part::Modules,
            Part::Modules => Part::Json,
            Part::Json => Part::End,
            Part::End | Part::Done => Part::Done,
        }
    }
}

/// A report while it is written. There is one, in static memory.
pub(crate) struct Report {
    pub(crate) out: Out,
    memory: Memory,
    frames: Frames,
    text: [u8; TEXT],
    pub(crate) stack: Stack,
    resolved: [Resolved; FRAMES],
    part: Part,
    /// The walk goes by section UNWIND, too.
    with_rows: bool,
    /// The frame or module that is written next.
    index: usize,
    pub(crate) deadline: u64,
    /// `None` for a stack that no crash is the cause of.
    pub(crate) cause: Option<Cause>,
    registers: Option<Registers>,
    pub(crate) thread: i32,
    pub(crate) process: i32,
}

impl Report {
    pub(crate) const fn new() -> Self {
        Report {
            out: Out::new(),
            memory: Memory::new(),
            frames: Frames::new(),
            text: [0; TEXT],
            stack: Stack::new(),
            resolved: [Resolved::NONE; FRAMES],
            part: Part::Done,
            with_rows: true,
            index: 0,
            deadline: 0,
            cause: None,
            registers: None,
            thread: 0,
            process: 0,
        }
    }

    /// Begins a report to a descriptor.
    pub(crate) fn begin(
        &mut self,
        cause: Option<Cause>,
        registers: Option<Registers>,
        descriptor: i32,
        limit: u64,
    ) {
        self.deadline = sys::now().saturating_add(limit);
        self.out.begin(descriptor, self.deadline);
        self.memory.begin();
        self.stack.clear();
        (self.cause, self.registers) = (cause, registers);
        self.thread = sys::thread();
        (self.index, self.with_rows) = (0, true);
        if let Some(registers) = registers {
            self.stack.begin(registers, cause.is_some());
        }
        self.part = if cause.is_some() { Part::Head } else { Part::Walk };
    }

    /// The registers that the kernel keeps at an address.
    pub(crate) fn registers_of(&mut self, context: u64) -> Option<Registers> {
        self.memory.begin();
        crate::registers::of_context(context, |address| self.memory.word(address))
    }

    /// Writes what is left of the report. After a fault in it this is called again, and [`Self::skip`] before.
    pub(crate) fn run(&mut self) {
        while self.part != Part::Done {
            if sys::now() > self.deadline && !matches!(self.part, Part::Head | Part::End) {
                self.out.text("the time for the report is up");
                self.out.end_line();
                self.part = Part::End;
            }
            match self.part {
                Part::Head => self.head(),
                Part::Message => self.message(),
                Part::Walk => self.walk(),
                Part::Resolve => self.resolve(),
                Part::Frames => self.all_frames(),
                Part::Registers => self.all_registers(),
                Part::Modules => self.modules(),
                Part::Json => self.json(),
                Part::End => self.end(),
                Part::Done => {}
            }
            (self.part, self.index) = (self.part.next(), 0);
        }
    }

    /// Goes on behind what a fault broke off, and says so.
    pub(crate) fn skip(&mut self, signal: i32, address: u64) {
        self.out.flush();
        self.out.text("\n(the handler met ").text(signal_names::signal(signal).unwrap_or("a signal"));
        self.out.text(" at ").hex(address, 1).text(" and goes on)").end_line();
        match self.part {
            // Without the rows of files, one of which was cut short.
            Part::Walk if self.with_rows => self.with_rows = false,
            // The frame that is being resolved is counted already.
            Part::Resolve => {}
            Part::Frames => {
                if let Some(entry) = self.stack.get(self.index) {
                    self.begin_frame(&entry);
                    self.place_only(&entry);
                    self.out.end_line();
                }
                self.index = self.index.wrapping_add(1);
            }
            Part::Modules => self.index = self.index.wrapping_add(1),
            _ => (self.part, self.index) = (self.part.next(), 0),
        }
    }

    fn head(&mut self) {
        let Some(cause) = self.cause else { return };
        let out = &mut self.out;
        out.text("*** crash: ");
        match signal_names::signal(cause.signal) {
            Some(name) => out.text(name),
            None => out.text("signal ").decimal(cause.signal.unsigned_abs().into()),
        };
        match signal_names::code(cause.signal, cause.code) {
            Some((name, meaning)) => out.text(" ").text(name).text(" (").text(meaning).text(")"),
            None => out.text(" code ").hex(cause.code.cast_unsigned().into(), 1),
        };
        if cause.is_fault() && cause.code != 0x80 {
            out.text(", address ").hex(cause.address, 1);
        } else if cause.has_sender() && cause.sender != self.process {
            out.text(", sender process ").decimal(cause.sender.unsigned_abs().into());
        }
        out.text(", in thread ").decimal(self.thread.unsigned_abs().into());
        out.text(" of process ").decimal(self.process.unsigned_abs().into()).end_line();
    }

    fn message(&mut self) {
        let mut is_first = true;
        let out = &mut self.out;
        for byte in NOTE
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .take_while(|&byte| byte != 0)
        {
            if is_first {
                out.text("message: ");
            }
            is_first = false;
            out.foreign(&[byte]);
        }
        if !is_first {
            out.end_line();
        }
        let place = ABORT_MESSAGE.load(Ordering::Relaxed) as u64;
        if place == 0 || self.cause.is_none_or(|cause| cause.signal != libc::SIGABRT) {
            return;
        }
        // A pointer to a size and the text.
        let Some(at) = self.memory.word(place).filter(|&at| at != 0) else { return };
        out.text("message: ");
        for offset in 4..1024 {
            let mut byte = [0];
            let read = self.memory.copy(at.wrapping_add(offset), &mut byte);
            if read.is_none() || byte == [0] || byte == *b"\n" {
                break;
            }
            out.foreign(&byte);
        }
        out.end_line();
    }

    fn walk(&mut self) {
        // Half of the time is left to write what was found.
        let half = self.deadline.saturating_sub(sys::now()) / 2;
        let deadline = self.deadline.saturating_sub(half);
        self.stack.walk(&mut self.memory, deadline, self.with_rows);
    }

    /// Finds which functions of folded code ran, from the outermost frame in: a caller tells of its callee within one module.
    fn resolve(&mut self) {
        if self.index == 0 {
            self.resolved.fill(Resolved::NONE);
        }
        while let Some(index) = self.stack.len().checked_sub(self.index.wrapping_add(1)) {
            self.index = self.index.wrapping_add(1);
            let Some((here, module)) = self.place(index) else { continue };
            let outer = index.wrapping_add(1);
            let after = self.place(outer).filter(|_| !self.stack.is_after_gap(outer));
            let caller =
                after.filter(|(_, caller)| core::ptr::eq(*caller, module)).map(|(address, _)| address);
            let Some(file) = &module.file else { continue };
            let Some((inner, outer)) = self.resolved.split_at_mut_checked(outer) else { continue };
            let caller = caller.zip(outer.first());
            if let (Ok(found), Some(slot)) = (file.resolve_one(here, caller), inner.last_mut()) {
                *slot = found;
            }
        }
    }

    /// A frame's address in its module.
    fn place(&self, index: usize) -> Option<(StackAddr, &'static Module)> {
        let entry = self.stack.get(index)?;
        let (_, module) = MODULES.find(entry.lookup())?;
        let address = entry.address.wrapping_sub(module.bias);
        Some(if entry.is_return {
            (StackAddr::Return(ReturnAddr(address)), module)
        } else {
            (StackAddr::Exact(ImageAddr(address)), module)
        })
    }

    fn all_frames(&mut self) {
        while let Some(entry) = self.stack.get(self.index) {
            if sys::now() > self.deadline {
                return;
            }
            if self.stack.is_after_gap(self.index) {
                self.out.text("... ").decimal(self.stack.left_out() as u64).text(" frames").end_line();
            }
            self.frame(entry);
            self.index = self.index.wrapping_add(1);
        }
    }

    fn begin_frame(&mut self, entry: &Entry) {
        let number = self.stack.number(self.index) as u64;
        self.out.text("#").decimal(number).text(" ").hex(entry.address, 12).text(" ");
    }

    /// Writes the lines of a frame: of a `.fsym` one for each inlined function and one for the function itself, else one.
    fn frame(&mut self, entry: Entry) {
        let module = MODULES.find(entry.lookup()).map(|(_, module)| module);
        if let Some(module) = module {
            let file = module.file.as_ref();
            if file.is_some_and(|file| self.known_frame(&entry, module, file).is_some()) {
                return;
            }
            self.begin_frame(&entry);
            self.named_by_symbols(&entry, module);
        } else {
            self.begin_frame(&entry);
            self.place_only(&entry);
        }
        self.how(&entry);
        self.out.end_line();
    }

    fn how(&mut self, entry: &Entry) {
        match entry.how {
            How::FramePointer => self.out.text(" by frame pointer"),
            How::Scan => self.out.text(" by a word on the stack"),
            How::Returned => self.out.text(" by return address"),
            How::Context | How::Cfi => &mut self.out,
        };
        // The frame that the kernel made: its caller is what the signal interrupted.
        if self.stack.get(self.index.wrapping_add(1)).is_some_and(|caller| !caller.is_return) {
            self.out.text(" <signal handler called>");
        }
    }

    /// `None`, and nothing written, if the file has no function there, or is damaged there.
    fn known_frame(&mut self, entry: &Entry, module: &Module, file: &SymbolFile<'static>) -> Option<()> {
        let address = ImageAddr(entry.lookup().wrapping_sub(module.bias));
        let Ok(Lookup::Found(answer)) = file.lookup(address, &mut self.frames) else { return None };
        let mut certainty = answer.certainty;
        let (mut count, mut member) = (answer.member_count(), 0);
        let resolved = self.resolved.get(self.index)?;
        if answer.group.is_some() && resolved.group == answer.group && resolved.certainty.is_some() {
            (certainty, count) = (resolved.certainty?, resolved.candidate_count());
            member = resolved.candidate(0)?;
        }
        if member != 0 {
            file.member_frames(&answer, member, &mut self.frames).ok()?;
        }
        let mut is_written = false;
        for turn in 0..FRAMES {
            // The frames are read again for each line: the borrow of the scratch ends before text is written.
            let frame = match file.frames(&self.frames).nth(turn) {
                Some(Ok(frame)) => frame,
                Some(Err(_)) | None => break,
            };
            self.begin_frame(entry);
            match frame.name {
                Some(name) => self.name(file, name),
                None => _ = self.out.text("??"),
            }
            if let Some(path) = frame.file {
                self.out.text(" at ");
                let len = file.write_path(path, &mut self.text).unwrap_or(0);
                self.out.foreign(self.text.get(..len.min(TEXT)).unwrap_or_default());
                self.out.text(":").decimal(frame.line.into());
            }
            self.out.text(" (").foreign(module.short_name()).text(")");
            if !frame.is_outermost {
                self.out.text(" inlined");
            } else if certainty != Certainty::Unique {
                self.out.text(" [").text(certainty.text());
                if matches!(certainty, Certainty::Narrowed | Certainty::Ambiguous) {
                    self.out.text(", one of ").decimal(count.into());
                }
                self.out.text("]");
            }
            if frame.is_outermost {
                self.how(entry);
            }
            self.out.end_line();
            is_written = true;
        }
        is_written.then_some(())
    }

    fn name(&mut self, file: &SymbolFile<'static>, name: NameId) {
        let len = file.write_name(name, &mut self.text).unwrap_or(0);
        let text = self.text.get(..len.min(TEXT)).unwrap_or_default();
        write_name(&mut self.out, text);
        if len > TEXT {
            self.out.text("...");
        }
    }

    /// A module without symbols of its own format: what its tables of symbols say, and else where in the module it is.
    fn named_by_symbols(&mut self, entry: &Entry, module: &Module) {
        let address = entry.lookup().wrapping_sub(module.bias);
        let mut found = module.symtab.find(address).map(|symbol| (symbol, ".symtab"));
        let table = module.dynsym.entries;
        // Of a library that was unloaded nothing may be left.
        if found.is_none() && !table.is_empty() && self.memory.word(table.as_ptr() as u64).is_some() {
            found = module.dynsym.find(address).map(|symbol| (symbol, ".dynsym"));
        }
        let Some((symbol, table)) = found else {
            self.place_only(entry);
            return;
        };
        write_name(&mut self.out, symbol.name);
        let offset = symbol.offset.wrapping_add(entry.is_return.into());
        self.out.text("+").hex(offset, 1).text(" (").foreign(module.short_name());
        self.out.text(", ").text(table).text(")");
    }

    /// Where an address is in its module, for code without a name.
    fn place_only(&mut self, entry: &Entry) {
        match MODULES.find(entry.lookup()) {
            Some((_, module)) => {
                self.out.text("(").foreign(module.short_name()).text("+");
                self.out.hex(entry.address.wrapping_sub(module.bias), 1).text(")");
            }
            None => _ = self.out.text("(no module)"),
        }
    }

    fn all_registers(&mut self) {
        let (Some(registers), true, true) =
            (self.registers, OPTIONS.get().has_registers(), self.cause.is_some())
        else {
            return;
        };
        for (number, name) in (0u64..).zip(NAMES) {
            if let Some(value) = registers.get(number) {
                self.out.text(if number % 4 == 0 { "" } else { "  " });
                self.out.text(name).text(" ").hex(value, 16);
            }
            if number % 4 == 3 || number == MACHINE.program_counter() {
                self.out.end_line();
            }
        }
    }

    /// Writes the modules: where each is, its build id, and what its symbols came to.
    fn modules(&mut self) {
        if self.cause.is_none() {
            return;
        }
        if self.index == 0 {
            self.out.text("modules:").end_line();
        }
        while let Some(module) = MODULES.all().get(self.index) {
            if module.is_loaded.load(Ordering::Acquire) {
                write_module(&mut self.out, module);
            }
            self.index = self.index.wrapping_add(1);
        }
    }

    /// Writes the line of JSON, if the options name a descriptor for it.
    fn json(&mut self) {
        let (Some(descriptor), Some(cause)) = (OPTIONS.get().json_descriptor(), self.cause) else { return };
        self.out.begin(descriptor, self.deadline);
        json::write(&mut self.out, &cause, self.thread, self.process, &self.stack);
        self.out.begin(OPTIONS.get().descriptor(), self.deadline);
    }

    fn end(&mut self) {
        if self.cause.is_some() {
            self.out.text("*** end of the crash report").end_line();
        }
    }
}

/// Writes a name, readable if it is of a simple form.
fn write_name(out: &mut Out, name: &[u8]) {
    let mut is_first = true;
    let is_simple = components(name, &mut |component| {
        out.text(if is_first { "" } else { "::" }).foreign(component);
        is_first = false;
    });
    if !is_simple {
        out.foreign(name);
    }
}

/// Writes the line of a module.
pub(crate) fn write_module(out: &mut Out, module: &Module) {
    out.hex(module.range.start, 12).text("-").hex(module.range.end, 12).text(" ").foreign(module.name);
    if !module.build_id().is_empty() {
        out.text(" build id ").bytes(module.build_id());
    }
    out.text(", ");
    let words = status::text(module.symbols.status).to_str().unwrap_or_default();
    out.text(if module.symbols.status == status::OK { "symbols" } else { words });
    if !module.symbols.path.is_empty() {
        out.text(": ").foreign(module.symbols.path);
    }
    out.end_line();
}
