//! The frames of a walk, and what was lost on the way.

use foldsym_symbolize::StackFrame;
use minidump::MinidumpContext;
use minidump_unwind::FrameTrust;

use super::registers;
use crate::Trust;

/// Frames of a stack, and how each was found.
pub(crate) struct Walked {
    pub(crate) frames: Vec<StackFrame>,
    pub(crate) trust: Vec<Trust>,
    pub(crate) registers: Vec<Vec<(&'static str, String)>>,
    /// The stack is longer than the part that was walked.
    pub(crate) is_cut: bool,
    /// Indexes of the frames that return from a signal handler.
    pub(crate) signals: Vec<usize>,
    /// The first stack pointer that is in no range of the report's memory, and the start of the range above it that the walk read instead.
    pub(super) outside: Option<(u64, u64)>,
    /// The address of memory that the report lacks, and without which the walk ended.
    pub(super) missing: Option<u64>,
    /// Whether the registers of frames are kept.
    keeps_registers: bool,
}

impl Walked {
    /// What was lost in the walk of a thread, one sentence each.
    pub(crate) fn warnings(&self, id: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((pointer, start)) = self.outside {
            warnings.push(format!(
                "thread {id}: its stack pointer {pointer:#x} is outside of the memory of its stack (a stack overflow?): the walk reads the nearest memory above, from {start:#x} on"
            ));
        }
        if let Some(address) = self.missing {
            warnings.push(format!(
                "thread {id}: no memory of its stack at {address:#x}, so its callers from there on are missing"
            ));
        }
        if self.is_cut {
            warnings.push(format!("thread {id}: its stack was not walked to its end"));
        }
        warnings
    }

    pub(super) fn new(keeps_registers: bool) -> Self {
        Self {
            frames: Vec::new(),
            trust: Vec::new(),
            registers: Vec::new(),
            is_cut: false,
            signals: Vec::new(),
            outside: None,
            missing: None,
            keeps_registers,
        }
    }

    /// Puts a frame, after a gap if it or its callee is a guess.
    pub(super) fn push(&mut self, frame: StackFrame, trust: Trust, context: &MinidumpContext) {
        // A frame pointer may belong to an outer frame, since a leaf function need not set up its own. A return address that a scan
        // finds may be left over from a call that has returned; then its function is no caller on this stack, and no function called it
        // here.
        let is_scanned = trust == Trust::Scan || self.trust.last() == Some(&Trust::Scan);
        let is_gap = is_scanned || trust == Trust::FramePointer;
        if is_gap && self.trust.last() != Some(&Trust::Gap) {
            self.put(StackFrame::UNKNOWN, Trust::Gap, Vec::new);
        }
        self.put(frame, trust, || registers::known(context));
    }

    fn put(
        &mut self,
        frame: StackFrame,
        trust: Trust,
        registers: impl FnOnce() -> Vec<(&'static str, String)>,
    ) {
        self.frames.push(frame);
        self.trust.push(trust);
        self.registers.extend(self.keeps_registers.then(registers));
    }
}

/// How a caller was found.
pub(super) fn trust_of(trust: FrameTrust) -> Trust {
    match trust {
        FrameTrust::CallFrameInfo => Trust::Cfi,
        FrameTrust::FramePointer => Trust::FramePointer,
        _ => Trust::Scan,
    }
}
